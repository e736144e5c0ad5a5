"""Write the rows of a test as raw files in the publishers' formats, and build databases from them."""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb
from few_files import tar_gz

from tracehouse.engines.duckdb.write import database
from tracehouse.engines.duckdb.write.build import build_file
from tracehouse.ingest import pipeline
from tracehouse.ingest.store import lock, records
from tracehouse.ingest.store.snapshot import Snapshot

Row = Mapping[str, object]

PAI_HEADERS = {
    "pai_job_table": "job_name,inst_id,user,status,start_time,end_time",
    "pai_task_table": (
        "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
    ),
    "pai_instance_table": (
        "job_name,task_name,inst_name,worker_name,inst_id,status,start_time,end_time,machine"
    ),
    "pai_sensor_table": (
        "job_name,task_name,worker_name,inst_id,machine,gpu_name,cpu_usage,gpu_wrk_util,avg_mem,max_mem,"
        "avg_gpu_wrk_mem,max_gpu_wrk_mem,read,write,read_count,write_count"
    ),
    "pai_group_tag_table": "inst_id,user,gpu_type_spec,group,workload",
    "pai_machine_spec": "machine,gpu_type,cap_cpu,cap_mem,cap_gpu",
    "pai_machine_metric": (
        "worker_name,machine,start_time,end_time,machine_cpu_iowait,machine_cpu_kernel,machine_cpu_usr,"
        "machine_gpu,machine_load_1,machine_net_receive,machine_num_worker,machine_cpu"
    ),
}


def csv_text(columns: Sequence[str], rows: Iterable[Row], header: bool) -> bytes:
    lines = [",".join(columns)] if header else []
    lines += [",".join("" if row[name] is None else str(row[name]) for name in columns) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def write_archive(path: Path, members: Mapping[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tar_gz(members))


def write_pai(folder: Path, tables: Mapping[str, Iterable[Row]]) -> None:
    """Write each of PAI's tables as an archive with a CSV without header, and a header file."""
    for stem, rows in tables.items():
        header = PAI_HEADERS[stem]
        csv = csv_text(header.split(","), rows, False)
        write_archive(folder / f"{stem}.tar.gz", {f"{stem}.csv": csv})
        (folder / f"{stem}.header").write_text(header, encoding="utf-8")


def ingested(raw: Path, warehouse: Path) -> duckdb.DuckDBPyConnection:
    """Ingest raw files, and return a connection to a database without materialized views."""
    with lock.acquire(warehouse):
        outcome = pipeline.convert([raw], warehouse, [], lambda *_: None)
        assert not outcome.problems and not outcome.unrecognised, outcome.problems or outcome.unrecognised
        records.publish(warehouse, outcome.conversions)
    path = warehouse / database.DATABASE
    build_file(path, Snapshot(warehouse.absolute(), outcome.conversions), embed_tables=False)
    return duckdb.connect(str(path), read_only=True)


def without_data(warehouse: Path, embed_tables: bool = False) -> Path:
    """Build a database without data. With `embed_tables`, it has tables, so that a test can insert rows."""
    return Path(shutil.copyfile(_empty(embed_tables), warehouse / database.DATABASE))


@cache
def _empty(embed_tables: bool) -> Path:
    """Return the database of `without_data`, which no test changes."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    build_file(folder / database.DATABASE, Snapshot(folder), embed_tables)
    return folder / database.DATABASE


def columns_of(connection: duckdb.DuckDBPyConnection, view: str) -> list[dict[str, object]]:
    return connection.sql(f"from {view}").to_arrow_table().to_pylist()
