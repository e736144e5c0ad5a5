"""Synthetic samples: formats, pitfalls of each trace, reproducible bytes, synthetic markers."""

import gzip
import io
import tarfile
from pathlib import Path

import pandas as pd
import pytest
from counting import non_empty

from tracehouse.core.errors import UsageError, UserError
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.synthetic import MARKER_NAME, is_marked
from tracehouse.samples import dumps
from tracehouse.samples.dumps import available, write_sample
from tracehouse.samples.files import Member, split, write_tar_gz

TINY = 0.001
TRACES = ["acme", "itp", "openb", "pai", "zeus"]
HEX = r"[0-9a-f]"


def ignore(trace: str, count: int) -> None:
    pass


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw")
    write_sample(out, TINY, 7, TRACES, ignore)
    return out


def joined(folder: Path, archive: str) -> io.BytesIO:
    whole = folder / archive
    paths = [whole] if whole.exists() else sorted(folder.glob(archive + ".part??"))
    return io.BytesIO(b"".join(path.read_bytes() for path in paths))


def members(folder: Path, archive: str) -> dict[str, bytes]:
    with tarfile.open(fileobj=joined(folder, archive), mode="r:gz") as tar:
        return {
            info.name: content.read()
            for info in tar.getmembers()
            if (content := tar.extractfile(info)) is not None
        }


def pai_table(raw: Path, stem: str) -> pd.DataFrame:
    folder = raw / "pai" / "data"
    names = (folder / f"{stem}.header").read_text().removesuffix("\n").split(",")
    content = members(folder, f"{stem}.tar.gz")[f"{stem}.csv"]
    # As strings, because the format of numbers matters.
    return pd.read_csv(io.BytesIO(content), header=None, names=names, dtype=str)


def numbers(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column)


# Every trace.


@pytest.mark.each_trace
def test_every_trace_has_a_sample() -> None:
    assert available() == sorted(all_traces())


def test_says_why_a_trace_has_no_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "_samplers", dict)
    with pytest.raises(UsageError, match=r"itp has no sample\. Declare `examples`"):
        write_sample(tmp_path, TINY, 1, ["itp"], ignore)
    with pytest.raises(UsageError, match="no trace is called mars"):
        write_sample(tmp_path, TINY, 1, ["mars"], ignore)


def test_returns_all_written_files(tmp_path: Path) -> None:
    counts: dict[str, int] = {}

    def on_bytes(trace: str, count: int) -> None:
        counts[trace] = counts.get(trace, 0) + count

    written = write_sample(tmp_path, TINY, 1, TRACES, on_bytes)
    on_disk = {path for path in tmp_path.rglob("*") if path.is_file() and path.name != MARKER_NAME}
    assert len(written) == len(set(written))
    assert set(written) == on_disk
    assert set(counts) == set(TRACES)
    assert min(counts.values()) > 10_000


def test_bytes_do_not_depend_on_other_traces(raw: Path, tmp_path: Path) -> None:
    for trace in reversed(TRACES):
        for path in non_empty(write_sample(tmp_path, TINY, 7, [trace], ignore)):
            assert path.read_bytes() == (raw / path.relative_to(tmp_path)).read_bytes(), path


def test_seeds_give_different_data(raw: Path, tmp_path: Path) -> None:
    for path in non_empty(write_sample(tmp_path, TINY, 8, ["pai", "itp"], ignore)):
        if path.suffix != ".header" and "machine_spec" not in path.name:
            assert path.read_bytes() != (raw / path.relative_to(tmp_path)).read_bytes(), path


def test_overwrites_a_sample(tmp_path: Path) -> None:
    write_sample(tmp_path, 0.01, 1, ["pai", "zeus"], ignore)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_sample(tmp_path, 0.02, 2, ["pai", "zeus"], ignore)
    write_sample(tmp_path, 0.01, 1, ["pai", "zeus"], ignore)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_rejects_a_folder_with_other_files(tmp_path: Path) -> None:
    real = tmp_path / "zeus" / "summary_train.csv"
    real.parent.mkdir()
    real.write_text("real")
    with pytest.raises(UserError, match=r"zeus is not empty and is not a sample.*nothing was written"):
        write_sample(tmp_path, TINY, 1, ["itp", "zeus"], ignore)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [real]
    assert real.read_text() == "real"


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_rejects_an_invalid_scale(tmp_path: Path, scale: float) -> None:
    with pytest.raises(UsageError, match="scale"):
        write_sample(tmp_path, scale, 1, ["zeus"], ignore)


