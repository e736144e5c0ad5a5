"""Writes answers: CSV, JSON, NDJSON, Markdown, Parquet, Arrow, a workbook, or a table for a terminal.

DuckDB writes CSV, JSON and Parquet itself, as it computes the answer: one of any size takes little memory,
and NULL, dates, time zones and integers of any size come out as they are. The file that it writes is a spool
(see `output`), so that an answer that fails half-way is not seen.
"""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import duckdb

from tracehouse.core.errors import UsageError
from tracehouse.core.terminal import shown
from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.read.answer import Note, Question
from tracehouse.publish.columns import (
    columns_of,
    exact,
    is_number,
    is_wide_integer,
    may_be_text,
    rows_of,
    selecting,
)
from tracehouse.publish.formats import BINARY, BY_SUFFIX, Format
from tracehouse.publish.output import Spool, is_stream, is_terminal

# What one format alone needs is imported where that is written: the command line starts with this module.
if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.publish import table

_COPY_OPTIONS = {
    Format.CSV: "format csv, header",
    Format.JSON: "format json, array true",
    Format.NDJSON: "format json, array false",
    Format.PARQUET: "format parquet, compression zstd",
}
_JSON = {Format.JSON, Format.NDJSON}

# Spreadsheets run a text that begins with one of these as a formula; behind an apostrophe they show it.
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"

