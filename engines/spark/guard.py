"""Build Spark statements, and accept a user's statement only if it only reads.

Spark's own parser produces the plan of the statement that will run. Every node of the plan must be on the
list below; unlisted nodes are refused, so that new ones are not accepted by accident.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.spark.register import unsupported_queries
from tracehouse.engines.spark.session import explain_errors
from tracehouse.sql.query_files import is_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The plan nodes that a query may have, by Spark's class names. Expressions are checked against `_REFUSED`.
_PLANS = frozenset(
    {
        *("Aggregate", "Distinct", "Except", "Expand", "Filter", "Generate", "GlobalLimit", "Intersect"),
        *("Join", "LateralJoin", "LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "Pivot"),
        *("Project", "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias", "Tail", "Union"),
        *("Unpivot", "Window", "UnresolvedHaving", "UnresolvedHint", "UnresolvedInlineTable"),
        *("UnresolvedQualify", "UnresolvedRelation", "UnresolvedSubqueryColumnAliases"),
        *("UnresolvedTableValuedFunction", "UnresolvedTVFAliases", "UnresolvedWith"),
        "WithWindowDefinition",
    }
)
_TABLE_FUNCTIONS = frozenset(
    {
        *("explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode"),
        *("posexplode_outer", "range", "stack"),
    }
)
# The first three call arbitrary Java methods; the others open files named in their options.
_REFUSED = {
    *("java_method", "reflect", "try_reflect"),
    *("from_avro", "from_protobuf", "from_xml", "schema_of_avro", "schema_of_xml", "to_avro", "to_protobuf"),
}
# Expressions with names that are known only at run time.
_REFUSED_EXPRESSIONS = {"ExpressionWithUnresolvedIdentifier", "NamedParameter", "PosParameter"}
_PLAN_CLASS = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_SUBQUERY_CLASS = "org.apache.spark.sql.catalyst.expressions.PlanExpression"


@dataclass(frozen=True)
class Statement:
    """A query in Spark SQL, and the names of the tables, views and named queries that it reads."""

    sql: str
    reads: frozenset[str]


def build_call(name: str, values: Mapping[str, Any], limit: int | None) -> Statement:
    """Return the statement that calls a named query, or selects the rows of a table or view.

    Raises UserError for a query that does not run on Spark.
    """
    if needs := unsupported_queries().get(name):
        raise UserError(f"{name} does not run on Spark: it needs {needs}. Omit --engine")
    arguments = ", ".join(f"{key} => {exp.convert(value).sql('spark')}" for key, value in values.items())
    call = f"{name}({arguments})" if is_query(name) else name
    limit_clause = "" if limit is None else f" limit {limit}"
    return Statement(f"select * from {call}{limit_clause}", frozenset({name}))


def add_limit(statement: Statement, limit: int | None) -> Statement:
    """Return the statement with a row limit, if one is given."""
    if limit is None:
        return statement
    query = statement.sql.rstrip("; \n")
    return Statement(f"select * from ({query}\n) limit {limit}", statement.reads)


def check_statement(session: "SparkSession", text: str) -> Statement:
    """Check a user's statement in Spark SQL, and return it with the names that it reads.

    Raises UsageError if it is invalid, and UserError if it may do more than read named tables.
    """
    try:
        with explain_errors():
            plan = session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except UserError as error:
        raise UsageError(f"this is not a single query in Spark SQL: {error}") from None
    read: set[str] = set()
    unqualified: set[str] = set()
    ctes: set[str] = set()
    for node, is_plan in _nodes(session, plan):
        kind = node.getClass().getSimpleName()
        if is_plan and kind not in _PLANS:
            raise UserError(
                f"only queries are allowed (select, from, with, values); this statement contains {kind}"
            )
        if kind in _REFUSED_EXPRESSIONS:
            raise UserError("identifier() and parameters are not allowed: write the names directly")
        if kind == "UnresolvedWith":
            ctes |= {pair._1().lower() for pair in _to_list(node.cteRelations())}
        elif kind == "UnresolvedRelation":
            parts = [part.lower() for part in _to_list(node.multipartIdentifier())]
            # A name without a schema may be a CTE's.
            (read if len(parts) > 1 else unqualified).add(".".join(parts))
        elif kind == "UnresolvedTableValuedFunction":
            name = ".".join(_to_list(node.name()))
            if name.lower() not in _TABLE_FUNCTIONS:
                read.add(name.lower())
        elif kind in ("UnresolvedFunction", "UnresolvedGenerator"):
            _check_function(node, kind)
    for name in sorted(unqualified - ctes):
        raise UserError(f"{name}: add its schema, as in itp.job")
    return Statement(text, frozenset(read))


def _check_function(node: Any, kind: str) -> None:
    name = node.name().funcName() if kind == "UnresolvedGenerator" else _to_list(node.nameParts())[-1]
    if name.lower() in _REFUSED:
        raise UserError(f"the function {name} is not allowed: it may do more than read")


def _nodes(session: "SparkSession", plan: Any) -> Iterator[tuple[Any, bool]]:
    """Yield every node of a parsed plan, and whether it is a plan node (true) or an expression."""
    classes = cast(Any, session.sparkContext._jvm).java.lang.Class
    plans, subqueries = (classes.forName(name) for name in (_PLAN_CLASS, _SUBQUERY_CLASS))
    todo = [plan]
    while todo:
        node = todo.pop()
        is_plan = plans.isInstance(node)
        yield node, is_plan
        todo += [*_to_list(node.children()), *_to_list(node.innerChildren())]
        if is_plan:
            todo += _to_list(node.expressions())
            if node.getClass().getSimpleName() == "WithWindowDefinition":
                # Window definitions are a map and not among the expressions.
                todo += _to_list(node.windowDefinitions().values().toSeq())
        elif subqueries.isInstance(node):
            todo.append(node.plan())


def _to_list(found: Any) -> list[Any]:
    """A Scala sequence as a list."""
    return [found.apply(place) for place in range(found.size())]
