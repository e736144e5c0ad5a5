"""Rows that an export could lose, duplicate or mislabel without an error, in raw files of a few lines.

The expected results are counted by hand.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from broken.helios import HEADER as HELIOS_HEADER
from broken.openb import OPENB_NODE_HEADER, OPENB_POD_HEADER
from few_files import quiet, write
from imported import modules_of
from simulator_files import exported, origins, report, sources, swf_jobs

from tracehouse.engines.duckdb.write import database

RAN = "2020-06-09 18:41:10,2020-06-09 18:42:10,60"
PHILLY = {
    "status": "Pass",
    "vc": "v",
    "jobid": "a_2",
    "attempts": [
        {
            "start_time": "2017-10-07 01:12:00",
            "end_time": "2017-10-07 01:13:00",
            "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
        },
    ],
    "submitted_time": "2017-10-07 01:11:00",
    "user": "u",
}
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
    # A job that timed out, one whose node failed, and a cancelled one.
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
        OPENB_POD_HEADER,
        "x,96000,1024,8,1000,,LS,Succeeded,0,30,20",
        "x-1,1000,1024,1,300,,LS,Succeeded,1,30,20",
        "y,1000,1024,0,0,,BE,Failed,2,30,20",
    ],
    # The second node has no number of cores.
    "openb/openb_node_list_all_node.csv": [OPENB_NODE_HEADER, "n1,1000,1024,8,G2", "n2,,1024,0,"],
    # Two instances of 12 GPUs, three without a GPU, and three of half a GPU.
    "pai/pai_task_table.csv": [
        "j,worker,2.0,Terminated,100.0,200.0,600.0,10.0,1200.0,V100",
        "j,ps,3.0,Terminated,100.0,200.0,600.0,10.0,,",
        "j,chief,3.0,Terminated,100.0,200.0,600.0,10.0,50.0,T4",
        # One and a half GPUs.
        "j,evaluator,1.0,Terminated,100.0,200.0,600.0,10.0,150.0,T4",
    ],
    "pai/pai_machine_spec.csv": ["m1,V100,96,512,8"],
    "spot/job_info_df.csv": [
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type",
        "1,13,A10,8,1,16,0,60,HP",
        "2,13,H800,4,8,2,0,60,Spot",
    ],
    # Philly's jobs have GPUs only in their attempts, and one job has no attempt.
    "philly/cluster_job_log": [json.dumps([PHILLY | {"jobid": "a_1", "attempts": []}, PHILLY])],
}
HELIOS = ("helios", "helios", "--cluster", "Earth", "--cluster", "Venus")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edge_cases")
    lines = {name: "".join(f"{line}\n" for line in rows).encode() for name, rows in FILES.items()}
    outcome = database.ingest([write(folder / "raw", lines)], folder / "warehouse", [], quiet, stored=False)
    assert not outcome.problems
    return folder / "warehouse"


def export_trace(warehouse: Path, folder: Path, *arguments: object) -> Path:
    run = exported(warehouse, *arguments, "--out", folder / "out")
    assert (run.code, run.stderr) == (0, "")
    return folder / "out"


def pods_of(folder: Path, trace: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"openb_pod_list_{trace}.csv", dtype={"name": str}).set_index("name")


def gpus_of(pods: pd.DataFrame, *columns: str) -> Counter:
    return Counter(pods[["num_gpu", "gpu_milli", *columns]].itertuples(index=False, name=None))


def dropped(folder: Path) -> dict[str, int]:
    return {one["column"]: one["jobs"] for one in report(folder)["dropped"]}


def test_names_are_unique_across_clusters(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, *HELIOS)
    log = pd.read_csv(folder / "cluster_log.csv")
    assert list(zip(log["job_id"], log["vc"], strict=True)) == [
        ("Earth/1", "Earth/vc1"),
        ("Earth/2", "Earth/vc2"),
        ("Venus/1", "Venus/vc1"),
    ]
    assert sources(folder, "job_id") == {
        "derived": "job_id; 3 prefixed by their cluster, as several clusters are exported"
    }
    assert report(folder)["clusters"] == ["Earth", "Venus"]
    assert {"cluster", "job_id", "partition_name"}.isdisjoint(dropped(folder))


def left_out(folder: Path) -> dict[str, int]:
    return {one["reason"]: one["jobs"] for one in report(folder)["left_out"]}


def test_jobs_with_reversed_times_are_left_out(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "helios", "helios", "--cluster", "Venus")
    assert left_out(folder) == {"it ends before it starts": 1, "it starts before it is submitted": 1}


def test_names_of_one_cluster_are_unchanged(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "helios", "helios", "--cluster", "Earth")
    log = pd.read_csv(folder / "cluster_log.csv", dtype=str)
    assert (list(log["job_id"]), list(log["vc"])) == (["1", "2"], ["vc1", "vc2"])
    assert sources(folder, "job_id") == {"exact": "job_id"}


def test_helios_keeps_its_states(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "helios", "helios", "--cluster", "Uranus")
    log = pd.read_csv(folder / "cluster_log.csv")
    assert list(log["state"]) == ["TIMEOUT", "NODE_FAIL", "CANCELLED"]


def test_openb_reports_jobs_that_did_not_succeed(warehouse: Path, tmp_path: Path) -> None:
    options = ("--cluster", "Uranus", "--default-memory-mib", 9)
    folder = export_trace(warehouse, tmp_path, "openb", "helios", *options)
    assert set(pods_of(folder, "helios")["pod_phase"]) == {"Failed"}
    assert sources(folder, "pod_phase") == {"derived": "status; 1 cancelled, as Failed"}
    assert any("timed out or lost a node are Failed" in note for note in report(folder)["notes"])


def test_openb_reports_shares_of_several_gpus(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "openb", "pai")
    pods = pods_of(folder, "pai")
    assert gpus_of(pods.loc[["j/evaluator"]]) == {(2, 750): 1}
    assert "1 shares of several GPUs" in sources(folder, "gpu_milli")["derived"]


def test_swf_header_has_no_zone_or_capacity_of_unknown(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    folder = export_trace(warehouse, tmp_path, "swf", "pai", "--processors-per-gpu", 100)
    header = [line for line in (folder / "jobs.swf").read_text().splitlines() if line.startswith(";")]
    assert {"; UnixStartTime: 0", "; MaxProcs: 800", "; MaxNodes: 1"} <= set(header)
    assert not [line for line in header if line.startswith(("; TimeZoneString:", "; StartTime:"))]
    # The raw data lacks openb's list of GPU nodes.
    folder = export_trace(warehouse, tmp_path / "other", "swf", "openb")
    assert "MaxProcs" not in (folder / "jobs.swf").read_text()


def test_swf_numbers_partitions_per_cluster(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "swf", "helios", "--cluster", "Earth", "--cluster", "Venus")
    numbers = pd.read_csv(folder / "job_numbers.csv", dtype=str)
    assert list(numbers["cluster"] + numbers["job_id"]) == ["Earth1", "Earth2", "Venus1"]
    jobs = swf_jobs(folder / "jobs.swf")
    assert list(jobs["partition_number"]) == [1, 2, 3]
    assert (list(jobs["wait_time"]), list(jobs["duration"])) == ([10] * 3, [60] * 3)
    assert left_out(folder) == {"it ends before it starts": 1, "it starts before it is submitted": 1}
    # Not dropped: the header has the date, and job_numbers.csv the cluster.
    assert {"submit_time", "cluster"}.isdisjoint(dropped(folder)) and dropped(folder)["requested_cpus"] == 3


def test_missing_values_without_an_option_are_an_error(warehouse: Path, tmp_path: Path) -> None:
    for clusters in (["Saturn"], ["Saturn", "Venus"]):
        named = [word for cluster in clusters for word in ("--cluster", cluster)]
        run = exported(warehouse, "helios", "helios", *named, "--out", tmp_path / "out")
        assert run.code == 1 and "needs job_id in each row of cluster_log.csv" in run.stderr
        assert "1 rows of the trace have none" in run.stderr and "Set them" not in run.stderr


def test_split_pod_keeps_gpus_and_cores(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "openb", "openb", "--gpus-per-node", 2)
    pods = pods_of(folder, "openb")
    assert list(pods.index) == ["x--1", "x--2", "x--3", "x--4", "x-1", "y"]
    assert gpus_of(pods, "cpu_milli", "memory_mib") == {
        (2, 1000, 24000, 256): 4,
        (1, 300, 1000, 1024): 1,
        (0, 0, 1000, 1024): 1,
    }
    assert "per pod" in sources(folder, "num_gpu")["derived"]
    nodes = pd.read_csv(folder / "openb_node_list_openb.csv")
    assert list(nodes["cpu_milli"].isna()) == [False, True]
    assert origins(folder, "openb_node_list_openb.csv", "cpu_milli") == {"exact": 1, "missing": 1}


def test_each_instance_is_split(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "openb", "pai")
    by_task = pods_of(folder, "pai").drop("j/evaluator").groupby(lambda name: name.rpartition("-")[0])
    assert {task: gpus_of(pods) for task, pods in by_task} == {
        "j/worker": {(8, 1000): 2, (4, 1000): 2},
        "j/ps": {(0, 0): 3},
        "j/chief": {(1, 500): 3},
    }
    assert {task: set(pods["cpu_milli"]) for task, pods in by_task} == {
        "j/worker": {3000},
        "j/ps": {6000},
        "j/chief": {6000},
    }
    node_fields = ("sn", "cpu_milli", "memory_mib", "gpu")
    origin = {field: origins(folder, "openb_node_list_pai.csv", field) for field in node_fields}
    derived = {"cpu_milli", "memory_mib"}
    assert origin == {field: {"derived" if field in derived else "exact": 1} for field in node_fields}


def test_note_names_missing_node_data(warehouse: Path, tmp_path: Path) -> None:
    """Philly's machine list has the machines' GPUs and GPU memory only."""
    options = ("--default-cpu-milli", 1000, "--default-memory-mib", 9)
    notes = report(export_trace(warehouse, tmp_path, "openb", "philly", *options))["notes"]
    assert any("philly lacks the cores and memory of its nodes" in note for note in notes)


def test_worker_becomes_pod(warehouse: Path, tmp_path: Path) -> None:
    folder = export_trace(warehouse, tmp_path, "openb", "spot", "--default-memory-mib", 9)
    assert gpus_of(pods_of(folder, "spot"), "cpu_milli", "gpu_spec") == {
        (1, 1000, 8000, "A10"): 16,
        (8, 1000, 4000, "H800"): 2,
    }
    assert any("spot lacks the memory of its nodes" in note for note in report(folder)["notes"])
    # The start is unknown, so the end is too, and the run time is lost.
    assert dropped(folder)["run_s"] == 2 and "partition_name" not in dropped(folder)


@pytest.mark.parametrize(
    "options",
    [
        ("swf",),
        ("opendc", "--cpu-mhz", 1000, "--default-cpus", 1, "--default-mem-mib", 1),
        ("openb", "--default-cpu-milli", 1000, "--default-memory-mib", 1),
        (
            *("elasticflow", "--model", "m", "--batch-size", 1),
            *("--iterations-per-s", 1, "--deadline-factor", 2),
        ),
        ("helios", "--default-cpus", 1, "--first-day", "2017-10-07"),
    ],
    ids=lambda options: options[0],
)
def test_job_with_unknown_gpus_is_left_out(
    options: tuple[object, ...], warehouse: Path, tmp_path: Path
) -> None:
    name, *more = options
    losses = report(export_trace(warehouse, tmp_path, name, "philly", *more))
    assert losses["left_out"] == [{"reason": "its requested GPUs are unknown", "jobs": 1, "gpu_h": None}]
    assert losses["jobs"] == 1


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o700), (0o002, 0o775)])
def test_folder_follows_umask(mask: int, mode: int, warehouse: Path, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        modules_of(
            "export", "swf", "openb", "--out", tmp_path / "out", folder=tmp_path, TRACES_WAREHOUSE=warehouse
        )
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == mode
    assert (tmp_path / "out" / "jobs.swf").stat().st_mode & 0o777 == mode & 0o666


def test_options_do_not_import_pydantic(warehouse: Path, tmp_path: Path) -> None:
    options = ("--gpus-per-node", 4, "--default-memory-mib", 9, "--out", tmp_path / "out")
    packages, _ = modules_of("export", "openb", "spot", *options, folder=tmp_path, TRACES_WAREHOUSE=warehouse)
    assert (tmp_path / "out").is_dir() and "duckdb" in packages
    assert {"pydantic", "pydantic_core"}.isdisjoint(packages)
