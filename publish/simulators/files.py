"""Write the files of an export in batches, in constant memory."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet

from tracehouse.engines.duckdb.read.answer import read
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.publish.simulators.format_spec import File, Layout


def write_file(
    connection: duckdb.DuckDBPyConnection, file: File, path: Path, header: Sequence[str] = ()
) -> None:
    """Write one file of an export, with header lines before its rows."""
    columns = ", ".join(f"{field.value} as {field.name}" for field in file.fields)
    reader = read(connection, BoundQuery(f"select {columns} from {file.rows} order by {file.order_by}"))
    if file.layout is Layout.PARQUET:
        _write_parquet(reader, file, path)
    elif file.layout is Layout.CSV:
        _write_csv(reader, path)
    else:
        _write_lines(reader, path, header)


def _write_parquet(reader: pa.RecordBatchReader, file: File, path: Path) -> None:
    optional = {field.name for field in file.fields if field.missing == "null"}
    schema = pa.schema([_parquet_field(one, one.name not in optional) for one in reader.schema])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch.cast(schema, safe=False))


def _parquet_field(column: pa.Field, is_required: bool) -> pa.Field:
    kind = pa.timestamp("ms", column.type.tz) if pa.types.is_timestamp(column.type) else column.type
    return pa.field(column.name, kind, nullable=not is_required)


def _write_csv(reader: pa.RecordBatchReader, path: Path) -> None:
    # Quote only where a value needs it: some simulators' parsers do not support quotes.
    with path.open("wb") as file:
        file.write(f"{','.join(reader.schema.names)}\n".encode())
        for batch in reader:
            polars.DataFrame(batch).write_csv(file, include_header=False, quote_style="necessary")


def _write_lines(reader: pa.RecordBatchReader, path: Path, header: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{line}\n" for line in header)
        for batch in reader:
            columns = [column.to_pylist() for column in batch.columns]
            lines.writelines(f"{' '.join(map(str, row))}\n" for row in zip(*columns, strict=True))
