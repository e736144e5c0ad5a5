"""The Python interface: open a warehouse, query it, and show answers with their caveats and sources.

    with tracehouse.open("warehouse") as warehouse:
        warehouse.query("itp.gpu_hours", min_gpus=8)

Queries run at once, and answers are Arrow tables in memory. Errors are `tracehouse.UserError`, and its
subclass `tracehouse.UsageError` for invalid names, parameters and values.
"""

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import duckdb
import pyarrow as pa

from tracehouse.core.arguments import (
    Value,
    check_flag,
    check_number,
    check_path,
    check_text,
    check_texts,
    check_values,
    check_whole_number,
)
from tracehouse.core.errors import Command, Option, Part, UsageError, UserError, describe_error
from tracehouse.core.text import quoted
from tracehouse.definitions.lists import Kind
from tracehouse.engines.duckdb.read import answer, describe, fork_server, notes, sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery, check_occurs
from tracehouse.engines.duckdb.read.catalog import check_traces
from tracehouse.engines.duckdb.read.guard import reading_statement
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.request import Listing, NamedQuery, Request, Statement
from tracehouse.publish.columns import format_exact

if TYPE_CHECKING:
    import altair
    import ibis
    import pandas
    import polars

__all__ = ["Answer", "Meaning", "Note", "UsageError", "UserError", "Value", "Warehouse"]

T = TypeVar("T")

_WIDE = pa.decimal128(38, 0)
_MOST_ROWS_SHOWN = 20

# The arguments of Python that are not called as their options, with the values of flags.
_ARGUMENTS = {
    "all": "with_empty=True",
    "cluster": "clusters",
    "metric": "metrics",
    "timeout": "timeout_s",
    "warehouse": "folder",
    "width": "width_mm",
    "yes": "yes=True",
}
# The functions of Python that are not the command of the same name.
_FUNCTIONS = {"list": "warehouse.list", "describe": "warehouse.describe"}
_FUNCTIONS |= {"ingest": "tracehouse.ingest", "sample": "tracehouse.sample"}


