"""The page of verified figures is what the real files give now."""

import re
from itertools import zip_longest
from pathlib import Path

import pytest

from tracehouse.core.errors import UserError
from tracehouse.docs import verified
from tracehouse.engines.duckdb.read import answer, verify
from tracehouse.views import ledgers


def cells(line: str) -> list[object]:
    """The cells of a line, numbers as such: their last digits depend on the order in which they are added."""
    texts = re.split(r"(?<!\\) ?\| ?", line)
    return [
        pytest.approx(float(text), rel=1e-9, abs=1e-9) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else text
        for text in texts
    ]


def test_the_page_is_what_the_real_files_give(real_warehouse: Path) -> None:
    with answer.connect(real_warehouse) as connection:
        made = verified.page(connection).splitlines()
    shown = verified.PAGE.read_text().splitlines()
    differing = [
        (ours, theirs)
        for ours, theirs in zip_longest(shown, made, fillvalue="")
        if cells(ours) != cells(theirs)
    ]
    assert differing == [], "make verified RAW=folder writes it anew"


def test_a_number_that_differs_is_seen() -> None:
    line = "| itp.I1 | 69,351 jobs. | 69351.0 | 69351.0 | 0.0 | jobs | reproduced |"
    assert cells(line) == cells(line.replace("69351.0 |", "69351.000000001 |"))
    assert cells(line) != cells(line.replace("69351.0 | 0.0", "69351.1 | 0.1"))
    assert cells(line) != cells(line.replace("reproduced", "differs"))


def test_no_figure_of_the_page_differs_unexplained() -> None:
    lines = verified.PAGE.read_text().splitlines()
    named = [figure.name for figure in ledgers.published() if figure.trace in verified.TRACES]
    rows = [
        line.split(" | ")
        for line in lines
        if line.startswith(tuple(f"| {trace}." for trace in verified.TRACES))
    ]
    assert [row[0].removeprefix("| ") for row in rows] == named
    assert {row[-1].removesuffix(" |") for row in rows} <= set(verify.Verdict) - {
        verify.Verdict.DIFFERS,
        verify.Verdict.SYNTHETIC,
    }


def test_synthetic_data_make_no_page(sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # All of them take long to measure.
    monkeypatch.setattr(verified, "TRACES", ("zeus",))
    with (
        answer.connect(sample_warehouse) as connection,
        pytest.raises(UserError, match="rests on synthetic data"),
    ):
        verified.page(connection)
