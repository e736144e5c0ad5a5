"""`docs/verified.md` agrees with the real files."""

import re
from itertools import zip_longest
from pathlib import Path

import pytest

from tracehouse.core.errors import UserError
from tracehouse.definitions import figures
from tracehouse.docs import verified
from tracehouse.engines.duckdb.read import sandbox, verify


def cells(line: str) -> list[object]:
    """Split a line into cells. Numbers are compared with a tolerance, as sums depend on the order."""
    texts = re.split(r"(?<!\\) ?\| ?", line)
    return [
        pytest.approx(float(text), rel=1e-9, abs=1e-9) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else text
        for text in texts
    ]


def test_page_agrees_with_real_files(real_warehouse: Path) -> None:
    with sandbox.connect(real_warehouse) as connection:
        current = verified.page(connection).splitlines()
    committed = verified.PAGE.read_text(encoding="utf-8").splitlines()
    differing = [
        (old, new) for old, new in zip_longest(committed, current, fillvalue="") if cells(old) != cells(new)
    ]
    assert differing == [], "run `make tables RAW=folder`"


def test_page_has_no_unexplained_difference() -> None:
    lines = verified.PAGE.read_text(encoding="utf-8").splitlines()
    named = [figure.name for figure in figures.published() if figure.trace in verified.TRACES]
    rows = [
        line.split(" | ")
        for line in lines
        if line.startswith(tuple(f"| {trace}." for trace in verified.TRACES))
    ]
    assert [row[0].removeprefix("| ") for row in rows] == named
    assert {row[6] for row in rows} <= set(verify.Verdict) - {
        verify.Verdict.DIFFERS,
        verify.Verdict.SYNTHETIC,
    }


def test_refuses_synthetic_data(sample_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One trace suffices and is faster.
    monkeypatch.setattr(verified, "TRACES", ("zeus",))
    with (
        sandbox.connect(sample_warehouse) as connection,
        pytest.raises(UserError, match="was computed from synthetic data"),
    ):
        verified.page(connection)
