"""An ingest with Spark gives the same files and errors as an ingest in one process."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from few_files import quiet

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.write import database, materialized_views
from tracehouse.engines.duckdb.write.materialized_views import ViewTask
from tracehouse.engines.spark.ingest_workers import create_workers
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import records
from tracehouse.ingest.store.integrity import OnBytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEADER = "sn,cpu_milli,memory_mib,gpu,model\n"


def ingest(raw: Path, warehouse: Path, traces: Sequence[str], spark: "SparkSession") -> IngestResult:
    return database.ingest([raw], warehouse, traces, quiet, workers=create_workers(spark))


def test_files_and_counts_are_the_same(
    spark: "SparkSession", sample_raw: Path, sample_warehouse: Path, tmp_path: Path
) -> None:
    outcome = ingest(sample_raw, tmp_path / "warehouse", [], spark)
    assert outcome.problems == ()
    expected = records.read(sample_warehouse).conversions
    assert records.read(tmp_path / "warehouse").conversions == expected
    for stored in (stored for conversion in expected for stored in conversion.all_files):
        ours = (tmp_path / "warehouse" / stored.path).read_bytes()
        assert ours == (sample_warehouse / stored.path).read_bytes()


def test_errors_are_the_same_and_rest_is_read(spark: "SparkSession", tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "openb_node_list_gpu_node.csv").write_text(f"{HEADER}a,1000,1024,1,T4\n", encoding="utf-8")
    (raw / "openb_node_list_all_node.csv").write_text("sn,cpu\na,1\n", encoding="utf-8")
    here = database.ingest([raw], tmp_path / "here", [], quiet)
    there = ingest(raw, tmp_path / "there", [], spark)
    assert len(here.problems) == 1
    assert list(map(str, there.problems)) == list(map(str, here.problems))
    assert [type(problem) for problem in there.problems] == [type(problem) for problem in here.problems]
    assert there.conversions == here.conversions


def test_materialized_views_of_workers_are_the_same(
    spark: "SparkSession", sample_raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By default, the views of a sample are too small to be materialized.
    monkeypatch.setattr(materialized_views, "LEAST_ROWS", 1)
    here, there = tmp_path / "here", tmp_path / "there"
    database.ingest([sample_raw], here, ["pai", "acme"], quiet)
    tried: list[ViewTask] = []
    workers = create_workers(spark)

    def record_tasks(tasks: Sequence[ViewTask], on_bytes: OnBytes) -> dict[str, str]:
        tried.extend(tasks)
        return workers.run_view_tasks(tasks, on_bytes)

    outcome = database.ingest(
        [sample_raw], there, ["pai", "acme"], quiet, workers=replace(workers, run_view_tasks=record_tasks)
    )
    assert outcome.notes == () and len(tried) > 2
    made = sorted(path.relative_to(here) for path in here.glob("stored/*/*/*.parquet"))
    assert made == sorted(path.relative_to(there) for path in there.glob("stored/*/*/*.parquet"))
    assert len(made) > 15
    # The order of equal rows is not defined, so the bytes may differ.
    for path in made:
        one, other = (duckdb.read_parquet(str(place / path)) for place in (here, there))
        assert one.except_(other).fetchall() == other.except_(one).fetchall() == []
        assert one.count("*").fetchall() == other.count("*").fetchall()


def test_skips_unchanged_files(spark: "SparkSession", tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse"
    raw.mkdir()
    (raw / "openb_node_list_gpu_node.csv").write_text(f"{HEADER}a,1000,1024,1,T4\n", encoding="utf-8")
    assert len(ingest(raw, warehouse, [], spark).converted) == 1
    (raw / "openb_node_list_all_node.csv").write_text(
        f"{HEADER}a,1000,1024,1,T4\nb,1,1,0,\n", encoding="utf-8"
    )
    second = ingest(raw, warehouse, [], spark)
    assert (len(second.converted), len(second.unchanged)) == (1, 1)


def test_unwritable_warehouse_is_error(spark: "SparkSession", tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse"
    raw.mkdir()
    (raw / "openb_node_list_gpu_node.csv").write_text(f"{HEADER}a,1000,1024,1,T4\n", encoding="utf-8")
    (warehouse / "parquet").mkdir(parents=True)
    (warehouse / "parquet" / "openb").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(UserError, match="A file or folder of that name is in the way"):
        ingest(raw, warehouse, [], spark)
