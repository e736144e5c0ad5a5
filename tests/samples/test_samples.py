"""Synthetic samples: reproducible and marked files, declared rules, and the known pitfalls of each trace."""

import fcntl
from collections import Counter
from pathlib import Path

import duckdb
import polars
import pytest
import suites
from conftest import SAMPLE_SCALE, SAMPLE_SEED
from few_files import quiet
from non_empty import non_empty

from tracehouse.core.errors import UsageError, UserError
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.dump.open import is_marked
from tracehouse.ingest.dump.raw_files import MARKER_NAME
from tracehouse.samples import dumps
from tracehouse.samples.dumps import expected_bytes, write_sample

TINY = 0.001
TRACES = sorted(all_traces())


def test_says_why_a_trace_has_no_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = "no sample of raw_job can be drawn, because it is wide: …"
    monkeypatch.setattr(dumps, "missing_samples", lambda trace: [(trace.tables[0], why)])
    with pytest.raises(UsageError, match="no sample of raw_job can be drawn, because it is wide"):
        write_sample(tmp_path, TINY, 1, ["itp"], quiet)
    with pytest.raises(UsageError, match=r"no trace is called mars\. Known: acme, "):
        write_sample(tmp_path, TINY, 1, ["mars"], quiet)


def test_interrupted_sample_leaves_no_incomplete_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(frame: polars.DataFrame, path: Path, **_: object) -> None:
        path.write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    monkeypatch.setattr(polars.DataFrame, "write_parquet", stop)
    with pytest.raises(KeyboardInterrupt):
        write_sample(tmp_path, TINY, 1, ["asi"], quiet)
    assert not list(tmp_path.rglob("*.parquet"))


def test_two_samples_at_once_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "itp").mkdir()
    with (tmp_path / "itp" / MARKER_NAME).open("w", encoding="utf-8") as marker:
        fcntl.flock(marker, fcntl.LOCK_EX)
        with pytest.raises(UserError, match=r"itp: another `traces sample` is writing here"):
            write_sample(tmp_path, 0.0001, 0, ["itp"], quiet)
    assert [path.name for path in (tmp_path / "itp").iterdir()] == [MARKER_NAME]
    assert write_sample(tmp_path, 0.0001, 0, ["itp"], quiet)


@suites.of("long")
def test_seed_determines_the_bytes_of_each_trace(sample_raw: Path, tmp_path: Path) -> None:
    """The function that writes samples returns all files, and reports their bytes."""
    counts: Counter[str] = Counter()

    def on_bytes(trace: str, count: int) -> None:
        counts[trace] += count

    write_sample(tmp_path, 0.01, 2, ["zeus"], quiet)
    written = []
    for trace in reversed(TRACES):
        written += write_sample(tmp_path, SAMPLE_SCALE, SAMPLE_SEED, [trace], on_bytes)
    assert len(written) == len(set(written))
    assert {path.relative_to(tmp_path) for path in written} == set(files_below(sample_raw))
    for path in written:
        assert path.read_bytes() == (sample_raw / path.relative_to(tmp_path)).read_bytes(), path
    assert sorted(counts) == TRACES and min(counts.values()) > 1_000
    for path in non_empty(write_sample(tmp_path, SAMPLE_SCALE, 8, ["itp", "zeus"], quiet)):
        assert path.read_bytes() != (sample_raw / path.relative_to(tmp_path)).read_bytes(), path


def files_below(raw: Path) -> list[Path]:
    found = [path.relative_to(raw) for path in raw.rglob("*") if path.is_file()]
    return [path for path in found if path.name != MARKER_NAME]


def test_rejects_wrong_arguments_and_folders_before_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scale in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="scale"):
            write_sample(tmp_path, scale, 1, ["zeus"], quiet)
    with pytest.raises(UsageError, match="seed"):
        write_sample(tmp_path, 1, -1, ["zeus"], quiet)
    for days, trace in ((0, "asi"), (3, "zeus")):
        with pytest.raises(UsageError, match="--days must be 1 to 1,000,000, for asi"):
            write_sample(tmp_path, TINY, 1, [trace], quiet, days)
    with pytest.raises(UserError, match=r"but only .* are free"):
        write_sample(tmp_path, 1e6, 1, ["acme"], quiet)
    real = tmp_path / "zeus" / "summary_train.csv"
    real.parent.mkdir()
    real.write_text("real", encoding="utf-8")
    with pytest.raises(UserError, match=r"zeus is not empty and is not a sample.*nothing was written"):
        write_sample(tmp_path, TINY, 1, ["itp", "zeus"], quiet)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [real] and real.read_text(
        encoding="utf-8"
    ) == "real"


