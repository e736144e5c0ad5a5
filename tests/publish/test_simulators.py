"""Exports for simulators, read back by other parsers: the same jobs, and a loss report of the files.

The tests read an export with ingest if it has a trace's own format, and else with pandas. Rows that an export
could lose, duplicate or mislabel are in raw files of a few lines, whose results are counted by hand.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import command_line
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import raw_frames
import suites
from broken.openb import NODE_HEADER, POD_HEADER
from conftest import NEIGHBOURS
from few_files import quiet, write
from non_empty import non_empty
from reference_results import philly

from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.duckdb.write import database
from tracehouse.publish.simulators import export
from tracehouse.publish.simulators.formats import NO_RUN_TIME, build_format
from tracehouse.publish.simulators.loss_report import describe_totals

pytestmark = suites.of("long")

HELIOS_HEADER = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
OPENDC = ("--cpu-mhz", 2000, "--gpu-mhz", 1000, "--default-cpus", 3, "--default-mem-mib", 512)
HELIOS = ("--default-user", "unknown", "--default-cpus", 2, "--default-state", "COMPLETED")
ELASTICFLOW = (
    *("--model", "it's", "--batch-size", 64),
    *("--iterations-per-s", 2, "--deadline-factor", 1.5),
)
OPTIONS: dict[str, object] = {
    **{"processors_per_gpu": 1, "gpus_per_node": 8, "cpu_mhz": 1000.0, "gpu_mhz": None, "default_cpus": 1},
    **{"default_mem_mib": 1, "default_cpu_milli": 1, "default_memory_mib": 1, "model": "m", "batch_size": 1},
    **{"iterations_per_s": 1.0, "deadline_factor": 1.0, "first_day": date(2020, 1, 1), "default_user": "u"},
    **{"default_vc": "v", "default_wait_s": 0, "default_state": "FAILED", "default_status": None},
}
OPENB = ("--default-cpu-milli", 7, "--default-memory-mib", 9)
RAN = "2020-06-09 18:41:10,2020-06-09 18:42:10,60"
ATTEMPT = {
    "start_time": "2017-10-07 01:12:00",
    "end_time": "2017-10-07 01:13:00",
    "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
}
PHILLY = {"status": "Pass", "vc": "v", "submitted_time": "2017-10-07 01:11:00", "user": "u"}
FILES = {
    # Both clusters have a job 1 and a virtual cluster vc1. Two jobs have reversed times.
    "helios/Earth/cluster_log.csv": [
        HELIOS_HEADER,
        f"1,u1,vc1,1,4,1,COMPLETED,2020-06-09 18:41:00,{RAN},10",
        f"2,u1,vc2,1,4,1,COMPLETED,2020-06-09 18:41:00,{RAN},10",
    ],
    "helios/Venus/cluster_log.csv": [
        HELIOS_HEADER,
        f"1,u1,vc1,1,4,1,COMPLETED,2020-06-09 18:41:00,{RAN},10",
        "2,u1,vc1,1,4,1,FAILED,2020-06-09 18:41:11,2020-06-09 18:41:10,2020-06-09 18:42:10,60,-1",
        "3,u1,vc1,1,4,1,FAILED,2020-06-09 18:41:00,2020-06-09 18:41:10,2020-06-09 18:41:08,-2,10",
    ],
    "helios/Uranus/cluster_log.csv": [
        HELIOS_HEADER,
        f"1,u1,vc1,1,4,1,TIMEOUT,2020-06-09 18:41:00,{RAN},10",
        f"2,u1,vc1,1,4,1,NODE_FAIL,2020-06-09 18:41:00,{RAN},10",
        f"3,u1,vc1,1,4,1,CANCELLED,2020-06-09 18:41:00,{RAN},10",
    ],
    # A job without an id.
    "helios/Saturn/cluster_log.csv": [
        HELIOS_HEADER,
        f",u1,vc1,1,4,1,COMPLETED,2020-06-09 18:41:00,{RAN},10",
    ],
    # Pod x is split into four pods of two GPUs. None of them may get the name of pod x-1.
    "openb/openb_pod_list_default.csv": [
        POD_HEADER,
        "x,96000,1024,8,1000,,LS,Succeeded,0,30,20",
        "x-1,1000,1024,1,300,,LS,Succeeded,1,30,20",
        "y,1000,1024,0,0,,BE,Failed,2,30,20",
    ],
    # The second node has no number of cores.
    "openb/openb_node_list_all_node.csv": [NODE_HEADER, "n1,1000,1024,8,G2", "n2,,1024,0,"],
    # Two instances of 12 GPUs, three without a GPU, three of half a GPU, and one of one and a half.
    "pai/pai_task_table.csv": [
        "j,worker,2.0,Terminated,100.0,200.0,600.0,10.0,1200.0,V100",
        "j,ps,3.0,Terminated,100.0,200.0,600.0,10.0,,",
        "j,chief,3.0,Terminated,100.0,200.0,600.0,10.0,50.0,T4",
        "j,evaluator,1.0,Terminated,100.0,200.0,600.0,10.0,150.0,T4",
    ],
    "pai/pai_machine_spec.csv": ["m1,V100,96,512,8"],
    "spot/job_info_df.csv": [
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type",
        "1,13,A10,8,1,16,0,60,HP",
        "2,13,H800,4,8,2,0,60,Spot",
    ],
    # Philly's jobs have GPUs only in their attempts, and one job has no attempt.
    "philly/cluster_job_log": [
        json.dumps(
            [
                PHILLY | {"jobid": "a_1", "attempts": []},
                PHILLY | {"jobid": "a_2", "attempts": [ATTEMPT]},
            ]
        )
    ],
}


@pytest.fixture(scope="module")
def few_jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of `FILES`."""
    return ingest_lines(tmp_path_factory.mktemp("few_jobs"), FILES)


def ingest_lines(folder: Path, files: dict[str, list[str]]) -> Path:
    lines = {name: "".join(f"{line}\n" for line in rows).encode() for name, rows in files.items()}
    outcome = database.ingest(
        [write(folder / "raw", lines)], folder / "warehouse", [], quiet, materialize=False
    )
    assert not outcome.problems
    return folder / "warehouse"


def run(warehouse: Path, *arguments: object) -> command_line.Run:
    environment = {"TRACES_WAREHOUSE": str(warehouse)}
    return command_line.server().run("export", *arguments, environment=environment)


class Export:
    """The folder of an export, and its loss report."""

    def __init__(self, warehouse: Path, folder: Path, *arguments: object):
        ended = run(warehouse, *arguments, "--out", folder)
        assert (ended.code, ended.stderr) == (0, "")
        self.folder, self.printed = folder, " ".join(ended.stdout.split())
        self.report = json.loads((folder / "export.json").read_text(encoding="utf-8"))

    def csv(self, file: str, **types: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / file, dtype=types)

    def swf(self) -> pd.DataFrame:
        jobs = pd.read_csv(self.folder / "jobs.swf", sep=" ", comment=";", header=None)
        assert len(jobs.columns) == 18
        return jobs

    def pods(self, trace: str) -> pd.DataFrame:
        return self.csv(f"openb_pod_list_{trace}.csv", name="str").set_index("name")

    def origins(self, field: str, file: str = "") -> dict[str, int]:
        return {
            each["origin"]: each["rows"]
            for each in self.report["fields"]
            if each["field"] == field and file in each["file"]
        }

    def source(self, field: str) -> str:
        """How the field is computed, if it has one origin."""
        [source] = [each["source"] for each in self.report["fields"] if each["field"] == field]
        return source

    def skipped(self, noun: str = "jobs") -> dict[str, int]:
        return {each["reason"]: each[noun] for each in self.report["skipped"]}

    def untimed(self) -> dict[str, tuple[int, float | None]]:
        """The jobs that lack a run time in the files, and the GPU-hours that they held, by reason."""
        return {each["reason"]: (each["jobs"], each["gpu_h"]) for each in self.report["untimed"]}

    def dropped(self, noun: str = "jobs") -> dict[str, int]:
        return {each["column"]: each[noun] for each in self.report["dropped"]}


