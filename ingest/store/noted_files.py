"""Remember the notes on raw files of no table, so that the next ingest does not open an unchanged file.

    <warehouse>/.ingest/unrecognised.json

The file is valid for the declarations whose hash it has: files of new tables are found again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tracehouse.ingest.declare.trace import Trace
from tracehouse.ingest.dump.open import Stamp
from tracehouse.ingest.store.files import write_atomically
from tracehouse.ingest.store.layout import WORK_FOLDER

Notes = Mapping[str, tuple[Stamp, str]]
"""By the absolute path of a raw file: the stamp with which it was read, and the note, empty if none."""


def read(warehouse: Path, traces: Iterable[Trace]) -> Notes:
    """Return the notes of the last ingest; none if it had none, or other declarations of `traces`."""
    try:
        entry = json.loads(_path(warehouse).read_text(encoding="utf-8"))
        if entry["declarations"] == _hash(traces):
            return {path: (stamp, str(note)) for path, (stamp, note) in entry["notes"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    return {}


def write(warehouse: Path, traces: Iterable[Trace], notes: Notes) -> None:
    """Replace the notes of the last ingest."""
    entry = {"declarations": _hash(traces), "notes": notes}
    write_atomically(_path(warehouse), json.dumps(entry))


def _path(warehouse: Path) -> Path:
    return warehouse / WORK_FOLDER / "unrecognised.json"


def _hash(traces: Iterable[Trace]) -> str:
    declared = [
        (
            trace.name,
            [(table.name, table.fingerprint()) for table in trace.tables],
            [f.path for f in trace.files],
        )
        for trace in traces
    ]
    return hashlib.sha256(repr(declared).encode()).hexdigest()
