"""Caveats spread by lineage, through views to queries."""

import csv
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
import sqlglot

from tracehouse.definitions.caveats import inherited_by_query, of_query, of_tables, of_views, read_lines
from tracehouse.definitions.lineage import Columns, columns_read
from tracehouse.definitions.query_files import QUERY_KEYS
from tracehouse.definitions.released import OLD, VIEWS
from tracehouse.definitions.view_files import (
    RELEASED,
    VIEW_KEYS,
    ViewFile,
    read_header,
    read_view_file,
    references,
    view_files,
)
from tracehouse.engines.duckdb.read import binding, notes, sandbox
from tracehouse.engines.duckdb.write.views import describe_views
from tracehouse.ingest.declare.trace import all_traces

TYPES: dict[str, Columns] = {
    "pai.task": dict.fromkeys(("id", "start", "plan"), ("BIGINT", None)),
    "pai.run_v1": dict.fromkeys(("id", "wait_s", "gpus"), ("BIGINT", None)),
    "pai.load_v1": dict.fromkeys(("jobs", "gpu_s"), ("BIGINT", None)),
}
KNOWN = ("pai.shifted", "pai.fractions", "pai.tasks")
RUN = """\
-- caveat: pai.shifted: wait_s
-- caveat: pai.fractions: gpus
-- caveat: pai.tasks
create or replace view pai.run_v1 as
select id, start as wait_s, plan as gpus from pai.task;
"""
LOAD = """\
create or replace view pai.load_v1 as
select count(*) as jobs, sum(gpus) as gpu_s from pai.run_v1;
"""


def write_view(folder: Path, name: str, text: str) -> ViewFile:
    path = folder / "pai" / f"{name}.v1.sql"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return read_view_file(path)


def spread_caveats(folder: Path, load: str = LOAD) -> dict:
    return of_views([write_view(folder, "run", RUN), write_view(folder, "load", load)], TYPES, {}, KNOWN)


def test_a_view_inherits_caveats_of_its_source_columns(tmp_path: Path) -> None:
    assert spread_caveats(tmp_path)["pai.load_v1"] == {
        "pai.fractions": frozenset({"gpu_s"}),
        "pai.tasks": None,
    }


def test_a_caveat_of_a_filter_concerns_all_rows(tmp_path: Path) -> None:
    load = LOAD.replace("pai.run_v1;", "pai.run_v1 where wait_s > 0;")
    assert spread_caveats(tmp_path, load)["pai.load_v1"]["pai.shifted"] is None


def test_a_view_resolves_inherited_caveats(tmp_path: Path) -> None:
    for line, remaining in (
        ("pai.fractions", {"pai.tasks": None}),
        ("pai.fractions: gpu_s", {"pai.tasks": None}),
        ("pai.tasks: jobs", {"pai.fractions": frozenset({"gpu_s"}), "pai.tasks": frozenset({"gpu_s"})}),
    ):
        assert spread_caveats(tmp_path, f"-- resolves_caveat: {line}\n{LOAD}")["pai.load_v1"] == remaining


@pytest.mark.parametrize(
    ("sql", "caveats"),
    [
        ("select id from pai.run_v1", ["pai.tasks"]),
        ("select count(*) from pai.run_v1", ["pai.tasks"]),
        ("select id from pai.run_v1 where wait_s > least_s", ["pai.shifted", "pai.tasks"]),
        (
            "with r as (from pai.run_v1) select sum(r.gpus) from r",
            ["pai.fractions", "pai.shifted", "pai.tasks"],
        ),
        (
            "select t.id from pai.task as t join pai.run_v1 as r on t.plan = r.gpus",
            ["pai.fractions", "pai.tasks"],
        ),
        (
            "select id from pai.task where exists (select 1 from pai.run_v1 as r where r.gpus = task.id)",
            ["pai.fractions", "pai.tasks"],
        ),
    ],
)
def test_a_query_inherits_caveats_of_columns_it_reads(sql: str, caveats: list[str], tmp_path: Path) -> None:
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    read = columns_read(tree, references(tree, "here"), TYPES, "here")
    assert of_query(read_header("", VIEW_KEYS, "here"), read, spread_caveats(tmp_path)) == caveats


@pytest.mark.parametrize(
    ("lines", "caveats"),
    [
        ("", ["pai.fractions", "pai.tasks"]),
        ("-- resolves_caveat: pai.tasks", ["pai.fractions"]),
        ("-- resolves_caveat: pai.shifted", ["pai.fractions", "pai.tasks"]),
        ("-- caveat: pai.shifted\n-- resolves_caveat: pai.fractions", ["pai.shifted", "pai.tasks"]),
    ],
)
def test_a_query_resolves_inherited_caveats(lines: str, caveats: list[str], tmp_path: Path) -> None:
    header = read_header(f"{lines}\nselect", QUERY_KEYS, "here")
    assert of_query(header, {"pai.run_v1": {"gpus"}}, spread_caveats(tmp_path)) == caveats


def caveats_to_decide(view: ViewFile, relations: Mapping[str, Collection[str]]) -> set[str]:
    """Return the caveats of base tables that concern a column which a view reads."""
    read = columns_read(view.tree.expression, view.references, relations, view.path)
    return inherited_by_query(read, of_tables(all_traces().values()))


