"""Parse view files, `views/<schema>/<name>.v<N>.sql`: header, comments, references and hash."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from tracehouse.core.errors import DefinitionError
from tracehouse.core.text import quoted
from tracehouse.definitions import macros, requests
from tracehouse.definitions.released import VIEWS, released, schema_of, view_paths
from tracehouse.definitions.sql_text import first_statement, normal, sql_hash, statements
from tracehouse.ingest.declare.trace import Trace, all_traces

# Nine digits fit the integers of every client of the catalog.
_FILE_NAME = re.compile(r"(?P<name>[a-z0-9_]+)\.v(?P<version>[1-9][0-9]{,8})\.sql")
_CREATE = re.compile(r"create\s+(?:or\s+replace\s+)?view\s+(?P<name>[a-z0-9_.]+)\s+as\b", re.I)
_COLUMN_COMMENT = re.compile(
    r"""comment\s+on\s+column\s+\S+\."?(?P<column>\w+)"?\s+is\s+'(?P<text>.*)'""", re.I | re.S
)
_HEADER_FIELD = re.compile(r"--\s*(?P<key>[A-Za-z_]+):\s*(?P<value>.+)")

NOT_FOLLOWED = exp.Command(this="unknown")
"""The tree of a query whose columns cannot be followed: it may read every column of its inputs."""

RELEASED, DRAFT, LOCAL = "released", "draft", "local"
"""The status of a view: its meaning is fixed, it may change, or it is the user's own."""

VIEW_KEYS = {
    "grain": "what one row is",
    "source": "where its joins and formulas are documented",
    "answers": "the metrics that it computes, with commas between them; see `catalog.metrics`",
    "caveat": "a pitfall of its numbers: the name, and after a colon the columns that it concerns",
    "resolves_caveat": "an inherited caveat that it resolves: the name, and after a colon for which columns",
    "materialize": "how its rows are materialized as Parquet: engines/duckdb/write/materialized_views.py",
    "engine": "the engine that it needs, and why, where it does not carry over to Spark",
}


@dataclass(frozen=True)
class Header:
    """The comment lines at the top of a SQL file: a title, then `-- key: value` lines; keys may repeat."""

    title: str
    fields: dict[str, tuple[str, ...]]

    def one(self, key: str) -> str:
        """The value of a key, empty if it has none."""
        return " ".join(self.fields.get(key, ()))

    def all(self, key: str) -> tuple[str, ...]:
        """All values of a key that may be repeated."""
        return self.fields.get(key, ())


@dataclass(frozen=True, eq=False)
class ViewFile:
    """One version of one view.

    `references` are the schema-qualified names that its SQL reads. `statement` creates the view by its
    `versioned` name, without the `comment on` statements that follow; `sha256` is its hash (`sql_hash`),
    `body` its query, and `tree` its parse tree. `status` is released, draft or, for the user's own views,
    local. `unions` create the views of `each_trace` that it reads (across_traces.py).
    """

    schema: str
    name: str
    version: int
    path: Path
    text: str
    header: Header
    references: frozenset[str]
    sha256: str
    statement: str
    body: str
    tree: exp.Create
    status: str
    unions: tuple[str, ...] = ()

    @property
    def versioned(self) -> str:
        """The name that the file creates: `itp.job_v1`."""
        return f"{self.schema}.{self.name}_v{self.version}"

    @property
    def alias(self) -> str:
        """The plain name, which means the newest released version: `itp.job`."""
        return f"{self.schema}.{self.name}"

    @cached_property
    def comments(self) -> list[str]:
        """The statements that comment on the view and its columns.

        If the file has no comment on the view itself, the first statement makes the title its comment.
        """
        in_file = statements(self.text)[1:]
        on_view = f"comment on view {self.versioned} is "
        if not self.header.title or any(normal(comment).startswith(on_view) for comment in in_file):
            return in_file
        return [f"{on_view}{quoted(self.header.title)}", *in_file]

    @cached_property
    def column_comments(self) -> dict[str, str]:
        """The comments on columns, by the column's name."""
        found = (_COLUMN_COMMENT.fullmatch(statement) for statement in self.comments)
        return {match["column"]: match["text"].replace("''", "'") for match in found if match}


def view_files(folder: Path = VIEWS, without: Collection[Path] = ()) -> list[ViewFile]:
    """Read every view, except those of the paths in `without`, sorted by schema, name and version."""
    texts = view_texts(folder)
    found = [parsed_view_file(path, texts[path]) for path in sorted(texts) if path not in without]
    return sorted(found, key=lambda view: (view.schema, view.name, view.version))


def view_texts(folder: Path = VIEWS) -> dict[Path, str]:
    """Read the text of every view file by its path.

    Those of `VIEWS` include the views of declared requests, which are not in the folder.
    """
    declared = request_views(all_traces().values()) if folder == VIEWS else {}
    return {path: path.read_text(encoding="utf-8") for path in view_paths(folder)} | declared


