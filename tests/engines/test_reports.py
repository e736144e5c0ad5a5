"""Inputs after public reports: what people have who work with these traces, read in place."""

from pathlib import Path

import command_line
import pytest
import raw_dumps
from few_files import quiet

from tracehouse.ingest import pipeline
from tracehouse.ingest.pipeline import IngestResult


def convert(raw: Path, warehouse: Path) -> IngestResult:
    return pipeline.convert([raw], warehouse, [], quiet)


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
    outcome = convert(reports / "06-helios-folder-name/raw", tmp_path)
    (conversion,) = outcome.converted
    assert (conversion.partition, conversion.sources[0].rows_kept) == ("cluster=Venus", 2)
    assert outcome.unrecognised == ("cluster_log.csv",)
    (note,) = outcome.notes
    assert "helios.job" in note and "Venus" in note


def test_the_rows_of_an_object_are_rejected_together(reports: Path, tmp_path: Path) -> None:
    raw = reports / "07-philly-extra-keys/raw"
    assert failed_checks(raw, tmp_path, "philly") == []
    with raw_dumps.ingested(raw, tmp_path) as connection:
        rejected = connection.sql("select table_name, count(*) from catalog.rejected_rows group by all")
        assert dict(rejected.fetchall()) == dict.fromkeys(
            ("philly.job", "philly.attempt", "philly.attempt_machine"), 1
        )
        unmatched = "select count(*) from philly.attempt anti join philly.job using (jobid)"
        assert connection.sql(unmatched).fetchall() == [(0,)]


def test_jobs_that_never_started_are_kept_with_nan_for_their_times(reports: Path, tmp_path: Path) -> None:
    with raw_dumps.ingested(reports / "08-nan-times/raw", tmp_path) as connection:
        rows = connection.sql("select state, start_time, duration from helios.job where start_time is null")
        assert rows.fetchall() == [("CANCELLED", None, None)] * 2
        assert connection.sql("select sum(rows_rejected) from catalog.sources").fetchall() == [(0,)]


def test_an_index_of_pandas_is_named(reports: Path, tmp_path: Path) -> None:
    (problem,) = convert(reports / "09-pandas-index/raw", tmp_path).problems
    assert "has a column without a name, which looks like the index that pandas writes. Write it" in str(
        problem
    )
    assert "etch" not in str(problem)


def test_a_complete_last_line_without_a_newline_is_kept(reports: Path, tmp_path: Path) -> None:
    outcome = convert(reports / "10-no-final-newline/raw", tmp_path)
    (source,) = outcome.converted[0].sources
    assert (source.rows_kept, source.rows_rejected) == (17, 0)
    (note,) = outcome.notes
    assert note.startswith("data/Venus/cluster_log.csv: kept the last line, which has no newline")


def test_times_with_an_offset_of_zero_are_read(reports: Path, tmp_path: Path) -> None:
    with raw_dumps.ingested(reports / "11-azure-2024-offset/raw", tmp_path) as connection:
        rows = connection.sql(
            """select workload, cast("TIMESTAMP" as varchar), ContextTokens from azure_llm.raw_request"""
        )
        assert sorted(rows.fetchall()) == [
            ("code_1week", "2024-05-13 00:00:00", 700),
            ("code_1week", "2024-05-13 00:00:00.004", 2100),
            ("code_1week", "2024-05-13 00:00:01.25", 41),
            ("code_1week", "2024-05-13 00:01:00.5", 900),
        ]
        span = "select max(arrival_s) - min(arrival_s) from unified.requests"
        assert connection.sql(span).fetchall() == [(60.5,)]


def test_requests_of_every_type_are_read(reports: Path, tmp_path: Path) -> None:
    raw = reports / "12-qwen-types/raw"
    assert failed_checks(raw, tmp_path, "qwen") == []
    with raw_dumps.ingested(raw, tmp_path) as connection:
        types = connection.sql("select type, count(*) from qwen.raw_request group by type")
        assert dict(types.fetchall()) == {"api": 1, "coder": 1, "text": 1, "thinking": 2}


@pytest.mark.parametrize("raw", ["13-burstgpt-without-fails-alone/raw", "16-azure-lmm-hint/raw1"])
def test_a_file_that_is_left_out_is_of_a_known_trace(raw: str, reports: Path, tmp_path: Path) -> None:
    run = command_line.server().run("ingest", "--raw", reports / raw, "-w", tmp_path / "warehouse")
    assert run.errors == ["error: The raw folders contain no file that ingest reads; see the notes"]
    assert "left out, because " in run.stderr and "Did you mean" not in run.stderr


def test_keys_that_the_publisher_lacks_are_named(reports: Path, tmp_path: Path) -> None:
    (problem,) = convert(reports / "14-mooncake-extra-keys/raw", tmp_path).problems
    assert "the keys priority, session_id, which the publisher's file lacks" in str(problem)
    assert "etch" not in str(problem) and "damaged" not in str(problem)


def test_time_that_no_file_covers_is_not_idle(reports: Path, tmp_path: Path) -> None:
    with raw_dumps.ingested(reports / "15-burstgpt-gap/raw", tmp_path) as connection:
        spans = connection.sql("select span_s, idle_windows from unified.request_burstiness()").fetchall()
        rates = connection.sql("select min(requests_per_s) > 0 from unified.request_arrivals()").fetchall()
    assert spans == [(120, 0), (60, 0)]
    assert rates == [(True,)]
