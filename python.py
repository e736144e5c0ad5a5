"""The Python interface: opens a warehouse, asks it, and shows answers with what is to be known of them.

    house = tracehouse.open("warehouse")
    house.query("itp.gpu_hours", min_gpus=8)

Answers are computed at once and held as Arrow tables. Errors are `UserError` and, for wrong names, parameters
and values, `UsageError`, with the sentence that the command line would say.
"""

import datetime as dt
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb
import pyarrow as pa

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read import answer, describe, listing, provenance, sandbox
from tracehouse.engines.duckdb.read.answer import Note, Question
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish.columns import exact
from tracehouse.sql.lists import Kind

if TYPE_CHECKING:
    import altair
    import pandas
    import polars

__all__ = ["Answer", "Meaning", "Note", "UsageError", "UserError", "Value", "Warehouse"]

Value = str | int | float | bool | dt.date
"""What a parameter may be."""

T = TypeVar("T")

_WIDE = pa.decimal128(38, 0)
_MOST_ROWS_SHOWN = 20


@dataclass(frozen=True)
class Answer:
    """An answer: its rows, and what is to be known of them.

    `name` is the query, view or table that was asked for, empty for SQL; `values` the parameters that were
    given. `sources` has a row for each raw file behind it: file, checksum, rows read, kept and rejected,
    and whether it is synthetic.
    """

    name: str
    values: Mapping[str, Value]
    caveats: Sequence[Note]
    sources: pa.Table
    _table: pa.Table = field(repr=False)
    _warehouse: "Warehouse" = field(repr=False)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table. Sums of integers are BIGINT, or decimals where they do not fit."""
        return self._table

    def df(self) -> "pandas.DataFrame":
        """The rows as a pandas frame. Raises UserError where pandas is not installed."""
        if find_spec("pandas") is None:
            raise UserError("pandas is not installed: pip install pandas")
        return self._table.to_pandas()

    def pl(self) -> "polars.DataFrame":
        """The rows as a Polars frame."""
        import polars

        # A table without columns or rows is a frame as well, never a series.
        return polars.DataFrame(self._table)

    def plot(self, width_mm: float | None = None, font_size: float | None = None) -> "altair.VConcatChart":
        """The picture of a named query, so wide as it is to be printed, with letters of so many points.

        Asks again. Raises UserError where the query has none, or nothing is installed to draw with.
        """
        from tracehouse.publish.plot import pictures

        size = pictures.parse_size(width_mm, font_size)
        given = _texts(self.values)
        return self._warehouse._ask(
            lambda connection: pictures.build_query_picture(connection, self.name, given, size)
        )

    def __len__(self) -> int:
        return self._table.num_rows

    def __str__(self) -> str:
        return "\n".join([str(self.pl()), *(f"caveat {note.name}: {note.text}" for note in self.caveats)])

    def _repr_html_(self) -> str:
        """As a notebook shows it: the first rows, the caveats, and the picture if there is one."""
        shown = self._table.slice(0, _MOST_ROWS_SHOWN)
        more = len(self) - shown.num_rows
        notes = "".join(
            f"<p><b>{html.escape(note.name)}</b>: {html.escape(note.text)}</p>" for note in self.caveats
        )
        return "".join(
            [_html_table(shown), f"<p>and {more:,} rows more</p>" if more else "", notes, self._picture()]
        )

    def _picture(self) -> str:
        """The picture as SVG; nothing where the query has none, or what draws is not installed."""
        from tracehouse.publish.plot import pictures

        try:
            return pictures.render_svg(self.plot())
        except UserError:
            return ""


@dataclass(frozen=True)
class Meaning:
    """What a name means: facts by their names, and frames, as of its columns and parameters, by theirs."""

    name: str
    title: str
    facts: Mapping[str, str]
    grids: Mapping[str, "polars.DataFrame"]
    caveats: Sequence[Note]
    sql: str
    _said: str = field(repr=False)

    def __str__(self) -> str:
        return self._said

    def _repr_html_(self) -> str:
        """As a notebook shows it: what the command line says."""
        return f"<pre>{html.escape(self._said)}</pre>"


class Warehouse:
    """A warehouse to ask. Each question opens its database anew, and so sees its newest version."""

    def __init__(self, folder: str | Path, timeout_s: float | None = None, memory_limit: str = ""):
        """Take the warehouse in a folder.

        A question may take `timeout_s` seconds, None for as long as it takes, and `memory_limit`, a size as
        `4GB`, by default half of the machine's. Raises UserError where there is no database.
        """
        self.folder = Path(folder)
        self._limits = Limits(timeout_s, memory_limit)
        self._ask(lambda connection: None)

    def query(self, name: str, /, *, limit: int | None = None, **parameters: Value) -> Answer:
        """Answer a named query, or give the rows of a view or base table, `limit` rows at most.

        Raises UsageError where the name, a parameter or its value is none, and says which there are.
        """

        def work(connection: duckdb.DuckDBPyConnection) -> Answer:
            question, notes = answer.answered(
                connection, answer.named_question(connection, name, _texts(parameters), limit)
            )
            rows = _rows(connection, question)
            return Answer(name, parameters, notes, provenance.sources(connection, [name]), rows, self)

        return self._ask(work)

    def sql(self, statement: str) -> Answer:
        """Answer one statement of SQL that only reads. Raises UserError where it does more, or is wrong."""

        def work(connection: duckdb.DuckDBPyConnection) -> Answer:
            question = answer.sql_question(connection, statement)
            notes = provenance.notes_on_statement(connection, question.sql, question.reads, question.columns)
            rows = _rows(connection, question)
            return Answer("", {}, notes, provenance.sources(connection, question.reads), rows, self)

        return self._ask(work)

    def list(self, kind: str = "traces", trace: str = "", search: str = "") -> "polars.DataFrame":
        """List traces, tables, views or queries: those of one trace, or that have some words, best first."""
        import polars

        if kind not in set(Kind):
            raise UsageError(f"there is no list of {kind}: {', '.join(Kind)}")
        rows = self._ask(
            lambda connection: _rows(connection, listing.listing(connection, Kind(kind), trace, search))
        )
        return polars.DataFrame(rows)

    def describe(self, name: str) -> Meaning:
        """What the name of a table, view, query, trace, column or caveat means.

        Raises UsageError, which suggests similar names, where nothing has it.
        """
        import polars

        from tracehouse.publish import description

        found = self._ask(lambda connection: describe.describe(connection, name))
        grids = {
            grid.title: polars.DataFrame(list(grid.rows), schema=list(grid.names), orient="row")
            for grid in found.grids
        }
        said = description.as_text(found, to_terminal=False)
        return Meaning(found.name, found.title, found.facts, grids, found.notes, found.sql, said)

    def __repr__(self) -> str:
        return f"tracehouse.open({str(self.folder)!r})"

    def _ask(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        return sandbox.ask(self.folder, self._limits, work, confined=False)


def _texts(parameters: Mapping[str, Value]) -> dict[str, str]:
    return {key: _text(key, value) for key, value in parameters.items()}


def _text(key: str, value: Value) -> str:
    """A parameter's value as the command line takes it."""
    if not isinstance(value, Value):
        raise UsageError(f"{key} is a text, a number, a day or a truth value, not {value!r}")
    return exact(value)


def _rows(connection: duckdb.DuckDBPyConnection, question: Question) -> pa.Table:
    table = answer.run(connection, question).read_all()
    for place, column in enumerate(table.schema):
        if column.type == _WIDE:
            try:
                table = table.set_column(place, column.name, table[place].cast(pa.int64()))
            except pa.ArrowInvalid:
                # A sum of more than 63 bits stays a decimal.
                continue
    return table


def _html_table(table: pa.Table) -> str:
    import polars

    with polars.Config(tbl_rows=_MOST_ROWS_SHOWN, tbl_cols=-1, fmt_str_lengths=80):
        return str(polars.DataFrame(table)._repr_html_())