def test_rejects_an_unknown_trace_and_a_negative_seed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no trace is called borg\. Known: acme, "):
        write_sample(tmp_path, 1, 1, ["borg"], ignore)
    with pytest.raises(UsageError, match="seed"):
        write_sample(tmp_path, 1, -1, ["zeus"], ignore)


def test_row_counts_follow_the_scale(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    write_sample(small, 0.004, 1, ["pai", "acme"], ignore)
    write_sample(large, 0.012, 1, ["pai", "acme"], ignore)
    published = {
        "pai_job_table": 1_055_501,
        "pai_task_table": 1_261_050,
        "pai_instance_table": 7_522_002,
        "pai_sensor_table": 3_033_232,
        "pai_group_tag_table": 1_055_032,
        "pai_machine_metric": 2_009_423,
    }
    for stem, rows in published.items():
        for out, scale in ((small, 0.004), (large, 0.012)):
            assert len(pai_table(out, stem)) == pytest.approx(rows * scale, abs=2), stem
    for out, scale in ((small, 0.004), (large, 0.012)):
        seren = pd.read_csv(out / "acme/data/job_trace/trace_seren.csv")
        assert len(seren) == pytest.approx(818_327 * scale, abs=2)


def test_row_counts_at_scale_1_are_the_published_ones(tmp_path: Path) -> None:
    write_sample(tmp_path, 1, 1, ["itp", "openb", "zeus"], ignore)
    jobs = {
        name: len(pd.read_csv(io.BytesIO(content)))
        for name, content in members(tmp_path / "itp/data", "elasticflow-traces.tar.gz").items()
        if name != "LICENSE"
    }
    assert jobs.pop("195job.csv") == 195
    assert sum(jobs.values()) == 69_351
    assert jobs["cluster04.csv"] == 15_802
    rows = {path.stem: len(pd.read_csv(path)) for path in (tmp_path / "openb/csv").iterdir()}
    assert rows == {
        "openb_node_list_all_node": 1_523,
        "openb_node_list_gpu_node": 1_213,
        "openb_pod_list_default": 8_152,
        "openb_pod_list_cpu100": 7_853,
        "openb_pod_list_gpushare40": 8_152,
        "openb_pod_list_gpuspec33": 8_152,
        "openb_pod_list_multigpu50": 9_061,
    }
    nodes = pd.read_csv(tmp_path / "openb/csv/openb_node_list_gpu_node.csv")
    assert nodes["gpu"].sum() == 6_212
    rows = {path.stem: len(pd.read_csv(path)) for path in (tmp_path / "zeus").glob("*.csv")}
    assert rows == {
        "summary_train": 3_759,
        "summary_power_a40": 453,
        "summary_power_p100": 270,
        "summary_power_rtx6000": 410,
        "summary_power_v100": 476,
    }


# Synthetic markers.


def test_marks_every_folder_as_synthetic(raw: Path) -> None:
    for trace in TRACES:
        text = (raw / trace / MARKER_NAME).read_text()
        assert "SYNTHETIC" in text
        assert f"`{trace}`" in text
        assert "seed: 7" in text
        assert "scale: 0.001" in text
        assert "generator version: 2" in text


def test_every_file_is_marked(raw: Path) -> None:
    files = [path for path in raw.rglob("*") if path.is_file()]
    assert all(is_marked(path, raw) for path in files)


def test_ignores_markers_above_the_root(raw: Path) -> None:
    csv = raw / "openb" / "csv" / "openb_pod_list_default.csv"
    assert is_marked(csv, raw)
    assert is_marked(csv, raw / "openb")
    assert not is_marked(csv, raw / "openb" / "csv")


@pytest.mark.parametrize("endings", ["partaa partab", "part0 part1", "part1 part2", "001 002"])
def test_each_part_of_a_marked_archive_is_marked(endings: str, raw: Path, tmp_path: Path) -> None:
    [archive, *_] = sorted((raw / "itp" / "data").glob("*.tar.gz"))
    packed = archive.read_bytes()
    parts = [tmp_path / f"{archive.name}.{ending}" for ending in endings.split()]
    for path, content in zip(parts, (packed[:100], packed[100:]), strict=True):
        path.write_bytes(content)
    assert all(is_marked(path, tmp_path) for path in parts)


def test_moved_gzips_are_still_marked(raw: Path, tmp_path: Path) -> None:
    data = raw / "pai" / "data"
    archives = [*data.glob("*.tar.gz*"), *(raw / "itp/data").glob("*.tar.gz")]
    assert len(archives) == 11
    for path in archives:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for path in archives:
        assert is_marked(tmp_path / path.name, tmp_path), path.name
    (tmp_path / "pai_job_table.tar.gz.partaa").unlink()
    assert not is_marked(tmp_path / "pai_job_table.tar.gz.partab", tmp_path)


def test_gzips_contain_no_time(raw: Path) -> None:
    header = (raw / "pai/data/pai_task_table.tar.gz").read_bytes()[:8]
    assert header[:4] == b"\x1f\x8b\x08\x10"
    assert header[4:] == bytes(4)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"PK" + bytes(20), gzip.compress(b"x", mtime=0)])
