"""The commands that get data into a warehouse: fetch, ingest and sample."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracehouse.commands import options
from tracehouse.commands.console import print_converted, print_ingest, say
from tracehouse.commands.options import RAW, WAREHOUSE, Only, Out, TraceNames, key_values, option, repeatable
from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.names import LOCAL, Engine
from tracehouse.ingest.traces import trace_names

if TYPE_CHECKING:
    from tracehouse.ingest.pipeline import IngestResult

_Metrics = Annotated[list[str], repeatable("--metric", "Also telemetry of this metric, or all.", "NAME")]
_Clusters = Annotated[list[str], repeatable("--cluster", "Also telemetry of this cluster.", "NAME")]
_Mirrors = Annotated[list[str], repeatable("--mirror", "Request URL instead of https://HOST.", "HOST=URL")]
_Yes = Annotated[bool, option("--yes", "Download even hundreds of gigabytes.")]
_DryRun = Annotated[bool, option("--dry-run", "List the files and URLs without fetching them.")]
_Raw = Annotated[
    list[Path] | None, option("--raw -r", "Folders with raw files. Default: raw.", "DIR", envvar="TRACES_RAW")
]
_Replace = Annotated[
    bool, option("--replace", "Remove rows of missing files; accept files that lost most rows.")
]
_Scale = Annotated[float, option("--scale -s", "Size relative to the original data.", "NUMBER")]
_Seed = Annotated[int, option("--seed", "The same seed and scale give the same files.", "NUMBER")]
_Days = Annotated[int | None, option("--days", "Number of days, for traces with files per day.", "NUMBER")]


def fetch(
    traces: TraceNames,
    metrics: _Metrics,
    clusters: _Clusters,
    mirrors: _Mirrors,
    only: Only,
    out: Out = RAW,
    yes: _Yes = False,
    dry_run: _DryRun = False,
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
    for host, url in hosts.items():
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise UsageError(f"The mirror of {host} has a password, which errors would print: use ~/.netrc")
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
            result = fetch_files(plans, out, client, progress, report)
    for line in lines:
        say(line)
    for failure in result.failures:
        say(f"error: {failure}", stderr=True)
    if result.failures:
        raise UserError(result.describe_failures())
    say(f"{result.fetched} fetched, {result.kept} already downloaded. Next: traces ingest --raw {out}")


def ingest(
    traces: TraceNames,
    only: Only,
    raw: _Raw = None,
    warehouse: options.Warehouse = WAREHOUSE,
    replace: _Replace = False,
    no_materialize: options.NoMaterialize = False,
    engine: options.EngineChoice = Engine.DUCKDB,
    master: options.Master = LOCAL,
) -> None:
    """Convert raw files into the warehouse.

    Files are recognised by name and content in all subfolders. Existing data is kept unless a different
    version of the same file is found. Unchanged files are skipped, and an interrupted ingest resumes. A
    database built with --copy-tables remains a single file.

    With --engine spark, the workers of a Spark cluster convert the files. They need the raw files and the
    warehouse under the same paths.

    Example: traces ingest itp openb --raw ~/downloads

    Example: traces ingest acme --only cluster=kalos
    """
    # In `--raw a b`, b is parsed as a trace but is a folder.
    known = trace_names()
    folders = [word for word in traces if word not in known and Path(word).is_dir()]
    run_ingest(
        [word for word in traces if word not in folders],
        [*(raw or ()), *map(Path, folders)] or [RAW],
        warehouse,
        replace,
        only,
        no_materialize,
        engine,
        master,
    )


def run_ingest(
    traces: Sequence[str],
    raw: Sequence[Path],
    warehouse: Path,
    replace: bool = False,
    only: Sequence[str] = (),
    no_materialize: bool = False,
    engine: Engine = Engine.DUCKDB,
    master: str = LOCAL,
    next_step: str = "",
) -> None:
    """Ingest, and print a report that ends with `next_step`, by default a command."""
    from tracehouse.ingest.memory import keep_freed_pages

    keep_freed_pages()
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
        workers = database.IN_THIS_PROCESS
        if engine is Engine.SPARK:
            from tracehouse.engines.spark.ingest_workers import on_cluster

            workers = stack.enter_context(on_cluster(master))
        progress = stack.enter_context(byte_bars())

        def report_published(result: "IngestResult", views: int) -> None:
            print_converted(result)
            if views:
                say(f"You can query now. Computing {views} views that are slow until then", stderr=True)

        result = database.ingest(
            raw,
            warehouse,
            traces,
            progress,
            replacing=replace,
            only=only,
            materialize=not no_materialize,
            workers=workers,
            on_published=report_published,
        )
    print_ingest(result, warehouse, next_step)


def sample(
    traces: TraceNames, out: Out = RAW, scale: _Scale = 0.01, seed: _Seed = 0, days: _Days = None
) -> None:
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


def _database_inode(warehouse: Path) -> int:
    """The inode of the database file, which changes when the file is replaced; 0 without a database."""
    from tracehouse.engines.names import DATABASE

    path = warehouse / DATABASE
    return path.stat().st_ino if path.exists() else 0
