"""Declarations of traces: their tables, columns and raw files.

A trace is one module or package in `tracehouse.ingest.traces` that binds ``TRACE`` to a `Trace`. `all_traces`
imports every one of them, so a new trace changes no other module.
"""

import hashlib
import importlib
import importlib.util
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any, Literal

from tracehouse.core.errors import DefinitionError
from tracehouse.core.field_types import check_types
from tracehouse.core.text import escape_name
from tracehouse.ingest import traces
from tracehouse.ingest.declare.column_types import TypeName
from tracehouse.ingest.declare.metadata import (
    Caveat,
    Clock,
    MetricSupport,
    PublishedFile,
    SkippedFile,
)
from tracehouse.ingest.declare.sample_distributions import Distribution

# Increase this number when a reader returns other rows for the same bytes. Ingest then converts all files
# again.
READER_VERSION = 4

Provenance = Literal["measured", "derived", "synthetic"]
TriedOn = Literal["real files", "part of a file", "format only"]
Limit = float | str


@dataclass(frozen=True)
class Column:
    """One published column. `comment` is its meaning. `unit` is empty if the column has no unit.

    `null_texts` are the publisher's texts for a missing value, in addition to the empty field and, unless
    the type is VARCHAR, to `column_types.MISSING`. Rows without a value of a `required` column are rejected.
    A number in seconds or milliseconds is a time on one of the trace's clocks unless it `is_duration`.
    `examples` are texts as the publisher writes them. Synthetic samples draw from them. If the column is a
    time in seconds or milliseconds, the samples' times start at the first example and advance in steps of the
    difference between the first two.
    Synthetic samples draw the values from `sample`, if set.
    `clocks` are the clocks of times, by default that of the trace. `caveats` are the pitfalls of the column.
    A TIMESTAMPTZ is stored as an instant. `offset_name`, if set, names an additional column that keeps the
    UTC offset in the file. `zones` maps names of time zones in the file to UTC offsets: ("PST", "-08:00").
    A TIMESTAMP that `may_be_utc` may end in Z or in an offset of zero, as in some files of the publisher.
    `header` is the column's name in the header of a CSV if it differs from `name`; "" if that field is empty.
    A published name with spaces gets underscores in the table: Session_ID for "Session ID".
    A value should be at least `least`, at most `most`, more than `above` and less than `below`, one of the
    `choices`, and match the regular expression `pattern` as a whole. `traces check` counts the rows whose
    value violates a limit; ingest does not reject them, but refuses a file whose path has such an integer.
    Limits of times are texts.
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
    may_be_utc: bool = False
    header: str | None = None
    least: Limit | None = None
    most: Limit | None = None
    above: Limit | None = None
    below: Limit | None = None
    choices: tuple[str | int, ...] = ()
    pattern: str = ""
    clocks: tuple[Clock, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    sample: Distribution | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_types(self)
        if self.header is None and " " in self.name:
            object.__setattr__(self, "header", self.name)
            object.__setattr__(self, "name", self.name.replace(" ", "_"))

    @property
    def name_in_file(self) -> str:
        """The column's name in the header of a CSV."""
        return self.name if self.header is None else self.header

    @property
    def is_time(self) -> bool:
        """Whether the values are points in time on a clock, and not durations."""
        is_count = self.unit in ("s", "ms") and not self.is_duration
        return is_count or self.type.startswith("TIMESTAMP")


@dataclass(frozen=True)
class Wide:
    """How to unpivot a wide CSV: every cell becomes a row.

    The first column of the CSV contains the index of each line: a time, a job or a number. Its name in the
    header is `index_header`, "" if that field is empty. All other columns contain numbers.
    `index`, `variable` and `value` are columns of the table. They receive the line's index, the name of the
    cell's column in the CSV, and the cell, which is NULL if empty. `variable_pattern` is a regular expression
    for the whole name of a column in the CSV. Its named groups fill the table's remaining columns, with NULL
    for names that do not match.
    A line is rejected if its index occurred before, in the same file or in another file of the partition. All
    files of a partition are converted together.
    Therefore the table needs no `key`. `variable` may have any type.
    """

    index_header: str
    variable_pattern: str
    index: str = "time"
    variable: str = "device"
    value: str = "value"


