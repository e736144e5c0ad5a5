"""Exports for simulators, read back by other parsers: the same jobs, and a loss report.

The expected jobs are computed by pandas from the raw files. The tests read an export with a third-party
parser if there is one, with ingest if it has a trace's own format, and else with the format's schema.
"""

import collections
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import command_line
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import raw_frames
from few_files import quiet
from simulator_files import exported, origins, report, sources, swf_jobs

from tracehouse.engines.duckdb.write import database

Export = Callable[..., Path]
OPENDC_OPTIONS = ("--cpu-mhz", 2000, "--gpu-mhz", 1000, "--default-cpus", 3, "--default-mem-mib", 512)
HELIOS_OPTIONS = ("--default-user", "unknown", "--default-cpus", 2, "--default-state", "COMPLETED")


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """Export a trace in a format to a new folder, and return the folder."""

    def write(warehouse: Path, form: str, trace: str, *options: object) -> Path:
        folder = tmp_path / f"{trace}-{form}"
        run = exported(warehouse, form, trace, "--out", folder, *options)
        assert (run.code, run.stderr) == (0, "")
        return folder

    return write


def sort_jobs(jobs: pd.DataFrame) -> pd.DataFrame:
    """Sort jobs by submission, then cluster and name."""
    by = [name for name in ("submit_s", "cluster", "job_id") if name in jobs]
    return jobs.sort_values(by, kind="stable").reset_index(drop=True)


def round_halves_up(values: pd.Series, missing: int = -1) -> list[int]:
    """Round halves up, as SQL does for positive numbers, and replace missing values."""
    return [missing if math.isnan(value) else math.floor(value + 0.5) for value in values.astype(float)]


@pytest.mark.parametrize("trace", ["itp", "openb"])
def test_swf_of_real_jobs(trace: str, export: Export, real_warehouse: Path, real_raw: Path) -> None:
    jobs = getattr(raw_frames, f"unified_{trace}")(real_raw)
    jobs = sort_jobs(jobs[jobs["requested_gpus"] > 0])
    if trace == "openb":
        jobs["run_s"] = jobs["run_s"].mask(jobs["is_censored"])
    check_swf(export(real_warehouse, "swf", trace), jobs, processors_per_gpu=1)


@pytest.mark.parametrize("trace", ["pai", "acme"])
def test_swf_of_sample(trace: str, export: Export, sample_warehouse: Path, sample_raw: Path) -> None:
    jobs = getattr(raw_frames, f"unified_{trace}")(sample_raw)
    jobs = sort_jobs(jobs[(jobs["requested_gpus"] > 0) & jobs["submit_s"].notna()])
    # These samples must have no reversed times, which another module tests.
    assert not ((jobs["run_s"] < 0) | (jobs["wait_s"] < 0)).any()
    folder = export(sample_warehouse, "swf", trace, "--processors-per-gpu", 100)
    check_swf(folder, jobs, processors_per_gpu=100)


def check_swf(folder: Path, jobs: pd.DataFrame, processors_per_gpu: int) -> None:
    read = swf_jobs(folder / "jobs.swf")
    assert len(read) == len(jobs) > 100
    assert list(read["job_number"]) == list(range(1, len(jobs) + 1))
    assert list(read["queued_time"]) == round_halves_up(jobs["submit_s"] - jobs["submit_s"].min())
    assert list(read["duration"]) == round_halves_up(jobs["run_s"])
    waits = jobs["wait_s"] if "wait_s" in jobs else pd.Series(np.nan, jobs.index)
    assert list(read["wait_time"]) == round_halves_up(waits)
    processors = np.ceil((jobs["requested_gpus"] * processors_per_gpu).round(9)).astype(int)
    assert list(read["total_processors"]) == list(processors)
    outcome = jobs["status"]
    if "is_preempted" in jobs:
        outcome = outcome.mask(jobs["is_preempted"], "preempted")
    status = {"completed": 1, "failed": 0, "preempted": 0, "cancelled": 5, "unknown": -1}
    assert list(read["status"]) == list(outcome.map(status))
    numbers = pd.read_csv(folder / "job_numbers.csv", dtype=str, keep_default_na=False)
    assert list(numbers["job_id"]) == list(jobs["job_id"].astype(str))
    # Each name has one number, and each number one name.
    for number, column in [("user_id", "user_id"), ("partition_number", "partition_name")]:
        pairs = set(zip(read[number], numbers[column], strict=True))
        assert len(pairs) == read[number].nunique() == numbers[column].nunique()
        assert all((given == -1) == (name == "") for given, name in pairs)


