"""The commands that publish a warehouse: BI files and the static site, the browser, and the MCP server."""

from pathlib import Path
from typing import Annotated

from tracehouse.commands.console import say
from tracehouse.commands.options import TIMEOUT, WAREHOUSE, MemoryLimit, Warehouse, option
from tracehouse.core.errors import UsageError
from tracehouse.core.text import join_names

_Out = Annotated[Path | None, option("--out -o", "DuckDB file to write.", "FILE")]
_To = Annotated[str, option("--to", "PostgreSQL database to fill. The password is in PGPASSWORD.", "URL")]
_Site = Annotated[Path | None, option("--site", "Static site to write, with DuckDB in the browser.", "DIR")]
_DuckdbWasm = Annotated[
    Path | None, option("--duckdb-wasm", "npm's package of DuckDB-WASM for the site, or its files.", "PATH")
]
_BaseUrl = Annotated[str, option("--base-url", "Address of the site, for links.", "URL")]
_Whole = Annotated[
    bool, option("--whole", "Include every telemetry sample, and large tables that no query on a site reads.")
]
_Port = Annotated[int, option("--port", "Port; 0 selects a free one.", "PORT", min=0, max=65535)]
_NoBrowser = Annotated[bool, option("--no-browser", "Print the URL without opening it.")]
_Timeout = Annotated[float, TIMEOUT]
_MaxRows = Annotated[int, option("--max-rows", "Maximum number of rows in an answer.", "ROWS", min=1)]


def publish(
    warehouse: Warehouse = WAREHOUSE,
    out: _Out = None,
    to: _To = "",
    site: _Site = None,
    duckdb_wasm: _DuckdbWasm = None,
    base_url: _BaseUrl = "",
    whole: _Whole = False,
) -> None:
    """Write a database for BI tools, or a static site.

    The target has a table for each base table, view and catalog table, and for the answer of each named query
    with default parameters. Traces without data are omitted. An earlier version is replaced.

    Example: traces publish --out traces.duckdb
    """
    from tracehouse.core.progress import step_line
    from tracehouse.publish.bi import database_file, postgresql
    from tracehouse.publish.site import folder

    if not (out or to or site):
        raise UsageError(
            "name a target: --out FILE.duckdb, --to postgresql://user@host/database or --site FOLDER"
        )
    if base_url and not site:
        raise UsageError("--base-url is the address of a site: name its folder with --site FOLDER")
    if base_url and not base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url must begin with http:// or https://, not {base_url!r}")
    file: Path | None = None
    reasons: dict[str, str] = {}
    if out:
        with step_line(f"writing {out}") as step:
            result = database_file.publish(warehouse, out, whole, step)
        say(f"Published {result.describe()} as {out}, {result.bytes / 1e6:,.1f} MB")
        file = out
        reasons |= result.left_out
    if site:
        with step_line(f"writing the site {site}") as step:
            result = folder.publish(warehouse, site, duckdb_wasm, whole, base_url, file, step)
        say(f"Wrote the site {site}, {result.bytes / 1e6:,.1f} MB of data")
        say(f"Open it: python -m http.server --directory {site}")
        reasons |= result.left_out
    if to:
        with step_line("filling PostgreSQL"):
            result, place, notes = postgresql.publish(warehouse, to, whole, file)
        say(f"Published {result.describe()} to {place}")
        reasons |= result.left_out
        for note in notes:
            say(f"note: {note}", stderr=True)
    left_out: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        left_out.setdefault(reason, []).append(name)
    for reason, names in left_out.items():
        say(f"note: Not published because {reason}: {join_names(names)}", stderr=True)


def explore(
    warehouse: Warehouse = WAREHOUSE,
    port: _Port = 0,
    no_browser: _NoBrowser = False,
    timeout: _Timeout = 60,
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
    timeout: _Timeout = 60,
    memory_limit: MemoryLimit = "",
    max_rows: _MaxRows = 1000,
) -> None:
    """Run an MCP server on standard input and output.

    Example: traces mcp --warehouse warehouse
    """
    from tracehouse.engines.duckdb.read.sandbox import Limits
    from tracehouse.publish import mcp

    mcp.serve(warehouse, Limits(timeout, memory_limit), max_rows)
