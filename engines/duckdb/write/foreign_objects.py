"""Find what other programs wrote into the database, and keep that database when a new one replaces it."""

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.core.text import join_names
from tracehouse.engines.duckdb.attach import HeldError, attach
from tracehouse.engines.duckdb.write.freshness import hash_header
from tracehouse.sql.names import OWN

_MAGIC, _MAGIC_END = b"DUCK", 12

_FOREIGN = """
    with present(name) as (
        select schema_name || '.' || table_name from duckdb_tables()
        where database_name = 'before' and not internal
        union
        select schema_name || '.' || view_name from duckdb_views()
        where database_name = 'before' and not internal
        union
        select schema_name || '.' || function_name from duckdb_functions()
        where database_name = 'before' and not internal
        union
        select schema_name || '.' || sequence_name from duckdb_sequences() where database_name = 'before'
    ),

    listed(name) as (
        select table_name from before.catalog.tables
        union all
        select unnest([view_name, versioned_name]) from before.catalog.views
        union all
        select query_name from before.catalog.queries
    )

    select name from present where split_part(name, '.', 1) not in ('catalog', 'stats', 'each_trace')
    except from listed order by name
"""


def check_is_free(database: Path) -> None:
    """Raise UserError if another process has the database open for writing: its changes would be lost."""
    if not database.exists():
        return
    with duckdb.connect() as connection:
        try:
            attach(connection, database, "before")
        except HeldError:
            raise
        except UserError:
            # An unreadable database is replaced, and the caller reports it.
            return


def keep(database: Path, headers: Sequence[str]) -> list[str]:
    """Keep a database under another name if a user wrote into it, and return a note on that.

    `headers` are the hashes of headers that `freshness.read_headers` returns. Without any, a database counts
    as modified if it has objects that its catalog does not list, or a log: DuckDB keeps changes that are not
    in the file yet in a log next to it.
    """
    log = _log_of(database)
    if not _is_database(database):
        return []
    is_written = log.exists() or (bool(headers) and hash_header(database) not in headers)
    if headers and not is_written:
        return []
    names = _find_foreign_objects(database)
    if not (names or is_written):
        return []
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    copy = database.with_name(f"{database.stem}-kept-{now}{database.suffix}")
    _link(database, copy)
    if log.exists():
        log.replace(_log_of(copy))
    wrote = f"wrote {join_names(names, 5)} into the database" if names else "wrote into the database"
    return [
        f"{database}: a user {wrote}. The new database does not have these changes; the old one is kept as "
        f"{copy}. Put your own views and queries into files below {database.parent / OWN}, and your own "
        "tables into a database that attaches this one"
    ]


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(_MAGIC_END)[-len(_MAGIC) :] == _MAGIC


def _log_of(database: Path) -> Path:
    return database.with_name(f"{database.name}.wal")


def _find_foreign_objects(database: Path) -> Sequence[str]:
    """Return the objects that the catalog of a database does not list; none if it cannot be opened."""
    with duckdb.connect() as connection:
        try:
            attach(connection, database, "before")
            return [name for (name,) in connection.execute(_FOREIGN).fetchall()]
        except (UserError, duckdb.CatalogException):
            return []


def _link(database: Path, copy: Path) -> None:
    try:
        os.link(database, copy)
    except OSError:
        # Not every file system has hard links.
        shutil.copy2(database, copy)
