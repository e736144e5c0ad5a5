"""Serves a warehouse to agents, over the Model Context Protocol on standard input and output.

Every answer has its caveats and the raw files behind it, and is bounded in rows and time. Nothing can be
written: the same two walls stand as before `traces sql`.
"""

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import duckdb

from tracehouse.core.errors import UsageError, UserError, not_installed
from tracehouse.engines.duckdb.read import answer, describe, notes, sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery, bind_list, bind_query, bind_statement
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import description
from tracehouse.publish.columns import exact
from tracehouse.sql.lists import Kind

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """
A warehouse of public GPU-cluster traces. Call `list` to see traces, tables, views and named queries,
`describe` for what one means and which parameters it takes, then `query`; `sql` is for what no named query
answers. Units stand in the names of columns. Tell people the caveats of an answer together with its numbers,
and say so where a source is synthetic: such numbers are made up.
"""

T = TypeVar("T")
_USUAL_ROWS = 200
Parameter = str | int | float | bool


@dataclass(frozen=True)
class Answer:
    """An answer: its columns and rows, whether there are more, its caveats, and the raw files behind it."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    has_more_rows: bool
    caveats: list[dict[str, str]]
    sources: list[dict[str, Any]]


@dataclass(frozen=True)
class House:
    """A warehouse, and what a question of an agent may take."""

    folder: Path
    limits: Limits
    most_rows: int

    def ask(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Do some work on a connection. Raises ToolError, whose text the agent reads."""
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            return sandbox.run(self.folder, self.limits, work)
        except UserError as error:
            raise ToolError(str(error)) from None


def serve(folder: Path, limits: Limits, most_rows: int) -> None:
    """Serve a warehouse until standard input ends. Raises UserError where there is none, or no `mcp`."""
    # First, as what speaks the protocol takes a second to import.
    sandbox.run(folder, limits, lambda connection: None)
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError:
        raise not_installed("serving agents needs", "mcp", "mcp") from None
    server_of(House(folder, limits, most_rows)).run("stdio")


def server_of(house: House) -> "MCPServer":
    """The server of a warehouse, with its four tools."""
    from importlib.metadata import version

    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations
    from pydantic import Field

    server = MCPServer(
        "tracehouse", instructions=INSTRUCTIONS, version=version("tracehouse"), log_level="WARNING"
    )
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    rows = Field(ge=0, le=house.most_rows, description="No more rows than these.")
    usual = min(_USUAL_ROWS, house.most_rows)

    @server.tool(name="list", annotations=reads)
    def list_(
        kind: Annotated[Kind, Field(description="What to list.")] = Kind.QUERIES,
        trace: Annotated[str, Field(description="Only those of a trace, or unified.")] = "",
        search: Annotated[str, Field(description="Only those with all these words, the best first.")] = "",
    ) -> list[dict[str, Any]]:
        """List traces, tables, views or named queries, each with what it holds or answers."""
        return house.ask(lambda connection: _dicts(connection, bind_list(connection, kind, trace, search)))

    @server.tool(name="describe", annotations=reads)
    def describe_(
        name: Annotated[str, Field(description="As itp.job, itp.raw_job or itp.gpu_hours.")],
    ) -> dict[str, Any]:
        """Say what a table, view or named query means: columns, units, parameters, caveats, SQL."""
        return house.ask(lambda connection: description.as_data(describe.describe(connection, name)))

    @server.tool(annotations=reads)
    def query(
        name: Annotated[str, Field(description="A named query, or a view or table for its rows.")],
        parameters: Annotated[
            dict[str, Parameter] | None, Field(description="By name; `describe` has types, choices, ranges.")
        ] = None,
        limit: Annotated[int, rows] = usual,
    ) -> Answer:
        """Answer a named query."""

        def work(connection: duckdb.DuckDBPyConnection) -> Answer:
            texts = {key: exact(value) for key, value in (parameters or {}).items()}
            found = answer.run(connection, bind_query(connection, name, texts))
            return _answer(connection, found, [name], limit)

        return house.ask(work)

    @server.tool(annotations=reads)
    def sql(
        statement: Annotated[str, Field(description="One statement of DuckDB's SQL that only reads.")],
        limit: Annotated[int, rows] = usual,
    ) -> Answer:
        """Answer one statement of SQL. Its caveats are those of the columns that it names."""

        def work(connection: duckdb.DuckDBPyConnection) -> Answer:
            found = bind_statement(connection, statement)
            if found.explain:
                raise UsageError("explain is not answered here: ask for rows")
            return _answer(connection, found, sorted(found.reads), limit)

        return house.ask(work)

    return server


def _answer(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    names: Sequence[str],
    limit: int,
) -> Answer:
    sources = notes.sources(connection, names)
    reader = answer.read(connection, query)
    rows: list[list[Any]] = []
    # No more of the answer is computed than is taken.
    while len(rows) <= limit and (batch := next(reader, None)) is not None:
        taken = batch.slice(0, limit + 1 - len(rows))
        rows += [[_plain(value.as_py()) for value in row] for row in zip(*taken.columns, strict=True)]
    return Answer(
        reader.schema.names,
        [str(kind) for kind in reader.schema.types],
        rows[:limit],
        len(rows) > limit,
        [asdict(note) for note in query.notes],
        sources.select(["table_name", "file", "sha256", "checksum", "synthetic"]).to_pylist(),
    )


def _dicts(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> list[dict[str, Any]]:
    rows = answer.read(connection, query).read_all().to_pylist()
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """A value as JSON has it: null for what is no number, and texts for what it has no word for."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
