"""Reads query files: `sql/<schema>/<name>.sql`, each one table macro with typed parameters and defaults.

-- Title: the question.
-- param: min_gpus: only jobs that asked for so many GPUs or more
-- choices: node_list: all_node gpu_node
-- range: min_gpus: 0 to 64
-- values: in_variant: openb.pod.variant
-- any: residual_table: a table of the user's own
-- chart: bar x=cluster y=gpu_h
-- column: jobs: jobs of so many GPUs or more
create or replace macro itp.gpu_hours(min_gpus integer := 1) as table …;
comment on macro table itp.gpu_hours is '…';

Each parameter that is not a boolean says what it may be, in one of four ways: its choices; a range of numbers
or days, both ends in it; the column whose values it may have; or why any value of its type will do.

The chart line is a kind of chart, then columns of the answer:

    bar     a bar per x, beside each other where `color=` tells several apart
    stack   a bar per x, of parts that add up, one per color
    line    a line per color over x
    step    a line per color that keeps its height up to the next x, as a cumulative distribution does
    point   a mark per x and color
    heat    a field per x and y, the darker the more of the number that `color=` names
    box     a box per x from the columns p5_…, p25_…, median_…, p75_… and p95_… of the quantity `y=`
    lorenz  a line per color over percentages from 0 to 100, beside that of equal shares
    pareto  a mark per x; those for which `color=` is true are joined, and labelled by `label=`

`x=wait_s:log` draws an axis of points, lines or boxes as a logarithmic one. `facet=cluster` draws a small
picture per cluster. `rule=capacity_gpus` draws a second height beside each y, as a dashed line or, over bars,
a mark. `with=every_value` answers with that boolean parameter true, unless it is given. Names stand in the
order of the answer.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from tracehouse.sql.blocks import expanded
from tracehouse.sql.names import shared_parameters
from tracehouse.views.sql_text import first_statement, sql_hash
from tracehouse.views.view_files import DefinitionError, Header, parsed, read_header, references

QUERIES = Path(__file__).parent

QUERY_KEYS = {
    "param": "what a parameter means, after its name and a colon",
    "choices": "the values that a parameter may have",
    "range": "the least and the greatest value that a parameter may have",
    "values": "the column whose values a parameter may have",
    "any": "why any value of its type will do for a parameter",
    "chart": "how the answer is drawn",
    "column": "what a column of the answer means, after its name and a colon, where its name does not say",
    "engine": "the engine that it needs, and why, where it does not carry over to Spark",
    "caveat": "a trap that its answer still holds, beside those of the columns that it reads",
}

CHART_KINDS = ("bar", "stack", "line", "step", "point", "heat", "box", "lorenz", "pareto")
CHART_KEYS = ("x", "y", "color", "facet", "rule", "label", "with")
NEEDS_COLOR = {
    "stack": "a stack needs a color, for the parts of a bar",
    "heat": "a heat map needs a color, for the number that it shows",
    "pareto": "a Pareto front needs a color, which tells what is on it",
}
BOX_PARTS = ("p5", "p25", "median", "p75", "p95")

_MACRO = re.compile(r"create (?:or replace )?macro (?P<name>[a-z0-9_.]+)\(", re.I)
_BODY = re.compile(r"\bas table\b", re.I)
_NUMBER = r"-?\d+(?:\.\d+)?"
_DAY = r"\d{4}-\d{2}-\d{2}"
_RANGE = re.compile(rf"(?P<at_least>{_NUMBER}) to (?P<at_most>{_NUMBER})")
_RANGE_OF_DAYS = re.compile(rf"(?P<at_least>{_DAY}) to (?P<at_most>{_DAY})")
_COLUMN = re.compile(r"[a-z0-9_]+\.[a-z0-9_]+\.\w+")

# The header lines that say what a parameter may be; one of them is enough, and two would contradict.
_LIMITS = ("choices", "range", "values", "any")


@dataclass(frozen=True)
class Range:
    """The least and the greatest value that a parameter may have, both allowed, as texts of its type."""

    at_least: str
    at_most: str


@dataclass(frozen=True)
class Parameter:
    """One parameter of a named query. `default` is SQL.

    `choices` is empty where there is no list of values, `range` is None where there are no bounds, and
    `values_of` is empty unless its values are those of a column, `schema.table.column`.
    """

    name: str
    type: str
    default: str
    meaning: str
    choices: tuple[str, ...] = ()
    range: Range | None = None
    values_of: str = ""


@dataclass(frozen=True)
class Axis:
    """One axis of a chart: the column that it shows, and whether it is a logarithmic one."""

    column: str
    is_log: bool


@dataclass(frozen=True)
class Chart:
    """How to draw an answer. What the chart line does not have is empty.

    `labels` are the columns of `label=`, which has commas between them; `parameter` is that of `with=`.
    """

    kind: str
    x: Axis
    y: Axis
    color: str = ""
    facet: str = ""
    rule: str = ""
    labels: tuple[str, ...] = ()
    parameter: str = ""

    @property
    def heights(self) -> list[str]:
        """The columns that the y axis shows: of a box, its five percentiles."""
        if self.kind == "box":
            return [f"{part}_{self.y.column}" for part in BOX_PARTS]
        return [self.y.column, self.rule] if self.rule else [self.y.column]

    @property
    def columns(self) -> list[str]:
        """The columns that are drawn, each once."""
        named = [self.x.column, *self.heights, self.color, self.facet, *self.labels]
        return [column for column in dict.fromkeys(named) if column]


@dataclass(frozen=True, eq=False)
class QueryFile:
    """One named query.

    `references` are the schema-qualified names that its SQL reads. Its statement is the `signature`, which
    ends in `as table`, and a query, the `body`, parsed as `tree`; `comments` are the statements behind it.
    `meanings` are those of columns of the answer that the file itself explains.
    """

    schema: str
    name: str
    path: Path
    text: str
    header: Header
    chart: Chart | None
    parameters: tuple[Parameter, ...]
    meanings: Mapping[str, str]
    references: frozenset[str]
    sha256: str
    signature: str
    body: str
    tree: exp.Expr
    comments: str

    @property
    def full_name(self) -> str:
        """The name that the macro has: `itp.gpu_hours`."""
        return f"{self.schema}.{self.name}"


def query_files(folder: Path = QUERIES) -> list[QueryFile]:
    """Every named query, in order of schema and name."""
    return [read_query_file(path) for path in sorted(folder.glob("*/*.sql"))]


def is_query(name: str) -> bool:
    """Whether there is a named query of a name."""
    schema, _, query = name.partition(".")
    return (QUERIES / schema / f"{query}.sql").is_file()


def given_by_chart(name: str) -> dict[str, str]:
    """The parameter that the chart line of a query gives beside those of the user; none where none does."""
    schema, _, query = name.partition(".")
    chart = read_query_file(QUERIES / schema / f"{query}.sql").chart if is_query(name) else None
    return {chart.parameter: "true"} if chart and chart.parameter else {}


def read_query_file(path: Path) -> QueryFile:
    """Parse a query file of this package, with its building blocks expanded.

    A parameter without a `param` line, or without a limit, takes it from parameters.csv. Raises
    DefinitionError where the file breaks the project's rules for queries.
    """
    return parsed_query_file(path, expanded(path.read_text()), is_ours=True)


@cache
def parsed_query_file(path: Path, text: str, is_ours: bool = False) -> QueryFile:
    """Parse the text of one query file. Raises DefinitionError where it is not a macro of the file's name."""
    header = read_header(text, QUERY_KEYS, path)
    statement = first_statement(text)
    macro, body_start = _MACRO.match(statement), _BODY.search(statement)
    if macro is None or body_start is None:
        raise DefinitionError(f"{path}: must hold `create or replace macro … as table …`")
    body = statement[body_start.end() :]
    tree = parsed(body, text, path)
    query = QueryFile(
        schema=path.parent.name,
        name=path.stem,
        path=path,
        text=text,
        header=header,
        chart=read_chart(header.one("chart"), path) if header.one("chart") else None,
        parameters=tuple(_parameters(statement[macro.end() : body_start.start()], header, path, is_ours)),
        meanings=_meanings(header, path),
        references=references(tree, path),
        sha256=sql_hash(statement),
        signature=statement[: body_start.end()],
        body=body,
        tree=tree,
        comments=text.split(statement, 1)[1].lstrip().removeprefix(";"),
    )
    if query.chart and query.chart.parameter:
        known = {parameter.name: parameter.type for parameter in query.parameters}
        if known.get(query.chart.parameter) != "BOOLEAN":
            raise DefinitionError(f"{path}: {query.chart.parameter} is no boolean parameter to chart with")
    if macro["name"].lower() != query.full_name:
        raise DefinitionError(f"{path}: creates {macro['name']}; by its name it should be {query.full_name}")
    return query


