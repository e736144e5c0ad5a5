"""The commands that create and maintain a warehouse."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click
from click.core import ParameterSource

from tracehouse.commands.console import print_ingest, say
from tracehouse.commands.options import (
    DEFAULT_RAW,
    PATH,
    NumberRange,
    engine_options,
    key_values,
    no_stored_option,
    trace_names,
    warehouse_option,
)
from tracehouse.core import signals
from tracehouse.core.errors import UserError
from tracehouse.engines.names import Engine
from tracehouse.sql.names import trace_names as trace_name_list

_out_option = click.option("--out", "-o", type=PATH, default=DEFAULT_RAW, help="Folder to write to.")

_only_option = click.option(
    "--only",
    multiple=True,
    metavar="KEY=VALUES",
    help="Only these partitions of partitioned tables: day=109..115. Repeatable.",
)


@click.command()
@trace_names
@_out_option
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Also fetch telemetry of this metric (or all). Repeatable.",
)
@click.option(
    "--cluster",
    "clusters",
    multiple=True,
    metavar="NAME",
    help="Also fetch telemetry of this cluster. Repeatable.",
)
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="HOST=URL",
    help="Request URL instead of https://HOST. Repeatable.",
)
@_only_option
@click.option("--yes", is_flag=True, help="Download even hundreds of gigabytes.")
@click.option("--dry-run", is_flag=True, help="List the files and URLs without fetching them.")
def fetch(
    traces: Sequence[str],
    out: Path,
    metrics: Sequence[str],
    clusters: Sequence[str],
    mirrors: Sequence[str],
    only: Sequence[str],
    yes: bool,
    dry_run: bool,
) -> None:
    """Download the publishers' raw files.

    Interrupted downloads are resumed. Files that exist already and match the published ones are not fetched
    again. Acme's telemetry (80 GB) must be selected with --metric or --cluster. For a ZIP with one file per
    day, --only fetches only the files of the selected days.

    Example: traces fetch itp zeus --out raw

    Example: traces fetch acme --metric POWER_USAGE --cluster kalos
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.ingest.fetch.client import open_client
    from tracehouse.ingest.fetch.download import fetch_files
    from tracehouse.ingest.fetch.plan import check_is_wanted, describe_plans, plan_downloads

    hosts = key_values(mirrors, "A mirror must be HOST=URL")
    with open_client(hosts, attempts=1) if dry_run else open_client(hosts) as client:
        plans = plan_downloads(client, out, traces, metrics, clusters, only)
        for line in describe_plans(plans, out, with_files=dry_run):
            say(line)
        if dry_run:
            return
        if not yes:
            check_is_wanted(plans)
        lines: list[str] = []
        # Lines printed between progress bars would leave fragments of the bars on the screen.
        report = lines.append if sys.stderr.isatty() else say
        with byte_bars() as progress:
            outcome = fetch_files(plans, out, client, progress, report)
    for line in lines:
        say(line)
    for failure in outcome.failures:
        say(f"error: {failure}", stderr=True)
    if outcome.failures:
        raise UserError(outcome.describe_failures())
    say(f"{outcome.fetched} fetched, {outcome.kept} already downloaded. Next: traces ingest --raw {out}")


@click.command()
@trace_names
@click.option(
    "--raw",
    "-r",
    type=PATH,
    multiple=True,
    default=[DEFAULT_RAW],
    envvar="TRACES_RAW",
    show_envvar=True,
    help="Folder with raw files; several may follow.",
)
@warehouse_option
@click.option(
    "--replace",
    is_flag=True,
    help="Remove the rows of files that are not found, and accept files that lost most of their rows.",
)
@_only_option
@no_stored_option
@engine_options
def ingest(
    traces: Sequence[str],
    raw: Sequence[Path],
    warehouse: Path,
    replace: bool,
    only: Sequence[str],
    no_stored: bool,
    engine: str,
    master: str,
) -> None:
    """Convert raw files into the warehouse.

    Files are recognised by name and content in all subfolders. Existing data is kept unless a different
    version of the same file is found. Unchanged files are skipped, and an interrupted ingest resumes. A
    database built with --materialize remains a single file.

    With --engine spark, the workers of a Spark cluster convert the files. They need the raw files and the
    warehouse under the same paths.

    Example: traces ingest itp openb --raw ~/downloads

    Example: traces ingest acme --only cluster=kalos
    """
    run_ingest(*_split_folders(traces, raw), warehouse, replace, only, no_stored, engine, master)


