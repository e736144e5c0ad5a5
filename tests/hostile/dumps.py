"""Write raw files with known rows in all packings, and read these rows from a warehouse.

This module does not use Tracehouse: it generates the rows itself.
"""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

Rows = Mapping[str, float | None]
"""The rows of one file: the name of each row and its number."""

ROW_COUNT = 60


@dataclass(frozen=True)
class Place:
    """A raw file: its table and path, the format of its lines, and SQL for its rows in the warehouse.

    `line` is a template with `{name}` for the name of a row and `{number}` for its number. `picked` is a
    condition for the rows of this file.
    """

    table: str
    stem: str
    header: str
    line: str
    name: str
    number: str
    picked: str = "true"
    folder: str = ""
    published_header: bool = True

    @property
    def is_wide(self) -> bool:
        return self.line == "{name},{number}"

    def path(self, ending: str) -> str:
        """Return the path of the file below the raw folder."""
        return "/".join(filter(None, (self.folder, self.stem + ending)))

    def names(self, version: str, count: int = ROW_COUNT) -> list[str]:
        """Return the names of the rows of a version."""
        if self.is_wide:
            month = {"old": 4, "new": 5}[version]
            return [
                f"2023-{month:02d}-{n // 240 + 1:02d} {n // 10 % 24:02d}:{n % 10 * 5:02d}:00+00:00"
                for n in range(count)
            ]
        return [f"{version}{n}" for n in range(count)]

    def rows(self, version: str, count: int = ROW_COUNT) -> dict[str, float | None]:
        """Return the rows of a version. Each number has five digits, so that a truncated number differs."""
        return {name: float(12345 + n) for n, name in enumerate(self.names(version, count))}

    def text_of(self, name: str, number: float | str | None) -> str:
        """Return a row as a line of text in the file's format."""
        shown = "" if number is None else number if isinstance(number, str) else f"{number:.0f}"
        return self.line.format(name=name, number=shown)

    def lines(self, rows: Rows) -> list[str]:
        """Return the lines of the file, with a header if the publisher writes one."""
        header = [self.header] if self.published_header else []
        return header + [self.text_of(name, number) for name, number in rows.items()]

    def text(self, rows: Rows) -> bytes:
        """Return the content of the file in the publisher's format."""
        return "".join(f"{line}\n" for line in self.lines(rows)).encode()

    @property
    def question(self) -> str:
        """The SQL for the file's rows: names and numbers."""
        return f"select {self.name}, {self.number} from {self.table} where {self.picked}"


def _csv(table: str, stem: str, header: str, line: str, **more: str) -> Place:
    columns = header.split(",")
    number = columns[line.split(",").index("{number}")]
    name = columns[line.split(",").index("{name}")]
    return Place(table, stem, header, line, f'"{name}"', f'"{number}"', **more)  # type: ignore[arg-type]


NARROW = (
    _csv(
        "openb.pod",
        "openb_pod_list_default",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
        "scheduled_time",
        "{name},4000,8000,1,1000,,LS,Running,0,900,{number}",
    ),
    _csv(
        "zeus.train",
        "summary_train",
        "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch",
        "d,{name},8,adam,1e-1,1,0.5,{number}",
    ),
    _csv(
        "zeus.power",
        "summary_power_a40",
        "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power",
        "d,{name},8,adam,100,1.5,{number}",
    ),
    _csv(
        "zeus.alibaba_group",
        "alibaba_groups",
        "group,start_time,end_time,dataset,runtime_ratio",
        "{name},100.0,200.0,d,{number}",
    ),
    _csv(
        "acme.cluster_summary",
        "cluster_summary",
        "id,job_num,cpu_job_num,gpu_job_num,avg_run_time_gpu,avg_que_time_gpu,avg_gpu_num,med_run_time_gpu,"
        "med_que_time_gpu,med_gpu_num,max_run_time_gpu,max_gpu,complete_rate_gpu,cancel_rate_gpu,"
        "fail_rate_gpu,complete_gpu_time,cancel_gpu_time,fail_gpu_time,complete_rate_gpu_time,"
        "cancel_rate_gpu_time,fail_rate_gpu_time,avg_run_time_cpu,avg_que_time_cpu,med_run_time_cpu,"
        "med_que_time_cpu,complete_rate_cpu,cancel_rate_cpu,fail_rate_cpu",
        "{name},260,60,200,1.6,2.8,5.9,1.5,1.0,1.0,4.0,2.0,0.4,0.1,0.4,1.0,6.0,4.0,0.5,0.2,0.1,2.7,2.4,6.0,"
        "1.0,0.8,0.0,{number}",
    ),
    _csv(
        "acme.job_trace",
        "trace_seren",
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,"
        "gpu_time",
        "{name},u5,1,1,16,Eval,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:00:05+08:00,"
        "2023-03-01 00:00:09+08:00,4,5,{number}",
    ),
)

