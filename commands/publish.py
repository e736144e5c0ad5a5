"""The commands that publish a warehouse: BI files and the static site, the browser, and the MCP server."""

from pathlib import Path
from typing import Annotated

import typer

from tracehouse.commands.console import say
from tracehouse.commands.options import WAREHOUSE, MemoryLimit, Timeout, Warehouse, flag


def publish(
    warehouse: Warehouse = WAREHOUSE,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="DuckDB file to write.")
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="PostgreSQL database to fill: postgresql://user@host/database. The password is in "
            "PGPASSWORD.",
        ),
    ] = "",
    site: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Static site to write, with DuckDB in the browser.")
    ] = None,
    duckdb_wasm: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Files of DuckDB-WASM for the site, if not in web/.")
    ] = None,
    base_url: Annotated[str, typer.Option(metavar="URL", help="Address of the site, for links.")] = "",
    whole: Annotated[
        bool, flag("--whole", "Include every telemetry sample, not only hourly values.")
    ] = False,
) -> None:
    """Write a database for BI tools, or a static site.

    The target has a table for each base table, view and catalog table, and for the answer of each named query
    with default parameters. Traces without data are omitted. An earlier version is replaced.

    Example: traces publish --out traces.duckdb
    """
    from tracehouse.publish.bi import publishing

    done, notes = publishing.publish(warehouse, out, to, None, whole, site, duckdb_wasm, base_url)
    for line in done:
        say(line)
    for note in notes:
        say(f"note: {note}", stderr=True)


def explore(
    warehouse: Warehouse = WAREHOUSE,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 selects a free one.")
    ] = 0,
    no_browser: Annotated[bool, flag("--no-browser", "Print the URL without opening it.")] = False,
    timeout: Annotated[float, Timeout] = 60,
    memory_limit: MemoryLimit = "",
) -> None:
    """Run named queries in the browser. Ctrl-C stops the server.

    The pages search queries, set parameters, show the answer with chart, caveats, SQL and sources, and
    download it. The server listens on localhost only, and requires the token in the printed URL.

    Example: traces explore --port 8080
    """
    from tracehouse.engines.duckdb.read import sandbox
    from tracehouse.publish import explore

    def report_address(address: str) -> None:
        say(f"Open {address}\nStop with Ctrl-C")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    explore.serve(warehouse, sandbox.Limits(timeout, memory_limit), port, report_address)


def mcp(
    warehouse: Warehouse = WAREHOUSE,
    timeout: Annotated[float, Timeout] = 60,
    memory_limit: MemoryLimit = "",
    max_rows: Annotated[
        int, typer.Option(min=1, metavar="ROWS", help="Maximum number of rows in an answer.")
    ] = 1000,
) -> None:
    """Run an MCP server on standard input and output.

    Example: traces mcp --warehouse warehouse
    """
    from tracehouse.engines.duckdb.read.sandbox import Limits
    from tracehouse.publish import mcp

    mcp.serve(warehouse, Limits(timeout, memory_limit), max_rows)