@dataclass(frozen=True)
class JsonList:
    """A file that is one JSON list of objects, the rows of one or more tables.

    Without `path`, the rows of the table are the objects of the file's list. With `path`, they are the
    objects of nested lists: the first name is a list in each object of the file's list, the second name a
    list in each object of the first one, and so on. `positions` are columns for an object's position in each
    list of `path`, from 1. `outer` are columns that come from the outermost object. `other_lists` are lists
    in a row's object that contain rows of other tables.
    """

    path: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()
    outer: tuple[str, ...] = ()
    other_lists: tuple[str, ...] = ()


# What a module that declares a trace may raise while it is imported.
_INVALID = (AttributeError, ImportError, NameError, SyntaxError, TypeError, ValueError)
# \d also matches the digits of other scripts.
_INTEGER_KEY = re.compile("[0-9]{1,18}")
_SHOWN_KEY = 40
_LIMITS: dict[str, tuple[str, Callable[[int, Any], bool]]] = {
    "least": ("at least", ge),
    "most": ("at most", le),
    "above": ("above", gt),
    "below": ("below", lt),
}
_ALTERNATIVES = re.compile(r"\(\?P<\w+>(\w+(?:\|\w+)*)\)")


@dataclass(frozen=True)
class Rule:
    """A condition on each row. `rule` describes it; `breach` is SQL that is true for a row that violates it.

    `traces check` fails if a row violates the rule, unless a `caveat` explains it.
    """

    name: str
    rule: str
    breach: str
    kind: Literal["range", "derived", "coverage"] = "range"
    caveat: str = ""


@dataclass(frozen=True)
class Reference:
    """A foreign key: `columns` whose values must occur together in another `table` of the trace.

    It is checked only if the other table has rows. `targets` are the columns' names in the other table, if
    they differ. The rule is called `name`, by default `in_` and the name of the other table. A row with a
    NULL in one of the columns does not violate it.
    """

    columns: tuple[str, ...]
    table: str
    targets: tuple[str, ...] = ()
    name: str = ""
    caveat: str = ""

    @property
    def rule_name(self) -> str:
        """The name of the rule, without that of its table."""
        return self.name or f"in_{self.table}"


