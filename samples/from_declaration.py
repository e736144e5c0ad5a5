r"""Draw the rows of a table from its declaration.

- A column has the values of its `sample`, else of its `examples` or `choices`, else invented ones within its
  limits. A `pattern` needs one of the three, unless it consists of text and digits (``job_\d+``).
- The values of a key are unique. Columns with the same name have the same values in all tables, so that the
  tables can be joined.
- Times without a `sample` are in ascending order within a row.
- If the file names of a table contain keys, the table has a file for each combination of their values. The
  values are the `examples` of the key, or the alternatives in the pattern.
- The names of the cells of a wide table are the `examples` of the column that receives them, or follow from
  `variable_pattern`: named groups as in file names, alternatives, and digits.
"""

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, Names, PrefixBlocks
from tracehouse.ingest.declare.sample_files import (
    cell_names,
    declared_texts,
    file_keys,
    invented_text,
)
from tracehouse.ingest.declare.trace import Column, Table, Trace
from tracehouse.samples import draw
from tracehouse.samples.draw import Ints
from tracehouse.samples.output import Output

LEAST_ROWS = 60
# Different values of a key column, if the key also has a time. Each value then has several times.
VALUES = 20
FIRST_TIME = datetime(2024, 1, 1, tzinfo=UTC)
STEP_S, STEPS = 60, 10_080
MISSING = 0.05
OTHERS = LogNormal(20.0, 0.8)


def row_count(table: Table, scale: float, least: int = LEAST_ROWS) -> int:
    """Return the number of rows of a table in a sample."""
    return draw.scaled(table.about_rows, scale, least)


