"""The statements that questions become on Spark, and what they read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tracehouse.engines.spark.register import left_out
from tracehouse.ingest.errors import UsageError, UserError
from tracehouse.sql.query_files import is_query
from tracehouse.views.view_files import references

# They call any method of Java's, and so may do anything.
_REFUSED = {"java_method", "reflect", "try_reflect"}


@dataclass(frozen=True)
class Statement:
    """A query in Spark's SQL, and the names of the tables, views and named queries that it reads."""

    sql: str
    reads: frozenset[str]


def of_name(name: str, values: Mapping[str, Any], limit: int | None) -> Statement:
    """The statement that asks a named query, or for the rows of a table or view.

    Raises UserError where it is a query that Spark cannot have.
    """
    if name in left_out():
        raise UserError(f"{name} cannot be asked on Spark: it needs {left_out()[name]}. Leave --engine out")
    arguments = ", ".join(f"{key} => {exp.convert(value).sql('spark')}" for key, value in values.items())
    called = f"{name}({arguments})" if is_query(name) else name
    at_most = "" if limit is None else f" limit {limit}"
    return Statement(f"select * from {called}{at_most}", frozenset({name}))


def of_text(text: str) -> Statement:
    """The statement that somebody wrote in Spark's SQL: anew from its parse, so that what was checked is run.

    Raises UsageError unless it is one query, and UserError where it calls what may do more than read.
    """
    try:
        trees = sqlglot.parse(text, dialect="spark")
    except SqlglotError as error:
        raise UsageError(f"this is not Spark's SQL: {str(error).splitlines()[0]}") from None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Query):
        raise UsageError("expected one query: select, from or with")
    for call in tree.find_all(exp.Anonymous, exp.QueryTransform):
        if isinstance(call, exp.QueryTransform) or call.name.lower() in _REFUSED:
            raise UserError("transform, reflect and java_method may do more than read, and are not allowed")
    return Statement(tree.sql(dialect="spark"), references(tree, "the statement"))