def test_swf_has_standard_header(export: Export, sample_warehouse: Path) -> None:
    folder = export(sample_warehouse, "swf", "acme")
    lines = (folder / "jobs.swf").read_text().splitlines()
    header = [line for line in lines if line.startswith(";")]
    keys = dict(line.removeprefix("; ").split(": ", 1) for line in header if "Note" not in line)
    assert keys["Version"] == "2.2" and int(keys["MaxJobs"]) == len(lines) - len(header)
    assert int(keys["UnixStartTime"]) > 1_600_000_000 and keys["Acknowledge"]
    # The publisher gives seren 2,288 GPUs on 286 nodes, and kalos 2,416 on 302.
    assert (keys["MaxProcs"], keys["MaxNodes"], keys["MaxPartitions"]) == ("4704", "588", "2")
    start = pd.Timestamp(int(keys["UnixStartTime"]), unit="s", tz="Asia/Shanghai")
    assert keys["TimeZoneString"] == "Asia/Shanghai"
    assert keys["StartTime"] == f"{start:%a %b %d %H:%M:%S CST %Y}"
    assert all(len(line.split()) == 18 for line in lines if not line.startswith(";"))


def test_elasticflow_of_real_jobs_equals_published_file(
    export: Export, real_warehouse: Path, real_raw: Path, tmp_path: Path
) -> None:
    published = raw_frames.itp_table(real_raw, "elasticflow-traces.tar.gz")
    published = published[published["csv"] == "cluster03"].drop(columns="csv")
    folder = export(real_warehouse, "elasticflow", "itp", "--cluster", "cluster03")
    written = pd.read_csv(folder / "jobs.csv")
    assert list(written) == list(published) and len(written) == 3011
    assert written["submission_time"].is_monotonic_increasing
    by_job = [frame.set_index("job_id").sort_index().astype(str) for frame in (written, published)]
    pd.testing.assert_frame_equal(*by_job, check_dtype=False)
    assert {one["origin"] for one in report(folder)["fields"]} == {"exact"}
    # Ingest recognises the export as one of ITP's files.
    (folder / "jobs.csv").rename(folder / "cluster03.csv")
    outcome = database.ingest([folder], tmp_path / "again", ["itp"], quiet)
    assert [(one.table_name, one.rows) for one in outcome.converted] == [("itp.elasticflow_job", 3011)]


def test_elasticflow_of_another_trace_reports_options(export: Export, sample_warehouse: Path) -> None:
    options = ("--model", "it's", "--batch-size", 64, "--iterations-per-s", 2, "--deadline-factor", 1.5)
    folder = export(sample_warehouse, "elasticflow", "acme", *options)
    jobs = pd.read_csv(folder / "jobs.csv")
    assert set(jobs["model_name"]) == {"it's"} and set(jobs["batch_size"]) == {64}
    assert (abs(jobs["num_iteration"] - 2 * jobs["duration"]) <= 1).all()
    assert jobs["submission_time"].min() == 0
    assert (abs(jobs["deadline"] - jobs["submission_time"] - 1.5 * jobs["duration"]) <= 2).all()
    assert origins(folder, "jobs.csv", "model_name") == {"defaulted": len(jobs)}


def test_openb_of_openb_is_ingested_again(
    export: Export, real_warehouse: Path, real_raw: Path, tmp_path: Path
) -> None:
    folder = export(real_warehouse, "openb", "openb")
    outcome = database.ingest([folder], tmp_path / "again", ["openb"], quiet)
    assert {one.table_name: one.rows for one in outcome.converted} == {"openb.node": 1523, "openb.pod": 8152}
    written = pd.read_csv(folder / "openb_pod_list_openb.csv")
    published = raw_frames.openb_pods(real_raw)
    published = published[published["variant"] == "default"][list(written)]
    published["creation_time"] -= published["creation_time"].min()
    by_name = [frame.set_index("name").sort_index() for frame in (written, published)]
    pd.testing.assert_frame_equal(*by_name, check_dtype=False)
    nodes = raw_frames.openb_nodes(real_raw)
    nodes = nodes[nodes["node_list"] == "all_node"].drop(columns="node_list").reset_index(drop=True)
    pd.testing.assert_frame_equal(
        pd.read_csv(folder / "openb_node_list_openb.csv"), nodes.sort_values("sn"), check_dtype=False
    )


