"""Questions: named ones with typed parameters, and SQL that can only read."""

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
from tracehouse.engines.duckdb.read import answer, guard, provenance
from tracehouse.views.view_files import view_files


@pytest.fixture
def opened(sample_warehouse: Path) -> Iterator[DuckDBPyConnection]:
    with answer.connect(sample_warehouse) as connection:
        yield connection


def test_a_missing_database_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="traces ingest"):
        answer.connect(tmp_path)


def test_two_connections_do_not_meet(sample_warehouse: Path) -> None:
    with answer.connect(sample_warehouse) as first, answer.connect(sample_warehouse) as second:
        for connection in (first, second):
            assert connection.execute("select count(*) > 0 from itp.job").fetchall() == [(True,)]


def test_parameters_are_values_of_their_types(opened: DuckDBPyConnection) -> None:
    question = answer.named_question(opened, "openb.phases", {"in_variant": "cpu100", "gpu_only": "false"})
    assert question.values == {"in_variant": "cpu100", "gpu_only": False}
    assert answer.run(opened, question).read_all().num_rows > 0


@pytest.mark.parametrize(
    ("name", "parameters", "complaint"),
    [
        ("itp.gpu_hour", {}, r"no query is called itp\.gpu_hour\. Did you mean itp\.gpu_hours"),
        ("gpu_hours", {}, r"Did you mean itp\.gpu_hours"),
        (
            "itp.gpu_hours",
            {"mingpus": "1"},
            r"no parameter mingpus\. .*min_gpus INTEGER, default 1",
        ),
        ("itp.gpu_hours", {"min_gpus": "many"}, "min_gpus is of type INTEGER from 0 to 10000, not 'many'"),
        ("itp.gpu_hours", {"min_gpus": "1.5"}, "min_gpus is of type INTEGER from 0 to 10000, not '1.5'"),
        ("itp.gpu_hours", {"min_gpus": ""}, "min_gpus is of type INTEGER from 0 to 10000, not ''"),
        ("acme.states", {"on_cluster": "saturn"}, "on_cluster is seren or kalos, not 'saturn'"),
        ("zeus.cheapest", {"eta": "1.5"}, r"eta is of type DOUBLE from 0 to 1, not '1.5'.*eta .*\(0 to 1\)"),
        ("zeus.cheapest", {"eta": "-0.1"}, "eta is of type DOUBLE from 0 to 1, not '-0.1'"),
        ("zeus.cheapest", {"eta": "nan"}, "eta is of type DOUBLE from 0 to 1, not 'nan'"),
        ("zeus.cheapest", {"eta": "half"}, "eta is of type DOUBLE from 0 to 1, not 'half'"),
        ("acme.published_summary", {"x": "1"}, "no parameter x. It takes none"),
        ("pai.request_percentiles", {"at_pct": "101"}, "at_pct is of type DOUBLE from 0 to 100, not '101'"),
        ("itp.top_jobs", {"top_pct": "-5"}, "top_pct is of type DOUBLE from 0 to 100, not '-5'"),
        ("unified.user_concentration", {"top_pct": "inf"}, "top_pct is of type DOUBLE from 0 to 100"),
        ("itp.deadline_tightness", {"bin_width": "0"}, "bin_width is of type DOUBLE from 0.001 to 100"),
        ("pai.failures_over_time", {"in_parts": "1000000000"}, "in_parts is of type INTEGER from 1 to 10000"),
        ("acme.gpu_day", {"on_day": "2022-12-31"}, "on_day is of type DATE from 2023-01-01 to 2023-12-31"),
        ("acme.gpu_day", {"on_day": "infinity"}, "on_day is of type DATE from 2023-01-01"),
        (
            "acme.fleet_hour",
            {"from_time": "0001-01-01"},
            "from_time is of type TIMESTAMP WITH TIME ZONE from",
        ),
        ("acme.gpu_day", {"on_gpu": "8"}, r"on_gpu is of type BIGINT from 0 to 7, not '8'.*\(0 to 7\)"),
        (
            "openb.phases",
            {"in_variant": "defualt"},
            r"in_variant is 'defualt', which openb\.pod\.variant does not have\. Did you mean default\?",
        ),
        (
            "acme.gpu_day",
            {"on_node": "172.31.999.9"},
            "on_node is '172.31.999.9', which acme.gpu_metric.node",
        ),
    ],
)
def test_wrong_names_and_values_say_what_is_right(
    opened: DuckDBPyConnection, name: str, parameters: dict[str, str], complaint: str
) -> None:
    with pytest.raises(UsageError, match=f"(?s){complaint}"):
        answer.named_question(opened, name, parameters)


