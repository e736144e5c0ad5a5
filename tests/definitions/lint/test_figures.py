"""A published figure is not measured by the publisher's own figures, nor by what this project assumes."""

from dataclasses import replace

import pytest

from tracehouse.definitions.figures import PublishedFigure
from tracehouse.definitions.lint.figures import lint_figure
from tracehouse.definitions.lint.read import Definitions, read

FIGURE = PublishedFigure(
    name="acme.jobs",
    trace="acme",
    statement="There are 12 jobs.",
    relation="equal",
    value=12,
    unit="jobs",
    tolerance=0,
    measured_by="",
    explanation="",
    explained_value=None,
    explained_tolerance=None,
    needs_file="",
    printed_in="a paper",
    trust="paper",
)


@pytest.fixture(scope="module")
def definitions() -> Definitions:
    return read()[0]


@pytest.mark.parametrize(
    ("measured_by", "culprit"),
    [
        ("select job_num from acme.cluster_summary", "acme.cluster_summary"),
        ("select sum(jobs) from acme.published_summary()", "acme.cluster_summary"),
        ("select sum(from_jobs) from acme.summary_against_jobs()", "acme.cluster_summary"),
        ("select largest_difference_pct from acme.curve_distance()", "catalog.reference_curves"),
        ("select sum(memory_gb) from openb.memory()", "openb.gpu_memory"),
        ("select max(assumed_memory_gb) from openb.gpu_memory_v1", "openb.gpu_memory_v1"),
        ("select count(*) from acme.job_v1", ""),
        # The publisher's simulation scripts have these capacities; they are no assumption of this project.
        ("select count(*) from itp.cluster_load", ""),
    ],
)
def test_finds_figures_that_cannot_fail(definitions: Definitions, measured_by: str, culprit: str) -> None:
    found = list(lint_figure(definitions, replace(FIGURE, measured_by=measured_by)))
    assert {one.rule for one in found} == ({"figure evidence"} if culprit else set())
    assert [f"leave `measured_by` empty: {culprit} has" in one.message for one in found] == [True] * len(
        found
    )


def test_a_count_of_our_own_may_be_compared_with_a_published_curve(definitions: Definitions) -> None:
    curves = [figure for figure in definitions.figures if figure.name.startswith("acme.curve_")]
    assert len(curves) == 20 and not any(isinstance(figure, PublishedFigure) for figure in curves)
    assert [finding for figure in curves for finding in lint_figure(definitions, figure)] == []