def read_chart(line: str, place: Path | str) -> Chart:
    """Parse the chart line of a query. Raises DefinitionError where it is none."""
    kind, *pairs = line.split()
    values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if (
        kind not in CHART_KINDS
        or len(values) != len(pairs)
        or not {"x", "y"} <= values.keys() <= {*CHART_KEYS}
    ):
        keys = " ".join(f"{key}=…" for key in CHART_KEYS)
        raise DefinitionError(f"{place}: write a chart as `{' | '.join(CHART_KINDS)} {keys}`")
    chart = Chart(
        kind,
        _axis(values["x"]),
        _axis(values["y"]),
        color=values.get("color", ""),
        facet=values.get("facet", ""),
        rule=values.get("rule", ""),
        labels=tuple(values["label"].split(",")) if "label" in values else (),
        parameter=values.get("with", ""),
    )
    if kind in NEEDS_COLOR and not chart.color:
        raise DefinitionError(f"{place}: {NEEDS_COLOR[kind]}")
    if kind in ("bar", "stack", "heat", "lorenz") and (chart.x.is_log or chart.y.is_log):
        raise DefinitionError(f"{place}: the length of a bar means nothing on a logarithmic axis")
    return chart


def _axis(text: str) -> Axis:
    return Axis(text.removesuffix(":log"), text.endswith(":log"))


