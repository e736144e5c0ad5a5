"""Run one query on Spark for the command line: start Spark, register the query's tables, and stop Spark.

DuckDB binds names and parameters, and finds the caveats in the warehouse's catalog. Spark computes the rows.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tracehouse.engines.duckdb.read import binding, notes, sandbox
from tracehouse.engines.duckdb.read.binding import Bind, BoundQuery
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.spark import guard, session
from tracehouse.engines.spark.guard import Statement
from tracehouse.engines.spark.register import register

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

T = TypeVar("T")


def run_query(
    warehouse: Path,
    master: str,
    limits: Limits,
    name: str,
    texts: Mapping[str, str],
    limit: int | None,
    with_total: bool,
    explain: bool,
    for_chart: bool,
) -> Bind:
    """Run a named query, or read the rows of a view; the parameters are as in `binding.bind_query`.

    Returns a function that binds the rows, or with `explain` the query plan, in DuckDB. Raises UsageError for
    an unknown name or parameter, and for an invalid value.
    """
    bind = partial(binding.bind_query, name=name, texts=texts, with_total=with_total, for_chart=for_chart)
    query = sandbox.run(warehouse, limits, bind)
    statement = guard.build_call(name, query.values, _with_one_more(limit, explain))
    found = _in_session(master, limits, lambda spark: _compute(spark, warehouse, statement, explain))
    if isinstance(found, str):
        return lambda _: BoundQuery("", plan=found)
    return partial(binding.bind_rows, rows=found, name=query.name, given=query.given, limit=limit)


def run_statement(
    warehouse: Path, master: str, limits: Limits, text: str, limit: int | None, explain: bool
) -> Bind:
    """Run a statement in Spark's SQL, with at most `limit` rows.

    Returns a function that binds the rows, or with `explain` the query plan, in DuckDB.
    """

    def work(spark: "SparkSession") -> "tuple[pa.Table | str, frozenset[str]]":
        statement = guard.add_limit(guard.check_statement(spark, text), _with_one_more(limit, explain))
        return _compute(spark, warehouse, statement, explain), statement.reads

    found, reads = _in_session(master, limits, work)
    if isinstance(found, str):
        return lambda _: BoundQuery("", plan=found)
    return partial(_bind_statement_rows, rows=found, text=text, reads=reads, limit=limit)


def _bind_statement_rows(
    connection: "DuckDBPyConnection", rows: "pa.Table", text: str, reads: frozenset[str], limit: int | None
) -> BoundQuery:
    found = notes.of_statement(connection, text, reads)
    return binding.bind_rows(connection, rows, limit=limit, notes=found)


def _with_one_more(limit: int | None, explain: bool) -> int | None:
    """Return the limit for Spark: one row more, to see whether the user's limit omits rows."""
    return limit if limit is None or explain else limit + 1


def _compute(spark: "SparkSession", warehouse: Path, statement: Statement, explain: bool) -> "pa.Table | str":
    """Return the rows of a statement, or its query plan as text."""
    register(spark, warehouse, statement.reads)
    if explain:
        return "\n".join(text for (text,) in spark.sql(f"explain formatted {statement.sql}").collect())
    return spark.sql(statement.sql).toArrow()


def _in_session(master: str, limits: Limits, work: "Callable[[SparkSession], T]") -> T:
    with sandbox.scratch_folder() as scratch:

        def run() -> T:
            settings = {"spark.driver.memory": _driver_memory(limits.memory)}
            with session.open_session(master, scratch, settings) as spark, session.explain_errors():
                return work(spark)

        return sandbox.run_with_timeout(limits, run, session.end_java)


def _driver_memory(limit: str) -> str:
    """Convert a memory limit to Java's notation. Without a limit, return half of the machine's memory."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    return f"{max(1, int((sandbox.size_bytes(limit) if limit else half) / 2**20))}m"
