"""Compare a raw file with the version that the warehouse contains."""

from collections.abc import Sequence
from dataclasses import replace

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.convert.raw_input import AlreadyStored, RawInput
from tracehouse.ingest.store import records
from tracehouse.ingest.store.records import Conversion

# A new version with less than half of the last version's rows is more likely a broken download than a new
# release.
_LEAST_SHARE_OF_ROWS_BEFORE = 0.5
# A new version with so many times the rows may contain every row twice.
_NOTED_GROWTH = 2


def is_up_to_date(raw_input: RawInput, before: Conversion, stored: AlreadyStored) -> bool:
    """Return whether a conversion is intact and a new conversion would return the same rows."""
    return (
        before.fingerprint == raw_input.table.fingerprint()
        and records.is_complete(raw_input.warehouse, before)
        and all(source.synthetic == raw_input.is_synthetic for source in before.sources)
        and stored.keys().isdisjoint(before.data_files)
        and _has_same_bytes(raw_input, before)
    )


def _has_same_bytes(raw_input: RawInput, before: Conversion) -> bool:
    same = raw_input.checksum(raw_input.on_bytes) == before.sha256
    if not same and not raw_input.raw.has_directory:
        # The conversion will read and report these bytes again.
        raw_input.on_bytes(-raw_input.raw.bytes)
    return same


def relocate(conversion: Conversion, raw_input: RawInput) -> Conversion:
    """Return the conversion of an unchanged raw file with the file's current path and number of parts."""
    raw, table = raw_input.raw, raw_input.table
    files = raw.list_files() if raw.partition and table.wide else [raw] * len(conversion.sources)
    sources = [
        replace(
            source,
            file=file.relative_name,
            parts=len(file.paths),
            checksum=raw_input.compare_checksum(source.sha256),
        )
        for source, file in zip(conversion.sources, files, strict=True)
    ]
    return replace(conversion, sources=tuple(sources))


def compare_with_previous(
    raw_input: RawInput, conversion: Conversion, unreadable: Sequence[RawFileError]
) -> list[str]:
    """Return notes on data files that the new version lacks, or that have fewer or twice as many rows.

    Unless the file may shrink, raises RawFileError if all data files of the last version are missing, or more
    than half of its rows. If `unreadable` has errors and rows of the last version are missing, raises the
    first of these errors.
    """
    raw, table_name = raw_input.raw, raw_input.table_name
    now = {source.member: source.rows_read for source in conversion.sources}
    before = {s.member: s.rows_read for s in (raw_input.before.sources if raw_input.before else ())}
    if unreadable and sum(now.values()) < sum(before.values()):
        raise unreadable[0]
    if before and now.keys().isdisjoint(before) and not raw_input.may_shrink:
        raise RawFileError(
            raw.paths[0],
            f"it contains none of the files that the last version contained for {table_name}",
            "Rename it; if it is a newer version of that file, ingest it with --replace",
        )
    if not raw_input.may_shrink and sum(now.values()) < _LEAST_SHARE_OF_ROWS_BEFORE * sum(before.values()):
        raise RawFileError(
            raw.paths[0],
            f"it has {sum(now.values()):,} rows for {table_name}; the version in the warehouse has "
            f"{sum(before.values()):,}",
            "Download the file again. If the new one is the same, it is complete: ingest it with --replace",
        )
    file = raw.relative_name
    notes = []
    for member, rows in before.items():
        if member not in now:
            notes.append(f"{file} no longer contains {member}: {table_name} loses its {rows:,} rows")
        elif now[member] < rows or now[member] >= _NOTED_GROWTH * rows > 0:
            notes.append(f"{file}: {member} has {now[member]:,} rows for {table_name}; it had {rows:,}")
    if not any(now.values()):
        notes.append(f"{file} has no rows")
    return notes
