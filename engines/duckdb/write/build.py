"""Build a database file: a copy of the template, which has all definitions and no data, filled with data."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from tracehouse.definitions.across_traces import SCHEMA as EACH_TRACE
from tracehouse.definitions.versions import explain_left_out
from tracehouse.definitions.view_files import DRAFT
from tracehouse.engines.duckdb.write import catalog, user_definitions, views
from tracehouse.engines.duckdb.write.base_tables import create_base_tables, create_rejected_rows
from tracehouse.engines.duckdb.write.template import open_for_writing, template
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.store.snapshot import MaterializedView, Snapshot


@dataclass(frozen=True)
class BuildReport:
    """The views and queries that failed, Tracehouse's before the user's, and notes on what is left out."""

    problems: Sequence[user_definitions.Problem] = ()
    notes: Sequence[str] = ()

    @property
    def all_notes(self) -> list[str]:
        """The notes, and the problems as notes."""
        return [*(f"{problem.error}. It was not created" for problem in self.problems), *self.notes]


def build_file(path: Path, snapshot: Snapshot, embed_tables: bool) -> BuildReport:
    """Write a new database over a snapshot at `path`. Its complete views read their files.

    With `embed_tables` the database contains copies of the base tables. Raises DefinitionError if a
    declaration or a figure is invalid.
    """
    shutil.copyfile(template(), path)
    traces = list(all_traces().values())
    with_data = {(conversion.trace, conversion.table) for conversion in snapshot.conversions}
    replaced = [
        replace(
            trace, tables=tuple(t for t in trace.tables if embed_tables or (trace.name, t.name) in with_data)
        )
        for trace in traces
    ]
    with open_for_writing(path) as connection:
        # The template lists what Tracehouse leaves out. Opening it as well would take as long as the data.
        skipped = connection.execute("from catalog.not_built").fetchall()
        connection.begin()
        catalog.fill_sources(connection, traces, snapshot.conversions)
        create_base_tables(connection, replaced, snapshot, embed_tables)
        create_rejected_rows(connection, snapshot, embed_tables)
        _read_from_files(connection, snapshot.views, snapshot.warehouse)
        connection.commit()
        drafts = _note_drafts(connection)
        failed, _ = user_definitions.create(connection, snapshot.warehouse / user_definitions.FOLDER)
    return BuildReport([*(user_definitions.Problem(*one) for one in skipped), *failed], drafts)


def point_views_at_files(path: Path, snapshot: Snapshot, names: Iterable[str]) -> None:
    """Let views of an existing database, by versioned name, read their files in a snapshot."""
    with open_for_writing(path) as connection:
        connection.begin()
        _read_from_files(connection, {name: snapshot.views[name] for name in names}, snapshot.warehouse)
        connection.commit()


def _read_from_files(
    connection: duckdb.DuckDBPyConnection, materialized: Mapping[str, MaterializedView], warehouse: Path
) -> None:
    """Let views, by versioned name, read their files, and record it in the catalog."""
    views.read_views_from_files(
        connection, {name: view.files for name, view in materialized.items()}, warehouse
    )
    for name, view in materialized.items():
        catalog.record_materialized(connection, name, view)


def _note_drafts(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return a note on each draft that a view of all traces leaves out. Reads no file of a view."""
    sql = """
        select drafts.versioned_name, uniting.view_name
        from catalog.views as drafts
        inner join catalog.views as uniting
            on uniting.is_current
            and regexp_matches(
                uniting.sql, format('{}[.]{}\\b', $each_trace, split_part(drafts.versioned_name, '.', 2))
            )
        where drafts.status = $draft
        order by all
        """
    rows = connection.execute(sql, {"each_trace": EACH_TRACE, "draft": DRAFT}).fetchall()
    return [explain_left_out(*row) for row in rows]