@dataclass(frozen=True, repr=False)
class Answer:
    """An answer: its rows, caveats and sources.

    It is an Arrow stream: `polars.DataFrame(answer)`, `pandas.DataFrame.from_arrow(answer)` and
    `duckdb.from_arrow(answer)` read it. Iterating over it gives a dictionary for each row. `name` is the
    query, view or table; it is empty for SQL. `values` are the parameters that the caller gave. `caveats`
    also has notes on the data, such as on empty tables, whose `word` is note. `not_counted` has the traces
    that an answer over several traces leaves out, each with the reason, such as `records no waits`. `sources`
    has a row for each raw file that the answer was computed from: file, checksum, rows read, kept and
    rejected, and whether the file is synthetic.
    """

    name: str
    values: Mapping[str, Value]
    caveats: Sequence[Note]
    not_counted: Mapping[str, str]
    sources: pa.Table
    _table: pa.Table
    _query: BoundQuery
    _warehouse: "Warehouse"

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table. Sums of integers are 64-bit integers, or decimals if larger."""
        return self._table

    def df(self) -> "pandas.DataFrame":
        """The rows as a pandas frame. Raises UserError if pandas is not installed."""
        if find_spec("pandas") is None:
            raise UserError("pandas is not installed: pip install pandas")
        return self._table.to_pandas()

    def pl(self) -> "polars.DataFrame":
        """The rows as a Polars frame."""
        import polars

        # A table without columns or rows is a frame as well, never a series.
        return polars.DataFrame(self._table)

    def plot(
        self,
        width_mm: float | None = None,
        font_size: float | None = None,
        *,
        x: str = "",
        y: str = "",
        kind: str = "",
        color: str = "",
        log: str = "",
        title: str | Literal[False] = "",
        footer: bool = True,
    ) -> "altair.VConcatChart":
        """The chart of a named query, with its printed width in millimetres and its font size in points.

        With `x`, `y` or `color`, the chart shows these columns of the answer instead; the others are the
        first that fit. An answer of SQL is always drawn like this. `color` is the column that names the
        series, or has the values of a heat map. `kind` is bar, stack, line, step, point or heat, and `log`
        makes axes logarithmic: x, y or xy. `title=False` and `footer=False` leave out the texts above and
        below the chart, for a paper with its own caption. Raises UserError if the query has no chart, or if
        the extra `plot` is not installed.
        """
        from tracehouse.publish.plot import pictures
        from tracehouse.publish.plot.options import ChartOptions

        width = None if width_mm is None else check_number("width_mm", width_mm)
        font = None if font_size is None else check_number("font_size", font_size)
        chosen = {"kind": kind, "x": x, "y": y, "color": color, "log": log, "title": title or ""}
        options = ChartOptions(
            **{argument: check_text(argument, value) for argument, value in chosen.items()},
            has_title=title is not False,
            has_footer=check_flag("footer", footer),
        )
        with _in_python():
            size = pictures.parse_size(width, font)
        if self.name and not options.has_columns:
            describe = partial(
                pictures.describe_query, name=self.name, given=_texts(self.values), options=options
            )
        else:
            with _in_python():
                found = pictures.select_answer(self._table, options, self.name)
            describe = partial(
                pictures.describe_answer, query=self._query, about=self.caveats, found=found, options=options
            )
        return pictures.as_altair(pictures.build(self._warehouse._run(describe), size))

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return self._table.column_names

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._table.shape

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a PyCapsule with an Arrow stream."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[dict[str, object]]:
        for batch in self._table.to_batches():
            yield from batch.to_pylist()

    def __len__(self) -> int:
        return self._table.num_rows

    def __repr__(self) -> str:
        return "\n".join([str(self.pl()), *notes.summarize(self.caveats)])

    def _repr_html_(self) -> str:
        """HTML for a notebook: the first rows, the caveats, and the chart if there is one."""
        import polars

        from tracehouse.publish.plot import pictures

        shown = self._table.slice(0, _MOST_ROWS_SHOWN)
        with polars.Config(tbl_rows=_MOST_ROWS_SHOWN, tbl_cols=-1, fmt_str_lengths=80):
            parts = [str(polars.DataFrame(shown)._repr_html_())]
        if len(self) > shown.num_rows:
            parts.append(f"<p>and {len(self) - shown.num_rows:,} more rows</p>")
        for note in self.caveats:
            parts.append(f"<p><b>{html.escape(note.name)}</b>: {html.escape(note.text)}</p>")
        # Not every query has a chart, and the extra `plot` may be missing.
        with suppress(UserError):
            parts.append(pictures.render_svg(self.plot().to_dict()))
        return "".join(parts)


@dataclass(frozen=True)
class Meaning:
    """The description of an object.

    `facts` are texts by name. `grids` are data frames by title, such as the columns and the parameters.
    """

    name: str
    title: str
    facts: Mapping[str, str]
    grids: Mapping[str, "polars.DataFrame"]
    caveats: Sequence[Note]
    sql: str
    _text: str = field(repr=False)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        """HTML for a notebook: the text that `traces describe` prints."""
        return f"<pre>{html.escape(self._text)}</pre>"


class Warehouse:
    """A warehouse. Each query opens the database again, so that it reads the newest version."""

    def __init__(self, folder: str | Path, timeout_s: float | None = None, memory_limit: str = ""):
        """Open the warehouse in a folder.

        `timeout_s` is the longest run time of a query in seconds, None for no limit. `memory_limit` is the
        most memory of a query, such as `4GB`; the default is half of the machine's memory. Raises UserError
        if the folder has no database.
        """
        self.folder = check_path("folder", folder)
        timeout = None if timeout_s is None else check_number("timeout_s", timeout_s)
        self._limits = Limits(timeout, check_text("memory_limit", memory_limit))
        self._connection: duckdb.DuckDBPyConnection | None = None
        # Charts need further modules, which a child imports when it draws.
        with _in_python():
            fork_server.start([__name__, "tracehouse.publish.plot.pictures"])
            sandbox.check(self.folder, self._limits)

    def __enter__(self) -> "Warehouse":
        return self

    def __exit__(self, *error: object) -> None:
        """Close `connection`. Queries leave nothing open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __getstate__(self) -> dict[str, object]:
        """Pickle the warehouse without `connection`, which the copy opens again."""
        return {**self.__dict__, "_connection": None}

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A raw DuckDB connection, for other libraries. The database is attached read-only.

        It is yours: it can do what your process can do below `parquet/` and `stored/`, so `copy … to` a file
        there overwrites it, and only its buffers have a memory limit. `sql` and `query` accept only
        statements that read, and keep their limits. Each access returns the same connection. It keeps reading
        the version of the warehouse that it opened.
        """
        if self._connection is None:
            with _in_python():
                self._connection = sandbox.connect(self.folder, self._limits, is_locked=False)
        return self._connection

    def ibis(self) -> "ibis.BaseBackend":
        """The tables, views and catalog as an Ibis backend that runs only statements that read.

        It runs in this process, so Landlock does not confine it, and only its buffers have a memory limit.
        Raises UserError if Ibis is not installed.
        """
        if find_spec("ibis") is None:
            raise UserError("Ibis is not installed: pip install 'ibis-framework[duckdb]'")
        import ibis

        with _in_python():
            connection = sandbox.connect(self.folder, self._limits, is_locked=False)
        backend = ibis.duckdb.from_connection(connection)
        connection.execute("set lock_configuration = true")
        backend.con = _ReadingConnection(connection)
        return backend

    def query(self, name: str, /, *, limit: int | None = None, **parameters: Value | Sequence[str]) -> Answer:
        """Run a named query, or read a view or base table, with at most `limit` rows.

        A parameter that takes several values, such as `in_trace`, may be a list. Raises UsageError for an
        unknown name or parameter, or an invalid value; the message lists valid ones.
        """
        listed = {
            key: ",".join(check_texts(key, value)) if isinstance(value, list | tuple) else value
            for key, value in parameters.items()
        }
        name, given = check_text("name", name), check_values("parameters", listed)
        limit = None if limit is None else check_whole_number("limit", limit)
        return self._answer(Request(NamedQuery(name, _texts(given)), limit), name, given)

    def sql(self, statement: str, values: Mapping[str, Value] | None = None) -> Answer:
        """Run one read-only SQL statement. `values` has the values of its parameters, such as `$name`.

        Raises UserError if the statement fails, or if it does more than read.
        """
        statement = check_text("statement", statement)
        given = check_values("values", {} if values is None else values)
        return self._answer(Request(Statement(statement, given)), "", given)

    def jobs(self, *traces: str) -> Answer:
        """Read the jobs of the named traces, or of all traces: the rows of `unified.jobs`.

        A row is a job. Times are in seconds from the start of its trace, requests in GPUs, and values that a
        trace does not publish are NULL. Raises UsageError for an unknown trace.

            >>> jobs = warehouse.jobs("itp", "openb").df()
            >>> sorted(jobs["trace"].unique())
            ['itp', 'openb']
            >>> {"submit_s", "wait_s", "run_s", "requested_gpus", "status"} <= set(jobs.columns)
            True
        """
        chosen = check_texts("traces", traces)
        where = f" where trace in ({', '.join(map(quoted, chosen))})" if chosen else ""
        request = Request(Statement(f"select * from unified.jobs{where}"))
        return self._answer(request, "", {}, with_jobs=chosen)

    def verify(self, *traces: str) -> "polars.DataFrame":
        """Compare the published figures of the named traces, or of all traces, with the data.

        A row is a figure: its statement, the published and the measured value with their unit, the verdict,
        and where it is printed. Raises UsageError for an unknown trace.

            >>> figures = warehouse.verify("openb")
            >>> figures.filter(figure="openb.O4_failed").select("statement", "published").row(0)
            ('1,870 GPU pods failed.', 1870.0)
        """
        import polars

        from tracehouse.engines.duckdb.read import verify

        results = self._run(partial(verify.figures, traces=check_texts("traces", traces)))
        return polars.DataFrame(verify.as_table(results))

    def list(
        self, kind: str = "traces", trace: str = "", search: str = "", with_empty: bool = False
    ) -> "polars.DataFrame":
        """List traces, tables, views or queries.

        `trace` selects the objects of one trace, and `search` those that match all words, best match first.
        Queries of tables without data are omitted unless `with_empty` is set.
        """
        import polars

        kind, trace, search = (
            check_text("kind", kind),
            check_text("trace", trace),
            check_text("search", search),
        )
        with_empty = check_flag("with_empty", with_empty)
        if kind not in set(Kind):
            raise UsageError(f"Unknown kind {kind}. Known: {', '.join(Kind)}")
        request = Request(Listing(Kind(kind), trace, search, with_empty))
        return polars.DataFrame(self._answer(request, "", {}).arrow())

    def describe(self, name: str) -> Meaning:
        """Describe a table, view, query, trace, column or caveat.

        Raises UsageError, which lists close matches, if no object has this name.
        """
        import polars

        from tracehouse.publish import description

        check_text("name", name)
        found = self._run(partial(describe.describe, name=name))
        grids = {
            grid.title: polars.DataFrame(list(grid.rows), schema=list(grid.names), orient="row")
            for grid in found.grids
        }
        text = description.as_text(found, to_terminal=False)
        return Meaning(found.name, found.title, found.facts, grids, found.notes, found.sql, text)

    def __repr__(self) -> str:
        return f"tracehouse.open({str(self.folder)!r})"

    def _answer(
        self, request: Request, name: str, values: Mapping[str, Value], with_jobs: Sequence[str] = ()
    ) -> Answer:
        with _in_python(), sandbox.scratch_folder() as scratch:
            file = scratch / "answer"
            query, about, not_counted, sources = self._run(
                partial(_write_answer, request=request, file=file, with_jobs=with_jobs), scratch
            )
            # The file exists until the last table that reads it is gone.
            with pa.memory_map(str(file)) as rows, pa.ipc.open_stream(rows) as reader:
                table = _with_integers(reader.read_all())
        return Answer(name, values, about, not_counted, sources, table, query, self)

    def _run(self, work: Callable[[duckdb.DuckDBPyConnection], T], scratch: Path | None = None) -> T:
        with _in_python():
            return sandbox.run(self.folder, self._limits, work, scratch=scratch)


class _ReadingConnection:
    """The methods of a DuckDB connection that Ibis calls. They accept only statements that read."""

    def __init__(self, connection: duckdb.DuckDBPyConnection):
        self._connection = connection
        self.register = connection.register

    def execute(self, sql: str, *values: object) -> duckdb.DuckDBPyConnection:
        reading_statement(self._connection, sql)
        return self._connection.execute(sql, *values)

    def sql(self, sql: str) -> duckdb.DuckDBPyRelation:
        reading_statement(self._connection, sql)
        return self._connection.sql(sql)


def ingest(
    raw: str | Path | Sequence[str | Path],
    warehouse: str | Path,
    traces: Sequence[str],
    replace: bool,
    only: Sequence[str],
) -> Warehouse:
    """Convert raw files and open the warehouse; see `tracehouse.ingest`."""
    from tracehouse.commands import data

    folders = raw if isinstance(raw, Sequence) and not isinstance(raw, str | bytes) else [raw]
    paths = [check_path("raw", folder) for folder in folders]
    folder = check_path("warehouse", warehouse)
    chosen, partitions = check_texts("traces", traces), check_texts("only", only)
    replace = check_flag("replace", replace)
    step = f"tracehouse.open({str(folder)!r})"
    with _in_python():
        data.run_ingest(chosen, paths, folder, replace, partitions, next_step=step)
    return Warehouse(folder)


def fetch(
    *traces: str,
    out: str | Path = "raw",
    metrics: Sequence[str] = (),
    clusters: Sequence[str] = (),
    only: Sequence[str] = (),
    yes: bool = False,
) -> Path:
    """Download the raw files of traces to a folder, and return the folder.

    The arguments are the options of `traces fetch`. Raises UserError if a file cannot be downloaded.
    """
    from tracehouse.commands import data

    folder, names = check_path("out", out), check_texts("traces", traces)
    telemetry = check_texts("metrics", metrics), check_texts("clusters", clusters)
    partitions, yes = check_texts("only", only), check_flag("yes", yes)
    with _in_python():
        data.fetch(names, *telemetry, [], partitions, folder, yes)
    return folder


def sample(
    *traces: str, out: str | Path = "raw", scale: float = 0.01, seed: int = 0, days: int | None = None
) -> Path:
    """Generate synthetic raw files of traces in a folder, and return the folder.

    The arguments are the options of `traces sample`. Raises UsageError for an unknown trace.
    """
    from tracehouse.commands import data

    folder, names = check_path("out", out), check_texts("traces", traces)
    scale, seed = check_number("scale", scale), check_whole_number("seed", seed)
    days = None if days is None else check_whole_number("days", days)
    with _in_python():
        data.sample(names, folder, scale, seed, days)
    return folder


@contextmanager
def _in_python() -> Iterator[None]:
    """Word the options and commands in errors as arguments and methods of Python.

    As on the command line, the errors of the operating system are errors of the user.
    """
    try:
        yield
    except OSError as error:
        raise UserError(describe_error(error)) from error
    except UserError as error:
        parts = [_word(part) for part in error.parts]
        if parts == [*error.parts]:
            raise
        raise (UsageError if isinstance(error, UsageError) else UserError)(*parts) from None


def _word(part: Part) -> Part:
    """Return a part of an error as Python words it."""
    if isinstance(part, Option):
        return _ARGUMENTS.get(part.name, part.name)
    if not isinstance(part, Command) or part.name not in _FUNCTIONS:
        return part
    given = [f'"{argument}"' for argument in part.arguments]
    for option, value in part.options.items():
        name = _ARGUMENTS.get(option, option)
        shown = f'"{value}"' if value else "…"
        # The raw folder is the first argument.
        given.append(name if "=" in name else shown if option == "raw" else f"{name}={shown}")
    return f"`{_FUNCTIONS[part.name]}({', '.join(given)})`"


def _texts(parameters: Mapping[str, Value]) -> dict[str, str]:
    """The values of parameters as the texts that the command line accepts."""
    return {name: format_exact(value) for name, value in parameters.items()}


def _check_have_jobs(connection: duckdb.DuckDBPyConnection, traces: Sequence[str]) -> None:
    """Raise UsageError if one of the traces does not exist or has no jobs in this warehouse."""
    check_traces(connection, traces)
    for trace in traces:
        check_occurs(connection, "jobs", "unified.jobs.trace", trace)


def _write_answer(
    connection: duckdb.DuckDBPyConnection, request: Request, file: Path, with_jobs: Sequence[str]
) -> tuple[BoundQuery, Sequence[Note], Mapping[str, str], pa.Table]:
    """Write the rows of an answer as an Arrow stream. Returns its query, notes, traces left out, and sources.

    Raises UsageError if a trace of `with_jobs` has no jobs, and UserError if the rows do not fit the memory
    limit.
    """
    _check_have_jobs(connection, with_jobs)
    most = sandbox.most_memory(connection)
    with answer.answer(connection, request) as found:
        sources = notes.sources(connection, found.query.reads)
        reader = answer.read(connection, found.query)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            if sink.tell() > most:
                raise MemoryError
    return found.query, found.notes, found.not_counted, sources


def _with_integers(table: pa.Table) -> pa.Table:
    """Convert columns of 38 digits to 64-bit integers if all values fit."""
    for place, column in enumerate(table.schema):
        if column.type == _WIDE:
            try:
                table = table.set_column(place, column.name, table[place].cast(pa.int64()))
            except pa.ArrowInvalid:
                # A sum of more than 63 bits remains a decimal.
                continue
    return table
