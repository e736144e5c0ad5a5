"""Run one query on Spark for the command line: start Spark, register the inputs, run, stop.

DuckDB checks names and parameters and finds the caveats in the warehouse's catalog; Spark computes the rows.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tracehouse.engines.duckdb.read import answer, provenance, sandbox
from tracehouse.engines.duckdb.read.answer import Asked, Note, Question
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.spark import guard, session
from tracehouse.engines.spark.guard import Statement
from tracehouse.engines.spark.register import register

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession

T = TypeVar("T")


def named(
    warehouse: Path,
    master: str,
    limits: Limits,
    name: str,
    texts: Mapping[str, str],
    limit: int | None,
    with_total: bool,
    explain: bool,
    for_chart: bool,
) -> Asked:
    """Ask a named query, its parameters given as texts, or for the rows of a view; with `explain`, the plan.

    `with_total` and `for_chart` are those of `named_question`.

    Returns what gives the answer to DuckDB, with the notes on it. Raises UsageError where the name, a
    parameter or a value is not one.
    """
    question = sandbox.ask(
        warehouse,
        limits,
        lambda c: answer.named_question(c, name, texts, with_total=with_total, for_chart=for_chart),
    )
    asked = guard.build_call(name, question.values, _with_one_more(limit, explain))
    found = _ask(master, limits, lambda spark: _answered(spark, warehouse, asked, explain))
    return _of_plan(found) if isinstance(found, str) else _of_rows(found, question, limit)


def written(
    warehouse: Path, master: str, limits: Limits, text: str, limit: int | None, explain: bool
) -> Asked:
    """Ask what somebody wrote in Spark's SQL, for no more rows than a limit; with `explain`, for its plan."""

    def work(spark: "SparkSession") -> "tuple[pa.Table | str, frozenset[str]]":
        asked = guard.add_limit(guard.check_statement(spark, text), _with_one_more(limit, explain))
        return _answered(spark, warehouse, asked, explain), asked.reads

    found, reads = _ask(master, limits, work)
    if isinstance(found, str):
        return _of_plan(found)
    return lambda connection: (
        answer.first_rows(connection, answer.of_table(connection, found), limit),
        provenance.notes_on_statement(connection, text, reads),
    )


def _of_plan(plan: str) -> Asked:
    return lambda _: (Question("", {}, plan=plan), [])


def _of_rows(rows: "pa.Table", question: Question, limit: int | None) -> Asked:
    """What gives rows to DuckDB, no more than a limit, with the notes on the named question."""

    def asked(connection: "DuckDBPyConnection") -> tuple[Question, Sequence[Note]]:
        at_hand = replace(answer.of_table(connection, rows, question.name), given=question.given)
        return answer.answered(connection, answer.first_rows(connection, at_hand, limit))

    return asked


def _with_one_more(limit: int | None, explain: bool) -> int | None:
    """How many rows Spark gives: one more than a limit tells whether it leaves others out."""
    return limit if limit is None or explain else limit + 1


def _answered(spark: "SparkSession", warehouse: Path, asked: Statement, explain: bool) -> "pa.Table | str":
    """The rows that a statement gives, or its query plan."""
    register(spark, warehouse, asked.reads)
    if explain:
        return "\n".join(text for (text,) in spark.sql(f"explain formatted {asked.sql}").collect())
    return spark.sql(asked.sql).toArrow()


def _ask(master: str, limits: Limits, work: "Callable[[SparkSession], T]") -> T:
    with sandbox.scratch_folder() as scratch:

        def answered() -> T:
            settings = {"spark.driver.memory": _driver_memory(limits.memory)}
            with session.open_session(master, scratch, settings) as spark, session.explain_errors():
                return work(spark)

        return sandbox.in_time(limits, answered, session.end_java)


def _driver_memory(limit: str) -> str:
    """A memory limit as Java is told it; without one, half of the machine's."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    return f"{max(1, int((sandbox.size_bytes(limit) if limit else half) / 2**20))}m"