def test_sizes_follow_the_scale_and_the_days(tmp_path: Path) -> None:
    counts: dict[tuple[str, float], int] = {}
    for trace in ("pai", "helios", "spot", "itp"):
        for scale in (0.005, 0.015):
            sizes: list[int] = []
            write_sample(tmp_path, scale, 1, [trace], lambda _, count, sizes=sizes: sizes.append(count))
            counts[trace, scale] = sum(sizes)
        assert 1.5 < counts[trace, 0.015] / counts[trace, 0.005] < 3.5, trace
        assert 0.3 < counts[trace, 0.015] / expected_bytes([trace], 0.015) < 3, trace
    paths = write_sample(tmp_path, 0.0001, 1, ["asi"], quiet, 1)
    assert len(paths) == 3 * 24 + 1
    assert {path.parts[-3] for path in paths if path.parent.name.startswith("hour=")} == {"day=109"}


def test_only_rows_of_two_files_are_rejected(opened_sample: duckdb.DuckDBPyConnection) -> None:
    rejected = opened_sample.sql("select distinct table_name from catalog.rejected_rows").fetchall()
    # Five lines of Acme's GPU_TEMP are in both monthly files.
    assert rejected == [("acme.gpu_metric",)]


# What a trace is known for, as a statement that returns true.
PITFALLS = {
    "acme": {
        "RUNNING without an end, in Kalos only": (
            "select bool_and(cluster = 'kalos' and end_time is null) from acme.job_trace"
            " where state = 'RUNNING'"
        ),
        "offsets of Seren and Kalos": (
            "select min(cluster || utc_offset) = 'kalos+00:00' and max(cluster || utc_offset) = 'seren+08:00'"
            " from acme.job_trace"
        ),
        "cancelled before the start": "select count(*) > 0 from acme.job_trace where start_time is null",
        "duration of Kalos includes the queue": (
            "select bool_and(duration = epoch(end_time) - epoch(submit_time)) from acme.job_trace"
            " where cluster = 'kalos' and end_time is not null and start_time is not null"
        ),
        "names without a GPU or an address": (
            "select bool_or(gpu is null and node is not null) and bool_or(node is null) from acme.gpu_metric"
        ),
        "repeated columns": r"select bool_or(device similar to '(\d+\.){4}\d+') from acme.node_metric",
        "a metric with one line": (
            "select count(distinct time) = 1 from acme.gpu_metric"
            " where cluster = 'kalos' and metric = 'DRAM_ACTIVE'"
        ),
        "a burst of errors": "select max(gpus) > 5 from acme.xid_bursts()",
        "CPU above 100 %": (
            "select max(value) > 100 from acme.node_metric where metric = 'NODE_CPU_UTILIZATION'"
        ),
        "two names of memory power": (
            'select count("MEM_Power") > 0 and count("Memory_Power") > 0 from acme.server_power'
        ),
    },
    "asi": {
        "a pod with two rows in an hour": (
            "select max(n) = 2 from (select count(*) as n from asi.pod_hourly group by day, hour, pod_id)"
        ),
        "unknown delays and standby pods": (
            "select bool_or(ready_delay_sec = -1) and bool_or(state_public = 'Standby') from asi.pod_hourly"
        ),
        "fractions of a GPU": "select bool_or(gpu_request > 0 and gpu_request < 1) from asi.pod_hourly",
        "most pods have no GPU": (
            "select avg(if(gpu_request = 0, 1, 0)) between 0.9 and 0.95 from asi.pod_hourly"
        ),
    },
    "dlrm": {
        "times before and after the trace are empty": (
            "select count(*) > count(creation_time) and count(*) > count(deletion_time) from dlrm.instance"
        ),
    },
    "helios": {
        "the VC of each job is in the table of GPUs": (
            "select count(*) > 0 from helios.job having bool_and(vc in (select vc from helios.gpu_count))"
        ),
        "one SUSPENDED job": "select count(*) = 1 from helios.job where state = 'SUSPENDED'",
        "VCs without GPUs": (
            "select count(*) > 0 from (from helios.gpu_count select min(gpus) as least, max(gpus) as most"
            " group by cluster, vc having least = 0 and most > 0)"
        ),
    },
    "itp": {
        "testbed jobs again, with other deadlines": (
            "select count(*) > 9 and bool_and(b.deadline <> a.deadline and a.duration = b.duration)"
            " from itp.elasticflow_job a join itp.elasticflow_job b using (job_id)"
            " where a.source_file = 'cluster02' and b.source_file = '195job'"
        ),
        "shortest duration": "select min(duration) = 600 from itp.raw_job",
        "tightness below 0.5": (
            "select min((deadline - submission_time) / duration) < 0.5 from itp.elasticflow_job"
        ),
    },
    "openb": {
        "alternatives of GPU models": "select count(*) > 0 from openb.pod where gpu_spec like '%|%'",
        "multigpu50 has five columns": (
            "select count(qos) = 0 and count(*) > 0 from openb.pod where variant = 'multigpu50'"
        ),
        "no memory request": "select count(*) > 0 from openb.pod where memory_mib = 0",
        "only pending pods are not scheduled": (
            "select bool_and((scheduled_time is null) = (pod_phase = 'Pending')) from openb.pod"
            " where variant = 'default'"
        ),
    },
    "pai": {
        "workers that ran again": (
            "select count(*) > count(distinct worker_name) from pai.instance where worker_name is not null"
        ),
        "instances without a worker": "select count(*) > 0 from pai.instance where worker_name is null",
        "tasks without instances": (
            "select count(*) > 0 from pai.task anti join pai.instance using (job_name, task_name)"
        ),
        "ends of 0 and missing ends": (
            "select count(*) filter (end_time = 0) > 0 and count(*) > count(end_time) from pai.job"
        ),
        "tags without a job": "select count(*) > 0 from pai.group_tag anti join pai.job using (inst_id)",
        "jobs without a tag": "select count(*) > 0 from pai.job anti join pai.group_tag using (inst_id)",
        "no sensors in the first weeks": (
            "select min(start_time) >= 672 * 3600 from pai.sensor join pai.instance using (worker_name)"
            " where start_time > 0"
        ),
        "use above the plan": "select max(gpu_wrk_util) > 100 from pai.sensor",
        "longer waits on newer GPUs": (
            "select max(p75_wait_s) filter (gpu_type like 'V100%') > min(p75_wait_s)"
            " from pai.wait_by_gpu_type()"
        ),
    },
    "philly": {
        "jobs without an attempt": (
            "select count(*) > 0 from philly.job anti join philly.attempt using (jobid)"
        ),
        "a machine with more GPUs than listed": (
            "select count(gpu7_util) > 0 from philly.gpu_util join philly.machine using (machine_id)"
            " where number_of_gpus = 2"
        ),
        "an hour in both zones": ("select count(distinct time_utc_offset) = 2 from philly.gpu_util"),
        "attempts on several machines": "select max(detail) > 1 from philly.attempt_machine",
        "unknown memory": "select count(*) > 0 from philly.mem_util where mem_total = 0",
    },
    "spot": {
        "jobs that began before the trace": "select count(*) > 1 from spot.job where submit_time = 0",
        "gaps in the numbers of nodes": "select count(*) = 4278 from spot.node",
    },
    "zeus": {
        "runs that missed a target": "select count(*) > count(target_epoch) from zeus.train",
        "power above the limit": "select count(*) > 0 from zeus.power where average_power > power_limit",
        "measured without a run": (
            "select count(*) > 0 from zeus.power anti join zeus.train using (dataset, batch_size)"
        ),
    },
}


