"""Warehouses to publish, and the command `traces publish`."""

from collections.abc import Callable
from pathlib import Path

import command_line
import pytest
from few_files import quiet
from sharing import shared

from tracehouse.engines.duckdb.write import database

Publish = Callable[..., command_line.Run]


@pytest.fixture(scope="session")
def publish() -> Publish:
    """Run `traces publish`, which must succeed unless `succeeds=False`."""

    def run(warehouse: Path, *options: object, succeeds: bool = True) -> command_line.Run:
        done = command_line.server().run("publish", "--warehouse", warehouse, *options)
        assert not done.faults()
        assert (done.code == 0) is succeeds, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def small_warehouse(sample_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with data of three traces only, one of which has telemetry."""

    def ingest(folder: Path) -> None:
        raw = [Path(__file__).parents[1] / "fixture" / "acme", sample_raw / "dlrm", sample_raw / "itp"]
        assert not database.ingest(raw, folder, ["acme", "dlrm", "itp"], quiet).problems

    return shared(tmp_path_factory, "small_warehouse", ingest)


@pytest.fixture(scope="session")
def small_published(
    small_warehouse: Path, publish: Publish, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The published file of the small warehouse, in a folder of its own."""

    def write(folder: Path) -> None:
        folder.mkdir()
        publish(small_warehouse, "--out", folder / "traces.duckdb")
        assert [path.name for path in folder.iterdir()] == ["traces.duckdb"]

    return shared(tmp_path_factory, "small_published", write) / "traces.duckdb"
