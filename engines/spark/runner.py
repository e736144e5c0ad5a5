"""Run one query on Spark for the command line: start Spark, register the query's tables, and stop Spark.

DuckDB binds names and parameters, and finds the caveats in the warehouse's catalog. Spark computes the rows.
"""

import os
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp

from tracehouse.core.errors import Option, UserError
from tracehouse.definitions.query_files import is_query
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery, bind
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.request import ComputedRows, Request
from tracehouse.engines.spark import session
from tracehouse.engines.spark.dialect import translate_statement
from tracehouse.engines.spark.register import register_each, unsupported_queries
from tracehouse.ingest.memory import size_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

T = TypeVar("T")
# How long an interrupted query may take to stop.
_GRACE_S = 2.0


def run(warehouse: Path, limits: Limits, request: Request) -> Request:
    """Run a named query, a view or table, or a statement on Spark, which translates it.

    DuckDB binds and checks it. Returns a request for the computed rows, or for the query plan. Raises
    UserError if Spark cannot run it.
    """
    query = sandbox.run(warehouse, limits, partial(bind, request=request))
    if needs := unsupported_queries().get(query.name):
        raise UserError(f"{query.name} does not run on Spark: it needs {needs}. Omit ", Option("engine"))
    named = build_call(query.name, query.values), query.reads
    sql, reads = named if query.name else translate_statement(query.sql)
    work = partial(_compute, warehouse, sql, query.reads | reads, query.limit, bool(query.explain))
    found = _in_session(request.master, limits, work)
    if isinstance(found, str):
        return Request(ComputedRows(None, BoundQuery("", plan=found)))
    return Request(ComputedRows(found, query))


def build_call(name: str, values: Mapping[str, Any]) -> str:
    """Return the statement that calls a named query, or selects the rows of a table or view."""
    arguments = ", ".join(f"{key} => {exp.convert(value).sql('spark')}" for key, value in values.items())
    return f"select * from {name}({arguments})" if is_query(name) else f"select * from {name}"


def _compute(
    warehouse: Path,
    sql: str,
    reads: Collection[str],
    limit: int | None,
    explain: bool,
    spark: "SparkSession",
) -> "pa.Table | str":
    """Return the rows of a statement that reads some objects, or its query plan as text."""
    registered = register_each(spark, warehouse, reads)
    for name in sorted(registered.left_out.keys() & {*reads}):
        raise UserError(f"{name} does not run on Spark: {registered.left_out[name]}. Omit ", Option("engine"))
    if explain:
        return "\n".join(text for (text,) in spark.sql(f"explain formatted {sql}").collect())
    # One row more shows whether the limit omits rows.
    return spark.sql(sql if limit is None else f"select * from ({sql}) limit {limit + 1}").toArrow()


def _in_session(master: str, limits: Limits, work: "Callable[[SparkSession], T]") -> T:
    with sandbox.scratch_folder() as scratch:

        def run() -> T:
            settings = {"spark.driver.memory": _driver_memory(limits.memory)}
            with session.open_session(master, scratch, settings) as spark, session.explain_errors():
                return work(spark)

        return _run_with_timeout(limits, run)


def _run_with_timeout(limits: Limits, work: "Callable[[], T]") -> T:
    """Run a function in another thread, so that this one handles signals. After the timeout, end Java."""
    sandbox.check_limits(limits)
    thread = ThreadPoolExecutor(1, "query")
    future = thread.submit(work)
    thread.shutdown(wait=False)
    if not wait([future], limits.timeout_s).done:
        session.end_java()
        wait([future], _GRACE_S)
        raise sandbox.too_late(limits)
    return future.result()


def _driver_memory(limit: str) -> str:
    """Convert a memory limit to Java's notation. Without a limit, return half of the machine's memory."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    return f"{max(1, int((size_bytes(limit) if limit else half) / 2**20))}m"
