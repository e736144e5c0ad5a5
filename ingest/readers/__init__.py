"""Readers of raw formats.

A format is one module of `ingest.readers.formats` that binds ``READER`` to a `Reader`. `all_readers` imports
every module of that package, so a new format changes no other module. A reader consists of

- `extensions`: the extensions of its files, the usual one first, such as ("csv",);
- `reads`: whether it reads the files of a table, by the table's declaration and the file's name. Exactly one
  reader must accept a file;
- `read_names` and `names_fit`: how the columns' names in a file identify its table, if two tables' files have
  the same name;
- `read`: yields the rows of a file in batches. A reader converts texts to the declared types with `values`,
  and returns a `Reject` for every row that does not fit its table. The numbers of rows and rejects in all
  batches add up to the number of rows in the file. If more than a tenth of the rows is rejected, the reader
  raises RawFileError via `rejects.limit_rejects`.

A reader gets a stream of decompressed bytes, which may be inside an archive and cannot seek. A format that
needs to seek, such as Parquet, sets `read_keys` and gets a seekable stream.
"""

import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO

import pyarrow as pa

from tracehouse.ingest.declarations import Table


@dataclass(frozen=True)
class Content:
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
    For a wide table, it contains the lines of the CSV with the index and a column for each variable. Texts
    may be encoded with dictionaries.
    """

    rows: pa.Table
    rejects: tuple[Reject, ...] = ()


@dataclass(frozen=True)
class Reader:
    """A raw format; see the docstring of this package.

    `read_names` is None if a file of the format can contain rows of several tables. Such a file belongs to
    all tables whose file names it matches. `read_keys` lists the values of the `partition_by` keys in a file
    that has them as columns. It is None if the format reads its stream from start to end.
    """

    extensions: tuple[str, ...]
    reads: Callable[[Table, str], bool]
    read: Callable[[Content], Iterator[Batch]]
    read_names: Callable[[BinaryIO, str], list[str]] | None
    names_fit: Callable[[Table, Sequence[str]], bool]
    read_keys: Callable[[BinaryIO, Table, str], list[dict[str, str]]] | None = None


@cache
def all_readers() -> tuple[Reader, ...]:
    """Return the readers of all formats, in the order of their modules' names."""
    formats = importlib.import_module(f"{__name__}.formats")
    found = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return tuple(importlib.import_module(f"{formats.__name__}.{name}").READER for name in found)


def reader_of(table: Table, file_name: str) -> Reader:
    """Return the reader of a table's file. `file_name` is the name of the decompressed file."""
    return next(reader for reader in all_readers() if reader.reads(table, file_name))
