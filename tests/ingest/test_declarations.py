import re
from dataclasses import replace

from counting import non_empty

from tracehouse.ingest.column_types import TYPES
from tracehouse.ingest.declarations import Column, Table, all_traces

TRACES = list(all_traces().values())
TABLES = [table for trace in TRACES for table in trace.tables]


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
