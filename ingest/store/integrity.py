"""Compare the files of a warehouse with their checksums."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.errors import RawFileError, UserError, check_traces
from tracehouse.core.permissions import explain_denied
from tracehouse.core.progress import Progress
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.dump.open import sha256_of
from tracehouse.ingest.store import files, records, view_store
from tracehouse.ingest.store.records import Conversion

OnBytes = Callable[[int], None]
"""Called with the number of bytes read since the last call."""


@dataclass(frozen=True)
class Artifact:
    """A Parquet file as it was written, and how to restore it. `bytes` is None if it was not recorded."""

    path: str
    sha256: str
    bytes: int | None
    advice: str


@dataclass(frozen=True)
class Damage:
    """A damaged file: its path below the warehouse, the problem, and how to restore the file.

    `word` says what the file is: damaged, or unreadable for this user.
    """

    path: str
    problem: str
    advice: str
    word: str = "damaged"


@dataclass(frozen=True)
class Report:
    """The number of checked files, their total size in bytes, and the damaged files."""

    files: int
    bytes: int
    damages: tuple[Damage, ...]


def check(warehouse: Path, traces: Sequence[str], progress: Progress) -> Report:
    """Compare every Parquet file of the named traces with its checksum. No names mean all traces.

    Raises UsageError if a trace does not exist, and UserError if the manifest lists no files.
    """
    check_traces(traces, all_traces())
    published = [c for c in records.read_conversions(warehouse) if not traces or c.trace in traces]
    if not published:
        raise UserError(f"{warehouse / records.NAME}: the manifest lists no files to check")
    artifacts = [*_list_table_files(published), *_list_view_files(warehouse, traces)]
    total = sum(artifact.bytes or _size_of_view(warehouse / artifact.path) for artifact in artifacts)
    damages = _find_damages(warehouse, artifacts, lambda more: progress("checksums", more, total))
    return Report(len(artifacts), total, tuple(damages))


def join_words(damages: Iterable[Damage]) -> str:
    """Return what some files are: damaged, unreadable, or both."""
    return " or ".join(sorted({damage.word for damage in damages}))


def _size_of_view(path: Path) -> int:
    """Return the size of a file, which nothing has recorded, and 0 if it is missing or unreadable."""
    with suppress(PermissionError):
        return files.size_of(path) or 0
    return 0


def check_sizes(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    """Raise UserError if a file of a conversion is missing or has a wrong size."""
    damages = list(find_wrong_sizes(warehouse, conversions))
    if damages:
        first, more = damages[0], len(damages) - 1
        files = "1 other file is" if more == 1 else f"{more:,} other files are"
        others = f", and {files} {join_words(damages[1:])}" if more else ""
        raise UserError(f"{warehouse / first.path}: {first.problem}{others}. {first.advice}")


def find_wrong_sizes(warehouse: Path, conversions: Iterable[Conversion]) -> Iterator[Damage]:
    """Yield the files of conversions that are missing or have a wrong size."""
    return _find_damages(warehouse, _list_table_files(conversions))


def _find_damages(
    warehouse: Path, artifacts: Iterable[Artifact], on_bytes: OnBytes | None = None
) -> Iterator[Damage]:
    """Yield the files whose size, or whose content if `on_bytes` is given, differs from what was written."""
    for artifact in artifacts:
        try:
            problem = _find_problem(warehouse, artifact, on_bytes)
        except (OSError, RawFileError) as error:
            if denied := explain_denied(warehouse / artifact.path):
                yield Damage(artifact.path, "permission denied", denied, "unreadable")
                continue
            problem = f"it cannot be read ({error})"
        if problem:
            yield Damage(artifact.path, problem, artifact.advice)


def _find_problem(warehouse: Path, artifact: Artifact, on_bytes: OnBytes | None) -> str:
    found = files.size_of(warehouse / artifact.path)
    if found is None:
        return "the file is missing"
    if artifact.bytes not in (None, found):
        return f"it has {found:,} bytes; {artifact.bytes:,} were written"
    if on_bytes and sha256_of((warehouse / artifact.path,), on_bytes) != artifact.sha256:
        return "its content is not what was written"
    return ""


def _list_table_files(conversions: Iterable[Conversion]) -> Iterator[Artifact]:
    for conversion in conversions:
        source = conversion.shown_source
        # Ingest compares only sizes. It would keep a file of the right size unless the user deletes it.
        advice = (
            f"Delete it, if it exists, and run `traces ingest` with {source} below the raw folder, which "
            f"reads the file again; or remove its rows: traces forget {source}"
        )
        for stored in conversion.all_files:
            yield Artifact(stored.path, stored.sha256, stored.bytes, advice)


def _list_view_files(warehouse: Path, traces: Sequence[str]) -> Iterator[Artifact]:
    for path, sha256 in view_store.read_checksums(warehouse, traces).items():
        # A build checks only that a file is readable, and restores only files that the database reads. A file
        # without a checksum does not count as missing.
        checksum = view_store.checksum_file(Path(path)).name
        advice = (
            f"Delete it, if it exists, and {checksum} next to it, and run `traces build`, which computes the "
            "view again"
        )
        yield Artifact(path, sha256, None, advice)
