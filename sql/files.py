"""Reads query files: `sql/<schema>/<name>.sql`, each one table macro with typed parameters and defaults.

-- Title: the question.
-- param: min_gpus: only jobs that asked for so many GPUs or more
-- choices: node_list: all_node gpu_node
-- range: min_gpus: 0 to 64
-- chart: bar x=cluster y=gpu_h omit=all
create or replace macro itp.gpu_hours(min_gpus integer := 1) as table …;
comment on macro table itp.gpu_hours is '…';

The chart line is a kind of chart, then columns of the answer:

    bar     a bar per x, beside each other where `color=` tells several apart
    stack   a bar per x, of parts that add up, one per color
    line    a line per color over x
    point   a mark per x and color

`x=wait_s:log` draws an axis of a line or of points as a logarithmic one. `omit=all` leaves out the row whose
x is `all`: a total, beside which its parts could not be seen. Names stand in the order of the answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from tracehouse.views.files import (
    DefinitionError,
    Header,
    first_statement,
    read_header,
    references,
    sql_hash,
)
from tracehouse.views.inline import without_ctes

QUERIES = Path(__file__).parent

CHART_KINDS = ("bar", "stack", "line", "point")
CHART_KEYS = {"x", "y", "color", "omit"}

_MACRO = re.compile(r"create or replace macro (?P<name>[a-z0-9_.]+)\(", re.I)
_BODY = re.compile(r"\bas table\b", re.I)
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"(?P<at_least>{_NUMBER}) to (?P<at_most>{_NUMBER})")


@dataclass(frozen=True)
class Range:
    """The least and the greatest value that a parameter may have, both allowed."""

    at_least: float
    at_most: float


@dataclass(frozen=True)
class Parameter:
    """One parameter of a named query. `default` is SQL.

    `choices` is empty where there is no list of values, `range` is None where numbers have no bounds.
    """

    name: str
    type: str
    default: str
    meaning: str
    choices: tuple[str, ...]
    range: Range | None


@dataclass(frozen=True)
class Axis:
    """One axis of a chart: the column that it shows, and whether it is a logarithmic one."""

    column: str
    is_log: bool


@dataclass(frozen=True)
class Chart:
    """How to draw an answer. `color` and `omit` are empty where the chart line has none."""

    kind: str
    x: Axis
    y: Axis
    color: str
    omit: str

    @property
    def columns(self) -> list[str]:
        """The columns that are drawn."""
        return [column for column in (self.x.column, self.y.column, self.color) if column]


@dataclass(frozen=True)
class QueryFile:
    """One named query.

    `references` are the schema-qualified names that its SQL reads; `stored_sql` creates the macro as it is
    kept in a database.
    """

    schema: str
    name: str
    path: Path
    text: str
    header: Header
    chart: Chart | None
    parameters: tuple[Parameter, ...]
    references: frozenset[str]
    sha256: str
    stored_sql: str

    @property
    def full_name(self) -> str:
        """The name that the macro has: `itp.gpu_hours`."""
        return f"{self.schema}.{self.name}"


def query_files(folder: Path = QUERIES) -> list[QueryFile]:
    """Every named query, in order of schema and name."""
    return [read_query_file(path) for path in sorted(folder.glob("*/*.sql"))]


def read_query_file(path: Path) -> QueryFile:
    """Parse one query file. Raises DefinitionError where it breaks the rules of the house."""
    return _query_file(path, path.read_text())


@cache
def _query_file(path: Path, text: str) -> QueryFile:
    header = read_header(text)
    statement = first_statement(text)
    macro, body_start = _MACRO.match(statement), _BODY.search(statement)
    if macro is None or body_start is None:
        raise DefinitionError(f"{path}: must hold `create or replace macro … as table …`")
    body, rest = statement[body_start.end() :], text.split(statement, 1)[1].lstrip().removeprefix(";")
    try:
        tree = sqlglot.parse_one(body, dialect="duckdb")
    except SqlglotError as error:
        raise DefinitionError(f"{path}: {error}") from error
    query = QueryFile(
        schema=path.parent.name,
        name=path.stem,
        path=path,
        text=text,
        header=header,
        chart=read_chart(header.one("chart"), path) if header.one("chart") else None,
        parameters=tuple(_parameters(statement[macro.end() : body_start.start()], header, path)),
        references=references(tree, path),
        sha256=sql_hash(statement),
        stored_sql=f"{statement[: body_start.end()]} {without_ctes(tree)}; {rest}",
    )
    if macro["name"] != query.full_name:
        raise DefinitionError(f"{path}: creates {macro['name']}; by its name it should be {query.full_name}")
    return query


def read_chart(line: str, place: Path | str) -> Chart:
    """Parse the chart line of a query. Raises DefinitionError where it is none."""
    kind, *pairs = line.split()
    values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if kind not in CHART_KINDS or len(values) != len(pairs) or not {"x", "y"} <= values.keys() <= CHART_KEYS:
        raise DefinitionError(f"{place}: write a chart as `{' | '.join(CHART_KINDS)} x=… y=… color=… omit=…`")
    chart = Chart(
        kind, _axis(values["x"]), _axis(values["y"]), values.get("color", ""), values.get("omit", "")
    )
    if kind == "stack" and not chart.color:
        raise DefinitionError(f"{place}: a stack needs a color, for the parts of a bar")
    if kind in ("bar", "stack") and (chart.x.is_log or chart.y.is_log):
        raise DefinitionError(f"{place}: the length of a bar means nothing on a logarithmic axis")
    return chart


def _axis(text: str) -> Axis:
    return Axis(text.removesuffix(":log"), text.endswith(":log"))


def _parameters(signature: str, header: Header, path: Path) -> Iterator[Parameter]:
    """The parameters between a macro's brackets: `name type := default, …)`."""
    meanings = dict(_keyed(header.all("param")))
    choices = {name: tuple(text.split()) for name, text in _keyed(header.all("choices"))}
    ranges = {name: _range(text, path) for name, text in _keyed(header.all("range"))}
    for tokens in _by_comma(sqlglot.tokenize(signature, dialect="duckdb")):
        assign = next((i for i, t in enumerate(tokens) if t.token_type == TokenType.COLON_EQ), None)
        if assign is None or assign < 2:
            raise DefinitionError(f"{path}: write each parameter as `name type := default`")
        name = tokens[0].text
        if name not in meanings:
            raise DefinitionError(f"{path}: say what the parameter means: `-- param: {name}: …`")
        yield Parameter(
            name=name,
            type=" ".join(token.text for token in tokens[1:assign]).upper(),
            default=signature[tokens[assign].end + 1 : tokens[-1].end + 1].strip(),
            meaning=meanings.pop(name),
            choices=choices.pop(name, ()),
            range=ranges.pop(name, None),
        )
    if meanings or choices or ranges:
        raise DefinitionError(f"{path}: there is no parameter {next(iter(meanings or choices or ranges))}")


def _range(text: str, path: Path) -> Range:
    match = _RANGE.fullmatch(text)
    found = Range(float(match["at_least"]), float(match["at_most"])) if match else None
    if found is None or found.at_least >= found.at_most:
        raise DefinitionError(f"{path}: write a range as `0 to 1`, not {text!r}")
    return found


def _keyed(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, _, text = line.partition(":")
        yield name.strip(), text.strip()


def _by_comma(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Split a signature's tokens at the commas outside brackets, up to the bracket that closes it."""
    depth = 0
    group: list[Token] = []
    for token in tokens:
        if token.token_type == TokenType.L_PAREN:
            depth += 1
        elif token.token_type == TokenType.R_PAREN:
            depth -= 1
        if depth < 0:
            break
        if token.token_type == TokenType.COMMA and depth == 0:
            yield group
            group = []
        else:
            group.append(token)
    if group:
        yield group
