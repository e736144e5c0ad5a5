"""Decide whether the database in a warehouse equals the one that a build would produce now.

A build writes its inputs and the checksum of the file to `.ingest/database.json` before it replaces the
database. If it is killed between the two steps, or the database is changed later, the checksum does not
match.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import duckdb
import sqlglot

from tracehouse.engines.duckdb.write import user_definitions
from tracehouse.engines.names import DATABASE
from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import build_info_file
from tracehouse.ingest.store.records import Conversion, record_name
from tracehouse.ingest.store.snapshot import Snapshot

_PACKAGE = Path(__file__).parents[3]
# The layers that decide what a database contains.
_LAYERS = ("ingest", "definitions", "views", "sql", "engines/duckdb")
# Names in the records of Tracehouse 1.0. Without them, an update would forget the kind of a database.
_RENAMED = {"with_views": "materialize", "contains_tables": "embed_tables"}
_SUFFIXES = {".csv", ".lock", ".py", ".sql"}


@dataclass(frozen=True)
class BuildInfo:
    """What a database was built from: a hash of the data and definitions, and files of materialized views.

    `embed_tables` is true for copies of the base tables instead of views over Parquet. With `materialize`,
    the warehouse has materialized views.
    """

    input_hash: str = ""
    embed_tables: bool = False
    materialize: bool = True
    view_files: Sequence[str] = ()

    def over(self, snapshot: Snapshot) -> "BuildInfo":
        """Return what a database of the same kind over a snapshot is built from."""
        return replace(self, input_hash=snapshot.input_hash, view_files=snapshot.view_files)


def hash_inputs(conversions: Sequence[Conversion], warehouse: Path) -> str:
    """Hash everything that a database over some conversions is built from. `warehouse` is absolute."""
    contents = [record_name(conversion) for conversion in conversions]
    user_files = user_definitions.hash_files(warehouse / user_definitions.FOLDER)
    return fingerprint([], [hash_definitions(), str(warehouse), *sorted(contents), *user_files])


@cache
def hash_definitions() -> str:
    """Hash the package's files and library versions that a database is built from, without its data.

    The hash is cached: a build needs it several times, and it is computed from hundreds of files.
    """
    return fingerprint(list_definitions(), [duckdb.__version__, sqlglot.__version__])


def list_definitions() -> list[Path]:
    """Return the package's files that decide what a database contains, sorted."""
    return sorted(
        path for layer in _LAYERS for path in (_PACKAGE / layer).rglob("*") if path.suffix in _SUFFIXES
    )


def fingerprint(files: Iterable[Path], texts: Iterable[str]) -> str:
    """Hash the names and contents of files, in their order, and some texts."""
    digest = hashlib.sha256()
    for part in (part for file in files for part in (file.name.encode(), file.read_bytes())):
        digest.update(b"%d:" % len(part) + part)
    digest.update(json.dumps(list(texts)).encode())
    return digest.hexdigest()


def read(warehouse: Path) -> BuildInfo:
    """Return what the last build recorded; the defaults if there is no valid record."""
    try:
        info = _read_record(warehouse)["info"]
        return BuildInfo(**{_RENAMED.get(name, name): value for name, value in info.items()})
    except (KeyError, TypeError, AttributeError):
        return BuildInfo()


def write(warehouse: Path, info: BuildInfo, built: Path) -> None:
    """Record the inputs of the database at `built`, before it replaces the one in the warehouse."""
    record = {"sha256": hash_file(built), "version": version("tracehouse"), "info": asdict(info)}
    write_atomically(build_info_file(warehouse), json.dumps(record))


def is_unmodified(warehouse: Path) -> bool:
    """Return whether the database is the one that was last published, byte for byte."""
    database = warehouse / DATABASE
    if not database.is_file() or log_of(database).exists():
        return False
    return _read_record(warehouse).get("sha256") == hash_file(database)


def log_of(database: Path) -> Path:
    """Return the file in which DuckDB keeps changes that are not in the database's file yet."""
    return database.with_name(f"{database.name}.wal")


def hash_file(path: Path) -> str:
    """Hash the content of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_record(warehouse: Path) -> dict:
    try:
        record = json.loads(build_info_file(warehouse).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
