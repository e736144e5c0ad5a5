"""The commands that fill a warehouse, and keep it."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tracehouse.commands.console import print_outcome, say
from tracehouse.commands.defaults import DEFAULT_RAW, DEFAULT_WAREHOUSE
from tracehouse.commands.options import EngineOption, Master, NoStored, Raw, TraceNames, Warehouse, key_values
from tracehouse.core import signals
from tracehouse.core.errors import UserError
from tracehouse.engines.names import LOCAL, Engine

commands = typer.Typer()


@commands.command()
def fetch(
    traces: TraceNames = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = DEFAULT_RAW[0],
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", metavar="NAME", help="Also fetch telemetry of this metric (or all). Repeatable."
        ),
    ] = None,
    clusters: Annotated[
        list[str] | None,
        typer.Option("--cluster", metavar="NAME", help="Also fetch telemetry of this cluster. Repeatable."),
    ] = None,
    mirrors: Annotated[
        list[str] | None,
        typer.Option("--mirror", metavar="HOST=URL", help="Request URL instead of https://HOST. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the files and URLs without fetching them.")
    ] = False,
) -> None:
    """Download the publishers' raw files: traces fetch itp zeus --out raw.

    Interrupted downloads are resumed; files that already match the published ones are kept. Acme's telemetry
    (80 GB) must be selected: traces fetch acme --metric POWER_USAGE --cluster kalos.
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.ingest.downloads import fetch as downloads
    from tracehouse.ingest.downloads.http import open_client
    from tracehouse.ingest.downloads.plan import FetchRequest, describe_plans, plan_downloads

    hosts = key_values(mirrors or [], "a mirror is written HOST=URL")
    request = FetchRequest(out, traces or [], metrics or [], clusters or [], hosts, is_dry_run=dry_run)
    with open_client(hosts, request.retry_policy) as client:
        plans = plan_downloads(request, client)
        for line in describe_plans(plans, out, with_files=dry_run):
            say(line)
        if dry_run:
            return
        lines: list[str] = []
        # Lines printed between progress bars would leave fragments of them on the screen.
        report = lines.append if sys.stderr.isatty() else say
        with byte_bars() as progress:
            outcome = downloads.fetch(plans, out, client, progress, report)
    for line in lines:
        say(line)
    for failure in outcome.failures:
        say(f"error: {failure}", stderr=True)
    if outcome.failures:
        raise UserError(outcome.describe_failures())
    say(f"{outcome.fetched} fetched, {outcome.kept} already downloaded. Next: traces ingest --raw {out}")


