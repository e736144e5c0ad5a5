"""Reads query files: `sql/<schema>/<name>.sql`, each one table macro with typed parameters and defaults.

-- Title: the question.
-- param: min_gpus: only jobs that asked for so many GPUs or more
-- choices: node_list: all_node gpu_node
-- chart: bar x=cluster y=gpu_h
create or replace macro itp.gpu_hours(min_gpus integer := 1) as table …;
comment on macro table itp.gpu_hours is '…';
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

_MACRO = re.compile(r"create or replace macro (?P<name>[a-z0-9_.]+)\(", re.I)
_BODY = re.compile(r"\bas table\b", re.I)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a named query. `default` is SQL; `choices` is empty where any value will do."""

    name: str
    type: str
    default: str
    meaning: str
    choices: tuple[str, ...]


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
    text = path.read_text()
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
        parameters=tuple(_parameters(statement[macro.end() : body_start.start()], header, path)),
        references=references(tree, path),
        sha256=sql_hash(statement),
        stored_sql=f"{statement[: body_start.end()]} {without_ctes(body)}; {rest}",
    )
    if macro["name"] != query.full_name:
        raise DefinitionError(f"{path}: creates {macro['name']}; by its name it should be {query.full_name}")
    return query


def _parameters(signature: str, header: Header, path: Path) -> Iterator[Parameter]:
    """The parameters between a macro's brackets: `name type := default, …)`."""
    meanings = dict(_keyed(header.all("param")))
    choices = {name: tuple(text.split()) for name, text in _keyed(header.all("choices"))}
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
        )
    if meanings or choices:
        raise DefinitionError(f"{path}: there is no parameter {next(iter(meanings or choices))}")


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
