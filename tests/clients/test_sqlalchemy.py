"""Tests with SQLAlchemy, which BI tools and notebooks use."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa

from tracehouse.engines.duckdb.write import database

TYPES = {
    "VARCHAR": sa.String,
    "BOOLEAN": sa.Boolean,
    "INTEGER": sa.Integer,
    "BIGINT": sa.BigInteger,
    "BIGINT[]": sa.ARRAY,
    "HUGEINT": sa.types.TypeEngine,
    "DOUBLE": sa.Double,
    "DATE": sa.Date,
    "TIMESTAMP": sa.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": sa.TIMESTAMP,
    "VARCHAR[]": sa.ARRAY,
}


@pytest.fixture(scope="module")
def engine(fixture_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    # A process can open a file with one configuration only, and other tests have opened the original.
    copied = shutil.copy(fixture_warehouse / database.DATABASE, tmp_path_factory.mktemp("sqlalchemy"))
    engine = sa.create_engine(f"duckdb:///{copied}", connect_args={"read_only": True})
    yield engine
    engine.dispose()


@pytest.fixture
def inspector(engine: sa.Engine) -> sa.Inspector:
    return sa.inspect(engine)


@pytest.fixture(scope="module")
def columns(fixture_warehouse: Path) -> list[tuple[str, str, str, str, str]]:
    """The schema, object, column, type and comment of every column, as DuckDB lists them."""
    with duckdb.connect(str(fixture_warehouse / database.DATABASE), read_only=True) as connection:
        return connection.execute(
            "select schema_name, table_name, column_name, data_type, comment from duckdb_columns()"
            " where not internal and schema_name <> 'main'"
        ).fetchall()


def test_inspector_finds_schemas_views_and_columns(
    inspector: sa.Inspector, columns: list[tuple[str, str, str, str, str]]
) -> None:
    found = {
        name.removeprefix("traces.") for name in inspector.get_schema_names() if name.startswith("traces.")
    }
    assert found >= {schema for schema, *_ in columns}
    for schema, name in sorted({(schema, name) for schema, name, *_ in columns}):
        expected = {column: (kind, text) for s, n, column, kind, text in columns if (s, n) == (schema, name)}
        names = inspector.get_view_names(schema=schema) + inspector.get_table_names(schema=schema)
        assert name in names
        for column in inspector.get_columns(name, schema=schema):
            kind, comment = expected.pop(column["name"])
            assert isinstance(column["type"], TYPES[kind]), f"{schema}.{name}.{column['name']}: {kind}"
            assert column["comment"] == comment
        assert expected == {}


def test_selects_from_a_reflected_view_and_a_named_query(engine: sa.Engine) -> None:
    job = sa.Table("job", sa.MetaData(), schema="itp", autoload_with=engine)
    of_view = (
        sa.select(job.c.cluster, sa.func.count().label("jobs"), sa.func.sum(job.c.gpu_h).label("gpu_h"))
        .where(job.c.requested_gpus >= 2)
        .group_by(job.c.cluster)
        .order_by(job.c.cluster)
    )
    # BI tools wrap a data set in a select of their own.
    of_query = "select * from (select cluster, jobs, gpu_h from itp.gpu_hours(min_gpus := :gpus)) as data_set"
    with engine.connect() as connection:
        by_view = [tuple(row) for row in connection.execute(of_view)]
        by_query = connection.execute(sa.text(of_query), {"gpus": 2})
        assert by_view == [(cluster, jobs, pytest.approx(gpu_h)) for cluster, jobs, gpu_h in by_query] != []


def test_rejects_writes(engine: sa.Engine) -> None:
    with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError, match="read-only"):
        connection.execute(sa.text("create table catalog.mine (i integer)"))
