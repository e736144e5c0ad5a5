"""Every view and named query gives the same rows on Spark and on DuckDB.

`make spark-test` compares them over samples, `make spark-cluster-test` over real files, too.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import goldens
import pyarrow as pa
import pytest
import sqlglot
import suites
from reference_results import requests
from sqlglot import exp

from tracehouse.engines.duckdb.write.database import DATABASE
from tracehouse.engines.spark.register import register, unsupported_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELATIVE = 1e-9
# A difference that is 0 in one engine may be a tiny number in the other.
ABSOLUTE = 1e-12

UNSUPPORTED = {"openb.fragmentation_of", "unified.duration_predictability"}
SUPPORTED = [
    statement.removeprefix("from ")
    for path in sorted(goldens.FOLDER.glob("*.txt"))
    for statement in goldens.statements(path.read_text(encoding="utf-8"))
    if path.stem != "catalog"
    and statement.removeprefix("from ").split("(")[0] not in UNSUPPORTED
    and not statement.startswith(goldens.ROUNDED)
]


@pytest.fixture(
    scope="module",
    params=["sample_warehouse", pytest.param("real_warehouse", marks=suites.of("cluster"))],
)
def both(
    request: pytest.FixtureRequest, spark: "SparkSession"
) -> "tuple[duckdb.DuckDBPyConnection, SparkSession]":
    """The connections of both engines to a warehouse."""
    warehouse = request.getfixturevalue(request.param)
    register(spark, warehouse)
    connection = duckdb.connect(str(warehouse / DATABASE), read_only=True)
    connection.execute("set timezone = 'UTC'")
    return connection, spark


@pytest.mark.parametrize("name", SUPPORTED)
def test_spark_and_duckdb_return_equal_rows(
    name: str,
    both: "tuple[duckdb.DuckDBPyConnection, SparkSession]",
) -> None:
    connection, spark = both
    assert difference(name, connection, spark) == ""


@suites.of("cluster")
def test_requests_of_real_files(requests_warehouse: Path, spark: "SparkSession") -> None:
    register(spark, requests_warehouse)
    with duckdb.connect(str(requests_warehouse / DATABASE), read_only=True) as connection:
        found = {name: difference(name, connection, spark) for name in requests.QUERIES}
    assert found == dict.fromkeys(requests.QUERIES, "")


def test_unsupported_queries_are_these() -> None:
    assert set(unsupported_queries()) == UNSUPPORTED


def difference(name: str, connection: duckdb.DuckDBPyConnection, spark: "SparkSession") -> str:
    """Return how the answers differ, or an empty text. The rows of a query are compared in their order."""
    theirs = connection.sql(f"from {name}").to_arrow_table()
    ours = spark.sql(f"select * from {in_spark(name)}").toArrow()
    if theirs.column_names != ours.column_names:
        return f"columns {ours.column_names}, not {theirs.column_names}"
    if theirs.num_rows != ours.num_rows:
        return f"{ours.num_rows} rows, not {theirs.num_rows}"
    in_order = "(" in name
    pairs = zip(rows(ours, in_order), rows(theirs, in_order), strict=True)
    differing = [(our, their) for our, their in pairs if not all(map(is_same, our, their))]
    return f"{len(differing)} rows, such as {differing[0]}" if differing else ""


def in_spark(name: str) -> str:
    """Return the call of a named query with its arguments in Spark's SQL."""
    if "(" not in name:
        return name
    function, _, _ = name.partition("(")
    call = sqlglot.parse_one(name.replace(function, "f"), dialect="duckdb")
    arguments = (
        f"{argument.this.name} => {argument.expression.sql('spark')}"
        if isinstance(argument, exp.PropertyEQ)
        else argument.sql("spark")
        for argument in call.expressions
    )
    return f"{function}({', '.join(arguments)})"


def rows(table: pa.Table, in_order: bool) -> list[tuple]:
    found = [tuple(row.values()) for row in table.to_pylist()]
    return found if in_order else sorted(found, key=lambda row: [sortable(value) for value in row])


def sortable(value: Any) -> tuple[bool, str]:
    """Return a sort key that ignores the last digits of floats."""
    return value is None, f"{value:.6g}" if isinstance(value, float) else repr(value)


def is_same(our: Any, their: Any) -> bool:
    if isinstance(our, float) and isinstance(their, float):
        both_nan = math.isnan(our) and math.isnan(their)
        return both_nan or math.isclose(our, their, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(our == their)
