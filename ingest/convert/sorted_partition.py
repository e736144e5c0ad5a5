"""Write the rows of a partition as one sorted Parquet file.

DuckDB sorts the rows. It spills rows that exceed its memory to the disk, so a partition may have any size.
"""

import threading
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.ingest.store.files import PARQUET_OPTIONS, StagedFile, stage

# Reading a file may take another 0.8 GB, so that the total stays below 2 GB.
_MEMORY = "700MB"
# A sort uses all cores and all of this memory, so partitions are sorted one after another.
_ONE_AT_A_TIME = threading.Lock()


def write_partition(
    batches: Iterator[pa.Table], order_by: Sequence[str], folder: Path, name: str
) -> list[StagedFile]:
    """Write batches of one schema as `folder/name.0.parquet`, and return it; no file if there is no batch.

    Raises the exceptions of `batches`.
    """
    path = folder / f"{name}.0.parquet"
    with _ONE_AT_A_TIME:
        first = next(batches, None)
        if first is None:
            return []
        _write(chain([first], batches), first.schema, order_by, path)
    return [stage(path, pq.read_metadata(path).num_rows)]


def _write(batches: Iterator[pa.Table], schema: pa.Schema, order_by: Sequence[str], path: Path) -> None:
    failures: list[BaseException] = []
    # DuckDB would replace an exception of the reader by one of its own.
    reader = pa.RecordBatchReader.from_batches(schema, _catch_failure(batches, failures))
    with duckdb.connect(
        config={"memory_limit": _MEMORY, "temp_directory": str(path.with_suffix(".sort"))}
    ) as connection:
        connection.register("batches", reader)
        rows = f"from batches order by {', '.join(map(_order_term, order_by))}"
        target = str(path).replace("'", "''")
        connection.execute(f"copy ({rows}) to '{target}' ({PARQUET_OPTIONS})")
    if failures:
        raise failures[0]


def _catch_failure(batches: Iterator[pa.Table], failures: list[BaseException]) -> Iterator[pa.RecordBatch]:
    try:
        for batch in batches:
            yield from batch.to_batches()
    except BaseException as failure:
        failures.append(failure)


def _order_term(name: str) -> str:
    direction = "desc" if name.startswith("-") else "asc"
    return f'"{name.removeprefix("-")}" {direction} nulls last'
