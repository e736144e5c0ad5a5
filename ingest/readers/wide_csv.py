"""Reads wide CSVs: a line for each time, a column for each device.

The cells stay in columns, as they are parsed; `cells` writes them as rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.core.errors import RawFileError
from tracehouse.core.names import printable
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers.records import (
    Chunk,
    fields,
    first_record,
    first_written,
    record_chunks,
    records_of,
    shown,
    without,
)
from tracehouse.ingest.readers.rejects import Batch, Reject
from tracehouse.ingest.readers.typed_csv import header_fits, read_chunks

# Some 1,400 lines of 2,300 devices: one device's cells are then enough to be stored side by side.
CHUNK_BYTES = 8 << 20
PARSED_AT_ONCE = 4


@dataclass(frozen=True)
class Lines:
    """Some lines of a wide CSV, in its order: their times, and each device's cells, NULL where empty."""

    devices: tuple[str, ...]
    times: pa.Array
    cells: tuple[pa.Array, ...]
    rejects: tuple[Reject, ...]


def read_wide(
    stream: BinaryIO, table: Table, file: str, seen: set[int], chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Lines]:
    """Read a CSV of the wide `table`.

    `seen` are the times, in microseconds since 1970, of lines that were read before from other files of
    the same devices; those read here are added. A line whose time is among them is rejected. `file` names
    the CSV in errors. Raises RawFileError where the header is wrong, or more than a tenth of the lines.
    """
    assert table.wide
    chunks = record_chunks(stream, file, chunk_bytes)
    first = first_written(chunks, file)
    header = first_record(first)
    devices = _devices(fields(header), table, table.wide.time_name, file, first.first_line)
    [kind] = [column.type for column in table.columns if column.name == table.wide.time]
    time = Column(table.wide.time_name, kind, "", required=True)
    columns = (time, *(Column(device, "DOUBLE", "") for device in devices))
    rest = chain([without(first, len(header))], chunks)
    for chunk, batch in read_chunks(rest, columns, table.ends_in_newline, file, PARSED_AT_ONCE):
        rows, rejects = _without_known_times(chunk, batch, seen)
        # One array a device: with thousands of columns, small arrays cost more than the values in them.
        whole = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
        times, *cells = whole[0].columns
        yield Lines(devices, times, tuple(cells), rejects)


def _devices(header: list[str], table: Table, time_name: str, file: str, line: int) -> tuple[str, ...]:
    if not header_fits(table, header):
        raise RawFileError(
            file,
            f"the header is {shown(header)}; expected {time_name} and then devices, none of them twice "
            "or without a name",
            "Fetch the file again from its publisher, or move it out of the raw folder",
            line=line,
        )
    return tuple(header[1:])


def _without_known_times(chunk: Chunk, batch: Batch, seen: set[int]) -> tuple[pa.Table, tuple[Reject, ...]]:
    """The lines whose times are new, and all rejects, repeated times included. Adds new times to `seen`."""
    times = batch.rows.column(0).cast(pa.int64()).to_pylist()
    before = len(seen)
    if seen.isdisjoint(times):
        seen.update(times)
        if len(seen) == before + len(times):
            return batch.rows, batch.rejects
        seen.difference_update(times)
    records = records_of(chunk)
    is_kept = ~np.isin(records.lines, [reject.line for reject in batch.rejects])
    lines, texts = records.lines[is_kept].tolist(), records.texts.filter(pa.array(is_kept))
    rejects = list(batch.rejects)
    is_new = []
    for time, line, text in zip(times, lines, texts, strict=True):
        is_new.append(time not in seen)
        seen.add(time)
        if not is_new[-1]:
            reason = "its time was read before, in an earlier line or file"
            rejects.append(Reject(line, reason, printable(text.as_py().rstrip(b"\r\n"))))
    rejects.sort(key=lambda reject: reject.line)
    return batch.rows.filter(pa.array(is_new, pa.bool_())), tuple(rejects)


def ascending(lines: Lines) -> Lines:
    """The same lines in the order of their times."""
    order = pc.sort_indices(lines.times)
    if pc.all(pc.equal(order, pa.array(np.arange(len(order), dtype=np.uint64)))).as_py():
        return lines
    cells = tuple(column.take(order) for column in lines.cells)
    return Lines(lines.devices, lines.times.take(order), cells, lines.rejects)
