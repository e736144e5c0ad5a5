"""The Python interface: what a notebook asks, gets and is told."""

import subprocess
import sys
from pathlib import Path

import command_line
import polars
import pyarrow as pa
import pytest

import tracehouse
from tracehouse.publish.plot import pictures
from tracehouse.python import UsageError, UserError, Warehouse


@pytest.fixture(scope="module")
def house(sample_warehouse: Path) -> Warehouse:
    return tracehouse.open(sample_warehouse)


def test_an_answer_is_that_of_the_command_line(house: Warehouse) -> None:
    answer = house.query("itp.gpu_hours", min_gpus=8)
    said = command_line.by_itself(
        *("query", "itp.gpu_hours", "-p", "min_gpus=8", "--warehouse", house.folder, "--format", "csv")
    )
    assert answer.pl().write_csv() == said.stdout
    assert [f"caveat {note.name}: {note.text}" for note in answer.caveats] == said.stderr.splitlines()
    assert answer.df().to_dict("list") == answer.pl().to_dict(as_series=False)
    assert (answer.name, answer.values, len(answer)) == (
        "itp.gpu_hours",
        {"min_gpus": 8},
        answer.arrow().num_rows,
    )


def test_it_says_which_raw_files_are_behind_it(house: Warehouse) -> None:
    sources = house.query("openb.capacity_by_model").sources.to_pylist()
    assert {row["table_name"] for row in sources} == {"openb.node"}
    assert all(row["synthetic"] and len(row["sha256"]) == 64 for row in sources)


def test_sums_of_integers_are_integers_unless_they_do_not_fit(house: Warehouse) -> None:
    sums = house.sql(
        "select sum(x) as fits, sum(x * 5) as wide from (values (9223372036854775807::hugeint)) v(x)"
    )
    assert sums.arrow().schema.types == [pa.int64(), pa.decimal128(38, 0)]
    assert [int(value) for value in sums.pl().row(0)] == [9223372036854775807, 5 * 9223372036854775807]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select sum(run_s) from itp.job", {"itp.min_duration_600"}),
        ("select sum(requested_gpus) from itp.job_v1", set()),
        ("select run_s from (select * from itp.job)", {"itp.min_duration_600"}),
        ("from itp.gpu_hours()", {"itp.min_duration_600"}),
        ("select sum(duration) from itp.raw_job", {"itp.min_duration_600"}),
        ("select 1", set()),
    ],
)
def test_sql_is_told_the_caveats_of_the_columns_that_it_reads(
    statement: str, expected: set[str], house: Warehouse
) -> None:
    answer = house.sql(statement)
    names = {note.name for note in answer.caveats} - {"synthetic data"}
    assert expected <= names
    assert ("itp.min_duration_600" in names) == bool(expected)
    assert {row["trace"] for row in answer.sources.to_pylist()} == ({"itp"} if "itp" in statement else set())


def test_a_frame_of_pandas_needs_pandas(house: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = house.sql("select 1 as x")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"^pandas is not installed: pip install pandas$"):
        answer.df()


def test_parameters_are_checked_as_on_the_command_line(house: Warehouse) -> None:
    for wrong, said in (
        ({"min_gpu": 8}, "itp.gpu_hours has no parameter min_gpu. Parameters of itp.gpu_hours:\n  min_gpus"),
        ({"min_gpus": "many"}, "min_gpus is of type INTEGER from 0 to 10000, not 'many'"),
        ({"min_gpus": -1}, "min_gpus is of type INTEGER from 0 to 10000, not '-1'"),
        ({"min_gpus": 1.5}, "not '1.5'"),
        ({"min_gpus": None}, "min_gpus is a text, a number, a day or a truth value, not None"),
        ({"min_gpus": [1]}, "not [1]"),
    ):
        with pytest.raises(UsageError) as raised:
            house.query("itp.gpu_hours", **wrong)
        assert said in str(raised.value)
    by_publisher = house.query("acme.totals", by_publisher=True)
    assert not by_publisher.pl().equals(house.query("acme.totals", by_publisher=False).pl())


def test_wrong_names_are_answered_with_right_ones(house: Warehouse) -> None:
    with pytest.raises(UsageError, match=r"Did you mean itp\.gpu_hours"):
        house.query("itp.gpu_hour")
    with pytest.raises(UsageError, match=r"nothing is called itp\.jobb"):
        house.describe("itp.jobb")
    with pytest.raises(UsageError, match="there is no list of things: traces, tables, views, queries"):
        house.list("things")
    with pytest.raises(UserError, match="there is no database"):
        tracehouse.open("/nowhere")