@dataclass(frozen=True)
class Table:
    """A base table and its raw files.

    `file_name` is a regular expression for the whole name of an uncompressed raw file, on its own or inside
    an archive. `folder`, if set, is a regular expression for the name of the folder that contains the file,
    or for the names of several nested folders, separated by slashes; case is ignored, and an alternative is
    stored as it is declared. The named groups of both are the values of `keys`: columns that the publisher
    encodes only in names of files and folders. `archive_stem` is a regular expression for the name, without
    extension, of an archive that contains the file. Such an archive may contain files of other tables. It is
    a tar, or a zip if the table `converts_partitions`.
    Files may lack `optional` columns, which are then NULL. `has_header` is false if the header is in a
    separate `.header` file, which ingest does not read, or missing. `ends_in_newline` is false if the
    publisher's files have no newline at the end; otherwise ingest notes that it kept such a last line.
    `ends_in_comma` is true if the publisher writes a comma after the last field.
    `json_list` describes the rows of a file that is one JSON list. `wide` describes a wide CSV.
    `key` are the columns that identify a row. `never_empty` are columns that have a value in every row.
    `traces check` tests both, the `rules`, the `references` and the limits of columns. Ingest does not reject
    rows that violate them.
    Rows are stored in the order of `order_by`, in one folder for each value of the `partition_by` keys, which
    are also columns of each file. If `order_by` begins with a text, and the rows of each text are adjacent in
    the raw file, they stay as they are. A minus before a name means descending order. A wide table is sorted
    only within each block of lines.
    If `converts_partitions`, all rows of a partition are converted together and sorted as one file. They come
    from the files in a tree of folders or in an archive, or from a file that has the keys as columns.
    Otherwise each raw file is converted alone.
    `published_sha256` maps file names to the checksums that the publisher printed, or that the files have in
    the publisher's repository.
    `caveats` are the pitfalls of the whole table; declare those of a column with it.
    `row_number`, if set, names an additional column with the position of the row in its file, for rows that
    no key identifies or whose order matters.
    `about_rows` is the number of rows in the publisher's files, and in a synthetic sample at scale 1.
    `published_rows` are the rows of each complete file, by the file's name without folders, or of all files
    together under the empty name. `published_partitions` is the number of partitions of the complete table.
    They tell a part of a trace from a complete one; leave them empty if they are not known.
    `tried_on` says which of the publisher's files the declaration was tried on; "format only" if it follows
    the publisher's documents alone, which a real file may contradict.
    `is_summary` is true if the rows are figures that the publisher computed from other data: no published
    figure may be measured by them.
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
    converts_partitions: bool = False
    folder: str = ""
    wide: Wide | None = None
    json_list: JsonList | None = None
    ends_in_comma: bool = False
    about_rows: int = 10_000
    rules: tuple[Rule, ...] = ()
    references: tuple[Reference, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    row_number: str = ""
    tried_on: TriedOn = "format only"
    is_summary: bool = False
    published_rows: dict[str, int] = field(default_factory=dict)
    published_partitions: int = 0

    def __post_init__(self) -> None:
        check_types(self)

    def column(self, name: str) -> Column:
        """Return one of the publisher's columns."""
        return next(column for column in self.columns if column.name == name)

    @cached_property
    def names_in_file(self) -> tuple[list[str], set[str]]:
        """The names in the header of a CSV, and those that may be missing."""
        optional = {column.name_in_file for column in self.columns if column.name in self.optional}
        return [column.name_in_file for column in self.columns], optional

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """The columns of the base table, in order: keys, the publisher's columns, UTC offsets, row number."""
        return self.keys + self.read_columns + self._row_number_columns

    @property
    def _row_number_columns(self) -> tuple[Column, ...]:
        meaning = "Position of the row in its file, from 1; rejected rows are not counted"
        return (Column(self.row_number, "BIGINT", meaning, "", "derived"),) if self.row_number else ()

    @property
    def is_read_by_partition(self) -> bool:
        """Whether all files of a partition are converted together: hours of a day, or parts of a wide table.

        Their rows are sorted together, and a line that several parts of a wide table contain is stored once.
        """
        return self.converts_partitions or (self.wide is not None and bool(self.partition_by))

    @property
    def read_columns(self) -> tuple[Column, ...]:
        """The columns that come from a file's content: the publisher's columns and UTC offsets."""
        offsets = (
            Column(column.offset_name, "VARCHAR", f"UTC offset of {column.name}, as the publisher wrote it")
            for column in self.columns
            if column.offset_name
        )
        return (*self.columns, *offsets)

    def key_values(self, file_name: str, folder_name: str = "") -> dict[str, str] | None:
        """Return the values of `keys` in the names of a file and its folders; None if the names do not match.

        A folder matches with any text in place of an integer: see `key_fault`. If the table
        `converts_partitions`, a file in any other folder matches without values, because it may have the keys
        as columns.
        """
        name = self._file_name.fullmatch(file_name)
        if not name:
            return None
        innermost = folder_name.split("/")[-self.folder_depth :] if self.folder else []
        folder = re.fullmatch(self._any_folder, "/".join(innermost), re.IGNORECASE)
        if not (folder or self.converts_partitions):
            return None
        values: dict[str, str] = {}
        if folder:
            declared = {text.lower(): text for text in self.folder_names}
            in_folder = folder.groupdict().items()
            values = name.groupdict() | {key: declared.get(text.lower(), text) for key, text in in_folder}
        return values

    @cached_property
    def _file_name(self) -> re.Pattern[str]:
        # Each raw file is compared with the pattern of each table.
        return re.compile(self.file_name)

    @cached_property
    def _any_folder(self) -> str:
        """The pattern `folder` with any text in place of an integer."""
        integers = "|".join(column.name for column in self._integer_keys)
        return re.sub(rf"\(\?P<({integers})>[^()]*\)", r"(?P<\1>[^/]*)", self.folder)

    @property
    def _integer_keys(self) -> list[Column]:
        return [column for column in self.keys if column.type == "BIGINT"]

    def key_fault(self, keys: Mapping[str, str]) -> str:
        """Return why one of the values of `keys` is not an integer within the limits; empty if all are."""
        for column in [column for column in self._integer_keys if column.name in keys]:
            text = keys[column.name]
            declared = {name: getattr(column, name) for name in _LIMITS}
            limits = [(*_LIMITS[name], limit) for name, limit in declared.items() if limit is not None]
            if not _INTEGER_KEY.fullmatch(text):
                fault = "not a whole number of at most 18 digits"
            elif not all(holds(int(text), limit) for _, holds, limit in limits):
                fault = "not " + " and ".join(f"{words} {limit}" for words, _, limit in limits)
            else:
                continue
            shown = text if len(text) <= _SHOWN_KEY else f"{text[:_SHOWN_KEY]}…"
            return f"{column.name} is {escape_name(shown)}, {fault}"
        return ""

    def normal_keys(self, keys: Mapping[str, str]) -> dict[str, str]:
        """Return the values of `keys` with integers as Python writes them: 7 for 07."""
        integers = {column.name for column in self._integer_keys if column.name in keys}
        return {key: str(int(text)) if key in integers else text for key, text in keys.items()}

    def partition_of(self, keys: Mapping[str, str]) -> str:
        """Return the partition that values of `keys` belong to, such as ``day=3``.

        It is empty if the table has no partitions or a `partition_by` key has no value, or an invalid one.
        """
        if any(key not in keys for key in self.partition_by):
            return ""
        chosen = {key: keys[key] for key in self.partition_by}
        if self.key_fault(chosen):
            return ""
        return "/".join(f"{key}={value}" for key, value in self.normal_keys(chosen).items())

    @property
    def folder_depth(self) -> int:
        """The number of nested folders that `folder` matches."""
        return self.folder.count("/") + 1 if self.folder else 0

    @cached_property
    def folder_names(self) -> list[str]:
        """The alternatives in `folder`, such as the clusters of a trace; none if it has a pattern."""
        return [text for group in _ALTERNATIVES.findall(self.folder) for text in group.split("|")]

    def has_name(self, file_name: str) -> bool:
        """Return whether a file of this name, in any folder, may contain rows of the table."""
        return self._file_name.fullmatch(file_name) is not None

    def fingerprint(self) -> str:
        """Return a hash of the options that determine the stored rows.

        Ingest converts files again if the hash changes.
        """
        options = (
            READER_VERSION,
            [
                (c.name, c.name_in_file, c.type, c.null_texts, c.required, c.zones)
                for c in self.stored_columns
            ],
            (self.file_name, self.folder, sorted(self.optional)),
            (self.has_header, self.ends_in_newline, self.ends_in_comma),
            (self.order_by, self.partition_by, self.converts_partitions),
            (self.wide, self.json_list),
            *filter(None, [self.row_number]),
            *(column.name for column in self.stored_columns if column.may_be_utc),
        )
        return hashlib.sha256(repr(options).encode()).hexdigest()