def test_gang_becomes_pods(export: Export, sample_warehouse: Path, sample_raw: Path) -> None:
    folder = export(
        sample_warehouse,
        "openb",
        "pai",
        "--gpus-per-node",
        4,
        "--default-cpu-milli",
        7,
        "--default-memory-mib",
        9,
    )
    pods = pd.read_csv(folder / "openb_pod_list_pai.csv")
    jobs = raw_frames.unified_pai(sample_raw)
    jobs = jobs[jobs["submit_s"].notna() & ~((jobs["run_s"] < 0) | (jobs["wait_s"] < 0))].set_index("job_id")
    assert pods["name"].is_unique and pods["num_gpu"].max() <= 4
    pods["job_id"] = pods["name"].where(
        pods["name"].isin(jobs.index), pods["name"].str.replace(r"-\d+$", "", regex=True)
    )
    pods["gpus"] = pods["num_gpu"] * pods["gpu_milli"] / 1000
    by_job = pods.groupby("job_id")
    assert set(by_job.groups) == set(jobs.index)
    jobs = jobs.loc[list(by_job.groups)]
    assert np.allclose(by_job["gpus"].sum(), jobs["requested_gpus"], atol=0.001 * by_job.size().max())
    cpus = (jobs["requested_cpus"] * 1000).fillna(by_job.size() * 7)
    assert np.allclose(by_job["cpu_milli"].sum(), cpus, atol=by_job.size().max())
    tasks = raw_frames.pai_table(sample_raw, "pai_task_table")
    instances = tasks.set_index(tasks["job_name"] + "/" + tasks["task_name"])["inst_num"].loc[jobs.index]
    pods_an_instance = np.ceil(jobs["requested_gpus_per_instance"] / 4).clip(lower=1)
    assert list(by_job.size()) == list((instances * pods_an_instance).astype(int))
    assert by_job.size()[jobs["requested_gpus"] == 0].max() > 1 and pods_an_instance.max() > 1


def test_missing_node_list_is_noted(export: Export, sample_warehouse: Path) -> None:
    folder = export(
        sample_warehouse, "openb", "itp", "--default-cpu-milli", 4000, "--default-memory-mib", 1024
    )
    assert {path.name for path in folder.iterdir()} == {"export.json", "openb_pod_list_itp.csv"}
    assert any("no node list" in note for note in report(folder)["notes"])


PAGE = (Path(__file__).parents[2] / "docs" / "simulators.md").read_text()


@pytest.mark.parametrize("command", re.findall(r"^    traces export (.*)$", PAGE, re.M))
def test_commands_of_page(command: str, sample_warehouse: Path, tmp_path: Path) -> None:
    form, trace, *options = shlex.split(command)
    folder = Path(options[options.index("--out") + 1])
    run = command_line.server().run(
        *("export", form, trace, *options),
        environment={"TRACES_WAREHOUSE": str(sample_warehouse)},
        cwd=tmp_path,
    )
    assert (run.code, run.stderr) == (0, "")
    [row] = re.findall(rf"^\| `{form}` \| (.*?) \|", PAGE, re.M)
    named = {name.replace("TRACE", trace) for name in re.findall("`(.*?)`", row)}
    assert {path.name for path in (tmp_path / folder).iterdir()} == named | {"export.json"}


OPENDC_TASKS = pa.schema(
    [
        pa.field("id", pa.int32(), False),
        pa.field("submission_time", pa.timestamp("ms", "UTC"), False),
        pa.field("duration", pa.int64(), False),
        pa.field("cpu_count", pa.int32(), False),
        pa.field("cpu_capacity", pa.float64(), False),
        pa.field("mem_capacity", pa.int64(), False),
        pa.field("name", pa.string()),
        pa.field("gpu_count", pa.int32()),
        pa.field("gpu_capacity", pa.float64()),
        pa.field("parents", pa.list_(pa.int32())),
        pa.field("children", pa.list_(pa.int32())),
        pa.field("deferrable", pa.bool_()),
        pa.field("deadline", pa.int64()),
    ]
)
OPENDC_FRAGMENTS = pa.schema(
    [
        pa.field("id", pa.int32(), False),
        pa.field("duration", pa.int64(), False),
        pa.field("cpu_usage", pa.float64(), False),
        pa.field("gpu_usage", pa.float64()),
    ]
)