def test_nothing_can_be_written(house: Warehouse, tmp_path: Path) -> None:
    for statement in ("drop view itp.job", f"copy (select 1) to '{tmp_path / 'x'}'", "select 1; select 2"):
        with pytest.raises(UserError):
            house.sql(statement)
    assert list(tmp_path.iterdir()) == []


def test_the_process_may_write_as_before(sample_warehouse: Path, tmp_path: Path) -> None:
    # Polars and Arrow keep the threads that they start: one that was kept from writing would stay so.
    code = f"""
import tracehouse
answer = tracehouse.open({str(sample_warehouse)!r}).query("itp.job")
answer.pl().write_parquet({str(tmp_path / "polars.parquet")!r})
answer.df().to_parquet({str(tmp_path / "pandas.parquet")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pandas.parquet", "polars.parquet"]


def test_lists_and_descriptions(house: Warehouse) -> None:
    assert "itp.gpu_hours" in house.list("queries", "itp")["query_name"]
    assert house.list("queries", search="gpu hours")["query_name"][0].endswith("gpu_hours")
    assert house.list()["trace"].to_list() == sorted(house.list()["trace"])
    hours = house.describe("itp.gpu_hours")
    assert hours.title == "Jobs and GPU-hours by cluster (ITP jobs)"
    assert hours.grids["parameters"]["parameter"].to_list() == ["min_gpus", "with_total"]
    assert hours.sql in str(hours)
    assert house.describe("itp.job").grids["columns"]["unit"].to_list().count("s") > 3
    assert house.describe("itp.min_duration_600").name == "itp.min_duration_600"
    assert "&lt;" in house.describe("itp.job")._repr_html_()


def test_an_answer_shows_itself(house: Warehouse) -> None:
    answer = house.query("itp.gpu_hours")
    shown = answer._repr_html_()
    assert shown.count("<table") == 1
    assert "itp.min_duration_600" in shown
    assert "<svg" in shown
    assert "caveat itp.min_duration_600: " in str(answer)
    many = house.query("itp.job", limit=50)
    assert "and 30 rows more" in many._repr_html_()
    assert "<svg" not in many._repr_html_()


@pytest.mark.parametrize("limit", [-1, 2**31 - 1, 2**63 - 1, 2**200])
def test_a_limit_is_a_number_of_rows(house: Warehouse, limit: int) -> None:
    with pytest.raises(UsageError, match=f"the limit is a number of rows from 0 to 2147483646, not {limit}$"):
        house.query("itp.job", limit=limit)
    assert len(house.query("itp.gpu_hours", limit=2**31 - 2).df()) == 10


def test_what_data_say_is_no_html(house: Warehouse) -> None:
    assert "<script" not in house.sql("select '<script>alert(1)</script>' as x")._repr_html_()


def test_a_picture_is_the_command_lines(house: Warehouse, tmp_path: Path) -> None:
    picture = house.query("itp.gpu_hours", min_gpus=8).plot(width_mm=85)
    command_line.by_itself(
        *("query", "itp.gpu_hours", "-p", "min_gpus=8", "--warehouse", house.folder),
        *("--plot", tmp_path / "shell.svg", "--width", "85"),
    )
    assert pictures.svg_of(picture) == (tmp_path / "shell.svg").read_text()


def test_without_rows_it_is_still_a_table(house: Warehouse) -> None:
    empty = house.sql("select 1 as a where false")
    assert (len(empty), empty.pl().schema) == (0, {"a": polars.Int32})
    assert "<table" in empty._repr_html_()


def test_a_question_that_takes_too_long_is_stopped(sample_warehouse: Path) -> None:
    hurried = tracehouse.open(sample_warehouse, timeout_s=0.5)
    with pytest.raises(UserError, match=r"no answer within 0\.5 s"):
        hurried.sql("select sum(a.range * b.range) from range(10000000) a cross join range(10000000) b")


def test_the_package_is_imported_in_no_time() -> None:
    code = "import sys, tracehouse; print(*(n for n in ('duckdb', 'polars', 'pyarrow') if n in sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "\n"
    )