@dataclass(frozen=True)
class Requests:
    """Which columns of a table hold requests to an inference service, one per row.

    From it follow the view `<trace>.request` and the trace's rows in `unified.requests`. All fields are names
    of columns, "" if the publisher has no such column, except `block_tokens`, the number of tokens of a
    prefix block, and `failed` and `completed`, SQL conditions on the outcome. Without `completed`, requests
    that did not fail are completed. `at` is the arrival, and `latency` the time to the complete answer. Lists
    in `prefix_blocks` have equal numbers for equal prefixes.
    """

    table: str
    at: str
    workload: str = ""
    model: str = ""
    session: str = ""
    input: str = ""
    output: str = ""
    latency: str = ""
    failed: str = ""
    completed: str = ""
    prefix_blocks: str = ""
    block_tokens: int | None = None

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True)
class Trace:
    """A publisher's data set.

    `clock` is the clock of all times whose column names none. `caveats` are pitfalls that concern parts of
    several tables; declare the others with their column or table. `metrics` are the metrics that the trace
    supports, `files` its raw files. `skipped_files` are files of the publisher that ingest leaves out.
    `requests` are the requests of an inference service, if it is one.
    """

    name: str
    title: str
    publisher: str
    homepage: str
    download: str
    licence: str
    citation: str
    tables: tuple[Table, ...]
    clock: Clock | None = None
    caveats: tuple[Caveat, ...] = ()
    metrics: tuple[MetricSupport, ...] = ()
    files: tuple[PublishedFile, ...] = ()
    requests: Requests | None = None
    skipped_files: tuple[SkippedFile, ...] = ()

    def __post_init__(self) -> None:
        check_types(self)

    @cached_property
    def objects_by_caveat(self) -> dict[Caveat, tuple[str, ...]]:
        """The full names of the tables and columns that each caveat concerns, in the order of declaration."""
        found = {caveat: dict.fromkeys(caveat.concerns) for caveat in self.caveats}
        for name, declared in self._declared_objects():
            for caveat in declared.caveats:
                found.setdefault(caveat, dict.fromkeys(caveat.concerns))[name] = None
        return {caveat: tuple(names) for caveat, names in found.items()}

    @cached_property
    def columns_by_clock(self) -> dict[Clock, tuple[str, ...]]:
        """The full names of the columns of times on each clock, in the order of declaration."""
        found: dict[Clock, list[str]] = {}
        for name, declared in self._declared_objects():
            if isinstance(declared, Column):
                for clock in self.clocks_of(declared):
                    found.setdefault(clock, []).append(name)
        return {clock: tuple(names) for clock, names in found.items()}

    def clocks_of(self, column: Column) -> tuple[Clock, ...]:
        """Return the clocks of a column. That of the trace is the default of times."""
        return column.clocks or ((self.clock,) if self.clock and column.is_time else ())

    def clock_of(self, column: Column) -> Clock | None:
        """Return the clock of a time, None if it is on several."""
        clocks = self.clocks_of(column)
        return clocks[0] if len(clocks) == 1 else None

    def table(self, name: str) -> Table:
        """Return the table of a name. Raises KeyError if there is none."""
        return {table.name: table for table in self.tables}[name]

    def _declared_objects(self) -> Iterator[tuple[str, Table | Column]]:
        for table in self.tables:
            yield f"{self.name}.{table.name}", table
            for column in table.stored_columns:
                yield f"{self.name}.{table.name}.{column.name}", column


