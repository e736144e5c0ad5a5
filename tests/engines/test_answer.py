"""Tests of binding and running queries."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import pytest
import raw_dumps
from duckdb import DuckDBPyConnection

from tracehouse.core.errors import UsageError, UserError
from tracehouse.definitions.view_files import view_files
from tracehouse.engines.duckdb.read import answer, binding, catalog, guard, notes, sandbox
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.publish.site import contract


@pytest.fixture
def opened(sample_warehouse: Path) -> Iterator[DuckDBPyConnection]:
    with sandbox.connect(sample_warehouse) as connection:
        yield connection


def test_missing_database_names_ingest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="traces ingest"):
        sandbox.connect(tmp_path)


def test_missing_name_in_an_older_database_advises_to_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_other_version", lambda warehouse: "0.2.0")
    missing = duckdb.BinderException('Referenced column "is_current" not found')
    error = sandbox._as_user_error(missing, tmp_path, tmp_path, sandbox.Limits())
    assert str(error).startswith("Tracehouse 0.2.0 built this database") and "`traces build`" in str(error)


def test_connections_are_independent(sample_warehouse: Path) -> None:
    with sandbox.connect(sample_warehouse) as first, sandbox.connect(sample_warehouse) as second:
        for connection in (first, second):
            assert connection.execute("select count(*) > 0 from itp.job").fetchall() == [(True,)]


def test_parameters_have_declared_types(opened: DuckDBPyConnection) -> None:
    query = binding.bind_query(opened, "openb.phases", {"in_variant": "cpu100", "gpu_only": "false"})
    assert query.values == {"in_variant": "cpu100", "gpu_only": False}
    assert answer.read(opened, query).read_all().num_rows > 0


REJECTED_PARAMETERS = [
    ("itp.gpu_hour", {}, r"No query, view or table named \"itp\.gpu_hour\"\. Close matches: itp\.gpu_hours"),
    ("gpu_hours", {}, r"Close matches: itp\.gpu_hours"),
    ("itp.gpu_hours", {"mingpus": "1"}, r"no parameter mingpus\. .*min_gpus INTEGER, default 1"),
    ("acme.published_summary", {"x": "1"}, "no parameter x. It has no parameters"),
    *(
        (
            "itp.gpu_hours",
            {"min_gpus": text},
            f"min_gpus must be of type INTEGER from 0 to 10000, not '{text}'",
        )
        for text in ("many", "1.5", "")
    ),
    ("acme.states", {"on_cluster": "saturn"}, "on_cluster must be seren or kalos, not 'saturn'"),
    ("zeus.cheapest", {"eta": "1.5"}, "not '1.5'. Its default is 0.5; its meaning: weight"),
    *(
        ("zeus.cheapest", {"eta": text}, f"eta must be of type DOUBLE from 0 to 1, not '{text}'")
        for text in ("-0.1", "nan", "inf", "half")
    ),
    *(
        ("acme.gpu_day", {"on_day": text}, "on_day must be of type DATE from 2023-01-01 to 2023-12-31")
        for text in ("2022-12-31", "infinity")
    ),
    (
        "acme.fleet_hour",
        {"from_time": "0001-01-01"},
        "from_time must be of type TIMESTAMP WITH TIME",
    ),
    (
        "openb.phases",
        {"in_variant": "defualt"},
        r"in_variant: 'defualt' does not occur in openb\.pod\.variant\. Close matches: default\.",
    ),
]


def test_rejects_unknown_names_and_invalid_values(opened: DuckDBPyConnection) -> None:
    for name, parameters, complaint in REJECTED_PARAMETERS:
        with pytest.raises(UsageError, match=f"(?s){complaint}"):
            binding.bind_query(opened, name, parameters)


def test_range_includes_its_ends(opened: DuckDBPyConnection) -> None:
    for eta in (0, 1):
        assert binding.bind_query(opened, "zeus.cheapest", {"eta": str(eta)}).values == {"eta": eta}
    for day in ("2023-01-01", "2023-12-31"):
        query = binding.bind_query(opened, "acme.gpu_day", {"on_day": day})
        assert query.values == {"on_day": date.fromisoformat(day)}


def test_values_are_not_sql(opened: DuckDBPyConnection) -> None:
    query = binding.bind_query(opened, "acme.gpu_day", {"on_node": "172.31.0.2"})
    hostile = replace(query, values={"on_node": "x' or '1'='1"})
    assert answer.read(opened, hostile).read_all().num_rows == 0
    with pytest.raises(UsageError, match="does not occur"):
        binding.bind_query(opened, "openb.phases", {"in_variant": "x' or '1'='1"})


def test_accepts_any_value_without_data(tmp_path: Path) -> None:
    raw_dumps.without_data(tmp_path)
    with sandbox.connect(tmp_path) as connection:
        query = binding.bind_query(connection, "openb.phases", {"in_variant": "defualt"})
        assert answer.read(connection, query).read_all().num_rows == 0


READING_STATEMENTS = [
    "select 1",
    "from itp.job limit 1",
    "with a as (select 1 as x) from a",
    "describe itp.job",
    "summarize itp.raw_job",
    "show all tables",
    "values (1)",
    "  -- a comment\n select 1;",
    "explain select 1",
    "explain (select count(*) from itp.job)",
    "explain analyze from itp.job",
    "/* c */ explain (format json) select 1",
]


def test_runs_reading_statements(opened: DuckDBPyConnection) -> None:
    for sql in READING_STATEMENTS:
        query = binding.bind_statement(opened, sql)
        if query.explain:
            assert answer.plan(opened, query), sql
        else:
            assert answer.read(opened, query).read_all().num_rows > 0, sql


INVALID_STATEMENTS = [
    ("select '\udcff'", "not valid UTF-8"),
    ("select '\0'", "zero byte"),
    ("pivot openb.pod on qos using count(*)", "PIVOT needs a list of values"),
    ("explain (colours) select 1", "explain"),
    ("select " + "(" * 900 + "1" + ")" * 900 + " + 1" * 1200, "deep|depth"),
]


def test_invalid_statement_gets_clear_error(opened: DuckDBPyConnection) -> None:
    for sql, complaint in INVALID_STATEMENTS:
        with pytest.raises(UserError, match=complaint):
            binding.bind_statement(opened, sql)


def test_default_memory_limit_is_half(opened: DuckDBPyConnection) -> None:
    [(limit,)] = opened.execute("select current_setting('memory_limit')").fetchall()
    [(own,)] = duckdb.connect().execute("select current_setting('memory_limit')").fetchall()
    (amount, unit), (own_amount, own_unit) = limit.split(), own.split()
    # DuckDB's default is 0.8 of the memory. Its buffers get 0.9 of our limit, other data gets 0.1.
    assert unit == own_unit and float(amount) == pytest.approx(float(own_amount) * 0.5 / 0.8 * 0.9, rel=0.02)


def test_does_not_spill_to_current_folder(opened: DuckDBPyConnection) -> None:
    [(folder,)] = opened.execute("select current_setting('temp_directory')").fetchall()
    assert Path(folder).is_absolute() and Path(folder).parent == Path(tempfile.gettempdir())


def test_notes_list_caveats_and_synthetic_data(opened: DuckDBPyConnection) -> None:
    found = {note.name: note.text for note in notes.of_object(opened, "itp.deadline_tightness")}
    assert {"itp.deadline_synthetic", "itp.no_wait", "synthetic data"} <= set(found)
    assert "itp.elasticflow_job, itp.raw_job" in found["synthetic data"]


COLUMNS_READ = [
    ("select count(*), 1.5::double from itp.job", set()),
    ("select cluster, count(*) from itp.job group by all", {"cluster"}),
    ("select CLUSTER, max(tightness) from itp.job j group by 1", {"cluster", "tightness"}),
    ("select count(*) from itp.job as a join itp.job as b using (job_id)", {"job_id"}),
    ("select count(*) from (select t.run_s from itp.job as t)", {"t", "run_s"}),
    ("with x as (select run_s as y from itp.job) select max(y) from x", {"run_s", "y"}),
    ("select x from itp.job as t(x)", None),
    ("select j from itp.job as j", None),
    ("select count(job) from itp.job", None),
    ("select count(*) from itp.job as a natural join itp.raw_job", None),
    ("select #1 from itp.job", None),
    ("from itp.job", None),
    ("select columns('tight.*') from itp.job", None),
    ("select max(i) from itp.job, range(3) r(i)", None),
    ("pivot itp.job on cluster in ('cluster01') using count(*)", None),
    ("summarize itp.job", None),
    ("select count(*) from itp.gpu_hours()", None),
]


def test_columns_that_a_statement_may_read(opened: DuckDBPyConnection) -> None:
    for sql, may_read in COLUMNS_READ:
        statement = guard.reading_statement(opened, sql)
        assert statement.columns == may_read, sql


def test_notes_on_statement_are_of_the_columns_that_it_reads(opened: DuckDBPyConnection) -> None:
    for sql, caveats in (
        ("select count(*) from itp.job", set()),
        ("select RUN_S from itp.job", {"itp.min_duration_600"}),
        ("select run_s, TIGHTNESS from itp.job", {"itp.deadline_synthetic", "itp.min_duration_600"}),
    ):
        found = {note.name for note in binding.bind_statement(opened, sql).notes}
        assert found == {*caveats, "synthetic data"}, sql
    every = {note.name for note in binding.bind_statement(opened, "from itp.job").notes}
    assert {"itp.deadline_synthetic", "itp.min_duration_600", "itp.no_wait"} <= every


SELECTED_TRACES = [
    ("select count(*) from unified.jobs where trace = 'itp'", {"itp"}),
    ("select 1 from unified.jobs j where run_s > 0 and j.TRACE in ('itp', 'pai')", {"itp", "pai"}),
    ("select 1 from unified.wait_cdf('openb') where trace <> ''", {"openb"}),
    ("from unified.arrival_series(in_trace := 'spot')", {"spot"}),
    (
        "with a as (select 1 from unified.jobs where trace = 'pai') "
        "select 1 from a union all "
        "select 1 from unified.jobs join itp.job using (job_id) where 'itp' = trace",
        {"itp", "pai"},
    ),
    ("select 1 from unified.jobs where trace = 'itp' or run_s > 0", None),
    ("select 1 from unified.jobs where trace > 'itp'", None),
    ("select 1 from unified.jobs where cluster = 'itp'", None),
    ("select 1 from (from unified.jobs) where trace = 'itp'", None),
    (
        "select 1 from unified.jobs where trace = 'pai' and job_id in (select job_id from unified.jobs)",
        None,
    ),
    ("select 1 from unified.wait_cdf() where percentile = 50", None),
    ("select 1 from unified.wait_cdf(sampled_by := 'user')", None),
    ("select 1 from unified.wait_cdf(sampled_by := 'user') where trace = 'itp'", {"itp"}),
    ("select 1 from unified.run_cdf(in_trace := 'itp', min_run_s := 600)", {"itp"}),
    ("select 1 from unified.run_cdf(in_trace := 'itp, openb,no trace')", {"itp", "openb"}),
    ("select 1 from unified.jobs where trace = 'no trace'", set()),
    ("select 1 from unified.jobs where trace = lower('ITP')", None),
    ("select 1 from unified.jobs where trace in ('itp', lower('PAI'))", None),
    ("select 1 from itp.job where cluster = 'itp'", None),
]


def test_view_with_a_query_of_a_similar_name_says_so(opened: DuckDBPyConnection) -> None:
    notes_ = {name: binding.bind_query(opened, name, {}).notes for name in ("openb.phase", "itp.job")}
    text = "openb.phase is a view; openb.phases is a named query"
    assert notes_ == {"openb.phase": [Note("view", text, "note")], "itp.job": []}


def test_filters_select_traces(opened: DuckDBPyConnection) -> None:
    for sql, traces in SELECTED_TRACES:
        found = binding.bind_statement(opened, sql).traces
        assert found == (None if traces is None else sorted(traces)), sql


@pytest.mark.parametrize(
    "condition",
    ["trace <> 'dlrm'", "trace not in ('dlrm')", "not trace = 'dlrm'", "trace != 'dlrm' and run_s > 0"],
)
def test_filters_exclude_traces(opened: DuckDBPyConnection, condition: str) -> None:
    known = {trace for (trace,) in opened.execute("select trace from catalog.traces").fetchall()}
    found = binding.bind_statement(opened, f"select trace from unified.jobs where {condition}").traces
    assert found == sorted(known - {"dlrm"})


def test_order_by_all_reads_no_other_column(opened: DuckDBPyConnection) -> None:
    sql = "select trace, median(run_s) from unified.jobs where trace = 'itp' group by trace"
    notes_ = [binding.bind_statement(opened, sql + end).notes for end in ("", " order by all")]
    assert notes_[0] == notes_[1] != []


def test_empty_answer_names_an_unknown_trace(opened: DuckDBPyConnection) -> None:
    query = binding.bind_statement(opened, "select trace from unified.jobs where trace = 'openbb'")
    assert "trace" in answer.why_empty(answer.Answer(opened, query))[0].text
    assert query.notes == []


def test_numbers_in_the_sql_of_a_view_have_caveats(opened: DuckDBPyConnection) -> None:
    """The sizes of ITP's clusters are simulated, and no table has them."""
    statement = "select trace, sum(gpus) from unified.capacity group by trace"
    found = [note.name for note in binding.bind_statement(opened, statement).notes]
    assert "itp.capacity_not_published" in found


