"""MCP server of a warehouse, on standard input and output.

Every answer includes its caveats and its raw files, in the JSON that the pages get (see `site.contract`).
Rows, bytes and run time are limited. Statements are read-only and sandboxed, as in `traces sql`.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import duckdb

from tracehouse.core.errors import UserError, check_installed, describe_error
from tracehouse.definitions.lists import Kind
from tracehouse.engines.duckdb.read import answer, describe, fork_server, sandbox
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.request import Listing, NamedQuery, Request, Statement
from tracehouse.publish import columns, description
from tracehouse.publish.serving import Queue
from tracehouse.publish.site import contract
from tracehouse.publish.site.contract import Json

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """
A warehouse of public GPU-cluster traces. Call `list` to see traces, tables, views and named queries,
`describe` for the definition and the parameters of one, then `query`. Use `sql` only if no named query fits.
Column names contain the units. Report the caveats of an answer together with its numbers. If a source is
synthetic, say that the numbers are not measured.
"""

T = TypeVar("T")
_DEFAULT_ROWS = 200
# More than a client can use; the protocol sends each answer twice, as text and as a structure.
_MOST_BYTES = 1_000_000
_MOST_CHARACTERS = 20_000
Parameter = str | int | float | bool


class McpService:
    """A warehouse, the limits of each query, and the queue of queries."""

    def __init__(self, folder: Path, limits: Limits, most_rows: int):
        self.queue = Queue(folder, limits)
        self.most_rows = most_rows

    async def run(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run picklable work on a connection. Raises ToolError with a message for the client."""
        from mcp.server.mcpserver.exceptions import ToolError

        running = asyncio.create_task(self.queue.run(work))
        try:
            # A task of its own, because the server would also cancel the wait for the end of a killed query.
            return await asyncio.shield(running)
        except (UserError, OSError) as error:
            raise ToolError(describe_error(error)) from None
        finally:
            running.cancel()


def serve(folder: Path, limits: Limits, most_rows: int) -> None:
    """Serve a warehouse until standard input ends.

    Raises UserError if there is no warehouse, if `mcp` is not installed, or if standard input or output is
    closed.
    """
    if sys.stdin is None or sys.stdout is None:
        raise UserError("The MCP server needs standard input and output, and one of them is closed")
    fork_server.start([__name__, "pyarrow"])
    # Check the warehouse first: the import of the protocol takes a second.
    sandbox.check(folder, limits)
    check_installed("The MCP server needs", "mcp", "mcp")
    build_server(McpService(folder, limits, most_rows)).run("stdio")


def build_server(service: McpService) -> "MCPServer":
    """Build the server with its four tools."""
    from importlib.metadata import version

    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations
    from pydantic import Field

    server = MCPServer(
        "tracehouse", instructions=INSTRUCTIONS, version=version("tracehouse"), log_level="WARNING"
    )
    read_only = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    rows = Field(ge=0, le=service.most_rows, description="Maximum number of rows.")
    default_rows = min(_DEFAULT_ROWS, service.most_rows)

    @server.tool(name="list", annotations=read_only)
    async def list_(
        kind: Annotated[Kind, Field(description="What to list.")] = Kind.QUERIES,
        trace: Annotated[str, Field(description="Only the objects of this trace, or of unified.")] = "",
        search: Annotated[
            str, Field(description="Only objects that match these words, best match first.")
        ] = "",
    ) -> list[Json]:
        """List traces, tables, views or named queries with their descriptions."""
        return await service.run(partial(_list, request=Request(Listing(kind, trace, search))))

    @server.tool(name="describe", annotations=read_only)
    async def describe_(
        name: Annotated[str, Field(description="For example itp.job, itp.raw_job or itp.gpu_hours.")],
    ) -> Json:
        """Describe a table, view or named query: columns, units, parameters, caveats and SQL."""
        return await service.run(partial(_describe, name=name))

    @server.tool(annotations=read_only)
    async def query(
        name: Annotated[str, Field(description="A named query, or a view or table to read its rows.")],
        parameters: Annotated[
            dict[str, Parameter] | None,
            Field(description="Values by parameter name. `describe` shows types, choices and ranges."),
        ] = None,
        limit: Annotated[int, rows] = default_rows,
    ) -> Json:
        """Run a named query."""
        texts = {key: columns.format_exact(value) for key, value in (parameters or {}).items()}
        return await service.run(partial(_answer, request=Request(NamedQuery(name, texts), limit)))

    @server.tool(annotations=read_only)
    async def sql(
        statement: Annotated[str, Field(description="One read-only statement in DuckDB's SQL.")],
        limit: Annotated[int, rows] = default_rows,
    ) -> Json:
        """Run one SQL statement. Its caveats are those of the columns that it reads."""
        request = Request(Statement(statement, may_explain=False), limit)
        return await service.run(partial(_answer, request=request))

    return server


def _list(connection: duckdb.DuckDBPyConnection, request: Request) -> list[Json]:
    with answer.answer(connection, request) as found:
        kinds = columns.columns_of(connection, found.query)
        names = [name for name, _ in kinds]
        return [dict(zip(names, row, strict=True)) for row in columns.rows_of(connection, found.query, kinds)]


def _describe(connection: duckdb.DuckDBPyConnection, name: str) -> Json:
    return description.as_data(describe.describe(connection, name))


def _answer(connection: duckdb.DuckDBPyConnection, request: Request) -> Json:
    """Run a query. `cut` is a message if the answer was too large and rows were left out."""
    return _shorten(contract.answer_request(connection, request))


def _shorten(found: Json) -> Json:
    """Truncate long texts, and leave out rows beyond the limit of bytes."""
    rows: list[list[Any]] = []
    size = 0
    for row in found["rows"]:
        rows.append([_truncate(value) for value in contract.plain(row)])
        size += len(json.dumps(rows[-1]))
        if size > _MOST_BYTES:
            rows.pop()
            cut = f"Only {len(rows)} rows are returned: the answer exceeds {_MOST_BYTES:,} bytes"
            return found | {"rows": rows, "is_cut": True, "cut": cut}
    return found | {"rows": rows, "cut": ""}


def _truncate(value: Any) -> Any:
    """Truncate a long text, and append its number of characters."""
    if not isinstance(value, str) or len(value) <= _MOST_CHARACTERS:
        return value
    return f"{value[:_MOST_CHARACTERS]}… ({len(value):,} characters)"