def jobs_of(warehouse: Path, trace: str, condition: str) -> pd.DataFrame:
    """The rows of `unified.jobs`, sorted by submission, then cluster and name."""
    with duckdb.connect(warehouse / "traces.duckdb", read_only=True) as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.sql(
            f"from unified.jobs where trace = '{trace}' and {condition} order by submit_s, cluster, job_id"
        ).df()


def whole(values: pd.Series, missing: int = -1) -> list[int]:
    """Round halves up, as SQL does for positive numbers, and replace missing values."""
    return list(np.floor(values.astype(float) + 0.5).fillna(missing).astype(int))


def test_swf_has_the_jobs(real_warehouse: Path, sample_warehouse: Path, tmp_path: Path) -> None:
    for warehouse, trace, per_gpu in ((real_warehouse, "openb", 1), (sample_warehouse, "pai", 100)):
        folder = tmp_path / trace
        export = Export(warehouse, folder, "swf", trace, "--processors-per-gpu", per_gpu)
        runs_forwards = "coalesce(run_s, 0) >= 0 and coalesce(wait_s, 0) >= 0"
        jobs = jobs_of(warehouse, trace, f"requested_gpus > 0 and submit_s is not null and {runs_forwards}")
        read = export.swf()
        assert len(read) == len(jobs) == export.report["jobs"] > 100
        assert list(read[0]) == list(range(1, len(jobs) + 1))
        assert list(read[1]) == whole(jobs["submit_s"] - jobs["submit_s"].min())
        assert (list(read[2]), list(read[3])) == (whole(jobs["wait_s"]), whole(jobs["run_s"]))
        processors = np.ceil((jobs["requested_gpus"] * per_gpu).round(9)).astype(int)
        assert list(read[7]) == list(processors)
        status = {"completed": 1, "failed": 0, "preempted": 0, "cancelled": 5}
        assert list(read[10]) == list(jobs["status"].map(status).fillna(-1).astype(int))
        numbers = pd.read_csv(folder / "job_numbers.csv", dtype=str, keep_default_na=False)
        assert list(numbers["job_id"]) == list(jobs["job_id"].astype(str))
        # Each name has one number, and each number one name.
        for number, column in ((11, "user_id"), (15, "partition_name")):
            pairs = set(zip(read[number], numbers[column], strict=True))
            assert len(pairs) == read[number].nunique() == numbers[column].nunique()
            assert all((given == -1) == (name == "") for given, name in pairs)


def test_swf_header(sample_warehouse: Path, few_jobs: Path, tmp_path: Path) -> None:
    lines = (Export(sample_warehouse, tmp_path / "acme", "swf", "acme").folder / "jobs.swf").read_text(
        encoding="utf-8"
    )
    keys = dict(re.findall(r"^; (\w+): (.*)$", lines, re.M))
    assert keys["Version"] == "2.2" and int(keys["MaxJobs"]) == len(re.findall("^[^;]", lines, re.M))
    # The publisher gives seren 2,288 GPUs on 286 nodes, and kalos 2,416 on 302.
    assert (keys["MaxProcs"], keys["MaxNodes"], keys["MaxPartitions"]) == ("4704", "588", "2")
    start = pd.Timestamp(int(keys["UnixStartTime"]), unit="s", tz="Asia/Shanghai")
    assert keys["TimeZoneString"] == "Asia/Shanghai"
    assert keys["StartTime"] == f"{start:%a %b %d %H:%M:%S CST %Y}"

    options = ("swf", "pai", "--processors-per-gpu", 100)
    lines = (Export(few_jobs, tmp_path / "pai", *options).folder / "jobs.swf").read_text(encoding="utf-8")
    # The one machine has 8 GPUs, and the largest job requests 24.
    assert {"; UnixStartTime: 0", "; MaxProcs: 2400", "; MaxNodes: 1"} <= set(lines.splitlines())
    assert "; Note: MaxProcs is that of the largest job, as the trace lists 8 GPUs only." in lines
    assert "TimeZoneString" not in lines and "; StartTime" not in lines
    # The raw data lacks openb's list of GPU nodes.
    lines = (Export(few_jobs, tmp_path / "openb", "swf", "openb").folder / "jobs.swf").read_text(
        encoding="utf-8"
    )
    assert "MaxProcs" not in lines


def test_elasticflow_of_itp_equals_published_file(
    real_warehouse: Path, real_raw: Path, tmp_path: Path
) -> None:
    published = raw_frames.itp_table(real_raw, "elasticflow-traces.tar.gz")
    published = published[published["csv"] == "cluster03"].drop(columns="csv")
    export = Export(real_warehouse, tmp_path / "out", "elasticflow", "itp", "--cluster", "cluster03")
    written = export.csv("jobs.csv")
    assert list(written) == list(published) and len(written) == 3011
    assert written["submission_time"].is_monotonic_increasing
    by_job = [frame.set_index("job_id").sort_index().astype(str) for frame in (written, published)]
    pd.testing.assert_frame_equal(*by_job, check_dtype=False)
    assert {each["origin"] for each in export.report["fields"]} == {"exact"}
    assert "The files have all 3,011 jobs and all 165,442.5 GPU-hours." in export.printed
    # The tables of all fields are printed on request only.
    assert "in the order of submission" not in export.printed
    # Ingest recognises the export as one of ITP's files.
    (export.folder / "jobs.csv").rename(export.folder / "cluster03.csv")
    outcome = database.ingest([export.folder], tmp_path / "again", ["itp"], quiet)
    assert [(each.table_name, each.rows) for each in outcome.converted] == [("itp.elasticflow_job", 3011)]


def test_openb_of_openb_is_ingested_again(real_warehouse: Path, real_raw: Path, tmp_path: Path) -> None:
    export = Export(real_warehouse, tmp_path / "out", "openb", "openb")
    outcome = database.ingest([export.folder], tmp_path / "again", ["openb"], quiet)
    rows = {each.table_name: each.rows for each in outcome.converted}
    assert rows == {"openb.node": 1523, "openb.pod": export.report["jobs"]} and export.report["jobs"] == 8152
    written = export.csv("openb_pod_list_openb.csv")
    published = raw_frames.openb_pods(real_raw)
    published = published[published["variant"] == "default"][list(written)]
    published["creation_time"] -= published["creation_time"].min()
    by_name = [frame.set_index("name").sort_index() for frame in (written, published)]
    pd.testing.assert_frame_equal(*by_name, check_dtype=False)
    nodes = raw_frames.openb_nodes(real_raw)
    nodes = nodes[nodes["node_list"] == "all_node"].drop(columns="node_list").reset_index(drop=True)
    written = export.csv("openb_node_list_openb.csv")
    pd.testing.assert_frame_equal(written, nodes.sort_values("sn"), check_dtype=False)


def gpus_of(pods: pd.DataFrame, *columns: str) -> Counter:
    return Counter(pods[["num_gpu", "gpu_milli", *columns]].itertuples(index=False, name=None))