def test_notes_on_statement_are_of_selected_traces(opened: DuckDBPyConnection) -> None:
    sql = "select max(wait_s), max(submit_s) from unified.jobs where trace = 'pai'"
    found = binding.bind_statement(opened, sql).notes
    assert {note.name.partition(".")[0] for note in found} == {"pai", "synthetic data"}


def test_empty_answer_names_caveats_of_the_selected_trace(opened: DuckDBPyConnection) -> None:
    found = answer.run(opened, binding.bind_query(opened, "unified.wait_cdf", {"in_trace": "itp"}))
    [reason] = answer.why_empty(found)
    assert "itp.raw_job" in reason.text and "pai" not in reason.text
    lines = notes.summarize([*found.notes, reason])
    assert "The trace records no start times, so waits are unknown." in lines


def test_common_functions_have_no_side_effects(opened: DuckDBPyConnection) -> None:
    rows = opened.execute(
        """
        select function_name from duckdb_functions()
        where stability = 'VOLATILE' or has_side_effects
            or function_type not in ('scalar', 'aggregate', 'macro')
        """
    ).fetchall()
    assert guard.USUAL_FUNCTIONS & {name for (name,) in rows} == set()


def test_measured_data_is_not_called_synthetic(real_warehouse: Path) -> None:
    with sandbox.connect(real_warehouse) as connection:
        assert "synthetic data" not in {note.name for note in notes.of_object(connection, "itp.gpu_hours")}


