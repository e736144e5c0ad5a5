"""What a trace is: its tables, their columns, and how its raw files are called.

A trace is one module of `tracehouse.ingest.traces` that binds ``TRACE`` to a `Trace`. `all_traces` finds
them, so that adding a trace changes no other module.
"""

import hashlib
import importlib
import pkgutil
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from tracehouse.ingest import traces
from tracehouse.ingest.column_types import TYPES, TypeName

# To be increased when the reader gives other rows for the same bytes, so that warehouses are converted again.
READER_VERSION = 2

Provenance = Literal["measured", "derived", "synthetic"]
Limit = float | str


@dataclass(frozen=True)
class Column:
    """One published column. `comment` says what it means; `unit` is empty where it has none.

    `null_texts` are what this publisher writes there for a missing value, beside the empty field. A row
    without a `required` value is rejected.
    A number of seconds or milliseconds is a time on one of the trace's clocks, unless it `is_duration`.
    `examples` are texts that the publisher writes there; synthetic samples draw them, or, of a time that is a
    number, go on from the first in steps to the second.
    A TIMESTAMPTZ is stored as an instant; `offset_name`, if given, is one more column of the table, which
    keeps the UTC offset that the publisher wrote. `zones` are names that he writes in place of an offset,
    each with the offset that it stands for: ("PST", "-08:00").
    `header` is the column's name in the file, where that is no name for a column.
    A value should be at least `least`, at most `most`, more than `above` and less than `below`, one of the
    `choices`, and match the regular expression `pattern` as a whole. `traces check` counts the rows where it
    does not; no row is rejected for that. The limit of a time is text.
    """

    name: str
    type: TypeName
    comment: str
    unit: str = ""
    provenance: Provenance = "measured"
    offset_name: str = ""
    null_texts: tuple[str, ...] = ()
    required: bool = False
    is_duration: bool = False
    examples: tuple[str, ...] = ()
    zones: tuple[tuple[str, str], ...] = ()
    header: str = ""
    least: Limit | None = None
    most: Limit | None = None
    above: Limit | None = None
    below: Limit | None = None
    choices: tuple[str | int, ...] = ()
    pattern: str = ""

    @property
    def name_in_file(self) -> str:
        """What the column is called in the publisher's files."""
        return self.header or self.name

    @property
    def is_time(self) -> bool:
        """Whether its values are points in time, which need a clock, rather than durations."""
        is_count = self.unit in ("s", "ms") and not self.is_duration
        return is_count or self.stored_type.startswith("TIMESTAMP")

    @property
    def stored_type(self) -> str:
        """DuckDB's name of the type that it is stored with."""
        return TYPES[self.type].stored


@dataclass(frozen=True)
class Wide:
    """A CSV with a line for each time and a column for each device: a row of the table for each cell.

    `time_name` is the CSV's column of times; all others are devices. `time`, `device` and `value` are the
    table's columns for the time, the name of the CSV's column as it stands, and the cell, NULL where it is
    empty. The named groups of `device_name`, a regular expression for a whole name, give the table's other
    columns, NULL where the name does not match. A line whose time was read before is rejected.
    """

    time_name: str
    device_name: str
    time: str = "time"
    device: str = "device"
    value: str = "value"


@dataclass(frozen=True)
class JsonList:
    """A file that is one JSON list of objects, of which several tables may be made.

    The table's rows are the objects in the list; with `path`, those in their lists of the first name, and so
    on. `apart` are the lists in these objects that are other tables' rows. For each name in `path`, `places`
    has a column for the place in that list, from 1. `outer` are columns whose values are those of the object
    of the file's list that a row lies in.
    """

    path: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    outer: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """What must hold in each row by itself. `breach` is an SQL condition, true of a row that breaks the rule.

    `rule` says what must hold. Breaches fail `traces check`, unless a `caveat` explains them.
    """

    name: str
    rule: str
    breach: str
    kind: Literal["range", "derived", "coverage"] = "range"
    caveat: str = ""


@dataclass(frozen=True)
class Reference:
    """Columns whose values must occur together in another table of the trace, if that table has rows.

    `targets` are the names of these columns there, where they differ. The rule is called `name`, by default
    `in_` and the name of the other table. A row with a NULL in one of the columns breaks no rule.
    """

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...] = ()
    name: str = ""
    caveat: str = ""


