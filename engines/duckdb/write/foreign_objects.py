"""Finds what somebody else wrote into the database, and keeps it when a new one takes its place."""

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.core.names import listed
from tracehouse.engines.duckdb.attach import HeldError, attach
from tracehouse.engines.duckdb.write.freshness import hash_header

_MARK, _MARK_ENDS = b"DUCK", 12

_FOREIGN = """
    with there(name) as (
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

    ours(name) as (
        select table_name from before.catalog.tables
        union all
        select unnest([view_name, versioned_name]) from before.catalog.views
        union all
        select query_name from before.catalog.queries
    )

    select name from there where not starts_with(name, 'catalog.') except from ours order by name
"""


def check_is_free(database: Path) -> None:
    """Raise UserError where a process has the database open for writing, whose work would be lost."""
    if not database.exists():
        return
    with duckdb.connect() as connection:
        try:
            attach(connection, database, "before")
        except HeldError:
            raise
        except UserError:
            # It is replaced, whatever it is; that is said elsewhere.
            return


def keep(database: Path, headers: Sequence[str]) -> list[str]:
    """Keep a database under another name if somebody wrote into it, and tell so.

    `headers` are those of databases as they were built here (see `freshness`); without any, it counts what is
    in the database and not in its catalog. What was written and not taken up yet is in a log beside it.
    """
    log = _log(database)
    if not _is_database(database):
        return []
    is_written = log.exists() or (bool(headers) and hash_header(database) not in headers)
    if headers and not is_written:
        return []
    names = _foreign(database)
    if not (names or is_written):
        return []
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    aside = database.with_name(f"{database.stem}-kept-{now}{database.suffix}")
    _link(database, aside)
    if log.exists():
        log.replace(_log(aside))
    wrote = f"wrote {listed(names, 5)} into the database" if names else "wrote into the database"
    return [
        f"{database}: somebody {wrote}, which is not in the new one. The old one is kept as {aside}. Views "
        f"and queries that are to stay are files below {database.parent / 'local'}; tables belong in a "
        "database of your own that attaches this one"
    ]


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(_MARK_ENDS)[-len(_MARK) :] == _MARK


def _log(database: Path) -> Path:
    return database.with_name(f"{database.name}.wal")


def _foreign(database: Path) -> Sequence[str]:
    """The names of what is in a database and not in its catalog; none where it cannot be opened."""
    with duckdb.connect() as connection:
        try:
            attach(connection, database, "before")
            return [name for (name,) in connection.execute(_FOREIGN).fetchall()]
        except (UserError, duckdb.CatalogException):
            return []


def _link(database: Path, aside: Path) -> None:
    try:
        os.link(database, aside)
    except OSError:
        # Not every file system has hard links.
        shutil.copy2(database, aside)
