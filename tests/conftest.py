"""Warehouses that several tests read, and the option --only-trace, which runs the tests of one trace."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
import suites
from few_files import quiet
from hypothesis import settings
from random_seed import DEPTH, REPEAT, SEED
from sharing import shared

from tracehouse.core.errors import UsageError
from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.samples import dumps

REPOSITORY = Path(__file__).parents[1]
REAL_DATA = Path(os.environ.get("TRACES_TEST_DATA", REPOSITORY.parent / "shared" / "data")).absolute()
NEIGHBOURS = REAL_DATA.parent / "neighbours"
REPORTS = REAL_DATA.parent / "reports"
# The fixtures that read them. `make long-test` runs the tests that need one.
OF_PUBLISHERS = frozenset({"real_raw", "requests_raw", "reports", "real_rows", "real_asi_rows"})
FIXTURE = REPOSITORY / "tests/fixture"
SAMPLE_SCALE = 0.001
SAMPLE_SEED = 7

# Tests that do not set `max_examples` use this number.
settings.register_profile("at depth", deadline=None, database=None, max_examples=100 * DEPTH)
settings.load_profile("at depth")


def pytest_report_header() -> list[str]:
    return [f"duckdb {duckdb.__version__}", REPEAT]


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "run the tests of one trace, over its files alone"
    parser.addoption("--write-goldens", action="store_true", help="write the answers to tests/goldens")
    parser.addoption("--only-trace", choices=sorted(all_traces()), help=help_text)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(SEED)
    config.addinivalue_line("markers", "suite(name): needs more than `make test` has: see tests/suites.py")
    config.addinivalue_line("markers", "real_files: needs the publishers' files")
    config.addinivalue_line("markers", "each_trace: checks every trace; with --only-trace, the given one")


def pytest_itemcollected(item: pytest.Item) -> None:
    if OF_PUBLISHERS & {*getattr(item, "fixturenames", ())}:
        item.add_marker(pytest.mark.real_files)


# Last, after the hooks that mark tests.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the tests of suites that the run does not request.

    With --only-trace, keep marked tests and those whose file, name or parameters name this trace alone.
    """
    trace = config.getoption("only_trace")
    kept = {item for item in items if suites.is_collected(item) and (not trace or _is_of(trace, item))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _is_of(trace: str, item: pytest.Item) -> bool:
    words = item.nodeid.lower()
    named = {
        name for name in (*all_traces(), "unified") if re.search(rf"(?<![a-z0-9]){name}(?![a-z0-9])", words)
    }
    marked = item.get_closest_marker("each_trace") is not None
    return named == {trace} or (not named and marked)


def build_warehouse(raw: Path, warehouse: Path, traces: Sequence[str] = ()) -> Path:
    """Ingest the raw files of these traces, by default of all, and return the warehouse."""
    outcome = database.ingest([raw], warehouse, traces, quiet)
    assert not outcome.problems
    if not outcome.conversions:
        # Without a pytrace, so that the line is not below the source of this function.
        folders = ", ".join(str(folder.resolve()) for folder in sorted(raw.iterdir())) or str(raw)
        names = ", ".join(outcome.unrecognised[:5]) or "none"
        pytest.fail(f"no file of a declared table in {folders}; other files: {names}", pytrace=False)
    return warehouse


@pytest.fixture(scope="session")
def tested_traces(pytestconfig: pytest.Config) -> list[str]:
    """The traces that this run tests."""
    chosen = pytestconfig.getoption("only_trace")
    return [chosen] if chosen else sorted(all_traces())


@pytest.fixture(scope="session")
def real_raw(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = pytestconfig.getoption("only_trace")
    if not (REAL_DATA / (trace or "")).is_dir():
        pytest.skip(f"the publishers' real files are not at {REAL_DATA / (trace or '')}")
    if not trace:
        return REAL_DATA
    folder = tmp_path_factory.mktemp("real_raw")
    (folder / trace).symlink_to(REAL_DATA / trace)
    return folder


@pytest.fixture(scope="session")
def real_warehouse(real_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared(tmp_path_factory, "real_warehouse", lambda folder: build_warehouse(real_raw, folder))


@pytest.fixture(scope="session")
def reports() -> Path:
    """Small inputs after public reports of people who work with these traces, one folder each."""
    if not REPORTS.is_dir():
        pytest.skip(f"the inputs of public reports are not at {REPORTS}")
    return REPORTS


@pytest.fixture(scope="session")
def requests_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real files of traces of requests."""
    folders = {"azure_llm": "requests/azure_llm_2023", "mooncake": "requests/mooncake", "genai": "genai"}
    if not all((NEIGHBOURS / folder).is_dir() for folder in folders.values()):
        pytest.skip(f"the publishers' real files are not at {NEIGHBOURS}")
    raw = tmp_path_factory.mktemp("requests_raw")
    for trace, folder in folders.items():
        (raw / trace).symlink_to(NEIGHBOURS / folder)
    return raw


@pytest.fixture(scope="session")
def requests_warehouse(requests_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared(
        tmp_path_factory, "requests_warehouse", lambda folder: build_warehouse(requests_raw, folder)
    )


@pytest.fixture(scope="session")
def sample_raw(tested_traces: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    def write(folder: Path) -> None:
        try:
            dumps.write_sample(folder, SAMPLE_SCALE, SAMPLE_SEED, tested_traces, quiet)
        except UsageError as error:
            # Without a traceback, which each test that needs the sample would repeat.
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    return shared(tmp_path_factory, "sample_raw", write)


@pytest.fixture(scope="session")
def sample_warehouse(sample_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared(tmp_path_factory, "sample_warehouse", lambda folder: build_warehouse(sample_raw, folder))


@pytest.fixture(scope="session")
def fixture_warehouse(tested_traces: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the small raw files in the repository, with --only-trace of this trace alone."""
    return shared(tmp_path_factory, "fixture", lambda folder: build_warehouse(FIXTURE, folder, tested_traces))


# One connection for all tests: DuckDB would otherwise read the database again for each test.
@pytest.fixture(scope="session")
def opened_real(real_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(real_warehouse / database.DATABASE), read_only=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def opened_sample(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse / database.DATABASE), read_only=True) as connection:
        yield connection


@pytest.fixture
def real(opened_real: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    with opened_real.cursor() as connection:
        yield connection


@pytest.fixture
def synthetic(opened_sample: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    with opened_sample.cursor() as connection:
        yield connection


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(REPEAT)
