"""ASI's seventeen figures are equal from hourly folders and from ZIPs, also after a killed ingest."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import few_files
import pytest
from command_line import server
from conftest import REPOSITORY, SAMPLE_SCALE, SAMPLE_SEED
from counting import non_empty
from duckdb import DuckDBPyConnection

from tracehouse.engines.duckdb.read import answer, binding, sandbox
from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.store import records
from tracehouse.samples import dumps

ROW = re.compile(r"\| (\d+) \| \w+ \| (.+) \|")
CALL = re.compile(r"`(asi\.\w+)(?:\((\w+) := '?(\w+)'?\))?`")
# The calls that docs/asi.md lists, by the number of the figure: query, parameter and value.
FIGURES = {
    number: CALL.findall(text) for number, text in ROW.findall((REPOSITORY / "docs" / "asi.md").read_text())
}
DAYS = 3
# Three tables with a conversion per day, and the table of spans with one.
CONVERSIONS = 3 * DAYS + 1
# Each conversion takes about 15 steps.
KILL_AT_STEP = 45


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[DuckDBPyConnection]]:
    """Connect to three warehouses of the same days: from folders, and after a kill from folders and ZIPs."""
    folder = tmp_path_factory.mktemp("asi")
    dumps.write_sample(folder / "raw", SAMPLE_SCALE, SAMPLE_SEED, ["asi"], few_files.quiet, DAYS)
    tables = sorted((folder / "raw" / "asi").glob("asi_opensource_*"))
    assert len(tables) == 4
    for table in tables:
        paths = sorted(table.rglob("*.parquet"))
        members = {str(path.relative_to(table.parent)): path.read_bytes() for path in paths}
        few_files.write(folder / "zips" / "asi", {f"{table.name}.zip": few_files.zipped(members)})
    assert not database.ingest([folder / "raw"], folder / "warehouse", [], few_files.quiet).problems
    warehouses = [folder / "warehouse", *(kill_and_resume_ingest(folder / name) for name in ("raw", "zips"))]
    with ExitStack() as stack:
        yield [stack.enter_context(sandbox.connect(warehouse)) for warehouse in warehouses]


def kill_and_resume_ingest(raw: Path) -> Path:
    """Kill an ingest between two days, run it again, and return the warehouse."""
    warehouse = raw.with_name(f"warehouse_of_{raw.name}")
    run = server().run("ingest", "asi", "--raw", raw, "--warehouse", warehouse, kill_at_step=KILL_AT_STEP)
    assert run.code == -9
    finished = {conversion.key for conversion in records.read_finished(warehouse)}
    assert 0 < len(finished) < CONVERSIONS - 1
    outcome = database.ingest([raw], warehouse, [], few_files.quiet)
    assert not outcome.problems
    assert {conversion.key for conversion in outcome.unchanged} == finished
    assert len(outcome.conversions) == CONVERSIONS
    return warehouse


def test_the_page_lists_all_figures() -> None:
    assert list(FIGURES) == [str(number) for number in range(1, 18)]
    assert all(FIGURES.values())


@pytest.mark.parametrize("calls", FIGURES.values(), ids=FIGURES)
def test_figure_from_folders_and_zips(
    calls: list[tuple[str, str, str]], connections: list[DuckDBPyConnection]
) -> None:
    for query, parameter, value in non_empty(calls):
        texts = {parameter: value} if parameter else {}
        undisturbed, *others = (
            answer.read(connection, binding.bind_query(connection, query, texts)).read_all()
            for connection in connections
        )
        assert undisturbed.num_rows > 0
        assert all(other == undisturbed for other in non_empty(others))
