"""Parquet files in folders of days and hours. Ingest converts, resumes and removes a day as a unit."""

import csv
import gzip
import io
import itertools
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from added_trace import added_trace
from few_files import ingest, quiet, refusal, stored, write, zipped

from tracehouse.core.errors import UserError
from tracehouse.ingest import pipeline
from tracehouse.ingest.convert import incremental
from tracehouse.ingest.convert.raw_file import Task
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.dump.identify import MatchedFile
from tracehouse.ingest.dump.readers.values import arrow_type
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import records

TRACE = """
from tracehouse.ingest.declare.trace import Column, Table, Trace

HOURLY = dict(
    comment="", grain="", source="",
    file_name=r"part-\\d+\\.parquet|probe_pod_day.*\\.parquet",
    folder=r"day=(?P<day>\\d+)/hour=(?P<hour>\\d+)",
    keys=(Column("day", "BIGINT", "", least=0, most=184), Column("hour", "BIGINT", "", least=0, below=24)),
    partition_by=("day",),
    converts_partitions=True,
)
TRACE = Trace("probe", "", "", "", "", "", "", (
    Table(
        name="pod",
        archive_stem="probe_pod",
        columns=(Column("pod", "VARCHAR", ""), Column("gpus", "DOUBLE", "")),
        order_by=("-gpus", "pod", "hour"),
        **HOURLY,
    ),
    Table(
        name="server",
        columns=(Column("server", "VARCHAR", ""), Column("cores", "BIGINT", "", required=True)),
        order_by=("server", "hour"),
        **HOURLY,
    ),
))
"""
PODS = ["b", "a", "c"]


@pytest.fixture(autouse=True)
def probe(tmp_path: Path) -> Iterator[None]:
    """Add a trace with two hourly tables."""
    with added_trace(tmp_path, "probe", TRACE):
        yield


@pytest.fixture
def real_asi_rows() -> Path:
    """The path of a CSV export of 30 rows of day 0, hour 23, of Alibaba's trace of 2026."""
    path = Path(__file__).parents[4] / "shared/neighbours/asi/pod_hourly_day0_hour23_rows.csv"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    return path


def parquet(rows: pa.Table, **options: object) -> bytes:
    packed = io.BytesIO()
    pq.write_table(rows, packed, **options)  # type: ignore[arg-type]
    return packed.getvalue()


def pods(hour: int, gpus: tuple[float, ...] = (0, 2, 0.5)) -> pa.Table:
    return pa.table({"pod": [f"{pod}{hour % 2}" for pod in PODS], "gpus": pa.array(gpus, pa.float64())})


def path_of(day: int, hour: int) -> str:
    return f"probe_pod/day={day}/hour={hour:02d}/part-000.parquet"


def tree(*days: int) -> dict[str, bytes]:
    return {path_of(day, hour): parquet(pods(hour)) for day in days for hour in (0, 7, 23)}


def merged(*days: int) -> bytes:
    """Return the rows of a tree as one file with the keys as columns. A row group may contain two days."""
    parts = [
        pods(hour).append_column("day", pa.array([day] * 3)).append_column("hour", pa.array([hour] * 3))
        for day in days
        for hour in (0, 7, 23)
    ]
    return parquet(pa.concat_tables(parts), row_group_size=4)


def as_packed(packing: str, files: dict[str, bytes]) -> dict[str, bytes]:
    return files if packing == "tree" else {"probe_pod.zip": zipped(files)}


EXPECTED = [
    (hour, pod + str(hour % 2), gpus)
    for pod, gpus in (("a", 2.0), ("c", 0.5), ("b", 0.0))
    for hour in (0, 7, 23)
]


def rows_of(folder: Path, outcome: IngestResult) -> dict[str, list[tuple]]:
    """Return the hours, pods and GPUs of each day, in stored order."""
    found = {}
    for conversion in outcome.conversions:
        day = conversion.partition.removeprefix("day=")
        rows = stored(folder, conversion)
        assert {str(row[0]) for row in rows} == {day}
        found[day] = [row[1:] for row in rows]
    return found


FORMS = {
    "a tree": tree(3, 12),
    "a tree of another name": {name.replace("probe_pod", "x/y"): data for name, data in tree(3, 12).items()},
    "a zip": {"probe_pod.zip": zipped(tree(3, 12))},
    "a zip of stored files": {"probe_pod.zip": zipped(tree(3, 12), zipfile.ZIP_STORED)},
    "a merged file": {"probe_pod_day0_29.parquet": merged(3, 12)},
}


