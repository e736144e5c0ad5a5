"""Find the traces that the filters of a SQL statement select.

The input is the parse tree of `json_serialize_sql`.
"""

from collections.abc import Iterator
from typing import Any

# The schema of views and queries with rows of several traces, and their column with the name of a trace.
SEVERAL_TRACES, TRACE = "unified", "trace"


def selected_traces(tree: Any) -> frozenset[str] | None:
    """Return the texts that the statement compares with `trace`, or passes to a query of several traces.

    None unless each SELECT from a view or query of several traces has `trace = '…'` or `trace in ('…')` in
    its WHERE, without OR, or such an argument.
    """
    found: set[str] = set()
    for select in _selects(tree):
        relations = [
            node for node in _relations(select["from_table"]) if _schema(node).lower() == SEVERAL_TRACES
        ]
        if not relations:
            continue
        texts = {
            text
            for condition in _conjuncts(select.get("where_clause"))
            if _is_filter(condition)
            for text in _texts(condition)
        }
        for relation in relations:
            texts |= set(_texts(relation.get("function")))
        if not texts:
            return None
        found |= texts
    return frozenset(found) or None


def _selects(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict) and "from_table" in tree:
        yield tree
    for child in _children(tree):
        yield from _selects(child)


def _children(tree: Any) -> list[Any]:
    return list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else []


def _relations(source: Any) -> Iterator[dict[str, Any]]:
    """Yield the tables and table functions of a FROM clause, without those in subqueries."""
    if isinstance(source, dict) and source.get("type") == "JOIN":
        for side in ("left", "right"):
            yield from _relations(source[side])
    elif isinstance(source, dict) and source.get("type") in ("BASE_TABLE", "TABLE_FUNCTION"):
        yield source


def _schema(relation: dict[str, Any]) -> str:
    return str(relation.get("schema_name") or relation.get("function", {}).get("schema", ""))


def _conjuncts(condition: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(condition, dict):
        return
    if condition.get("type") != "CONJUNCTION_AND":
        yield condition
        return
    for part in condition["children"]:
        yield from _conjuncts(part)


def _is_filter(condition: dict[str, Any]) -> bool:
    if condition.get("type") == "COMPARE_EQUAL":
        sides = [condition["left"], condition["right"]]
    elif condition.get("type") == "COMPARE_IN":
        sides = condition["children"][:1]
    else:
        return False
    return any((side.get("column_names") or [""])[-1].lower() == TRACE for side in sides)


def _texts(tree: Any) -> Iterator[str]:
    """Yield the constant texts in a part of a parse tree."""
    if isinstance(tree, dict) and tree.get("class") == "CONSTANT":
        # DuckDB 2 has the field `literal`, and earlier versions have `value`.
        constant = tree.get("literal") or tree.get("value")
        text = constant.get("text", constant.get("value")) if isinstance(constant, dict) else None
        if isinstance(text, str):
            yield text
        return
    for child in _children(tree):
        yield from _texts(child)
