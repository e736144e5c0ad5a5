"""The shortest trace needs no file but its declaration: lint, ingest, samples and broken rows work."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from added_trace import SHORTEST, added_trace
from broken_rows import ROWS, broken_rows, without_value
from few_files import ingest, only, quiet

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.findings import Finding
from tracehouse.definitions.lint.run import lint
from tracehouse.ingest.declare.trace import Trace, all_traces, load_trace
from tracehouse.samples.dumps import write_sample

FILE = "shortest/jobs.csv"


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Trace]:
    with added_trace(tmp_path, "shortest", SHORTEST):
        yield all_traces()["shortest"]


def test_lint_accepts_it(trace: Trace) -> None:
    assert [str(finding) for finding in lint(trace.name)] == []


def test_lint_reports_an_invalid_trace_alone(tmp_path: Path) -> None:
    with added_trace(tmp_path, "shortest", SHORTEST.replace("Column(", "Colum(", 1)):
        [finding] = lint()
        assert lint("itp") == [finding]
    assert finding.place.startswith(str(tmp_path / "modules" / "shortest.py")) and "line " in finding.place
    assert "Colum" in finding.message


def test_names_the_file_of_a_package_that_is_invalid(tmp_path: Path) -> None:
    package = tmp_path / "modules" / "parted"
    with added_trace(tmp_path, "other", "from tracehouse.ingest.traces.parted.tables import TRACE"):
        package.mkdir()
        (package / "tables.py").write_text("\nTRACE = Colum()\n", encoding="utf-8")
        (package / "__init__.py").write_text("from .tables import TRACE\n", encoding="utf-8")
        with pytest.raises(DefinitionError) as raised:
            load_trace("parted")
        (package / "tables.py").write_text("TRACE = (\n", encoding="utf-8")
        with pytest.raises(DefinitionError) as refused:
            load_trace("parted")
    assert raised.value.place == f"{package / 'tables.py'}, line 2"
    assert refused.value.place.startswith(f"{package / 'tables.py'}, line ")


def test_lint_of_a_trace_reads_the_folder_of_a_file_and_not_the_whole_path(
    trace: Trace, tmp_path: Path
) -> None:
    folder = tmp_path / trace.name / "views"
    places = [str(folder / schema / "run.v1.sql") for schema in ("mine", trace.name)]
    [found] = lint(trace.name, [lambda _: [Finding(place, "is wrong", "valid") for place in places]])
    assert found.place == str(folder / trace.name / "run.v1.sql")


def test_rules_have_broken_rows(trace: Trace) -> None:
    found = {row.rule: dict(row.changes) for row in broken_rows(trace, [])}
    identifiers = {"shortest.job.identifiers": {"id": "'1.05E+23'"}}
    assert found == {"shortest.job.key": {}, **identifiers, "shortest.job.steps": {"steps": "0 - 1"}}


def test_ingest_keeps_its_sample_and_rejects_a_row_without_a_required_value(
    trace: Trace, tmp_path: Path
) -> None:
    [path] = write_sample(tmp_path, 0.001, 1, [trace.name], quiet)
    [table] = trace.tables
    sample = path.read_bytes()
    [whole] = only(ingest(tmp_path / "whole", {FILE: sample})).sources
    assert whole.rows_kept > 0 and whole.rows_rejected == 0
    broken = without_value(sample, table.columns[0])
    [cut] = only(ingest(tmp_path / "cut", {FILE: broken})).sources
    assert (cut.rows_kept, cut.rows_rejected) == (ROWS - 1, 1)