def test_every_form_gives_the_same_days(tmp_path: Path) -> None:
    for form, files in FORMS.items():
        outcome = ingest(tmp_path / form, files)
        assert (outcome.problems, outcome.unrecognised, outcome.notes) == ((), (), ())
        in_order = sorted(EXPECTED, key=lambda row: (-row[2], row[1], row[0]))
        assert rows_of(tmp_path / form, outcome) == {"3": in_order, "12": in_order}
        again = ingest(tmp_path / form, files)
        assert (len(again.unchanged), again.converted) == (2, ())


def typed(text: str, kind: str) -> object:
    """Convert a text of the CSV export to the declared type."""
    if kind == "VARCHAR" or not text:
        return text or None
    if kind == "BIGINT":
        return int(text)
    return {"true": True, "false": False}[text] if kind == "BOOLEAN" else float(text)


@pytest.mark.parametrize("packing", ["tree", "zip"])
def test_real_rows_equal_their_csv_export(packing: str, tmp_path: Path, real_asi_rows: Path) -> None:
    with real_asi_rows.open(newline="", encoding="utf-8") as file:
        printed = list(csv.DictReader(file))
    assert len(printed) == 30
    [declared] = [table for table in all_traces()["asi"].tables if table.name == "pod_hourly"]
    types = {column.name: column.type for column in declared.columns}
    expected = [{name: typed(row[name], kind) for name, kind in types.items()} for row in printed]
    # The publisher's files contain integers in columns that its schema declares as double.
    whole = {"server_gpu_count", "server_cpu_capacity_cores", "gpu_mem_request"}
    arrow = {"VARCHAR": pa.string(), "BOOLEAN": pa.bool_(), "DOUBLE": pa.float64(), "BIGINT": pa.int64()}
    schema = pa.schema((name, pa.int64() if name in whole else arrow[kind]) for name, kind in types.items())
    path = "asi_opensource_pod_hourly/day=0/hour=23/part-000.parquet"
    hours = {path: parquet(pa.Table.from_pylist(expected, schema))}
    packed = hours if packing == "tree" else {"asi_opensource_pod_hourly.zip": zipped(hours)}
    outcome = ingest(tmp_path, packed)
    assert outcome.problems == ()
    [conversion] = outcome.conversions
    assert (conversion.trace, conversion.table) == ("asi", "pod_hourly")
    [file] = conversion.files
    found = pq.read_table(tmp_path / "warehouse" / file.path).to_pylist()
    in_order = sorted(expected, key=lambda row: (-float(str(row["gpu_request"])), str(row["pod_id"])))
    assert found == [{"day": 0, "hour": 23} | row for row in in_order]


def test_reads_zip64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    packed = zipped(tree(3))
    monkeypatch.undo()
    assert b"PK\x06\x06" in packed
    assert list(rows_of(tmp_path, ingest(tmp_path, {"probe_pod.zip": packed}))) == ["3"]


def test_one_more_day_adds_a_day_and_a_changed_day_replaces_it(tmp_path: Path) -> None:
    ingest(tmp_path, tree(3))
    more = ingest(tmp_path, tree(4))
    assert [c.partition for c in more.converted] == ["day=4"]
    assert [c.partition for c in more.unchanged] == ["day=3"]
    changed = ingest(tmp_path, {path_of(3, 7): parquet(pods(7, (0, 4, 8)))})
    assert [c.partition for c in changed.converted] == ["day=3"]
    assert [row[2] for row in rows_of(tmp_path, changed)["3"]][:2] == [8, 4]


def test_forgets_a_day_by_its_name(tmp_path: Path) -> None:
    outcome = ingest(tmp_path, {"probe_pod.zip": zipped(tree(3, 13))})
    for name in ("day=3", "*/day=3", "probe_pod.zip/day=3"):
        [chosen] = pipeline.find_conversions(outcome.conversions, [name])
        assert chosen.partition == "day=3"


def test_refuses_a_day_that_another_raw_file_has(tmp_path: Path) -> None:
    outcome = ingest(tmp_path, tree(3) | {"x/day.zip": b"", "a/probe_pod.zip": zipped(tree(3))})
    (problem,) = outcome.problems
    assert "the same file or partition" in str(problem)
    assert list(rows_of(tmp_path, outcome)) == ["3"]