def test_does_not_mark_other_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.tar.gz"
    path.write_bytes(content)
    assert not is_marked(path, tmp_path)
    assert not is_marked(tmp_path / "missing.tar.gz", tmp_path)


def test_splits_an_archive_into_parts(tmp_path: Path) -> None:
    whole = write_tar_gz(tmp_path / "a.tar.gz", [Member("a.csv", bytes(range(256)) * 50)])
    content = whole.read_bytes()
    parts = split(whole, 100)
    assert [path.name for path in parts[:2]] == ["a.tar.gz.partaa", "a.tar.gz.partab"]
    assert {path.stat().st_size for path in parts[:-1]} == {100}
    assert b"".join(path.read_bytes() for path in sorted(parts)) == content
    assert not whole.exists()


# PAI.


def test_pai_archives_headers_and_parts(raw: Path) -> None:
    data = raw / "pai" / "data"
    stems = sorted(path.stem for path in data.glob("*.header"))
    assert len(stems) == 7
    for stem in stems:
        names = list(members(data, f"{stem}.tar.gz"))
        assert [name for name in names if not name.startswith("._")] == [f"{stem}.csv"]
    assert next(iter(members(data, "pai_sensor_table.tar.gz"))) == "._pai_sensor_table.csv"
    parts = sorted(path.name for path in data.glob("*.part*"))
    assert parts == [
        "pai_group_tag_table.tar.gz.partaa",
        "pai_group_tag_table.tar.gz.partab",
        "pai_job_table.tar.gz.partaa",
        "pai_job_table.tar.gz.partab",
    ]


def test_pai_identifier_lengths(raw: Path) -> None:
    jobs, instances = pai_table(raw, "pai_job_table"), pai_table(raw, "pai_instance_table")
    tags = pai_table(raw, "pai_group_tag_table")
    for column, digits in (
        (jobs["job_name"], 24),
        (jobs["inst_id"], 60),
        (jobs["user"], 12),
        (instances["inst_name"], 60),
        (instances["worker_name"].dropna(), 60),
        (instances["machine"].dropna(), 24),
        (tags["group"].dropna(), 32),
    ):
        assert column.str.fullmatch(HEX + f"{{{digits}}}").all(), column.name
    assert jobs["job_name"].is_unique
    assert jobs["inst_id"].is_unique


def test_pai_number_formats(raw: Path) -> None:
    tasks, metrics = pai_table(raw, "pai_task_table"), pai_table(raw, "pai_machine_metric")
    spec = pai_table(raw, "pai_machine_spec")
    for column in ("inst_num", "start_time", "end_time", "plan_cpu", "plan_gpu"):
        assert tasks[column].dropna().str.fullmatch(r"\d+\.\d").all(), column
    assert "29.296875" in set(tasks["plan_mem"])
    for column in ("start_time", "end_time"):
        assert metrics[column].str.fullmatch(r"\d+").all(), column
    for column in ("cap_cpu", "cap_mem", "cap_gpu"):
        assert spec[column].str.fullmatch(r"\d+").all(), column


