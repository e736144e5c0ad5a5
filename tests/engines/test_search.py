"""Queries are found by words of the field, whatever their names; a wrong name gets a right one for answer."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read import answer
from tracehouse.engines.duckdb.read.listing import listing
from tracehouse.engines.duckdb.read.search import found, suggestion
from tracehouse.sql.lists import Kind


@pytest.fixture
def opened(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with answer.connect(sample_warehouse) as connection:
        yield connection


def names_of(
    connection: duckdb.DuckDBPyConnection, kind: Kind, trace: str = "", words: str = ""
) -> list[str]:
    return answer.run(connection, listing(connection, kind, trace, words)).read_all()[0].to_pylist()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("itp.gpu_hour", "itp.gpu_hours"),
        ("gpu_hours", "itp.gpu_hours"),
        ("zeus.energy_to_acuracy", "zeus.energy_to_accuracy"),
        ("zeus.energy_and_time_to_target", "zeus.optimum"),
        ("pai.queueing_delay", "pai.wait_cdf"),
        ("unified.runtime_distribution", "unified.run_cdf"),
        ("acme.gpu_utilisation", "acme.utilization_by_day"),
        ("acme.errors_by_code", "acme.onsets_by_code"),
        ("openb.queueing", "openb.waits"),
    ],
)
def test_a_wrong_name_is_answered_with_a_right_one(
    wrong: str, right: str, opened: duckdb.DuckDBPyConnection
) -> None:
    said = suggestion(opened, wrong)
    assert right in re.split(r" or |\?| ", said), said
    assert said.count(" or ") <= 2


def test_what_is_spelt_nearly_right_is_answered_alone(opened: duckdb.DuckDBPyConnection) -> None:
    assert suggestion(opened, "itp.gpu_hour") == " Did you mean itp.gpu_hours?"


def test_what_means_nothing_is_not_guessed(opened: duckdb.DuckDBPyConnection) -> None:
    assert suggestion(opened, "xyzzy") == ""


def test_all_words_must_fit_and_the_best_come_first(opened: duckdb.DuckDBPyConnection) -> None:
    waits = found(opened, Kind.QUERIES, "pai", "queueing of GPU types")
    assert waits[0] == "pai.wait_by_gpu_type"
    assert all(name.startswith("pai.") for name in waits)
    assert found(opened, Kind.QUERIES, "pai", "queueing zebra") == []
    # Of its columns, one only is named so.
    assert "unified.arrivals" in found(opened, Kind.QUERIES, "", "cv_gap")


def test_a_list_is_of_a_trace_or_of_words(opened: duckdb.DuckDBPyConnection) -> None:
    every = names_of(opened, Kind.QUERIES)
    of_itp = names_of(opened, Kind.QUERIES, "itp")
    assert of_itp == [name for name in every if name.startswith("itp.")] != []
    assert names_of(opened, Kind.VIEWS, "itp", "deadline")
    assert names_of(opened, Kind.TRACES, "itp") == ["itp"]
    assert set(names_of(opened, Kind.TABLES, "zeus")) == {"zeus.alibaba_group", "zeus.power", "zeus.train"}


def test_an_unknown_trace_or_word_is_said(opened: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError, match=r"no queries of opnb\. Did you mean openb\? Known: acme, "):
        listing(opened, Kind.QUERIES, "opnb", "")
    with pytest.raises(UsageError, match=r"no queries of PAI\. Did you mean pai"):
        listing(opened, Kind.QUERIES, "PAI", "")
    with pytest.raises(UserError, match="none of the views has the words 'zebra'"):
        listing(opened, Kind.VIEWS, "", "zebra")


@pytest.mark.parametrize("name", ["itp.job", "itp.job_v1", "itp.raw_job"])
def test_a_view_or_table_is_asked_like_a_query(name: str, opened: duckdb.DuckDBPyConnection) -> None:
    question = answer.named_question(opened, name, {}, 3)
    assert answer.run(opened, question).read_all().num_rows == 3
    with pytest.raises(UsageError, match=f"{name} is no query but a table or view, which has no parameters"):
        answer.named_question(opened, name, {"min_gpus": "1"})


def test_a_limit_takes_the_first_rows_of_an_answer(opened: duckdb.DuckDBPyConnection) -> None:
    whole = answer.run(opened, answer.named_question(opened, "itp.gpu_hours", {"min_gpus": "1"})).read_all()
    first = answer.run(
        opened, answer.named_question(opened, "itp.gpu_hours", {"min_gpus": "1"}, 2)
    ).read_all()
    assert first.to_pylist() == whole.to_pylist()[:2]


@pytest.mark.parametrize(("limit", "cut_to"), [(0, 0), (9, 9), (10, None), (11, None), (None, None)])
def test_a_limit_knows_whether_it_leaves_rows_out(
    limit: int | None, cut_to: int | None, opened: duckdb.DuckDBPyConnection
) -> None:
    every = answer.named_question(opened, "itp.gpu_hours", {})
    whole = answer.run(opened, every).read_all().to_pylist()
    assert len(whole) == 10
    few = answer.first_rows(opened, every, limit)
    assert answer.run(opened, few).read_all().to_pylist() == whole[:limit]
    assert few.cut_to == cut_to


def test_a_limit_and_a_view_keep_their_notes(opened: duckdb.DuckDBPyConnection) -> None:
    for name in ("itp.job", "unified.jobs"):
        _, notes = answer.answered(opened, answer.named_question(opened, name, {}, 1))
        assert [note.name for note in notes if note.name == "synthetic data"]
