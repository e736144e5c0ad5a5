"""The database file: built aside from views and named queries, and renamed over the old one.

A reader sees the old version whole or the new one whole. It takes its place after the store's manifest has: a
kill between the two leaves the version before, whose files the manifest has superseded and the store keeps.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from tracehouse.ingest import integrity, pipeline, store
from tracehouse.ingest.errors import UserError
from tracehouse.ingest.manifest import Conversion, Superseded
from tracehouse.ingest.pipeline import Outcome, Progress
from tracehouse.ingest.place import checked
from tracehouse.sql.files import QueryFile, query_files
from tracehouse.views import ledgers
from tracehouse.views.base_tables import quoted
from tracehouse.views.build import create_views
from tracehouse.views.catalog import (
    column_types,
    fill_metrics,
    fill_published,
    insert,
    name_in_caveats,
)
from tracehouse.views.files import DefinitionError

NAME = "traces.duckdb"

# The oldest storage format that holds typed macro parameters, which every DuckDB since 1.4.0 opens.
STORAGE_VERSION = "v1.4.0"


def ingest(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
) -> Outcome:
    """Convert raw files, build the database over them, and publish both.

    With `replacing`, tables that raw files are found for consist of these alone afterwards. A database that
    holds its tables itself (see `build`) goes on doing so.
    """
    with store.lock(warehouse):
        store.clean(warehouse)
        outcome = pipeline.ingest(raw_folders, warehouse, trace_names, progress, replacing)
        if outcome.conversions:
            progress("database", 0, 0)
            notes = _publish(warehouse, outcome.conversions)
            outcome = replace(outcome, notes=(*outcome.notes, *notes))
        store.drop_half_written(warehouse)
    return outcome


def forget(warehouse: Path, names: Sequence[str]) -> list[str]:
    """Take raw files out of the warehouse, and tell what has left.

    A name is that of `catalog.sources.file`, the file's alone, or a pattern of either (`acme/*`). Raises
    UsageError where a name fits nothing.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.clean(warehouse)
        published = store.published(warehouse)
        leaving = pipeline.of_sources(published, names)
        for conversion in leaving:
            store.drop_unpublished(warehouse, conversion.key)
        notes = _publish(warehouse, [c for c in published if c not in leaving])
        store.drop_half_written(warehouse)
    return [*map(pipeline.said_of_leaving, leaving), *notes]