def test_each_caveat_of_what_a_view_reads_is_decided() -> None:
    """Its header says that a caveat remains or is resolved, or a table says that it is not concerned."""
    described = describe_views(view_files())
    current = [view for view in described.views if view.path.parent.name != OLD and view.status == RELEASED]
    to_decide, named = set(), set()
    for view in current:
        to_decide |= {(view.versioned, caveat) for caveat in caveats_to_decide(view, described.docs)}
        lines = [*read_lines(view.header, "caveat"), *read_lines(view.header, "resolves_caveat")]
        named |= {(view.versioned, caveat) for caveat, _ in lines}
    not_concerned = set()
    for path in sorted(VIEWS.glob("*/not_concerned.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                assert row["why"] and (row["view"], row["caveat"]) not in not_concerned, row
                assert row["view"].partition(".")[0] == path.parent.name, row
                not_concerned.add((row["view"], row["caveat"]))
    assert len(to_decide) > 400
    assert sorted(to_decide - named - not_concerned) == []
    assert sorted(not_concerned - to_decide) + sorted(not_concerned & named) == []


# Columns of views and queries, each with caveats that their readers see.
SEEN = {
    "genai.qps": {"timestamp_anon": {"clock_is_scaled"}, "container_ip": {"rows_without_container"}},
    "genai.queue_size": {"container_ip": {"rows_without_container"}},
    "genai.pipeline_inference": {"timestamp_anon": {"clock_is_scaled"}},
    "genai.stage_latency": {
        "time_s": {"clock_is_scaled"},
        "latency_ms": {"inference_longer_than_end_to_end"},
    },
    "genai.container_minute": {"hour_of_day": {"clock_is_scaled"}},
    "genai.model_predict": {"value": {"inference_longer_than_end_to_end"}},
    "genai.pod_memory_util": {"value": {"memory_is_a_fraction"}},
    "genai.data_trace_processed": {"exec_time_seconds": {"processed_is_undocumented"}},
    "genai.lora_request_trace": {"predict_type": {"requests_name_no_container"}},
    "philly.attempt_run": {"end_s": {"no_end_means_running"}},
    "philly.job_run": {
        "is_censored": {"no_end_means_running"},
        "run_s": {"run_includes_retries"},
        "wait_s": {"attempts_lack_times"},
    },
    "openb.pod_lifecycle": {"run_s": {"deletion_never_empty"}},
    "unified.jobs": {
        "is_right_censored": {"no_end_means_running"},
        "observed_run_s": {"deletion_never_empty", "times_are_cut_off"},
        "held_gpu_s": {"deletion_never_empty"},
    },
    "philly.attempt_utilization": {"mean_gpu_pct": {"hour_comes_twice"}},
    "philly.machine_inventory": {"listed_gpus": {"machine_list_disagrees"}},
}


def test_readers_of_a_column_see_its_caveats(sample_warehouse: Path) -> None:
    lacking = []
    with sandbox.connect(sample_warehouse) as connection:
        for relation, columns in SEEN.items():
            for column, caveats in columns.items():
                found = binding.bind_statement(connection, f"select {column} from {relation}").notes
                seen = {note.name.split(".")[-1] for note in found}
                lacking += [(relation, column, caveat) for caveat in caveats - seen]
        waits = binding.bind_statement(connection, "select wait_s from philly.job_run").notes
        ended = binding.bind_statement(connection, "select run_s, span_gpu_s from unified.jobs").notes
        load = binding.bind_statement(connection, "select held_gpus from philly.load_by_day()").notes
    assert lacking == []
    assert "philly.no_end_means_running" not in {note.name for note in waits}
    assert "openb.deletion_never_empty" not in {note.name for note in ended}
    assert "philly.no_end_means_running" in {note.name for note in load}


# Queries of the package, each with a caveat of a base table that its readers see and one that its SQL avoids.
OF_QUERIES = {
    "acme.published_summary": ("acme.summary_does_not_reproduce", ""),
    "asi.run_by_type": ("asi.spans_from_day_109", ""),
    "genai.requests_by_day": ("", "genai.request_clock_is_shifted"),
    "helios.vc_load": ("helios.gpus_change_daily", "helios.total_is_a_column"),
    "pai.machines": ("pai.misc_is_many_types", "pai.cpu_machines_in_spec"),
    "openb.sharing": ("openb.gpu_milli_is_per_gpu", "openb.cpu_classes_fragment"),
    "openb.use_by_day": ("openb.pods_are_not_all_load", "openb.times_from_first_pod"),
    "pai.tasks_by_gpu_type": ("pai.status_mix_drifts", "pai.plan_is_per_instance"),
    "zeus.epochs_by_target": ("zeus.target_never_reached", "zeus.train_has_no_gpu"),
}


def test_readers_of_a_query_see_the_caveats_of_base_tables(sample_warehouse: Path) -> None:
    with sandbox.connect(sample_warehouse) as connection:
        for query, (seen, avoided) in OF_QUERIES.items():
            names = {note.name for note in notes.of_object(connection, query)}
            assert (query, {seen} - {""} <= names, avoided in names) == (query, True, False)
