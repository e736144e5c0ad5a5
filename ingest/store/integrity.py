"""Compares Parquet files with what the manifest says of them, and makes a lost manifest anew."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.errors import UsageError, UserError, check_traces
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.discovery.unpack import sha256_of
from tracehouse.ingest.store import artifacts, manifest
from tracehouse.ingest.store.manifest import Conversion, Manifest, StoredFile

_OTHER_CONTENT = "its content is not what was written"

OnBytes = Callable[[int], None]
"""Called with the number of bytes read since the last call."""

Progress = Callable[[str, int, int], None]
"""Called with what is being read, the bytes read since the last call, and the total of bytes."""


@dataclass(frozen=True)
class Damage:
    """A stored file that is not as it was written, the conversion that it is part of, and what is wrong."""

    stored: StoredFile
    conversion: Conversion
    what: str


@dataclass(frozen=True)
class Checked:
    """How much was checked, and what is damaged."""

    files: int
    bytes: int
    damages: tuple[Damage, ...]


def check(warehouse: Path, traces: Sequence[str], progress: Progress) -> Checked:
    """Compare every Parquet file of the named traces, of all if none is named, with the manifest.

    Raises UsageError where a trace does not exist, and UserError where there is no manifest.
    """
    check_traces(traces, all_traces())
    published = [c for c in artifacts.published(warehouse) if not traces or c.trace in traces]
    if not published:
        raise UserError(f"{warehouse / manifest.NAME}: it lists no files to check")
    total = sum(stored.bytes for conversion in published for stored in conversion.all_files)
    found = tuple(damages(warehouse, published, lambda more: progress("checksums", more, total)))
    return Checked(sum(len(conversion.all_files) for conversion in published), total, found)


def wrong_sizes(warehouse: Path, conversions: Iterable[Conversion]) -> Iterator[Damage]:
    """The files that are gone, or longer or shorter than they were written."""
    for conversion in conversions:
        for stored in conversion.all_files:
            found = artifacts.size_of(warehouse, stored)
            if found is None:
                yield Damage(stored, conversion, "the file is gone")
            elif found != stored.bytes:
                yield Damage(stored, conversion, f"it has {found:,} bytes; {stored.bytes:,} were written")


def damages(warehouse: Path, conversions: Iterable[Conversion], on_bytes: OnBytes) -> Iterator[Damage]:
    """The files whose size, or else whose checksum, is not what was written. Reads every byte."""
    for conversion in conversions:
        wrong = list(wrong_sizes(warehouse, [conversion]))
        yield from wrong
        for stored in set(conversion.all_files) - {damage.stored for damage in wrong}:
            if sha256_of((warehouse / stored.path,), on_bytes) != stored.sha256:
                yield Damage(stored, conversion, _OTHER_CONTENT)


def check_sizes(warehouse: Path, conversions: Iterable[Conversion]) -> None:
    """Raise UserError where a file is gone, or longer or shorter than it was written."""
    wrong = list(wrong_sizes(warehouse, conversions))
    if wrong:
        first = wrong[0]
        others = f", and {len(wrong) - 1:,} others are not whole either" if len(wrong) > 1 else ""
        raise UserError(f"{warehouse / first.stored.path}: {first.what}{others}. {advice(first)}")


def advice(damage: Damage) -> str:
    """How to make a file whole again."""
    source = damage.conversion.shown_source
    # An ingest compares sizes only: changed content of the same size would stay.
    first = "Delete it, and run" if damage.what == _OTHER_CONTENT else "Run"
    return (
        f"{first} `traces ingest` with {source} below the raw folder, which is then read anew; or take "
        f"that out of the warehouse: traces forget {source}"
    )


def recover(warehouse: Path, progress: Progress) -> list[str]:
    """Make the manifest anew from the records of what each raw file gave, and publish it.

    A damaged manifest is kept beside it. Returns notes on what could not be taken up.
    Raises UsageError where the manifest needs no recovery, and UserError where there are no records.
    """
    path = warehouse / manifest.NAME
    if _is_readable(warehouse):
        raise UsageError(f"{path}: it is there, and whole: there is nothing to recover")
    notes: list[str] = []
    taken: list[Conversion] = []
    records = artifacts.records(warehouse)
    total = sum(stored.bytes for c in records.values() if c for stored in c.all_files)
    for record, conversion in records.items():
        if conversion is None:
            notes.append(f"{record}: passed over, the record is damaged")
            continue
        wrong = list(damages(warehouse, [conversion], lambda more: progress("checksums", more, total)))
        notes += [f"{warehouse / damage.stored.path}: {damage.what}" for damage in wrong]
        if wrong:
            notes.append(f"{conversion.shown_source} is left out of {conversion.table_name}: ingest it again")
        else:
            taken.append(conversion)
    if not taken:
        raise UserError(
            f"{warehouse}: there are no records of conversions to make {path.name} from. Ingest the raw "
            "files into a new warehouse"
        )
    if path.exists():
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        notes.append(f"{aside}: what was there before")
    manifest.write(warehouse, Manifest().next(taken))
    lost = artifacts.unlisted(warehouse)
    if lost:
        notes.append(
            f"{len(lost):,} Parquet files are in no record that was taken up, and stay as they are: {lost[0]}"
        )
    return notes


def _is_readable(warehouse: Path) -> bool:
    try:
        return manifest.read(warehouse).version > 0
    except UserError:
        return False
