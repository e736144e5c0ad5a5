"""The macros of `views/macros.sql`, and their inlining for tools that cannot call them: lineage and Spark."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.released import VIEWS
from tracehouse.definitions.sql_text import sql_hash, statements

SCHEMA = "stats"
PATH = VIEWS / "macros.sql"

_MACRO = re.compile(
    r"create or replace macro stats\.(?P<name>\w+)\((?P<parameters>.*?)\)\s*as\s+"
    r"(?P<table>table\s)?(?P<body>.*)",
    re.S,
)
# What other engines read in place of the exact sums: equal except for the last digits.
_PLAIN = {"fsum": "sum(number)", "favg": "avg(number)", "exact": "number"}


@cache
def macros_sql() -> str:
    """Return the statements that create the macros and their schema."""
    return PATH.read_text(encoding="utf-8")


@cache
def macros_hash() -> str:
    """Hash the definitions of the macros, which the rows of materialized views depend on."""
    return sql_hash(macros_sql())


def inlined(tree: exp.Expr, place: Path | str) -> exp.Expr:
    """Return a query with the body of each macro that it calls in place of the call.

    Raises DefinitionError if there is no such macro, or the number of its arguments is wrong.
    """
    tree = tree.copy()
    # A body may call further macros.
    while calls := [node for node in tree.find_all(exp.Dot, exp.Table) if _called(node)]:
        for call in reversed(calls):
            call.replace(_expand(call, place))
    return tree


def _called(node: exp.Expr) -> exp.Anonymous | None:
    """Return the call of a macro: the second part of `stats.name(…)`, as an expression or a table."""
    schema, call = (
        (node.args.get("db"), node.this) if isinstance(node, exp.Table) else (node.this, node.expression)
    )
    is_macro = (
        isinstance(schema, exp.Identifier) and schema.name == SCHEMA and isinstance(call, exp.Anonymous)
    )
    return call if is_macro else None


def _expand(node: exp.Expr, place: Path | str) -> exp.Expr:
    call = _called(node)
    assert call is not None
    parameters, body = _macros().get(call.name.lower(), ((), None))
    if body is None or len(parameters) != len(call.expressions):
        raise DefinitionError(place, f"{call.sql('duckdb')} calls no macro of {PATH.name}")
    arguments = dict(zip(parameters, call.expressions, strict=True))
    found = _substitute(body.copy(), arguments)
    if not isinstance(node, exp.Table):
        return exp.paren(found, copy=False)
    return exp.Subquery(this=found, alias=node.args.get("alias") or exp.to_identifier(call.name))


def _substitute(body: exp.Expr, arguments: Mapping[str, exp.Expr]) -> exp.Expr:
    for table in list(body.find_all(exp.Table)):
        # query_table(source) reads the table or CTE that the argument names.
        if isinstance(table.this, exp.Anonymous) and table.this.name == "query_table":
            [source] = table.this.expressions
            table.replace(exp.to_table(arguments[source.name].name))
    for column in list(body.find_all(exp.Column)):
        if not column.table and column.name in arguments:
            argument = arguments[column.name].copy()
            plain = isinstance(argument, exp.Column | exp.Literal | exp.Struct)
            replacement = argument if plain else exp.paren(argument, copy=False)
            if column is body:
                return replacement
            column.replace(replacement)
    return body


@cache
def _macros() -> dict[str, tuple[tuple[str, ...], exp.Expr]]:
    """The parameters and the body of each macro, by name."""
    found = {}
    for statement in statements(macros_sql()):
        if macro := _MACRO.match(statement):
            name, body = macro["name"], _PLAIN.get(macro["name"], macro["body"])
            select = body if macro["table"] else f"select {body}"
            tree = sqlglot.parse_one(select, dialect="duckdb", into=exp.Select)
            parameters = tuple(word.strip() for word in macro["parameters"].split(","))
            found[name] = (parameters, tree if macro["table"] else tree.selects[0])
    return found