def test_caveats_are_of_traces_in_answer(opened: DuckDBPyConnection) -> None:
    query = binding.bind_query(opened, "unified.hour_profile", {})
    rows = answer.read(opened, query).read_all()
    found = answer.run(opened, query)
    assert answer.read(opened, found.query).read_all() == rows
    assert set(rows["trace"].to_pylist()) == {"acme", "helios", "pai"}
    # The caveats on times of Helios do not affect hours of the day.
    names = {note.name.split(".")[0] for note in found.notes}
    assert names == {"acme", "pai", "synthetic data", "not counted"}
    [synthetic] = [note.text for note in found.notes if note.name == "synthetic data"]
    assert "itp." not in synthetic


def test_empty_answer_has_caveats_of_loaded_traces_only(real_warehouse: Path) -> None:
    """No loaded trace records the hour of day. The query also reads traces that are not loaded."""
    with sandbox.connect(real_warehouse) as connection:
        found = answer.run(connection, binding.bind_query(connection, "unified.hour_profile", {}))
        assert answer.read(connection, found.query).read_all().num_rows == 0
        loaded = {trace for (trace,) in connection.execute("select trace from unified.jobs").fetchall()}
    caveats = {note.name.split(".")[0] for note in found.notes if note.word == "caveat" and "." in note.name}
    assert caveats and caveats <= loaded


