"""Properties of every object of a built database, with and without data."""

from functools import partial
from itertools import count
from pathlib import Path

import duckdb
import pytest
import raw_dumps
import suites
from killing import kill_in_child
from non_empty import non_empty

from tracehouse.definitions.lineage import PROVENANCES
from tracehouse.definitions.query_files import query_files
from tracehouse.definitions.view_files import newest, view_files
from tracehouse.engines.duckdb.write import database, template
from tracehouse.ingest.declare.trace import all_traces


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    path = raw_dumps.without_data(tmp_path_factory.mktemp("empty"))
    return duckdb.connect(str(path), read_only=True)


def column(connection: duckdb.DuckDBPyConnection, sql: str) -> list:
    return [row[0] for row in connection.execute(sql).fetchall()]


@suites.of("long")
def test_tables_views_and_queries_work_without_data(empty: duckdb.DuckDBPyConnection) -> None:
    names = column(empty, "select table_name from catalog.tables")
    assert len(names) == sum(len(trace.tables) for trace in all_traces().values())
    names += [view.versioned for view in view_files()]
    names += [f"{query.full_name}()" for query in query_files()]
    for name in names:
        empty.execute(f"from {name}").fetchall()
    assert set(column(empty, "select status from catalog.checks")) == {"no data"}


def test_an_empty_table_has_its_types(empty: duckdb.DuckDBPyConnection) -> None:
    for trace in non_empty(all_traces().values()):
        for table in non_empty(trace.tables):
            described = empty.execute(f"describe {trace.name}.{table.name}").fetchall()
            expected = [(c.name, c.type) for c in table.stored_columns]
            shorter = {"TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ"}
            assert [(row[0], shorter.get(row[1], row[1])) for row in described] == expected


def test_types_are_the_same_with_data(
    empty: duckdb.DuckDBPyConnection, synthetic: duckdb.DuckDBPyConnection
) -> None:
    sql = """
        select schema_name || '.' || table_name, column_name, data_type from duckdb_columns()
        where not internal order by all
    """
    assert empty.execute(sql).fetchall() == synthetic.execute(sql).fetchall()


# Each statement lists the objects that lack something.
LACKING = {
    "a comment": """
        select schema_name || '.' || view_name from duckdb_views()
        where not internal and comment is null and schema_name <> 'each_trace'
        union all
        select schema_name || '.' || table_name from duckdb_tables() where not internal and comment is null
        union all
        select schema_name || '.' || table_name || '.' || column_name
        from duckdb_columns() where not internal and comment is null and schema_name <> 'each_trace'
        union all
        select schema_name || '.' || function_name
        from duckdb_functions() where function_type = 'table_macro' and not internal and comment is null
        """,
    # The database of a Hive metastore refuses longer ones. Hive waits 20 s, and stores objects without them.
    "a short comment": """
        select column_name from duckdb_columns() where not internal and length(comment) > 256
        """,
    "a title, grain and source": "select view_name from catalog.views where '' in (title, grain, source)",
    "a title and description": "select query_name from catalog.queries where '' in (title, description)",
    "its title as a comment": """
        select views.versioned_name
        from catalog.views as views
        join duckdb_views() as objects
            on views.versioned_name = objects.schema_name || '.' || objects.view_name
        where views.title <> objects.comment and not contains(views.sql, 'comment on view ')
        """,
    # The columns of the catalog itself are described by comments only.
    "columns in the catalog": """
        with read as (select distinct unnest(reads) as name from catalog.queries)
        select name from read anti join catalog.columns as columns on read.name = columns.object_name
        where not starts_with(name, 'catalog.')
        """,
    "the same columns under both names": """
        select column_name from catalog.columns where object_name in ('itp.job', 'itp.job_v1')
        group by column_name, unit, provenance, meaning, lineage, caveats having count(*) <> 2
        """,
    "known origins": """
        with origins as (select unnest(lineage) as origin from catalog.columns),
        known as (
            select object_name || '.' || column_name as name from catalog.columns
            union all
            select schema_name || '.' || table_name || '.' || column_name from duckdb_columns()
            where schema_name = 'catalog'
        )
        select origin from origins anti join known on origins.origin = known.name
        """,
}


def test_every_object_is_documented(empty: duckdb.DuckDBPyConnection) -> None:
    lacking = {what: names for what, sql in LACKING.items() if (names := column(empty, sql))}
    assert lacking == {}