def test_pai_statuses_and_missing_times(raw: Path) -> None:
    for stem in ("pai_job_table", "pai_task_table"):
        table = pai_table(raw, stem)
        assert set(table["status"]) == {"Failed", "Running", "Terminated", "Waiting"}
        assert set(table.loc[table["start_time"].isna(), "status"]) == {"Waiting"}
        assert (table["end_time"] == "0.0").any()
    jobs = pai_table(raw, "pai_job_table")
    ended = numbers(jobs["end_time"]) > 0
    assert ended[jobs["status"] == "Terminated"].all()
    assert (~ended).mean() == pytest.approx(0.2808, abs=0.01)
    failed = jobs["status"] == "Failed"
    assert ended[failed].mean() == pytest.approx(0.1, abs=0.02)
    assert ended[jobs["status"] == "Running"].any()
    assert ended[jobs["status"] == "Waiting"].any()
    assert failed.mean() == pytest.approx(256_555 / 1_055_501, abs=0.005)


def test_pai_jobs_start_with_their_first_task(raw: Path) -> None:
    jobs, tasks = pai_table(raw, "pai_job_table"), pai_table(raw, "pai_task_table")
    assert not tasks.duplicated(["job_name", "task_name"]).any()
    first = numbers(tasks["start_time"]).groupby(tasks["job_name"]).min()
    start = numbers(jobs.set_index("job_name")["start_time"])
    assert set(first.index) == set(start.index)
    latency = (first - start).dropna()
    assert len(latency) == start.notna().sum()
    assert (latency == 0).all()
    assert (tasks.groupby("job_name").size() > 1).any()


def test_pai_plans(raw: Path) -> None:
    tasks = pai_table(raw, "pai_task_table")
    plan = numbers(tasks["plan_gpu"])
    assert plan.isna().mean() == pytest.approx(223_965 / 1_261_050, abs=0.002)
    assert tasks["gpu_type"].isna().mean() == pytest.approx(0.173, abs=0.005)
    assert (tasks["gpu_type"] == "MISC").sum() / tasks["gpu_type"].count() == pytest.approx(0.67, abs=0.02)
    assert set(tasks["gpu_type"].dropna()) == {"MISC", "T4", "P100", "V100", "V100M32"}
    assert (plan > 100).any()
    assert ((plan > 0) & (plan < 100)).any()
    assert tasks["plan_cpu"].isna().any()
    gang = numbers(tasks["inst_num"])
    assert gang[gang >= 2].sum() / gang.sum() == pytest.approx(0.85, abs=0.03)
    failing = tasks["status"] == "Failed"
    assert failing[plan.notna()].mean() > 5 * failing[plan.isna()].mean()


def test_pai_instances_and_their_reruns(raw: Path) -> None:
    tasks, instances = pai_table(raw, "pai_task_table"), pai_table(raw, "pai_instance_table")
    rows = instances.groupby(["job_name", "task_name"]).size().rename("rows")
    counted = tasks.join(rows, on=["job_name", "task_name"])
    assert counted["rows"].isna().any()
    extra = counted["rows"] - numbers(counted["inst_num"])
    assert set(extra.dropna()) == {0, 1}
    assert instances["worker_name"].isna().any()
    assert set(instances.loc[instances["worker_name"].isna(), "status"]) == {"Waiting"}
    named = instances.dropna(subset="worker_name")
    twice = named[named["worker_name"].duplicated(keep=False)]
    statuses = set(twice.groupby("worker_name")["status"].agg(lambda each: "+".join(sorted(each))))
    assert statuses == {"Failed+Terminated", "Terminated+Waiting"}
    for column in ("start_time", "end_time"):
        assert (instances[column] == "0.0").any()
        assert instances[column].isna().any()


