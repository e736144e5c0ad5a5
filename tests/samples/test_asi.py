"""The synthetic ASI trace has the shares of one hour of the published files."""

from pathlib import Path

import polars as pl
import pytest

from tracehouse.core.errors import UsageError
from tracehouse.ingest.synthetic import is_marked
from tracehouse.samples.dumps import write_sample


def sample(folder: Path, days: int | None, trace: str = "asi") -> list[Path]:
    return write_sample(folder, 0.002, 7, [trace], lambda *_: None, days)


@pytest.fixture(scope="module")
def pods(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    folder = tmp_path_factory.mktemp("asi")
    sample(folder, 1)
    return pl.read_parquet(
        folder / "asi/asi_opensource_pod_hourly/day=109/*/*.parquet", hive_partitioning=True
    )


def test_shares_of_published_rows(pods: pl.DataFrame) -> None:
    shares = {
        "gpu": (pods["gpu_request"] > 0).mean(),
        "HP": (pods["priority_class"] == "HP").mean(),
        "LP": (pods["priority_class"] == "LP").mean(),
        "unknown type": (pods["job_type_public"] == "unknown").mean(),
        "no workload": pods["workload_id"].is_null().mean(),
        "no utilisation": pods["avg_gpu_sm_util"].is_null().mean(),
        "unknown ready delay": (pods["ready_delay_sec"] == -1).mean(),
    }
    profile = {
        "gpu": 0.07,
        "HP": 0.206,
        "LP": 0.021,
        "unknown type": 0.926,
        "no workload": 0.232,
        "no utilisation": 0.942,
        "unknown ready delay": 0.284,
    }
    assert shares == pytest.approx(profile, abs=0.02)


def test_most_pods_stay_for_the_next_hour(pods: pl.DataFrame) -> None:
    by_hour = {hour: set(rows["pod_id"]) for (hour,), rows in pods.group_by("hour")}
    assert len(by_hour) == 24
    stay = len(by_hour[10] & by_hour[11]) / len(by_hour[10])
    assert 0.9 < stay < 1


def test_a_few_pods_have_two_rows_in_an_hour(pods: pl.DataFrame) -> None:
    assert pods.select("hour", "pod_id").is_duplicated().sum() == 2


def test_writes_marked_files_of_the_given_days(tmp_path: Path) -> None:
    paths = sample(tmp_path, 1)
    assert len(paths) == 3 * 24 + 1
    assert {path.parts[-3] for path in paths if path.parent.name.startswith("hour=")} == {"day=109"}
    moved = paths[0].rename(tmp_path / paths[0].name)
    assert is_marked(moved, tmp_path)


@pytest.mark.parametrize(("days", "trace"), [(0, "asi"), (3, "zeus")])
def test_rejects_days(days: int, trace: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--days must be 1 or more, for asi"):
        sample(tmp_path, days, trace)
