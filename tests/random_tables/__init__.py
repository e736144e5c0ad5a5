"""Random small tables, one module per trace, and invariants of the trace's views on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

Invariant = Callable[[Any, duckdb.DuckDBPyConnection], None]
"""Checks a warehouse of random tables. The first argument is the result of `Case.write`."""


@dataclass(frozen=True)
class Case:
    """Random raw files, and what to compare on them.

    `write` draws tables for a seed, writes their raw files below a folder, and returns the tables. `count`
    returns the rows written per base table, or an empty mapping if ingest may reject rows. `views` and
    `queries` are reference implementations, as in `twins`. `prepare` sets up the session.
    """

    write: Callable[[Path, int], Any]
    count: Callable[[Any], Mapping[str, int]]
    views: Mapping[str, tuple]
    queries: Mapping[str, tuple]
    invariants: Sequence[Invariant] = ()
    prepare: Invariant = lambda *_: None
