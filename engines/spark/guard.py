"""The statements that questions become on Spark, and what they read.

What somebody wrote is accepted only where every part of it does nothing but read. Spark's own parser decides,
by the tree of the very statement that will run: every node of its plan must be on the list below, and what is
on none, because it is new or was forgotten, is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.spark.register import left_out
from tracehouse.engines.spark.session import errors_explained
from tracehouse.sql.query_files import is_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a query may consist of, by the names of Spark's classes; expressions are judged by `_REFUSED`.
_PLANS = frozenset(
    {
        *(
            "Aggregate",
            "Distinct",
            "Except",
            "Expand",
            "Filter",
            "Generate",
            "GlobalLimit",
            "Intersect",
            "Join",
        ),
        *("LateralJoin", "LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "Pivot", "Project"),
        *("RepartitionByExpression", "Sample", "Sort", "SubqueryAlias", "Tail", "Union", "Unpivot", "Window"),
        *(
            "UnresolvedHaving",
            "UnresolvedHint",
            "UnresolvedInlineTable",
            "UnresolvedQualify",
            "UnresolvedRelation",
        ),
        *("UnresolvedSubqueryColumnAliases", "UnresolvedTableValuedFunction", "UnresolvedTVFAliases"),
        *("UnresolvedWith", "WithWindowDefinition"),
    }
)
_TABLE_FUNCTIONS = frozenset(
    {
        *(
            "explode",
            "explode_outer",
            "inline",
            "inline_outer",
            "json_tuple",
            "posexplode",
            "posexplode_outer",
        ),
        *("range", "stack"),
    }
)
# The first three call any method of Java's, and so may do anything; the others open files named by options.
_REFUSED = {
    *("java_method", "reflect", "try_reflect"),
    *("from_avro", "from_protobuf", "from_xml", "schema_of_avro", "schema_of_xml", "to_avro", "to_protobuf"),
}
# Names that are known only when it runs.
_REFUSED_EXPRESSIONS = {"ExpressionWithUnresolvedIdentifier", "NamedParameter", "PosParameter"}
_PLAN_CLASS = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_SUBQUERY_CLASS = "org.apache.spark.sql.catalyst.expressions.PlanExpression"


@dataclass(frozen=True)
class Statement:
    """A query in Spark's SQL, and the names of the tables, views and named queries that it reads."""

    sql: str
    reads: frozenset[str]


def of_name(name: str, values: Mapping[str, Any], limit: int | None) -> Statement:
    """The statement that asks a named query, or for the rows of a table or view.

    Raises UserError where it is a query that Spark cannot have.
    """
    if needs := left_out().get(name):
        raise UserError(f"{name} cannot be asked on Spark: it needs {needs}. Leave --engine out")
    arguments = ", ".join(f"{key} => {exp.convert(value).sql('spark')}" for key, value in values.items())
    called = f"{name}({arguments})" if is_query(name) else name
    at_most = "" if limit is None else f" limit {limit}"
    return Statement(f"select * from {called}{at_most}", frozenset({name}))


def limited(statement: Statement, limit: int | None) -> Statement:
    """A statement for no more rows than a limit, if there is one."""
    if limit is None:
        return statement
    query = statement.sql.rstrip("; \n")
    return Statement(f"select * from ({query}\n) limit {limit}", statement.reads)


def of_text(session: "SparkSession", text: str) -> Statement:
    """The statement that somebody wrote in Spark's SQL.

    Raises UsageError where it is no SQL, and UserError where it may do more than read tables by their names.
    """
    try:
        with errors_explained():
            plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except UserError as error:
        raise UsageError(f"this is not one query in Spark's SQL: {error}") from None
    read: set[str] = set()
    alone: set[str] = set()
    own: set[str] = set()
    for node, is_plan in _nodes(session, plan):
        kind = node.getClass().getSimpleName()
        if is_plan and kind not in _PLANS:
            raise UserError(
                f"only a query can be run here: select, from, with or values; this one holds {kind}"
            )
        if kind in _REFUSED_EXPRESSIONS:
            raise UserError("identifier() and parameters cannot be used here: write the names themselves")
        if kind == "UnresolvedWith":
            own |= {pair._1().lower() for pair in _listed(node.cteRelations())}
        elif kind == "UnresolvedRelation":
            parts = [part.lower() for part in _listed(node.multipartIdentifier())]
            # A name of one part alone may be a CTE's, whatever is in it.
            (read if len(parts) > 1 else alone).add(".".join(parts))
        elif kind == "UnresolvedTableValuedFunction":
            name = ".".join(_listed(node.name()))
            if name.lower() not in _TABLE_FUNCTIONS:
                read.add(name.lower())
        elif kind in ("UnresolvedFunction", "UnresolvedGenerator"):
            _check_function(node, kind)
    for name in sorted(alone - own):
        raise UserError(f"{name}: write it with its schema, as in itp.job")
    return Statement(text, frozenset(read))


def _check_function(node: Any, kind: str) -> None:
    name = node.name().funcName() if kind == "UnresolvedGenerator" else _listed(node.nameParts())[-1]
    if name.lower() in _REFUSED:
        raise UserError(f"the function {name} cannot be used here: it may do more than read")


def _nodes(session: "SparkSession", plan: Any) -> Iterator[tuple[Any, bool]]:
    """Every node of a parsed plan, and whether it is one of the plan or an expression in it."""
    classes = cast(Any, session.sparkContext._jvm).java.lang.Class
    plans, subqueries = (classes.forName(name) for name in (_PLAN_CLASS, _SUBQUERY_CLASS))
    todo = [plan]
    while todo:
        node = todo.pop()
        is_plan = plans.isInstance(node)
        yield node, is_plan
        todo += [*_listed(node.children()), *_listed(node.innerChildren())]
        if is_plan:
            todo += _listed(node.expressions())
            if node.getClass().getSimpleName() == "WithWindowDefinition":
                # A map, which is not among the expressions.
                todo += _listed(node.windowDefinitions().values().toSeq())
        elif subqueries.isInstance(node):
            todo.append(node.plan())


def _listed(found: Any) -> list[Any]:
    """A sequence of Scala's."""
    return [found.apply(place) for place in range(found.size())]