@pytest.mark.parametrize("eta", [0, 1])
def test_the_ends_of_a_range_are_in_it(opened: DuckDBPyConnection, eta: int) -> None:
    assert answer.named_question(opened, "zeus.cheapest", {"eta": str(eta)}).values == {"eta": eta}


def test_a_value_cannot_become_sql(opened: DuckDBPyConnection) -> None:
    question = answer.named_question(opened, "acme.gpu_day", {"on_node": "172.31.0.2"})
    hostile = replace(question, values={"on_node": "x' or '1'='1"})
    assert answer.run(opened, hostile).read_all().num_rows == 0
    with pytest.raises(UsageError, match="does not have"):
        answer.named_question(opened, "openb.phases", {"in_variant": "x' or '1'='1"})


def test_without_data_any_value_will_do(tmp_path: Path) -> None:
    raw_dumps.without_data(tmp_path)
    with answer.connect(tmp_path) as connection:
        question = answer.named_question(connection, "openb.phases", {"in_variant": "defualt"})
        assert answer.run(connection, question).read_all().num_rows == 0


def test_a_day_in_its_range_is_taken(opened: DuckDBPyConnection) -> None:
    for day in ("2023-01-01", "2023-12-31"):
        question = answer.named_question(opened, "acme.gpu_day", {"on_day": day})
        assert question.values == {"on_day": date.fromisoformat(day)}


@pytest.mark.parametrize(
    "sql",
    [
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
    ],
)
def test_what_reads_is_run(opened, sql: str) -> None:
    question = answer.sql_question(opened, sql)
    if question.explain:
        assert answer.plan(opened, question)
    else:
        assert answer.run(opened, question).read_all().num_rows > 0


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{folder}/out.csv'",
        "copy (select 1) to '{parquet}/out.csv'",
        "explain analyze copy (select 1) to '{parquet}/out.csv'",
        "explain (analyze) copy (select 1) to '{parquet}/out.csv'",
        "explain/**/analyze/**/copy (select 1) to '{parquet}/out.csv'",
        "attach '{folder}/other.duckdb'",
        "export database '{folder}/all'",
        "create table t as select 1",
        "create temp table t as select 1",
        "insert into catalog.traces select * from catalog.traces",
        "drop view itp.job",
        "set enable_external_access = true",
        "install httpfs",
        "pragma enable_profiling = 'json'",
        "select 1; select 2",
        "",
        "selec 1",
    ],
)
def test_what_does_more_is_refused(
    opened: DuckDBPyConnection, sample_warehouse: Path, tmp_path: Path, sql: str
) -> None:
    parquet = sample_warehouse / "parquet"
    before = sorted(parquet.rglob("*"))
    with pytest.raises(UserError):
        answer.sql_question(opened, sql.format(folder=tmp_path, parquet=parquet))
    assert list(tmp_path.iterdir()) == []
    assert sorted(parquet.rglob("*")) == before


@pytest.mark.parametrize("sql", ["from read_csv('/etc/passwd')", "from glob('/*')", "select write_log('x')"])
def test_functions_that_do_more_than_read_the_warehouse_are_refused(
    opened: DuckDBPyConnection, sql: str
) -> None:
    with pytest.raises(UserError, match="cannot be used here"):
        answer.sql_question(opened, sql)