@cache
def all_traces() -> dict[str, Trace]:
    """Return all traces by name, in alphabetical order. Raises DefinitionError if one is invalid."""
    return {name: load_trace(name) for name in traces.trace_names()}


def all_caveats() -> dict[Caveat, tuple[str, ...]]:
    """Return every caveat with the full names of the tables and columns that it concerns."""
    return {k: v for trace in all_traces().values() for k, v in trace.objects_by_caveat.items()}


def all_clocks() -> dict[Clock, tuple[str, ...]]:
    """Return every clock with the full names of its columns."""
    return {k: v for trace in all_traces().values() for k, v in trace.columns_by_clock.items()}


def load_trace(name: str) -> Trace:
    """Import the module of a trace. Raises DefinitionError with the line that is invalid."""
    try:
        declared: Trace = importlib.import_module(f"{traces.__name__}.{name}").TRACE
    except _INVALID as error:
        raise DefinitionError(_find_place(name, error), str(error)) from error
    if declared.name != name:
        raise DefinitionError(
            _find_place(name), f"the trace is called {declared.name}: rename one of the two"
        )
    return declared


def _find_place(name: str, error: BaseException | None = None) -> str:
    """Return the file of a trace, and the line of it that raised an error."""
    files = [str(path) for path in list_modules(name)]
    if isinstance(error, SyntaxError) and error.filename in files:
        return f"{error.filename}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__) if error else []
    places = [f"{frame.filename}, line {frame.lineno}" for frame in frames if frame.filename in files]
    return places[-1] if places else files[0]


def list_modules(name: str) -> list[Path]:
    """Return the files that declare a trace: its module, or those of its package, `__init__.py` first."""
    spec = importlib.util.find_spec(f"{traces.__name__}.{name}")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin)
    return sorted(path.parent.glob("*.py")) if path.name == "__init__.py" else [path]