def test_a_killed_ingest_continues_with_its_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    before = incremental.convert

    def fail_at_second(task: Task, matched: MatchedFile, *rest: Any) -> tuple:
        read.append(matched.raw.partition)
        if len(read) == 2:
            raise KeyboardInterrupt
        return before(task, matched, *rest)

    monkeypatch.setattr("tracehouse.ingest.pipeline.TABLES_AT_ONCE", 1)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(incremental, "convert", fail_at_second)
        ingest(tmp_path, tree(3, 4, 5))
    outcome = ingest(tmp_path, {})
    assert len(outcome.unchanged) == 1
    assert {c.partition for c in outcome.converted} == {"day=3", "day=4", "day=5"} - {read[0]}


WHOLE = parquet(pods(7))
# The tests of the reader have more.
MISFITS = {
    "cut short": (WHOLE[:-20], "not Parquet, cut short or damaged"),
    "empty": (b"", "the file is empty"),
    "without a column": (parquet(pods(7).drop_columns(["gpus"])), "the file lacks gpus"),
    "another day": (
        parquet(pods(7).append_column("day", pa.array([3, 3, 4]))),
        "column day has 4, and the path of the file says 3",
    ),
}


def days(*values: object) -> bytes:
    """Return a merged file whose rows have these days."""
    rows = pods(7).append_column("day", pa.array(values)).append_column("hour", pa.array([7, 7, 7]))
    return parquet(rows)


def test_refuses_a_merged_file_with_invalid_days(tmp_path: Path) -> None:
    for number, (data, reason) in enumerate(
        [
            (days(3, None, 3), "column day (BIGINT): it is empty, so that the row has no partition"),
            (days(3.0, 3.5, 4.0), "column day (BIGINT): no exact conversion from double, so that"),
            (days("3", "3", "4"), "column day is string; expected BIGINT"),
            (parquet(pq.read_table(io.BytesIO(merged(3))).slice(0, 0)), "the file has no rows"),
            (days(3, -1, 3), "a row has no partition: day is -1, not a whole number"),
            (days(3, 185, 3), "a row has no partition: day is 185, not at least 0 and at most 184"),
        ]
    ):
        outcome = ingest(tmp_path / str(number), {"probe_pod_day0_29.parquet": data})
        assert reason in refusal(outcome)


def test_lists_files_of_a_zip_without_partition(tmp_path: Path) -> None:
    others = ("probe_pod/part-000.parquet", "probe_pod/day=3/part-000.parquet", "more.csv")
    no_data = {"probe_pod/README.md": b"", "__MACOSX/probe_pod/._part-000.parquet": b""}
    packed = zipped(tree(3) | {path: parquet(pods(7)) for path in others} | no_data)
    outcome = ingest(tmp_path, {"probe_pod.zip": packed})
    assert [row.rows for row in outcome.conversions] == [9]
    assert outcome.unrecognised == tuple(sorted(f"probe_pod.zip: {path}" for path in others))


WRONG_KEYS = {
    "day=-3/hour=07": "day is -3, not a whole number of at most 18 digits",
    "day=x/hour=07": "day is x, not a whole number",
    "day=/hour=07": "day is , not a whole number",
    "day=١٢/hour=07": "day is ١٢, not a whole number",
    f"day={'7' * 200}/hour=07": f"day is {'7' * 40}…, not a whole number of at most 18 digits",
    "day=185/hour=07": "day is 185, not at least 0 and at most 184",
}


@pytest.mark.parametrize("packing", ["tree", "zip"])
def test_refuses_an_invalid_day_and_reads_the_others(packing: str, tmp_path: Path) -> None:
    files = tree(3) | {f"{keys}/part-000.parquet": parquet(pods(7)) for keys in WRONG_KEYS}
    outcome = ingest(tmp_path, as_packed(packing, files))
    assert list(rows_of(tmp_path, outcome)) == ["3"]
    problems = [str(problem) for problem in outcome.problems]
    assert len(problems) == len(WRONG_KEYS)
    for keys, reason in WRONG_KEYS.items():
        assert any(f"{keys}/part-000.parquet: {reason}" in problem for problem in problems), keys


@pytest.mark.parametrize("hour", ["24", "999", "-1", "７", "7" * 200])
@pytest.mark.parametrize("packing", ["tree", "zip"])
def test_an_invalid_hour_refuses_its_day(packing: str, hour: str, tmp_path: Path) -> None:
    files = tree(3, 4) | {f"probe_pod/day=3/hour={hour}/part-000.parquet": parquet(pods(7))}
    outcome = ingest(tmp_path, as_packed(packing, files))
    [problem] = outcome.problems
    assert f"day=3/hour={hour}/part-000.parquet: hour is " in str(problem)
    assert list(rows_of(tmp_path, outcome)) == ["4"]


