"""ITP's load and its testbed, on a few jobs whose results can be computed by hand."""

import datetime as dt

import duckdb
import pytest
import raw_dumps
from raw_dumps import rows

RAW = tuple(raw_dumps.header("itp", "raw_job").split(","))
DAY = 86_400
CLUSTER02 = (
    ("a", 0, 1_000, 4),
    # b starts as a ends, so they do not overlap.
    ("b", 1_000, 1_000, 8),
    ("c", 1_500, 500, 2),
    # d starts after a gap of 400 s and runs into the third day.
    ("d", 2_400, 2 * DAY, 1),
)
# 600 GPUs at once, although the publisher simulates the cluster with 256. Both jobs are submitted at 7 s.
CLUSTER10 = (("a", 7, 600, 300), ("b", 7, 700, 300))
# Model, batch size, iterations and deadline. The testbed changes the deadline of b and adds the job z.
GENERATED = {"a": ("bert", 64, 100, 900), "b": ("vgg16", 64, 100, 2_500)}
TESTBED = (
    ("a", 0, 1_000, 4, "bert", 64, 100, 900),
    ("b", 1_000, 1_000, 8, "vgg16", 64, 100, 2_501),
    # The job c of cluster02 has another duration.
    ("c", 1_500, 501, 2, "bert", 64, 100, 2_500),
    ("z", 1_600, 3_600, 1, "bert", 64, 100, 5_200),
)


@pytest.fixture(scope="module")
def itp(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("itp")
    clusters = {"cluster02": CLUSTER02, "cluster10": CLUSTER10}
    raw = {f"{name}.csv": csv(RAW, jobs) for name, jobs in clusters.items()}
    columns = (*RAW, "model_name", "batch_size", "num_iteration", "deadline")
    generated = [(*job, *GENERATED[job[0]]) for job in CLUSTER02 if job[0] in GENERATED]
    extended = {"cluster02.csv": csv(columns, generated), "195job.csv": csv(columns, TESTBED)}
    raw_dumps.write_archive(folder / "raw" / "itp" / "raw-traces.tar.gz", raw)
    raw_dumps.write_archive(folder / "raw" / "itp" / "elasticflow-traces.tar.gz", extended)
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


def csv(columns: tuple[str, ...], rows: tuple | list) -> bytes:
    return raw_dumps.csv_text(columns, [dict(zip(columns, row, strict=True)) for row in rows], True)


def test_offered_load(itp: duckdb.DuckDBPyConnection) -> None:
    sweep = "select * exclude cluster from itp.offered_load where cluster = 'cluster02' order by from_s"
    assert rows(itp, sweep) == [
        (0, 1_000, 1, 4),
        (1_000, 1_500, 1, 8),
        (1_500, 2_000, 2, 10),
        (2_000, 2_400, 0, 0),
        (2_400, 2_400 + 2 * DAY, 1, 1),
        (2_400 + 2 * DAY, None, 0, 0),
    ]


def test_cluster_load(itp: duckdb.DuckDBPyConnection) -> None:
    gpu_s = 4_000 + 8_000 + 1_000 + 2 * DAY
    last = 2_400 + 2 * DAY
    mean = gpu_s / 2_400
    assert rows(itp, "from itp.load()") == [
        (
            *("cluster02", 4, pytest.approx(gpu_s / 3600), 0, 2_400, 2_400, last, 10, 1_500),
            *(pytest.approx(mean), 512, pytest.approx(mean / 512), False),
        ),
        # All jobs are submitted at once, so the period of submissions is 0 s and a mean over it is NULL.
        ("cluster10", 2, pytest.approx(390_000 / 3600), 7, 7, 0, 707, 600, 7, None, 256, None, True),
    ]


def test_load_by_day(itp: duckdb.DuckDBPyConnection) -> None:
    first = 4_000 + 8_000 + 1_000 + (DAY - 2_400)
    assert rows(itp, "from itp.load_by_day(on_cluster := 'cluster02')") == [
        (0, dt.date(2021, 3, 4), pytest.approx(first / DAY), 10, 4, 512),
        (1, dt.date(2021, 3, 5), 1, 1, 0, 512),
        (2, dt.date(2021, 3, 6), pytest.approx(2_400 / DAY), 1, 0, 512),
    ]
    assert rows(itp, "from itp.load_by_day(on_cluster := 'cluster01')") == []


def test_arrivals_by_week_have_dates(itp: duckdb.DuckDBPyConnection) -> None:
    assert rows(itp, "from itp.arrivals_by_week()") == [(0, dt.date(2021, 3, 4), 6)]


def test_only_comments_on_elasticflow_job_mention_195job(itp: duckdb.DuckDBPyConnection) -> None:
    comments = "select comment from duckdb_columns() where schema_name = 'itp' and table_name = '{}'"
    assert "195job" not in str(rows(itp, comments.format("raw_job")))
    assert "195job" in str(rows(itp, comments.format("elasticflow_job")))


def test_testbed(itp: duckdb.DuckDBPyConnection) -> None:
    jobs = "select job_id, slack_s, is_in_cluster02, generated_differs from itp.testbed_job order by job_id"
    assert rows(itp, jobs) == [
        ("a", -100, True, False),
        ("b", 501, True, True),
        ("c", 499, False, None),
        ("z", 0, False, None),
    ]
    gpu_h = (4_000 + 8_000 + 1_002 + 3_600) / 3600
    assert rows(itp, "from itp.testbed()") == [(4, pytest.approx(gpu_h), pytest.approx(1_600 / 3600), 2, 1)]
    assert rows(itp, "from itp.testbed_sizes()") == [(1, 1), (2, 1), (4, 1), (8, 1)]


def test_the_largest_jobs(itp: duckdb.DuckDBPyConnection) -> None:
    gpu_s = 4_000 + 8_000 + 1_000 + 2 * DAY + 390_000
    # The number of largest jobs is rounded up.
    for top_pct, jobs, held in ((0, 0, 0), (1, 1, 210_000), (17, 2, 390_000), (100, 6, gpu_s)):
        answer = rows(itp, f"from itp.top_jobs(top_pct := {top_pct})")
        assert answer == [(6, jobs, pytest.approx(100 * held / gpu_s))]


def test_feasibility_of_jobs_without_a_deadline(itp: duckdb.DuckDBPyConnection) -> None:
    assert rows(itp, "from itp.feasibility(with_total := true)") == [
        ("cluster02", 4, 1, 25, 0.9, pytest.approx(1.2), 1.5, 200, pytest.approx((1 / 0.9 + 1 / 1.5) / 2)),
        ("cluster10", 2, 0, 0, None, None, None, None, None),
        ("all", 6, 1, pytest.approx(100 / 6), 0.9, pytest.approx(1.2), 1.5, 200, pytest.approx(8 / 9)),
    ]