def without_names_of_items(schema: pa.Schema) -> list[tuple[str, str, bool]]:
    return [(one.name, str(one.type).replace("element:", "item:"), one.nullable) for one in schema]


def test_opendc_has_schema_and_usage_of_pai(export: Export, sample_warehouse: Path, sample_raw: Path) -> None:
    folder = export(sample_warehouse, "opendc", "pai", *OPENDC_OPTIONS)
    tasks = pyarrow.parquet.read_table(folder / "tasks.parquet")
    fragments = pyarrow.parquet.read_table(folder / "fragments.parquet")
    assert without_names_of_items(tasks.schema) == without_names_of_items(OPENDC_TASKS)
    assert without_names_of_items(fragments.schema) == without_names_of_items(OPENDC_FRAGMENTS)
    found = tasks.to_pandas()
    assert list(found["id"]) == list(range(1, len(found) + 1))
    assert fragments["id"].to_pylist() == list(found["id"])
    jobs = sort_jobs(raw_frames.unified_pai(sample_raw))
    jobs = jobs[jobs["submit_s"].notna() & (jobs["run_s"] >= 0) & ~jobs["is_censored"]].set_index("job_id")
    jobs = jobs.loc[list(found["name"])]
    assert list(found["duration"]) == round_halves_up(jobs["run_s"] * 1000)
    assert list(found["cpu_count"]) == [
        math.ceil(cpus) or 3 for cpus in jobs["requested_cpus"].fillna(0).round(9)
    ]
    assert np.allclose(found["cpu_capacity"], found["cpu_count"] * 2000)
    without_cpus = (jobs["requested_cpus"].fillna(0) == 0).sum()
    assert origins(folder, "tasks.parquet", "cpu_capacity").get("defaulted", 0) == without_cpus
    usage = raw_frames.pai_task_usage(sample_raw)
    usage.index = usage["job_name"] + "/" + usage["task_name"]
    used = usage["cpu_use_of_plan"].reindex(jobs.index) * jobs["requested_cpus"] * 2000
    # Without a measurement, the usage equals the request, which may include fractions of cores.
    expected = used.fillna(jobs["requested_cpus"].fillna(0).replace(0, 3) * 2000)
    assert np.allclose(fragments["cpu_usage"].to_numpy(), expected)
    assert origins(folder, "fragments.parquet", "cpu_usage")["derived"] == used.notna().sum() > 0
    # Some tasks use more than they requested. The export keeps and reports this.
    for resource in ("cpu", "gpu"):
        use = fragments[f"{resource}_usage"].to_pandas().to_numpy()
        above = (use > found[f"{resource}_capacity"].to_numpy() * (1 + 1e-9)).sum()
        assert above > 0
        assert f"{above} above {resource}_capacity, kept" in sources(folder, f"{resource}_usage")["derived"]
    assert "pai.gpu_use_over_100" in sources(folder, "gpu_usage")["derived"]
    assert "pai.gpu_use_over_100" in report(folder)["caveats"]
    assert any("pai_sensor_table" in source["file"] for source in report(folder)["sources"])


def test_opendc_of_jobs_without_cpus_takes_default(export: Export, sample_warehouse: Path) -> None:
    folder = export(sample_warehouse, "opendc", "itp", *OPENDC_OPTIONS)
    tasks = pyarrow.parquet.read_table(folder / "tasks.parquet").to_pandas()
    assert set(tasks["cpu_count"]) == {3} and set(tasks["cpu_capacity"]) == {6000.0}
    assert sources(folder, "cpu_capacity") == {"defaulted": "--default-cpus 3 times --cpu-mhz 2000"}