@dataclass(frozen=True)
class Table:
    """One base table and the raw files that it is read from: CSVs, or JSON lines where they end in `.jsonl`.

    `file_name` is a regular expression for the whole name of such a file, by itself or inside an archive,
    without an ending where its publisher gives it none, and `folder` for the name of the folder that it must
    lie in, if that says anything; their named groups give the values of `keys`, the columns that a publisher
    put in the names only.
    `archive_stem` is a regular expression for the name, without its ending, of the archive that carries the
    file, where there is one: it may be packed in any way, and hold files of other tables too.
    Files may lack `optional` columns: their rows then hold NULL. `has_header` is false where the
    publisher ships the names apart, in a `.header` file, or not at all. `ends_in_newline` is false where
    the last line of the publisher's files has no end; otherwise such a line is rejected, as one cut short.
    `ends_in_comma` is true where the publisher writes a comma behind the last field of a line.
    `json_list` says which objects of a JSON list are the rows, where a file is one, whatever it ends in.
    `published_sha256` maps a file's name to the checksum that its publisher printed.
    `key` are the columns that tell its rows apart, empty where none do, and `never_empty` those that have a
    value in every row: `traces check` looks whether both hold, and whether the `rules` and `references` and
    the limits of the columns do; none of them rejects a row.
    Rows are stored in the order of `order_by`, one directory for each value of the `partition_by` keys.
    A `wide` table's columns are made from cells; its order holds within a block of times.
    `about_rows` is how many rows the publisher's files have: a synthetic sample at scale 1 has as many.
    """

    name: str
    comment: str
    grain: str
    source: str
    file_name: str
    columns: tuple[Column, ...]
    keys: tuple[Column, ...] = ()
    archive_stem: str = ""
    optional: frozenset[str] = frozenset()
    has_header: bool = True
    ends_in_newline: bool = True
    published_sha256: dict[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    never_empty: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    folder: str = ""
    wide: Wide | None = None
    json_list: JsonList | None = None
    ends_in_comma: bool = False
    about_rows: int = 10_000
    rules: tuple[Rule, ...] = ()
    references: tuple[Reference, ...] = ()

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """The columns of the base table, in order: the keys, the publisher's, the offsets of times."""
        return self.keys + self.read_columns

    @property
    def read_columns(self) -> tuple[Column, ...]:
        """What a CSV gives: the publisher's columns, and the offsets of times."""
        offsets = (
            Column(column.offset_name, "VARCHAR", f"UTC offset of {column.name}, as the publisher wrote it")
            for column in self.columns
            if column.offset_name
        )
        return (*self.columns, *offsets)

    def key_values(self, file_name: str, folder_name: str = "") -> dict[str, str] | None:
        """The key columns' values in the names of a file and its folder, or None where they do not fit."""
        name = re.fullmatch(self.file_name, file_name)
        folder = re.fullmatch(self.folder, folder_name if self.folder else "")
        return name.groupdict() | folder.groupdict() if name and folder else None

    def has_name(self, file_name: str) -> bool:
        """Whether a file of this name may hold its rows, wherever it lies."""
        return re.fullmatch(self.file_name, file_name) is not None

    def fingerprint(self) -> str:
        """A hash of all that determines the stored rows: when it changes, raw files are converted again."""
        layout = [(c.name, c.type, c.null_texts, c.required) for c in self.stored_columns]
        order = (self.order_by, self.partition_by)
        reading = (READER_VERSION, self.has_header, self.file_name, self.ends_in_newline)
        parts: tuple[object, ...] = (layout, sorted(self.optional), order, reading, self.folder, self.wide)
        # What few tables have is there for these alone: all others keep the hash that their warehouses have.
        rare = (self.json_list, self.ends_in_comma, [(c.zones, c.header) for c in self.stored_columns])
        if rare != (None, False, [((), "")] * len(self.stored_columns)):
            parts = (*parts, rare)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Trace:
    """One publisher's data set."""

    name: str
    title: str
    publisher: str
    homepage: str
    download: str
    licence: str
    citation: str
    tables: tuple[Table, ...]


@cache
def all_traces() -> dict[str, Trace]:
    """Every trace that this package knows, by name, in alphabetical order."""
    modules = (
        importlib.import_module(f"{traces.__name__}.{found.name}")
        for found in pkgutil.iter_modules(traces.__path__)
    )
    declared = (module.TRACE for module in modules)
    return {trace.name: trace for trace in sorted(declared, key=lambda trace: trace.name)}
