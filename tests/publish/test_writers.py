"""Tests of the output formats: NULL, empty text, dates, timestamps, large integers."""

import csv
import datetime as dt
import io
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import TRACES
from non_empty import non_empty
from openpyxl import load_workbook

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read.answer import Answer
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.sandbox import disable_async_writes
from tracehouse.publish import output
from tracehouse.publish.formats import BINARY, OutputFormat
from tracehouse.publish.table import TABLE_ROWS
from tracehouse.publish.writers import FormatWriter, chosen_format

BIG = 2**53 + 1
HUGE = 12345678901234567890123456789
INSTANT = dt.datetime(2023, 5, 17, 3, 0, 58, tzinfo=dt.UTC)
ANSWER = f"""
    select
        cast({BIG} as bigint) as big,
        cast({HUGE} as hugeint) as huge,
        cast(null as integer) as nothing,
        '' as empty,
        'a"b,c' || chr(10) || '|d' as awkward,
        date '2023-05-17' as day,
        timestamptz '2023-05-17 11:00:58+08:00' as instant,
        0.1::double as tenth,
        true as yes
    union all
    select 1, 2, 3, 'x', 'y', date '1970-01-07', timestamptz '2023-03-01 00:00:00+00:00', 2.5, false
"""


def write_answer(
    form: OutputFormat,
    folder: Path,
    sql: str = ANSWER,
    path: Path | None = None,
    **more: Any,
) -> Path:
    path = path or folder / "answer"
    write_and_return_notes(form, folder, sql, path, **more)
    return path


def write_and_return_notes(form: OutputFormat, folder: Path, sql: str, path: Path, **more: Any) -> list[Note]:
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    with duckdb.connect() as connection, output.open_output(path, scratch) as file:
        connection.execute("set timezone = 'UTC'")
        disable_async_writes(connection)
        found = Answer(connection, BoundQuery(sql))
        return list(FormatWriter(form, **more).render(found, file, scratch / "draft").notes)


def test_csv(tmp_path: Path) -> None:
    text = write_answer(OutputFormat.CSV, tmp_path).read_text(encoding="utf-8")
    first = next(csv.DictReader(io.StringIO(text)))
    assert first == {
        "big": str(BIG),
        "huge": str(HUGE),
        "nothing": "",
        "empty": "",
        "awkward": 'a"b,c\n|d',
        "day": "2023-05-17",
        "instant": "2023-05-17 03:00:58+00",
        "tenth": "0.1",
        "yes": "true",
    }
    assert f'{HUGE},,"",' in text, "NULL and the empty text differ"


def test_json(tmp_path: Path) -> None:
    rows = json.loads(write_answer(OutputFormat.JSON, tmp_path).read_text(encoding="utf-8"))
    lines = write_answer(OutputFormat.NDJSON, tmp_path).read_text(encoding="utf-8").splitlines()
    assert len(rows) == 2 and rows == [json.loads(line) for line in lines]
    assert rows[0] == {
        "big": BIG,
        "huge": HUGE,
        "nothing": None,
        "empty": "",
        "awkward": 'a"b,c\n|d',
        "day": "2023-05-17",
        "instant": "2023-05-17 03:00:58+00",
        "tenth": 0.1,
        "yes": True,
    }


def test_binary(tmp_path: Path) -> None:
    table = pq.read_table(write_answer(OutputFormat.PARQUET, tmp_path))
    arrow = pa.ipc.open_file(write_answer(OutputFormat.ARROW, tmp_path)).read_all()
    assert table.to_pylist() == arrow.to_pylist()
    first = table.to_pylist()[0]
    assert first | {"instant": first["instant"].astimezone(dt.UTC)} == {
        "big": BIG,
        "huge": Decimal(HUGE),
        "nothing": None,
        "empty": "",
        "awkward": 'a"b,c\n|d',
        "day": dt.date(2023, 5, 17),
        "instant": INSTANT,
        "tenth": 0.1,
        "yes": True,
    }
    assert table.schema.field("nothing").type == pa.int32()


def test_markdown(tmp_path: Path) -> None:
    header, rule, first, second = (
        write_answer(OutputFormat.MARKDOWN, tmp_path).read_text(encoding="utf-8").splitlines()
    )
    assert header.startswith("| big | huge | nothing | empty |")
    assert rule.startswith("| ---: | ---: | ---: | --- |")
    assert f'| {BIG} | {HUGE} | NULL |  | a"b,c \\|d | 2023-05-17 |' in first
    assert second.count(" | ") == header.count(" | ")


