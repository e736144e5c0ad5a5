"""Tables that the publisher splits by file are folders `<key>=<value>` that other programs can read."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest
from non_empty import non_empty

from tracehouse.engines.duckdb.write import base_tables, database
from tracehouse.ingest.declare.trace import Table, all_traces
from tracehouse.ingest.store import records
from tracehouse.ingest.store.snapshot import Snapshot


def tables() -> Iterator[tuple[str, Table]]:
    for trace in all_traces().values():
        for table in trace.tables:
            yield f"{trace.name}.{table.name}", table


SPLIT = [name for name, table in tables() if table.partition_by]


@pytest.fixture(scope="module")
def connection(fixture_warehouse: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(fixture_warehouse / database.DATABASE), read_only=True)


def test_duckdb_and_polars_read_the_folders_like_the_table(
    fixture_warehouse: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    for name, table in non_empty(tables()):
        if name not in SPLIT:
            continue
        folder = fixture_warehouse / "parquet" / name.replace(".", "/")
        for path in folder.rglob("*.parquet"):
            keys = [part.partition("=")[0] for part in path.relative_to(folder).parts[:-1]]
            assert tuple(keys) == table.partition_by, path
            schema = pl.read_parquet_schema(path)
            assert set(schema) == {column.name for column in table.stored_columns}, path
        names = ", ".join(table.partition_by)
        statement = f"select {names}, count(*) from {{}} group by all order by all"
        expected = connection.execute(statement.format(name)).fetchall()
        assert len(expected) > 1, name
        files = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
        assert connection.execute(statement.format(files)).fetchall() == expected, name
        found = pl.scan_parquet(folder, hive_partitioning=True).group_by(table.partition_by).len()
        assert sorted(found.collect().rows()) == expected, name


def test_query_of_one_key_opens_only_its_files(
    fixture_warehouse: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    for name in non_empty(SPLIT):
        for folder in sorted((fixture_warehouse / "parquet" / name.replace(".", "/")).glob("*=*")):
            key, _, value = folder.name.partition("=")
            plan = connection.execute(
                f"explain analyze select max(columns(*)::varchar) from {name} where {key} = '{value}'"
            ).fetchall()
            read = [int(count) for count in re.findall(r"Total Files Read: (\d+)", str(plan))]
            assert sum(read) == len([*folder.rglob("*.parquet")]), (name, value)


def test_one_select_reads_the_same_rows_as_one_for_each_partition(
    fixture_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversions = records.read_conversions(fixture_warehouse)
    for name in SPLIT:
        monkeypatch.undo()
        trace, table = (all_traces()[name.split(".")[0]], dict(tables())[name])
        found = []
        for most in (base_tables.MOST_SELECTS, 0):
            monkeypatch.setattr(base_tables, "MOST_SELECTS", most)
            with duckdb.connect() as connection:
                connection.execute(f"create schema {trace.name}")
                create = base_tables.create_base_table
                create(connection, trace, table, Snapshot(fixture_warehouse, conversions), embed_tables=False)
                [(sql,)] = connection.execute("select sql from duckdb_views() where not internal").fetchall()
                rows = connection.execute(f"from {name} order by all").fetchall()
                found.append((connection.table(name).description, rows))
            partitions = {file.partition for c in conversions if c.table_name == name for file in c.files}
            assert sql.count("read_parquet") == (len(partitions) if most else min(1, len(partitions)))
        assert found[0] == found[1], name
