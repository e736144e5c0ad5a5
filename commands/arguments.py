"""Takes the plain values of a command line as they are, where Typer would ask pydantic.

Typer converts what was typed with pydantic since 0.29, and imports it even for an option that was not given,
which takes nearly as long as to import DuckDB. A text needs no conversion, and a path or a choice hardly one.
What is anything else, or wrong, is left to Typer, which has the message for it.
"""

import os
import re
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperGroup

# What an option can demand of its values, apart from a least and a most number: Typer sees to these.
_DEMANDS = {
    *("parser", "case_sensitive", "exists", "file_okay", "dir_okay", "writable", "readable"),
    *("resolve_path", "allow_dash", "path_type", "clamp"),
}
_UNDEMANDING = typer.Option(None)
_NOT_PLAIN = object()
_DIGITS = re.compile(r"[0-9]{1,18}")


class PlainArguments(TyperGroup):
    """Commands, whose arguments and options are taken as they are wherever they are plain."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _take_as_they_are(self, ctx)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _take_as_they_are(command, ctx)
        return name, command, rest


def _take_as_they_are(command: Any, ctx: Any) -> None:
    for parameter in command.get_params(ctx):
        # Earlier versions of Typer have neither of the two, nor pydantic.
        if hasattr(parameter, "get_runtime_param") and hasattr(parameter, "type_descriptor"):
            parameter.get_runtime_param = _Conversion(parameter.get_runtime_param)


class _Conversion:
    """What converts the values of one parameter; called, it gives itself, as Typer asks for it."""

    def __init__(self, typers_own: Any) -> None:
        self._typers_own = typers_own

    def __call__(self) -> "_Conversion":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the parameter has it. Raises `typer.BadParameter` where it can have no such value."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        described = param.type_descriptor
        found = _plain(value, described.annotation, described.parameter_info)
        return self._typers_own().coerce(value, param=param, ctx=ctx) if found is _NOT_PLAIN else found


def _plain(value: Any, kind: Any, info: Any) -> Any:
    """A value of some kind; `_NOT_PLAIN` where it has to be converted, or checked, by Typer."""
    if any(getattr(info, demand, None) != getattr(_UNDEMANDING, demand, None) for demand in _DEMANDS):
        return _NOT_PLAIN
    if get_origin(kind) is list and isinstance(value, list | tuple):
        [kind_of_each] = get_args(kind)
        found = [_plain_one(one, kind_of_each, info) for one in value]
        return _NOT_PLAIN if _NOT_PLAIN in found else found
    return _plain_one(value, kind, info)


def _plain_one(value: Any, kind: Any, info: Any) -> Any:
    if not isinstance(kind, type):
        return _NOT_PLAIN
    if isinstance(value, str) and issubclass(kind, Enum):
        return next((member for member in kind if value in (member, member.value)), _NOT_PLAIN)
    if isinstance(value, str) and issubclass(kind, Path):
        value = kind(value)
    elif isinstance(value, str) and kind is int and _DIGITS.fullmatch(value):
        value = int(value)
    if not isinstance(value, kind) or (isinstance(value, Path) and _is_unreadable(value)):
        return _NOT_PLAIN
    if isinstance(value, int | float) and not _is_within(value, info.min, info.max):
        return _NOT_PLAIN
    return value


def _is_unreadable(path: Path) -> bool:
    return os.access(path, os.F_OK) and not os.access(path, os.R_OK)


def _is_within(number: float, least: float | None, most: float | None) -> bool:
    return (least is None or number >= least) and (most is None or number <= most)