def test_stream_gets_first_rows_of_a_table(tmp_path: Path) -> None:
    sql = f"select range as n, {BIG} as big, 1632719.74028::double as hours from range({TABLE_ROWS + 50})"
    text = write_answer(OutputFormat.TABLE, tmp_path, sql, to_stream=True).read_text(encoding="utf-8")
    assert f"{TABLE_ROWS:,} of {TABLE_ROWS + 50:,} rows" in text
    assert f" {TABLE_ROWS - 1}   {BIG:,}   1,632,720\n" in text and f" {TABLE_ROWS}   " not in text
    text = write_answer(OutputFormat.TABLE, tmp_path, sql).read_text(encoding="utf-8")
    assert f"\n{TABLE_ROWS + 50:,} rows\n" in text and f" {TABLE_ROWS + 49}   " in text


def test_empty_answer_keeps_columns(tmp_path: Path) -> None:
    for form in non_empty(OutputFormat):
        path = write_answer(form, tmp_path, "select 1 as n, 'x' as s where false")
        if form is OutputFormat.JSON:
            assert json.loads(path.read_text(encoding="utf-8")) == []
        elif form is not OutputFormat.NDJSON and form not in BINARY:
            assert "n" in path.read_text(encoding="utf-8")


def test_only_terminal_gets_colours_and_fitting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "select null as nothing, repeat('long ', 60) as text"
    in_pipe = write_answer(OutputFormat.TABLE, tmp_path, long).read_text(encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert write_answer(OutputFormat.TABLE, tmp_path, long).read_text(encoding="utf-8") == in_pipe
    assert "\x1b" not in in_pipe and "long " * 59 in in_pipe
    on_terminal = write_answer(OutputFormat.TABLE, tmp_path, long, to_terminal=True, width=40).read_text(
        encoding="utf-8"
    )
    assert "\x1b[" in on_terminal and "long " * 59 not in on_terminal


def test_failing_answer_returns_and_keeps_old_file(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text("old", encoding="utf-8")
    failing = "select case when range = 999999 then error('stop') else range end as n from range(1000000)"
    for form in (OutputFormat.CSV, OutputFormat.JSON, OutputFormat.PARQUET):
        for _ in range(3):
            with pytest.raises(duckdb.Error, match="stop"):
                write_answer(form, tmp_path, failing)
    assert path.read_text(encoding="utf-8") == "old"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["answer", "scratch"]


NOT_FINITE = """
    select
        'nan'::double as a,
        ['inf'::double, 1] as b,
        {'x': '-inf'::float, 'y': [{'z': 'nan'::double}]} as c,
        map {'k': 'inf'::double} as d,
        ' [NaN, inf, "NaN"]'::json as e,
        ',nan:inf NaN "Infinity' as f,
        1.5 as g
"""


def test_json_writes_null_for_nan_and_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    [note] = write_and_return_notes(OutputFormat.NDJSON, tmp_path, NOT_FINITE, path)
    assert note.text.startswith("7 values were NaN or infinite")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse) == {
        "a": None,
        "b": [None, 1.0],
        "c": {"x": None, "y": [{"z": None}]},
        "d": {"k": None},
        "e": [None, None, "NaN"],
        "f": ',nan:inf NaN "Infinity',
        "g": 1.5,
    }
    assert write_and_return_notes(OutputFormat.JSON, tmp_path, "select 1.5 as a, ':nan' as b", path) == []


def test_writes_every_type_or_explains(tmp_path: Path) -> None:
    """Also dates outside of Python's range."""
    all_types = "select *{} from test_all_types()"
    with duckdb.connect() as connection:
        names = [name for name, *_ in connection.execute("from test_all_types()").description or ()]
    too_wide = ", ".join(name for name in names if name in ("hugeint", "uhugeint", "empty_struct"))
    for form in non_empty(OutputFormat):
        if form in (OutputFormat.PARQUET, OutputFormat.ARROW):
            message = r"38 digits .*Cast it to varchar|Empty STRUCT columns"
            with pytest.raises((UserError, duckdb.Error), match=message):
                write_answer(form, tmp_path, all_types.format(""))
            path = write_answer(form, tmp_path, all_types.format(f" exclude ({too_wide})"))
            assert path.stat().st_size > 1000
        elif form is OutputFormat.XLSX:
            path = write_answer(form, tmp_path, all_types.format(""))
            rows = list(load_workbook(io.BytesIO(path.read_bytes())).active.values)
            # The third row of values is NULL throughout, so the sheet has no cells for it.
            assert len(rows) == 3 and "5881580-07-10" in rows[2] and "infinity" in str(rows)
        else:
            text = write_answer(form, tmp_path, all_types.format("")).read_text(encoding="utf-8")
            assert "5881580-07-10" in text and "infinity" in text and "24:00:00" in text, form


def test_duplicate_columns_get_unique_keys(tmp_path: Path) -> None:
    text = write_answer(OutputFormat.NDJSON, tmp_path, "select 1 as a, 2 as a, 3 as A").read_text(
        encoding="utf-8"
    )
    assert json.loads(text) == {"a": 1, "a_1": 2, "A_2": 3}


FORMULAS = (
    "select '=1+1' as \"=x\", '+a' as b, '-a' as c, '@a' as d, chr(9) || '=a' as e, -5 as f, 'a=b' as g"
)


def test_guards_formulas_in_csv(tmp_path: Path) -> None:
    guarded = list(
        csv.reader(
            write_answer(OutputFormat.CSV, tmp_path, FORMULAS, guard_formulas=True).open(encoding="utf-8")
        )
    )
    exact = list(csv.reader(write_answer(OutputFormat.CSV, tmp_path, FORMULAS).open(encoding="utf-8")))
    assert guarded == [["'=x", *"bcdefg"], ["'=1+1", "'+a", "'-a", "'@a", "'\t=a", "-5", "a=b"]]
    assert exact == [["=x", *"bcdefg"], ["=1+1", "+a", "-a", "@a", "\t=a", "-5", "a=b"]]
    with pytest.raises(UsageError, match="csv"):
        write_answer(OutputFormat.JSON, tmp_path, FORMULAS, guard_formulas=True)


ESCAPES = "select chr(27) || '[2J' as \"a\x1b[0m\", chr(155) || '31m' as b, chr(27) || ']8;;x' || chr(7) as c"


def test_only_tables_escape_control_characters(tmp_path: Path) -> None:
    table = write_answer(OutputFormat.TABLE, tmp_path, ESCAPES).read_text(encoding="utf-8")
    assert all(spelled in table for spelled in (r"a\x1b[0m", r"\x1b[2J", r"\x9b31m", r"\x1b]8;;x\x07"))
    assert "\x1b" not in table and "\x9b" not in table
    for form in (OutputFormat.CSV, OutputFormat.MARKDOWN):
        assert "\x1b[2J" in write_answer(form, tmp_path, ESCAPES).read_text(encoding="utf-8")


def test_format_follows_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    for requested, name, form in (
        (None, "a.parquet", OutputFormat.PARQUET),
        (None, "a.jsonl", OutputFormat.NDJSON),
        (None, "a.XLSX", OutputFormat.XLSX),
        (None, "a.txt", OutputFormat.TABLE),
        (None, "a", OutputFormat.CSV),
        (None, "/dev/stdout", OutputFormat.CSV),
        (None, "/dev/shm/a.parquet", OutputFormat.PARQUET),
        (OutputFormat.CSV, "a.unknown", OutputFormat.CSV),
        (OutputFormat.JSON, "a.csv", OutputFormat.JSON),
        (None, None, OutputFormat.CSV),
    ):
        assert chosen_format(requested, Path(name) if name else None) is form
    for name in ("a.unknown", "a.csv.gz", "a.xls"):
        with pytest.raises(UsageError, match=r"Known: \.csv, .*\.xlsx.*--format"):
            chosen_format(None, Path(name))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert chosen_format(None, None) is OutputFormat.TABLE
    with pytest.raises(UsageError, match="--output"):
        chosen_format(OutputFormat.PARQUET, None)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the peak memory in kilobytes")
@pytest.mark.parametrize("form", ["csv", "ndjson", "arrow"])
def test_memory_does_not_grow_with_answer(form: str, sample_warehouse: Path, tmp_path: Path) -> None:
    def peak_mb(rows: int) -> float:
        sql = f"select range as n, repeat('x', 40) as text from range({rows})"
        command = [str(TRACES), "sql", sql, "-w", str(sample_warehouse), "-o", str(tmp_path / f"a.{form}")]
        code = f"import resource, subprocess; subprocess.run({command}, check=True); "
        code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)

    # Two million rows are over 80 MB; holding all of them takes 200 MB.
    assert peak_mb(2_000_000) < peak_mb(200_000) + 60
