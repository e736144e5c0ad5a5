"""Randomly changed raw files: their tables, and the rows that an independent reader finds in them."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tracehouse.ingest.declarations import Column, Table, Trace, Wide, all_traces

Row = tuple[object, ...]


@dataclass
class Expected:
    """What an independent reader finds in a raw file: by table, the number of rows and the rows to keep.

    If `exactly`, ingest must keep no other rows.
    """

    counts: dict[str, int] = field(default_factory=dict)
    rows: dict[str, Counter[Row]] = field(default_factory=dict)
    exactly: bool = False


@dataclass(frozen=True)
class Mutated:
    """A raw file: its name and bytes, and an independent reader of it, which returns None if it fails."""

    name: str
    data: bytes
    expect: Callable[[], Expected | None]


Make = Callable[[random.Random], Mutated]


def row_of(values: Iterable[object]) -> Row:
    """Return values as a hashable row. Lists become tuples."""
    return tuple(row_of(value) if isinstance(value, list) else value for value in values)


def _table(name: str, columns: Sequence[Column], ending: str = "csv", **options: object) -> Table:
    order_by = tuple(column.name for column in columns[:1])
    return Table(name, "", "", "", rf"{name}\.{ending}", tuple(columns), order_by=order_by, **options)  # type: ignore[arg-type]


ID = Column("id", "VARCHAR", "", required=True)
COUNT = Column("count", "BIGINT", "", "s")
SHARE = Column("share", "DOUBLE", "")
AT = Column("at", "TIMESTAMPTZ", "", offset_name="at_offset")
DAY = Column("day", "TIMESTAMP", "", null_texts=("", "None"))
NAMES = Column("names", "VARCHAR[]", "")
TYPED = (
    *(ID, COUNT, SHARE, Column("ok", "BOOLEAN", ""), AT, DAY),
    *(Column("seconds", "UNIX_S", ""), Column("millis", "UNIX_MS", ""), Column("text", "JSON", "")),
    *(NAMES, Column("sizes", "BIGINT[]", ""), Column("shares", "DOUBLE[]", "")),
)
PARQUET = (*TYPED[:4], replace(AT, offset_name=""), DAY, NAMES)
WIDE = (
    *(Column("time", "TIMESTAMPTZ", ""), Column("device", "VARCHAR", ""), Column("value", "DOUBLE", "")),
    Column("node", "VARCHAR", ""),
)
STEPS = (Column("step", "BIGINT", ""), *WIDE[1:3])
PST = replace(AT, offset_name="", zones=(("PST", "-08:00"),))
HOURLY = {
    "folder": r"day=(?P<day>\d+)/hour=(?P<hour>\d+)",
    "keys": (Column("day", "BIGINT", ""), Column("hour", "BIGINT", "")),
    "partition_by": ("day",),
    "converts_partitions": True,
    "archive_stem": "hourly",
}
JOB_LOG = tuple(table for table in all_traces()["philly"].tables if table.json_list)
TRACE = Trace(
    *("mutated", "", "", "", "", "", ""),
    (
        # The fastest parser of CSV reads the columns of `plain`.
        _table("plain", (ID, COUNT, SHARE)),
        _table("typed", TYPED, optional=frozenset({"shares"})),
        _table("bare", (ID, COUNT, PST), has_header=False, ends_in_comma=True, ends_in_newline=False),
        _table("single", (ID,)),
        _table("wide", WIDE, wide=Wide("Time", r"(?P<node>n\d+)-\d")),
        _table("steps", STEPS, wide=Wide("", ".*", index="step")),
        _table("lines", TYPED, "jsonl", optional=frozenset({"shares"})),
        *JOB_LOG,
        _table("columns", PARQUET, "parquet"),
        replace(_table("hourly", (ID, COUNT), **HOURLY), file_name=r"(hourly|pod-\d+)\.parquet"),
        replace(
            _table("part", (ID, COUNT, SHARE), keys=(Column("part", "BIGINT", ""),), archive_stem="archive"),
            file_name=r"part(?P<part>\d+)\.csv",
        ),
    ),
)
WIDE_TABLES = {table.name for table in TRACE.tables if table.wide}
