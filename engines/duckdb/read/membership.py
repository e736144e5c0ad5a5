"""Find the traces that an answer over several traces does not count, and why.

Whether a trace records a column is known from its views (`catalog.not_recorded`), whether it is loaded from
its tables, and whether it is counted from the rows of the answer.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import duckdb

from tracehouse.definitions.released import SEVERAL_TRACES
from tracehouse.engines.duckdb.read.catalog import read_base_tables, texts_across_traces
from tracehouse.engines.duckdb.read.notes import NOT_COUNTED, Note

NOT_LOADED, NO_ROWS_FIT = "not in this warehouse", "no rows that fit"

# The comments in a file name columns that its SQL does not read.
_COMMENTS = re.compile(r"--[^\n]*|\ncomment on [^;]*;")


def find_not_counted(
    connection: duckdb.DuckDBPyConnection,
    reads: Iterable[str],
    statement: str = "",
    chosen: Collection[str] | None = None,
    counted: Collection[str] | None = None,
    is_complete: bool = True,
) -> dict[str, str]:
    """Return the traces that an answer leaves out, each with the reason; empty if it is not over all traces.

    `reads` are the tables, views and queries that the `statement` reads, and `chosen` the traces that it
    selects, None for all. `counted` are the traces that the rows name, None if they name none: then a trace
    without a column may be counted where the statement reads others. With `is_complete` false, there are
    further rows.
    """
    texts = texts_across_traces(connection, reads)
    has_rows = _loaded_by_view(connection, texts)
    traces_in = Counter(name for of_trace in has_rows.values() for name in of_trace)
    views = {*traces_in}
    candidates = {trace for trace in has_rows if chosen is None or trace in chosen}
    loaded = {trace for trace in candidates if any(has_rows[trace].values())}
    lacking = _columns_lacking(connection, texts, statement)
    # What the counted traces lack, too, is not the reason.
    others = [{*lacking.get(trace, ())} for trace in (loaded if counted is None else counted)]
    shared = set.intersection(*others) if others and counted is None else set[str]().union(*others)
    found = {}
    for trace in sorted(candidates - {*(counted or ())}):
        # A column that has no word of its own, such as the cluster, leaves no trace out.
        words = lacking.get(trace, {}).items()
        missing = [what for column, what in words if what != column and column not in shared]
        if trace not in loaded:
            found[trace] = NOT_LOADED
        elif missing:
            found[trace] = f"records no {missing[0]}"
        elif outside := views - {*has_rows[trace]}:
            # Of views that it is not in, the one that most others are in.
            found[trace] = f"not in {max(sorted(outside), key=lambda view: traces_in[view])}"
        elif counted is not None and is_complete:
            found[trace] = NO_ROWS_FIT
    return found


def find_not_loaded(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    """Return the traces that a view or query over several traces would count if they were loaded."""
    found = find_not_counted(connection, [name])
    return {trace: reason for trace, reason in found.items() if reason == NOT_LOADED}


def as_notes(found: Mapping[str, str], is_partial: bool = False) -> list[Note]:
    """Return one note on the traces that are not counted, in groups by reason; [] without such traces."""
    groups: dict[str, list[str]] = {}
    for trace, reason in sorted(found.items(), key=lambda item: item[1] == NOT_LOADED):
        groups.setdefault(reason, []).append(trace)
    listed = ", ".join(
        f"{', '.join(traces)} ({_plural(reason, traces)})" for reason, traces in groups.items()
    )
    word = "Not or only partly counted" if is_partial else "Not counted"
    return [Note(NOT_COUNTED, listed, word)] if found else []


def _plural(reason: str, traces: Collection[str]) -> str:
    return reason.replace("records no", "record no") if len(traces) > 1 else reason


def _loaded_by_view(
    connection: duckdb.DuckDBPyConnection, names: Iterable[str]
) -> dict[str, dict[str, bool]]:
    """Return for each trace the views and queries that have a part of it, and whether this has rows."""
    tables = connection.execute("select table_name, trace, row_count > 0 from catalog.tables").fetchall()
    behind = read_base_tables(connection)
    found: dict[str, dict[str, bool]] = {}
    for name in names:
        for table, trace, has_rows in tables:
            if name.startswith(f"{SEVERAL_TRACES}.") and table in behind[name]:
                of_trace = found.setdefault(trace, {})
                of_trace[name] = has_rows or of_trace.get(name, False)
    return found


def _columns_lacking(
    connection: duckdb.DuckDBPyConnection, texts: Mapping[str, str], statement: str
) -> dict[str, dict[str, str]]:
    """Return what each trace does not record of the columns that the SQL names: a quantity by column."""
    rows = [
        row
        for row in connection.execute("from catalog.not_recorded").fetchall()
        if row[0] in texts or row[1] in texts
    ]
    # A view that unites traces names all its columns.
    uniting = {name for row in rows for name in row[:2]}
    read = [statement, *(_COMMENTS.sub("", text) for name, text in texts.items() if name not in uniting)]
    words = set(re.findall(r"\w+", " ".join(read).lower()))
    found: dict[str, dict[str, str]] = {}
    for *_, trace, column, quantity in rows:
        if column in words:
            found.setdefault(trace, {})[column] = quantity
    return found
