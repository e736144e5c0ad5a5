"""Inputs after public reports: what people have who work with these traces, read in place."""

from pathlib import Path

import raw_dumps
from few_files import quiet

from tracehouse.ingest import pipeline


def failed_checks(raw: Path, warehouse: Path, trace: str) -> list[str]:
    with raw_dumps.ingested(raw, warehouse) as connection:
        failed = connection.execute(
            "select check_name from catalog.checks where status = 'failed' and check_name like $1 || '.%'",
            [trace],
        )
        return [name for (name,) in failed.fetchall()]


def test_a_pod_list_without_memory_is_read(reports: Path, tmp_path: Path) -> None:
    with raw_dumps.ingested(reports / "04-openb-nomem/raw", tmp_path) as connection:
        rows = connection.sql("select variant, name, memory_mib, cpu_milli from openb.pod order by name")
        assert rows.fetchall() == [
            ("nomem", "openb-pod-0000", None, 12000),
            ("nomem", "openb-pod-0001", None, 6000),
        ]


def test_a_renumbered_gpuspec_list_breaks_no_rule(reports: Path, tmp_path: Path) -> None:
    raw = reports / "05-openb-gpuspec-cpu0/raw"
    assert failed_checks(raw, tmp_path, "openb") == []


def test_a_folder_in_lower_case_is_read_and_a_missing_one_is_named(reports: Path, tmp_path: Path) -> None:
    outcome = pipeline.convert([reports / "06-helios-folder-name/raw"], tmp_path, [], quiet)
    (conversion,) = outcome.converted
    assert (conversion.partition, conversion.sources[0].rows_kept) == ("cluster=Venus", 2)
    assert outcome.unrecognised == ("cluster_log.csv",)
    (note,) = outcome.notes
    assert "helios.job" in note and "Venus" in note
