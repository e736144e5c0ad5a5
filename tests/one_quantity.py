"""Find columns of queries with the same name and meaning that have different values."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import duckdb
import pytest

# Units whose values add up over the rows of a result; others, such as percentages, do not.
ADDITIVE = {
    "GPU-h",
    "GPU-s",
    "jobs",
    "tasks",
    "instances",
    "pods",
    "requests",
    "workers",
    "users",
    "samples",
    "nodes",
}

# Columns with the points of a curve. They are keys although they have a unit.
GRIDS = {
    *("percentile", "at_most_gpus", "wait_s", "run_s", "tightness_from", "period_start_s", "window_start_s"),
    *("cache_blocks", "max_age_s", "input_band_tokens", "output_band_tokens"),
}


@dataclass(frozen=True)
class Measured:
    """A column of a query that holds a quantity, with the key columns of the query."""

    query: str
    column: str
    meaning: str
    unit: str
    by: tuple[str, ...]


def measured_columns(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str, str], list[Measured]]:
    """Return the columns with a unit that queries compute, by schema, name and meaning."""
    rows = connection.execute(
        """
        select columns.object_name, columns.column_name, columns.meaning, columns.unit, columns.lineage, chart
        from catalog.columns as columns
        inner join catalog.queries as queries on columns.object_name = queries.query_name
        order by columns.object_name, columns.position
        """
    ).fetchall()
    by = defaultdict(list)
    for query, column, _, unit, lineage, chart in rows:
        # Computed columns are measured, the others are keys.
        if not unit or lineage or column in GRIDS or column in grid_of(chart or ""):
            by[query].append(column)
    found = defaultdict(list)
    for query, column, meaning, unit, *_ in rows:
        if column not in by[query]:
            found[query.split(".")[0], column, meaning].append(
                Measured(query, column, meaning, unit, tuple(by[query]))
            )
    return found


def grid_of(chart: str) -> set[str]:
    """Return the columns that span a chart: it has one value at each x, a heat map at each x and y."""
    axes = {"line": "x", "step": "x", "bar": "x", "stack": "x", "heat": "xy"}.get(chart.split(" ")[0], "")
    return {column for axis, column in re.findall(r" ([xy])=(\w+)", chart) if axis in axes}


def values(answer: dict[str, list[Any]], measured: Measured) -> dict[tuple[Any, ...], Any]:
    """Return the values of the column by key."""
    numbers = answer[measured.column]
    keys = [tuple(answer[name][row] for name in measured.by) for row in range(len(numbers))]
    assert len(set(keys)) == len(keys), f"{measured.query}: {measured.by} is not a key"
    return dict(zip(keys, numbers, strict=True))


def find_disagreements(
    connection: duckdb.DuckDBPyConnection, answer: Callable[[str], dict[str, list[Any]]]
) -> Iterator[str]:
    """Compare all queries with a quantity in common. `answer` returns the columns of a query."""
    found = measured_columns(connection)
    answers = {column.query: answer(column.query) for columns in found.values() for column in columns}
    for (_, name, meaning), columns in found.items():
        for one, other in combinations(columns, 2):
            first, second = values(answers[one.query], one), values(answers[other.query], other)
            if set(one.by) == set(other.by):
                order = [one.by.index(column) for column in other.by]
                first = {tuple(key[i] for i in order): value for key, value in first.items()}
                differ = [
                    key for key in first.keys() & second.keys() if first[key] != pytest.approx(second[key])
                ]
                if differ:
                    yield f"{one.query} and {other.query}: {name} ({meaning}) of {differ[0]}"
            elif one.unit in ADDITIVE:
                sums = [sum(value or 0 for value in one_of.values()) for one_of in (first, second)]
                if sums[0] != pytest.approx(sums[1]):
                    yield f"{one.query} and {other.query}: {name} ({meaning}): {sums[0]} and {sums[1]}"
