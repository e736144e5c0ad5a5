"""Lists traces, tables, views or queries: all of them, those of one trace, or those that have some words."""

import duckdb

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read.answer import Question
from tracehouse.engines.duckdb.read.search import found, nearest
from tracehouse.sql.lists import LISTS, NAMES, Kind


def listing(connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str, words: str) -> Question:
    """The question that lists what is asked for, the best first where words are given.

    Raises UsageError where there is no such trace or schema, and UserError where nothing has the words.
    """
    if not trace and not words:
        return Question(LISTS[kind], {})
    _check_schema(connection, kind, trace)
    names = found(connection, kind, trace, words)
    if not names:
        of_trace = f" of {trace}" if trace else ""
        others = [other.value for other in Kind if other != kind and found(connection, other, trace, words)]
        where = (
            f"`traces list {others[0]} --search` finds some"
            if others
            else f"`traces list {kind.value}` has all"
        )
        raise UserError(f"none of the {kind.value}{of_trace} has the words {words!r}. {where}")
    return Question(
        f"""
        with listed as ({LISTS[kind]}),

        wanted as (select unnest($names) as name, unnest(range(len($names))) as place)

        select listed.*
        from listed
        inner join wanted on listed.{NAMES[kind]} = wanted.name
        order by wanted.place
        """,
        {"names": names},
    )


def _check_schema(connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str) -> None:
    listed = connection.execute(LISTS[kind]).fetchall()
    known = sorted({row[0].partition(".")[0] for row in listed})
    if trace and trace not in known:
        raise UsageError(
            f"there are no {kind.value} of {trace}.{nearest(trace.lower(), known)} Known: {', '.join(known)}"
        )