def test_opendc_leaves_out_running_pods(export: Export, real_warehouse: Path) -> None:
    folder = export(real_warehouse, "opendc", "openb", *OPENDC_OPTIONS)
    left_out = {one["reason"]: one["jobs"] for one in report(folder)["left_out"]}
    assert left_out == {"its run time is unknown": 897, "it was still running when the trace ended": 34}
    tasks = pyarrow.parquet.read_table(folder / "tasks.parquet").to_pandas()
    assert report(folder)["jobs"] == len(tasks) == 8152 - 897 - 34
    assert tasks["submission_time"].is_monotonic_increasing
    assert origins(folder, "tasks.parquet", "mem_capacity") == {"derived": len(tasks) - 1, "defaulted": 1}


def test_opendc_reports_gpu_time_and_keeps_running_pods_on_request(
    export: Export, real_warehouse: Path, real_raw: Path, tmp_path: Path
) -> None:
    """32 pods that still run at the end of the trace hold 56.1 % of the GPU time."""
    pods = raw_frames.unified_openb(real_raw)
    gpu_h = (pods["requested_gpus"] * pods["run_s"]).groupby(pods["is_censored"].eq(True)).sum() / 3600
    loss = report(export(real_warehouse, "opendc", "openb", *OPENDC_OPTIONS))
    [running] = [one for one in loss["left_out"] if "running" in one["reason"]]
    assert running["gpu_h"] == pytest.approx(gpu_h[True])
    assert loss["exported_gpu_h"] == loss["held_gpu_h"] == pytest.approx(gpu_h[False])
    assert running["gpu_h"] / gpu_h.sum() == pytest.approx(0.561, abs=0.0005)
    kept = tmp_path / "kept"
    options = ("--keep-censored", *OPENDC_OPTIONS)
    assert exported(real_warehouse, "opendc", "openb", "--out", kept, *options).code == 0
    loss = report(kept)
    assert (loss["jobs"], loss["exported_gpu_h"]) == (8152 - 897, pytest.approx(gpu_h.sum()))


def test_run_time_as_held_keeps_the_gpu_time(export: Export, sample_warehouse: Path, tmp_path: Path) -> None:
    """Some instances of a PAI task run for a part of the task's time only."""
    loss = report(export(sample_warehouse, "swf", "pai"))
    assert loss["exported_gpu_h"] > 1.01 * loss["held_gpu_h"]
    held = tmp_path / "held"
    options = ("--run-as-held", "--processors-per-gpu", 100)
    run = exported(sample_warehouse, "swf", "pai", "--out", held, *options)
    assert "+0.0 %" in " ".join(run.stdout.split())
    read = swf_jobs(held / "jobs.swf")
    ran = read[read["duration"] >= 0]
    gpu_h = (ran["duration"] * ran["total_processors"]).sum() / 100 / 3600
    assert gpu_h == pytest.approx(loss["held_gpu_h"], rel=0.001)


def test_helios_of_acme_has_local_times(export: Export, sample_warehouse: Path, sample_raw: Path) -> None:
    log = pd.read_csv(
        export(sample_warehouse, "helios", "acme", *HELIOS_OPTIONS) / "cluster_log.csv", dtype={"job_id": str}
    )
    columns = "job_id user vc gpu_num cpu_num node_num state submit_time start_time end_time duration queue"
    assert " ".join(log) == columns
    times = {name: pd.to_datetime(log[name]) for name in ("submit_time", "start_time", "end_time")}
    assert list((times["start_time"] - times["submit_time"]).dt.total_seconds()) == list(log["queue"])
    assert list((times["end_time"] - times["start_time"]).dt.total_seconds()) == list(log["duration"])
    jobs = raw_frames.unified_acme(sample_raw)
    jobs = sort_jobs(jobs[jobs["run_s"].ge(0) & ~jobs["wait_s"].lt(0)])
    local = jobs["submit_time"].dt.tz_convert("Asia/Shanghai").dt.tz_localize(None).dt.round("s")
    assert list(log["job_id"]) == list(jobs["cluster"] + "/" + jobs["job_id"].astype(str))
    assert list(log["vc"]) == list(jobs["cluster"])
    assert list(times["submit_time"]) == list(local)
    assert list(log["node_num"]) == [max(1, math.ceil(gpus / 8)) for gpus in jobs["requested_gpus"]]


