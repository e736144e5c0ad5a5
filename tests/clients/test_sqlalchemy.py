"""Tests with SQLAlchemy, which BI tools and notebooks use."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from counting import non_empty

from tracehouse.engines.duckdb.write import database

TYPES = {
    "VARCHAR": sa.String,
    "BOOLEAN": sa.Boolean,
    "INTEGER": sa.Integer,
    "BIGINT": sa.BigInteger,
    "HUGEINT": sa.types.TypeEngine,
    "DOUBLE": sa.Double,
    "DATE": sa.Date,
    "TIMESTAMP": sa.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": sa.TIMESTAMP,
    "VARCHAR[]": sa.ARRAY,
}


@pytest.fixture(scope="module")
def engine(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    # A process can open a file with one configuration only, and other tests have opened the original.
    copied = shutil.copy(sample_warehouse / database.DATABASE, tmp_path_factory.mktemp("sqlalchemy"))
    engine = sa.create_engine(f"duckdb:///{copied}", connect_args={"read_only": True})
    yield engine
    engine.dispose()


@pytest.fixture
def inspector(engine: sa.Engine) -> sa.Inspector:
    return sa.inspect(engine)


def by_schema(names: list[str]) -> dict[str, set[str]]:
    schemas: dict[str, set[str]] = {}
    for full_name in names:
        schema, _, name = full_name.partition(".")
        schemas.setdefault(schema, set()).add(name)
    return schemas


def test_inspector_finds_schemas(inspector: sa.Inspector, objects: dict[str, list[str]]) -> None:
    found = [
        name.removeprefix("traces.") for name in inspector.get_schema_names() if name.startswith("traces.")
    ]
    assert set(found) == {"main"} | set(by_schema([name for names in objects.values() for name in names]))


def test_inspector_finds_views_and_tables(inspector: sa.Inspector, objects: dict[str, list[str]]) -> None:
    views = by_schema([*objects["views"], *objects["base tables"]])
    for schema, names in views.items():
        assert set(inspector.get_view_names(schema=schema)) == names
        assert inspector.get_table_names(schema=schema) == []
    found = inspector.get_table_names(schema="catalog") + inspector.get_view_names(schema="catalog")
    assert set(found) == by_schema(objects["catalog"])["catalog"]


def test_inspector_finds_columns_with_types_and_comments(
    inspector: sa.Inspector, sample_answers: dict
) -> None:
    for full_name, table in non_empty(sample_answers["tables"].items()):
        schema, _, name = full_name.partition(".")
        columns = inspector.get_columns(name, schema=schema)
        assert {column["name"]: column["comment"] for column in columns} == {
            name: comment for name, (_, comment) in table["columns"].items()
        }
        for column in columns:
            kind, _ = table["columns"][column["name"]]
            assert isinstance(column["type"], TYPES[kind]), f"{full_name}.{column['name']}: {kind}"
            assert not isinstance(column["type"], sa.types.NullType)
        assert inspector.get_table_comment(name, schema=schema) == {"text": table["comment"]}


def test_timestamps_have_time_zone(inspector: sa.Inspector) -> None:
    columns = {column["name"]: column["type"] for column in inspector.get_columns("jobs", schema="unified")}
    assert columns["submit_time"].timezone


def test_selects_from_reflected_view(engine: sa.Engine, sample_answers: dict) -> None:
    job = sa.Table("job", sa.MetaData(), schema="itp", autoload_with=engine)
    question = (
        sa.select(job.c.cluster, sa.func.count().label("jobs"), sa.func.sum(job.c.gpu_h).label("gpu_h"))
        .where(job.c.requested_gpus >= 2)
        .group_by(job.c.cluster)
        .order_by(job.c.cluster)
    )
    with engine.connect() as connection:
        by_view = [tuple(row) for row in connection.execute(question)]
        by_query = connection.execute(
            sa.text("select cluster, jobs, gpu_h from itp.gpu_hours(min_gpus := :gpus)"),
            {"gpus": 2},
        )
        assert by_view
        assert by_view == [(cluster, jobs, pytest.approx(gpu_h)) for cluster, jobs, gpu_h in by_query]


def test_named_query_is_data_set(engine: sa.Engine, sample_answers: dict) -> None:
    """BI tools wrap a data set in a select of their own."""
    for name, query in non_empty(sample_answers["queries"].items()):
        sql = f"select count(*) as rows from (from {name}()) as virtual_table limit 1001"
        with engine.connect() as connection:
            assert connection.execute(sa.text(sql)).scalar() == len(query["rows"])


def test_binds_parameter_of_named_query(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        rows = connection.execute(sa.text("from zeus.cheapest(eta := :eta)"), {"eta": 0.2}).mappings().all()
        same = connection.execute(sa.text("from zeus.cheapest(eta := 0.2)")).mappings().all()
    assert rows
    assert rows == same


def test_units_and_caveats_are_rows(engine: sa.Engine) -> None:
    """Programs read units and caveats from the catalog, not from comments."""
    with engine.connect() as connection:
        catalog = sa.Table("columns", sa.MetaData(), schema="catalog", autoload_with=engine)
        question = sa.select(catalog.c.unit, catalog.c.provenance).where(
            catalog.c.object_name == "pai.task_wait_v1", catalog.c.column_name == "wait_s"
        )
        assert connection.execute(question).all() == [("s", "derived")]


def test_rejects_writes(engine: sa.Engine) -> None:
    with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError, match="read-only"):
        connection.execute(sa.text("create table catalog.mine (i integer)"))