def run_ingest(
    traces: Sequence[str],
    raw: Sequence[Path],
    warehouse: Path,
    replace: bool = False,
    only: Sequence[str] = (),
    no_stored: bool = False,
    engine: str = Engine.DUCKDB,
    master: str = "",
    next_step: str = "",
) -> None:
    """Ingest, and print a report that ends with `next_step`, by default a command."""
    from tracehouse.core.progress import byte_bars
    from tracehouse.engines.duckdb.write import database

    before = _database_inode(warehouse)

    def describe_interruption() -> str:
        now = _database_inode(warehouse)
        state = "The database is unchanged" if before else "There is no database yet"
        return (
            "Stopped. Converted files are kept, and the next ingest resumes there. "
            f"{state if now == before else 'The new database is complete'}"
        )

    with ExitStack() as stack:
        stack.enter_context(signals.print_at_end(describe_interruption))
        workers = None
        if engine == Engine.SPARK:
            from tracehouse.engines.spark.conversions import on_cluster

            workers = stack.enter_context(on_cluster(master))
        progress = stack.enter_context(byte_bars())

        def report_ready(views: int) -> None:
            say(f"Ready to query. Materializing {views} views; until then they are slower", stderr=True)

        result = database.ingest(
            raw, warehouse, traces, progress, replace, workers, not no_stored, report_ready, only
        )
    print_ingest(result, warehouse, next_step)


@click.command()
@click.argument(
    "sources", nargs=-1, required=True, metavar="SOURCE...", help="Raw files: a path, a name, or a pattern."
)
@warehouse_option
def forget(sources: Sequence[str], warehouse: Path) -> None:
    """Remove the rows of raw files from the warehouse.

    The raw files themselves are kept; the next ingest that finds them converts them again.

    Example: traces forget openb_pod_list_cpu050.csv 'acme/*'
    """
    from tracehouse.engines.duckdb.write import database

    for line in database.forget(warehouse, sources):
        say(line)


@click.command()
@warehouse_option
@click.option(
    "--older-than-days",
    type=NumberRange(min=0),
    default=7,
    metavar="DAYS",
    help="Only files superseded at least this long ago.",
)
@click.option(
    "--keep-versions",
    type=click.IntRange(0),
    default=3,
    metavar="NUMBER",
    help="Keep the files of this many earlier versions.",
)
def vacuum(warehouse: Path, older_than_days: float, keep_versions: int) -> None:
    """Delete superseded Parquet files.

    Every ingest runs this automatically. Readers that still use a deleted version will get errors.

    Example: traces vacuum --older-than-days 0
    """
    from tracehouse.engines.duckdb.write import database

    removed, notes = database.vacuum(warehouse, older_than_days, keep_versions)
    for note in notes:
        say(f"note: {note}", stderr=True)
    freed_mb = sum(file.bytes for file in removed) / 1e6
    say(f"Removed {len(removed):,} files, {freed_mb:,.1f} MB")


@click.command()
@warehouse_option
@click.option(
    "--materialize", is_flag=True, help="Copy the tables into the database, which then needs no other file."
)
@no_stored_option
def build(warehouse: Path, materialize: bool, no_stored: bool) -> None:
    """Rebuild the database over the warehouse's Parquet files.

    Run it after moving the folder, after updating Tracehouse, and after changing your own views and queries
    in the warehouse's folder `local`.

    Example: traces build --warehouse warehouse
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.engines.duckdb.write import database

    with byte_bars() as progress:
        built = database.build(warehouse, materialize, not no_stored, progress)
    say(f"Built {built.path}")
    for note in built.notes:
        say(f"note: {note}", stderr=True)
    for problem in built.problems:
        say(f"error: {problem.error}", stderr=True)
    if built.problems:
        count = len(built.problems)
        raise UserError(f"{count} of your own definitions could not be built; all other objects were built")


@click.command()
@trace_names
@_out_option
@click.option(
    "--scale",
    "-s",
    type=float,
    default=0.01,
    metavar="NUMBER",
    help="Size relative to the original data; telemetry grows with the square.",
)
@click.option(
    "--seed", type=int, default=0, metavar="NUMBER", help="The same seed and scale give the same files."
)
@click.option("--days", type=int, metavar="NUMBER", help="Number of days, for traces with files per day.")
def sample(traces: Sequence[str], out: Path, scale: float, seed: int, days: int | None) -> None:
    """Generate synthetic raw files in the publishers' formats.

    They remain labelled synthetic in the warehouse.

    Example: traces sample itp zeus --out raw --scale 0.01
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.samples.dumps import available, expected_bytes, write_sample

    chosen = traces or available()
    with byte_bars() as progress:

        def report(trace: str, more_bytes: int) -> None:
            progress(trace, more_bytes, expected_bytes([trace], scale, days))

        paths = write_sample(out, scale, seed, chosen, report, days)
    say(f"Wrote {len(paths)} synthetic files to {out}. Next: traces ingest --raw {out}")


def _split_folders(words: Sequence[str], raw: Sequence[Path]) -> tuple[Sequence[str], Sequence[Path]]:
    """Separate folders from names of traces: in `--raw a b`, b is parsed as a trace but is a folder."""
    known = trace_name_list()
    folders = [Path(word) for word in words if word not in known and Path(word).is_dir()]
    context = click.get_current_context()
    is_default = context.get_parameter_source("raw") is ParameterSource.DEFAULT
    given = [] if folders and is_default else raw
    return [word for word in words if Path(word) not in folders], [*given, *folders]


def _database_inode(warehouse: Path) -> int:
    """The inode of the database file, which changes when the file is replaced; 0 without a database."""
    from tracehouse.engines.duckdb.names import NAME

    path = warehouse / NAME
    return path.stat().st_ino if path.exists() else 0


COMMANDS = (fetch, ingest, forget, vacuum, build, sample)
