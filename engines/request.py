"""A request: what to answer, with how many rows, and on which engine. Imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tracehouse.definitions.lists import Kind
from tracehouse.engines.names import LOCAL, Engine

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.engines.duckdb.read.binding import BoundQuery


@dataclass(frozen=True)
class NamedQuery:
    """A named query with parameters as texts, or without parameters the rows of a view or table.

    `with_total` adds total rows if the query has a parameter of that name and `given` does not set it.
    `for_chart` sets the parameter that the query's chart line names, unless `given` sets it.
    """

    name: str
    given: Mapping[str, str] = field(default_factory=dict)
    with_total: bool = False
    for_chart: bool = False


@dataclass(frozen=True)
class Statement:
    """A user's SQL statement, with the values of its `$name` placeholders. `may_explain` allows EXPLAIN."""

    sql: str
    values: Mapping[str, Any] = field(default_factory=dict)
    may_explain: bool = True


@dataclass(frozen=True)
class Listing:
    """The objects of a kind; with search words, the best match first.

    Queries whose tables have no data are left out and counted in a note, unless `with_empty`.
    """

    kind: Kind
    trace: str = ""
    words: str = ""
    with_empty: bool = False


@dataclass(frozen=True)
class ComputedRows:
    """Rows that are already computed, such as those of a `query` that another engine ran, or its plan."""

    rows: "pa.Table | None"
    query: "BoundQuery"


@dataclass(frozen=True)
class Request:
    """What to answer, with at most `limit` rows, on an engine.

    `explain` requests the query plan instead. `master` is the address of the Spark master.
    """

    what: NamedQuery | Statement | Listing | ComputedRows
    limit: int | None = None
    explain: bool = False
    engine: Engine = Engine.DUCKDB
    master: str = LOCAL
