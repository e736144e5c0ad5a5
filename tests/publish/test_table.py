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
    assert re.fullmatch(r" some\.name   a text that .*… +1,234,567,890", lines[2])
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
    sql = f"select 'key' as name, {columns} from range(2)"
    lines = lines_of(sql, TableStyle(width=60))
    assert max(map(cell_len, lines)) <= 60
    heading = lines[0].split()
    assert heading[0] == "name" and heading[-1] == "number_11" and "…" in heading
    shown = len(heading) - 1
    footer = " ".join(lines[lines.index("2 rows") + 1 :])
    names = "number_2, number_3, number_4, number_5, number_6 and 3 more"
    assert footer == f"{13 - shown} of 13 columns hidden ({names}); show all with --wide or --records"
    assert len(lines_of(sql, TableStyle())[0].split()) == 13
    # A single row that does not fit is a record.
    single = lines_of(f"{sql} limit 1", TableStyle(width=60))
    assert single[:2] == ["─[ 1 ]────┬────────────────────", "name      │ key"] and len(single) == 1 + 13 + 2


def test_hides_medians_last() -> None:
    columns = ", ".join(f"1234567 as p{place}_wait_s" for place in (25, 75, 90, 95))
    sql = f"select 'key' as name, 1 as jobs, 1234567 as p5_wait_s, 2 as median_wait_s, {columns}"
    sql += " from range(2)"
    for width in (35, 60):
        assert "median_wait_s" in lines_of(sql, TableStyle(width=width))[0].split(), width


def test_hides_zeros_first_and_both_bounds_of_an_interval() -> None:
    numbers = "1234567 as n, 1 as low_wait_s, 2 as high_wait_s, 0.0 as excluded_pct, 5 as unknown_pct"
    sql = f"select 'key' as name, {numbers}, 7 as never_started_pct, 1234567 as last from range(2)"
    for width, hidden in (
        (110, []),
        (100, ["excluded_pct"]),
        (80, ["low_wait_s", "high_wait_s", "excluded_pct"]),
        (60, ["low_wait_s", "high_wait_s", "excluded_pct", "unknown_pct"]),
    ):
        shown = lines_of(sql, TableStyle(width=width))[0].split()
        every = lines_of(sql, TableStyle())[0].split()
        assert [name for name in every if name not in shown] == hidden, width


def test_columns_without_values_are_named_below_the_table() -> None:
    sql = "select 'key' as name, null as low, 1 as n, null as high union all select 'other', null, 2, null"
    for as_table in (TableStyle(width=60), TableStyle(width=200)):
        lines = lines_of(sql, as_table)
        assert lines[0].split() == ["name", "n"] and lines[-2:] == ["2 rows", "no values in low, high"]
    assert lines_of(sql, TableStyle())[0].split() == ["name", "low", "n", "high"]
    # An answer without any value, and one without rows, keep their columns.
    assert lines_of("select null as a", TableStyle(width=60))[0].split() == ["a"]
    assert lines_of(f"from ({sql}) limit 0", TableStyle(width=60))[0].split() == ["name", "low", "n", "high"]


# Numbers of a column, and how a table shows them.
NUMBERS = {
    "(1294330e0), (6.0933), (null)": ["1,294,330", "        6.0933", "          NULL"],
    "(960.685e0), (76.98), (1226.54), (0)": ["  960.7", "   77.0", "1,226.5", "    0.0"],
    "(600e0), (85000)": ["   600", "85,000"],
    "(100e0), (50), (0.5)": ["100.0", " 50.0", "  0.5"],
    "(69351), (7), (null)": ["69,351", "     7", "  NULL"],
    "(-1.5e0), (20.25)": ["-1.50", "20.25"],
    "(1234567.25::decimal(12, 2)), (1::decimal(12, 2))": ["1,234,567.25", "        1.00"],
    "(170141183460469231731687303715884105727::hugeint)": [f"{2**127 - 1:,}"],
    "(0.00001::double), (3.25)": ["1e-05", "    3.25"],
    "('inf'::double), (1.25), ('nan')": [" inf", "1.25", " nan"],
}


def test_numbers_have_separators_and_aligned_points() -> None:
    wrong = {}
    for values, expected in NUMBERS.items():
        lines = lines_of(f"select v as x from (values {values}) as t(v)", TableStyle())
        shown = lines[2 : lines.index("")]
        # Without the margin, which is wider below a longer heading.
        margin = min(len(line) - len(line.lstrip()) for line in shown)
        if [line[margin:] for line in shown] != expected:
            wrong[values] = shown
    assert wrong == {}
    # Halves are rounded away from zero, not to the even digit.
    halves = lines_of("select unnest([4320.5e0, -4320.5, 60181.5]) as x", TableStyle())
    assert [line.strip() for line in halves[2:5]] == ["4,321", "-4,321", "60,182"]
    # Numbers that name something have no separators, and other formats change no number.
    assert lines_of("select 2017 as year, 12345 as job_id", TableStyle())[2].split() == ["2017", "12345"]
    assert lines_of("select 1234.56789e0 as x, 12345 as n", TableStyle(), as_records=True)[1:3] == [
        "x │ 1,234.568",
        "n │ 12,345",
    ]


def test_never_truncates_numbers_and_times() -> None:
    number = "12345678901234567890123456789012345678"
    lines = lines_of(
        f"select {number}::hugeint as huge, [{number}::hugeint, 7] as several from range(2)",
        TableStyle(width=30),
    )
    assert f"{int(number):,}" in lines[2]
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
    lines = lines_of("select null as a, '' as b, 1 as c", TableStyle())
    assert lines[2] == " NULL       1"
    assert lines_of("select null as a, '' as b", TableStyle(width=40), as_records=True)[1:3] == [
        "a │ NULL",
        "b │",
    ]


def test_only_selects_columns() -> None:
    sql = f"select 'itp.gpu_hours' as name, '{LONG}' as title, 'min_gpus=1' as parameters"
    lines = lines_of(sql, TableStyle(width=60, only=("name", "title")))
    assert "parameters" not in lines[0] and lines[2].startswith(" itp.gpu_hours   a text")
    assert lines[-2].startswith("1 of 3 columns hidden (parameters), texts truncated; ")


def test_records_show_all_values() -> None:
    sql = f"select 12345678901234567890 as number, '{LONG}' as text, 'a' || chr(10) || 'b' as two"
    sql += " union all from (values (1, 'x', 'y'))"
    lines = lines_of(sql, TableStyle(width=40), as_records=True)
    assert lines[0].startswith("─[ 1 ]") and max(map(cell_len, lines)) <= 40
    assert lines[1] == "number │ 12,345,678,901,234,567,890"
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
    lines = lines_of(f"{sql} from range(2)", TableStyle(width=width))
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
    left_out = [int(re.search(r"(\d+) of 15 columns", "\n".join(lines))[1]) for lines in shown.values()]
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
