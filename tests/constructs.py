"""Chooses views and queries that together have every construct of the project's SQL."""

from collections.abc import Mapping

from sqlglot import exp

from tracehouse.engines.spark.register import left_out
from tracehouse.sql.query_files import query_files
from tracehouse.views.each_trace import expanded
from tracehouse.views.view_files import view_files


def constructs(tree: exp.Expr) -> set[str]:
    """The kinds of nodes in a query; of a join, cast or unknown function which, of an aggregate where."""
    found = set()
    for node in tree.walk():
        kind = type(node).__name__
        if isinstance(node, exp.Join):
            kind += f" {node.side} {node.kind}"
        elif isinstance(node, exp.Cast):
            kind += f" {node.to.sql()}"
        elif isinstance(node, exp.Anonymous):
            kind += f" {node.name}"
        elif isinstance(node, exp.AggFunc):
            kind += f" in {type(node.parent).__name__}"
        found.add(kind)
    return found


def trees() -> dict[str, exp.Expr]:
    """Every view, by its versioned name, and every query that Spark has, by its own."""
    views = {view.versioned: view.tree.expression for view in expanded(view_files())}
    queries = {query.full_name: query.tree for query in query_files() if query.full_name not in left_out()}
    return views | queries


def chosen(among: Mapping[str, exp.Expr]) -> list[str]:
    """A few names whose trees have all constructs that any has."""
    has = {name: constructs(tree) for name, tree in among.items()}
    missing = set().union(*has.values())
    found = []
    while missing:
        best = max(sorted(has), key=lambda name: (len(has[name] & missing), -len(has[name])))
        found.append(best)
        missing -= has[best]
    return found