def test_openb_splits_pods(few_jobs: Path, tmp_path: Path) -> None:
    export = Export(few_jobs, tmp_path / "openb", "openb", "openb", "--gpus-per-node", 2)
    pods = export.pods("openb")
    assert list(pods.index) == ["x--1", "x--2", "x--3", "x--4", "x-1", "y"]
    assert gpus_of(pods, "cpu_milli", "memory_mib") == {
        (2, 1000, 24000, 256): 4,
        (1, 300, 1000, 1024): 1,
        (0, 0, 1000, 1024): 1,
    }
    assert export.report["jobs"] == 3 and export.origins("num_gpu") == {"derived": 6}
    # 8.3 GPUs for ten seconds, in the files and in the trace.
    assert export.report["exported_gpu_h"] == pytest.approx(8.3 * 10 / 3600)
    assert export.report["held_gpu_h"] == pytest.approx(8.3 * 10 / 3600)
    assert list(export.csv("openb_node_list_openb.csv")["cpu_milli"].isna()) == [False, True]
    assert export.origins("cpu_milli", "node_list") == {"exact": 1, "missing": 1}

    export = Export(few_jobs, tmp_path / "pai", "openb", "pai")
    by_task = export.pods("pai").groupby(lambda name: re.sub(r"-\d$", "", name))
    assert {task: gpus_of(pods, "cpu_milli") for task, pods in by_task} == {
        "j/worker": {(8, 1000, 3000): 2, (4, 1000, 3000): 2},
        "j/ps": {(0, 0, 6000): 3},
        "j/chief": {(1, 500, 6000): 3},
        "j/evaluator": {(2, 750, 6000): 1},
    }
    assert "1 shares of several GPUs" in export.source("gpu_milli")
    assert export.origins("memory_mib", "node_list") == {"derived": 1}

    export = Export(few_jobs, tmp_path / "spot", "openb", "spot", "--default-memory-mib", 9)
    assert gpus_of(export.pods("spot"), "cpu_milli", "gpu_spec") == {
        (1, 1000, 8000, "A10"): 16,
        (8, 1000, 4000, "H800"): 2,
    }
    assert any("spot lacks the memory of its nodes" in note for note in export.report["notes"])
    # The start is unknown, so the end is too, and the run time is lost.
    assert export.dropped()["run_s"] == 2 and "partition_name" not in export.dropped()
    assert export.report["exported_gpu_h"] == 0
    # Sixteen GPUs for a minute, twice.
    assert "100.0 % less than the 0.5 in the warehouse. 2 of these jobs lack a run time" in export.printed
    assert export.untimed() == {"its start or its end is unknown": (2, pytest.approx(32 / 60))}

    export = Export(few_jobs, tmp_path / "helios", "openb", "helios", "--cluster", "Uranus", *OPENB)
    assert set(export.pods("helios")["pod_phase"]) == {"Failed"}
    assert export.source("pod_phase") == "status; 1 cancelled, as Failed"
    assert {path.name for path in export.folder.iterdir()} == {"export.json", "openb_pod_list_helios.csv"}


RUNNING, _, NEVER_STARTED, _ = NO_RUN_TIME
OPENDC_TASKS = {
    "id": "int32",
    "submission_time": "timestamp[ms, tz=UTC]",
    "duration": "int64",
    "cpu_count": "int32",
    "cpu_capacity": "double",
    "mem_capacity": "int64",
    "name": "string?",
    "gpu_count": "int32?",
    "gpu_capacity": "double?",
    "parents": "list<int32>?",
    "children": "list<int32>?",
    "deferrable": "bool?",
    "deadline": "int64?",
}
OPENDC_FRAGMENTS = {"id": "int32", "duration": "int64", "cpu_usage": "double", "gpu_usage": "double?"}


def types_of(table: pa.Table) -> dict[str, str]:
    return {each.name: re.sub("<.*: ", "<", str(each.type)) + "?" * each.nullable for each in table.schema}


def test_opendc_has_schema_and_usage_of_pai(sample_warehouse: Path, sample_raw: Path, tmp_path: Path) -> None:
    export = Export(sample_warehouse, tmp_path / "out", "opendc", "pai", *OPENDC)
    tasks = pyarrow.parquet.read_table(export.folder / "tasks.parquet")
    fragments = pyarrow.parquet.read_table(export.folder / "fragments.parquet")
    assert types_of(tasks) == OPENDC_TASKS and types_of(fragments) == OPENDC_FRAGMENTS
    assert fragments["id"].to_pylist() == tasks["id"].to_pylist() == list(range(1, len(tasks) + 1))
    found, used = tasks.to_pandas(), fragments.to_pandas()
    jobs = jobs_of(sample_warehouse, "pai", "true").set_index("job_id").loc[list(found["name"])]
    assert list(found["duration"]) == whole(jobs["run_s"] * 1000)
    requested = jobs["requested_cpus"].fillna(0).round(9)
    assert list(found["cpu_count"]) == list(np.ceil(requested.replace(0, 3)).astype(int))
    assert np.allclose(found["cpu_capacity"], found["cpu_count"] * 2000)
    assert export.origins("cpu_capacity").get("defaulted", 0) == (requested == 0).sum()
    # Without a measurement, the usage equals the request, which may include fractions of cores.
    usage = raw_frames.pai_task_usage(sample_raw)
    usage.index = usage["job_name"] + "/" + usage["task_name"]
    measured = usage["cpu_use_of_plan"].reindex(jobs.index) * jobs["requested_cpus"] * 2000
    assert np.allclose(used["cpu_usage"], measured.fillna(requested.replace(0, 3) * 2000))
    assert export.origins("cpu_usage")["derived"] == measured.notna().sum() > 0
    # Some tasks use more than they requested. The export keeps and reports this.
    sources = " ".join(each["source"] for each in export.report["fields"])
    for resource in ("cpu", "gpu"):
        above = (used[f"{resource}_usage"] > found[f"{resource}_capacity"] * (1 + 1e-9)).sum()
        assert above > 0 and f"{above} above {resource}_capacity, kept" in sources
    assert "pai.gpu_use_over_100" in sources and "pai.gpu_use_over_100" in export.report["caveats"]
    assert any("pai_sensor_table" in source["file"] for source in export.report["sources"])


def test_opendc_leaves_out_running_pods(real_warehouse: Path, tmp_path: Path) -> None:
    """32 pods that still run at the end of the trace hold 56.1 % of the GPU time."""
    export = Export(real_warehouse, tmp_path / "out", "opendc", "openb", *OPENDC)
    assert export.skipped() == {NEVER_STARTED: 897, RUNNING: 34}
    tasks = pyarrow.parquet.read_table(export.folder / "tasks.parquet").to_pandas()
    assert export.report["jobs"] == len(tasks) == 8152 - 897 - 34
    assert tasks["submission_time"].is_monotonic_increasing
    assert export.origins("mem_capacity") == {"derived": len(tasks) - 1, "defaulted": 1}
    gpu_h = (tasks["gpu_count"] * tasks["duration"]).sum() / 3_600_000
    assert export.report["exported_gpu_h"] == pytest.approx(gpu_h)
    [cut_off] = [each["gpu_h"] for each in export.report["skipped"] if each["reason"] == RUNNING]
    assert cut_off / (cut_off + export.report["held_gpu_h"]) == pytest.approx(0.561, abs=0.0005)
    kept = Export(real_warehouse, tmp_path / "kept", "opendc", "openb", "--keep-censored", *OPENDC)
    assert kept.report["jobs"] == 8152 - 897
    assert kept.report["held_gpu_h"] == pytest.approx(cut_off + export.report["held_gpu_h"])