@pytest.mark.parametrize("sql", ["from '/etc/passwd'", "from read_parquet('/etc/hostname')"])
def test_other_files_cannot_be_read(opened: DuckDBPyConnection, sql: str) -> None:
    with pytest.raises(UserError, match=r"Permission|does not exist"):
        answer.run(opened, answer.sql_question(opened, sql)).read_all()


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("select '\udcff'", "not UTF-8"),
        ("select '\0'", "zero byte"),
        ("pivot openb.pod on qos using count(*)", "a pivot needs its values"),
        ("explain (colours) select 1", "explain"),
        ("select " + "(" * 900 + "1" + ")" * 900 + " + 1" * 1200, "deep|depth"),
    ],
)
def test_what_is_no_statement_says_why(opened: DuckDBPyConnection, sql: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        answer.sql_question(opened, sql)


def test_what_is_asked_without_a_limit_takes_half_of_the_memory(opened: DuckDBPyConnection) -> None:
    [(limit,)] = opened.execute("select current_setting('memory_limit')").fetchall()
    [(own,)] = duckdb.connect().execute("select current_setting('memory_limit')").fetchall()
    (amount, unit), (own_amount, own_unit) = limit.split(), own.split()
    assert unit == own_unit and float(amount) == pytest.approx(float(own_amount) * 5 / 8, rel=0.02)


def test_what_does_not_fit_memory_never_goes_to_the_current_folder(opened: DuckDBPyConnection) -> None:
    [(folder,)] = opened.execute("select current_setting('temp_directory')").fetchall()
    assert Path(folder).is_absolute() and Path(folder).parent == Path(tempfile.gettempdir())


def test_notes_name_caveats_and_synthetic_data(opened: DuckDBPyConnection) -> None:
    notes = {note.name: note.text for note in answer.notes(opened, "itp.deadline_tightness")}
    assert set(notes) == {"itp.deadline_synthetic", "itp.min_duration_600", "synthetic data"}
    assert "itp.elasticflow_job, itp.raw_job" in notes["synthetic data"]


@pytest.mark.parametrize(
    ("sql", "may_read"),
    [
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
    ],
)
def test_what_a_statement_does_not_name_needs_no_parser(
    sql: str, may_read: set[str] | None, opened: DuckDBPyConnection
) -> None:
    question = answer.sql_question(opened, sql)
    assert question.columns == may_read
    by_parser = provenance.notes_on_statement(opened, sql, question.reads)
    assert provenance.notes_on_statement(opened, sql, question.reads, question.columns) == by_parser


def test_usual_functions_do_nothing_but_compute_a_value(opened: DuckDBPyConnection) -> None:
    rows = opened.execute(
        """
        select function_name from duckdb_functions()
        where stability = 'VOLATILE' or has_side_effects
            or function_type not in ('scalar', 'aggregate', 'macro')
        """
    ).fetchall()
    assert guard.USUAL_FUNCTIONS & {name for (name,) in rows} == set()


def test_notes_of_measured_data_name_no_generator(real_warehouse: Path) -> None:
    with answer.connect(real_warehouse) as connection:
        assert "synthetic data" not in {note.name for note in answer.notes(connection, "itp.gpu_hours")}


def test_caveats_are_those_of_the_traces_in_the_answer(opened: DuckDBPyConnection) -> None:
    question = answer.named_question(opened, "unified.hour_profile", {})
    rows = answer.run(opened, question).read_all()
    at_hand, notes = answer.answered(opened, question)
    assert answer.run(opened, at_hand).read_all() == rows
    assert set(rows["trace"].to_pylist()) == {"acme", "helios", "pai"}
    # What is wrong with Helios's times leaves their hours right.
    assert {note.name.split(".")[0] for note in notes} == {"acme", "pai", "synthetic data"}
    assert "itp." not in notes[-1].text


def test_notes_name_what_is_not_in_the_warehouse(tmp_path: Path, real_warehouse: Path) -> None:
    def of(warehouse: Path, name: str) -> dict[str, str]:
        with answer.connect(warehouse) as connection:
            _, notes = answer.answered(connection, answer.named_question(connection, name, {}))
        return {note.name: note.text for note in notes}

    nothing = "nothing of it is in the warehouse"
    assert "no data" not in of(real_warehouse, "itp.gpu_hours")
    # Nobody has the telemetry: it is 80 GB.
    assert of(real_warehouse, "acme.gpu_day")["no data"] == f"acme: {nothing}"
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "openb_node_list_all_node.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,1,2,1,T4\n")
    with raw_dumps.ingested(raw, tmp_path / "warehouse"):
        pass
    assert of(tmp_path / "warehouse", "openb.fragmentation_share")["no data"] == f"openb.pod: {nothing}"
    everything = ", ".join(sorted(view.schema for view in view_files() if view.name == "standard_job"))
    assert of(tmp_path / "warehouse", "unified.hour_profile")["no data"] == f"{everything}: {nothing}"