def test_pai_waits_of_instances(tmp_path: Path) -> None:
    write_sample(tmp_path, 0.02, 1, ["pai"], ignore)
    tasks, instances = pai_table(tmp_path, "pai_task_table"), pai_table(tmp_path, "pai_instance_table")
    launched = numbers(instances["start_time"]).where(lambda time: time > 0)
    first = launched.groupby([instances["job_name"], instances["task_name"]]).min().rename("first")
    waits = tasks.join(first, on=["job_name", "task_name"])
    waits["wait"] = waits["first"] - numbers(waits["start_time"])
    assert (waits["wait"].dropna() >= 0).all()
    median = waits.groupby("gpu_type")["wait"].median()
    assert median["V100"] > 5 * median["MISC"]
    plan = numbers(waits["plan_gpu"])
    shared, whole = waits["wait"][plan < 100], waits["wait"][plan == 100]
    assert whole.quantile(0.9) > 1.3 * shared.quantile(0.9)
    users = pai_table(tmp_path, "pai_job_table").set_index("job_name")["user"]
    per_user = instances["job_name"].map(users).value_counts()
    assert per_user.head(len(per_user) // 10).sum() > 0.5 * len(instances)


def test_pai_sensors(raw: Path) -> None:
    sensors, instances = pai_table(raw, "pai_sensor_table"), pai_table(raw, "pai_instance_table")
    tasks, spec = pai_table(raw, "pai_task_table"), pai_table(raw, "pai_machine_spec")
    assert len(sensors) / len(instances) == pytest.approx(0.403, abs=0.005)
    assert sensors["worker_name"].is_unique
    assert sensors["worker_name"].isin(instances["worker_name"]).all()
    assert sensors[["cpu_usage", "avg_mem", "gpu_name"]].isna().any().all()
    assert sensors["gpu_name"].dropna().str.fullmatch(r"/dev/nvidia[0-7]").all()
    unknown = ~sensors["machine"].isin(spec["machine"])
    assert unknown.sum() == 1
    both = sensors.merge(instances, on=["worker_name", "job_name", "task_name", "inst_id"])
    first = both.drop_duplicates("worker_name")
    assert len(first) == len(sensors)
    assert (first["machine_x"] == first["machine_y"]).sum() == len(sensors) - 1
    assert numbers(first["start_time"]).min() >= 672 * 3600
    planned = sensors.merge(tasks, on=["job_name", "task_name"])
    gpu = numbers(planned["gpu_wrk_util"])
    assert (gpu > 100).any()
    assert (gpu > numbers(planned["plan_gpu"])).any()
    assert (numbers(planned["cpu_usage"]) > numbers(planned["plan_cpu"])).mean() > 0.02
    assert sensors.groupby(["machine", "gpu_name"]).size().max() > 1


def test_pai_machines_and_their_metrics(raw: Path) -> None:
    spec, metrics = pai_table(raw, "pai_machine_spec"), pai_table(raw, "pai_machine_metric")
    assert spec["machine"].is_unique
    assert set(spec["gpu_type"]) == {"CPU", "MISC", "P100", "T4", "V100", "V100M32"}
    assert set(spec.loc[spec["gpu_type"] == "CPU", "cap_gpu"]) == {"0"}
    parts = ["machine_cpu_iowait", "machine_cpu_kernel", "machine_cpu_usr"]
    total = metrics[parts].apply(numbers).sum(axis=1)
    assert (total - numbers(metrics["machine_cpu"])).abs().max() < 0.1
    assert (numbers(metrics["machine_gpu"]) > 100).any()
    assert metrics[["machine_gpu", "machine_load_1"]].isna().any().all()
    assert metrics["machine"].isin(spec["machine"]).all()
    assert metrics["worker_name"].isin(pai_table(raw, "pai_instance_table")["worker_name"]).all()


def test_pai_group_tags(raw: Path) -> None:
    tags, jobs = pai_table(raw, "pai_group_tag_table"), pai_table(raw, "pai_job_table")
    assert tags["inst_id"].is_unique
    assert (~jobs["inst_id"].isin(tags["inst_id"])).any()
    assert (~tags["inst_id"].isin(jobs["inst_id"])).any()
    both = tags.merge(jobs, on="inst_id")
    assert (both["user_x"] == both["user_y"]).all()
    assert tags["workload"].notna().mean() == pytest.approx(0.0978, abs=0.005)
    assert tags["group"].isna().any()
    assert tags["group"].value_counts().max() >= 5
    assert set(tags["gpu_type_spec"].dropna()) == {"MISC", "T4", "P100", "V100", "V100M32"}


# ITP.


def itp_files(raw: Path, archive: str) -> dict[str, pd.DataFrame]:
    found = members(raw / "itp" / "data", archive)
    assert b"\r\n" in found.pop("LICENSE")
    assert not any(content.endswith(b"\n") for content in found.values())
    return {name: pd.read_csv(io.BytesIO(content)) for name, content in found.items()}


def test_itp_archives_agree(raw: Path) -> None:
    plain = itp_files(raw, "raw-traces.tar.gz")
    extended = itp_files(raw, "elasticflow-traces.tar.gz")
    assert list(plain) == [f"cluster{number:02}.csv" for number in range(1, 11)]
    assert set(extended) == {*plain, "195job.csv"}
    columns = ["job_id", "submission_time", "duration", "num_gpu"]
    for name, jobs in plain.items():
        assert list(jobs.columns) == columns
        pd.testing.assert_frame_equal(jobs, extended[name][columns])
        assert jobs["submission_time"].is_monotonic_increasing
        assert jobs["duration"].min() == 600
        assert set(jobs["num_gpu"]) <= {1, 2, 4, 8, 16, 32, 64}
    together = pd.concat(plain.values())
    assert together["job_id"].is_unique
    uuid = "-".join(HEX + f"{{{digits}}}" for digits in (8, 4, 4, 4, 12))
    assert together["job_id"].str.fullmatch(uuid).all()
    assert set(plain["cluster09.csv"]["num_gpu"]) == {1}


def test_itp_deadlines_and_testbed(raw: Path) -> None:
    extended = itp_files(raw, "elasticflow-traces.tar.gz")
    testbed = extended.pop("195job.csv")
    columns = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration"
    assert ",".join(testbed.columns) == columns
    jobs = pd.concat(extended.values())
    tightness = (jobs["deadline"] - jobs["submission_time"]) / jobs["duration"]
    assert tightness.between(0.498, 1.5).all()
    assert (tightness < 0.5).any()
    assert (tightness < 1).mean() == pytest.approx(0.5, abs=0.15)
    again = testbed.merge(extended["cluster02.csv"], on="job_id")
    assert len(again) == len(testbed)
    for same in ("submission_time", "duration", "num_gpu"):
        assert (again[f"{same}_x"] == again[f"{same}_y"]).all()
    for other in ("model_name", "batch_size", "num_iteration"):
        assert (again[f"{other}_x"] != again[f"{other}_y"]).mean() > 0.3
    assert (again["deadline_x"] != again["deadline_y"]).all()


# openb.


def test_openb_pods(raw: Path) -> None:
    pods = pd.read_csv(raw / "openb/csv/openb_pod_list_default.csv")
    assert list(pods.columns) == [
        *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos"),
        *("pod_phase", "creation_time", "deletion_time", "scheduled_time"),
    ]
    assert set(pods["pod_phase"]) == {"Running", "Failed", "Pending", "Succeeded"}
    assert set(pods["qos"]) == {"LS", "BE", "Burstable", "Guaranteed"}
    assert (pods["scheduled_time"].isna() == (pods["pod_phase"] == "Pending")).all()
    assert pods["deletion_time"].notna().all()
    assert (pods["scheduled_time"].dropna() >= pods["creation_time"][pods["scheduled_time"].notna()]).all()
    assert (pods["deletion_time"] >= pods["scheduled_time"].fillna(0)).all()
    assert pods["creation_time"].is_monotonic_increasing
    assert pods["creation_time"].min() == 0
    assert (pods["creation_time"] < 110 * 86_400).sum() == 2
    assert (pods["memory_mib"] == 0).sum() == 1
    assert set(pods.loc[pods["num_gpu"] > 1, "gpu_milli"]) == {1000}
    assert set(pods.loc[pods["num_gpu"] == 0, "gpu_milli"]) == {0}
    assert set(pods["num_gpu"]) == {0, 1, 2, 4, 8}
    assert pods["gpu_spec"].isna().all()


def test_openb_variants(raw: Path) -> None:
    lists = {
        path.stem.removeprefix("openb_pod_list_"): pd.read_csv(path)
        for path in (raw / "openb/csv").glob("openb_pod_list_*.csv")
    }
    default, bound = lists.pop("default"), lists.pop("gpuspec33")
    pd.testing.assert_frame_equal(default.drop(columns="gpu_spec"), bound.drop(columns="gpu_spec"))
    specs = bound["gpu_spec"].dropna()
    assert len(specs) / (bound["num_gpu"] > 0).sum() == pytest.approx(0.338, abs=0.02)
    assert "V100M16|V100M32|V100M32" in set(specs)
    assert list(lists["multigpu50"].columns) == ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]
    several = lists["multigpu50"].eval("num_gpu * gpu_milli")
    assert several[lists["multigpu50"]["num_gpu"] > 1].sum() / several.sum() == pytest.approx(0.5, abs=0.05)
    for name in ("cpu100", "gpushare40"):
        variant = lists[name]
        assert not variant["creation_time"].is_monotonic_increasing
        assert variant.drop(columns="name").duplicated().any()
        same_name = default.merge(variant, on="name")
        assert (same_name["creation_time_x"] != same_name["creation_time_y"]).mean() > 0.9
        assert variant["name"].is_unique


