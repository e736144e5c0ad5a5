"""Parse the requests of browsers, which may send anything."""

import json
from collections import Counter
from typing import Any

from tracehouse.core.arguments import check_text
from tracehouse.core.errors import UsageError
from tracehouse.engines.request import NamedQuery, Request, Statement
from tracehouse.publish.columns import format_exact

_EXAMPLE = '{"name": "itp.gpu_hours", "given": {"min_gpus": "8"}} or {"statement": "select 1"}'


def parse_request(text: str) -> Request:
    """Parse a request in JSON. Raises UsageError if it is not valid.

    Parameters are texts, or numbers and booleans, which become texts as in SQL.
    """
    try:
        sent = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        # Python limits the depth of nesting and the digits of a number.
        raise UsageError(f"The request needs a query as JSON, such as {_EXAMPLE} ({error})") from None
    given = sent.get("given", {}) if isinstance(sent, dict) else None
    if not isinstance(given, dict):
        raise UsageError(f"The request needs a query as JSON, such as {_EXAMPLE}")
    name = check_text("name", sent.get("name", ""))
    texts = {check_text("the name of a parameter", key): _text(key, value) for key, value in given.items()}
    if statement := check_text("statement", sent.get("statement", "")):
        return Request(Statement(statement, may_explain=False))
    return Request(NamedQuery(name, texts))


def _text(key: str, value: object) -> str:
    if not isinstance(value, str | int | float):
        raise UsageError(f"{key} must be a string, a number or a boolean, not {json.dumps(value)}")
    return check_text(key, format_exact(value))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object. Raises UsageError if a name occurs twice, because one of the values would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise UsageError(f"The request has {json.dumps(twice)} twice")
    return found


def _refuse(constant: str) -> None:
    """Raise ValueError for NaN and Infinity, which Python's parser accepts."""
    raise ValueError(f"{constant} is not JSON")
