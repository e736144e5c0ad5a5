"""Tests of search and of suggestions for wrong names."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tracehouse.core.errors import UsageError, UserError
from tracehouse.definitions.lists import Kind
from tracehouse.engines.duckdb.read import answer, binding, sandbox
from tracehouse.engines.duckdb.read.search import find, suggest_queries
from tracehouse.engines.request import Request, Statement


@pytest.fixture
def opened(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with sandbox.connect(sample_warehouse) as connection:
        yield connection


def names_of(
    connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str = "", words: str = ""
) -> list[str]:
    return (
        answer.read(connection, binding.bind_list(connection, kind, trace, words)).read_all()[0].to_pylist()
    )


SUGGESTED = {
    "itp.gpu_hour": "itp.gpu_hours",
    "gpu_hours": "itp.gpu_hours",
    "zeus.energy_to_acuracy": "zeus.energy_to_accuracy",
    "zeus.energy_and_time_to_target": "zeus.optimum",
    "pai.queueing_delay": "pai.wait_cdf",
    "unified.runtime_distribution": "unified.run_cdf",
    "acme.gpu_utilisation": "acme.utilization_by_day",
    "acme.errors_by_code": "acme.onsets_by_code",
    "openb.queueing": "openb.waits",
}


def test_suggests_queries_for_wrong_name(opened: duckdb.DuckDBPyConnection) -> None:
    for wrong, right in SUGGESTED.items():
        message = suggest_queries(opened, wrong)
        assert right in re.split(r"[, ]+|[.]$", message), message
        assert message.count(",") <= 2
    assert suggest_queries(opened, "itp.gpu_hour") == " Close matches: itp.gpu_hours."
    assert suggest_queries(opened, "xyzzy") == ""


# A statement, and the start of its error.
WRONG_NAMES = {
    "select duration from itp.job": 'No column "duration" in itp.job. Close matches: run_s. List all: ',
    "select j.durration from itp.job as j": 'No column "durration" in itp.job. Close matches: run_s. ',
    "select run_s, sum(run_s) over () from itp.job group by all": "Binder Error: "
    "Cannot group on a window clause. `group by all` groups by each column without an aggregate: name the",
    "select usr from unified.jobs": 'No column "usr" in unified.jobs. Close matches: user_id. ',
    "select queueing_delay from unified.jobs": 'No column "queueing_delay" in unified.jobs. '
    "Close matches: wait_s, observed_wait_s. ",
    # A column of a subquery is closer than those of the view.
    "with c as (select run_s as running from itp.job) select runing from c": 'No column "runing" in itp.job. '
    "Close matches: running",
    "select max_gpu from itp.gpu_hours()": 'No column "max_gpu" in itp.gpu_hours. Close matches: max_gpus',
    "select nope from (select 1 as a)": 'Binder Error: Referenced column "nope" not found',
    "from itp.jobs": 'No table or view "itp.jobs". Close matches: itp.job, ',
    "from helios_job": 'No table or view "helios_job". Close matches: helios.job',
    "from capacity": 'No table or view "capacity". Close matches: openb.capacity, unified.capacity. ',
    "from itp.gpu_hours": "itp.gpu_hours is a query: write itp.gpu_hours() with parentheses",
    "from unified.run_cdff()": 'No query named "unified.run_cdff". Close matches: unified.run_cdf. List: ',
    "select percentile(run_s) from itp.job": 'No function "percentile". Close matches: stats.percentiles.',
}


def test_errors_of_statements_name_close_columns_and_tables(opened: duckdb.DuckDBPyConnection) -> None:
    wrong = {}
    for sql, start in WRONG_NAMES.items():
        with (
            pytest.raises((duckdb.Error, UserError)) as raised,
            answer.answer(opened, Request(Statement(sql))) as found,
        ):
            answer.read(opened, found.query)
        if not str(raised.value).startswith(start):
            wrong[sql] = str(raised.value)
    assert wrong == {}


def test_search_matches_all_words_best_first(opened: duckdb.DuckDBPyConnection) -> None:
    waits = find(opened, Kind.QUERIES, "pai", "queueing of GPU types")
    assert waits[0] == "pai.wait_by_gpu_type"
    assert all(name.startswith("pai.") for name in waits)
    assert find(opened, Kind.QUERIES, "pai", "queueing zebra") == []
    # Only a column of this query has the name.
    assert "unified.arrivals" in find(opened, Kind.QUERIES, "", "cv_gap")


# What users search for, and a query among the first that they find.
TERMS_OF_THE_FIELD = {
    "JCT": "unified.turnaround_by_size",
    "job completion time": "unified.turnaround_by_size",
    "Gini": "unified.user_concentration",
    "Lorenz": "unified.gpu_time_concentration",
    "fairness": "unified.user_concentration",
    "slowdown": "unified.turnaround_by_size",
    "interference": "pai.colocation_slowdown",
    "goodput": "unified.failure_cost",
    "evictions": "acme.failures",
    "stranded GPUs": "philly.fragmentation",
    "MTBF": "acme.failure_rate",
    "makespan": "unified.run_cdf",
}


def test_search_finds_terms_of_the_field(opened: duckdb.DuckDBPyConnection) -> None:
    found = {term: find(opened, Kind.QUERIES, "", term) for term in TERMS_OF_THE_FIELD}
    missing = {term: found[term] for term, name in TERMS_OF_THE_FIELD.items() if name not in found[term]}
    assert missing == {}
    assert found["JCT"][0] == "unified.turnaround_by_size"


def test_lists_by_trace_or_words(opened: duckdb.DuckDBPyConnection) -> None:
    every = names_of(opened, Kind.QUERIES)
    of_itp = names_of(opened, Kind.QUERIES, "itp")
    assert of_itp == [name for name in every if name.startswith("itp.")] != []
    assert names_of(opened, Kind.VIEWS, "itp", "deadline")
    assert names_of(opened, Kind.TRACES, "itp") == ["itp"]
    assert set(names_of(opened, Kind.TABLES, "zeus")) == {"zeus.alibaba_group", "zeus.power", "zeus.train"}


def test_unknown_trace_or_word_gets_clear_error(opened: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError, match=r"No queries of opnb\. Close matches: openb\. Known: acme, "):
        binding.bind_list(opened, Kind.QUERIES, "opnb", "")
    with pytest.raises(UsageError, match=r"No queries of PAI\. Close matches: pai"):
        binding.bind_list(opened, Kind.QUERIES, "PAI", "")
    with pytest.raises(UserError, match='No views match "zebra"'):
        binding.bind_list(opened, Kind.VIEWS, "", "zebra")


def test_view_or_table_has_rows_but_no_parameters(opened: duckdb.DuckDBPyConnection) -> None:
    for name in ("itp.job", "itp.job_v1", "itp.raw_job"):
        found = answer.run(opened, binding.bind_query(opened, name, {}, 3))
        assert answer.read(opened, found.query).read_all().num_rows == 3
        with pytest.raises(UsageError, match=f"{name} is a table or view, which has no parameters"):
            binding.bind_query(opened, name, {"min_gpus": "1"})


def test_limit_detects_omitted_rows(opened: duckdb.DuckDBPyConnection) -> None:
    whole = answer.read(opened, binding.bind_query(opened, "itp.gpu_hours", {})).read_all().to_pylist()
    assert len(whole) == 10
    for limit, is_cut in ((0, True), (9, True), (10, False), (11, False), (None, False)):
        few = answer.run(opened, binding.bind_query(opened, "itp.gpu_hours", {}, limit)).query
        assert answer.read(opened, few).read_all().to_pylist() == whole[:limit]
        assert bool(few.cut) is is_cut, limit


def test_limited_views_keep_notes(opened: duckdb.DuckDBPyConnection) -> None:
    for name in ("itp.job", "unified.jobs"):
        found = answer.run(opened, binding.bind_query(opened, name, {}, 1))
        assert [note.name for note in found.notes if note.name == "synthetic data"]


def test_search_reads_parameters_and_columns(opened: duckdb.DuckDBPyConnection) -> None:
    for words, found in (
        # A parameter's name with another ending, a parameter's meaning, and a column.
        ("preemption", "acme.failure_rate"),
        ("preempted fails", "unified.failure_share"),
        ("independent", "unified.wait_cdf"),
        ("greenwood", "unified.wait_cdf"),
        ("never_started_pct", "unified.wait_cdf"),
    ):
        assert found in find(opened, Kind.QUERIES, "", words), words
