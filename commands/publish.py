"""The commands that hand on what a warehouse holds."""

from pathlib import Path
from typing import Annotated

import typer

from tracehouse.commands.console import say
from tracehouse.commands.defaults import DEFAULT_WAREHOUSE
from tracehouse.commands.options import MemoryLimit, Timeout, TraceNames, Warehouse

commands = typer.Typer()


@commands.command()
def publish(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="DuckDB file to write.", show_default=False),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            help="PostgreSQL to fill: postgresql://user@host/database; PGPASSWORD has the password.",
            show_default=False,
        ),
    ] = "",
    superset: Annotated[
        Path | None,
        typer.Option(
            "--superset",
            metavar="ZIP",
            help="Superset's dashboards over FILE, to be imported there.",
            show_default=False,
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Telemetry sample by sample too, not by the hour alone."),
    ] = False,
) -> None:
    """Write what BI tools read, and replace what was published before: traces publish --out traces.duckdb.

    Everything is a table there: base tables, views, the answers of the named queries to their defaults, and
    the catalog. Traces without data are left out.
    """
    from tracehouse.publish.bi import publishing

    outcome = publishing.publish(warehouse, out, to, superset, whole)
    for line in outcome.done:
        say(line)
    for note in outcome.notes:
        say(f"note: {note}", stderr=True)


@commands.command()
def report(
    traces: TraceNames = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write to.")] = Path("report.html"),
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    timeout: Timeout = None,
    memory_limit: MemoryLimit = "",
) -> None:
    """Write a page on what is loaded, what it tells and how far it agrees: traces report itp --out itp.html.

    One file of HTML, to read, send and print: sources, coverage, the traces side by side, published figures
    beside measured ones, charts, caveats, citations. It needs no network.
    """
    from tracehouse.engines.duckdb.read import sandbox
    from tracehouse.publish import answers

    answers.write_report(traces or [], warehouse, sandbox.Limits(timeout, memory_limit), out)
    say(f"Wrote {out}")


@commands.command()
def explore(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for any that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="A question may take so long.")
    ] = 60,
    memory_limit: MemoryLimit = "",
) -> None:
    """Ask the named queries in the browser: traces explore. Ctrl-C ends it.

    To search them, set their parameters, see answer, picture, caveats, SQL and sources, and download. Pages
    go to this machine alone, and to whoever has the token in the address that is printed.
    """
    from tracehouse.engines.duckdb.read import sandbox
    from tracehouse.publish import explore as exploring

    def tell(address: str) -> None:
        say(f"Open {address}\nCtrl-C ends it")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    exploring.serve(warehouse, sandbox.Limits(timeout, memory_limit), port, tell)


@commands.command()
def mcp(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Give up on a question after so long.")
    ] = 60,
    memory_limit: MemoryLimit = "",
    most_rows: Annotated[
        int, typer.Option("--max-rows", min=1, help="The most rows that an answer may have.")
    ] = 1000,
) -> None:
    """Serve the warehouse to agents, by the Model Context Protocol over standard streams: traces mcp."""
    from tracehouse.engines.duckdb.read.sandbox import Limits
    from tracehouse.publish import mcp

    mcp.serve(warehouse, Limits(timeout, memory_limit), most_rows)
