"""Read the user's own views and named queries, without an engine.

    <warehouse>/local/views/<schema>/<name>.v<N>.sql    a view
    <warehouse>/local/sql/<schema>/<name>.sql           a named query

Anything can be in these files. Each is read, or refused with DefinitionError.
"""

from collections.abc import Collection
from pathlib import Path

from tracehouse.core.errors import DefinitionError
from tracehouse.core.text import escape_name
from tracehouse.sql.query_files import QueryFile, parse_query_file
from tracehouse.views.released import OLD, plain_name
from tracehouse.views.sql_text import normal, statements
from tracehouse.views.view_files import ViewFile, parsed_view_file

# The largest file that is read. One written by hand has some kilobytes.
MOST_BYTES = 1 << 18

# The longest name of a schema, view or query. PostgreSQL cuts names after 63 characters.
MOST_CHARACTERS = 60

_VIEWS = "views"
_QUERIES = "sql"


def list_files(folder: Path) -> list[Path]:
    """Return the files of the user's folder `local`, sorted."""
    return sorted(folder.rglob("*.sql"))


def read_bytes(path: Path) -> bytes:
    """Read a file. Raises DefinitionError if it cannot be read, or is not one that a user writes."""
    # Opening a named pipe would wait for a writer.
    if path.exists() and not path.is_file():
        raise DefinitionError(path, "not a regular file")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DefinitionError(path, f"larger than {MOST_BYTES // 1024} KiB")
        return path.read_bytes()
    except OSError as error:
        raise DefinitionError(path, f"cannot be read: {error.strerror}") from error


def read_user_file(path: Path, folder: Path, reserved: Collection[str] = ()) -> ViewFile | QueryFile:
    """Read a view or query in the user's folder `local`; its SQL itself is not parsed.

    Raises DefinitionError if the file is not valid, or in one of the `reserved` schemas.
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
    if parts[1] in {*reserved, OLD}:
        raise DefinitionError(path, f"the schema {parts[1]} is reserved. Use {folder.name} or another name")
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
