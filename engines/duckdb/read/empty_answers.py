"""Says why an answer may have no rows: tables without data, or parameters that none of the data fit."""

import duckdb

from tracehouse.engines.duckdb.read.answer import Note, Question, base_tables


def why_empty(connection: duckdb.DuckDBPyConnection, question: Question) -> list[Note]:
    """A note on an answer without rows: which of the tables that it reads are empty, or what limits it.

    There is none where the question reads no table of the warehouse.
    """
    names = {question.name} if question.name else question.reads
    tables = connection.execute(
        """
        select table_name, row_count from catalog.tables
        where list_contains($read, table_name) order by table_name
        """,
        {"read": list(base_tables(connection, names))},
    ).fetchall()
    if not tables:
        return []
    empty = [name for name, row_count in tables if not row_count]
    if empty:
        traces = sorted({name.partition(".")[0] for name in empty})
        where = " and ".join(f"`traces describe {trace}`" for trace in traces)
        verb = "has" if len(empty) == 1 else "have"
        said = f"{', '.join(empty)} {verb} no data: {where} tells where the files come from"
    else:
        listed = ", ".join(f"{name} ({row_count:,} rows)" for name, row_count in tables)
        said = f"what it reads has data: {listed}"
    limits = _limits(connection, question)
    return [Note("no rows", f"{said}. {limits}" if limits else said, "note")]


def _limits(connection: duckdb.DuckDBPyConnection, question: Question) -> str:
    """What the parameters of a named query are in a question, those that were given first."""
    defaults = dict(
        connection.execute(
            """
            select parameter, default_value from catalog.query_parameters
            where query_name = $name order by position
            """,
            {"name": question.name},
        ).fetchall()
    )
    given = [f"{name}={value} (by default {defaults[name]})" for name, value in question.given.items()]
    # What is not switched on leaves nothing out.
    others = [
        f"{name}={default}"
        for name, default in defaults.items()
        if name not in question.given and default.lower() != "false"
    ]
    return f"What limits it: {', '.join([*given, *others])}" if given or others else ""
