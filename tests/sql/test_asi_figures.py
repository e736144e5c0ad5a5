"""The publisher's seventeen figures of ASI, from folders of hours and from the four ZIPs."""

import re
from collections.abc import Iterator
from pathlib import Path

import few_files
import pytest
from conftest import REPOSITORY
from counting import non_empty
from duckdb import DuckDBPyConnection

from tracehouse.engines.duckdb.read import answer, binding, sandbox
from tracehouse.engines.duckdb.write import database

ROW = re.compile(r"\| (\d+) \| \w+ \| (.+) \|")
CALL = re.compile(r"`(asi\.\w+)(?:\((\w+) := '?(\w+)'?\))?`")
# The calls that docs/asi.md lists, by the number of the figure: query, parameter and value.
FIGURES = {
    number: CALL.findall(text) for number, text in ROW.findall((REPOSITORY / "docs" / "asi.md").read_text())
}


@pytest.fixture(scope="module")
def connections(
    sample_raw: Path, sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[DuckDBPyConnection]]:
    """Warehouses of the sample, from its folders and from one ZIP per table."""
    folder = tmp_path_factory.mktemp("zipped")
    tables = sorted((sample_raw / "asi").glob("asi_opensource_*"))
    assert len(tables) == 4
    for table in tables:
        paths = sorted(table.rglob("*.parquet"))
        members = {str(path.relative_to(table.parent)): path.read_bytes() for path in paths}
        few_files.write(folder / "raw" / "asi", {f"{table.name}.zip": few_files.zipped(members)})
    outcome = database.ingest([folder / "raw"], folder / "warehouse", [], few_files.quiet)
    assert not outcome.problems
    with sandbox.connect(sample_warehouse) as of_folders, sandbox.connect(folder / "warehouse") as of_zips:
        yield [of_folders, of_zips]


def test_all_are_listed() -> None:
    assert list(FIGURES) == [str(number) for number in range(1, 18)]
    assert all(FIGURES.values())


@pytest.mark.parametrize("calls", FIGURES.values(), ids=FIGURES)
def test_figure_from_folders_and_zips(
    calls: list[tuple[str, str, str]], connections: list[DuckDBPyConnection]
) -> None:
    for query, parameter, value in non_empty(calls):
        texts = {parameter: value} if parameter else {}
        of_folders, of_zips = (
            answer.read(connection, binding.bind_query(connection, query, texts)).read_all()
            for connection in connections
        )
        assert of_folders.num_rows > 0
        assert of_folders == of_zips