@pytest.mark.parametrize(
    ("gpu_h", "compared"),
    [
        (10_000.04, "all 10,000.0 GPU-hours."),
        (9_999.9, "9,999.9 GPU-hours (GPUs times run time), under 0.1 % less than the 10,000.0 in"),
        (10_010.0, "10,010.0 GPU-hours (GPUs times run time), 0.1 % more than the 10,000.0 in"),
    ],
)
def test_all_gpu_hours_are_those_that_print_the_same(gpu_h: float, compared: str) -> None:
    jobs = {
        "jobs": 2,
        "warehouse_jobs": 2,
        "untimed": [],
        "warehouse_gpu_h": 10_000.0,
        "held_gpu_h": 10_000.0,
    }
    assert compared in describe_totals({**jobs, "exported_gpu_h": gpu_h})


def test_run_time_as_held_keeps_the_gpu_time(sample_warehouse: Path, tmp_path: Path) -> None:
    """Some instances of a PAI task run for a part of the task's time only."""
    arguments = ("swf", "pai", "--processors-per-gpu", 100, "--keep-censored")
    loss = Export(sample_warehouse, tmp_path / "out", *arguments).report
    assert loss["exported_gpu_h"] > 1.01 * loss["held_gpu_h"]
    held = Export(sample_warehouse, tmp_path / "held", *arguments, "--run-as-held")
    assert f"and all {held.report['exported_gpu_h']:,.1f} GPU-hours." in held.printed
    ran = held.swf()[lambda jobs: jobs[3] >= 0]
    assert (ran[3] * ran[7]).sum() / 100 / 3600 == pytest.approx(loss["held_gpu_h"], rel=0.001)


def test_helios_has_local_times(sample_warehouse: Path, real_warehouse: Path, tmp_path: Path) -> None:
    log = Export(sample_warehouse, tmp_path / "acme", "helios", "acme", *HELIOS).csv(
        "cluster_log.csv", job_id="str"
    )
    columns = "job_id user vc gpu_num cpu_num node_num state submit_time start_time end_time duration queue"
    assert " ".join(log) == columns
    times = {name: pd.to_datetime(log[name]) for name in ("submit_time", "start_time", "end_time")}
    assert list((times["start_time"] - times["submit_time"]).dt.total_seconds()) == list(log["queue"])
    assert list((times["end_time"] - times["start_time"]).dt.total_seconds()) == list(log["duration"])
    jobs = jobs_of(sample_warehouse, "acme", "run_s >= 0 and coalesce(wait_s, 0) >= 0")
    local = jobs["submit_time"].dt.tz_convert("Asia/Shanghai").dt.tz_localize(None).dt.round("s")
    assert list(log["job_id"]) == list(jobs["cluster"] + "/" + jobs["job_id"])
    assert list(log["vc"]) == list(jobs["cluster"]) and list(times["submit_time"]) == list(local)
    assert list(log["node_num"]) == list(np.ceil(jobs["requested_gpus"] / 8).clip(lower=1))

    options = ("--first-day", "2021-03-04", "--default-wait-s", 30)
    export = Export(real_warehouse, tmp_path / "itp", "helios", "itp", *HELIOS, *options)
    log = export.csv("cluster_log.csv")
    assert log["submit_time"].min() == "2021-03-04 00:00:00" and set(log["queue"]) == {30}
    assert export.origins("start_time") == {"defaulted": 69351}


def test_names_and_partitions_of_several_clusters_are_unique(few_jobs: Path, tmp_path: Path) -> None:
    both = ("helios", "--cluster", "Earth", "--cluster", "Venus")
    reversed_times = {"it ends before it starts": 1, "it starts before it is submitted": 1}
    export = Export(few_jobs, tmp_path / "helios", "helios", *both)
    log = export.csv("cluster_log.csv")
    assert list(log["job_id"]) == ["Earth/1", "Earth/2", "Venus/1"]
    assert list(log["vc"]) == ["Earth/vc1", "Earth/vc2", "Venus/vc1"]
    assert export.source("job_id") == "job_id; 3 prefixed by their cluster, as several clusters are exported"
    assert export.report["clusters"] == ["Earth", "Venus"]
    assert {"cluster", "job_id", "partition_name"}.isdisjoint(export.dropped())
    assert export.skipped() == reversed_times

    export = Export(few_jobs, tmp_path / "swf", "swf", *both)
    assert list(export.csv("job_numbers.csv", job_id="str")["job_id"]) == ["1", "2", "1"]
    jobs = export.swf()
    assert (list(jobs[15]), list(jobs[2]), list(jobs[3])) == ([1, 2, 3], [10] * 3, [60] * 3)
    assert export.skipped() == reversed_times
    # Not dropped: the header has the date, and job_numbers.csv the cluster.
    assert {"submit_time", "cluster"}.isdisjoint(export.dropped())
    assert export.dropped()["requested_cpus"] == 3

    export = Export(few_jobs, tmp_path / "earth", "helios", "helios", "--cluster", "Earth")
    log = export.csv("cluster_log.csv", job_id="str")
    assert (list(log["job_id"]), list(log["vc"])) == (["1", "2"], ["vc1", "vc2"])
    assert export.source("job_id") == "job_id" and export.origins("job_id") == {"exact": 2}

    export = Export(few_jobs, tmp_path / "uranus", "helios", "helios", "--cluster", "Uranus")
    assert list(export.csv("cluster_log.csv")["state"]) == ["TIMEOUT", "NODE_FAIL", "CANCELLED"]


PHILLY_TABLES = ("job", "attempt", "attempt_machine")


def test_philly_log_equals_the_published_one(
    sample_warehouse: Path, sample_raw: Path, tmp_path: Path
) -> None:
    export = Export(sample_warehouse, tmp_path / "out", "philly", "philly")
    written = json.loads((export.folder / "cluster_job_log").read_text(encoding="utf-8"))
    published = json.loads(philly.content(sample_raw, "cluster_job_log"))
    for attempt in (attempt for job in published for attempt in job["attempts"]):
        # The publisher writes an unknown time in several ways.
        attempt.update({name: attempt[name] or "None" for name in ("start_time", "end_time")})
    by_id = [sorted(jobs, key=lambda job: job["jobid"]) for jobs in (written, published)]
    assert by_id[0] == by_id[1] and len(written) == export.report["jobs"] > 100
    assert [job["submitted_time"] for job in written] == sorted(job["submitted_time"] for job in written)
    assert export.skipped() == {} and export.origins("attempts")["missing"] == sum(
        not job["attempts"] for job in published
    )
    outcome = database.ingest([export.folder], tmp_path / "again", ["philly"], quiet, materialize=False)
    assert sorted(each.table_name for each in outcome.converted) == sorted(
        f"philly.{table}" for table in PHILLY_TABLES
    )
    rows = []
    for warehouse in (sample_warehouse, tmp_path / "again"):
        with duckdb.connect(warehouse / "traces.duckdb", read_only=True) as connection:
            rows += [
                [connection.sql(f"from philly.{table} order by all").fetchall() for table in PHILLY_TABLES]
            ]
    assert rows[0] == rows[1] and all(rows[0])


