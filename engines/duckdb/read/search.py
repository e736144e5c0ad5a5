"""Find traces, tables, views and queries by words in their names, titles and columns.

A word also finds its synonyms.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tracehouse.definitions.lists import Kind

MOST_SUGGESTED = 3

# Groups of synonyms.
SYNONYMS = (
    "wait queue queued queueing queuing pending delay",
    "run runtime duration length elapsed makespan",
    "turnaround jct sojourn",
    "slowdown stretch interference",
    "use used usage utilization utilisation util busy",
    "failed failure fail error outcome status state mtbf reliability",
    "preempted preemption evicted eviction",
    "requested request demand plan planned asked wanted",
    "held allocated allocation occupied occupancy",
    "submit submitted submission arrival arrive",
    "waste wasted unused goodput badput",
    "fragmentation fragmented stranded unusable",
    "concentration concentrated gini lorenz inequality fairness",
    "burstiness bursty dispersion",
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

# Words that a search ignores.
STOP_WORDS = {
    *("a", "an", "and", "by", "for", "from", "how", "in", "of", "on", "the", "to", "what", "which", "with")
}

_TEXTS = {
    Kind.TRACES: "select trace, title, publisher from catalog.traces",
    Kind.TABLES: "select table_name, '', grain from catalog.tables",
    Kind.VIEWS: "select view_name, title, grain from catalog.views where is_current",
    Kind.QUERIES: """
        select
            queries.query_name,
            any_value(queries.title),
            concat_ws(
                ' ',
                any_value(queries.description),
                any_value(array_to_string(queries.reads, ' ')),
                string_agg(concat_ws(' ', parameters.parameter, parameters.meaning, parameters.choices), ' ')
            )
        from catalog.queries as queries
        left join catalog.query_parameters as parameters on queries.query_name = parameters.query_name
        group by queries.query_name
        """,
}
# Word endings that a search ignores, and the fewest letters before them. `web/src/search.ts` has the same.
ENDINGS = ("ations", "ation", "ions", "ion", "ings", "ing", "ed", "es", "s")
_LEAST_STEM = 4
# Scores of a match in a name, in a title, and in other texts.
_IN_NAME, _IN_TITLE, _ELSEWHERE = 4, 2, 1


@dataclass(frozen=True)
class Entry:
    """An object to find: its name, and the words of its title and of its other texts, without endings."""

    name: str
    title: frozenset[str]
    more: frozenset[str]

    def score(self, word: str) -> int:
        """The score of a word's match, 0 if it does not match."""
        synonyms = _synonyms(word)
        if synonyms & _words(self.name):
            return _IN_NAME
        if synonyms & self.title:
            return _IN_TITLE
        return _ELSEWHERE if synonyms & self.more else 0


def find(connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str, words: str) -> list[str]:
    """Return the names of a kind that match all words, best first. `trace` is a trace or schema, or empty."""
    wanted = [word for word in _split(words) if word not in STOP_WORDS]
    scores = {}
    for entry in list_entries(connection, kind, trace):
        of_words = [entry.score(word) for word in wanted]
        if all(of_words):
            scores[entry.name] = sum(of_words)
    return _best_first(scores)


def suggest_queries(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return a sentence with close matches for an unknown query name, or an empty text.

    The close matches are queries and views of very similar spelling. If there are none, they are queries of
    similar meaning, then queries of somewhat similar spelling.
    """
    entries = list_entries(connection, Kind.QUERIES, "")
    names = [entry.name for entry in entries]
    with_views = [*names, *(entry.name for entry in list_entries(connection, Kind.VIEWS, ""))]
    schema = name.partition(".")[0]
    if similar := similar_names(name, with_views, 0.8):
        return list_matches(similar, len(similar))
    candidates = [entry for entry in entries if entry.name.startswith(f"{schema}.")] or entries
    words = [word for word in _split(name.removeprefix(f"{schema}.")) if word not in STOP_WORDS]
    scores = {entry.name: sum(entry.score(word) for word in words) for entry in candidates}
    best = max(scores.values(), default=0)
    similar_meaning = [entry for entry in _best_first(scores) if scores[entry] > max(best / 2, _ELSEWHERE)]
    return list_matches([*similar_meaning, *similar_names(name, names, 0.5)])


def find_columns(name: str, meanings: Mapping[str, str]) -> list[str]:
    """Return the columns whose name, or else meaning, has the words of another name or their synonyms.

    A word may be misspelt, or cut off, as in usr and dur.
    """
    entries = [Entry(column, frozenset(), _words(meaning)) for column, meaning in meanings.items()]
    known = _split(" ".join((*meanings, *SYNONYMS)))
    words = [
        next((whole for whole in known if whole.startswith(word)), "")
        or next(iter(similar_names(word, known, 0.75)), word)
        for word in _split(name)
        if word not in STOP_WORDS
    ]
    scores = {entry.name: sum(map(entry.score, words)) for entry in entries}
    best = max(scores.values(), default=0)
    return [column for column in meanings if scores[column] == best > 0]


def close_matches(name: str, names: Iterable[str]) -> str:
    """Return a sentence with the names of similar spelling, or an empty text."""
    return list_matches(similar_names(name, list(names), 0.5))


def similar_names(name: str, names: Sequence[str], cutoff: float) -> list[str]:
    """Return the names of similar spelling, closest first. Names are compared with and without the schema."""
    # Imported late, because only a misspelt name needs it.
    import difflib

    short = {known.split(".")[-1]: known for known in names}
    close = difflib.get_close_matches(name, names, n=3, cutoff=cutoff)
    last = name.split(".")[-1]
    close += [short[one] for one in difflib.get_close_matches(last, short, n=2, cutoff=max(cutoff, 0.6))]
    return list(dict.fromkeys(close))


def list_matches(names: Iterable[str], at_most: int = MOST_SUGGESTED) -> str:
    """Return a sentence with the first names, each once, or an empty text without names."""
    listed = list(dict.fromkeys(names))[:at_most]
    return f" Close matches: {', '.join(listed)}." if listed else ""


def list_entries(connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str = "") -> list[Entry]:
    """Return the objects of a kind with the words to search. `trace` is a trace or schema, or empty."""
    sql = f"""
        with named(name, title, more) as ({_TEXTS[kind]}),

        described as (
            select object_name, string_agg(column_name || ' ' || meaning, ' ') as columns
            from catalog.columns group by object_name
        )

        select named.name, named.title, named.more || ' ' || coalesce(described.columns, '')
        from named
        left join described on named.name = described.object_name
        where $trace in ('', split_part(named.name, '.', 1))
        order by named.name
        """
    rows = connection.execute(sql, {"trace": trace}).fetchall()
    return [Entry(name, _words(title), _words(more)) for name, title, more in rows]


def _best_first(scores: dict[str, int]) -> list[str]:
    return sorted(scores, key=lambda name: (-scores[name], name))


def _synonyms(word: str) -> set[str]:
    groups = [{_stem(same) for same in group.split()} for group in SYNONYMS]
    return next((group for group in groups if _stem(word) in group), {_stem(word)})


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _split(text))


def _split(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _stem(word: str) -> str:
    """Remove a word's ending if at least four letters remain: preempted and preemption become preempt."""
    for ending in (*ENDINGS, ""):
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > _LEAST_STEM else word
