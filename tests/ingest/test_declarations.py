import hashlib
import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from counting import non_empty

from tracehouse.ingest.column_types import TYPES
from tracehouse.ingest.declarations import Column, Table, Trace, all_traces
from tracehouse.ingest.readers import all_readers

TRACES = list(all_traces().values())
TABLES = [table for trace in TRACES for table in trace.tables]

REAL_FILES = Path(os.environ.get("TRACES_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_real_files = pytest.mark.skipif(
    not REAL_FILES.is_dir(), reason=f"the publishers' raw files are not at {REAL_FILES}"
)


def test_finds_all_traces() -> None:
    assert {"acme", "itp", "openb", "pai", "zeus"} <= set(all_traces())


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_trace_names_its_source(trace: Trace) -> None:
    assert trace.tables
    assert all([trace.title, trace.publisher, trace.download, trace.licence, trace.citation])
    assert trace.homepage.startswith("https://")
    assert re.fullmatch("[a-z][a-z0-9_]*", trace.name)


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_table_names_are_unique(trace: Trace) -> None:
    names = [table.name for table in trace.tables]
    assert len(set(names)) == len(names)


def test_table_has_description() -> None:
    for table in non_empty(TABLES):
        assert all([table.comment, table.grain, table.source, table.columns, table.order_by])


def test_keys_are_the_named_groups_of_the_file_names() -> None:
    for table in non_empty(TABLES):
        groups = [*re.compile(table.file_name).groupindex, *re.compile(table.folder).groupindex]
        assert sorted(key.name for key in table.keys) == sorted(groups)


def test_wide_table_declares_columns_of_its_cells() -> None:
    for table in non_empty(TABLES):
        if table.wide:
            of_the_name = re.compile(table.wide.variable_pattern).groupindex
            made = {*of_the_name, table.wide.variable, table.wide.index, table.wide.value}
            assert {column.name for column in table.columns} == made


def test_column_names_are_unique() -> None:
    for table in non_empty(TABLES):
        for columns in (table.stored_columns, table.columns):
            names = [column.name for column in columns]
            assert len(set(names)) == len(names)
        headers = [column.name_in_file for column in table.columns]
        assert len(set(headers)) == len(headers)


def test_table_refers_only_to_its_columns() -> None:
    for table in non_empty(TABLES):
        ordered = {name.removeprefix("-") for name in table.order_by}
        assert ordered <= {column.name for column in table.stored_columns}
        assert set(table.partition_by) <= {key.name for key in table.keys}
        assert table.optional < {column.name for column in table.columns}


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


def test_every_column_has_description() -> None:
    for table in non_empty(TABLES):
        for column in non_empty(table.stored_columns):
            assert column.comment, column.name
            assert not column.comment.endswith("."), column.name
            assert column.provenance in {"measured", "derived", "synthetic"}, column.name
            assert column.type in TYPES, column.name


def test_published_checksums_belong_to_one_file_of_their_table() -> None:
    tables = [table for trace in TRACES for table in trace.tables]
    sums = [(table, *declared) for table in tables for declared in table.published_sha256.items()]
    for table, name, sha256 in non_empty(sums):
        stem = name.removesuffix(".tar.gz").removesuffix(".header").removesuffix(".csv")
        assert table.key_values(f"{stem}.csv") is not None, name
        assert re.fullmatch("[0-9a-f]{64}", sha256), name
    assert len({sha256 for _, _, sha256 in sums}) == len(sums)


def has_declared_columns(table: Table, names: list[str]) -> bool:
    """Return whether the header of a CSV has the columns of the table. Optional columns may be missing."""
    if table.wide:
        others = [name for name in names[1:] if re.fullmatch(table.wide.variable_pattern, name)]
        return names[0] == table.wide.index_header and others != []
    present = [column for column in table.columns if column.name_in_file in names]
    missing = {column.name for column in table.columns} - {column.name for column in present}
    return names == [column.name_in_file for column in present] and missing <= table.optional


@needs_real_files
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_declared_columns_match_real_files(trace: Trace) -> None:
    if not (REAL_FILES / trace.name).is_dir():
        pytest.skip(f"{REAL_FILES} has no files of {trace.name}")
    for table, file, names in non_empty(headers(trace, REAL_FILES)):
        assert has_declared_columns(table, names), file


def test_declared_columns_match_samples(sample_raw: Path, tested_traces: list[str]) -> None:
    found = [found for trace in TRACES if trace.name in tested_traces for found in headers(trace, sample_raw)]
    for table, file, names in non_empty(found):
        assert has_declared_columns(table, names), file
        assert not has_declared_columns(table, [*reversed(names)] if len(names) > 1 else []), file


@needs_real_files
def test_real_header_files_have_the_published_checksums() -> None:
    checked = 0
    for trace in TRACES:
        for table in trace.tables:
            for name, sha256 in table.published_sha256.items():
                for path in (REAL_FILES / trace.name).rglob(name):
                    if path.suffix == ".header":
                        assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256, name
                        checked += 1
    assert checked == 7


def headers(trace: Trace, raw: Path) -> Iterator[tuple[Table, str, list[str]]]:
    """Yield the table, the name and the column names of each CSV or Parquet file of the trace."""
    tables = [table for table in trace.tables if not table.json_list]
    for path in sorted((raw / trace.name).rglob("*")):
        for table in tables:
            if table.archive_stem and re.fullmatch(rf"{table.archive_stem}\.tar\.gz", path.name):
                if table.has_header:
                    yield from archived_headers(table, path)
            elif path.suffix == ".parquet":
                if table.archive_stem in path.parts:
                    yield table, path.name, pq.read_schema(path).names
            elif path.suffix == ".header" and table.key_values(f"{path.stem}.csv") is not None:
                yield table, path.name, names_in(table, path.read_bytes())
            elif table.has_header and table.key_values(path.name, path.parent.name) is not None:
                with path.open("rb") as file:
                    yield table, path.name, names_in(table, file.readline())


def names_in(table: Table, header: bytes) -> list[str]:
    line = header.decode().rstrip("\r\n")
    return (line.removesuffix(",") if table.ends_in_comma else line).split(",")


def archived_headers(table: Table, path: Path) -> Iterator[tuple[Table, str, list[str]]]:
    with tarfile.open(path) as archive:
        for member in archive:
            name = Path(member.name)
            if table.key_values(name.name, name.parent.name) is not None:
                content = archive.extractfile(member)
                assert content is not None
                yield table, f"{path.name}/{member.name}", names_in(table, content.readline())


def test_exactly_one_reader_accepts_each_file_of_a_table() -> None:
    for table in non_empty(TABLES):
        for name in ("x", "x.csv", "x.jsonl"):
            assert len([reader for reader in all_readers() if reader.reads(table, name)]) == 1
