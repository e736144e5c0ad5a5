"""The commands that publish a warehouse: BI files, report, browser and MCP server."""

from collections.abc import Sequence
from pathlib import Path

import click

from tracehouse.commands.console import say
from tracehouse.commands.options import PATH, memory_option, timeout_option, trace_names, warehouse_option

_server_timeout_option = click.option(
    "--timeout", type=float, default=60, metavar="SECONDS", help="Stop a query after this time."
)


@click.command()
@warehouse_option
@click.option("--out", "-o", type=PATH, metavar="FILE", help="DuckDB file to write.")
@click.option(
    "--to",
    default="",
    show_default=False,
    metavar="URL",
    help="PostgreSQL database to fill: postgresql://user@host/database. The password is in PGPASSWORD.",
)
@click.option("--superset", type=PATH, metavar="ZIP", help="Dashboards over FILE, to import into Superset.")
@click.option("--site", type=PATH, metavar="FOLDER", help="Static site to write, with DuckDB in the browser.")
@click.option(
    "--duckdb-wasm", type=PATH, metavar="FOLDER", help="Files of DuckDB-WASM for the site, if not in web/."
)
@click.option(
    "--base-url", default="", show_default=False, metavar="URL", help="Address of the site, for links."
)
@click.option("--whole", is_flag=True, help="Include every telemetry sample, not only hourly values.")
def publish(
    warehouse: Path,
    out: Path | None,
    to: str,
    superset: Path | None,
    site: Path | None,
    duckdb_wasm: Path | None,
    base_url: str,
    whole: bool,
) -> None:
    """Write a database for BI tools, or a static site.

    The target has a table for each base table, view and catalog table, and for the answer of each named query
    with default parameters. Traces without data are omitted. An earlier version is replaced.

    Example: traces publish --out traces.duckdb
    """
    from tracehouse.publish.bi import publishing

    done, notes = publishing.publish(warehouse, out, to, superset, whole, site, duckdb_wasm, base_url)
    for line in done:
        say(line)
    for note in notes:
        say(f"note: {note}", stderr=True)


@click.command()
@trace_names
@click.option("--out", "-o", type=PATH, default=Path("report.html"), help="File to write.")
@warehouse_option
@timeout_option
@memory_option
def report(
    traces: Sequence[str], out: Path, warehouse: Path, timeout: float | None, memory_limit: str
) -> None:
    """Write an HTML report on the named traces, or on all that are loaded.

    The pages are self-contained. They show sources, coverage, published and measured figures, charts, caveats
    and citations. With several traces, each trace has its own page, such as report-itp.html, and the page
    of --out compares them.

    Example: traces report itp --out itp.html
    """
    from tracehouse.engines.duckdb.read import sandbox
    from tracehouse.publish import answers

    for title, page in answers.write_report(traces, warehouse, sandbox.Limits(timeout, memory_limit), out):
        say(f"{title}: writing {page}", stderr=True)
    say(f"Wrote {out}")


@click.command()
@warehouse_option
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Port; 0 selects a free one."
)
@click.option("--no-browser", is_flag=True, help="Print the URL without opening it.")
@_server_timeout_option
@memory_option
def explore(warehouse: Path, port: int, no_browser: bool, timeout: float, memory_limit: str) -> None:
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


@click.command()
@warehouse_option
@_server_timeout_option
@memory_option
@click.option(
    "--max-rows",
    "most_rows",
    type=click.IntRange(1),
    default=1000,
    metavar="ROWS",
    help="Maximum number of rows in an answer.",
)
def mcp(warehouse: Path, timeout: float, memory_limit: str, most_rows: int) -> None:
    """Run an MCP server on standard input and output.

    Example: traces mcp --warehouse warehouse
    """
    from tracehouse.engines.duckdb.read.sandbox import Limits
    from tracehouse.publish import mcp

    mcp.serve(warehouse, Limits(timeout, memory_limit), most_rows)


COMMANDS = (publish, report, explore, mcp)
