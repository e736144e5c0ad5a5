"""Shell completion: names of queries, views, traces, parameters and columns, and its installation.

Names are read from files. Only columns, and parameter values that occur in the data, need the database.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from tracehouse.core.errors import UserError
from tracehouse.sql import names

# The startup file of each shell in the home folder, and the line that loads the completion.
_INSTALLATIONS = {
    "bash": (".bashrc", 'eval "$(_TRACES_COMPLETE=bash_source traces)"'),
    "zsh": (".zshrc", 'autoload -Uz compinit && compinit && eval "$(_TRACES_COMPLETE=zsh_source traces)"'),
    "fish": (".config/fish/completions/traces.fish", "_TRACES_COMPLETE=fish_source traces | source"),
}

Items = list[CompletionItem]

# The longest time for which a completion may read the database.
_MOST_SECONDS = 3


def complete_trace(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete traces."""
    return _items(incomplete, ((name, "") for name in names.trace_names()))


def complete_schema(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete traces and the schema unified."""
    return _items(incomplete, ((name, "") for name in (*names.trace_names(), "unified")))


def complete_query(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete queries, views and tables."""
    return _items(incomplete, _relations(context))


def complete_object(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete everything that can be described: traces, queries, views, tables, columns and caveats."""
    if incomplete.count(".") > 1:
        owner, _, _ = incomplete.rpartition(".")
        sql = """
            select $name || '.' || column_name, any_value(meaning)
            from catalog.columns
            where
                object_name = $name
                or object_name in (select versioned_name from catalog.views where view_name = $name)
            group by column_name order by min(position)
            """
        return _items(incomplete, _read(_warehouse(context), sql, {"name": owner}))
    traces = ((name, "") for name in names.trace_names())
    return _items(incomplete, chain(traces, _relations(context), names.caveat_names()))


def complete_parameter(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Complete parameters of the query on the line, with the default and other values: `min_gpus=1`."""
    # Click stops parsing at an option without a value; the words after it are in `context.args`.
    query = next((word for word in (context.params.get("name"), *context.args) if word), "")
    warehouse = _warehouse(context)
    key, equals, _ = incomplete.partition("=")
    column = names.values_column(query, key, warehouse) if equals else ""
    if column:
        table, _, field = column.rpartition(".")
        sql = f"""select distinct $key || '=' || "{field}", '' from {table} order by all"""
        return _items(incomplete, _read(warehouse, sql, {"key": key}))
    found = names.query_parameters(query, warehouse)
    return _items(
        incomplete,
        ((f"{name}={value}", meaning) for name, meaning, values in found for value in values or [""]),
    )


def install(context: click.Context, parameter: click.Parameter, requested: bool) -> None:
    """Add the completion to the startup file of the user's shell, and exit."""
    if not requested or context.resilient_parsing:
        return
    name, line = _INSTALLATIONS[_shell()]
    path = Path.home() / name
    text = path.read_text() if path.exists() else ""
    if line not in text.splitlines():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{line}\n")
    click.echo(f"Completion is installed in {path}. Open a new terminal to use it")
    context.exit()


def show(context: click.Context, parameter: click.Parameter, requested: bool) -> None:
    """Print the completion script of the user's shell, and exit."""
    if not requested or context.resilient_parsing:
        return
    shell = get_completion_class(_shell())
    assert shell is not None
    click.echo(shell(context.command, {}, "traces", "_TRACES_COMPLETE").source())
    context.exit()


class _Bash(BashComplete):
    """Completion in bash, which splits words at `=`."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = super().get_completion_args()
        if words and incomplete == "=":
            return words[:-1], f"{words[-1]}="
        if words[-1:] == ["="]:
            return words[:-2], f"{words[-2]}={incomplete}"
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        _, incomplete = super().get_completion_args()
        is_split = "=" not in incomplete.removeprefix("=") and " = " in f"{os.environ['COMP_WORDS']} "
        value = item.value.partition("=")[2] if is_split else item.value
        return f"{item.type},{value}"


add_completion_class(_Bash)


def _read(warehouse: Path, sql: str, values: dict[str, str]) -> list[tuple[str, str]]:
    """Read rows of a warehouse's database. Returns [] without a database, or if it takes too long."""
    from tracehouse.engines.duckdb.read import sandbox

    try:
        return sandbox.run(
            warehouse, sandbox.Limits(_MOST_SECONDS), lambda c: c.execute(sql, values).fetchall()
        )
    except UserError:
        return []


def _shell() -> str:
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in _INSTALLATIONS:
        raise UserError(f"Completion supports {', '.join(_INSTALLATIONS)}; $SHELL is {shell or 'not set'}")
    return shell


def _items(start: str, found: Iterable[tuple[str, str]]) -> Items:
    """The completions that start with a text, from pairs of a name and its meaning."""
    return [CompletionItem(name, help=meaning) for name, meaning in found if name.startswith(start)]


def _relations(context: click.Context) -> Iterator[tuple[str, str]]:
    warehouse = _warehouse(context)
    return chain(names.query_names(warehouse), names.view_names(warehouse), names.table_names())


def _warehouse(context: click.Context) -> Path:
    """The warehouse of an incomplete line: the option after the command, else before it, else the default."""
    own: Any = context.params.get("warehouse")
    source = context.get_parameter_source("warehouse")
    is_given = source is not None and source.name == "COMMANDLINE"
    return Path(own if is_given else context.find_root().params.get("warehouse") or own or "warehouse")
