"""Writes answers: CSV, JSON, NDJSON, Markdown, Parquet, Arrow, or a table for a terminal.

DuckDB writes the text formats and Parquet from Arrow, so that NULL, dates, time zones and integers of any
size come out as they are. An answer is spooled to disk first: one of any size takes little memory, and one
that fails half-way writes nothing.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tracehouse.ingest.errors import UsageError
from tracehouse.sql.formats import BINARY, BY_SUFFIX, Format
from tracehouse.views.base_tables import quoted

TABLE_ROWS = 200


_COPY_OPTIONS = {
    Format.CSV: "format csv, header",
    Format.JSON: "format json, array true",
    Format.NDJSON: "format json, array false",
    Format.PARQUET: "format parquet, compression zstd",
}


def chosen_format(asked: Format | None, output: Path | None) -> Format:
    """The format asked for; else by the output file's ending; else a table on a terminal, CSV in a pipe."""
    if asked is None:
        by_suffix = BY_SUFFIX.get(output.suffix) if output else None
        asked = by_suffix or (Format.TABLE if not output and sys.stdout.isatty() else Format.CSV)
    if asked in BINARY and output is None and sys.stdout.isatty():
        raise UsageError(f"{asked} is not for a terminal: name a file with --output, or pipe it")
    return asked


def write(reader: pa.RecordBatchReader, form: Format, output: Path | None) -> None:
    """Write an answer to a file, whole or not at all, or to standard output."""
    if output is not None and output.exists() and not output.is_file():
        raise UsageError(f"{output}: there is something else of that name, not a file")
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
    # Beside the output, so that taking its place is one step.
    with tempfile.TemporaryDirectory(dir=output.parent if output else None) as folder:
        half = Path(folder) / "answer"
        _write_file(reader, form, half, to_stream=output is None)
        if output is None:
            with half.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            half.replace(output)


def _write_file(reader: pa.RecordBatchReader, form: Format, path: Path, to_stream: bool) -> None:
    if form in _COPY_OPTIONS:
        spool = path.with_suffix(".spool")
        _write_arrow(reader, pa.ipc.new_file, spool)
        _copy(spool, form, path)
    elif form is Format.ARROW:
        _write_arrow(reader, pa.ipc.new_stream if to_stream else pa.ipc.new_file, path)
    else:
        lines = _markdown(reader) if form is Format.MARKDOWN else _table(reader, to_stream)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def _write_arrow(reader: pa.RecordBatchReader, kind: Callable[..., Any], path: Path) -> None:
    with kind(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _copy(spool: Path, form: Format, path: Path) -> None:
    # From a file, as DuckDB hangs where the query behind a stream that it copies from fails half-way.
    with closing(duckdb.connect()) as connection, pa.memory_map(str(spool)) as file:
        connection.execute("set timezone = 'UTC'")
        connection.register("answer", pa.ipc.open_file(file).read_all())
        connection.execute(f"copy (from answer) to {quoted(str(path))} ({_COPY_OPTIONS[form]})")
        connection.unregister("answer")


def _markdown(reader: pa.RecordBatchReader) -> Iterable[str]:
    yield _markdown_row(reader.schema.names)
    yield _markdown_row(["---:" if _is_number(field.type) else "---" for field in reader.schema])
    for batch in reader:
        for row in _rows(batch):
            yield _markdown_row([_exact(value).replace("|", "\\|").replace("\n", " ") for value in row])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(reader: pa.RecordBatchReader, to_stream: bool) -> Iterable[str]:
    """A table as a terminal shows it: the first rows, and a line that says how many more there are.

    Colours, and folding to the width, are for a terminal alone, not for a file that is written from one.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    for field in reader.schema:
        right = _is_number(field.type)
        grid.add_column(
            Text(field.name), justify="right" if right else "left", overflow="fold", no_wrap=right
        )
    shown = total = 0
    for batch in reader:
        total += batch.num_rows
        for row in _rows(batch.slice(0, TABLE_ROWS - shown)):
            grid.add_row(*(Text(_short(value), "dim" if value is None else "") for value in row))
            shown += 1
    console = Console(force_terminal=to_stream and sys.stdout.isatty())
    # Texts are folded to fit the terminal; a number that was folded, or cut, would be another number.
    narrowest = Measurement.get(console, console.options.update(width=10_000), grid)
    wanted = narrowest.minimum if console.is_terminal else narrowest.maximum
    console.width = max(console.width, wanted)
    with console.capture() as captured:
        console.print(grid)
    yield captured.get().strip("\n")
    if total > shown:
        yield f"{shown:,} of {total:,} rows; --format csv, or --output FILE, gives all"
    else:
        yield f"{total:,} row{'' if total == 1 else 's'}"


def _rows(batch: pa.RecordBatch) -> Iterable[Sequence[Any]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _exact(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _short(value: Any) -> str:
    """A value for the eye: a float to seven digits or so, with one to four places."""
    if not isinstance(value, float) or value != value or value in (float("inf"), -float("inf")):
        return _exact(value)
    if value and abs(value) < 0.001:
        return f"{value:.4g}"
    places = max(1, min(4, 7 - len(str(int(abs(value))))))
    return f"{value:.{places}f}".rstrip("0").rstrip(".")
