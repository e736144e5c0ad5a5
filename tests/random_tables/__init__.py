"""Random small tables of a trace, one module per trace, and the laws that its views must obey on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

Law = Callable[[Any, duckdb.DuckDBPyConnection], None]
"""Asserts something about a warehouse of random tables; the first argument is what `Case.write` returned."""


@dataclass(frozen=True)
class Case:
    """Random raw files, and what to compare on them.

    `write` draws tables for a seed, writes their raw files below a folder, and returns the tables. `count`
    gives the rows written per base table, nothing where rows may be rejected. `views` and `queries` are
    reference implementations, as in `twins`. `prepare` sets the session up.
    """

    write: Callable[[Path, int], Any]
    count: Callable[[Any], Mapping[str, int]]
    views: Mapping[str, tuple]
    queries: Mapping[str, tuple]
    laws: Sequence[Law] = ()
    prepare: Law = lambda *_: None
