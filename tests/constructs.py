"""Choose few, cheap views and queries that together contain every construct of the project's SQL."""

from collections.abc import Collection, Mapping

from sqlglot import exp

from tracehouse.engines.spark.register import unsupported_queries
from tracehouse.sql.query_files import query_files
from tracehouse.views.across_traces import expanded
from tracehouse.views.view_files import newest, view_files


def constructs(tree: exp.Expr) -> set[str]:
    """Return the kinds of nodes in a query, with the type of joins and casts and the parent of aggregates."""
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
    """Return every view by its versioned name, and every query that Spark supports."""
    views = {view.versioned: view.tree.expression for view in expanded(view_files())}
    queries = {
        query.full_name: query.tree for query in query_files() if query.full_name not in unsupported_queries()
    }
    return views | queries


def below() -> dict[str, set[str]]:
    """Map each view and query to the set of its own name and all names that it reads, also indirectly."""
    views = list(expanded(view_files()))
    versioned = {alias: view.versioned for alias, view in newest(views).items()}
    read = {view.versioned: view.references for view in views}
    read |= {query.full_name: query.references for query in query_files()}
    found = {}
    for name in read:
        found[name], open_ends = set[str](), [name]
        while open_ends:
            lower = open_ends.pop()
            if lower in read and lower not in found[name]:
                found[name].add(lower)
                open_ends += [versioned.get(one, one) for one in read[lower]]
    return found


def chosen(among: Mapping[str, exp.Expr], below: Mapping[str, Collection[str]]) -> list[str]:
    """Choose few names whose trees contain all constructs and read few others."""
    has = {name: constructs(tree) for name, tree in among.items()}
    nodes = {name: sum(1 for _ in tree.walk()) for name, tree in among.items()}
    cost = {name: sum(nodes.get(lower, 0) for lower in below[name]) for name in among}
    missing = set().union(*has.values())
    found = []
    while missing:
        best = max(sorted(has), key=lambda name: len(has[name] & missing) / cost[name])
        found.append(best)
        missing -= has[best]
    # Remove names whose constructs the others contain.
    for name in sorted(found, key=lambda name: -cost[name]):
        others = [other for other in found if other != name]
        if has[name] <= set().union(*(has[other] for other in others)):
            found = others
    return found