# Paths that name the same hour.
COPIES = {
    "an hour with and without 0": ("x/day=3/hour=07/part-000.parquet", "x/day=3/hour=7/part-000.parquet"),
    "a day with and without 0": ("x/day=3/hour=07/part-000.parquet", "x/day=03/hour=07/part-000.parquet"),
    "an hour in another case": ("x/day=3/hour=07/part-000.parquet", "x/DAY=3/hour=07/part-000.parquet"),
}
COPIES_IN_ZIP = {
    "a path with two slashes": ("x/day=3/hour=07/part-000.parquet", "x//day=3/hour=07/part-000.parquet"),
    "a path with a dot": ("x/day=3/hour=07/part-000.parquet", "./x/day=3/hour=07/part-000.parquet"),
}
CASES = [
    *itertools.product(["tree", "zip"], COPIES.values()),
    *(("zip", copy) for copy in COPIES_IN_ZIP.values()),
]


@pytest.mark.parametrize(("packing", "paths"), CASES)
def test_refuses_an_hour_twice(packing: str, paths: tuple[str, str], tmp_path: Path) -> None:
    for number, second in enumerate((pods(7), pods(7, (1, 1, 1)))):
        files = {path: parquet(rows) for path, rows in zip(paths, (pods(7), second), strict=True)}
        outcome = ingest(tmp_path / str(number), as_packed(packing, files))
        assert "has the same name and partition as" in refusal(outcome)


@pytest.mark.parametrize("packing", ["tree", "zip"])
def test_refuses_equal_parts_of_an_hour_unless_they_have_no_rows(packing: str, tmp_path: Path) -> None:
    def files(*parts: pa.Table) -> dict[str, bytes]:
        named = {f"x/day=3/hour=07/part-{n}.parquet": parquet(part) for n, part in enumerate(parts)}
        return as_packed(packing, named | {"x/day=3/hour=08/part-0.parquet": parquet(parts[0])})

    # Two hours may have equal rows.
    none = pods(7).slice(0, 0)
    outcome = ingest(tmp_path / "different", files(pods(7), pods(7, (1, 1, 1)), none, none))
    assert (outcome.problems, [c.rows for c in outcome.conversions]) == ((), [9])
    problem = refusal(ingest(tmp_path / "equal", files(pods(7), pods(7))))
    assert "part-1.parquet: it has the same content as" in problem
    assert "hour=07/part-0.parquet: its rows may count twice" in problem


def test_refuses_a_copy_of_a_file_under_another_name(tmp_path: Path) -> None:
    table = all_traces()["asi"].table("job_execution_summary")
    spans = parquet(pa.table({column.name: pa.nulls(3, arrow_type(column)) for column in table.columns}))
    names = [f"asi_opensource_job_execution_summary{suffix}.parquet" for suffix in (" (1)", "")]
    outcome = ingest(tmp_path, dict.fromkeys(names, spans))
    [problem] = outcome.problems
    expected = f"{names[1]}: asi.job_execution_summary already has the same content from {names[0]}"
    assert expected in str(problem)
    assert [conversion.rows for conversion in outcome.conversions] == [3]
    # The other one is refused in a later ingest, too.
    (tmp_path / "raw" / names[0]).unlink()
    assert "the same content" in str(ingest(tmp_path, {}).problems[0])


@pytest.mark.parametrize("packing", ["tree", "zip"])
def test_reads_an_hour_with_its_extension_in_upper_case(packing: str, tmp_path: Path) -> None:
    upper = {path.replace(".parquet", ".PARQUET"): data for path, data in tree(3).items()}
    assert len(rows_of(tmp_path, ingest(tmp_path, as_packed(packing, upper)))["3"]) == len(EXPECTED)


def test_says_that_a_compressed_hour_is_not_read(tmp_path: Path) -> None:
    packed = zipped(tree(3) | {f"{path_of(3, 8)}.gz": gzip.compress(parquet(pods(8)))})
    problem = refusal(ingest(tmp_path, {"probe_pod.zip": packed}))
    assert "hour=08/part-000.parquet.gz: it is compressed, and files of partitions are not" in problem