@commands.command()
def ingest(
    traces: TraceNames = None,
    raw: Raw = DEFAULT_RAW,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Let a table hold what is found now and nothing else, and a file have far fewer rows.",
        ),
    ] = False,
    no_stored: NoStored = False,
    engine: EngineOption = Engine.DUCKDB,
    master: Master = LOCAL,
) -> None:
    """Read raw files into the warehouse: traces ingest itp openb --raw ~/downloads.

    Files are recognised by name and content anywhere below the raw folders. What was ingested before stays,
    but where the same file is found in another version; `traces forget` takes it out. What has not changed
    since the last ingest is not converted again; an ingest that was stopped goes on where it was. A database
    that was built with --materialize stays one file. With --engine spark the workers of a cluster convert,
    which see the raw files and the warehouse under the same paths.
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.engines.duckdb.write import database

    before = _database_that_stands(warehouse)

    def stopped() -> str:
        now = _database_that_stands(warehouse)
        state = "The database is as it was" if before else "There is no database yet"
        return (
            "Stopped. What was converted is kept, and the next ingest goes on there. "
            f"{state if now == before else 'The new database is in its place'}"
        )

    with ExitStack() as stack:
        stack.enter_context(signals.last_words(stopped))
        workers = None
        if engine is Engine.SPARK:
            from tracehouse.engines.spark.conversions import on_cluster

            workers = stack.enter_context(on_cluster(master))
        progress = stack.enter_context(byte_bars())

        def announce(views: int) -> None:
            say(
                f"Ready to query. Materializing {views} views; until then they are slower",
                stderr=True,
            )

        outcome = database.ingest(
            raw, warehouse, traces or [], progress, replace, workers, not no_stored, announce
        )
    print_outcome(outcome, warehouse)


@commands.command()
def forget(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Raw files, by their path or name, or patterns: 'acme/*'."),
    ],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
) -> None:
    """Take raw files out of the warehouse: traces forget openb_pod_list_cpu050.csv.

    The raw files themselves are not touched; the next ingest that finds them reads them again.
    """
    from tracehouse.engines.duckdb.write import database

    for left in database.forget(warehouse, sources):
        say(left)


@commands.command()
def vacuum(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    older_than_days: Annotated[
        float, typer.Option("--older-than-days", min=0, help="Only files that were superseded so long ago.")
    ] = 7,
    keep_versions: Annotated[
        int, typer.Option("--keep-versions", min=0, help="Keep what so many versions before this one had.")
    ] = 3,
) -> None:
    """Remove Parquet files that newer versions have superseded: traces vacuum --older-than-days 0.

    Every ingest does so with these defaults. Who still reads an older version gets errors from then on.
    """
    from tracehouse.engines.duckdb.write import database

    removed, notes = database.vacuum(warehouse, older_than_days, keep_versions)
    for note in notes:
        say(f"note: {note}", stderr=True)
    freed_mb = sum(file.bytes for file in removed) / 1e6
    say(f"Removed {len(removed):,} files, {freed_mb:,.1f} MB")


@commands.command()
def build(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    materialize: Annotated[
        bool,
        typer.Option("--materialize", help="Copy the tables into the database: one file, no other needed."),
    ] = False,
    no_stored: NoStored = False,
    recover: Annotated[
        bool,
        typer.Option("--recover", help="First make datapackage.json anew, if it is gone or damaged."),
    ] = False,
) -> None:
    """Build the database anew over the warehouse's Parquet: traces build.

    Needed after the folder was moved, after an update of this program, and after a change of your own views
    and queries in the warehouse's folder `local`.
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.engines.duckdb.write import database

    if recover:
        with byte_bars() as progress:
            notes = database.recover(warehouse, progress)
        for note in notes:
            say(f"note: {note}", stderr=True)
    with byte_bars() as progress:
        built = database.build(warehouse, materialize, not no_stored, progress)
    say(f"Built {built.path}")
    for note in built.notes:
        say(f"note: {note}", stderr=True)
    for problem in built.problems:
        say(f"error: {problem.error}", stderr=True)
    if built.problems:
        count = len(built.problems)
        raise UserError(f"{count} file{'s' * (count != 1)} of your own could not be built; all else was")


@commands.command()
def sample(
    traces: TraceNames = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = DEFAULT_RAW[0],
    scale: Annotated[
        float,
        typer.Option("--scale", "-s", help="Size; 1 is the publisher's. Telemetry goes by its square."),
    ] = 0.01,
    seed: Annotated[int, typer.Option("--seed", help="The same seed and scale give the same files.")] = 0,
) -> None:
    """Write synthetic raw files in the publishers' formats: traces sample --out raw --scale 0.01.

    They are marked as synthetic, and stay so in the warehouse.
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.samples.dumps import available, expected_bytes, write_sample

    chosen = traces or available()
    with byte_bars() as progress:

        def tell(trace: str, more_bytes: int) -> None:
            progress(trace, more_bytes, expected_bytes([trace], scale))

        paths = write_sample(out, scale, seed, chosen, tell)
    say(f"Wrote {len(paths)} synthetic files to {out}. Read them with: traces ingest --raw {out}")


def _database_that_stands(warehouse: Path) -> int:
    """Which file is the database: another number after another has taken its place, 0 where there is none."""
    from tracehouse.engines.duckdb.names import NAME

    path = warehouse / NAME
    return path.stat().st_ino if path.exists() else 0
