"""A table fits the terminal: texts are cut, columns left out, and numbers shown whole or not at all."""

import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from terminal import end, plain, terminal

from tracehouse.engines.duckdb.read.answer import Question
from tracehouse.publish.table import Look, records, table

LONG = "a text that says much of what a row is about and more than there is room for"


def lines_of(sql: str, look: Look, laid_out=table) -> list[str]:
    with duckdb.connect() as connection:
        _, lines = laid_out(connection, Question(sql, {}), look)
        return list(lines)


def test_texts_are_cut_before_columns_are_left_out() -> None:
    sql = f"select 'some.name' as name, '{LONG}' as text, 1234567890 as number"
    lines = lines_of(sql, Look(width=60))
    assert max(map(cell_len, lines[:3])) <= 60
    assert re.fullmatch(r" some\.name   a text that .*…   1234567890", lines[2])
    assert lines[-2:] == ["1 row", "texts cut: --wide or --records shows all"]
    assert lines_of(sql, Look(width=200))[-1] == "1 row"
    assert LONG in lines_of(sql, Look())[2]


@pytest.mark.parametrize("rows", [0, 2, 3, 4, 25_000])
def test_rows_that_are_not_shown_are_counted(rows: int) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"create table many as select range as n from range({rows})")
        for question in (Question("from many", {}), Question("from many", {}, is_relation=True)):
            total, lines = table(connection, question, Look(most_rows=3))
            *_, last = lines
            assert total == rows
            assert last.startswith(f"{rows:,} row" if rows <= 3 else f"3 of {rows:,} rows; ")


def test_columns_in_the_middle_are_left_out_and_counted() -> None:
    columns = ", ".join(f"{1000000 + place} as number_{place}" for place in range(12))
    lines = lines_of(f"select 'key' as name, {columns}", Look(width=60))
    assert max(map(cell_len, lines)) <= 60
    heading = lines[0].split()
    assert heading[0] == "name" and heading[-1] == "number_11" and "…" in heading
    shown = len(heading) - 1
    assert lines[-1] == f"{13 - shown} of 13 columns left out: --wide or --records shows all"
    assert len(lines_of(f"select 'key' as name, {columns}", Look())[0].split()) == 13


def test_a_number_is_never_cut_even_if_it_is_wider_than_the_terminal() -> None:
    number = "12345678901234567890123456789012345678"
    lines = lines_of(f"select {number}::hugeint as huge, [{number}::hugeint, 7] as several", Look(width=30))
    assert number in lines[2]
    # Of several values whole ones are left out.
    several = lines_of("select range(1000000, 1000100) as several", Look(width=40))[2]
    assert re.fullmatch(r" \[(1\d{6}, )*1\d{6},…", several)


def test_times_and_truth_values_are_not_cut() -> None:
    lines = lines_of(f"select timestamptz '2023-05-17 11:00:58+00' as at, '{LONG}' as t", Look(width=50))
    assert "2023-05-17 11:00:58+00" in lines[2] and "…" in lines[2]


def test_wide_characters_count_twice() -> None:
    lines = lines_of(
        "select '漢字漢字漢字漢字漢字漢字漢字' as a, 1 as b union all select 'x', 2", Look(width=24)
    )
    assert [cell_len(line) for line in lines[2:4]] == [cell_len(lines[1])] * 2 and cell_len(lines[1]) <= 24
    whole = lines_of("select '漢字' as a, 1 as b union all select 'x', 2", Look(width=24))
    assert whole[2:4] == [" 漢字   1", " x      2"]


def test_a_row_is_a_line_whatever_is_in_it() -> None:
    lines = lines_of("select 'a' || chr(10) || 'b' || chr(9) || 'c' as x, 'd' as y", Look(width=40))
    assert lines[2] == " a\\nb\\tc   d"


