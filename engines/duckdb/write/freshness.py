"""Whether the database at hand is the one that a build would give now, so that it need not be built again.

A build leaves a mark beside the store: a hash of all that went into the database, and one of the file that
came out. The mark is written last. A kill before that leaves the mark of another file; and so does whatever
changes the file afterwards.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import duckdb
import sqlglot

from tracehouse.engines.duckdb.names import NAME
from tracehouse.ingest import manifest, store
from tracehouse.ingest.manifest import Conversion

_PACKAGE = Path(__file__).parents[3]
# What of the package has a say in what a database holds.
_ROOMS = ("ingest", "views", "sql", "engines/duckdb")
_ENDINGS = {".csv", ".lock", ".py", ".sql"}


def fingerprint(files: Iterable[Path], texts: Iterable[str]) -> str:
    """A hash of the names and contents of files, in their order, and of some texts."""
    digest = hashlib.sha256()
    for part in (part for file in files for part in (file.name.encode(), file.read_bytes())):
        digest.update(b"%d:" % len(part) + part)
    digest.update(json.dumps(list(texts)).encode())
    return digest.hexdigest()


def of_build(conversions: Sequence[Conversion], place: Path) -> str:
    """The fingerprint of what a database over some conversions, in a warehouse at `place`, is made from."""
    contents = [json.dumps(asdict(conversion), sort_keys=True) for conversion in conversions]
    versions = [duckdb.__version__, sqlglot.__version__]
    return fingerprint(_definitions(), [str(place), *versions, *sorted(contents)])


def _definitions() -> list[Path]:
    found = (path for room in _ROOMS for path in (_PACKAGE / room).rglob("*") if path.suffix in _ENDINGS)
    return sorted(found)


def is_fresh(place: Path, made_from: str) -> bool:
    """Whether the database in a warehouse is whole, untouched, and was made from what has the fingerprint."""
    database = place / NAME
    if not database.is_file() or database.with_name(f"{NAME}.wal").exists():
        return False
    try:
        mark = json.loads(store.mark_of_database(place).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(mark, dict) or mark.get("made_from") != made_from:
        return False
    return bool(mark.get("sha256") == _sha256(database))


def leave_mark(place: Path, made_from: str) -> None:
    """Say that the database in a warehouse was made from what has the fingerprint."""
    text = json.dumps({"made_from": made_from, "sha256": _sha256(place / NAME)})
    manifest.write_whole(store.mark_of_database(place), text)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