def test_every_column_has_a_provenance(empty: duckdb.DuckDBPyConnection) -> None:
    rows = empty.execute(
        "select object_name || '.' || column_name, provenance, lineage from catalog.columns"
    ).fetchall()
    assert len(rows) > 200
    assert [name for name, provenance, _ in rows if provenance not in PROVENANCES] == []
    # Constants, counts of rows and columns that a trace lacks have no lineage.
    views = {view.versioned for view in view_files() if view.references and view.name != "standard_job"}
    traced = [name for name, _, lineage in rows if name.rsplit(".", 1)[0] in views and lineage]
    in_views = [name for name, _, _ in rows if name.rsplit(".", 1)[0] in views]
    assert len(traced) > 0.89 * len(in_views)


def test_lineage_of_a_column(empty: duckdb.DuckDBPyConnection) -> None:
    (tightness,) = column(
        empty,
        "select lineage from catalog.columns where object_name = 'itp.job_v1' and column_name = 'tightness'",
    )
    assert tightness == [
        "itp.elasticflow_job.deadline",
        "itp.raw_job.duration",
        "itp.raw_job.submission_time",
    ]


def test_view_without_inputs_has_no_measured_column(empty: duckdb.DuckDBPyConnection) -> None:
    assumed = column(empty, "select versioned_name from catalog.views where len(reads) = 0")
    assert "itp.simulated_capacity_v1" in assumed
    synthetic = column(
        empty, "select distinct object_name from catalog.columns where provenance = 'synthetic'"
    )
    assert set(assumed) <= set(synthetic)


def test_catalog_has_the_parameters_of_every_macro(empty: duckdb.DuckDBPyConnection) -> None:
    known = empty.execute(
        """
        select query_name, parameter, type from catalog.query_parameters order by query_name, position
        """
    ).fetchall()
    real = empty.execute(
        """
        select
            schema_name || '.' || function_name as name,
            unnest(parameters) as parameter,
            unnest(parameter_types) as type,
            unnest(range(len(parameters))) as position
        from duckdb_functions()
        where function_type = 'table_macro' and not internal and schema_name <> 'stats'
        order by name, position
        """
    ).fetchall()
    assert known == [row[:3] for row in real]


def test_caveats_list_the_objects_that_they_affect(empty: duckdb.DuckDBPyConnection) -> None:
    (objects,) = column(empty, "select objects from catalog.caveats where caveat = 'itp.no_wait'")
    assert {"itp.raw_job", "itp.standard_job_v1", "unified.jobs_v2", "unified.traces"} <= set(objects)
    assert not {"itp.gpu_hours", "unified.size_cdf"} & set(objects)
    named = {line.partition(":")[0] for view in view_files() for line in view.header.all("caveat")}
    assert named <= set(column(empty, "select caveat from catalog.caveats"))


def test_alias_returns_rows_of_newest_version(real: duckdb.DuckDBPyConnection) -> None:
    for view in non_empty(newest(view_files()).values()):
        both = f"(from {view.versioned} except from {view.alias})"
        assert real.execute(f"select count(*) from {both}").fetchall()[0] == (0,)


def test_a_rejected_row_is_in_the_catalog(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "openb_node_list_gpu_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\na,1,2,3,T4\nb,1,2,many,T4\n" + "c,1,2,3,T4\n" * 8,
        encoding="utf-8",
    )
    database.ingest([raw], tmp_path / "warehouse", [], lambda *_: None)
    connection = duckdb.connect(str(tmp_path / "warehouse" / database.DATABASE), read_only=True)
    (row,) = connection.execute("from catalog.rejected_rows").fetchall()
    file = "openb_node_list_gpu_node.csv"
    assert row[:4] == ("openb.node", file, file, 3)
    assert "column gpu (BIGINT)" in row[4] and row[5] == "b,1,2,many,T4"
    assert connection.execute(
        "select rows_read, rows_kept, rows_rejected, synthetic from catalog.sources"
    ).fetchall() == [(10, 9, 1, False)]


def test_killed_copy_of_the_template_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process with a new template removes what a killed one left in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    created = tmp_path / "created.duckdb"
    created.write_text("template", encoding="utf-8")
    keep = partial(template._keep, created, "f" * 64)
    for step in count(1):
        if kill_in_child(keep, step, after=False) == 0:
            break
        keep()
        assert len(list((tmp_path / "cache" / "tracehouse").iterdir())) == 1
    assert step > 3
