"""The commands that maintain a warehouse and its definitions: build, forget, vacuum and lint."""

from typing import Annotated

from tracehouse.commands.console import say
from tracehouse.commands.options import (
    WAREHOUSE,
    NoMaterialize,
    Warehouse,
    argument,
    option,
    reject_nan,
)
from tracehouse.core.errors import UserError
from tracehouse.engines.names import Engine

_EmbedTables = Annotated[
    bool, option("--copy-tables", "Copy the tables into the database, which then needs no other file.")
]
_Sources = Annotated[list[str], argument("SOURCE...", "Raw files: a path, a name, or a pattern.")]
_OlderThanDays = Annotated[
    float,
    option(
        "--older-than-days",
        "Only files superseded at least this long ago.",
        "DAYS",
        min=0,
        callback=reject_nan,
    ),
]
_KeepVersions = Annotated[
    int, option("--keep-versions", "Keep the files of this many earlier versions.", "NUMBER", min=0)
]
_Parser = Annotated[
    Engine, option("--engine", "Also let this engine parse the SQL of the package: spark.", "ENGINE")
]
_Trace = Annotated[str, argument("[TRACE]", "Only this trace, or schema of yours, with what belongs to it.")]


def build(
    warehouse: Warehouse = WAREHOUSE,
    embed_tables: _EmbedTables = False,
    no_materialize: NoMaterialize = False,
) -> None:
    """Rebuild the database over the warehouse's Parquet files.

    Run it after moving the folder, after updating Tracehouse, and after changing your own views and queries
    in the warehouse's folder `local`.

    Example: traces build --warehouse warehouse
    """
    from tracehouse.core.progress import byte_bars
    from tracehouse.engines.duckdb.write import database

    with byte_bars() as progress:
        report = database.build(warehouse, embed_tables, not no_materialize, progress)
    say(f"Built {warehouse / database.DATABASE}")
    for note in report.notes:
        say(f"note: {note}", stderr=True)
    for problem in report.problems:
        say(f"error: {problem.error}", stderr=True)
    if report.problems:
        count = len(report.problems)
        what = "1 view or query" if count == 1 else f"{count} views or queries"
        raise UserError(f"could not build {what}; all others are built")


def forget(sources: _Sources, warehouse: Warehouse = WAREHOUSE) -> None:
    """Remove the rows of raw files from the warehouse.

    The raw files themselves are kept; the next ingest that finds them converts them again.

    Example: traces forget openb_pod_list_cpu050.csv 'acme/*'
    """
    from tracehouse.engines.duckdb.write import database

    for line in database.forget(warehouse, sources):
        say(line)


def vacuum(
    warehouse: Warehouse = WAREHOUSE, older_than_days: _OlderThanDays = 7, keep_versions: _KeepVersions = 3
) -> None:
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


def lint(trace: _Trace = "", warehouse: Warehouse = WAREHOUSE, engine: _Parser = Engine.DUCKDB) -> None:
    """Check definitions of traces, views, queries and figures.

    It needs no data. It checks the package and your own views and queries in the warehouse's folder `local`,
    and lists every mistake with its file and line. The exit code is 1 if there is any. SQL of the package
    must translate to Spark; with --engine spark, Spark's own parser reads it, too.

    Example: traces lint itp
    """
    from tracehouse.core.errors import check_traces
    from tracehouse.definitions.lint.run import lint as run_lint
    from tracehouse.definitions.names import OWN
    from tracehouse.definitions.user_files import list_files
    from tracehouse.engines.duckdb.write.lint import lint_own
    from tracehouse.engines.spark.lint import lint_translation, lint_with_spark
    from tracehouse.ingest.traces import trace_names

    own = {path.parent.name for path in list_files(warehouse / OWN)}
    check_traces([trace] if trace else [], [*trace_names(), "unified", *sorted(own)])
    rule = lint_with_spark if engine is Engine.SPARK else lint_translation
    findings = run_lint(trace, [rule, lambda _: lint_own(warehouse / OWN)])
    for finding in findings:
        say(str(finding))
    if findings:
        raise UserError(f"{len(findings)} {'mistakes' if len(findings) > 1 else 'mistake'} to correct")
    say("No mistakes found")
