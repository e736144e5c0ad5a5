"""Writes answers: CSV, JSON, NDJSON, Markdown, Parquet, Arrow, or a table for a terminal.

DuckDB writes CSV, JSON and Parquet itself, as it computes the answer: one of any size takes little memory,
and NULL, dates, time zones and integers of any size come out as they are. The file that it writes is a spool
(see `output`), so that an answer that fails half-way is not seen.
"""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.read.answer import Note, Question, run
from tracehouse.ingest.errors import UsageError, UserError
from tracehouse.ingest.terminal import shown
from tracehouse.publish.formats import BINARY, BY_SUFFIX, Format
from tracehouse.publish.output import Spool, is_terminal

TABLE_ROWS = 200

_COPY_OPTIONS = {
    Format.CSV: "format csv, header",
    Format.JSON: "format json, array true",
    Format.NDJSON: "format json, array false",
    Format.PARQUET: "format parquet, compression zstd",
}
_JSON = {Format.JSON, Format.NDJSON}

# Spreadsheets run a text that begins with one of these as a formula; behind an apostrophe they show it.
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"

_INTEGERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)")
_WIDE_INTEGERS = re.compile(r"U?HUGEINT|BIGNUM")
_FLOATS = re.compile(r"FLOAT|DOUBLE")
_DECIMALS = re.compile(r"DECIMAL\(.*\)")
_TEXTS = re.compile(r"VARCHAR|BOOLEAN")
_NO_TEXTS = re.compile(
    r"BOOLEAN|DATE|TIME.*|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL.*"
)

# 128-bit integers in the name of a type. Quoted names and enum values match too, so that they are skipped.
_HUGE_IN_TYPE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\bU?HUGEINT\b""")

# Outside a text, a value that is no number follows one of these: DuckDB writes no spaces.
_MAY_BE_NO_NUMBER = re.compile(rb"[:\[,]-?(?:nan|inf)", re.I)
_TEXT_OR_NO_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:nan|inf(?:inity)?)', re.I)
_CHUNK_BYTES = 1 << 22


@dataclass(frozen=True)
class Options:
    """How an answer is written, apart from its format.

    Colours, and folding to the width, are for a terminal alone; Arrow's stream format is for a stream. With
    `guard_formulas`, texts of a CSV that a spreadsheet would run as formulas get an apostrophe in front.
    """

    to_stream: bool = False
    to_terminal: bool = False
    guard_formulas: bool = False


TO_A_FILE = Options()


def chosen_format(asked: Format | None, output: Path | None) -> Format:
    """The format asked for; else by the output file's ending; else a table on a terminal, CSV in a pipe."""
    to_terminal = is_terminal(output)
    if asked is None:
        by_suffix = BY_SUFFIX.get(output.suffix) if output else None
        asked = by_suffix or (Format.TABLE if to_terminal else Format.CSV)
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
) -> list[Note]:
    """Answer a question into a spool. Returns notes on values that the format cannot hold.

    The connection must be allowed to write to the spool and to the draft.
    """
    if options.guard_formulas and form is not Format.CSV:
        raise UsageError("--guard-formulas is for csv: other formats say which cells are texts")
    if form in _JSON:
        _copy(connection, _with_different_names(connection, question), form, draft)
        return _without_what_is_no_number(draft.file, spool.file)
    if form in _COPY_OPTIONS:
        guarded = _guarded(connection, question) if options.guard_formulas else question
        _copy(connection, _wide_as_decimals(connection, guarded) if form in BINARY else guarded, form, spool)
    elif form is Format.ARROW:
        _write_arrow(run(connection, _wide_as_decimals(connection, question)), spool.file, options.to_stream)
    else:
        is_markdown = form is Format.MARKDOWN
        lines = (
            markdown(connection, question)
            if is_markdown
            else _table(connection, question, options.to_terminal)
        )
        text = io.TextIOWrapper(spool.file, encoding="utf-8", errors="surrogateescape", newline="\n")
        text.writelines(f"{line}\n" for line in lines)
        text.detach()
    return []


def markdown(connection: duckdb.DuckDBPyConnection, question: Question) -> Iterable[str]:
    """The lines of an answer as a Markdown table."""
    columns = _columns(connection, question)
    yield _markdown_row([name.replace("|", "\\|") for name, _ in columns])
    yield _markdown_row(["---:" if _is_number(kind) else "---" for _, kind in columns])
    for batch in run(connection, _as_texts(question, columns)):
        for row in _rows(batch):
            yield _markdown_row([_exact(value).replace("|", "\\|").replace("\n", " ") for value in row])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _copy(connection: duckdb.DuckDBPyConnection, question: Question, form: Format, spool: Spool) -> None:
    options = f"{_COPY_OPTIONS[form]}, use_tmp_file false"
    sql = f"copy (from (\n{question.sql}\n)) to {quoted(spool.path)} ({options})"
    connection.execute(sql, dict(question.values))