def request_views(traces: Iterable[Trace]) -> dict[Path, str]:
    """Return the view of each trace that declares requests: its text, by its path if it were a file."""
    return {
        VIEWS / trace.name / "request.v1.sql": requests.write_view(trace, trace.requests)
        for trace in traces
        if trace.requests
    }


def newest(views: Iterable[ViewFile]) -> dict[str, ViewFile]:
    """Find the newest version of each view, by its plain name."""
    return {view.alias: view for view in sorted(views, key=lambda view: view.version)}


def plain_names(views: Iterable[ViewFile]) -> dict[str, ViewFile]:
    """Find the version that each plain name means: the newest one that is not a draft."""
    return newest(view for view in views if view.status != DRAFT)


def read_view_file(path: Path) -> ViewFile:
    """Parse a view file. Raises DefinitionError if it does not create the view of its name."""
    return parsed_view_file(path, path.read_text(encoding="utf-8"))


@cache
def parsed_view_file(path: Path, text: str, is_ours: bool = True) -> ViewFile:
    """Parse the text of a view file. Raises DefinitionError if it does not create the view of its name.

    The query of a user's own view is not parsed: it has no references, and the tree NOT_FOLLOWED.
    """
    match = _FILE_NAME.fullmatch(path.name)
    if match is None:
        raise DefinitionError(path, "name a view file <name>.v<N>.sql, where N has at most 9 digits")
    statement = first_statement(text)
    create = _CREATE.match(statement)
    if create is None:
        raise DefinitionError(path, "the first statement must begin with `create or replace view … as`")
    # sqlglot parses a whole statement with an invalid query as a command, and raises no error.
    body = statement[create.end() :]
    tree = parsed(body, text, path) if is_ours else NOT_FOLLOWED
    created = create["name"].lower()
    view = ViewFile(
        schema=schema_of(path),
        name=match["name"],
        version=int(match["version"]),
        path=path,
        text=text,
        header=read_header(text, VIEW_KEYS, path),
        references=references(tree, path) if is_ours else frozenset(),
        sha256=sql_hash(statement),
        # DuckDB keeps the spelling of a name, but the catalog and all lookups have it in lower case.
        statement=f"{statement[: create.start('name')]}{created}{statement[create.end('name') :]}",
        body=body,
        tree=creating_view(create["name"], tree),
        status=LOCAL if not is_ours else RELEASED if created in released() else DRAFT,
    )
    if created != view.versioned:
        raise DefinitionError(path, f"creates {created}, but its name says {view.versioned}")
    return view


def read_header(text: str, keys: Collection[str], place: Path | str) -> Header:
    """Read the header of a SQL file. Raises DefinitionError if a key is not one of `keys`."""
    title: list[str] = []
    fields: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        match = _HEADER_FIELD.fullmatch(line)
        if match and match["key"] not in keys:
            raise DefinitionError(place, f"`{line}`: the keys of its header are {', '.join(sorted(keys))}")
        if match:
            fields[match["key"]] = (*fields.get(match["key"], ()), match["value"].strip())
        elif not fields:
            title.append(line.removeprefix("--").strip())
    return Header(" ".join(title), fields)


def references(tree: exp.Expr, place: Path | str) -> frozenset[str]:
    """Find the tables and named queries that a query reads, as `schema.name`, without its own CTEs."""
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    names = set()
    for table in tree.find_all(exp.Table):
        if table.db and table.db != macros.SCHEMA:
            names.add(full_name(table))
        elif not table.db and table.name and table.name not in own:
            raise DefinitionError(place, f"add the schema to {table.name}")
    return frozenset(names)


def full_name(table: exp.Table) -> str:
    """Return `schema.name` of a table, view or named query in a statement."""
    # The name of a macro is one level deeper than that of a table.
    return f"{table.db}.{table.name or table.this.name}".lower()


def parsed(sql: str, text: str, path: Path) -> exp.Expr:
    """Parse SQL that is part of a file's text. Raises DefinitionError with the line."""
    try:
        return sqlglot.parse_one(sql, dialect="duckdb")
    except RecursionError:
        raise DefinitionError(path, "is nested too deeply") from None
    except SqlglotError as error:
        if not isinstance(error, ParseError) or not error.errors:
            raise DefinitionError(path, str(error)) from error
        first = error.errors[0]
        line = line_of(sql, text) + first["line"] - 1
        raise DefinitionError(f"{path}, line {line}", first["description"]) from error


def line_of(sql: str, text: str) -> int:
    """Return the number, from 1, of the line of `text` on which `sql` begins."""
    return text[: text.index(sql)].count("\n") + 1


def creating_view(name: str, query: exp.Expr) -> exp.Create:
    """Return the tree of the statement that creates a view."""
    schema, _, view = name.rpartition(".")
    return exp.Create(this=exp.table_(view, schema), kind="VIEW", replace=True, expression=query)
