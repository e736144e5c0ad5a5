"""The figures of the ledgers agree with the documents that they cite, as far as these can be computed."""

import csv
import math
import re
from pathlib import Path

import pytest

from tracehouse.definitions import figures
from tracehouse.definitions.figures import PublishedFigure
from tracehouse.definitions.view_files import VIEWS, DefinitionError

FIGURES = figures.published()
CLUSTERS = {"Seren", "Kalos", "Philly", "Helios", "PAI"}


def cells_of(figure: PublishedFigure) -> tuple[set[str], set[str]]:
    """The columns and rows of AcmeTrace's cluster_summary.csv that a figure cites; several are added up."""
    cited = re.search(r"data/cluster_summary\.csv, ([^;]*)", figure.printed_in)
    words = set(re.findall(r"\w+", cited[1])) if cited else set()
    return {word for word in words if "_" in word}, words & CLUSTERS


CITED = [figure for figure in FIGURES if cells_of(figure)[0]]


def test_figures_of_the_published_table_are_computed_from_its_cells(real_raw: Path) -> None:
    path = real_raw / "acme" / "data" / "cluster_summary.csv"
    if not path.is_file():
        pytest.skip(f"the publisher's table is not at {path}")
    table = {row["id"]: row for row in csv.DictReader(path.open(encoding="utf-8"))}
    wrong = {}
    for figure in CITED:
        columns, rows = cells_of(figure)
        values = [float(table[row][column]) for row in rows for column in columns]
        found = sum(values)
        if all(column.endswith("_gpu_time") and "rate" not in column for column in columns):
            found /= 3600
        if figure.unit == "percent":
            found *= 100
        # Printed digits, so without the tolerance of a measurement.
        if not math.isclose(found, figure.value, abs_tol=0.05 if figure.unit == "GPU-h" else 1e-9):
            wrong[figure.name] = (figure.value, found)
    assert len(CITED) > 40 and wrong == {}


def test_gpu_hours_of_helios_are_the_sum_of_their_parts() -> None:
    value = {figure.name: figure.value for figure in FIGURES}
    parts = [value[f"helios.{state}_gpu_h"] for state in ("completed", "cancelled", "failed")]
    assert value["helios.gpu_h"] == pytest.approx(sum(parts), abs=0.05)


def test_sums_are_computed_from_cited_figures() -> None:
    """No other figure says that it is a sum."""
    says_sum = [figure for figure in FIGURES if re.search(r"\bsums?\b", figure.printed_in)]
    assert {figure.name for figure in says_sum} - {figure.name for figure in CITED} == {"helios.gpu_h"}


def test_tolerances_are_those_of_the_printed_digits() -> None:
    """A larger tolerance would hide differences. Charts, and figures that say about, are less precise."""
    rows = [
        row for path in VIEWS.glob("*/published.csv") for row in csv.DictReader(path.open(encoding="utf-8"))
    ]
    loose = {
        row["figure"]: (row["value"], row["tolerance"])
        for row in rows
        if row["trust"] != "read off a figure"
        and not re.search(r"\babout\b", row["statement"], re.I)
        and float(row["tolerance"]) > half_of_last_digit(row["value"]) * (1 + 1e-9)
    }
    assert loose == {}


def half_of_last_digit(text: str) -> float:
    """Half a unit of the last significant digit: 5 for 120, 0.05 for 12.0."""
    whole, _, decimals = text.partition(".")
    zeros = len(whole) - len(whole.rstrip("0")) if float(whole) else 0
    return 0.5 * 10 ** (-len(decimals) if decimals else zeros)


def test_no_explanation_claims_that_nothing_gives_a_value() -> None:
    """That cannot be proved."""
    claims = [figure.name for figure in FIGURES if re.search(r"\bno computation\b", figure.explanation, re.I)]
    assert claims == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('itp.a,"It has 1" job.,equal,1,jobs,0,', "line 2: "),
        ("itp.a,It has 1 job.,equal,one,jobs,0,", "line 2: could not convert"),
    ],
)
def test_names_the_line_that_is_no_figure(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "itp").mkdir()
    header = "figure,statement,relation,value,unit,tolerance,measured_by\n"
    (tmp_path / "itp" / "published.csv").write_text(f"{header}{line}\n", encoding="utf-8")
    with pytest.raises(DefinitionError, match=message):
        figures.published(tmp_path)