ARCHIVED = tuple(
    _csv(f"pai.{table}", stem, header, line, published_header=False)  # type: ignore[arg-type]
    for table, stem, header, line in (
        (
            "job",
            "pai_job_table",
            "job_name,inst_id,user,status,start_time,end_time",
            "{name},i,u,Failed,1.0,{number}",
        ),
        (
            "sensor",
            "pai_sensor_table",
            "job_name,task_name,worker_name,inst_id,machine,gpu_name,cpu_usage,gpu_wrk_util,avg_mem,max_mem,"
            "avg_gpu_wrk_mem,max_gpu_wrk_mem,read,write,read_count,write_count",
            "j,t,{name},i,m,/dev/nvidia0,1.5,2.5,3.5,4.5,5.5,6.5,7.5,8.5,9.5,{number}",
        ),
        (
            "machine_spec",
            "pai_machine_spec",
            "machine,gpu_type,cap_cpu,cap_mem,cap_gpu",
            "{name},V100,96,512,{number}",
        ),
        (
            "machine_metric",
            "pai_machine_metric",
            "worker_name,machine,start_time,end_time,machine_cpu_iowait,machine_cpu_kernel,machine_cpu_usr,"
            "machine_gpu,machine_load_1,machine_net_receive,machine_num_worker,machine_cpu",
            "{name},m,1.5,2.5,0.1,0.2,0.3,0.4,0.5,0.6,0.7,{number}",
        ),
    )
)

_METRICS = {
    "gpu": (
        *("XID_ERRORS", "GPU_TEMP", "MEMORY_TEMP", "MEM_CLOCK", "SM_CLOCK", "MEM_COPY_UTIL", "GPU_UTIL"),
        *(
            "FB_FREE",
            "FB_USED",
            "POWER_USAGE",
            "DRAM_ACTIVE",
            "PIPE_TENSOR_ACTIVE",
            "SM_ACTIVE",
            "SM_OCCUPANCY",
        ),
    ),
    "node": ("NODE_CPU_UTILIZATION", "NODE_MEMORY_UTILIZATION", "NODE_IB_SEND", "NODE_IB_RECEIVE"),
}
WIDE = tuple(
    Place(
        f"acme.{kind}_metric",
        metric,
        "Time,10.140.0.1" + "-0" * (kind == "gpu"),
        "{name},{number}",
        "strftime(\"time\" at time zone 'UTC', '%Y-%m-%d %H:%M:%S+00:00')",
        "value",
        f"cluster = '{cluster}' and metric = '{metric}'",
        cluster,
    )
    for kind, metrics in _METRICS.items()
    for metric in metrics
    for cluster in ("seren", "kalos")
)
# No case damages this file. Its rows show whether damage to other files changes it.
UNTOUCHED = _csv(
    "openb.node", "openb_node_list_all_node", "sn,cpu_milli,memory_mib,gpu,model", "{name},{number},64,0,"
)


def tar(members: Sequence[tuple[str, bytes]], form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar archive of files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def zipped(members: Sequence[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return packed.getvalue()


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _in_tar(compress: Callable[[bytes], bytes]) -> Callable[[Place, bytes], dict[str, bytes]]:
    return lambda place, text: {"": compress(tar([(f"{place.stem}.csv", text)]))}


def in_parts(
    place: Place, text: bytes, endings: Sequence[str] = ("partaa", "partab", "partac")
) -> dict[str, bytes]:
    """Split an archive into parts."""
    whole = gz(tar([(f"{place.stem}.csv", text)]))
    size = -(-len(whole) // len(endings))
    return {f".{ending}": whole[n * size : (n + 1) * size] for n, ending in enumerate(endings)}


@dataclass(frozen=True)
class Form:
    """A packing of a CSV: the ending of the file name, and the function that packs it into parts."""

    ending: str
    pieces: Callable[[Place, bytes], dict[str, bytes]]
    is_archive: bool = False

    def write(self, place: Place, text: bytes, raw: Path) -> str:
        """Write the file or its parts below `raw`, and return the name by which errors call it."""
        name = place.path(self.ending)
        for suffix, data in self.pieces(place, text).items():
            path = raw / (name + suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return name


def _alone(compress: Callable[[bytes], bytes]) -> Callable[[Place, bytes], dict[str, bytes]]:
    return lambda _, text: {"": compress(text)}


FORMS = {
    "csv": Form(".csv", _alone(bytes)),
    "tar.gz": Form(".tar.gz", _in_tar(gz), is_archive=True),
    "parts": Form(".tar.gz", in_parts, is_archive=True),
}


def raw_folder(raw: Path) -> Path:
    """Create a raw folder that is marked synthetic, so that ingest compares no published checksums."""
    raw.mkdir(parents=True)
    (raw / "SYNTHETIC.txt").write_text("Made up for a test.\n", encoding="utf-8")
    return raw


def write_old(raw: Path, places: Sequence[Place] = (UNTOUCHED, *NARROW, *ARCHIVED, *WIDE)) -> None:
    """Write the old version: a valid file for each place."""
    for place in places:
        form = FORMS["tar.gz" if place in ARCHIVED else "csv"]
        form.write(place, place.text(place.rows("old")), raw)


def stored(connection: duckdb.DuckDBPyConnection, place: Place) -> list[tuple[str, float | None]]:
    """Return the rows of a place in the warehouse, sorted."""
    return sorted(connection.execute(place.question).fetchall(), key=str)


def wanted(rows: Rows) -> list[tuple[str, float | None]]:
    """Return expected rows in the format and order of `stored`."""
    return sorted(rows.items(), key=str)
