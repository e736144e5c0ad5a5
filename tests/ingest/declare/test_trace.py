import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from non_empty import non_empty

from tracehouse.ingest.declare.trace import Column, Table, all_traces
from tracehouse.ingest.dump.find import find
from tracehouse.ingest.dump.identify import identify

TRACES = list(all_traces().values())
TABLES = [table for trace in TRACES for table in trace.tables]


FINGERPRINTED = Table(
    name="t",
    comment="",
    grain="",
    source="",
    file_name=r"t\.csv",
    columns=(Column("a", "BIGINT", ""), Column("b", "DOUBLE", "")),
)


def test_fingerprint_depends_on_the_header_in_the_file() -> None:
    headers = [None, "", "A"]
    tables = [replace(FINGERPRINTED, columns=(Column("a", "BIGINT", "", header=h),)) for h in headers]
    assert len({table.fingerprint() for table in tables}) == len(headers)


def test_published_checksums_belong_to_one_file_of_their_table() -> None:
    tables = [table for trace in TRACES for table in trace.tables]
    sums = [(table, *declared) for table in tables for declared in table.published_sha256.items()]
    for table, name, sha256 in non_empty(sums):
        stem = name.removesuffix(".tar.gz").removesuffix(".header").removesuffix(".csv")
        assert table.key_values(name if name.endswith(".jsonl") else f"{stem}.csv") is not None, name
        assert re.fullmatch("[0-9a-f]{64}", sha256), name
    assert len({sha256 for _, _, sha256 in sums}) == len(sums)


def test_times_are_instants_or_counts_that_are_not_durations() -> None:
    assert Column("at", "TIMESTAMP", "").is_time and Column("at", "TIMESTAMPTZ", "").is_time
    assert Column("at", "BIGINT", "", unit="ms").is_time
    assert not Column("ran", "DOUBLE", "", unit="s", is_duration=True).is_time
    assert not Column("power", "DOUBLE", "", unit="W").is_time


def test_a_name_with_spaces_gets_underscores_in_the_table() -> None:
    for column in (
        Column("Session ID", "VARCHAR", "Session"),
        replace(Column("Session ID", "VARCHAR", "S"), unit="s"),
    ):
        assert (column.name, column.name_in_file) == ("Session_ID", "Session ID")
    assert Column("a b", "VARCHAR", "A", header="c").name == "a b"


def test_declarations_say_which_files_they_were_tried_on(real_raw: Path) -> None:
    folders = [real_raw.resolve().parent / name for name in ("data", "neighbours", "record")]
    if not all(folder.is_dir() for folder in folders):
        pytest.skip(f"the publishers' real files are not at {folders[-1]}")
    tried = {f"{of.name}.{t.name}" for of in TRACES for t in of.tables if t.tried_on != "format only"}
    identified = identify(find(folders, TRACES, TRACES), TRACES, TRACES, {})
    found = {f"{file.trace.name}.{file.table.name}" for file in identified.matched}
    # Thirty rows of this table were seen in another file.
    assert tried - {"asi.pod_hourly"} == found


def test_sizes_of_published_files_are_declared(real_raw: Path) -> None:
    measured = real_raw.resolve().parent / "record" / "sizes_and_checksums.csv"
    if not measured.is_file():
        pytest.skip(f"{measured} is missing")
    declared = {(of.name, Path(file.path).name): file.bytes for of in TRACES for file in of.files}
    with measured.open(encoding="utf-8", newline="") as opened:
        sizes = {
            (row["trace"], row["file"]): int(row["bytes"]) for row in csv.DictReader(opened) if row["bytes"]
        }
    known = sizes.keys() & declared.keys()
    assert len(known) > 30 and {key: declared[key] for key in known} == {key: sizes[key] for key in known}
