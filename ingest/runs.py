"""Writes a table's rows as sorted runs: each a Parquet file, written while the rows of the next are read.

Rows are sorted within a run, not across: a sort of the whole table would have to wait for its last row, and
to keep or spill all that come before. A table of a few runs answers as fast as a sorted one, because the
statistics of each file say what ranges it holds, and most dumps come nearly in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.ingest import store
from tracehouse.ingest.store import StagedFile

RUN_BYTES = 48 << 20
PARQUET_OPTIONS = "format parquet, compression zstd, compression_level 1, parquet_version v2"

# Rows that compare equal stay as they came, so that the same raw files give the same bytes.
_ROW_NUMBER = "row number"


def write_runs(
    batches: Iterable[pa.Table],
    order_by: Sequence[str],
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    name: str,
    run_bytes: int = RUN_BYTES,
) -> list[StagedFile]:
    """Write batches of one schema as `folder/name.0.parquet` and so on; no file where there is no batch.

    Runs hold about `run_bytes` of Arrow memory; at most two are held at once. The connection lends its
    threads and memory to any number of writers. Raises what reading a batch raises.
    """
    written: list[StagedFile] = []
    with ThreadPoolExecutor(1) as writer:
        current: Future[StagedFile] | None = None
        for number, run in enumerate(_runs(batches, run_bytes)):
            if current:
                written.append(current.result())
            path = folder / f"{name}.{number}.parquet"
            current = writer.submit(_write, run, order_by, connection, path)
            del run
        if current:
            written.append(current.result())
    return written


def _runs(batches: Iterable[pa.Table], run_bytes: int) -> Iterator[pa.Table]:
    gathered: list[pa.Table] = []
    held_bytes = 0
    for batch in batches:
        gathered.append(batch)
        held_bytes += batch.nbytes
        if held_bytes >= run_bytes:
            yield pa.concat_tables(gathered)
            gathered, held_bytes = [], 0
    if held_bytes or gathered:
        yield pa.concat_tables(gathered)


def _write(
    run: pa.Table, order_by: Sequence[str], connection: duckdb.DuckDBPyConnection, path: Path
) -> StagedFile:
    listed = ", ".join(f'"{column}"' for column in (*order_by, _ROW_NUMBER))
    rows = f'select * exclude ("{_ROW_NUMBER}") from run order by {listed}'
    target = str(path.absolute()).replace("'", "''")
    with connection.cursor() as cursor:
        cursor.register("run", run.append_column(_ROW_NUMBER, pa.array(np.arange(run.num_rows))))
        written = cursor.execute(f"copy ({rows}) to '{target}' ({PARQUET_OPTIONS})").fetchall()[0][0]
        cursor.unregister("run")
    if written != run.num_rows:
        raise AssertionError(f"{path}: {run.num_rows} rows were read, {written} were written")
    return store.staged(path, run.num_rows)