def test_openb_nodes(raw: Path) -> None:
    every = pd.read_csv(raw / "openb/csv/openb_node_list_all_node.csv")
    on_gpu = pd.read_csv(raw / "openb/csv/openb_node_list_gpu_node.csv")
    assert list(every.columns) == ["sn", "cpu_milli", "memory_mib", "gpu", "model"]
    assert (every["model"].isna() == (every["gpu"] == 0)).all()
    assert len(every[every["gpu"] > 0]) == len(on_gpu)
    assert set(on_gpu["model"]) == {"A10", "G2", "G3", "P100", "T4", "V100M16", "V100M32"}
    same_name = every.merge(on_gpu, on="sn")
    assert (same_name["model_x"] != same_name["model_y"]).any()


# Zeus.


def test_zeus_training_runs(raw: Path) -> None:
    train = pd.read_csv(raw / "zeus/summary_train.csv", dtype={"learning_rate": str, "target_epoch": str})
    columns = "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch"
    assert ",".join(train.columns) == columns
    assert train["dataset"].nunique() == 6
    assert train["target_epoch"].isna().mean() == pytest.approx(0.22, abs=0.1)
    assert train["target_epoch"].dropna().str.fullmatch(r"\d+").all()
    assert (train.groupby(["dataset", "batch_size"])["learning_rate"].nunique() == 1).all()
    assert train["learning_rate"].str.fullmatch(r"\d(\.\d\d)?e-0?\d").all()
    assert train.groupby(["dataset", "batch_size"])["run"].max().nunique() >= 4
    speech = train[train["dataset"] == "librispeech"]
    assert speech["target_metric"].between(35, 65).all()
    missing = speech.groupby("target_metric")["target_epoch"].apply(lambda epochs: epochs.isna().mean())
    assert missing[35.0] > missing[65.0]


