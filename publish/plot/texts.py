"""The texts of a picture: parameters, sources and citations."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import duckdb

from tracehouse.engines.duckdb.read.catalog import base_tables

# Unit suffixes of column names, and their usual spelling.
UNITS = {
    "s": "s",
    "ms": "ms",
    "h": "h",
    "w": "W",
    "j": "J",
    "kwh": "kWh",
    "gb": "GB",
    "gib": "GiB",
    "mib": "MiB",
    "gibps": "GiB/s",
    "pct": "%",
}
GPU_TIME = {"gpu_h": "GPU-hours", "gpu_s": "GPU-seconds"}
WORDS = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "cpu": "CPU",
    "cpus": "CPUs",
    "hp": "HP",
    "lp": "LP",
    "vc": "virtual cluster",
    "qos": "quality of service",
}
# Days of a trace's own clock from this one on count from 1970: they are dates. No trace lasts 27 years.
FIRST_DAY_OF_DATES = 10_000

# Defaults that filter nothing and change nothing.
NEUTRAL = ("false", "any", "all", "")


def axis_title(column: str) -> str:
    """A column's name as an axis title: `p90_wait_s` is p90 wait (s), `gpu_h_pct` is GPU-hours (%)."""
    for suffix, spelling in GPU_TIME.items():
        if column.endswith(suffix):
            return f"{_words(column.removesuffix(suffix))} {spelling}".strip()
    words, _, last = column.rpartition("_")
    if words and last in UNITS and not words.endswith("_per"):
        return f"{axis_title(words)} ({UNITS[last]})"
    return _words(column)


def clock_title(days: Iterable[float]) -> str:
    """The title of an axis with days on the clocks of traces."""
    titles = {"date" if day >= FIRST_DAY_OF_DATES else "time (days)" for day in days}
    return " or ".join(sorted(titles, reverse=True))


def describe_parameters(
    connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str], hidden: str
) -> str:
    """The parameters that affect an answer, given ones and defaults: `on_cluster = seren`.

    A default has no effect if it filters nothing: false, `any`, `all`, NULL, or an end of its range.
    `hidden` is the parameter that the chart sets. Neither this parameter nor parameters that its meaning
    names are listed, because it replaces them.
    """
    found = connection.execute(
        "select meaning from catalog.query_parameters where query_name = $name and parameter = $hidden",
        {"name": name, "hidden": hidden},
    ).fetchall()
    replaced = {hidden, *(word for (meaning,) in found for word in meaning.split())}
    parameters = effective_parameters(connection, name, given)
    return ", ".join(f"{key} = {value}" for key, value in parameters if key not in replaced)


def footer(connection: duckdb.DuckDBPyConnection, name: str, traces: Sequence[str]) -> str:
    """The query, the versions of the views that it reads, and the citation of each trace.

    `name` is empty for an answer of SQL.
    """
    found = connection.execute(
        "select reads_versions from catalog.queries where query_name = $name", {"name": name}
    ).fetchall()
    versions = [version for (reads,) in found for version in reads]
    tables = list(base_tables(connection, [name]))
    cited = connection.execute(
        """
        select trace, citation from catalog.traces
        where
            list_contains($traces, trace)
            or (
                len($traces) = 0
                and trace in (
                    select tables.trace from catalog.tables as tables
                    where list_contains($tables, tables.table_name) and tables.row_count > 0
                )
            )
        order by trace
        """,
        {"traces": list(traces), "tables": tables},
    ).fetchall()
    parts = [name, f"reads {', '.join(versions)}" if versions else ""]
    parts += [f"{trace}: {short_citation(citation)}" for trace, citation in cited]
    return " · ".join(part for part in parts if part)


def short_citation(citation: str) -> str:
    """The first author, the venue and the year of a citation: `Hu et al., NSDI 24`."""
    authors = re.split(r"(?<!et al)\.|:", citation)[0]
    first, *others = re.split(r",|\band\b", authors)
    author = f"{first.split()[-1]} et al." if others else authors.strip()
    venues = re.findall(r"\(([^()]*\d{2})\)", citation)
    return f"{author}, {venues[-1]}" if venues else author


def _words(column: str) -> str:
    return " ".join(WORDS.get(word, word) for word in column.split("_")).strip()


def effective_parameters(
    connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The given parameters, and the defaults that affect the answer, as texts."""
    parameters = connection.execute(
        """
        select parameter, default_value, at_least, at_most from catalog.query_parameters
        where query_name = $name order by position
        """,
        {"name": name},
    ).fetchall()
    for parameter, default, *ends in parameters:
        if parameter in given:
            yield parameter, given[parameter]
            continue
        [(value,)] = connection.execute(f"select cast({default} as varchar)").fetchall()
        if value is not None and value not in (*NEUTRAL, *ends):
            yield parameter, value