# 128-bit integers in the name of a type. Quoted names and enum values match too, so that they are skipped.
_HUGE_IN_TYPE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\bU?HUGEINT\b""")

# Outside a text, a value that is no number follows one of these: DuckDB writes no spaces.
_MAY_BE_NO_NUMBER = re.compile(rb"[:\[,]-?(?:nan|inf)", re.I)
_TEXT_OR_NO_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:nan|inf(?:inity)?)', re.I)
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class Options:
    """How an answer is written, apart from its format.

    Colours, and fitting a table to the width, are for a terminal alone, with `wide` not even there; Arrow's
    stream format is for a stream, and all rows of a table for a file. With `guard_formulas`, texts of a CSV
    that a spreadsheet would run as formulas get an apostrophe in front. `brief` names the columns that a
    terminal shows of an answer whose rows are all shown.
    """

    to_stream: bool = False
    to_terminal: bool = False
    guard_formulas: bool = False
    wide: bool = False
    brief: Sequence[str] = ()


@dataclass(frozen=True)
class Written:
    """What was written: how many rows, and notes on values that the format cannot hold."""

    rows: int
    notes: Sequence[Note] = ()


TO_A_FILE = Options()


def chosen_format(asked: Format | None, output: Path | None) -> Format:
    """The format asked for; else by the output file's ending; else a table on a terminal, CSV in a pipe.

    Raises UsageError where the ending is none that is known, or the format is not for where it goes.
    """
    to_terminal = is_terminal(output)
    if asked is None:
        ending = output.suffix.lower() if output and not is_stream(output) else ""
        if ending and ending not in BY_SUFFIX:
            raise UsageError(
                f"{output}: no format has the ending {shown(ending)}. Known: {', '.join(BY_SUFFIX)}; "
                "any other name needs --format"
            )
        asked = BY_SUFFIX.get(ending) or (Format.TABLE if to_terminal else Format.CSV)
    if asked in BINARY and to_terminal:
        raise UsageError(f"{asked} is not for a terminal: name a file with --output, or pipe it")
    return asked


def write(
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    form: Format,
    spool: Spool,
    draft: Spool,
    options: Options = TO_A_FILE,
) -> Written:
    """Answer a question into a spool.

    The connection must be allowed to write to the spool and to the draft.
    """
    if options.guard_formulas and form is not Format.CSV:
        raise UsageError("--guard-formulas is for csv: other formats say which cells are texts")
    if form in _JSON:
        rows = _copy(connection, _with_different_names(connection, question), form, draft)
        return Written(rows, _without_what_is_no_number(draft.file, spool.file))
    if form in _COPY_OPTIONS:
        guarded = _guarded(connection, question) if options.guard_formulas else question
        binary = _wide_as_decimals(connection, guarded) if form in BINARY else guarded
        return Written(_copy(connection, binary, form, spool))
    if form is Format.ARROW:
        from tracehouse.engines.duckdb.read.answer import run

        reader = run(connection, _wide_as_decimals(connection, question))
        return Written(_write_arrow(reader, spool.file, options.to_stream))
    if form is Format.XLSX:
        from tracehouse.publish import xlsx

        return Written(*xlsx.write(connection, question, spool.file))
    if form is Format.MARKDOWN:
        # Two lines are the names, and the rule below them.
        return Written(_write_lines(markdown(connection, question), spool.file) - 2)
    from tracehouse.publish import table

    laid_out = table.table if form is Format.TABLE else table.records
    rows, lines = laid_out(connection, question, _look(options))
    _write_lines(lines, spool.file)
    return Written(rows)


def _look(options: Options) -> "table.Look":
    from tracehouse.publish import table

    fits = options.to_terminal and not options.wide
    return table.Look(
        width=table.terminal_width() if fits else None,
        has_styles=options.to_terminal,
        most_rows=table.TABLE_ROWS if options.to_stream and not options.brief else None,
        only=options.brief,
    )


def _write_lines(lines: Iterable[str], file: BinaryIO) -> int:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="\n")
    count = 0
    for line in lines:
        text.write(f"{line}\n")
        count += 1
    text.detach()
    return count


def markdown(connection: duckdb.DuckDBPyConnection, question: Question) -> Iterable[str]:
    """The lines of an answer as a Markdown table."""
    columns = columns_of(connection, question)
    yield _markdown_row([name.replace("|", "\\|") for name, _ in columns])
    yield _markdown_row(["---:" if is_number(kind) else "---" for _, kind in columns])
    for row in rows_of(connection, question, columns):
        yield _markdown_row([exact(value).replace("|", "\\|").replace("\n", " ") for value in row])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _copy(connection: duckdb.DuckDBPyConnection, question: Question, form: Format, spool: Spool) -> int:
    """Let DuckDB write an answer. Returns how many rows it has."""
    options = f"{_COPY_OPTIONS[form]}, use_tmp_file false"
    sql = f"copy (from ({question.sql}\n)) to {quoted(spool.path)} ({options})"
    [(rows,)] = connection.execute(sql, dict(question.values)).fetchall()
    return int(rows)


def _write_arrow(reader: "pa.RecordBatchReader", file: BinaryIO, to_stream: bool) -> int:
    """Write an answer as Arrow. Returns how many rows it has."""
    import pyarrow as pa

    kind = pa.ipc.new_stream if to_stream else pa.ipc.new_file
    rows = 0
    with kind(file, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _with_different_names(connection: duckdb.DuckDBPyConnection, question: Question) -> Question:
    """A question whose columns have different names, as the keys of an object must."""
    columns = columns_of(connection, question)
    taken: set[str] = set()
    different = []
    for name, kind in columns:
        new, count = name, 0
        while new.casefold() in taken:
            count += 1
            new = f"{name}_{count}"
        taken.add(new.casefold())
        different.append((new, kind))
    if different == columns:
        return question
    return selecting(question, different, [f"c{place}" for place in range(len(columns))])


def _wide_as_decimals(connection: duckdb.DuckDBPyConnection, question: Question) -> Question:
    """A question whose integers of 128 bits are decimals of 38 digits, or fail where they have more.

    Parquet and Arrow have no such integers: by themselves they become a rounded, or another, number.
    """
    columns = columns_of(connection, question)
    kinds = [_HUGE_IN_TYPE.sub(_decimal_for_huge, kind) for _, kind in columns]
    if kinds == [kind for _, kind in columns]:
        return question
    values = [
        f"c{place}" if new == old else _wide_as_decimal(f"c{place}", old, new)
        for place, (new, (_, old)) in enumerate(zip(kinds, columns, strict=True))
    ]
    return selecting(question, columns, values)


def _wide_as_decimal(value: str, old: str, new: str) -> str:
    if not is_wide_integer(old):
        return f"cast({value} as {new})"
    failure = "an integer has more than the 38 digits that this format holds: cast it to varchar"
    return f"coalesce(try_cast({value} as {new}), if({value} is null, null, error({quoted(failure)})))"


def _decimal_for_huge(found: re.Match[str]) -> str:
    return "DECIMAL(38,0)" if found[0].endswith("HUGEINT") else found[0]


def _guarded(connection: duckdb.DuckDBPyConnection, question: Question) -> Question:
    """A question whose texts have an apostrophe in front where a spreadsheet would run them as formulas."""
    columns = columns_of(connection, question)
    values = [
        f"c{place}" if not may_be_text(kind) else _guarded_value(f"cast(c{place} as varchar)")
        for place, (_, kind) in enumerate(columns)
    ]
    names = [f"'{name}" if re.match(_FORMULA, name) else name for name, _ in columns]
    return selecting(question, [(name, "") for name in names], values)


def _guarded_value(value: str) -> str:
    return f"case when regexp_matches({value}, {quoted(_FORMULA)}) then '''' || {value} else {value} end"


def _without_what_is_no_number(draft: BinaryIO, file: BinaryIO) -> list[Note]:
    """Copy JSON, with null for each NaN and infinity, which JSON does not have. Notes how many there were."""
    found = 0

    def number_or_text(match: re.Match[bytes]) -> bytes:
        nonlocal found
        if match[0].startswith(b'"'):
            return match[0]
        found += 1
        return b"null"

    draft.seek(0)
    while chunk := draft.read(_CHUNK_BYTES):
        # A value never spans lines.
        chunk += draft.readline()
        if _MAY_BE_NO_NUMBER.search(chunk):
            chunk = b"".join(
                _TEXT_OR_NO_NUMBER.sub(number_or_text, line) if _MAY_BE_NO_NUMBER.search(line) else line
                for line in chunk.splitlines(keepends=True)
            )
        file.write(chunk)
    if not found:
        return []
    were = "value was NaN or infinite" if found == 1 else "values were NaN or infinite"
    return [Note("not finite", f"{found:,} {were}: null here, as JSON has no word for it. CSV has")]
