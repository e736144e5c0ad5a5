"""MCP server of a warehouse, on standard input and output.

Every answer includes its caveats and its raw files. Rows, bytes and run time are limited. Statements are
read-only and sandboxed, as in `traces sql`.
"""

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.core.errors import UsageError, UserError, check_installed
from tracehouse.engines.duckdb.read import answer, describe, notes, sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery, bind_list, bind_query, bind_statement
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import description
from tracehouse.publish.columns import columns_of, converting, exact
from tracehouse.sql.lists import Kind

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
# The type BIT in the text of a type such as STRUCT(a BIT). Quoted names of fields match first and stay.
_BITS = re.compile(r'("(?:[^"]|"")*")|\bBIT\b')
_INFINITE_DATE, _INFINITE_TIME = (1 << 31) - 1, (1 << 63) - 1
Parameter = str | int | float | bool


@dataclass(frozen=True)
class Answer:
    """Columns and rows of an answer, its caveats, and the raw files that it was computed from.

    `cut` is a message if the answer was too large and rows were left out; otherwise it is empty.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    has_more_rows: bool
    cut: str
    caveats: list[dict[str, str]]
    sources: list[dict[str, Any]]


@dataclass(frozen=True)
class Service:
    """A warehouse, and the limits of each query."""

    folder: Path
    limits: Limits
    most_rows: int

    def run(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run some work on a connection. Raises ToolError with a message for the client."""
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            return sandbox.run(self.folder, self.limits, work)
        except UserError as error:
            raise ToolError(str(error)) from None


def serve(folder: Path, limits: Limits, most_rows: int) -> None:
    """Serve a warehouse until standard input ends.

    Raises UserError if there is no warehouse, or if `mcp` is not installed.
    """
    # Check the warehouse first: the import of the protocol takes a second.
    sandbox.run(folder, limits, lambda connection: None)
    check_installed("The MCP server needs", "mcp", "mcp")
    build_server(Service(folder, limits, most_rows)).run("stdio")


def build_server(service: Service) -> "MCPServer":
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
    def list_(
        kind: Annotated[Kind, Field(description="What to list.")] = Kind.QUERIES,
        trace: Annotated[str, Field(description="Only the objects of this trace, or of unified.")] = "",
        search: Annotated[
            str, Field(description="Only objects that match these words, best match first.")
        ] = "",
    ) -> list[dict[str, Any]]:
        """List traces, tables, views or named queries with their descriptions."""
        return service.run(
            lambda connection: _read_dicts(connection, bind_list(connection, kind, trace, search))
        )

    @server.tool(name="describe", annotations=read_only)
    def describe_(
        name: Annotated[str, Field(description="For example itp.job, itp.raw_job or itp.gpu_hours.")],
    ) -> dict[str, Any]:
        """Describe a table, view or named query: columns, units, parameters, caveats and SQL."""
        return service.run(lambda connection: description.as_data(describe.describe(connection, name)))

    @server.tool(annotations=read_only)
    def query(
        name: Annotated[str, Field(description="A named query, or a view or table to read its rows.")],
        parameters: Annotated[
            dict[str, Parameter] | None,
            Field(description="Values by parameter name. `describe` shows types, choices and ranges."),
        ] = None,
        limit: Annotated[int, rows] = default_rows,
    ) -> Answer:
        """Run a named query."""

        def work(connection: duckdb.DuckDBPyConnection) -> Answer:
            texts = {key: exact(value) for key, value in (parameters or {}).items()}
            found = answer.run(connection, bind_query(connection, name, texts))
            return _answer(connection, found, [name], limit)

        return service.run(work)

    @server.tool(annotations=read_only)
    def sql(
        statement: Annotated[str, Field(description="One read-only statement in DuckDB's SQL.")],
        limit: Annotated[int, rows] = default_rows,
    ) -> Answer:
        """Run one SQL statement. Its caveats are those of the columns that it reads."""

        def work(connection: duckdb.DuckDBPyConnection) -> Answer:
            found = bind_statement(connection, statement)
            if found.explain:
                raise UsageError("EXPLAIN is not supported here. Send a statement that returns rows")
            return _answer(connection, found, sorted(found.reads), limit)

        return service.run(work)

    return server


def _answer(
    connection: duckdb.DuckDBPyConnection,
    query: BoundQuery,
    names: Sequence[str],
    limit: int,
) -> Answer:
    sources = notes.sources(connection, names)
    reader = answer.read(connection, _with_bits_as_texts(connection, query))
    rows: list[list[Any]] = []
    # Rows beyond the limit are not computed.
    while len(rows) <= limit and (batch := next(reader, None)) is not None:
        taken = batch.slice(0, limit + 1 - len(rows))
        rows += [[_to_json(_to_python(value)) for value in row] for row in zip(*taken.columns, strict=True)]
    kept = _count_that_fit(rows[:limit])
    cut = ""
    if kept < len(rows[:limit]):
        cut = f"Only {kept} rows are returned: the answer exceeds {_MOST_BYTES:,} bytes"
    return Answer(
        reader.schema.names,
        [str(kind) for kind in reader.schema.types],
        rows[:kept],
        len(rows) > kept,
        cut,
        [asdict(note) for note in query.notes],
        sources.select(["table_name", "file", "sha256", "checksum", "synthetic"]).to_pylist(),
    )


def _with_bits_as_texts(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> BoundQuery:
    """The query with values of type BIT cast to text: Arrow would get the bytes that DuckDB stores."""

    def convert(value: str, kind: str) -> str:
        new = _BITS.sub(lambda found: found[1] or "VARCHAR", kind)
        return value if new == kind else f"cast({value} as {new})"

    return converting(query, columns_of(connection, query), convert)


def _read_dicts(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> list[dict[str, Any]]:
    rows = answer.read(connection, query).read_all().to_pylist()
    return [{name: _to_json(value) for name, value in row.items()} for row in rows]


def _count_that_fit(rows: Sequence[Sequence[Any]]) -> int:
    """Count the first rows that fit in the limit of bytes as JSON."""
    size = 0
    for count, row in enumerate(rows):
        size += len(json.dumps(row))
        if size > _MOST_BYTES:
            return count
    return len(rows)


def _to_python(value: pa.Scalar) -> Any:
    """Convert an Arrow value to a Python value; times outside Python's range of years become text."""
    if not value.is_valid:
        return None
    if isinstance(value, pa.StructScalar):
        return {name: _to_python(one) for name, one in value.items()}
    if isinstance(value, pa.ListScalar):
        return [_to_python(one) for one in value.values]
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return _format_time(value.value, getattr(value.type, "unit", "D"))


def _format_time(number: int, unit: Any) -> str:
    """Format a time that is infinite or outside Python's range of years, as DuckDB prints it."""
    if abs(number) == (_INFINITE_DATE if unit == "D" else _INFINITE_TIME):
        return "infinity" if number > 0 else "-infinity"
    text = str(np.datetime64(number, unit))
    year, _, rest = text.removeprefix("-").partition("-")
    # NumPy counts the year 1 BC as 0, DuckDB does not.
    return text if not text.startswith("-") and int(year) else f"{int(year) + 1:04}-{rest} (BC)"


def _to_json(value: Any) -> Any:
    """Convert a value for JSON: NaN and infinity become null, and types that JSON lacks become text.

    A long text is truncated, and its number of characters is appended.
    """
    if isinstance(value, str) and len(value) > _MOST_CHARACTERS:
        return f"{value[:_MOST_CHARACTERS]}… ({len(value):,} characters)"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): _to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
