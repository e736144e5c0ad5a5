"""Raw files of a few lines, packed and written, and an ingest of them without the database."""

import io
import tarfile
import zipfile
from pathlib import Path

import duckdb

from tracehouse.core.progress import Progress
from tracehouse.ingest import pipeline
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import cleanup, journal, lock
from tracehouse.ingest.store.manifest import Conversion


def quiet(*_: object) -> None:
    """Ignore progress."""


def tar_gz(members: dict[str, bytes], level: int = 9) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=level) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def ingest(folder: Path, files: dict[str, bytes], progress: Progress = quiet) -> IngestResult:
    """All of an ingest but the database, from files that are written first."""
    raw = write(folder / "raw", files)
    warehouse = folder / "warehouse"
    with lock.acquire(warehouse):
        cleanup.remove_leftovers(warehouse)
        outcome = pipeline.convert([raw], warehouse, [], progress)
        journal.publish(warehouse, outcome.conversions)
    return outcome


def only(outcome: IngestResult) -> Conversion:
    """The one conversion of an ingest without problems."""
    assert outcome.problems == ()
    (conversion,) = outcome.converted
    return conversion


def refusal(outcome: IngestResult) -> str:
    """The one problem of an ingest that gave nothing."""
    assert outcome.conversions == ()
    (problem,) = outcome.problems
    assert "\n" not in str(problem)
    return str(problem)


def stored(folder: Path, *conversions: Conversion) -> list[tuple]:
    """The rows of conversions, sorted where there are several."""
    files = [str(folder / "warehouse" / file.path) for c in conversions for file in c.files]
    rows = duckdb.connect().execute("from read_parquet($files)", {"files": files}).fetchall()
    return rows if len(conversions) == 1 else sorted(rows)
