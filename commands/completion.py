"""What the shell proposes behind `traces`: names of queries, views, traces and parameters."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import typer

from tracehouse.commands.defaults import DEFAULT_WAREHOUSE
from tracehouse.sql import names


def _beginning_with(start: str, found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Of names and what they mean, those that begin as what was typed."""
    # Straight apostrophes are lost on the way to zsh.
    return ((name, meaning.replace("'", "’")) for name, meaning in found if name.startswith(start))


def complete_trace(incomplete: str) -> Iterator[tuple[str, str]]:
    """Traces."""
    return _beginning_with(incomplete, ((name, "") for name in names.trace_names()))


def complete_schema(incomplete: str) -> Iterator[tuple[str, str]]:
    """Traces, and what unites them."""
    return _beginning_with(incomplete, ((name, "") for name in (*names.trace_names(), "unified")))


def _warehouse_of(context: typer.Context) -> Path:
    """The warehouse that a line which is being typed is about."""
    given, by_all = context.params.get("warehouse"), context.find_root().params.get("warehouse")
    source = context.get_parameter_source("warehouse")
    is_typed_here = source is not None and source.name == "COMMANDLINE"
    return Path((given if is_typed_here else by_all or given) or DEFAULT_WAREHOUSE)


def complete_asked(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """What can be asked: queries, views, tables."""
    warehouse = _warehouse_of(context)
    ours_and_own = chain(names.query_names(warehouse), names.view_names(warehouse), names.table_names())
    return _beginning_with(incomplete, ours_and_own)


def complete_described(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """What can be described: all that can be asked, traces, caveats."""
    caveats = _beginning_with(incomplete, names.caveat_names())
    return chain(complete_trace(incomplete), complete_asked(context, incomplete), caveats)


def complete_parameter(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Parameters of the query that stands before, each with its default and other values: `min_gpus=1`."""
    # What stands before an option without its value is not parsed.
    query = next((word for word in (context.params.get("name"), *context.args) if word), "")
    for name, meaning, values in names.query_parameters(query, _warehouse_of(context)):
        pairs = ((f"{name}={value}", meaning) for value in values or [""])
        yield from _beginning_with(incomplete, pairs)