def blox_jobs(log: Path) -> dict[str, tuple[float, int, float]]:
    """Arrival, GPUs and summed seconds of each job of Philly's log, by the rules of Blox's parser."""

    def seconds(text: str) -> float:
        return pd.Timestamp(text).timestamp()

    jobs = [job for job in json.loads(log.read_text(encoding="utf-8")) if len(job["attempts"]) > 0]
    first = min(seconds(job["submitted_time"]) for job in jobs)
    found = {}
    for job in jobs:
        timed = [each for each in job["attempts"] if "None" not in (each["start_time"], each["end_time"])]
        ran = sum(seconds(each["end_time"]) - seconds(each["start_time"]) for each in timed)
        gpus = sum(len(machine["gpus"]) for machine in job["attempts"][-1]["detail"])
        found[job["jobid"]] = (seconds(job["submitted_time"]) - first, gpus, ran)
    return found


def test_philly_log_of_other_traces(real_warehouse: Path, few_jobs: Path, tmp_path: Path) -> None:
    options = ("--default-user", "u", "--default-vc", "v", "--default-status", "Failed")
    dated = (*options, "--first-day", "2020-01-01")
    openb = Export(real_warehouse, tmp_path / "openb", "philly", "openb", *dated)
    jobs = jobs_of(real_warehouse, "openb", "requested_gpus > 0").set_index("job_id")
    started = jobs[jobs["wait_s"].notna()]
    found = blox_jobs(openb.folder / "cluster_job_log")
    assert list(found) == list(started.index) and len(found) < len(jobs) == openb.report["jobs"]
    assert [gpus for _, gpus, _ in found.values()] == whole(np.ceil(started["requested_gpus"]))
    assert [run for _, _, run in found.values()] == whole(started["run_s"], 0)
    assert openb.origins("attempts")["missing"] == len(jobs) - len(started)
    assert sum(count for count, _ in openb.untimed().values()) == jobs["run_s"].isna().sum()
    # Requests for a part of a GPU get all of it.
    part = jobs["requested_gpus"] < np.ceil(jobs["requested_gpus"])
    assert f"changed in cluster_job_log: attempts ({part.sum():,} rows with GPUs rounded up)" in openb.printed
    # ITP has no waits.
    ended = run(real_warehouse, "philly", "itp", *dated, "--out", tmp_path / "new")
    assert ended.code == 2 and "Set them: --default-wait-s …" in ended.stderr
    waited = ("--cluster", "cluster10", "--default-wait-s", 60)
    itp = Export(real_warehouse, tmp_path / "itp", "philly", "itp", *dated, *waited)
    assert itp.origins("attempts") == {"defaulted": 260} and "all 4,023.5 GPU-hours" in itp.printed
    # Helios has dates, users and waits.
    both = Export(
        few_jobs, tmp_path / "helios", "philly", "helios", "--cluster", "Uranus", "--default-user", "u"
    )
    log = json.loads((both.folder / "cluster_job_log").read_text(encoding="utf-8"))
    assert [job["status"] for job in log] == ["Failed", "Failed", "Killed"]
    attempt = {
        "start_time": "2020-06-09 18:41:10",
        "end_time": "2020-06-09 18:42:10",
        "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
    }
    assert log[0]["attempts"] == [attempt] and log[0]["submitted_time"] == "2020-06-09 18:41:00"
    spot = Export(few_jobs, tmp_path / "spot", "philly", "spot", *dated, "--default-wait-s", 0)
    machines = json.loads((spot.folder / "cluster_job_log").read_text(encoding="utf-8"))[0]["attempts"][0][
        "detail"
    ]
    assert [(each["ip"], len(each["gpus"])) for each in machines] == [("m1", 8), ("m2", 8)]


def simulated_jobs(file: Path) -> pd.DataFrame:
    """The jobs as the simulator of PAI's authors reads them: GPUs and cores in percent, per instance."""
    jobs = pd.read_csv(file, dtype=str, keep_default_na=False)
    found = pd.DataFrame({"job_id": jobs["job_id"].astype(int), "gpu_type": jobs["gpu_type"]})
    for percent in ("num_gpu", "num_cpu"):
        found[percent] = [round(100 * float(value or 0)) for value in jobs[percent]]
    for count in ("submit_time", "num_inst"):
        found[count] = [round(float(value or 1)) for value in jobs[count]]
    found["duration"] = [max(int(float(value)), 1) for value in jobs["duration"]]
    return found


def test_pai_list_has_the_instances(
    sample_warehouse: Path, sample_raw: Path, few_jobs: Path, tmp_path: Path
) -> None:
    export = Export(sample_warehouse, tmp_path / "pai", "pai", "pai")
    columns = "job_id,num_inst,submit_time,num_cpu,num_gpu,gpu_type,duration,user"
    assert (export.folder / "jobs.csv").read_text(encoding="utf-8").splitlines()[0] == columns
    found = simulated_jobs(export.folder / "jobs.csv")
    names = export.csv("job_numbers.csv", job_id="str")
    assert list(found["job_id"]) == list(names["job_number"]) and len(found) == export.report["jobs"] > 100
    tasks = raw_frames.pai_table(sample_raw, "pai_task_table")
    tasks.index = tasks["job_name"] + "/" + tasks["task_name"]
    tasks = tasks.loc[names["job_id"]].reset_index()
    plan_gpu = tasks["plan_gpu"].fillna(0)
    assert list(found["num_inst"]) == list(tasks["inst_num"])
    assert list(found["num_cpu"]) == whole(tasks["plan_cpu"])
    assert list(found["num_gpu"]) == whole(plan_gpu) and (plan_gpu % 100 > 0).any()
    types = tasks["gpu_type"].where(plan_gpu > 0, "CPU").replace("V100M32", "V100").fillna("")
    assert list(found["gpu_type"]) == list(types)
    gpu_h = (found["num_inst"] * found["num_gpu"] / 100 * found["duration"]).sum() / 3600
    assert export.report["exported_gpu_h"] == pytest.approx(gpu_h)

    found = simulated_jobs(Export(few_jobs, tmp_path / "spot", "pai", "spot").folder / "jobs.csv")
    assert found[["num_inst", "num_gpu", "num_cpu", "gpu_type", "duration"]].values.tolist() == [
        [16, 100, 800, "A10", 60],
        [2, 800, 400, "H800", 60],
    ]


def test_job_with_unknown_gpus_is_skipped(few_jobs: Path, tmp_path: Path) -> None:
    formats: dict[str, tuple[object, ...]] = {
        "swf": (),
        "opendc": OPENDC,
        "openb": OPENB,
        "elasticflow": ELASTICFLOW,
        "helios": (*HELIOS, "--first-day", "2017-10-07"),
        "pai": ("--default-cpus", 1),
    }
    for name, options in non_empty(formats.items()):
        export = Export(few_jobs, tmp_path / name, name, "philly", *options)
        report = export.report
        assert report["skipped"] == [{"reason": "its requested GPUs are unknown", "jobs": 1, "gpu_h": None}]
        # Two GPUs for a minute.
        assert (report["jobs"], report["exported_gpu_h"]) == (1, pytest.approx(1 / 30)), name
        if name == "elasticflow":
            [job] = export.csv("jobs.csv").to_dict("records")
            assert (job["model_name"], job["batch_size"], job["num_iteration"]) == ("it's", 64, 120)
            assert (job["submission_time"], job["deadline"]) == (0, 90)
            assert export.origins("model_name") == {"defaulted": 1}
            assert export.source("num_iteration") == "run_s times --iterations-per-s 2"