def test_samples_have_the_known_pitfalls(opened_sample: duckdb.DuckDBPyConnection) -> None:
    missing = []
    for trace, statements in PITFALLS.items():
        for pitfall, sql in statements.items():
            if opened_sample.sql(sql).fetchall() != [(True,)]:
                missing.append(f"{trace}: {pitfall}")
    assert missing == []


# Synthetic markers.


def test_marks_folders_and_files(sample_raw: Path, tmp_path: Path) -> None:
    raw = sample_raw
    for trace in TRACES:
        text = (raw / trace / MARKER_NAME).read_text(encoding="utf-8")
        assert "SYNTHETIC" in text and f"`{trace}`" in text and "seed: 7" in text and "scale: 0.001" in text
    assert all(is_marked(path, raw) for path in raw.rglob("*") if path.is_file())
    csv = raw / "openb" / "csv" / "openb_pod_list_default.csv"
    assert is_marked(csv, raw / "openb") and not is_marked(csv, raw / "openb" / "csv")
    # Archives and Parquet files are marked themselves.
    moved = [*raw.glob("pai/data/*.tar.gz"), *raw.glob("itp/data/*.tar.gz"), next(raw.rglob("*.parquet"))]
    for path in non_empty(moved):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert all(is_marked(tmp_path / path.name, tmp_path) for path in moved)
    # The header of a gzip stream contains no time.
    assert (raw / "pai/data/pai_task_table.tar.gz").read_bytes()[:8] == b"\x1f\x8b\x08\x08" + bytes(4)
