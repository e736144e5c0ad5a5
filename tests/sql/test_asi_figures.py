"""The page on ASI lists a call for each of the publisher's seventeen figures, and each call has rows."""

import re
from pathlib import Path

from conftest import REPOSITORY
from non_empty import non_empty

from tracehouse.engines.duckdb.read import answer, binding, sandbox

ROW = re.compile(r"\| (\d+) \| \w+ \| (.+) \|")
CALL = re.compile(r"`(asi\.\w+)(?:\((\w+) := '?(\w+)'?\))?`")
# The calls that docs/asi.md lists, by the number of the figure: query, parameter and value.
FIGURES = {
    number: CALL.findall(text)
    for number, text in ROW.findall((REPOSITORY / "docs" / "asi.md").read_text(encoding="utf-8"))
}


def test_every_figure_has_rows(sample_warehouse: Path) -> None:
    assert list(FIGURES) == [str(number) for number in range(1, 18)]
    with sandbox.connect(sample_warehouse) as connection:
        for calls in FIGURES.values():
            for query, parameter, value in non_empty(calls):
                texts = {parameter: value} if parameter else {}
                bound = binding.bind_query(connection, query, texts)
                assert answer.read(connection, bound).read_all().num_rows, query
