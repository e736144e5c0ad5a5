"""Find the traces that the filters of a SQL statement select.

The input is the parse tree of `json_serialize_sql`.
"""

from collections.abc import Collection, Iterator
from typing import Any

from tracehouse.definitions.released import SEVERAL_TRACES

# The column of views and queries of several traces with the name of a trace.
TRACE = "trace"
# The parameter of such queries that lists traces.
ARGUMENT = "in_trace"


def selected_traces(tree: Any, known: frozenset[str]) -> frozenset[str] | None:
    """Return the known traces that a statement selects from views and queries of several traces.

    None unless each SELECT from one has a filter on `trace` in its WHERE (`=`, `<>`, `in` or `not in` with
    texts, without OR), or passes names of traces to it.
    """
    found: set[str] = set()
    is_filtered = False
    for select in _selects(tree):
        relations = [
            node for node in _relations(select["from_table"]) if _schema(node).lower() == SEVERAL_TRACES
        ]
        if not relations:
            continue
        passed = {
            name.strip()
            for relation in relations
            for text in _texts(relation.get("function"), ("", ARGUMENT))
            for name in text.split(",")
        }
        filters = [condition for condition in _conjuncts(select.get("where_clause")) if _is_filter(condition)]
        chosen = known & passed or known
        for condition in filters:
            texts = set(_texts(condition))
            chosen = chosen - texts if _is_negative(condition) else chosen & texts
        if not filters and not known & passed:
            return None
        is_filtered = True
        found |= chosen
    return frozenset(found) if is_filtered else None


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
    """Return whether a condition compares `trace` with nothing but texts."""
    condition = _without_not(condition)
    if condition.get("type") in ("COMPARE_EQUAL", "COMPARE_NOTEQUAL"):
        sides = [condition["left"], condition["right"]]
    elif condition.get("type") in ("COMPARE_IN", "COMPARE_NOT_IN"):
        sides = condition["children"]
    else:
        return False
    others = [side for side in sides if (side.get("column_names") or [""])[-1].lower() != TRACE]
    return len(others) == len(sides) - 1 and all(other.get("class") == "CONSTANT" for other in others)


def _is_negative(condition: dict[str, Any]) -> bool:
    inner = _without_not(condition)
    return (inner is not condition) != (inner["type"] in ("COMPARE_NOTEQUAL", "COMPARE_NOT_IN"))


def _without_not(condition: dict[str, Any]) -> dict[str, Any]:
    return condition["children"][0] if condition.get("type") == "OPERATOR_NOT" else condition


def _texts(tree: Any, names: Collection[str] = ()) -> Iterator[str]:
    """Yield the constant texts in a part of a parse tree, or those that are arguments with these names."""
    if isinstance(tree, dict) and tree.get("class") == "CONSTANT":
        # DuckDB 2 has the field `literal`, and earlier versions have `value`.
        constant = tree.get("literal") or tree.get("value")
        if not isinstance(constant, dict) or constant.get("kind", "STRING") != "STRING":
            return
        text = constant.get("text", constant.get("value"))
        if isinstance(text, str) and (not names or tree.get("alias", "") in names):
            yield text
        return
    for child in _children(tree):
        yield from _texts(child, names)