def test_helios_without_dates_or_waits_reports_options(export: Export, real_warehouse: Path) -> None:
    folder = export(
        real_warehouse, "helios", "itp", *HELIOS_OPTIONS, "--first-day", "2021-03-04", "--default-wait-s", 30
    )
    log = pd.read_csv(folder / "cluster_log.csv")
    assert log["submit_time"].min() == "2021-03-04 00:00:00" and set(log["queue"]) == {30}
    assert origins(folder, "cluster_log.csv", "start_time") == {"defaulted": 69351}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["opendc", "itp", "--cpu-mhz", 1], "Set them: --default-cpus … --default-mem-mib …"),
        (
            ["elasticflow", "acme"],
            "Set them: --iterations-per-s … --model … --deadline-factor … --batch-size …",
        ),
        (
            ["helios", "itp", "--default-user", "a", "--default-state", "b", "--default-cpus", 1],
            "Set them: --first-day … --default-wait-s …",
        ),
        (["opendc", "itp", "--cpu-mhz", "inf"], "Invalid value for '--cpu-mhz'"),
        (["opendc", "itp", "--cpu-mhz", 1e308, "--default-cpus", 9999], "Invalid value for '--cpu-mhz'"),
        (["opendc", "itp", "--cpu-mhz", 1, "--gpu-mhz", "inf"], "Invalid value for '--gpu-mhz'"),
        (["swf", "itp", "--processors-per-gpu", 10**17], "Invalid value for '--processors-per-gpu'"),
        (["elasticflow", "acme", "--iterations-per-s", 0], "Invalid value for '--iterations-per-s'"),
        (["elasticflow", "acme", "--deadline-factor", "inf"], "Invalid value for '--deadline-factor'"),
        (["openb", "itp"], "Set them: --default-cpu-milli … --default-memory-mib …"),
        (["helios", "itp", "--first-day", "soon"], "--first-day must be a date such as 2020-06-30"),
        (["swf", "zeus"], "the warehouse has no jobs of zeus. Traces with jobs: acme, "),
        (["swf", "itp", "--cluster", "cluster99"], "itp has no cluster cluster99: cluster01, cluster02"),
        (["swf", "pai", "--cluster", "x"], "pai has no cluster x: it has no clusters"),
    ],
)
def test_missing_values_need_an_option(
    arguments: list[object], message: str, sample_warehouse: Path, tmp_path: Path
) -> None:
    run = exported(sample_warehouse, *arguments, "--out", tmp_path / "new")
    assert run.code == 2 and message in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_created_is_named(sample_warehouse: Path) -> None:
    run = command_line.server().run(
        "export", "swf", "itp", "--out", "/proc/x", "--warehouse", sample_warehouse
    )
    assert run.code == 1
    assert run.stderr.startswith("error: /proc/x: the folder cannot be written (")


def test_existing_folder_is_not_changed(sample_warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    run = exported(sample_warehouse, "swf", "itp", "--out", tmp_path / "there")
    assert run.code == 1 and "exists and is not empty" in run.stderr
    assert (tmp_path / "there" / "mine").read_text() == "mine"
    run = exported(sample_warehouse, "swf", "itp", "--out", tmp_path / "no" / "folder")
    assert run.code == 1 and "no such folder" in run.stderr


def test_loss_report_is_printed_and_saved(sample_warehouse: Path, tmp_path: Path) -> None:
    run = exported(sample_warehouse, "swf", "openb", "--out", tmp_path / "out")
    loss = report(tmp_path / "out")
    assert f"{loss['jobs']:,} jobs to {tmp_path}/out" in run.stdout.replace("\n", " ").replace("  ", " ")
    for word in ("requested_processors", "rounded", "reason", "it requests no GPU", "held_gpu_s"):
        assert word in run.stdout
    assert {one["column"] for one in loss["dropped"]} >= {"requested_cpus", "held_gpu_s"}
    assert loss["format"] == "swf" and loss["licence"] and loss["citation"]
    assert "openb.not_a_snapshot" in loss["caveats"]
    assert all(source["file"] and source["synthetic"] for source in loss["sources"])
    fields = [one for one in loss["fields"] if one["file"] == "jobs.swf"]
    per_field = collections.Counter()
    for one in fields:
        per_field[one["field"]] += one["rows"]
    assert set(per_field.values()) == {loss["jobs"]} and len(per_field) == 18
