"""Readers of raw formats: each turns the bytes of a file into batches of rows and rejects.

Each format has a module that binds ``READER``, and `formats` chooses among them. A reader converts texts to
the declared types with `values`, and returns a `Reject` for every row that does not fit its table: the rows
and rejects of all batches add up to the rows of the file. It passes its batches through `limit_rejects`.

A reader gets a stream of decompressed bytes, which may be inside an archive and then cannot seek.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import pyarrow as pa

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declare.column_types import TYPES
from tracehouse.ingest.declare.trace import Table

# The beginning of a reason that names a column, as `values` writes it.
_COLUMN = re.compile(r"column .+ \((?P<type>[A-Z\[\]]+)\):")
# What differs between the reasons for one fault: numbers and quoted values.
_VALUES = re.compile(r"\d+|'.*'")
_MOST_REJECTED_SHARE = 0.1
# The number of rows is unknown before the end of a file, and bad rows may come first. Up to these limits,
# rejects are tolerated until the end of the file, regardless of their share.
MOST_REJECTS = 20_000
_MOST_REJECTED_BYTES = 16 << 20


@dataclass(frozen=True)
class ReaderInput:
    """The content of a file of a table.

    `name` is the file's name in errors. `indexes` are the line indexes of a wide table in other files; the
    reader adds the indexes of the lines that it reads. `chunk_bytes` is the number of bytes to read at once,
    0 for the format's default. `keys` are the values of the table's keys in the file's path. `partition` are
    the key values of the rows to read; other rows are skipped.
    """

    stream: BinaryIO
    table: Table
    name: str
    indexes: set[Hashable] = field(default_factory=set)
    chunk_bytes: int = 0
    keys: Mapping[str, str] = field(default_factory=dict)
    partition: Mapping[str, str] = field(default_factory=dict)
    tables_of_file: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Reject:
    """A row that does not fit its table: its line or row in the file, from 1, the reason, and its text.

    A long text is cut, as by `decode_text`.
    """

    line: int
    reason: str
    raw_text: str


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a file: those that fit the table, and the rejected ones.

    `rows` has first the keys that the file's path lacks and then the table's `read_columns`, in this order.
    For a wide table, it contains the lines of the CSV with the index and a column for each variable.
    A batch that `is_unended` is the last line of a file, without a newline.
    """

    rows: pa.Table
    rejects: tuple[Reject, ...] = ()
    is_unended: bool = False


@dataclass(frozen=True)
class Reader:
    """A raw format.

    `read` yields the batches of a file and raises RawFileError if the file is not of the table.
    `read_names` returns the columns' names in a file, and `names_fit` whether they are those of a table, in
    case two tables have files of the same name. Both are None if a file of the format can contain rows of
    several tables: it belongs to all tables whose file names it matches.
    `read_keys` lists the values of the `partition_by` keys in a file that has them as columns. It is None if
    files of the format do not.
    """

    read: Callable[[ReaderInput], Iterator[Batch]]
    read_names: Callable[[BinaryIO, str], list[str]] | None = None
    names_fit: Callable[[Table, Sequence[str]], bool] | None = None
    read_keys: Callable[[BinaryIO, Table, str], list[dict[str, str]]] | None = None


def limit_rejects(batches: Iterable[Batch], file: str) -> Iterator[Batch]:
    """Yield the batches of a file. Raises RawFileError if more than a tenth of the rows is rejected.

    Such a file is not what its name says. The error is raised at the end of the file, or as soon as the
    rejects exceed `MOST_REJECTS` or `_MOST_REJECTED_BYTES`.
    """
    rows = rejected = rejected_bytes = 0
    first: Reject | None = None
    columns: set[str] = set()
    faults: set[str] = set()

    def check(what: str) -> None:
        if first and rejected > _MOST_REJECTED_SHARE * rows:
            advice = "The file is damaged, or is not what its name says: fetch it again"
            # A damaged file has several faults, in several columns.
            if rejected == rows > 1 and len(columns) == 1 and (column := _COLUMN.match(first.reason)):
                declared = next(type_ for name, type_ in TYPES.items() if name == column["type"])
                advice = (
                    f"The file does not match the declared type {column['type']}: {declared.written}."
                    " Correct the declaration, or move the file out of the raw folder"
                )
            elif len(faults) == 1 and (rejected > 1 or rejected == rows):
                advice = "All of them have this fault: correct the file, or move it out of the raw folder"
            reason = f"{rejected:,} of {what} do not fit, more than a tenth; the first: {first.reason}"
            raise RawFileError(file, reason, advice, line=first.line)

    for batch in batches:
        first = first or next(iter(batch.rejects), None)
        rows += batch.rows.num_rows + len(batch.rejects)
        rejected += len(batch.rejects)
        columns |= {reject.reason.partition(":")[0] for reject in batch.rejects}
        faults |= {_VALUES.sub("", reject.reason) for reject in batch.rejects}
        rejected_bytes += sum(len(reject.raw_text) for reject in batch.rejects)
        if rejected > MOST_REJECTS or rejected_bytes > _MOST_REJECTED_BYTES:
            check(f"the first {rows:,} rows")
        yield batch
    check(f"its {rows:,} rows")