def build(warehouse: Path, materialize: bool = False) -> Path:
    """Build the database anew over what is published, and return its path.

    With `materialize` the base tables are copied into it: one file, which reads no other. Raises UserError
    where there is no such folder.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.check_manifest_is_there(warehouse)
        _take_its_place(_built_aside(warehouse, store.published(warehouse), materialize), warehouse)
        store.drop_half_written(warehouse)
    return warehouse / NAME


def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> list[Superseded]:
    """Remove superseded files that are as old, and older than the last so many versions; tell which.

    The database is built first: one that a kill left behind the manifest would lose what it reads.
    """
    _check_is_there(warehouse)
    with store.lock(warehouse):
        store.clean(warehouse)
        _publish(warehouse, store.published(warehouse))
        return store.vacuum(warehouse, older_than_days, keep_versions)


def recover(warehouse: Path, progress: Progress) -> list[str]:
    """Make a lost or damaged manifest anew, and tell what could not be taken up. Call `build` after it."""
    _check_is_there(warehouse)
    with store.lock(warehouse):
        return integrity.recover(warehouse, progress)


def _check_is_there(warehouse: Path) -> None:
    if not checked(warehouse).is_dir():
        raise UserError(
            f"{warehouse}: there is no such folder. Name the warehouse, or make one with `traces ingest`"
        )


def _publish(warehouse: Path, conversions: Sequence[Conversion]) -> list[str]:
    """Build a database of the same kind as the one before, and publish it with what it is over."""
    notes = []
    try:
        materialize = _is_materialized(warehouse / NAME)
    except duckdb.Error as error:
        materialize = False
        notes.append(_not_opened(warehouse, error))
    half = _built_aside(warehouse, conversions, materialize)
    # The manifest first: what it supersedes stays for whoever reads the database before.
    store.publish(warehouse, conversions)
    _take_its_place(half, warehouse)
    return notes


def _is_materialized(path: Path) -> bool:
    """Whether a database is there that has tables where others have views over Parquet."""
    if not path.exists():
        return False
    with duckdb.connect() as connection:
        connection.execute(f"attach {quoted(str(path.absolute()))} as before (read_only)")
        found = connection.execute(
            """
            select count(*) from duckdb_tables()
            where database_name = 'before' and schema_name = 'catalog' and table_name = 'rejected_rows'
            """
        ).fetchall()
    return found == [(1,)]


def _not_opened(warehouse: Path, error: duckdb.Error) -> str:
    reason = str(error).splitlines()[0]
    return (
        f"{warehouse / NAME}: the database before could not be opened ({reason}), so that the new one is "
        "over the Parquet files. If it held its tables itself, run `traces build --materialize`"
    )


def _built_aside(warehouse: Path, conversions: Sequence[Conversion], materialize: bool) -> Path:
    """A new database over some conversions, whole, and not in its place yet."""
    integrity.check_sizes(warehouse, conversions)
    place = checked(warehouse)
    half = store.half_written(place) / NAME
    half.unlink(missing_ok=True)
    with store.room_to_write(warehouse, NAME), duckdb.connect() as connection:
        connection.execute(f"attach {quoted(str(half))} as building (storage_version '{STORAGE_VERSION}')")
        connection.execute("use building")
        # By itself, each of a thousand statements would wait for the disk.
        connection.begin()
        create_views(connection, conversions, place, materialize)
        _create_queries(connection)
        fill_published(connection, ledgers.published())
        fill_metrics(connection, ledgers.metrics())
        connection.commit()
        connection.execute("use memory")
        connection.execute("detach building")
    return half


def _take_its_place(half: Path, warehouse: Path) -> None:
    # The log of a client that wrote into the old database does not fit the new one, and would lock it.
    (warehouse / f"{NAME}.wal").unlink(missing_ok=True)
    half.replace(warehouse / NAME)


def _create_queries(connection: duckdb.DuckDBPyConnection) -> None:
    queries = query_files()
    columns = column_types(connection)
    for query in queries:
        _check_parameter_names(query, columns)
        _check_values(query, columns)
        connection.execute(f'create schema if not exists "{query.schema}"')
        try:
            connection.execute(query.stored_sql)
        except duckdb.Error as error:
            raise DefinitionError(f"{query.path}: {error}") from error
    of_views = _caveats_of_views(connection)
    held = {query.full_name: _caveats(query, of_views) for query in queries}
    _enter(connection, queries, held)
    name_in_caveats(connection, held)


def _check_parameter_names(query: QueryFile, columns: Mapping[str, Collection[str]]) -> None:
    """A parameter that is called like a column would silently stand in the column's place."""
    for name in sorted(query.references):
        for parameter in query.parameters:
            if parameter.name in columns.get(name, ()):
                clash = f"{name}.{parameter.name}"
                raise DefinitionError(f"{query.path}: a parameter has the name of the column {clash}")


def _check_values(query: QueryFile, columns: Mapping[str, Collection[str]]) -> None:
    """A parameter can have the values of a column only where there is one."""
    for parameter in query.parameters:
        table, _, column = parameter.values_of.rpartition(".")
        if table and column not in columns.get(table, ()):
            raise DefinitionError(f"{query.path}: {parameter.name} has the values of no column")


def _caveats(query: QueryFile, held: Mapping[str, Sequence[str]]) -> list[str]:
    """A query's own caveats, and those of the views it reads unless it says that they do not touch it."""
    below = {caveat for name in query.references for caveat in held.get(name, ())}
    unaffected = set(query.header.all("unaffected"))
    if unaffected - below:
        raise DefinitionError(f"{query.path}: no view that it reads has {min(unaffected - below)}")
    return sorted({*query.header.all("caveat"), *(below - unaffected)})


def _caveats_of_views(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """The caveats that each view holds, by its versioned name, and by its plain one for the newest."""
    rows = connection.execute(
        "select view_name, versioned_name, caveats from catalog.views order by version"
    ).fetchall()
    return {name: caveats for alias, versioned, caveats in rows for name in (alias, versioned)}


def _enter(
    connection: duckdb.DuckDBPyConnection, queries: Sequence[QueryFile], held: Mapping[str, Sequence[str]]
) -> None:
    """Write the queries into the catalog."""
    comments = dict(
        connection.execute(
            """
            select schema_name || '.' || function_name, any_value(comment) from duckdb_functions()
            where database_name = current_database() and not internal
            group by all
            """
        ).fetchall()
    )
    rows = [
        (
            query.full_name,
            query.schema,
            query.header.title,
            comments[query.full_name],
            query.header.one("chart"),
            sorted(query.references),
            list(held[query.full_name]),
            query.sha256,
            query.text,
        )
        for query in queries
    ]
    insert(connection, "queries", rows)
    parameter_rows = [
        (
            query.full_name,
            position,
            parameter.name,
            parameter.type,
            parameter.default,
            parameter.meaning,
            list(parameter.choices),
            parameter.range.at_least if parameter.range else None,
            parameter.range.at_most if parameter.range else None,
            parameter.values_of or None,
        )
        for query in queries
        for position, parameter in enumerate(query.parameters, 1)
    ]
    insert(connection, "query_parameters", parameter_rows)
