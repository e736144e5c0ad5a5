"""Write small raw files, and ingest them without building a database."""

import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from tracehouse.core.progress import Progress
from tracehouse.ingest import pipeline
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import cleanup, lock, records
from tracehouse.ingest.store.records import Conversion


def quiet(*_: object) -> None:
    """Ignore progress."""


def tar_gz(members: Mapping[str, bytes], level: int = 9) -> bytes:
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


def ingest_raw(
    raw: Path | Sequence[Path],
    warehouse: Path,
    *traces: str,
    replacing: bool = False,
    progress: Progress = quiet,
) -> IngestResult:
    """Ingest raw folders without building a database."""
    with lock.acquire(warehouse):
        cleanup.remove_leftovers(warehouse)
        raw_folders = [raw] if isinstance(raw, Path) else raw
        outcome = pipeline.convert(raw_folders, warehouse, traces, progress, replacing)
        records.publish(warehouse, outcome.conversions)
    return outcome


def ingest(folder: Path, files: dict[str, bytes], progress: Progress = quiet) -> IngestResult:
    """Write the files to `folder/raw`, and ingest them into `folder/warehouse` without a database."""
    return ingest_raw(write(folder / "raw", files), folder / "warehouse", progress=progress)


def only(outcome: IngestResult) -> Conversion:
    """Return the only conversion of an ingest that had no problems."""
    assert outcome.problems == ()
    (conversion,) = outcome.converted
    return conversion


def refusal(outcome: IngestResult) -> str:
    """Return the only problem of an ingest that stored nothing."""
    assert outcome.conversions == ()
    (problem,) = outcome.problems
    assert "\n" not in str(problem)
    return str(problem)


def stored(folder: Path, *conversions: Conversion) -> list[tuple]:
    """Return the rows of some conversions, sorted if there are several conversions."""
    files = [str(folder / "warehouse" / file.path) for c in conversions for file in c.files]
    rows = duckdb.connect().execute("from read_parquet($files)", {"files": files}).fetchall()
    return rows if len(conversions) == 1 else sorted(rows)


def list_unlisted(warehouse: Path) -> set[str]:
    """Return the Parquet files of base tables that neither the manifest nor a record lists."""
    conversions = [*records.read_conversions(warehouse), *records.read_finished(warehouse)]
    known = records.list_files(conversions) | records.read(warehouse).known_files
    found = (warehouse / "parquet").rglob("*.parquet")
    return {path.relative_to(warehouse).as_posix() for path in found} - known
