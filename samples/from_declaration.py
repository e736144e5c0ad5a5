"""Generate a trace's sample from the declarations of its tables.

The sample has the declared folders, files, archives, columns, types, keys, missing values and examples.

- If the file names of a table contain keys, the table has a file for each combination of their values. The
  values are the `examples` of the key, or the alternatives in the pattern.
- A wide table has a column for each example of its variable.
- The times of a row are in ascending order.
- Columns with the same name have the same values in all tables, so that the tables can be joined.

Everything else is invented.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.ingest.column_types import UNIX_UNITS
from tracehouse.ingest.declarations import Column, Table, Trace
from tracehouse.samples import Sampler
from tracehouse.samples.draw import Ints, lognormal, scaled
from tracehouse.samples.files import Member, OnBytes, csv_bytes, write_bytes, write_tar_gz

LEAST_ROWS = 60
BYTES_PER_FIELD = 10
# Different values of a key column, if the key also has a time. Each value then has several times.
NAMES = 20
FIRST_TIME = datetime(2024, 1, 1, tzinfo=UTC)
STEP_S, STEPS = 60, 10_080
MISSING = 0.05
MEDIAN, SIGMA = 20.0, 0.8
_GROUP = re.compile(r"\(\?P<(\w+)>([^()]*)\)")


def sampler_of(trace: Trace) -> Sampler | None:
    """Return a sampler that draws from the declarations of a trace's tables.

    Return None if a table has JSON files, or if its declaration does not determine the names of its files.
    """
    files = [(table, _files(table)) for table in trace.tables]
    if not all(of_table for _, of_table in files):
        return None
    return Sampler(partial(_write, files), partial(_expected_bytes, trace.tables))


@dataclass(frozen=True)
class _File:
    """The folder, the archive and the name of one CSV; folder and archive may be empty."""

    folder: str
    archive: str
    name: str


def _files(table: Table) -> list[_File]:
    """Return a file for each combination of key values, or none if a file cannot be generated."""
    patterns = (table.folder, table.archive_stem, table.file_name)
    groups = dict(_GROUP.findall("/".join(patterns)))
    examples = {column.name: column.examples for column in table.keys}
    values = [examples.get(name) or alternatives.split("|") for name, alternatives in groups.items()]
    files = []
    for chosen in product(*values):
        of_group = dict(zip(groups, chosen, strict=True))
        file = _File(*(_shortest_match(pattern, of_group) for pattern in patterns))
        if not file.name.endswith(".csv") or table.key_values(file.name, file.folder) is None:
            return []
        files.append(file)
    if table.json_list or (table.wide and not _devices(table)):
        return []
    return files


def _shortest_match(pattern: str, of_group: Mapping[str, str]) -> str:
    """Return a name that matches a pattern: groups have the given values, and optional parts are omitted."""
    named = _GROUP.sub(lambda group: of_group[group[1]], pattern)
    return re.sub(r"\(\?:[^()]*\)\?", "", named).replace("\\", "")


def _devices(table: Table) -> list[str]:
    """Return those examples of a wide table's variable that match its pattern."""
    assert table.wide
    [column] = [column for column in table.columns if column.name == table.wide.variable]
    return [name for name in column.examples if re.fullmatch(table.wide.variable_pattern, name)]


def _expected_bytes(tables: tuple[Table, ...], scale: float) -> int:
    return sum(_rows(table, scale) * len(table.columns) * BYTES_PER_FIELD for table in tables)


def _rows(table: Table, scale: float) -> int:
    return scaled(table.about_rows, scale, LEAST_ROWS)


def _write(
    files: list[tuple[Table, list[_File]]],
    folder: Path,
    scale: float,
    rng: np.random.Generator,
    on_bytes: OnBytes,
) -> list[Path]:
    written, archives = [], dict[Path, list[Member]]()
    for table, of_table in files:
        for file in of_table:
            below = folder / file.folder
            text = _csv(table, max(LEAST_ROWS, _rows(table, scale) // len(of_table)), rng)
            if file.archive:
                archives.setdefault(below / f"{file.archive}.tar.gz", []).append(Member(file.name, text))
                on_bytes(len(text))
            else:
                written.append(write_bytes(below / file.name, text, on_bytes))
            if not table.has_header:
                header = ",".join(column.name_in_file for column in table.columns) + "\n"
                path = (below / file.name).with_suffix(".header")
                written.append(write_bytes(path, header.encode(), on_bytes))
    return [*written, *(write_tar_gz(path, members) for path, members in archives.items())]


def _csv(table: Table, rows: int, rng: np.random.Generator) -> bytes:
    frame = _wide_frame(table, rows, rng) if table.wide else _frame(table, rows, rng)
    text = csv_bytes(frame, table.has_header)
    if table.ends_in_comma:
        header, newline, lines = text.partition(b"\n") if table.has_header else (b"", b"", text)
        text = header + newline + lines.replace(b"\n", b",\n")
    return text if table.ends_in_newline else text.removesuffix(b"\n")


def _wide_frame(table: Table, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return the lines of a wide table as strings: the index, and a column for each device."""
    wide, devices = table.wide, _devices(table)
    assert wide
    columns = {column.name: column for column in table.columns}
    lines = max(1, rows // len(devices))
    texts: dict[str, list[str] | pl.Series] = {
        wide.index_header: [_text(columns[wide.index], number) for number in range(lines)]
    }
    for device in devices:
        numbers = np.ceil(lognormal(rng, lines, MEDIAN, SIGMA)).astype(np.int64)
        drawn = pl.Series([_text(columns[wide.value], number) for number in numbers.tolist()])
        texts[device] = _with_missing(table, columns[wide.value], drawn, rng)
    return pl.DataFrame(texts)


def _frame(table: Table, rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return the rows as strings, in the order of the publisher's columns."""
    keyed = _keys(table, rows)
    # A key with few values allows fewer distinct rows.
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
        texts[column.name_in_file] = _with_missing(table, column, drawn, rng)
    return pl.DataFrame(texts)


def _keys(table: Table, rows: int) -> dict[str, Ints]:
    """Return, for each key column, the number of its value in each row. The combinations are distinct.

    One column has as many different values as needed: the time, or a column without examples. The values of
    the other columns repeat. If all columns have examples, there are at most as many rows as combinations.
    """
    columns = {column.name: column for column in table.columns}
    # `table.key` may also name columns whose values come from the file name.
    key = [columns[name] for name in table.key if name in columns]
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
    """Return the value of a column for a number, in the notation of the raw files."""
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
    """Return the time that is `number` steps after the first time, in the notation of the raw files.

    If the column has examples, the first two give the first time and the step.
    """
    if column.stored_type.startswith("TIMESTAMP"):
        instant = FIRST_TIME + number * timedelta(seconds=STEP_S)
        if column.type in UNIX_UNITS:
            return str(int(instant.timestamp()) * UNIX_UNITS["UNIX_S"] // UNIX_UNITS[column.type])
        return f"{instant:%Y-%m-%d %H:%M:%S}" + ("+00:00" if column.type == "TIMESTAMPTZ" else "")
    if column.examples:
        first, second = (float(example) for example in column.examples[:2])
        return str(first + number * (second - first))
    return str(number * STEP_S * (1_000 if column.unit == "ms" else 1))