def test_query_needs_the_trace_that_it_reads_itself(real_warehouse: Path) -> None:
    """It compares Acme's own summary with all traces, and Acme's jobs are not loaded."""
    with sandbox.connect(real_warehouse) as connection:
        empty = catalog.queries_without_data(connection)
        listed = {one["name"]: one["has_chart"] for one in contract.list_objects(connection)["objects"]}
    assert "unified.summary_against_published" in empty and "unified.traces" not in empty
    assert listed["unified.run_cdf"] and not any(listed[name] for name in empty)


def test_caveat_on_some_raw_files_needs_one_of_them(tmp_path: Path) -> None:
    pods = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
        "scheduled_time\np,1000,1024,1,1000,,LS,Running,0,9,1\n"
    )
    raw = tmp_path / "raw"
    raw.mkdir()
    for name, is_listed in (("default", False), ("gpushare40", True)):
        (raw / f"openb_pod_list_{name}.csv").write_text(pods, encoding="utf-8")
        with raw_dumps.ingested(raw, tmp_path / "warehouse") as opened:
            found = {note.name for note in notes.of_object(opened, "openb.waits")}
        assert ("openb.variants_are_resampled" in found) is is_listed


def test_summary_has_names_of_all_caveats_in_a_line_and_sentences_of_serious_ones() -> None:
    serious = Note("a.grave", "All of it.", severity="wrong result", summary="In short.")
    other = Note("b.grave", "All of that.", severity="wrong result", summary="Briefly.")
    minor = Note("a.minor", "All of this.", severity="background", summary="Small.")
    synthetic = Note("synthetic data", "These numbers come from synthetic data (a.job).", "note")
    assert notes.summarize([minor, serious, synthetic], "; more") == [
        "note: These numbers come from synthetic data (a.job).",
        "2 caveats: a.grave (!), a.minor; more",
        "(!) In short.",
    ]
    assert notes.summarize([serious, other])[1:] == ["(!) a: In short.", "(!) b: Briefly."]
    assert len(notes.summarize([serious] * 5)) == 1 + notes.MOST_SENTENCES
    # The traces take turns, and each has a sentence.
    assert notes.summarize([serious, serious, serious, other])[1:3] == ["(!) a: In short.", "(!) b: Briefly."]
    several = [Note(f"{trace}.grave", "", severity="wrong result", summary=trace) for trace in "abcde"]
    assert notes.summarize([*several, *several])[1:] == [f"(!) {trace}: {trace}" for trace in "abcde"]
    assert notes.summarize([minor, minor]) == ["2 caveats: a.minor, a.minor"]
    assert notes.summarize([minor] * 9, "; more", width=40) == ["9 caveats: a.minor, a.minor, …; more"]
    assert notes.summarize([*several, minor])[0] == "6 caveats, 5 (!): a 2, b 1, c 1, d 1, e 1"
    assert notes.summarize([]) == []


def test_notes_list_missing_data(tmp_path: Path, real_warehouse: Path) -> None:
    def of(warehouse: Path, name: str) -> dict[str, str]:
        with sandbox.connect(warehouse) as connection:
            found = answer.run(connection, binding.bind_query(connection, name, {}))
        return {note.name: note.text for note in found.notes}

    nothing = "not in this warehouse"
    assert "no data" not in of(real_warehouse, "itp.gpu_hours")
    # The real warehouse has no telemetry, which is 80 GB.
    assert of(real_warehouse, "acme.gpu_day")["no data"] == f"{nothing}: acme"
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "openb_node_list_all_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn1,1,2,1,T4\n", encoding="utf-8"
    )
    with raw_dumps.ingested(raw, tmp_path / "warehouse"):
        pass
    assert of(tmp_path / "warehouse", "openb.fragmentation_share")["no data"] == f"{nothing}: openb.pod"
    everything = ", ".join(sorted({view.schema for view in view_files() if view.name == "standard_job"}))
    assert of(tmp_path / "warehouse", "unified.hour_profile")["not counted"] == f"{everything} ({nothing})"
