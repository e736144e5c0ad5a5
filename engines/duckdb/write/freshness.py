"""Whether the database at hand is the one that a build would give now, so that it need not be built again.

A build leaves a mark beside the store: a hash of all that went into the database, and one of the file that
came out. The mark is written before the file takes its place: a kill between the two leaves the mark of
another file, and so does whatever changes the file afterwards.

DuckDB counts in a file's header how often it was written. The mark has the header of the file before too, so
that after such a kill a database that nobody wrote into is still known as one of ours.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
import sqlglot

from tracehouse.engines.duckdb.names import NAME
from tracehouse.engines.duckdb.write import local
from tracehouse.ingest.store import artifacts, manifest
from tracehouse.ingest.store.manifest import Conversion

_PACKAGE = Path(__file__).parents[3]
# What of the package has a say in what a database holds.
_ROOMS = ("ingest", "views", "sql", "engines/duckdb")
_HEADER_BYTES = 3 * 4096
_ENDINGS = {".csv", ".lock", ".py", ".sql"}


def fingerprint(files: Iterable[Path], texts: Iterable[str]) -> str:
    """A hash of the names and contents of files, in their order, and of some texts."""
    digest = hashlib.sha256()
    for part in (part for file in files for part in (file.name.encode(), file.read_bytes())):
        digest.update(b"%d:" % len(part) + part)
    digest.update(json.dumps(list(texts)).encode())
    return digest.hexdigest()


def of_build(conversions: Sequence[Conversion], place: Path, stored: Sequence[str] = ()) -> str:
    """The fingerprint of what a database over some conversions, in a warehouse at `place`, is made from.

    `stored` are the files of views that it reads.
    """
    contents = [json.dumps(asdict(conversion), sort_keys=True) for conversion in conversions]
    versions = [duckdb.__version__, sqlglot.__version__]
    of_user = local.contents(place / local.FOLDER)
    return fingerprint(_definitions(), [str(place), *versions, *sorted(contents), *of_user, *stored])


def _definitions() -> list[Path]:
    found = (path for room in _ROOMS for path in (_PACKAGE / room).rglob("*") if path.suffix in _ENDINGS)
    return sorted(found)


def is_fresh(place: Path, made_from: str) -> bool:
    """Whether the database in a warehouse is whole, untouched, and was made from what has the fingerprint."""
    database = place / NAME
    if not database.is_file() or database.with_name(f"{NAME}.wal").exists():
        return False
    mark = _mark(place)
    return mark.get("made_from") == made_from and mark.get("sha256") == _sha256(database)


def stores_views(place: Path) -> bool:
    """Whether the database at hand was built with stored views; true where that is not known."""
    return _mark(place).get("stores_views") is not False


def leave_mark(place: Path, made_from: str, built: Path, stores: bool = True) -> None:
    """Say what a database was made from that is to take its place in a warehouse, and if it stores views."""
    before = [header for header in headers(place) if header == header_of(place / NAME)]
    mark = {
        "made_from": made_from,
        "sha256": _sha256(built),
        "stores_views": stores,
        "headers": list(dict.fromkeys([*before, header_of(built)])),
    }
    manifest.write_whole(artifacts.mark_of_database(place), json.dumps(mark))


def headers(place: Path) -> list[str]:
    """What `header_of` gave of the databases that were built here last; none where that is not known."""
    found = _mark(place).get("headers")
    return [str(header) for header in found] if isinstance(found, list) else []


def header_of(database: Path) -> str:
    """A hash of a database's header, which changes with each write; empty where there is no database."""
    if not database.is_file():
        return ""
    with database.open("rb") as file:
        return hashlib.sha256(file.read(_HEADER_BYTES)).hexdigest()


def _mark(place: Path) -> dict[str, Any]:
    try:
        mark = json.loads(artifacts.mark_of_database(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
