"""Check the fields of a declaration when it is constructed.

A comma forgotten in ``key=("time")`` would otherwise end in an error of DuckDB long after.
"""

import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def check_types(declared: Any) -> None:
    """Raise TypeError if a field of a dataclass' object has another type than the annotated one."""
    hints = _hints(type(declared))
    for name in (field.name for field in fields(declared)):
        value, hint = getattr(declared, name), hints[name]
        if not _fits(value, hint):
            what = f"{type(declared).__name__} {getattr(declared, 'name', '')}".rstrip()
            advice = f": write ({value!r},)" if isinstance(value, str) and get_origin(hint) is tuple else ""
            raise TypeError(f"{what}: {name} is {value!r}, not {_describe(hint)}{advice}")


_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    kind, arguments = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if kind is Literal:
        return value in arguments
    if kind is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            return all(_fits(one, arguments[0]) for one in value)
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    if kind and issubclass(kind, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(key, arguments[0]) and _fits(one, arguments[1]) for key, one in value.items()
        )
    if kind and issubclass(kind, Collection):
        return isinstance(value, kind) and all(_fits(one, arguments[0]) for one in value)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind or hint)


def _describe(hint: Any) -> str:
    kind, arguments = get_origin(hint), get_args(hint)
    if kind is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if kind in (Union, types.UnionType):
        return " or ".join(map(_describe, arguments))
    if kind is tuple and arguments[-1] is Ellipsis:
        return f"a tuple of {_describe(arguments[0])}"
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))