def test_missing_values_need_an_option(sample_warehouse: Path, few_jobs: Path, tmp_path: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("opendc itp --cpu-mhz 1", "Set them: --default-cpus … --default-mem-mib …"),
        (
            "elasticflow acme",
            "Set them: --iterations-per-s … --model … --deadline-factor … --batch-size …",
        ),
        (
            "helios itp --default-user a --default-state b --default-cpus 1",
            "Set them: --first-day … --default-wait-s …",
        ),
        ("openb itp", "Set them: --default-cpu-milli … --default-memory-mib …"),
        ("opendc itp --cpu-mhz inf", "--cpu-mhz"),
        ("opendc itp --cpu-mhz 1e308 --default-cpus 9999", "--cpu-mhz"),
        ("swf itp --processors-per-gpu 100000000000000000", "--processors-per-gpu"),
        ("elasticflow acme --iterations-per-s 0", "--iterations-per-s"),
        ("helios itp --first-day soon", "--first-day"),
        ("swf zeus", "the warehouse has no jobs of zeus. Traces with jobs: acme, "),
        ("swf itp --cluster cluster99", "itp has no cluster cluster99. Its clusters: cluster01, cluster02"),
        ("swf pai --cluster x", "pai has no cluster x. Its clusters: none"),
    ]
    for arguments, message in cases:
        ended = run(sample_warehouse, *arguments.split(), "--out", tmp_path / "new")
        assert ended.code == 2 and message in " ".join(ended.stderr.split()), (arguments, ended.stderr)
    ended = run(few_jobs, "helios", "helios", "--cluster", "Saturn", "--out", tmp_path / "new")
    assert ended.code == 1 and "needs job_id in each row of cluster_log.csv" in ended.stderr
    assert "1 rows of the trace have none" in ended.stderr and "Set them" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_existing_folder_is_not_changed(sample_warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine", encoding="utf-8")
    cases = {
        tmp_path / "there": "exists and is not empty",
        tmp_path / "no" / "folder": "no such folder",
        Path("/proc/x"): "/proc/x: cannot be written (",
    }
    for folder, message in cases.items():
        ended = run(sample_warehouse, "swf", "itp", "--out", folder)
        assert ended.code == 1 and message in ended.stderr
    assert (tmp_path / "there" / "mine").read_text(encoding="utf-8") == "mine"


def test_loss_report_is_printed_and_saved(sample_warehouse: Path, tmp_path: Path) -> None:
    export = Export(sample_warehouse, tmp_path / "out", "swf", "openb", "--all")
    loss = export.report
    assert f"{loss['jobs']:,} jobs to" in export.printed
    for word in ("requested_processors", "rounded", "reason", "it requests no GPU", "held_gpu_s"):
        assert word in export.printed
    assert {"requested_cpus", "held_gpu_s"} <= {*export.dropped()}
    assert loss["format"] == "swf" and loss["licence"] and loss["citation"]
    assert "openb.deletion_never_empty" in loss["caveats"]
    assert all(source["file"] and source["synthetic"] for source in loss["sources"])
    per_field: Counter = Counter()
    for each in loss["fields"]:
        if each["file"] == "jobs.swf":
            per_field[each["field"]] += each["rows"]
    assert set(per_field.values()) == {loss["jobs"]} and len(per_field) == 18
    # The files do not have the run times of pods that still ran at the end.
    jobs = export.swf()
    assert export.origins("run_s", "jobs.swf")["missing"] == (jobs[3] == -1).sum() > 0
    gpu_h = (jobs[7] * jobs[3].clip(lower=0)).sum() / 3600
    assert loss["exported_gpu_h"] == pytest.approx(gpu_h)


def drop_last_line(file: Path) -> None:
    file.write_text(
        "".join(file.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8"
    )


def replace_once(old: str, new: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, (old, text)
        file.write_text(text.replace(old, new), encoding="utf-8")

    return change


def change_tasks(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], None]:
    def rewrite(file: Path) -> None:
        tasks = pyarrow.parquet.read_table(file)
        table = pa.Table.from_pandas(change(tasks.to_pandas()), tasks.schema, preserve_index=False)
        pyarrow.parquet.write_table(table, file)

    return rewrite


def change_log(change: Callable[[list[dict]], Any]) -> Callable[[Path], None]:
    def rewrite(file: Path) -> None:
        jobs = json.loads(file.read_text(encoding="utf-8"))
        change(jobs)
        file.write_text(json.dumps(jobs), encoding="utf-8")

    return rewrite


@pytest.mark.parametrize(
    ("form", "options", "change", "jobs", "gpu_s", "missing"),
    [
        # Job x has 8 GPUs for ten seconds and x-1 has 0.3, a processor each tenth; y has none.
        ("swf", {"processors_per_gpu": 10}, None, 2, 83, ("run_s", 0)),
        ("swf", {"processors_per_gpu": 10}, drop_last_line, 1, 80, ("run_s", 0)),
        ("swf", {"processors_per_gpu": 10}, replace_once("1 0 20 10 ", "1 0 20 -1 "), 2, 3, ("run_s", 1)),
        # Without processors, a reader has no GPU time either. -1 is unknown, 0 is not.
        ("swf", {"processors_per_gpu": 10}, replace_once(" 80 ", " -1 "), 2, 3, ("requested_processors", 1)),
        ("swf", {"processors_per_gpu": 10}, replace_once(" 80 ", " 0 "), 2, 3, ("requested_processors", 0)),
        ("openb", {}, None, 3, 83, ("scheduled_time", 0)),
        ("openb", {}, drop_last_line, 2, 83, ("scheduled_time", 0)),
        ("openb", {}, replace_once("Succeeded,0,30,20", "Succeeded,0,30,"), 3, 3, ("scheduled_time", 1)),
        ("openb", {}, replace_once(",1,300,", ",1,600,"), 3, 86, ("scheduled_time", 0)),
        ("elasticflow", {}, None, 2, 90, ("duration", 0)),
        ("elasticflow", {}, drop_last_line, 1, 80, ("duration", 0)),
        ("elasticflow", {}, replace_once("8,10\n", "8,\n"), 2, 10, ("duration", 1)),
        ("helios", {}, None, 3, 90, ("duration", 0)),
        ("helios", {}, drop_last_line, 2, 90, ("duration", 0)),
        ("helios", {}, replace_once(",8,96,1,", ",7,96,1,"), 3, 80, ("duration", 0)),
        ("opendc", {}, None, 3, 90, ("gpu_count", 1)),
        ("opendc", {}, change_tasks(lambda tasks: tasks[:1]), 1, 80, ("gpu_count", 0)),
        ("opendc", {}, change_tasks(lambda tasks: tasks.assign(gpu_count=None)), 3, 0, ("gpu_count", 3)),
        ("philly", {}, None, 2, 90, ("attempts", 0)),
        ("philly", {}, change_log(lambda jobs: jobs.pop()), 1, 80, ("attempts", 0)),
        ("philly", {}, change_log(lambda jobs: jobs[0].update(attempts=[])), 2, 10, ("attempts", 1)),
        ("philly", {}, replace_once('"gpu0", "gpu1", ', '"gpu0", '), 2, 80, ("attempts", 0)),
        ("pai", {}, None, 3, 83, ("duration", 0)),
        ("pai", {}, drop_last_line, 2, 83, ("duration", 0)),
        ("pai", {}, replace_once("1,1,0,96.0,8.0,,10,", "1,2,0,96.0,8.0,,10,"), 3, 163, ("duration", 0)),
        ("pai", {}, replace_once("1,1,0,96.0,8.0,,10,", "1,1,0,96.0,8.0,,,"), 3, 3, ("duration", 1)),
    ],
)
def test_report_counts_in_the_written_files(
    few_jobs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    options: dict[str, object],
    change: Callable[[Path], None] | None,
    jobs: int,
    gpu_s: float,
    missing: tuple[str, int],
) -> None:
    write_file = export._write_file

    def write_and_change(*arguments: Any) -> Any:
        missing = write_file(*arguments)
        if change and arguments[1] == built.files[0]:
            change(arguments[3])
        return missing

    def run_here(warehouse: Path, limits: Limits, work: Callable, writable: list[Path], scratch: Path) -> Any:
        with sandbox.connect(warehouse, limits, writable, scratch) as connection:
            return work(connection)

    monkeypatch.setattr(export, "_write_file", write_and_change)
    # A child process would not have the changed function.
    monkeypatch.setattr(sandbox, "run", run_here)
    built = build_format(form, "openb", OPTIONS | options)
    report, _ = export.export(few_jobs, "openb", [], built, tmp_path / "out")
    assert (report["jobs"], report["exported_gpu_h"]) == (jobs, pytest.approx(gpu_s / 3600))
    # The trace does not change: three jobs, and 8.3 GPUs for ten seconds.
    assert (report["warehouse_jobs"], report["warehouse_gpu_h"]) == (3, pytest.approx(83 / 3600))
    found = {
        each["field"]: each["rows"]
        for each in report["fields"]
        if each["origin"] == "missing" and each["file"] == built.files[0].name
    }
    assert found.get(missing[0], 0) == missing[1]
    # Each field has one origin in each row that the file has.
    rows = dict.fromkeys(found, 0)
    for each in report["fields"]:
        if each["file"] == built.files[0].name:
            rows[each["field"]] = rows.get(each["field"], 0) + each["rows"]
    assert set(rows.values()) == {jobs} and all(each["rows"] > 0 for each in report["fields"])
    lacks_time = change is not None and missing[1] > 0 and form != "opendc"
    untimed = [(each["jobs"], each["gpu_h"]) for each in report["untimed"]]
    assert untimed == [(1, pytest.approx(80 / 3600))] * lacks_time


def test_report_of_real_openb(real_warehouse: Path, real_raw: Path, tmp_path: Path) -> None:
    """The published pods: 28,890.9 of their 51,470.7 GPU-hours are of pods that still ran at the end."""
    pods = raw_frames.openb_pods(real_raw)
    pods = pods[pods["variant"] == "default"]
    gpus = pods["num_gpu"] * pods["gpu_milli"] / 1000
    gpu_h = gpus * (pods["deletion_time"] - pods["scheduled_time"]) / 3600
    assert gpu_h.sum() == pytest.approx(51_470.7, abs=0.05)
    lists = Export(real_warehouse, tmp_path / "lists", "openb", "openb")
    assert "The files have all 8,152 jobs and all 51,470.7 GPU-hours." in lists.printed
    swf = Export(real_warehouse, tmp_path / "swf", "swf", "openb", "--processors-per-gpu", 1000)
    assert swf.report["exported_gpu_h"] == pytest.approx(51_470.7 - 28_890.9, abs=0.05)
    at_the_end = pods["deletion_time"] == pods["deletion_time"].max()
    never_ran = (gpus > 0) & pods["scheduled_time"].isna()
    assert swf.untimed() == {
        NEVER_STARTED: (never_ran.sum(), 0),
        RUNNING: ((at_the_end & (gpus > 0)).sum(), pytest.approx(gpu_h[at_the_end].sum())),
    }
    jobs = swf.swf()
    assert sum(count for count, _ in swf.untimed().values()) == (jobs[3] == -1).sum() == 893
    assert "56.1 % less than the 51,470.7 in the warehouse" in swf.printed
    assert (
        "893 of these jobs lack a run time in the files. The others held 22,579.8 GPU-hours." in swf.printed
    )
    assert "32 28,890.9 it was still running when the trace ended" in swf.printed
    assert "changed" not in swf.printed
    whole = Export(real_warehouse, tmp_path / "whole", "swf", "openb")
    rounded_up = (gpus < pods["num_gpu"]).sum()
    assert f"changed in jobs.swf: requested_processors ({rounded_up:,} rows rounded up)" in whole.printed
    assert "The others held 22,579.8 GPU-hours; the files have 7.7 % more." in whole.printed


def test_header_is_not_below_the_jobs(sample_warehouse: Path, tmp_path: Path) -> None:
    for trace in non_empty(("acme", "dlrm", "helios", "itp", "openb", "pai", "philly", "spot")):
        export = Export(sample_warehouse, tmp_path / trace, "swf", trace)
        text = (export.folder / "jobs.swf").read_text(encoding="utf-8")
        header = dict(re.findall(r"^; (\w+): (.*)$", text, re.M))
        jobs = export.swf()
        largest = jobs[[4, 7]].to_numpy().max()
        assert int(header["MaxJobs"]) == int(header["MaxRecords"]) == len(jobs)
        assert int(header.get("MaxProcs", largest)) >= largest, trace
        assert int(header.get("MaxPartitions", 0)) == max(jobs[15].max(), 0), trace
        is_simulated = "; Note: MaxProcs: Capacities are those that ElasticFlow" in text
        assert is_simulated == (trace == "itp")
        if "MaxProcs is that of the largest job" in text:
            assert int(header["MaxProcs"]) == largest, trace
    with duckdb.connect(sample_warehouse / "traces.duckdb", read_only=True) as connection:
        [(capacity,)] = connection.sql("select max(capacity_gpus) from philly.fragmentation()").fetchall()
    assert f"; MaxProcs: {capacity}\n" in (tmp_path / "philly" / "jobs.swf").read_text(encoding="utf-8")


GENAI_HEADER = (
    "gmt_create,predict_type,predict_status,exec_time_seconds,groupId,prompt_length,negative_prompt_length,"
    "num_images_per_prompt,num_inference_steps,checkpoint_model_version_id,num_lora"
)
AZURE_HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"
DAY = "2023-11-16 18"
REQUEST_FILES = {
    # Requests arrive after 0, 0.25, 1, 1, 60 and 120 s.
    "azure/AzureLLMInferenceTrace_code.csv": [
        AZURE_HEADER,
        *(f"{DAY}:00:00.1000010,1,10", f"{DAY}:00:00.3500010,2,20", f"{DAY}:00:01.1000010,3,30"),
        *(f"{DAY}:00:01.1000010,4,40", f"{DAY}:01:00.1000010,5,50", f"{DAY}:02:00.1000010,6,0"),
    ],
    "azure/AzureLLMInferenceTrace_conv.csv": [AZURE_HEADER, f"{DAY}:00:30.1000010,7,70"],
    "azure/AzureLLMInferenceTrace_code_1week.csv": [
        AZURE_HEADER,
        *(f"2024-05-10 00:{n // 60:02}:{n % 60:02}.0000000,{n + 1},1" for n in range(2000)),
    ],
    "mooncake/conversation_trace.jsonl": [
        '{"timestamp": 3000, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}',
        '{"timestamp": 4001, "input_length": 600, "output_length": 7, "hash_ids": [0, 2]}',
    ],
    "mooncake/toolagent_trace.jsonl": [
        '{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [0]}'
    ],
    "qwen/qwen_traceA_blksz_16.jsonl": [
        '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 20, "output_length": 3,'
        ' "type": "text", "turn": 1, "hash_ids": [7, 8]}'
    ],
    "genai/lora_request_trace.csv": [
        GENAI_HEADER,
        "2025-06-20 10:00:00,TXT_2_IMG,FAILED,1.5,g,1,1,1,20,m,0",
        "2025-06-20 10:00:01,TXT_2_IMG,SUCCEED,1.5,g,1,1,1,20,m,0",
    ],
}


@pytest.fixture(scope="module")
def few_requests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of `REQUEST_FILES`."""
    return ingest_lines(tmp_path_factory.mktemp("few_requests"), REQUEST_FILES)


@pytest.mark.usefixtures("requests_raw")
def test_requests_in_their_own_format_equal_the_published_files(tmp_path: Path) -> None:
    raw = NEIGHBOURS / "requests"
    warehouse = tmp_path / "warehouse"
    assert not database.ingest([raw], warehouse, ["azure_llm", "mooncake"], quiet, materialize=False).problems
    written = Export(warehouse, tmp_path / "out", "mooncake", "mooncake", "--workload", "conversation")
    file = raw / "mooncake/conversation_trace.jsonl"
    assert (written.folder / "requests.jsonl").read_bytes() == file.read_bytes()
    assert (written.report["requests"], written.report["skipped"]) == (12_031, [])
    totals = "The files have all 12,031 requests, with 144,793,823 input and 4,122,048 output tokens."
    assert totals in written.printed and "(3.40 per second)" in written.printed
    assert not any(source["synthetic"] for source in written.report["sources"])
    for workload in ("code", "conv"):
        written = Export(warehouse, tmp_path / workload, "azure", "azure_llm", "--workload", workload)
        # The publisher ends lines in \r\n, and not the last one.
        file = raw / f"azure_llm_2023/AzureLLMInferenceTrace_{workload}.csv"
        expected = file.read_bytes().replace(b"\r\n", b"\n") + b"\n"
        assert (written.folder / "requests.csv").read_bytes() == expected


def test_synthetic_requests_are_labelled(sample_warehouse: Path, tmp_path: Path) -> None:
    sources = Export(sample_warehouse, tmp_path / "out", "mooncake", "azure_llm").report["sources"]
    assert sources and all(source["synthetic"] for source in sources)


def objects(written: Export) -> list[dict]:
    return [
        json.loads(line)
        for line in (written.folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def test_window_and_rate_factor(few_requests: Path, tmp_path: Path) -> None:
    code = ("azure_llm", "--workload", "code")
    exported = Export(few_requests, tmp_path / "whole", "mooncake", *code)
    whole = objects(exported)
    assert [row["timestamp"] for row in whole] == [0, 250, 1000, 1000, 60_000]
    # The last request has no tokens in its answer.
    assert exported.skipped("requests") == {"it has no output tokens": 1}
    assert whole[1] == {"timestamp": 250, "input_length": 2, "output_length": 20}
    options = ("--from-s", 0.25, "--to-s", 120, "--rate-factor", 2)
    written = Export(few_requests, tmp_path / "window", "mooncake", *code, *options)
    assert [(row["timestamp"], row["input_length"]) for row in objects(written)] == [
        *((0, 2), (375, 3), (375, 4), (29_875, 5))
    ]
    assert written.skipped("requests") == {
        "it arrives before --from-s 0.25": 1,
        "it arrives at --to-s 120 or later": 1,
    }
    assert "divided by --rate-factor 2" in written.source("timestamp")
    assert written.origins("hash_ids") == {"missing": 4} and written.report["span_s"] == 29.875
    assert written.report["options"]["rate_factor"] == 2 and "skips no request" in written.printed

    slower = Export(few_requests, tmp_path / "slower", "azure", *code, "--rate-factor", 0.5)
    times = slower.csv("requests.csv")["TIMESTAMP"]
    assert list(times)[1:3] == [f"{DAY}:00:00.6000010", f"{DAY}:00:02.1000010"]
    both = Export(few_requests, tmp_path / "both", "azure", *code, "--workload", "conv", "--to-s", 100)
    assert list(both.csv("requests.csv")["ContextTokens"]) == [1, 2, 3, 4, 7, 5]
    assert both.dropped("requests") == {"workload": 6} and both.report["workloads"] == ["code", "conv"]


def is_in_sample(request: int, share: float, seed: int) -> bool:
    """Whether a request of code_1week is in a sample: a hash of the request and the seed decides."""
    arrival_s = 1_715_299_200.0 + request
    text = f"{seed} azure_llm code_1week {request + 1} {arrival_s}"
    return int.from_bytes(hashlib.md5(text.encode()).digest()[8:], "little") % 10**9 < share * 10**9


def test_sample_depends_on_the_seed_only(few_requests: Path, tmp_path: Path) -> None:
    for share, seed, threads in ((0.1, 7, 1), (0.1, 7, 4), (0.2, 7, 4), (0.1, 8, 4)):
        expected = [request for request in range(2000) if is_in_sample(request, share, seed)]
        assert abs(len(expected) / 2000 - share) < 0.03
        values = {"from_s": 0.0, "to_s": None, "rate_factor": 1.0, "sample": share, "seed": seed}
        form = build_format("azure", "azure_llm", values | {"first_day": None})
        limits = Limits(memory="1GB", most_threads=threads)
        folder = tmp_path / f"{share} {seed} {threads}"
        report, _ = export.export(few_requests, "azure_llm", ["code_1week"], form, folder, limits=limits)
        assert list(pd.read_csv(folder / "requests.csv")["ContextTokens"] - 1) == expected
        reason = f"it is not in the sample of --sample {share} with --seed {seed}"
        assert report["skipped"] == [{"reason": reason, "requests": 2000 - len(expected)}]
        assert "prefix blocks" in form.notes[0]


def test_prefix_blocks_and_assumed_dates(few_requests: Path, tmp_path: Path) -> None:
    conversation = ("mooncake", "--workload", "conversation")
    [first, second] = objects(Export(few_requests, tmp_path / "mooncake", "mooncake", *conversation))
    assert first == {"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}
    assert second["timestamp"] == 1001
    small = Export(few_requests, tmp_path / "qwen", "mooncake", "qwen")
    assert small.source("hash_ids").startswith("prefix_blocks; 1 with another size of blocks")
    assert small.report["block_tokens"] == 16

    dated = Export(few_requests, tmp_path / "azure", "azure", *conversation, "--first-day", "2024-05-01")
    expected = f"{AZURE_HEADER}\n2024-05-01 00:00:00.0000000,600,5\n2024-05-01 00:00:01.0010000,600,7\n"
    assert (dated.folder / "requests.csv").read_text(encoding="utf-8") == expected
    assert dated.origins("TIMESTAMP") == {"defaulted": 2}
    assert "starting on --first-day 2024-05-01" in dated.source("TIMESTAMP")
    assert {"prefix_blocks", "block_tokens", "workload"} == {*dated.dropped("requests")}


def test_requests_that_cannot_be_exported(few_requests: Path, tmp_path: Path) -> None:
    cases = {
        "mooncake genai": "genai has no request for mooncake: 1: it failed; 1: its input tokens are unknown",
        "azure mooncake": "Choose one with --workload: conversation, toolagent",
        "azure itp": "the warehouse has no requests of itp. Traces with requests: azure_llm, genai, mooncake",
        "mooncake azure_llm --workload x": "azure_llm has no workload x. Its workloads: code, code_1week",
        "azure qwen --from-s 1": "qwen has no request for azure: 1: it arrives before --from-s 1",
        "azure qwen --sample 2": "--sample",
    }
    for arguments, message in cases.items():
        ended = run(few_requests, *arguments.split(), "--out", tmp_path / "new")
        assert ended.code in (1, 2) and message in " ".join(ended.stderr.split()), (arguments, ended.stderr)
    assert list(tmp_path.iterdir()) == []