def test_zeus_power(raw: Path) -> None:
    train = pd.read_csv(raw / "zeus/summary_train.csv")
    config = ["dataset", "network", "batch_size", "optimizer"]
    trained = set(map(tuple, train[config].drop_duplicates().to_numpy()))
    for gpu, limits in {"a40": 9, "p100": 6, "rtx6000": 8, "v100": 7}.items():
        power = pd.read_csv(raw / f"zeus/summary_power_{gpu}.csv")
        assert list(power.columns) == [*config, "power_limit", "time_per_epoch", "average_power"]
        assert power["power_limit"].nunique() == limits
        measured = set(map(tuple, power[config].drop_duplicates().to_numpy()))
        assert measured & trained
        assert measured - trained
        assert trained - measured
        assert (power.groupby(config).size().nunique() > 1) == (gpu in ("a40", "rtx6000"))
        above = power["average_power"] > power["power_limit"]
        assert above.any() == (gpu in ("a40", "v100"))
        adam = power[(power["dataset"] == "cifar100") & (power["optimizer"] == "adam")]
        assert adam.empty == (gpu != "v100")


def test_zeus_groups(raw: Path) -> None:
    groups = pd.read_csv(raw / "zeus/alibaba_groups.csv.xz", dtype=str)
    assert list(groups.columns) == ["group", "start_time", "end_time", "dataset", "runtime_ratio"]
    assert groups["group"].str.fullmatch(HEX + "{32}").all()
    assert groups["start_time"].str.fullmatch(r"\d+\.0").all()
    assert (groups.groupby("group")["dataset"].nunique() == 1).all()
    mean = numbers(groups["runtime_ratio"]).groupby(groups["dataset"]).mean()
    assert mean.to_numpy() == pytest.approx(1.0)


# Acme.


def acme_jobs(raw: Path, cluster: str) -> pd.DataFrame:
    return pd.read_csv(raw / f"acme/data/job_trace/trace_{cluster}.csv", dtype=str)


def seconds(later: pd.Series, earlier: pd.Series) -> pd.Series:
    span = pd.to_datetime(later, utc=True) - pd.to_datetime(earlier, utc=True)
    return span.dt.total_seconds()


