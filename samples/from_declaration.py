"""The dump of a trace that has no sampler of its own: drawn from the declaration of its tables.

Reproduced: the names of files, archives and columns; types, keys and missing values; the columns' examples;
times of a row that follow each other as they are declared. Columns of one name have the same values in all
tables, so that these can be joined. All else is invented.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.ingest.column_types import UNIX_UNITS
from tracehouse.ingest.declarations import Column, Table, Trace
from tracehouse.samples.declare import Sampler
from tracehouse.samples.draw import Ints, lognormal, scaled
from tracehouse.samples.files import Member, OnBytes, csv_bytes, replacing, write_tar_gz

LEAST_ROWS = 60
BYTES_PER_FIELD = 10
# How many containers, nodes… a key of times and names has: few, so that each has several times.
NAMES = 20
FIRST_TIME = datetime(2024, 1, 1, tzinfo=UTC)
STEP_S, STEPS = 60, 10_080
MISSING = 0.05
MEDIAN, SIGMA = 20.0, 0.8


def sampler_of(trace: Trace) -> Sampler | None:
    """The sampler that a trace's declaration gives, None where it does not say how its files look."""
    if any(_file_name(table) is None for table in trace.tables):
        return None
    return Sampler(partial(_write, trace.tables), partial(_expected_bytes, trace.tables))


def _expected_bytes(tables: tuple[Table, ...], scale: float) -> int:
    return sum(_rows(table, scale) * len(table.columns) * BYTES_PER_FIELD for table in tables)


def _rows(table: Table, scale: float) -> int:
    return scaled(table.about_rows, scale, LEAST_ROWS)


def _file_name(table: Table) -> str | None:
    """The shortest name that a table's CSV may have, where the rest of its declaration needs no more."""
    name = _shortest(table.file_name)
    is_plain = name.endswith(".csv") and table.has_header and not (table.keys or table.folder or table.wide)
    return name if is_plain and re.fullmatch(table.file_name, name) else None


def _shortest(pattern: str) -> str:
    return re.sub(r"\(\?:[^()]*\)\?", "", pattern).replace("\\", "")


def _write(
    tables: tuple[Table, ...], folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes
) -> list[Path]:
    return [_write_table(folder, table, _rows(table, scale), rng, on_bytes) for table in tables]


def _write_table(folder: Path, table: Table, rows: int, rng: np.random.Generator, on_bytes: OnBytes) -> Path:
    text = csv_bytes(_frame(table, rows, rng))
    on_bytes(len(text))
    name = _shortest(table.file_name)
    if table.archive_stem:
        return write_tar_gz(folder / f"{_shortest(table.archive_stem)}.tar.gz", [Member(name, text)])
    with replacing(folder / name) as file:
        file.write(text)
    return folder / name


def _frame(table: Table, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """The rows as texts, in the order of the publisher's columns."""
    keyed = _keys(table, rows)
    # A key that runs out of values ends the table.
    count = min([rows, *(len(numbers) for numbers in keyed.values())])
    time = next(
        (keyed[column.name] for column in table.columns if column.is_time and column.name in keyed), None
    )
    time = np.sort(rng.integers(0, STEPS, count)) if time is None else time
    texts = {}
    for column in table.columns:
        if column.name in keyed:
            numbers = keyed[column.name]
        elif column.is_time:
            numbers = time = time + np.ceil(lognormal(rng, count, 2.0, SIGMA)).astype(np.int64)
        else:
            numbers = np.ceil(lognormal(rng, count, MEDIAN, SIGMA)).astype(np.int64)
        drawn = pl.Series([_text(column, number) for number in numbers.tolist()], dtype=pl.String)
        texts[column.name] = _with_missing(table, column, drawn, rng)
    return pl.DataFrame(texts)


def _keys(table: Table, rows: int) -> dict[str, Ints]:
    """For each column of the key, the number of its value in each row, no two rows alike.

    One column, the time where there is one, has as many values as it takes; names and examples come again.
    """
    columns = {column.name: column for column in table.columns}
    key = [columns[name] for name in table.key]
    endless = next((column for column in key if column.is_time), None) or next(
        (column for column in key if not column.examples), None
    )
    numbers = np.arange(rows)
    found = {}
    for column in key:
        if column is not endless:
            values = len(column.examples) or NAMES
            found[column.name] = numbers % values
            numbers = numbers // values
    if endless is None:
        return {name: values[numbers == 0] for name, values in found.items()}
    return found | {endless.name: numbers}


def _with_missing(table: Table, column: Column, texts: pl.Series, rng: np.random.Generator) -> pl.Series:
    if column.required or column.name in (*table.key, *table.never_empty):
        return texts
    ways = [None, *column.null_texts]
    missing = pl.Series([ways[way] for way in rng.integers(0, len(ways), len(texts))], dtype=pl.String)
    return missing.zip_with(pl.Series(rng.random(len(texts)) < MISSING), texts)


def _text(column: Column, number: int) -> str:
    """How the publisher may write a column's value of a number: the same for the same number."""
    if column.is_time:
        return _time(column, number)
    if column.examples:
        return column.examples[number % len(column.examples)]
    match column.type:
        case "VARCHAR":
            return f"{column.name}_{number}"
        case "BOOLEAN":
            return ("false", "true")[number % 2]
        case "JSON":
            return "{}"
        case "VARCHAR[]" | "BIGINT[]" | "DOUBLE[]":
            return "[]"
        case _:
            return str(min(number, 100) if column.unit == "percent" else number)


def _time(column: Column, number: int) -> str:
    """The time so many steps after the first: after the first example, in steps to the second, if any."""
    if column.stored_type.startswith("TIMESTAMP"):
        instant = FIRST_TIME + number * timedelta(seconds=STEP_S)
        if column.type in UNIX_UNITS:
            return str(int(instant.timestamp()) * UNIX_UNITS["UNIX_S"] // UNIX_UNITS[column.type])
        return f"{instant:%Y-%m-%d %H:%M:%S}" + ("+00:00" if column.type == "TIMESTAMPTZ" else "")
    if column.examples:
        first, second = (float(example) for example in column.examples[:2])
        return str(first + number * (second - first))
    return str(number * STEP_S * (1_000 if column.unit == "ms" else 1))
