"""Collect the notes on an answer: caveats, synthetic, missing or rejected data, and its sources."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from tracehouse.definitions.released import SEVERAL_TRACES
from tracehouse.engines.duckdb.read.catalog import base_tables, texts_across_traces
from tracehouse.ingest.store.layout import failed_build_file

if TYPE_CHECKING:
    import pyarrow as pa

# The names of the notes on tables without data and on an answer without rows.
NO_DATA, NO_ROWS = "no data", "no rows"
# The name of the note on objects that a list omits.
NOT_LISTED = "not listed"
# The name of the note on the traces that an answer leaves out: see `membership`.
NOT_COUNTED = "not counted"
# The name of the note on rows that did not fit their tables.
REJECTED = "rejected rows"
# The severity of a caveat that makes a result wrong if it is ignored.
WRONG_RESULT = "wrong result"
# A summary has sentences on at most this many caveats, or on one of each trace.
MOST_SENTENCES = 3
# More caveats of several traces are counted by trace.
MOST_NAMES = 5


@dataclass(frozen=True)
class Note:
    """A note on an answer. `word` is its kind, such as caveat or note, or begins its line.

    Only caveats from the catalog have a severity and a summary of one sentence. The name of a note is for
    programs.
    """

    name: str
    text: str
    word: str = "caveat"
    severity: str = ""
    summary: str = ""

    @property
    def trace(self) -> str:
        """The trace of a caveat."""
        return self.name.partition(".")[0]

    @property
    def label(self) -> str:
        """The start of its line."""
        return self.word if self.word == "note" or self.name == NOT_COUNTED else f"{self.word} {self.name}"


def summarize(found: Sequence[Note], advice: str = "", width: int | None = None) -> list[str]:
    """Summarize notes in lines: one line with the names of all caveats, then sentences on those marked (!).

    A caveat marked (!) leads to a wrong result if it is ignored; these come first. Many caveats of several
    traces are counted by trace instead. If the line is longer than `width`, its end is omitted. `advice` is
    appended to this line. The traces take turns with their sentences. If the answer has no rows, other
    caveats have sentences too, because one of them may be the reason.
    """
    listed = sorted((note for note in found if note.severity), key=lambda note: note.severity != WRONG_RESULT)
    lines = [f"{note.label}: {note.text}" for note in found if not note.severity]
    if not listed:
        return lines
    serious = [note for note in listed if note.severity == WRONG_RESULT]
    names = [f"{note.name} (!)" if note in serious else note.name for note in listed]
    start = f"{len(listed)} caveat{'s' * (len(listed) > 1)}"
    by_trace = Counter(note.trace for note in listed)
    if len(listed) > MOST_NAMES and len(by_trace) > 1:
        names = [f"{trace} {count}" for trace, count in sorted(by_trace.items())]
        start += f", {len(serious)} (!)"
    line = f"{start}: {', '.join(names)}{advice}"
    while width and len(line) > width and len(names) > 1:
        names.pop()
        line = f"{start}: {', '.join(names)}, …{advice}"
    explained = listed if any(note.name == NO_ROWS for note in found) else serious
    groups: dict[str, list[Note]] = {}
    for note in explained:
        groups.setdefault(note.trace, []).append(note)
    sentences = [
        f"{'(!) ' if note in serious else ''}{f'{note.trace}: ' if len(groups) > 1 else ''}{note.summary}"
        for turn in zip_longest(*groups.values())
        for note in filter(None, turn)
    ]
    return [*lines, line, *sentences[: max(MOST_SENTENCES, len(groups))]]


class _TableBehind(NamedTuple):
    """A base table behind an answer: its trace, and facts on its rows and raw files."""

    name: str
    trace: str
    is_empty: bool
    files: int
    synthetic_files: int
    rows_read: int
    rows_rejected: int


def of_object(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    traces: Sequence[str] | None = None,
    on_data: bool = False,
) -> list[Note]:
    """Return notes on a table, view or query: its caveats, and notes on the data of its base tables.

    Caveats on the columns of a base table count as caveats on the table. `traces` limits the notes to these
    traces. `on_data` limits the caveats to traces from which rows are read: others do not affect the answer.
    """
    tables = _tables_behind(connection, [name], traces)
    caveats = _caveats_of(connection, name, traces, tables if on_data else None)
    return [*caveats, *_notes_on_data(_without_absent(connection, name, tables))]


def _without_absent(
    connection: duckdb.DuckDBPyConnection, name: str, tables: Collection[_TableBehind]
) -> list[_TableBehind]:
    """Return the tables behind an object; if it is over several traces, of those that are loaded.

    The others are among the traces that an answer does not count: see `membership`.
    """
    loaded = {table.trace for table in tables if not table.is_empty}
    is_across = bool(texts_across_traces(connection, [name]))
    return [table for table in tables if not is_across or table.trace in loaded]


def _notes_on_data(tables: Collection[_TableBehind]) -> list[Note]:
    """Return notes on base tables: which are synthetic, which are empty, and how many rows they lost."""
    found = []
    synthetic = [table for table in tables if table.synthetic_files]
    if synthetic:
        listed = [
            table.name
            if table.synthetic_files == table.files
            else f"{table.name}: {table.synthetic_files:,} of {table.files:,} files"
            for table in synthetic
        ]
        partly = "partly " if any(table.synthetic_files < table.files for table in synthetic) else ""
        text = f"These numbers come {partly}from synthetic data ({', '.join(listed)})"
        text += ", those in caveats from the published files."
        found.append(Note("synthetic data", text, "note"))
    with_rows = {table.trace for table in tables if not table.is_empty}
    empty = [table.name if table.trace in with_rows else table.trace for table in tables if table.is_empty]
    if empty:
        found.append(Note(NO_DATA, f"not in this warehouse: {', '.join(dict.fromkeys(empty))}", "note"))
    rejected = [
        f"{table.name}: {table.rows_rejected:,} of {table.rows_read:,} rows"
        for table in tables
        if table.rows_rejected
    ]
    if rejected:
        found.append(
            Note(REJECTED, f"rejected rows: {'; '.join(rejected)}; see catalog.rejected_rows", "note")
        )
    return found


def _tables_behind(
    connection: duckdb.DuckDBPyConnection, names: Collection[str], traces: Sequence[str] | None
) -> list[_TableBehind]:
    """Return the base tables of `traces` behind tables, views and queries, by name."""
    sql = """
        with read_files as (
            select
                table_name,
                count(*) as raw_files,
                count(*) filter (where synthetic) as synthetic_files,
                sum(rows_read) as rows_read,
                sum(rows_rejected) as rows_rejected
            from catalog.sources
            group by table_name
        )

        select
            table_name, trace, row_count = 0, coalesce(raw_files, 0), coalesce(synthetic_files, 0),
            cast(coalesce(rows_read, 0) as bigint), cast(coalesce(rows_rejected, 0) as bigint)
        from catalog.tables
        left join read_files using (table_name)
        where list_contains($read, table_name) and ($traces is null or list_contains($traces, trace))
        order by table_name
        """
    read = list(base_tables(connection, names))
    return [
        _TableBehind(*row) for row in connection.execute(sql, {"read": read, "traces": traces}).fetchall()
    ]


def _caveats_of(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    traces: Sequence[str] | None,
    tables: Collection[_TableBehind] | None,
) -> list[Note]:
    """Return the caveats of an object; if `tables` is given, not of traces whose tables there are empty."""
    # Caveats in the catalog list views by versioned name.
    sql = """
        with named as (
            select coalesce(
                (select versioned_name from catalog.views where view_name = $name and is_current), $name
            ) as name
        )

        select trace, caveat, what_goes_wrong || ' ' || what_to_do, 'caveat', severity, summary
        from catalog.caveats
        cross join named
        where
            len(list_filter(objects, lambda object: object = name or starts_with(object, name || '.'))) > 0
            and ($traces is null or list_contains($traces, trace))
            and (
                raw_files = ''
                or exists (from catalog.sources where regexp_full_match(sources.member, caveats.raw_files))
            )
        order by caveat
        """
    caveats = connection.execute(sql, {"name": name, "traces": traces}).fetchall()
    with_rows = {table.trace for table in tables or () if not table.is_empty}
    # A trace without a table has its rows in a view's SQL, as capacities that a README gives.
    without_rows = {table.trace for table in tables or ()} - with_rows
    return [Note(*caveat) for trace, *caveat in caveats if trace not in without_rows]


def of_statement(
    connection: duckdb.DuckDBPyConnection,
    reads: Collection[str],
    columns: Collection[str] | None = None,
    traces: Sequence[str] | None = None,
) -> list[Note]:
    """Return notes on a SQL statement, which reads the tables, views and queries in `reads`.

    Caveats on columns are included only for columns that the statement may read: `columns` are their
    lower-case names, None for all. `traces` are those that the statement selects from views and queries of
    several traces, None for all.
    """
    found: dict[str, Note] = {}
    behind: dict[str, _TableBehind] = {}
    for name in reads:
        about = _caveats_of_columns(connection, name)
        of_traces = traces if name.startswith(f"{SEVERAL_TRACES}.") else None
        tables = _tables_behind(connection, [name], of_traces)
        behind |= {table.name: table for table in _without_absent(connection, name, tables)}
        for note in _caveats_of(connection, name, of_traces, tables):
            concerned = about.get(note.name)
            if columns is None or concerned is None or not concerned.isdisjoint(columns):
                found[note.name] = note
    found |= {note.name: note for note in _notes_on_data([behind[name] for name in sorted(behind)])}
    return [found[name] for name in sorted(found)]


def of_last_build(connection: duckdb.DuckDBPyConnection) -> list[Note]:
    """Return a note if the last build failed, so that the database is from before it."""
    sql = "select path from duckdb_databases() where database_name = current_database()"
    [(path,)] = connection.execute(sql).fetchall()
    if not path:
        return []
    try:
        reason = failed_build_file(Path(path).parent).read_text(encoding="utf-8", errors="replace")
    except OSError:
        # There is no such file, or this user may only read the database.
        return []
    text = f"this answer is from the database before the last build, which failed: {reason}"
    return [Note("old database", text, "note")]


def sources(connection: duckdb.DuckDBPyConnection, names: Collection[str]) -> "pa.Table":
    """The raw files behind tables, views and queries, as rows of `catalog.sources`."""
    return connection.sql(
        "from catalog.sources where list_contains($tables, table_name) order by all",
        params={"tables": sorted(base_tables(connection, names))},
    ).to_arrow_table()


def _caveats_of_columns(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, set[str]]:
    """Return the caveats about columns of a view or table, each with their lower-case names."""
    sql = """
        select unnest(caveats), lower(column_name) from catalog.columns where object_name = $name
        union all
        select caveats.caveat, lower(columns.column_name)
        from catalog.caveats as caveats
        inner join catalog.columns as columns
            on list_contains(caveats.objects, columns.object_name || '.' || columns.column_name)
        where columns.object_name = $name
        """
    found: dict[str, set[str]] = {}
    for caveat, column in connection.execute(sql, {"name": name}).fetchall():
        found.setdefault(caveat, set()).add(column)
    return found