@pytest.mark.parametrize(("cluster", "offset"), [("seren", "08"), ("kalos", "00")])
def test_acme_times_durations_and_queues(raw: Path, cluster: str, offset: str) -> None:
    jobs = acme_jobs(raw, cluster)
    for column in ("submit_time", "start_time", "end_time"):
        stamp = rf"2023-\d\d-\d\d \d\d:\d\d:\d\d\+{offset}:00"
        assert jobs[column].dropna().str.fullmatch(stamp).all()
    started = jobs[jobs["start_time"].notna() & jobs["end_time"].notna()]
    since = started["submit_time"] if cluster == "kalos" else started["start_time"]
    assert (seconds(started["end_time"], since) == numbers(started["duration"])).all()
    wait = seconds(started["start_time"], started["submit_time"])
    assert (wait == numbers(started["queue"])).all()
    assert (numbers(jobs["gpu_time"]) == numbers(jobs["duration"]) * numbers(jobs["gpu_num"])).all()
    assert (jobs["type"] == "CPU").equals(jobs["gpu_num"] == "0")
    never = jobs[jobs["start_time"].isna()]
    assert len(never) > 0
    assert set(never["state"]) == {"CANCELLED"}
    assert jobs["job_id"].is_unique


def test_acme_seren(raw: Path) -> None:
    jobs = acme_jobs(raw, "seren")
    assert list(jobs.columns) == [
        *("job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state"),
        *("submit_time", "start_time", "end_time", "duration", "queue", "gpu_time"),
    ]
    states = {"COMPLETED", "FAILED", "CANCELLED", "PREEMPTED", "TIMEOUT", "NODE_FAIL"}
    assert set(jobs["state"]) == states
    assert set(jobs["type"]) == {"CPU", "Debug", "Eval", "MLLM", "Other", "Pretrain", "SFT"}
    assert jobs["duration"].str.fullmatch(r"\d+").all()
    assert jobs["queue"].str.fullmatch(r"\d+").all()
    assert jobs["gpu_time"].str.fullmatch(r"\d+\.0").all()
    assert (jobs["type"] == "CPU").mean() == pytest.approx(367_737 / 818_327, abs=0.01)


def test_acme_kalos(raw: Path) -> None:
    jobs = acme_jobs(raw, "kalos")
    assert list(jobs.columns) == [
        *("job_id", "user", "node_num", "gpu_num", "cpu_num", "mem_per_pod_GB", "shared_mem_per_pod"),
        *("type", "state", "submit_time", "start_time", "end_time", "fail_time", "stop_time"),
        *("duration", "queue", "gpu_time"),
    ]
    assert set(jobs["state"]) == {"COMPLETED", "FAILED", "CANCELLED", "RUNNING"}
    assert set(jobs["type"]) == {"CPU", "Debug", "Eval", "Other", "Pretrain", "SFT"}
    assert (jobs["end_time"].isna() == (jobs["state"] == "RUNNING")).all()
    assert (jobs["fail_time"].notna() == (jobs["state"] == "FAILED")).all()
    assert (jobs["stop_time"].notna() == (jobs["state"] == "CANCELLED")).all()
    for column in ("duration", "mem_per_pod_GB"):
        assert jobs[column].str.fullmatch(r"\d+").all(), column
    for column in ("queue", "gpu_time", "shared_mem_per_pod"):
        assert jobs[column].dropna().str.fullmatch(r"\d+\.0").all(), column


def test_acme_summary_matches_the_jobs(raw: Path) -> None:
    summary = pd.read_csv(raw / "acme/data/cluster_summary.csv").set_index("id")
    assert len(summary.columns) == 27
    assert list(summary.index) == ["Seren", "Kalos"]
    for cluster, row in summary.iterrows():
        jobs = acme_jobs(raw, str(cluster).lower())
        on_gpu = jobs[jobs["gpu_num"] != "0"]
        assert row["job_num"] == len(jobs)
        assert row["gpu_job_num"] == len(on_gpu)
        assert row["avg_run_time_gpu"] == pytest.approx(numbers(on_gpu["duration"]).mean(), abs=1e-3)
        times = row[["complete_gpu_time", "cancel_gpu_time", "fail_gpu_time"]].sum()
        assert times == numbers(on_gpu["gpu_time"]).sum()
        rates = row[["complete_rate_gpu", "cancel_rate_gpu", "fail_rate_gpu"]].sum()
        assert rates == pytest.approx(1, abs=0.002)