def _write_arrow(reader: pa.RecordBatchReader, file: BinaryIO, to_stream: bool) -> None:
    kind = pa.ipc.new_stream if to_stream else pa.ipc.new_file
    with kind(file, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _columns(connection: duckdb.DuckDBPyConnection, question: Question) -> list[tuple[str, str]]:
    """The name and the type of each column of an answer, which is not computed for that."""
    try:
        found = connection.execute(f"from (\n{question.sql}\n) limit 0", dict(question.values)).description
    except duckdb.Error as error:
        raise UserError(str(error)) from None
    return [(column[0], str(column[1])) for column in found or ()]


def _selecting(question: Question, columns: Sequence[tuple[str, str]], values: Sequence[str]) -> Question:
    """A question with other columns: each a name, and SQL in which the columns are c0, c1 and so on."""
    listed = ", ".join(
        f"{value} as {_identifier(name)}" for (name, _), value in zip(columns, values, strict=True)
    )
    places = ", ".join(f"c{place}" for place in range(len(columns)))
    return Question(f"select {listed} from (\n{question.sql}\n) as answer({places})", question.values)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _with_different_names(connection: duckdb.DuckDBPyConnection, question: Question) -> Question:
    """A question whose columns have different names, as the keys of an object must."""
    columns = _columns(connection, question)
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
    return _selecting(question, different, [f"c{place}" for place in range(len(columns))])


def _wide_as_decimals(connection: duckdb.DuckDBPyConnection, question: Question) -> Question:
    """A question whose integers of 128 bits are decimals of 38 digits, or fail where they have more.

    Parquet and Arrow have no such integers: by themselves they become a rounded, or another, number.
    """
    columns = _columns(connection, question)
    kinds = [_HUGE_IN_TYPE.sub(_decimal_for_huge, kind) for _, kind in columns]
    if kinds == [kind for _, kind in columns]:
        return question
    values = [
        f"c{place}" if new == old else _wide_as_decimal(f"c{place}", old, new)
        for place, (new, (_, old)) in enumerate(zip(kinds, columns, strict=True))
    ]
    return _selecting(question, columns, values)


def _wide_as_decimal(value: str, old: str, new: str) -> str:
    if not _WIDE_INTEGERS.fullmatch(old):
        return f"cast({value} as {new})"
    failure = "an integer has more than the 38 digits that this format holds: cast it to varchar"
    return f"coalesce(try_cast({value} as {new}), if({value} is null, null, error({quoted(failure)})))"


def _decimal_for_huge(found: re.Match[str]) -> str:
    return "DECIMAL(38,0)" if found[0].endswith("HUGEINT") else found[0]


def _guarded(connection: duckdb.DuckDBPyConnection, question: Question) -> Question:
    """A question whose texts have an apostrophe in front where a spreadsheet would run them as formulas."""
    columns = _columns(connection, question)
    values = [
        f"c{place}" if _NO_TEXTS.fullmatch(kind) else _guarded_value(f"cast(c{place} as varchar)")
        for place, (_, kind) in enumerate(columns)
    ]
    names = [f"'{name}" if re.match(_FORMULA, name) else name for name, _ in columns]
    return _selecting(question, [(name, "") for name in names], values)


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


def _table(connection: duckdb.DuckDBPyConnection, question: Question, to_terminal: bool) -> Iterable[str]:
    """A table as a terminal shows it: the first rows, and a line that says how many more there are."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    columns = _columns(connection, question)
    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name, kind in columns:
        right = _is_number(kind)
        grid.add_column(
            Text(shown(name)), justify="right" if right else "left", overflow="fold", no_wrap=right
        )
    count = total = 0
    for batch in run(connection, _as_texts(question, columns)):
        total += batch.num_rows
        for row in _rows(batch.slice(0, TABLE_ROWS - count)):
            grid.add_row(*(Text(shown(_short(value)), "dim" if value is None else "") for value in row))
            count += 1
    console = Console(force_terminal=to_terminal)
    # Texts are folded to fit the terminal; a number that was folded, or cut, would be another number.
    narrowest = Measurement.get(console, console.options.update(width=10_000), grid)
    wanted = narrowest.minimum if console.is_terminal else narrowest.maximum
    console.width = max(console.width, wanted)
    with console.capture() as captured:
        console.print(grid)
    yield captured.get().strip("\n")
    if total > count:
        yield f"{count:,} of {total:,} rows; --format csv, or --output FILE, gives all"
    else:
        yield f"{total:,} row{'' if total == 1 else 's'}"


def _as_texts(question: Question, columns: Sequence[tuple[str, str]]) -> Question:
    """A question whose values are texts, as DuckDB writes them, but for plain numbers and truth values.

    Python has no infinite date, no year 0 and no time of 24:00.
    """
    values = [
        f"c{place}"
        if any(plain.fullmatch(kind) for plain in (_INTEGERS, _FLOATS, _TEXTS))
        else f"cast(c{place} as varchar)"
        for place, (_, kind) in enumerate(columns)
    ]
    return _selecting(question, columns, values)


def _rows(batch: pa.RecordBatch) -> Iterable[Sequence[Any]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _is_number(kind: str) -> bool:
    return any(number.fullmatch(kind) for number in (_INTEGERS, _WIDE_INTEGERS, _FLOATS, _DECIMALS))


def _exact(value: Any) -> str:
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(value: Any) -> str:
    """A value for display: a float is rounded to about seven digits, at most four of them decimals."""
    if not isinstance(value, float) or value != value or value in (float("inf"), -float("inf")):
        return _exact(value)
    if value and abs(value) < 0.001:
        return f"{value:.4g}"
    places = max(1, min(4, 7 - len(str(int(abs(value))))))
    return f"{value:.{places}f}".rstrip("0").rstrip(".")
