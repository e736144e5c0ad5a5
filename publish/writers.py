"""Render answers: CSV, JSON, NDJSON, Markdown, Parquet, Arrow, Excel workbooks, and tables for a terminal.

DuckDB writes CSV, JSON and Parquet itself while it computes the answer, in constant memory and with exact
values. It writes to a temporary file (see `output`), so that a failed answer is not shown in part.
"""

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import UsageError
from tracehouse.core.text import escape_text, quoted
from tracehouse.definitions.units import is_number
from tracehouse.engines.duckdb.read.answer import Answer
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.catalog import keys_and_measures
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.publish.columns import (
    columns_of,
    convert_columns,
    format_exact,
    may_be_text,
    rows_of,
)
from tracehouse.publish.formats import BINARY, BY_SUFFIX, LAID_OUT, PICTURES, OutputFormat
from tracehouse.publish.output import is_stream, is_terminal
from tracehouse.publish.renderer import Rendered

# The command line imports this module at its start. To start fast, functions import the modules of formats.

_COPY_OPTIONS = {
    OutputFormat.CSV: "format csv, header",
    OutputFormat.JSON: "format json, array true",
    OutputFormat.NDJSON: "format json, array false",
    OutputFormat.PARQUET: "format parquet, compression zstd",
}
_JSON = {OutputFormat.JSON, OutputFormat.NDJSON}

# Spreadsheets run a text that starts with one of these characters as a formula. An apostrophe before the
# text prevents that.
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"