@pytest.mark.parametrize("packing", ["tree", "zip"])
def test_notes_an_hour_without_rows(packing: str, tmp_path: Path) -> None:
    files = tree(3) | {path_of(3, 8): parquet(pods(8).slice(0, 0))}
    outcome = ingest(tmp_path, as_packed(packing, files))
    [note] = outcome.notes
    assert note.endswith("day=3/hour=08/part-000.parquet has no rows")
    assert len(rows_of(tmp_path, outcome)["3"]) == 9


@pytest.mark.parametrize("packing", ["tree", "zip"])
def test_an_unreadable_hour_is_named_and_refuses_its_day(packing: str, tmp_path: Path) -> None:
    for misfit, (data, reason) in MISFITS.items():
        folder = tmp_path / misfit
        files = tree(3, 4) | {path_of(3, 7): data}
        outcome = ingest(folder, as_packed(packing, files))
        [problem] = outcome.problems
        assert reason in str(problem)
        assert "day=3/hour=07/part-000.parquet" in str(problem)
        assert list(rows_of(folder, outcome)) == ["4"]
        assert len(ingest(folder, {}).problems) == 1
        repaired = ingest(folder, tree(3) if packing == "tree" else {"probe_pod.zip": zipped(tree(3, 4))})
        assert repaired.problems == ()
        assert len(rows_of(folder, repaired)["3"]) == len(EXPECTED)


def test_a_damaged_member_of_a_zip_is_named(tmp_path: Path) -> None:
    packed = bytearray(zipped(tree(3), zipfile.ZIP_STORED))
    at = packed.index(parquet(pods(7)))
    packed[at + 30] ^= 1
    problem = refusal(ingest(tmp_path, {"probe_pod.zip": bytes(packed)}))
    assert "hour=07/part-000.parquet" in problem
    assert "CRC" in problem


def test_rejected_rows_have_file_row_group_and_row(tmp_path: Path) -> None:
    servers = pa.table({"server": [f"s{n}" for n in range(40)], "cores": [float(n) for n in range(40)]})
    wrong = servers.set_column(1, "cores", pa.array([1.5 if n == 25 else n for n in range(40)]))
    files = {f"any/day=1/hour={hour}/part-0.parquet": parquet(servers) for hour in (1, 2)}
    files["any/day=1/hour=2/part-0.parquet"] = parquet(wrong, row_group_size=20)
    outcome = ingest(tmp_path, files)
    assert outcome.problems == ()
    [conversion] = outcome.conversions
    assert (conversion.rows, conversion.sources[0].rows_rejected) == (79, 1)
    [file] = conversion.rejected
    [row] = pq.read_table(tmp_path / "warehouse" / file.path).to_pylist()
    assert row == {
        "table_name": "probe.server",
        "file": "any/day=1",
        "member": "day=1/hour=2/part-0.parquet",
        "line": 26,
        "reason": "row group 1: column cores (BIGINT): no exact conversion from double",
        "raw_text": '{"server": "s25", "cores": 1.5}',
    }


def test_remembers_unchanged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not read a file again if its size, time and inode are unchanged."""
    monkeypatch.setattr("tracehouse.ingest.dump.open._SETTLED_S", -1)
    ingest(tmp_path, tree(3))

    def refuse(*_: object) -> str:
        raise AssertionError("read again")

    with monkeypatch.context() as patched:
        patched.setattr("tracehouse.ingest.dump.open.sha256_of", refuse)
        assert len(ingest(tmp_path, {}).unchanged) == 1
        with pytest.raises(AssertionError, match="read again"):
            ingest(tmp_path, {path_of(3, 7): parquet(pods(7, (7, 7, 7)))})


def test_selects_days(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", tree(3, 4, 5, 10)), tmp_path / "warehouse"

    def days(*only: str, replacing: bool = False) -> list[str]:
        outcome = pipeline.convert([raw], warehouse, ["probe"], quiet, replacing, only=only)
        records.publish(warehouse, outcome.conversions)
        assert outcome.problems == ()
        return sorted(c.partition for c in outcome.conversions)

    assert days("day=4..5") == ["day=4", "day=5"]
    assert days("day=3", "day=10") == ["day=10", "day=3", "day=4", "day=5"]
    assert len(days("day=10", replacing=True)) == 4
    for wrong, reason in {
        "day=6..9": "no raw file has a partition",
        "hour=3": "no table of these traces is partitioned by hour",
        "day=5..4": "must be KEY=VALUE",
        "day=x..y": "takes a number or FIRST..LAST, not x..y",
        "day": "must be KEY=VALUE",
    }.items():
        with pytest.raises(UserError, match=reason):
            days(wrong)