def write(trace: Trace, out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write all tables of a trace, as their declarations say."""
    for table in trace.tables:
        write_table(table, out, scale, rng)


def write_table(table: Table, out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write the files of one table, as its declaration says."""
    files = file_keys(table)
    for keys in files:
        count = max(LEAST_ROWS, row_count(table, scale) // len(files))
        rows = _wide_rows(table, count, rng) if table.wide else table_rows(table, count, rng)
        out.add(table, rows, **keys)


def sampled(table: Table, count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw the columns of a table that have a `sample`, and no others."""
    return pl.DataFrame(
        {column.name: values(column, count, rng) for column in table.columns if column.sample is not None}
    )


def values(column: Column, count: int, rng: np.random.Generator) -> pl.Series:
    """Draw the values of a column from its `sample`. Names are numbers, and times Unix seconds."""
    match column.sample:
        case LogNormal(median, sigma, zeros, most):
            drawn = draw.lognormal(rng, count, median, sigma) * (rng.random(count) >= zeros)
            low = -np.inf if column.least is None else float(column.least)
            high = np.inf if column.most is None else float(column.most)
            drawn = drawn.clip(low, min(high, most))
            return pl.Series(drawn if column.type == "DOUBLE" else drawn.astype(np.int64))
        case Arrivals(first_s, last_s, utc_offset_h):
            return pl.Series(draw.arrivals(rng, count, first_s, last_s, utc_offset_h))
        case Names(count=0):
            return pl.Series(np.arange(count))
        case Names(count=names):
            return pl.Series(draw.heavy_users(rng, count, names))
        case None | PrefixBlocks():
            raise AssertionError(f"{column.name} is not drawn alone")
        case weights:
            return pl.Series(list(weights)).gather(draw.spread(rng, count, list(weights.values())))


def table_rows(table: Table, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw the rows of a table, also of columns without a `sample`."""
    keyed = _keys(table, rows)
    # A key with few values allows fewer distinct rows.
    count = min([rows, *(len(numbers) for numbers in keyed.values())])
    time = next(
        (keyed[column.name] for column in table.columns if column.is_time and column.name in keyed), None
    )
    time = np.sort(rng.integers(0, STEPS, count)) if time is None else time
    found: dict[str, pl.Series] = {}
    for column in table.columns:
        if isinstance(column.sample, PrefixBlocks):
            tokens = found[column.sample.tokens].to_numpy()
            lists = draw.prefix_blocks(rng, -(-tokens // column.sample.block_tokens))
            found[column.name] = pl.Series(map(json.dumps, lists), dtype=pl.String)
            continue
        if column.name in keyed and column.sample is None:
            found[column.name] = _texts(table, column, keyed[column.name], rng)
        elif column.is_time and column.sample is None:
            time = time + np.ceil(draw.lognormal(rng, count, 2.0, 0.8)).astype(np.int64)
            found[column.name] = _texts(table, column, time, rng)
        else:
            found[column.name] = _values_or_texts(table, column, count, rng)
    return pl.DataFrame(found)


def _wide_rows(table: Table, count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw the lines of a wide CSV with about `count` cells: the index, and a cell for each name."""
    assert table.wide
    # Readers of cells know no texts for missing values.
    index, value = table.column(table.wide.index), replace(table.column(table.wide.value), null_texts=())
    names = cell_names(table)
    # Times start at the first one; ids and numbers at 1.
    first = 0 if index.is_time or declared_texts(index) else 1
    numbers = range(first, first + max(LEAST_ROWS, count // len(names)))
    texts = (_text(index, number) for number in numbers)
    # A line with an index that occurred before would be rejected, as in a column with few `examples`.
    indexes = dict.fromkeys(text for text in texts if re.fullmatch(index.pattern or ".*", text))
    found = {table.wide.index_header: pl.Series(list(indexes), dtype=pl.String)}
    for name in names:
        found[name] = _values_or_texts(table, value, len(indexes), rng)
        if not value.required and value.name not in table.never_empty:
            found[name] = found[name].set(pl.Series(rng.random(len(indexes)) < MISSING), None)
    return pl.DataFrame(found)


def _values_or_texts(table: Table, column: Column, count: int, rng: np.random.Generator) -> pl.Series:
    """Draw the values of a column from its `sample`, else invent them."""
    if column.sample is not None:
        return values(column, count, rng)
    numbers = np.ceil(draw.lognormal(rng, count, OTHERS.median, OTHERS.sigma)).astype(np.int64)
    return _texts(table, column, numbers, rng)


def _keys(table: Table, rows: int) -> dict[str, Ints]:
    """Return, for each key column, the number of its value in each row. The combinations are distinct.

    One column has as many different values as needed: the time, or a column whose values are not given. The
    values of the other columns repeat. If all are given, there are at most as many rows as combinations.
    """
    columns = {column.name: column for column in table.columns}
    # `table.key` may also name columns whose values come from the file name.
    key = [columns[name] for name in table.key if name in columns]
    endless = next((column for column in key if column.is_time), None) or next(
        (column for column in key if not declared_texts(column)), None
    )
    numbers = np.arange(rows)
    found = {}
    for column in key:
        if column is not endless:
            count = len(declared_texts(column)) or VALUES
            found[column.name] = numbers % count
            numbers = numbers // count
    if endless is None:
        return {name: values[numbers == 0] for name, values in found.items()}
    return found | {endless.name: numbers}


def _texts(table: Table, column: Column, numbers: Ints, rng: np.random.Generator) -> pl.Series:
    """Return the texts of a column for numbers; some are missing, in one of the publisher's notations."""
    texts = pl.Series([_text(column, number) for number in numbers.tolist()], dtype=pl.String)
    if column.required or column.name in (*table.key, *table.never_empty):
        return texts
    ways = [*column.null_texts, "" if column.null_texts else None]
    missing = pl.Series([ways[way] for way in rng.integers(0, len(ways), len(texts))], dtype=pl.String)
    return missing.zip_with(pl.Series(rng.random(len(texts)) < MISSING), texts)


def _text(column: Column, number: int) -> str:
    """Return the value of a column for a number, in the notation of the raw files."""
    if column.is_time:
        return _time(column, number)
    if given := declared_texts(column):
        return given[number % len(given)]
    match column.type:
        case "VARCHAR":
            return invented_text(column, number)
        case "BOOLEAN":
            return ("false", "true")[number % 2]
        case "VARCHAR[]" | "BIGINT[]":
            return "[]"
        case _:
            return str(_within_limits(column, number))


def _within_limits(column: Column, number: int) -> int:
    """Return the whole number that is `number` above the least one, within the limits of a column."""
    least = [column.least, None if column.above is None else float(column.above) + 1]
    most = [column.most, None if column.below is None else float(column.below) - 1]
    low = max([float(limit) for limit in least if limit is not None], default=0.0)
    high = min([float(limit) for limit in most if limit is not None], default=math.inf)
    return math.floor(min(math.ceil(low) + number, high, 100 if column.unit == "percent" else math.inf))


def _time(column: Column, number: int) -> str:
    """Return the time that is `number` steps after the first time, in the notation of the raw files.

    If the column has examples, the first two give the first time and the step.
    """
    if column.type.startswith("TIMESTAMP"):
        begin = FIRST_TIME
        if column.least is not None:
            begin = datetime.fromisoformat(str(column.least))
            begin = begin.astimezone(UTC) if begin.tzinfo else begin
        instant = begin + number * timedelta(seconds=STEP_S)
        return f"{instant:%Y-%m-%d %H:%M:%S}" + ("+00:00" if column.type == "TIMESTAMPTZ" else "")
    if column.examples:
        first, second = (float(example) for example in column.examples[:2])
        return str(first + number * (second - first))
    return str(number * STEP_S * (1_000 if column.unit == "ms" else 1))
