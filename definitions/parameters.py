"""Parse the parameters of a query's file, without the SQL parser: completion reads them, too.

The comment above a parameter is its meaning, then its limit in brackets. Only booleans need none. A limit is:
its choices; a range of numbers or days, including both ends; the column that holds its values
(`[openb.pod.variant]`), for a list of them `[list of openb.pod.variant]`; the columns of the table or view
that it names (`[table with sn model]`); or `[any]`. Parameters that several queries of a schema share are
described in `parameters.csv`; a comment above one replaces its meaning or its limit.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.released import QUERIES
from tracehouse.definitions.sql_text import TOKEN

_MACRO = re.compile(r"create (?:or replace )?macro (?P<name>[a-z0-9_.]+)\(", re.I)
_BODY = re.compile(r"\bas table\b", re.I)
NUMBER = r"-?\d+(?:\.\d+)?"
_DAY = r"\d{4}-\d{2}-\d{2}"
_RANGE = re.compile(rf"(?P<at_least>{NUMBER}) to (?P<at_most>{NUMBER})")
_RANGE_OF_DAYS = re.compile(rf"(?P<at_least>{_DAY}) to (?P<at_most>{_DAY})")
_COLUMN = re.compile(r"[a-z0-9_]+\.[a-z0-9_]+\.\w+")
# Prefixes of a limit: a table or view; a list of values of a column.
_TABLE, _LIST = "table with ", "list of "
_LIMIT = re.compile(r"(?P<meaning>.*?)\s*(?:\[(?P<limit>[^\[\]]*)\])?", re.S)


@dataclass(frozen=True)
class Range:
    """The smallest and the largest value that a parameter accepts, as text of its type."""

    at_least: str
    at_most: str


@dataclass(frozen=True)
class Parameter:
    """One parameter of a named query. `default` is SQL.

    `choices` is empty without a list of values, `range` is None without bounds, and `values_of` is empty
    unless a column, `schema.table.column`, holds the values; with `is_list`, a text lists several of these
    values with commas. `table_columns` are those that the query reads of the table or view that the parameter
    names, empty if it names none.
    """

    name: str
    type: str
    default: str
    meaning: str
    choices: tuple[str, ...] = ()
    range: Range | None = None
    values_of: str = ""
    is_list: bool = False
    table_columns: tuple[str, ...] = ()


def split_macro(statement: str, path: Path) -> tuple[re.Match[str], re.Match[str]]:
    """Find the name of a macro, up to the bracket, and `as table`. Raises DefinitionError without them."""
    macro, body = _MACRO.match(statement), _BODY.search(statement)
    if macro is None or body is None:
        raise DefinitionError(path, "must contain `create or replace macro … as table …`")
    return macro, body


def parse_parameters(statement: str, path: Path, is_ours: bool) -> Iterator[Parameter]:
    """Parse the parameters of a macro, `name type := default`. Raises DefinitionError if one is not valid.

    Those of the package need a meaning and a limit, and may have them from parameters.csv.
    """
    macro, body = split_macro(statement, path)
    signature = statement[macro.end() : body.start()]
    shared = _shared_parameters(path.parent.name) if is_ours else {}
    end = 0
    for tokens in _split_at_commas(signature, path):
        texts = [token[0] for token in tokens]
        assign = next((at for at in range(len(texts)) if texts[at : at + 2] == [":", "="]), 0)
        if assign < 2:
            raise DefinitionError(path, "write each parameter as `name type := default`")
        name = texts[0].strip('"')
        meaning, limit = _split_comment(signature[end : tokens[0].start()])
        shared_meaning, shared_limit = shared.get(name, ("", ""))
        end = tokens[-1].end()
        parameter = Parameter(
            name,
            " ".join(texts[1:assign]).upper(),
            signature[tokens[assign + 1].end() : end].strip(),
            meaning or shared_meaning,
        )
        if is_ours and not parameter.meaning:
            raise DefinitionError(path, f"describe {name} by a comment above it")
        if is_ours and not (limit or shared_limit) and parameter.type != "BOOLEAN":
            raise DefinitionError(
                path,
                f"end the comment on {name} with a limit: a range [0 to 64], choices [a b], "
                "the column that holds its values [schema.table.column], the columns of the table that it "
                "names [table with column column], or [any]",
            )
        yield _with_limit(parameter, limit or shared_limit, path)


def _with_limit(parameter: Parameter, limit: str, path: Path) -> Parameter:
    """Return a parameter with the limit that is written in the brackets of its comment."""
    column = limit.removeprefix(_LIST)
    if _COLUMN.fullmatch(column):
        return replace(parameter, values_of=column, is_list=column != limit)
    if limit.startswith(_TABLE):
        return replace(parameter, table_columns=tuple(limit.removeprefix(_TABLE).split()))
    if " to " in limit:
        return replace(parameter, range=_range(limit, parameter.type, path))
    if "'" in limit:
        what = "choices cannot have spaces or quotes: name the column that has them, as `[itp.job.cluster]`"
        raise DefinitionError(path, f"{parameter.name}: {what}")
    return replace(parameter, choices=() if limit == "any" else tuple(limit.split()))


def _range(text: str, kind: str, path: Path) -> Range:
    if kind.startswith(("DATE", "TIMESTAMP")):
        match, example = _RANGE_OF_DAYS.fullmatch(text), "2023-01-01 to 2023-12-31"
    else:
        match, example = _RANGE.fullmatch(text), "0 to 1"
    found = Range(match["at_least"], match["at_most"]) if match else None
    if found is None or _order_key(found.at_least) >= _order_key(found.at_most):
        raise DefinitionError(path, f"write a range as `{example}`, not {text!r}")
    return found


def _order_key(bound: str) -> float:
    return float(bound.replace("-", "")) if re.fullmatch(_DAY, bound) else float(bound)


def _split_comment(text: str) -> tuple[str, str]:
    """Split the comment above a parameter into its meaning and its limit, in brackets; both may be empty."""
    lines = (line.strip() for line in text.splitlines())
    found = _LIMIT.fullmatch(" ".join(line.removeprefix("--").strip() for line in lines if line[:2] == "--"))
    return (found["meaning"], found["limit"] or "") if found else ("", "")


@cache
def _shared_parameters(schema: str) -> Mapping[str, tuple[str, str]]:
    """Return the meaning and the limit of the parameters that several queries of a schema share, by name.

    A row without a schema applies to every schema that has no row of its own.
    """
    found = {}
    with (QUERIES / "parameters.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["schema"] in ("", schema):
                found[row["parameter"]] = (row["meaning"], row["limit"])
    return found


def _split_at_commas(signature: str, path: Path) -> Iterator[list[re.Match[str]]]:
    """Split the tokens of a signature at commas outside brackets, up to the closing bracket."""
    depth = 0
    group: list[re.Match[str]] = []
    for token in TOKEN.finditer(signature):
        mark = token["mark"] or ""
        if mark in ("'", '"'):
            raise DefinitionError(path, f"a {mark} in its parameters is not closed")
        depth += (mark in ("(", "[")) - (mark in (")", "]"))
        if depth < 0:
            break
        if mark == "," and depth == 0:
            yield group
            group = []
        elif not token["gap"]:
            group.append(token)
    if group:
        yield group
