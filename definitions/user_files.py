"""Read the user's own views and named queries, without an engine.

    <warehouse>/local/views/<schema>/<name>.v<N>.sql    a view
    <warehouse>/local/sql/<schema>/<name>.sql           a named query

Anything can be in these files. Each is read, or refused with DefinitionError.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tracehouse.core.errors import DefinitionError
from tracehouse.core.text import escape_name
from tracehouse.definitions import macros
from tracehouse.definitions.across_traces import SCHEMA as EACH_TRACE
from tracehouse.definitions.dependencies import find_circle
from tracehouse.definitions.query_files import QueryFile, parse_query_file
from tracehouse.definitions.released import OLD, QUERIES, VIEWS, plain_name
from tracehouse.definitions.sql_text import normal, statements
from tracehouse.definitions.view_files import ViewFile, newest, parsed_view_file
from tracehouse.ingest.traces import trace_names

# The largest file that is read. One written by hand has some kilobytes.
MOST_BYTES = 1 << 18

# The longest name of a schema, view or query. PostgreSQL cuts names after 63 characters.
MOST_CHARACTERS = 60

_VIEWS = "views"
_QUERIES = "sql"

# The names under which a warehouse's database, a new one and a published one are opened, and those of DuckDB.
# In a statement, a schema with the name of a database would be ambiguous.
_DATABASES = ("warehouse", "traces", "building", "published", "memory", "system", "temp")
# Schemas that the folders of views and queries do not show.
_RESERVED = {*_DATABASES, EACH_TRACE, macros.SCHEMA, OLD, "information_schema", "main", "pg_catalog"}

_ONLY_WAREHOUSE = (
    "views and queries in `local/` read the warehouse only. Put your own tables into another DuckDB database,"
    " and attach it in the DuckDB shell (see docs/sql.md)"
)
_FILE_READ = re.compile(r'Cannot access file "(?P<name>.*)" - ')
_EXTENSION = re.compile(r"exists in the (?P<name>\w+) extension")

Own = TypeVar("Own", bound=ViewFile | QueryFile)


def list_files(folder: Path) -> list[Path]:
    """Return the files of the user's folder `local`, sorted."""
    return sorted(path for path in folder.rglob("*") if path.name.lower().endswith(".sql"))


def is_reserved(schema: str) -> bool:
    """Return whether a schema is one of Tracehouse or DuckDB, or has the name of a database."""
    return (
        schema in _RESERVED
        or (VIEWS / schema).is_dir()
        or (QUERIES / schema).is_dir()
        or schema in trace_names()
    )


def read_bytes(path: Path) -> bytes:
    """Read a file. Raises DefinitionError if it cannot be read, or is not one that a user writes."""
    try:
        # Opening a named pipe would wait for a writer.
        if path.exists() and not path.is_file():
            raise DefinitionError(path, "not a regular file")
        if path.stat().st_size > MOST_BYTES:
            raise DefinitionError(path, f"larger than {MOST_BYTES // 1024} KiB")
        return path.read_bytes()
    except OSError as error:
        raise DefinitionError(path, f"cannot be read: {error.strerror}") from error


def read_user_file(path: Path, folder: Path) -> ViewFile | QueryFile:
    """Read a view or query in the user's folder `local`; its SQL itself is not parsed.

    Raises DefinitionError if the file is not valid, or in a reserved schema.
    """
    if escape_name(path) != str(path):
        raise DefinitionError(escape_name(path), "rename the file, or its folder: use letters, digits and _")
    parts = path.relative_to(folder).parts
    if len(parts) != 3 or parts[0] not in (_VIEWS, _QUERIES):
        raise DefinitionError(
            path,
            "not in a folder for views or queries. A view is "
            f"{folder}/{_VIEWS}/<schema>/<name>.v1.sql, a query {folder}/{_QUERIES}/<schema>/<name>.sql",
        )
    if max(map(len, plain_name(path).split("."))) > MOST_CHARACTERS:
        raise DefinitionError(path, f"a name or schema is longer than {MOST_CHARACTERS} characters")
    if is_reserved(parts[1].lower()):
        raise DefinitionError(path, f"the schema {parts[1]} is reserved. Use {folder.name} or another name")
    if (lower := "/".join(parts).lower()) != "/".join(parts):
        # SQL ignores case: two files could create one view.
        raise DefinitionError(path, f"rename it in lower case: {folder}/{lower}")
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DefinitionError(path, f"not UTF-8 ({error.reason} at byte {error.start:,})") from None
    parse = parsed_view_file if parts[0] == _VIEWS else parse_query_file
    file: ViewFile | QueryFile = parse(path, text, is_ours=False)
    if isinstance(file, ViewFile) and file.header.one("materialize"):
        raise DefinitionError(path, "only built-in views can have a line `-- materialize:`")
    created = f"view {file.versioned}" if isinstance(file, ViewFile) else f"macro table {file.full_name}"
    on_column = isinstance(file, ViewFile) and f"comment on column {file.versioned}."
    for statement in statements(text)[1:]:
        if not normal(statement).startswith((f"comment on {created} is ", on_column or created)):
            raise DefinitionError(path, f"more than one {created.split()[0]} and its comments: {statement!r}")
    return file


def find_name_clashes(files: Sequence[Own]) -> Iterator[tuple[Own, str]]:
    """Yield the files that create a name that another file creates, and what is wrong with each.

    `traces query` and the catalog have one namespace for views, their versions and queries.
    """
    owners: dict[str, ViewFile | QueryFile] = {}
    # A view comes first: others may read its versions.
    for file in sorted(files, key=lambda one: isinstance(one, QueryFile)):
        for name in _names_of(file):
            owner = owners.setdefault(name, file)
            if plain_name(owner.path) != plain_name(file.path) or type(owner) is not type(file):
                yield file, f"creates {name}, as {owner.path} does: rename one of them"
                break


def find_circles(files: Sequence[ViewFile | QueryFile]) -> dict[Path, str]:
    """Return what is wrong with each view or query that depends on itself, by path."""
    created = {_names_of(file)[0]: file for file in files}
    meant = {name: name for name in created}
    meant |= {
        alias: view.versioned
        for alias, view in newest(file for file in files if isinstance(file, ViewFile)).items()
    }
    reads: Mapping[str, set[str]] = {
        name: {meant[read] for read in file.references if read in meant} for name, file in created.items()
    }
    circles = {file.path: find_circle(name, reads) for name, file in created.items()}
    return {path: _describe_circle(circle) for path, circle in circles.items() if circle}


def _names_of(file: ViewFile | QueryFile) -> tuple[str, ...]:
    """Return the names that a file creates; the first is its own, and a view may share its plain name."""
    return (file.versioned, file.alias) if isinstance(file, ViewFile) else (file.full_name,)


def _describe_circle(names: Sequence[str]) -> str:
    first, *others = names
    return f"is circular: {first} reads {', which reads '.join(others)}"


def explain_outside(error: str) -> str:
    """Explain an error of DuckDB on a file that it may not read, or on an extension; empty for others."""
    if found := _FILE_READ.search(error):
        return f"reads {found['name'] or 'a file'}, but {_ONLY_WAREHOUSE}"
    if found := _EXTENSION.search(error):
        return f"needs DuckDB's extension {found['name']}, but {_ONLY_WAREHOUSE}"
    return ""


def explain_database(name: str) -> str:
    """Say that a view or query names a database."""
    return f"names the database {name}: write <schema>.<name>, because {_ONLY_WAREHOUSE}"
