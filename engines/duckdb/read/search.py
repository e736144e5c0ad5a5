"""Finds traces, tables, views and queries by words in their names, titles and columns.

A word also finds those that mean the same.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb

from tracehouse.sql.lists import Kind

MOST_SUGGESTED = 3

# Words that people use for one thing.
_SAME = (
    "wait queue queued queueing queuing pending delay",
    "run runtime duration length elapsed jct makespan",
    "use used usage utilization utilisation util busy",
    "failed failure fail error outcome status state",
    "requested request demand plan planned asked wanted",
    "held allocated allocation occupied occupancy",
    "submit submitted submission arrival arrive",
    "waste wasted unused",
    "energy power watt joule kwh electricity",
    "node machine server host",
    "accuracy target",
    "sharing shared share fractional colocated",
    "band size bucket",
    "cdf percentile distribution quantile",
    "recurring recurrence repeated periodic",
    "deadline tightness slo",
    "over above against",
)
_MEANINGS = {word: group.split() for group in _SAME for word in group.split()}

# Words that say nothing about what is asked for.
_EMPTY = {
    "a",
    "an",
    "and",
    "by",
    "for",
    "from",
    "how",
    "in",
    "of",
    "on",
    "the",
    "to",
    "what",
    "which",
    "with",
}

_NAMES = {
    Kind.TRACES: "select trace, title, publisher from catalog.traces",
    Kind.TABLES: "select table_name, '', grain from catalog.tables",
    Kind.VIEWS: "select view_name, any_value(title), any_value(grain) from catalog.views group by view_name",
    Kind.QUERIES: "select query_name, title, description || array_to_string(reads, ' ') from catalog.queries",
}
# How much more a word in a name or title counts than one elsewhere.
_IN_NAME, _IN_TITLE, _ELSEWHERE = 4, 2, 1


@dataclass(frozen=True)
class _Found:
    name: str
    title: frozenset[str]
    more: frozenset[str]

    def score(self, word: str) -> int:
        """How well a word fits, 0 where it does not."""
        meant = _meant(word)
        if meant & _words(self.name):
            return _IN_NAME
        if meant & self.title:
            return _IN_TITLE
        return _ELSEWHERE if meant & self.more else 0


def found(connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str, words: str) -> list[str]:
    """The names of a kind, of one trace or schema if any is given, that have all the words, best first."""
    wanted = [word for word in _split(words) if word not in _EMPTY]
    scores = {}
    for one in _listed(connection, kind, trace):
        of_words = [one.score(word) for word in wanted]
        if all(of_words):
            scores[one.name] = sum(of_words)
    return _best_first(scores)


def suggestion(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A sentence that names what somebody may have meant by a query's wrong name, or an empty text.

    Queries and views that are spelt much alike; or, where there are none, first queries that mean the same,
    then some that are spelt somewhat alike.
    """
    every = _listed(connection, Kind.QUERIES, "")
    names = [one.name for one in every]
    with_views = [*names, *(one.name for one in _listed(connection, Kind.VIEWS, ""))]
    schema = name.partition(".")[0]
    if much_alike := spelt_alike(name, with_views, 0.8):
        return _sentence(much_alike)
    those = [one for one in every if one.name.startswith(f"{schema}.")] or every
    words = [word for word in _split(name.removeprefix(f"{schema}.")) if word not in _EMPTY]
    scores = {one.name: sum(one.score(word) for word in words) for one in those}
    best = max(scores.values(), default=0)
    alike_in_meaning = [one for one in _best_first(scores) if scores[one] > max(best / 2, _ELSEWHERE)]
    chosen = dict.fromkeys([*alike_in_meaning, *spelt_alike(name, names, 0.5)])
    return _sentence(list(chosen)[:MOST_SUGGESTED])


def nearest(name: str, names: Iterable[str]) -> str:
    """A sentence that names what is spelt like a name, or an empty text."""
    return _sentence(spelt_alike(name, list(names), 0.5))


def spelt_alike(name: str, names: Sequence[str], cutoff: float) -> list[str]:
    """Those of the names that are spelt like one, with their schema or without it, the nearest first."""
    # Only who has misspelt something waits for it.
    import difflib

    short = {known.split(".")[-1]: known for known in names}
    close = difflib.get_close_matches(name, names, n=3, cutoff=cutoff)
    last = name.split(".")[-1]
    close += [short[one] for one in difflib.get_close_matches(last, short, n=2, cutoff=max(cutoff, 0.6))]
    return list(dict.fromkeys(close))


def _sentence(names: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(names)}?" if names else ""


def _listed(connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str) -> list[_Found]:
    rows = connection.execute(
        f"""
        with named(name, title, more) as ({_NAMES[kind]}),

        described as (
            select object_name, string_agg(column_name || ' ' || meaning, ' ') as columns
            from catalog.columns group by object_name
        )

        select named.name, named.title, named.more || ' ' || coalesce(described.columns, '')
        from named
        left join described on named.name = described.object_name
        where $trace in ('', split_part(named.name, '.', 1))
        order by named.name
        """,
        {"trace": trace},
    ).fetchall()
    return [_Found(name, _words(title), _words(more)) for name, title, more in rows]


def _best_first(scores: dict[str, int]) -> list[str]:
    return sorted(scores, key=lambda name: (-scores[name], name))


def _meant(word: str) -> set[str]:
    return {_stem(same) for same in _MEANINGS.get(word, _MEANINGS.get(_stem(word), [word]))}


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _split(text))


def _split(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word