def test_null_is_no_empty_text() -> None:
    lines = lines_of("select null as a, '' as b, 1 as c", Look(width=40))
    assert lines[2] == " NULL       1"
    assert lines_of("select null as a, '' as b", Look(width=40), records)[1:3] == ["a │ NULL", "b │"]


def test_a_list_shows_what_tells_its_things_apart() -> None:
    sql = f"select 'itp.gpu_hours' as name, '{LONG}' as title, 'min_gpus=1' as parameters"
    lines = lines_of(sql, Look(width=60, only=("name", "title")))
    assert "parameters" not in lines[0] and lines[2].startswith(" itp.gpu_hours   a text")
    assert lines[-1].startswith("1 of 3 columns left out, texts cut: ")


def test_records_show_every_column_whole() -> None:
    sql = f"select 12345678901234567890 as number, '{LONG}' as text, 'a' || chr(10) || 'b' as two"
    sql += " union all from (values (1, 'x', 'y'))"
    lines = lines_of(sql, Look(width=40), records)
    assert lines[0].startswith("─[ 1 ]") and max(map(cell_len, lines)) <= 40
    assert lines[1] == "number │ 12345678901234567890"
    text = [line.split("│")[1].strip() for line in lines[2 : lines.index("two    │ a")]]
    assert " ".join(text) == LONG
    assert lines[lines.index("two    │ a") + 1] == "       │ b"
    assert "─[ 2 ]─┬────────────────────" in lines and lines[-1] == "2 rows"


@settings(deadline=None, max_examples=25)
@given(
    kinds=st.lists(st.sampled_from(["text", "number", "time", "list"]), min_size=1, max_size=8),
    width=st.integers(20, 200),
    length=st.integers(0, 300),
)
def test_whatever_is_asked_it_fits_or_is_one_column(kinds: list[str], width: int, length: int) -> None:
    values = {
        "text": f"repeat('ab 漢 ', {length // 6})",
        "number": "1234567.5",
        "time": "timestamp '2023-05-17 11:00:58'",
        "list": f"range({length // 4})",
    }
    sql = "select " + ", ".join(f"{values[kind]} as c{place}" for place, kind in enumerate(kinds))
    lines = lines_of(sql, Look(width=width))
    # What cannot be cut is shown whole, if it is all that is left.
    assert max(map(cell_len, lines[:3])) <= max(width, 24)
    for cell in re.split(r" {3,}", lines[2].strip()):
        assert not re.fullmatch(r"\d+…", cell)


def test_the_terminal_decides_how_wide_it_is(sample_warehouse: Path) -> None:
    shown = {}
    for columns in (80, 120):
        command = ("query", "itp.job", "-n", "3", "--no-pager")
        with terminal(*command, columns=columns, warehouse=sample_warehouse) as opened:
            assert end(opened) == 0
        shown[columns] = plain(opened).split("caveat")[0].splitlines()
        assert max(map(cell_len, shown[columns])) <= columns
    left_out = [int(re.search(r"(\d+) of 15 columns", shown[columns][-1])[1]) for columns in (80, 120)]
    assert left_out[0] > left_out[1] > 0
    with terminal("query", "itp.job", "--wide", "-n", "3", warehouse=sample_warehouse, PAGER="") as opened:
        assert end(opened) == 0
    assert "needed_speedup" in plain(opened) and "columns left out" not in plain(opened)


@pytest.mark.parametrize("kind", ["traces", "tables", "views", "queries"])
def test_lists_have_a_line_for_each_thing(kind: str, sample_warehouse: Path) -> None:
    with terminal("list", kind, "--no-pager", warehouse=sample_warehouse) as opened:
        assert end(opened) == 0
    lines = plain(opened).splitlines()
    assert max(map(cell_len, lines)) <= 80
    names = [line.split()[0] for line in lines[2 : lines.index("")]]
    assert "…" not in "".join(names)
    assert len(names) == int(re.search(r"(\d+) rows", plain(opened))[1])
