"""Tests of tables that fit the terminal."""

import re
from pathlib import Path

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st
from random_seed import DEPTH
from rich.cells import cell_len
from terminal import end, plain, terminal

from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.publish.table import TableStyle, table

LONG = "a text that says much of what a row is about and more than the column has space for"


def lines_of(sql: str, style: TableStyle, as_records: bool = False) -> list[str]:
    with duckdb.connect() as connection:
        _, lines = table(connection, BoundQuery(sql), style, as_records)
        return list(lines)


def test_truncates_texts_before_hiding_columns() -> None:
    sql = f"select 'some.name' as name, '{LONG}' as text, 1234567890 as number"
    lines = lines_of(sql, TableStyle(width=60))
    assert max(map(cell_len, lines[:3])) <= 60
    assert re.fullmatch(r" some\.name   a text that .*…   1234567890", lines[2])
    assert lines[-2:] == ["1 row", "texts truncated; show all with --wide or --records"]
    assert lines_of(sql, TableStyle(width=200))[-1] == "1 row"
    assert LONG in lines_of(sql, TableStyle())[2]


def test_counts_rows_beyond_the_shown_ones() -> None:
    for rows in (0, 2, 3, 4, 25_000):
        sql = f"select range as n from range({rows})"
        for query in (BoundQuery(sql), BoundQuery("from numbers")):
            with duckdb.connect() as connection:
                connection.execute(f"create view numbers as {sql}")
                total, lines = table(connection, query, TableStyle(most_rows=3))
                *_, last = lines
            assert total == rows
            assert last.startswith(f"{rows:,} row" if rows <= 3 else f"3 of {rows:,} rows; ")


def test_hides_and_counts_columns_in_the_middle() -> None:
    columns = ", ".join(f"{1000000 + place} as number_{place}" for place in range(12))
    lines = lines_of(f"select 'key' as name, {columns}", TableStyle(width=60))
    assert max(map(cell_len, lines)) <= 60
    heading = lines[0].split()
    assert heading[0] == "name" and heading[-1] == "number_11" and "…" in heading
    shown = len(heading) - 1
    assert lines[-1] == f"{13 - shown} of 13 columns hidden; show all with --wide or --records"
    assert len(lines_of(f"select 'key' as name, {columns}", TableStyle())[0].split()) == 13
    # Columns without values are hidden first.
    columns = ", ".join(f"{'null' if place > 8 else 1000000} as number_{place}" for place in range(12))
    heading = lines_of(f"select 'key' as name, {columns}", TableStyle(width=60))[0].split()
    assert heading[0] == "name" and heading[-1] == "number_8" and "…" in heading


def test_never_truncates_numbers_and_times() -> None:
    number = "12345678901234567890123456789012345678"
    lines = lines_of(
        f"select {number}::hugeint as huge, [{number}::hugeint, 7] as several", TableStyle(width=30)
    )
    assert number in lines[2]
    # Lists are truncated between their values.
    several = lines_of("select range(1000000, 1000100) as several", TableStyle(width=40))[2]
    assert re.fullmatch(r" \[(1\d{6}, )*1\d{6},…", several)
    lines = lines_of(
        f"select timestamptz '2023-05-17 11:00:58+00' as at, '{LONG}' as t", TableStyle(width=50)
    )
    assert "2023-05-17 11:00:58+00" in lines[2] and "…" in lines[2]


def test_wide_characters_take_two_columns() -> None:
    lines = lines_of(
        "select '漢字漢字漢字漢字漢字漢字漢字' as a, 1 as b union all select 'x', 2", TableStyle(width=24)
    )
    assert [cell_len(line) for line in lines[2:4]] == [cell_len(lines[1])] * 2 and cell_len(lines[1]) <= 24
    whole = lines_of("select '漢字' as a, 1 as b union all select 'x', 2", TableStyle(width=24))
    assert whole[2:4] == [" 漢字   1", " x      2"]


def test_cells_are_on_one_line_and_tell_null_from_text() -> None:
    lines = lines_of("select 'a' || chr(10) || 'b' || chr(9) || 'c' as x, 'd' as y", TableStyle(width=40))
    assert lines[2] == " a\\nb\\tc   d"
    lines = lines_of("select null as a, '' as b, 1 as c", TableStyle(width=40))
    assert lines[2] == " NULL       1"
    assert lines_of("select null as a, '' as b", TableStyle(width=40), as_records=True)[1:3] == [
        "a │ NULL",
        "b │",
    ]


def test_only_selects_columns() -> None:
    sql = f"select 'itp.gpu_hours' as name, '{LONG}' as title, 'min_gpus=1' as parameters"
    lines = lines_of(sql, TableStyle(width=60, only=("name", "title")))
    assert "parameters" not in lines[0] and lines[2].startswith(" itp.gpu_hours   a text")
    assert lines[-1].startswith("1 of 3 columns hidden, texts truncated; ")


def test_records_show_all_values() -> None:
    sql = f"select 12345678901234567890 as number, '{LONG}' as text, 'a' || chr(10) || 'b' as two"
    sql += " union all from (values (1, 'x', 'y'))"
    lines = lines_of(sql, TableStyle(width=40), as_records=True)
    assert lines[0].startswith("─[ 1 ]") and max(map(cell_len, lines)) <= 40
    assert lines[1] == "number │ 12345678901234567890"
    text = [line.split("│")[1].strip() for line in lines[2 : lines.index("two    │ a")]]
    assert " ".join(text) == LONG
    assert lines[lines.index("two    │ a") + 1] == "       │ b"
    assert "─[ 2 ]─┬────────────────────" in lines and lines[-1] == "2 rows"


@settings(max_examples=25 * DEPTH)
@given(
    kinds=st.lists(st.sampled_from(["text", "number", "time", "list"]), min_size=1, max_size=8),
    width=st.integers(20, 200),
    length=st.integers(0, 300),
)
def test_table_fits_width_or_has_one_column(kinds: list[str], width: int, length: int) -> None:
    values = {
        "text": f"repeat('ab 漢 ', {length // 6})",
        "number": "1234567.5",
        "time": "timestamp '2023-05-17 11:00:58'",
        "list": f"range({length // 4})",
    }
    sql = "select " + ", ".join(f"{values[kind]} as c{place}" for place, kind in enumerate(kinds))
    lines = lines_of(sql, TableStyle(width=width))
    # The last column is shown in full if it cannot be truncated.
    assert max(map(cell_len, lines[:3])) <= max(width, 24)
    for cell in re.split(r" {3,}", lines[2].strip()):
        assert not re.fullmatch(r"\d+…", cell)


def test_width_is_that_of_terminal(sample_warehouse: Path) -> None:
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
    assert "needed_speedup" in plain(opened) and "columns hidden" not in plain(opened)


def test_lists_have_one_line_per_object(sample_warehouse: Path) -> None:
    for kind in ("tables", "queries"):
        with terminal("list", kind, "--no-pager", warehouse=sample_warehouse) as opened:
            assert end(opened) == 0
        lines = plain(opened).splitlines()
        assert max(map(cell_len, lines)) <= 80
        names = [line.split()[0] for line in lines[2 : lines.index("")]]
        assert "…" not in "".join(names)
        assert len(names) == int(re.search(r"(\d+) rows", plain(opened))[1])