def _parameters(signature: str, header: Header, path: Path, is_ours: bool) -> Iterator[Parameter]:
    """Parse the parameters between the brackets of a macro: `name type := default, …)`."""
    meanings = dict(_keyed(header.all("param")))
    limits = [(name, key, text) for key in _LIMITS for name, text in _keyed(header.all(key))]
    found = []
    for tokens in _by_comma(sqlglot.tokenize(signature, dialect="duckdb")):
        assign = next((i for i, t in enumerate(tokens) if t.token_type == TokenType.COLON_EQ), None)
        if assign is None or assign < 2:
            raise DefinitionError(f"{path}: write each parameter as `name type := default`")
        kind = " ".join(token.text for token in tokens[1:assign]).upper()
        default = signature[tokens[assign].end + 1 : tokens[-1].end + 1].strip()
        found.append(Parameter(tokens[0].text, kind, default, meanings.get(tokens[0].text, "")))
    unknown = {*meanings, *(name for name, _, _ in limits)} - {parameter.name for parameter in found}
    if unknown:
        raise DefinitionError(f"{path}: there is no parameter {min(unknown)}")
    shared = shared_parameters(path.parent.name) if is_ours else {}
    for parameter in found:
        meaning, limit = shared.get(parameter.name, ("", ("", "")))
        own = [(key, text) for name, key, text in limits if name == parameter.name and text]
        described = replace(parameter, meaning=parameter.meaning or meaning)
        if len(own) > 1:
            raise DefinitionError(f"{path}: give one limit for {parameter.name}, not {len(own)}")
        key, text = own[0] if own else limit
        if is_ours:
            _check_described(described, key, path)
        yield _limited(described, key, text, path)


def _check_described(parameter: Parameter, limit: str, path: Path) -> None:
    """Raise DefinitionError where the meaning or the limit of a parameter is missing."""
    name = parameter.name
    if not parameter.meaning:
        raise DefinitionError(f"{path}: describe the parameter: `-- param: {name}: …`")
    if not limit and parameter.type != "BOOLEAN":
        ways = ", ".join(f"`-- {key}: {name}: …`" for key in _LIMITS)
        raise DefinitionError(f"{path}: limit the values of {name} by one of {ways}")


def _limited(parameter: Parameter, key: str, text: str, path: Path) -> Parameter:
    """Return a parameter with the limit of one header line."""
    if key == "choices":
        return replace(parameter, choices=tuple(text.split()))
    if key == "range":
        return replace(parameter, range=_range(text, parameter.type, path))
    if key == "values" and not _COLUMN.fullmatch(text):
        raise DefinitionError(f"{path}: write values as `schema.table.column`, not {text!r}")
    return replace(parameter, values_of=text) if key == "values" else parameter


def _range(text: str, kind: str, path: Path) -> Range:
    if kind.startswith(("DATE", "TIMESTAMP")):
        match, example = _RANGE_OF_DAYS.fullmatch(text), "2023-01-01 to 2023-12-31"
    else:
        match, example = _RANGE.fullmatch(text), "0 to 1"
    found = Range(match["at_least"], match["at_most"]) if match else None
    if found is None or _as_ordered(found.at_least) >= _as_ordered(found.at_most):
        raise DefinitionError(f"{path}: write a range as `{example}`, not {text!r}")
    return found


def _as_ordered(bound: str) -> float:
    return float(bound.replace("-", "")) if re.fullmatch(_DAY, bound) else float(bound)


def _meanings(header: Header, path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for column, meaning in _keyed(header.all("column")):
        if column in found:
            raise DefinitionError(f"{path}: says twice what {column} means")
        found[column] = meaning
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