# Finds 128-bit integers in the name of a type. Quoted names and enum values match first and stay unchanged.
_HUGE_IN_TYPE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\bU?HUGEINT\b""")

# Outside of texts, NaN and infinity follow a colon, bracket or comma: DuckDB writes no spaces.
_MAY_BE_NOT_FINITE = re.compile(rb"[:\[,]-?(?:nan|inf)", re.I)
_TEXT_OR_NOT_FINITE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:nan|inf(?:inity)?)', re.I)
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class FormatWriter:
    """Renders an answer in a format.

    Only a terminal gets colours, and tables that fit `width`, None for any. A stream gets Arrow's stream
    format and the first rows of a table; a file gets all rows. `guard_formulas` puts an apostrophe
    before texts of a CSV that a spreadsheet would run as formulas. `brief` names the columns that a terminal
    shows, the most important first; with it, a table has all rows.
    """

    form: OutputFormat
    to_stream: bool = False
    to_terminal: bool = False
    guard_formulas: bool = False
    width: int | None = None
    brief: Sequence[str] = ()

    @property
    def is_laid_out(self) -> bool:
        """Whether the format is one for people, such as a table."""
        return self.form in LAID_OUT

    def render(self, answer: Answer, file: Path, draft: Path) -> Rendered:
        """Write an answer to a file."""
        connection, query, form = answer.connection, answer.query, self.form
        if self.guard_formulas and form is not OutputFormat.CSV:
            raise UsageError("--guard-formulas applies only to csv")
        if form in _JSON:
            rows = _copy(connection, _with_unique_names(connection, query), form, draft)
            return Rendered(rows, _replace_not_finite(draft, file))
        if form in BINARY - {OutputFormat.XLSX}:
            query = convert_columns(query, columns_of(connection, query), _wide_as_decimal)
        if form in _COPY_OPTIONS:
            guarded = _with_apostrophes(connection, query) if self.guard_formulas else query
            return Rendered(_copy(connection, guarded, form, file))
        if form is OutputFormat.ARROW:
            return Rendered(_write_arrow(connection, query, file, self.to_stream))
        if form is OutputFormat.XLSX:
            from tracehouse.publish import xlsx

            return Rendered(*xlsx.write(connection, query, file))
        if form is OutputFormat.MARKDOWN:
            # The first two lines are the header.
            return Rendered(_write_lines(markdown(connection, query), file) - 2)
        return Rendered(self._lay_out(connection, query, file))

    def _lay_out(self, connection: duckdb.DuckDBPyConnection, query: BoundQuery, file: Path) -> int:
        from tracehouse.publish import table

        has_keys = self.width and query.name
        style = table.TableStyle(
            width=self.width,
            has_styles=self.to_terminal,
            most_rows=table.TABLE_ROWS if self.to_stream and not self.brief else None,
            only=self.brief,
            first=keys_and_measures(connection, query.name) if has_keys else self.brief,
        )
        rows, lines = table.table(connection, query, style, self.form is OutputFormat.RECORDS)
        _write_lines(lines, file)
        return rows


def chosen_format(requested: OutputFormat | None, output: Path | None) -> OutputFormat:
    """The requested format, else the format of the file's extension, else a table on a terminal or CSV.

    Raises UsageError for an unknown extension, and for a binary format on a terminal.
    """
    to_terminal = is_terminal(output)
    if requested is None:
        ending = output.suffix.lower() if output and not is_stream(output) else ""
        if ending and ending not in BY_SUFFIX:
            raise UsageError(
                f"{output}: unknown extension {escape_text(ending)}. Known: {', '.join(BY_SUFFIX)}; "
                f"for charts {', '.join(PICTURES)}. For other names, give --format"
            )
        requested = BY_SUFFIX.get(ending) or (OutputFormat.TABLE if to_terminal else OutputFormat.CSV)
    if requested in BINARY and to_terminal:
        raise UsageError(f"A terminal cannot show {requested}. Name a file with --output, or use a pipe")
    return requested


def for_output(
    form: OutputFormat,
    path: Path | None,
    wide: bool = False,
    guard_formulas: bool = False,
    brief: Sequence[str] = (),
) -> FormatWriter:
    """The writer of a format to a file, or else to standard output. `wide` tables have any width."""
    to_terminal = is_terminal(path)
    width = shutil.get_terminal_size().columns if to_terminal and not wide else None
    return FormatWriter(form, path is None, to_terminal, guard_formulas, width, brief)


def _write_lines(lines: Iterable[str], file: Path) -> int:
    count = 0
    with file.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as text:
        for line in lines:
            text.write(f"{line}\n")
            count += 1
    return count


def markdown(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> Iterable[str]:
    """The lines of an answer as a Markdown table."""
    columns = columns_of(connection, query)
    yield _markdown_row([name.replace("|", "\\|") for name, _ in columns])
    yield _markdown_row(["---:" if is_number(kind) else "---" for _, kind in columns])
    for row in rows_of(connection, query, columns):
        yield _markdown_row([format_exact(value).replace("|", "\\|").replace("\n", " ") for value in row])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _copy(connection: duckdb.DuckDBPyConnection, query: BoundQuery, form: OutputFormat, file: Path) -> int:
    """Let DuckDB write an answer. Returns the number of rows."""
    options = f"{_COPY_OPTIONS[form]}, use_tmp_file false"
    sql = f"copy (from ({query.sql}\n)) to {quoted(str(file))} ({options})"
    [(rows,)] = connection.execute(sql, dict(query.values)).fetchall()
    return int(rows)


def _write_arrow(
    connection: duckdb.DuckDBPyConnection, query: BoundQuery, file: Path, to_stream: bool
) -> int:
    """Write an answer as Arrow. Returns the number of rows."""
    import pyarrow as pa

    from tracehouse.engines.duckdb.read.answer import read

    reader = read(connection, query)
    rows = 0
    with (
        file.open("wb") as sink,
        (pa.ipc.new_stream if to_stream else pa.ipc.new_file)(sink, reader.schema) as writer,
    ):
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _with_unique_names(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> BoundQuery:
    """A query whose columns have unique names, as the keys of a JSON object must."""
    columns = columns_of(connection, query)
    unique: list[str] = []
    taken: set[str] = set()
    for name, _ in columns:
        numbered = (name, *(f"{name}_{count}" for count in range(1, len(columns) + 1)))
        unique.append(next(new for new in numbered if new.casefold() not in taken))
        taken.add(unique[-1].casefold())
    return convert_columns(query, columns, lambda value, _: value, unique)


def _wide_as_decimal(value: str, old: str) -> str:
    """The SQL of a value with 128-bit integers cast to decimals of 38 digits; more digits are an error.

    Parquet and Arrow have no 128-bit integers, and would store a rounded or a wrong number.
    """
    new = _HUGE_IN_TYPE.sub(lambda found: "DECIMAL(38,0)" if found[0].endswith("HUGEINT") else found[0], old)
    if new == old:
        return value
    if new != "DECIMAL(38,0)":
        return f"cast({value} as {new})"
    failure = "An integer has more than the 38 digits that this format can store. Cast it to varchar"
    return f"coalesce(try_cast({value} as {new}), if({value} is null, null, error({quoted(failure)})))"


def _with_apostrophes(connection: duckdb.DuckDBPyConnection, query: BoundQuery) -> BoundQuery:
    """A query with an apostrophe before each text that a spreadsheet would run as a formula."""

    def guard(value: str, kind: str) -> str:
        text = f"cast({value} as varchar)"
        guarded = f"if(regexp_matches({text}, {quoted(_FORMULA)}), '''' || {text}, {text})"
        return guarded if may_be_text(kind) else value

    columns = columns_of(connection, query)
    names = [f"'{name}" if re.match(_FORMULA, name) else name for name, _ in columns]
    return convert_columns(query, columns, guard, names)


def _replace_not_finite(draft: Path, file: Path) -> list[Note]:
    """Copy JSON with null for NaN and infinity, which JSON does not have. Returns a note on their number."""
    found = 0

    def null_or_text(match: re.Match[bytes]) -> bytes:
        nonlocal found
        if match[0].startswith(b'"'):
            return match[0]
        found += 1
        return b"null"

    with draft.open("rb") as lines, file.open("wb") as json:
        while chunk := lines.read(_CHUNK_BYTES):
            # A value never spans lines.
            chunk += lines.readline()
            has_some = _MAY_BE_NOT_FINITE.search(chunk)
            json.write(_TEXT_OR_NOT_FINITE.sub(null_or_text, chunk) if has_some else chunk)
    if not found:
        return []
    subject = "value was NaN or infinite" if found == 1 else "values were NaN or infinite"
    return [Note("not finite", f"{found:,} {subject}, written as null: JSON has neither. CSV has both")]
