"""Warehouses that several tests read, over real files and synthetic dumps, and what tests tried."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import counting
import duckdb
import pytest
from few_files import quiet
from hypothesis import settings
from sharing import shared

from tracehouse.engines.duckdb.write import database
from tracehouse.samples import dumps

REPOSITORY = Path(__file__).parents[1]
REAL_DATA = Path(os.environ.get("TRACES_TEST_DATA", REPOSITORY.parent / "shared" / "data"))
SAMPLE_SCALE = 0.002
SAMPLE_SEED = 7

# pytest --hypothesis-profile hostile: minutes, not seconds.
settings.register_profile("hostile", deadline=None, max_examples=10_000)


def pytest_report_header() -> str:
    return f"duckdb {duckdb.__version__}"


def build_warehouse(raw: Path, warehouse: Path) -> Path:
    outcome = database.ingest([raw], warehouse, [], quiet)
    assert not outcome.problems
    return warehouse


@pytest.fixture(scope="session")
def real_raw() -> Path:
    if not REAL_DATA.is_dir():
        pytest.skip(f"the publishers' real files are not at {REAL_DATA}")
    return REAL_DATA


@pytest.fixture(scope="session")
def real_warehouse(real_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared(tmp_path_factory, "real_warehouse", lambda folder: build_warehouse(real_raw, folder))


@pytest.fixture(scope="session")
def sample_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def write(folder: Path) -> None:
        dumps.write_sample(folder, SAMPLE_SCALE, SAMPLE_SEED, dumps.available(), quiet)

    return shared(tmp_path_factory, "sample_raw", write)


@pytest.fixture(scope="session")
def sample_warehouse(sample_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared(tmp_path_factory, "sample_warehouse", lambda folder: build_warehouse(sample_raw, folder))


# A database that stays open is read once, and not for each test.
@pytest.fixture(scope="session")
def opened_real(real_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(real_warehouse / database.NAME), read_only=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def opened_sample(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse / database.NAME), read_only=True) as connection:
        yield connection


@pytest.fixture
def real(opened_real: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    with opened_real.cursor() as connection:
        yield connection


@pytest.fixture
def synthetic(opened_sample: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    with opened_sample.cursor() as connection:
        yield connection


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> counting.Count:
    """Enter how much of a kind a test has tried."""
    return lambda kind, number: record_property(counting.COUNTED, (kind, number))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counting.summarize(terminalreporter)
