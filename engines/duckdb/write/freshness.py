"""Decide whether the database in a warehouse equals the one that a build would produce now.

A build writes a mark: a fingerprint of everything that the database was built from, the checksum of the file,
and the files of materialized views that it reads. The build writes the mark before it replaces the database.
If the build is killed between the two steps, or the database is changed later, the mark does not match it.

DuckDB counts the writes to a file in its header. The mark also has the header of the previous database, so
that this database still counts as unmodified after such a kill.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import sqlglot

from tracehouse.engines.duckdb.names import NAME
from tracehouse.engines.duckdb.write import local
from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import database_mark
from tracehouse.ingest.store.records import Conversion, record_name

_PACKAGE = Path(__file__).parents[3]
# The layers that decide what a database contains.
_LAYERS = ("ingest", "views", "sql", "engines/duckdb")
_HEADER_BYTES = 3 * 4096
_SUFFIXES = {".csv", ".lock", ".py", ".sql"}


def fingerprint(files: Iterable[Path], texts: Iterable[str]) -> str:
    """Hash the names and contents of files, in their order, and some texts."""
    digest = hashlib.sha256()
    for part in (part for file in files for part in (file.name.encode(), file.read_bytes())):
        digest.update(b"%d:" % len(part) + part)
    digest.update(json.dumps(list(texts)).encode())
    return digest.hexdigest()


def fingerprint_inputs(conversions: Sequence[Conversion], warehouse: Path, with_views: bool) -> str:
    """Hash everything that a database over some conversions is built from.

    `warehouse` is absolute. Materialized views are derived from these inputs: of them, only `with_views`
    counts.
    """
    contents = [record_name(conversion) for conversion in conversions]
    user_files = local.hash_files(warehouse / local.FOLDER)
    return fingerprint(
        [], [hash_definitions(), str(warehouse), str(with_views), *sorted(contents), *user_files]
    )


@cache
def hash_definitions() -> str:
    """Hash the package's files and library versions that a database is built from, without its data.

    The hash is cached: a build needs it several times, and it is computed from hundreds of files.
    """
    return fingerprint(_list_definitions(), [duckdb.__version__, sqlglot.__version__])


def _list_definitions() -> list[Path]:
    return sorted(
        path for layer in _LAYERS for path in (_PACKAGE / layer).rglob("*") if path.suffix in _SUFFIXES
    )


def is_fresh(warehouse: Path, inputs: str) -> bool:
    """Return whether the database is unmodified, and was built from the inputs of this fingerprint."""
    return _read_mark(warehouse).get("made_from") == inputs and is_unmodified(warehouse, warehouse / NAME)


def is_unmodified(warehouse: Path, database: Path) -> bool:
    """Return whether a database, or a copy of it, equals the one that was last published, byte for byte."""
    if not database.is_file() or database.with_name(f"{NAME}.wal").exists():
        return False
    return _read_mark(warehouse).get("sha256") == hash_file(database)


def uses_materialized_views(warehouse: Path) -> bool:
    """Return whether the database was built with materialized views; True if that is unknown."""
    return _read_mark(warehouse).get("stores_views") is not False


def read_view_files(warehouse: Path) -> list[str] | None:
    """Return the files of materialized views that the database reads; None if they are unknown."""
    found = _read_mark(warehouse).get("stored")
    return found if isinstance(found, list) and is_unmodified(warehouse, warehouse / NAME) else None


def write_mark(
    warehouse: Path, inputs: str, built: Path, view_files: Sequence[str] = (), with_views: bool = True
) -> None:
    """Record the inputs of the database at `built`, before it replaces the one in the warehouse."""
    before = [header for header in read_headers(warehouse) if header == hash_header(warehouse / NAME)]
    mark = {
        "made_from": inputs,
        "sha256": hash_file(built),
        "stores_views": with_views,
        "stored": list(view_files),
        "headers": list(dict.fromkeys([*before, hash_header(built)])),
    }
    write_atomically(database_mark(warehouse), json.dumps(mark))


def read_headers(warehouse: Path) -> list[str]:
    """Return the header hashes (`hash_header`) of the last databases built here; empty if unknown."""
    found = _read_mark(warehouse).get("headers")
    return [str(header) for header in found] if isinstance(found, list) else []


def hash_header(database: Path) -> str:
    """Hash the header of a database, which changes with each write; empty if there is no database."""
    if not database.is_file():
        return ""
    with database.open("rb") as file:
        return hashlib.sha256(file.read(_HEADER_BYTES)).hexdigest()


def _read_mark(warehouse: Path) -> dict[str, Any]:
    try:
        mark = json.loads(database_mark(warehouse).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


def hash_file(path: Path) -> str:
    """Hash the content of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
