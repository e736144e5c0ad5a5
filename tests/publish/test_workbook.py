"""Tests of Excel workbooks."""

import datetime as dt
import sys
from pathlib import Path

import duckdb
import pytest
from openpyxl import load_workbook

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.publish import xlsx


def write_workbook(sql: str, path: Path) -> tuple[list[tuple], list[Note]]:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        rows, notes = xlsx.write(connection, BoundQuery(sql), path)
    found = list(load_workbook(path).active.values)
    assert len(found) == rows + 1
    return found, notes


def test_keeps_types(tmp_path: Path) -> None:
    sql = """
        select
            7 as whole, 2.5::double as fraction, 1.25::decimal(9, 2) as exact, 5::hugeint as huge,
            true as yes,
            date '2023-05-17' as day,
            timestamptz '2023-05-17 11:00:58.125+08:00' as instant,
            'text' as text, null as nothing, [1, 2] as several, time '11:00:58' as clock
    """
    (names, row), notes = write_workbook(sql, tmp_path / "a.xlsx")
    assert names[:3] == ("whole", "fraction", "exact")
    assert row[:5] == (7, 2.5, 1.25, 5, True)
    assert row[5:7] == (dt.datetime(2023, 5, 17), dt.datetime(2023, 5, 17, 3, 0, 58, 125000))
    assert row[7:] == ("text", None, "[1, 2]", "11:00:58")
    assert isinstance(row[0], int) and row[4] is True and notes == []


def test_counts_values_written_as_text(tmp_path: Path) -> None:
    sql = """
        select 9007199254740993 as a, -9007199254740993 as b, 9007199254740992 as c, 'nan'::double as d,
            12345678901234567890::hugeint as e, 1.2345678901234567::decimal(20, 16) as f,
            date '1883-01-01' as g, timestamp '2023-05-17 11:00:58.123456' as h, 'infinity'::date as i
    """
    (_, row), notes = write_workbook(sql, tmp_path / "a.xlsx")
    assert row[:3] == ("9007199254740993", "-9007199254740993", 2**53)
    assert row[3:6] == ("nan", "12345678901234567890", "1.2345678901234567")
    assert row[6:] == ("1883-01-01", "2023-05-17 11:00:58.123456", "infinity")
    assert [note.text.split(" ")[0] for note in notes] == ["8"]


def test_texts_are_neither_formulas_nor_links(tmp_path: Path) -> None:
    sql = "select '=1+1' as \"=x\", '+a', 'https://example.org', '{=1}', '', 'mailto:a'"
    path = tmp_path / "a.xlsx"
    (names, row), notes = write_workbook(sql, path)
    assert (names[0], row) == ("=x", ("=1+1", "+a", "https://example.org", "{=1}", "", "mailto:a"))
    sheet = load_workbook(path).active
    assert {cell.data_type for cell in sheet[2] if cell.value} == {"s"}
    assert not any(cell.hyperlink for cell in sheet[2])
    assert notes == []


def test_rejects_answers_beyond_limits_of_sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(write_workbook("select repeat('x', 32767) as a", tmp_path / "a.xlsx")[0][1][0]) == 32_767
    with pytest.raises(UserError, match=r"Row 1, column long: the text has 32,768 characters"):
        write_workbook("select 'x' as a, repeat('x', 32768) as long", tmp_path / "a.xlsx")
    # Excel counts characters beyond 16 bits twice.
    with pytest.raises(UserError, match=r"40,000 characters"):
        write_workbook("select repeat('😀', 20000) as a", tmp_path / "a.xlsx")
    monkeypatch.setattr(xlsx, "MOST_ROWS", 10)
    assert len(write_workbook("from range(9)", tmp_path / "a.xlsx")[0]) == 10
    with pytest.raises(UserError, match=r"more rows than a sheet can have \(10 with the header\)"):
        write_workbook("from range(10)", tmp_path / "a.xlsx")
    monkeypatch.setattr(xlsx, "MOST_COLUMNS", 1)
    with pytest.raises(UserError, match="2 columns; a sheet can have 1"):
        write_workbook("select 1, 2", tmp_path / "a.xlsx")


def test_missing_extra_names_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(UserError, match=r"pip install '\.\[xlsx\]'"):
        write_workbook("select 1", tmp_path / "a.xlsx")
