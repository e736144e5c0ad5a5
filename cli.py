"""The command line: `traces`. Parses, calls one function, prints."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, Optional

import typer

from tracehouse.ingest.errors import UsageError, UserError
from tracehouse.sql.formats import Format
from tracehouse.sql.lists import LISTS, Kind

# Everything else is imported where it is used: `traces --help` needs none of it.
if TYPE_CHECKING:
    from pyarrow import RecordBatchReader

    from tracehouse.ingest.pipeline import Outcome
    from tracehouse.sql.answer import Note
    from tracehouse.sql.describe import Description


app = typer.Typer(
    help="A columnar warehouse of public GPU-cluster traces.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Warehouse = Annotated[
    Path,
    typer.Option("--warehouse", "-w", envvar="TRACES_WAREHOUSE", help="Folder that holds the warehouse."),
]
Raw = Annotated[
    list[Path],
    typer.Option("--raw", "-r", envvar="TRACES_RAW", help="Folder with raw files; may be repeated."),
]
TraceNames = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[TRACE]...", help="Traces; all, if none is named.", show_default=False),
]
FormatOption = Annotated[
    Optional[Format],  # noqa: UP045
    typer.Option("--format", help="Default: table on a terminal, csv in a pipe.", show_default=False),
]
Output = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--output", "-o", help="File to write to; its ending chooses the format.", show_default=False
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show how it would be run, and do not run it.")]

DEFAULT_WAREHOUSE = Path("warehouse")
DEFAULT_RAW = [Path("raw")]


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        _say(f"traces {version('tracehouse')}")
        raise typer.Exit


@app.callback()
def traces(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """A columnar warehouse of public GPU-cluster traces."""


@app.command()
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
) -> None:
    """Read raw files into the warehouse: traces ingest itp openb --raw ~/downloads.

    Files are recognised by name and content anywhere below the raw folders. What was ingested before stays,
    but where the same file is found in another version; `traces forget` takes it out. What has not changed
    since the last ingest is not converted again; an ingest that was stopped goes on where it was. A database
    that was built with --materialize stays one file.
    """
    from tracehouse.ingest.progress import byte_bars
    from tracehouse.sql import database

    with byte_bars() as progress:
        outcome = database.ingest(raw, warehouse, traces or [], progress, replace)
    _print_outcome(outcome, warehouse)


@app.command()
def forget(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Raw files as in catalog.sources, or patterns: 'acme/*'."),
    ],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
) -> None:
    """Take raw files out of the warehouse: traces forget openb_pod_list_cpu050.csv.

    The raw files themselves are not touched; the next ingest that finds them reads them again.
    """
    from tracehouse.sql import database

    for left in database.forget(warehouse, sources):
        _say(left)


@app.command()
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
    from tracehouse.sql import database

    removed = database.vacuum(warehouse, older_than_days, keep_versions)
    freed_mb = sum(file.bytes for file in removed) / 1e6
    _say(f"Removed {len(removed):,} files, {freed_mb:,.1f} MB")


@app.command()
def build(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    materialize: Annotated[
        bool,
        typer.Option("--materialize", help="Copy the tables into the database: one file, no other needed."),
    ] = False,
    recover: Annotated[
        bool,
        typer.Option("--recover", help="First make datapackage.json anew, if it is gone or damaged."),
    ] = False,
) -> None:
    """Build the database anew over the warehouse's Parquet: traces build.

    Needed after the folder was moved, and after an update of this program.
    """
    from tracehouse.ingest.progress import byte_bars
    from tracehouse.sql import database

    if recover:
        with byte_bars() as progress:
            notes = database.recover(warehouse, progress)
        for note in notes:
            _say(f"note: {note}", stderr=True)
    _say(f"Built {database.build(warehouse, materialize)}")


@app.command()
def sample(
    traces: TraceNames = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = DEFAULT_RAW[0],
    scale: Annotated[
        float,
        typer.Option(
            "--scale", "-s", help="Size; 1 is the publisher's. Acme's telemetry goes by its square."
        ),
    ] = 0.01,
    seed: Annotated[int, typer.Option("--seed", help="The same seed and scale give the same files.")] = 0,
) -> None:
    """Write synthetic raw files in the publishers' formats: traces sample --out raw --scale 0.01.

    They are marked as synthetic, and stay so in the warehouse.
    """
    from tracehouse.ingest.progress import byte_bars
    from tracehouse.ingest.sample import available, expected_bytes, write_sample

    chosen = traces or available()
    with byte_bars() as progress:

        def tell(trace: str, more_bytes: int) -> None:
            progress(trace, more_bytes, expected_bytes([trace], scale))

        paths = write_sample(out, scale, seed, chosen, tell)
    _say(f"Wrote {len(paths)} synthetic files to {out}. Read them with: traces ingest --raw {out}")


@app.command("list")
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")] = Kind.TRACES,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    form: FormatOption = None,
    output: Output = None,
) -> None:
    """List what the warehouse holds: traces list queries."""
    from tracehouse.sql import answer

    connection = answer.connect(warehouse)
    _show(answer.run(connection, answer.Question(LISTS[kind], {})), form, output)


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="A table, view or query: itp.raw_job, itp.job, itp.gpu_hours.")],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
) -> None:
    """Say what a table, view or query means: traces describe pai.task_wait."""
    from tracehouse.sql import answer
    from tracehouse.sql import describe as descriptions

    _print_description(descriptions.describe(answer.connect(warehouse), name))


@app.command()
def query(
    name: Annotated[str, typer.Argument(help="Name of the query; `traces list queries` has all.")],
    parameters: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--param", "-p", metavar="KEY=VALUE", help="A parameter; may be repeated."),
    ] = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    form: FormatOption = None,
    output: Output = None,
    explain: Explain = False,
    plot: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--plot", metavar="FILE", help="Draw the answer: FILE.png or FILE.svg.", show_default=False
        ),
    ] = None,
) -> None:
    """Answer a named query: traces query itp.gpu_hours -p min_gpus=8.

    With --plot the answer is drawn to a file, not shown: traces query itp.gpu_hours --plot hours.png
    """
    from tracehouse.sql import answer

    if plot and (form or output or explain):
        raise UsageError("give --plot, or --format, --output or --explain, not both")
    connection = answer.connect(warehouse)
    question = answer.named_question(connection, name, _key_values(parameters or []))
    if explain:
        _say(answer.plan(connection, question))
        return
    if plot:
        from tracehouse.sql.plot import draw

        draw(connection, question, plot)
        _say(f"Drew {plot}")
    else:
        _show(answer.run(connection, question), form, output)
    _print_notes(answer.notes(connection, name), stderr=output is not None or not sys.stdout.isatty())


@app.command()
def sql(
    statement: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(help="The statement; `-`, or none at all, reads standard input.", show_default=False),
    ] = None,
    file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--file", "-f", help="File that holds the statement.", show_default=False),
    ] = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    form: FormatOption = None,
    output: Output = None,
    explain: Explain = False,
) -> None:
    """Answer a query in SQL: traces sql "select count(*) from itp.job".

    The database is opened read-only, and no other file can be read or written.
    """
    from tracehouse.sql import answer

    connection = answer.connect(warehouse)
    question = answer.sql_question(connection, _statement(statement, file))
    if explain or answer.is_explain(question):
        _say(answer.plan(connection, question))
        return
    _show(answer.run(connection, question), form, output)


@app.command()
def check(
    traces: TraceNames = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    form: FormatOption = None,
    output: Output = None,
    files: Annotated[
        bool, typer.Option("--files", help="Check instead that every Parquet file is as it was written.")
    ] = False,
) -> None:
    """Check the data against the rules of the catalog: traces check itp. Exits with 1 where one fails.

    With --files, the size and checksum of each Parquet file are compared with those in datapackage.json.
    """
    if files:
        _check_files(warehouse, traces or [])
        return
    from tracehouse.sql import answer, checks

    found = checks.rules(answer.connect(warehouse), traces or [])
    _show(found.to_reader(), form, output)
    failed = checks.count_failed(found)
    if failed:
        raise UserError(f"{failed} of {found.num_rows} rules failed")


@app.command()
def verify(
    traces: TraceNames = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    form: FormatOption = None,
    output: Output = None,
) -> None:
    """Set what publishers printed beside what is measured: traces verify pai. Exits with 1 where it differs.

    What rests on synthetic data is never reproduced, nor does it differ.
    """
    from tracehouse.sql import answer
    from tracehouse.sql import verify as verifying

    results = verifying.figures(answer.connect(warehouse), traces or [])
    _show(verifying.as_table(results).to_reader(), form, output)
    explained = verifying.explanations(results)
    _print_notes(explained, stderr=output is not None or not sys.stdout.isatty(), word="explained")
    differing = verifying.count(results, verifying.Verdict.DIFFERS)
    if differing:
        raise UserError(f"{differing} of {len(results)} figures differ")


@app.command()
def shell(warehouse: Warehouse = DEFAULT_WAREHOUSE) -> None:
    """Open the database in the DuckDB shell, read-only: traces shell."""
    from tracehouse.sql.shell import command

    line = command(warehouse)
    os.execv(line[0], line)


def main() -> NoReturn:
    """Run the command line: 0 for success, 1 for a failure, 2 for wrong usage."""
    if hasattr(signal, "SIGPIPE"):
        # `traces … | head` ends like any other program.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        app()
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except RuntimeError as error:
        # What DuckDB makes of Ctrl-C while it runs a query.
        if "interrupted" not in str(error):
            raise
        sys.exit(130)
    sys.exit(0)


def _show(reader: "RecordBatchReader", form: Format | None, output: Path | None) -> None:
    from tracehouse.sql import export

    export.write(reader, export.chosen_format(form, output), output)


def _check_files(warehouse: Path, traces: Sequence[str]) -> None:
    from tracehouse.ingest import integrity
    from tracehouse.ingest.progress import byte_bars

    with byte_bars() as progress:
        checked = integrity.check(warehouse, traces, progress)
    for damage in checked.damages:
        _say(
            f"damaged: {warehouse / damage.stored.path}: {damage.what}. {integrity.advice(damage.conversion)}"
        )
    if checked.damages:
        raise UserError(f"{len(checked.damages):,} of {checked.files:,} files are not as they were written")
    _say(f"{checked.files:,} files, {checked.bytes / 1e6:,.1f} MB: all are as they were written")


def _key_values(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        if not equals:
            raise UsageError(f"a parameter is written KEY=VALUE, not {key + equals + value!r}")
    return {key: value for key, _, value in pairs}


def _statement(statement: str | None, file: Path | None) -> str:
    if statement not in (None, "-") and file:
        raise UsageError("give a statement or --file, not both")
    if file:
        return file.read_text()
    if statement not in (None, "-"):
        return str(statement)
    if sys.stdin.isatty():
        raise UsageError("give a statement, --file FILE, or one on standard input")
    return sys.stdin.read()


def _print_outcome(outcome: "Outcome", warehouse: Path) -> None:
    from tracehouse.ingest.names import listed

    for name in dict.fromkeys(conversion.table_name for conversion in outcome.converted):
        parts = [conversion for conversion in outcome.converted if conversion.table_name == name]
        rows = sum(part.rows for part in parts)
        in_all = sum(part.rows for part in outcome.conversions if part.table_name == name)
        more = f", {in_all:,} in all" if in_all != rows else ""
        rejected = sum(stored.rows for part in parts for stored in part.rejected)
        lost = f", {rejected:,} rejected (see catalog.rejected_rows)" if rejected else ""
        marked = " synthetic" if any(source.synthetic for part in parts for source in part.sources) else ""
        files = f"{len(parts)} file{'s' * (len(parts) != 1)}"
        _say(f"{name}: {rows:,}{marked} rows from {files}{more}{lost}")
    if outcome.unchanged:
        count = len({conversion.table_name for conversion in outcome.unchanged})
        _say(f"{count} table{'s' * (count != 1)} unchanged")
    for note in outcome.notes:
        _say(f"note: {note}", stderr=True)
    if outcome.unrecognised:
        _say(f"note: of no known trace: {listed(outcome.unrecognised)}", stderr=True)
    if not (outcome.converted or outcome.unchanged or outcome.problems):
        raise UserError("the raw folders hold no file of a known trace")
    if outcome.conversions:
        _say(f"The warehouse is {warehouse}. Ask it: traces list queries --warehouse {warehouse}")
    for problem in outcome.problems:
        _say(f"error: {problem}", stderr=True)
    if outcome.problems:
        count = len(outcome.problems)
        raise UserError(
            f"{count} file{'s' * (count != 1)} could not be read: their tables keep their last version"
        )


def _print_description(found: "Description") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(found.name, "bold"), Text(found.title), sep="\n")
    for fact, text in found.facts.items():
        if text:
            console.print(Text(f"{fact}: {text}"))
    if found.fields:
        grid = Table(title=found.fields_title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for name in found.field_names:
            grid.add_column(name, overflow="fold")
        for row in found.fields:
            grid.add_row(*(Text(cell or "") for cell in row))
        console.print(grid)
    _print_notes(found.notes, stderr=False)
    if found.sql:
        _say(f"\n{found.sql}")


def _print_notes(notes: "Sequence[Note]", stderr: bool, word: str = "caveat") -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=stderr)
    for note in notes:
        console.print(Text(f"{word} {note.name}: {note.text}", "dim"), soft_wrap=not console.is_terminal)


def _say(text: str, stderr: bool = False) -> None:
    typer.echo(text, err=stderr)
