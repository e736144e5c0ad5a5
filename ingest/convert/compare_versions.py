"""Compare a raw file with the version that the warehouse contains."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.archive import checksum
from tracehouse.ingest.convert.raw_input import AlreadyStored, RawInput
from tracehouse.ingest.declarations import Wide
from tracehouse.ingest.find import MatchedFile
from tracehouse.ingest.raw_files import RawFile
from tracehouse.ingest.readers.values import index_values
from tracehouse.ingest.store import checksum_cache, records
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.records import Conversion, OverlappingFile
from tracehouse.ingest.synthetic import is_marked

# A new version with less than half of the last version's rows is more likely a broken download than a new
# release.
_LEAST_SHARE_OF_ROWS_BEFORE = 0.5
_MEMORY = "1GB"


def is_up_to_date(
    raw_input: RawInput, stored: AlreadyStored, overlapping_files: Sequence[OverlappingFile]
) -> bool:
    """Return whether the last conversion is intact and a new conversion would return the same rows.

    `overlapping_files` are the files of a wide table whose lines the conversion must have omitted.
    """
    before, raw = raw_input.before, raw_input.raw
    return (
        before is not None
        and before.fingerprint == raw_input.table.fingerprint()
        and before.overlapping_files == tuple(overlapping_files)
        and records.is_complete(raw_input.warehouse, before)
        and all(source.synthetic == is_synthetic(raw) for source in before.sources)
        and not any(source.member in stored.members for source in before.sources)
        and all(
            copy.member in stored.members and stored.members[copy.member].sha256 == copy.other_sha256
            for copy in before.skipped_copies
        )
        and _has_same_bytes(raw_input, before)
    )


def _has_same_bytes(raw_input: RawInput, before: Conversion) -> bool:
    same = checksum_of(raw_input, raw_input.on_bytes) == before.sha256
    if not same and not raw_input.raw.has_directory:
        # The conversion will read and report these bytes again.
        raw_input.on_bytes(-raw_input.raw.bytes)
    return same


def checksum_of(raw_input: RawInput, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a raw file or partition. The content is read only if it changed since last time.

    Raises RawFileError if the content cannot be read.
    """
    raw, table, warehouse = raw_input.raw, raw_input.table, raw_input.warehouse
    if raw.has_directory:
        return checksum(raw, table)
    found, is_cached = checksum_cache.checksum_of(
        warehouse, raw.paths, lambda: checksum(raw, table, on_bytes)
    )
    if is_cached:
        on_bytes(raw.bytes)
    return found


def relocate(conversion: Conversion, matched: MatchedFile) -> Conversion:
    """Return the conversion of an unchanged raw file with the file's current path and number of parts."""
    raw = matched.raw
    compared = compare_checksum(matched, conversion.sha256)
    sources = (
        replace(source, file=raw.relative_name, parts=len(raw.paths), checksum=compared)
        for source in conversion.sources
    )
    return replace(conversion, sources=tuple(sources))


def read_indexes(conversion: Conversion, warehouse: Path, wide: Wide) -> set[Hashable]:
    """Return the line indexes that the Parquet files of a wide table's conversion contain."""
    indexes: set[Hashable] = set()
    for stored in conversion.files:
        with pq.ParquetFile(warehouse / stored.path) as file:
            for batch in file.iter_batches(columns=[wide.index]):
                indexes.update(index_values(batch.column(0).unique()))
    return indexes


def compare_with_previous(
    raw_input: RawInput, conversion: Conversion, unreadable: Sequence[RawFileError]
) -> list[str]:
    """Return notes on data files that the new version lacks or that have fewer rows than in the last version.

    Unless the file may shrink, raises RawFileError if all data files of the last version are missing, or more
    than half of its rows. If `unreadable` has errors and rows of the last version are missing, raises the
    first of these errors.
    """
    file = raw_input.raw.relative_name
    # Rows read, not rows kept: a line that another file also contains is rejected, but it is not missing.
    now = {source.member: source.rows_read for source in conversion.sources}
    in_other_files = {copy.member for copy in conversion.skipped_copies}
    before = {
        source.member: source.rows_read
        for source in (raw_input.before.sources if raw_input.before else ())
        if source.member not in in_other_files
    }
    if unreadable and sum(now.values()) < sum(before.values()):
        raise unreadable[0]
    if before and now.keys().isdisjoint(before) and not raw_input.may_shrink:
        raise RawFileError(
            raw_input.raw.paths[0],
            f"it contains none of the files that the last version contained for {raw_input.table_name}",
            "Rename it; if it is a newer version of that file, ingest it with --replace",
        )
    if not raw_input.may_shrink and sum(now.values()) < _LEAST_SHARE_OF_ROWS_BEFORE * sum(before.values()):
        raise RawFileError(
            raw_input.raw.paths[0],
            f"it has {sum(now.values()):,} rows for {raw_input.table_name}; "
            f"the version in the warehouse has {sum(before.values()):,}",
            "Download the file again. If the new one is the same, it is complete: ingest it with --replace",
        )
    notes = []
    for member, rows in before.items():
        if member not in now:
            notes.append(
                f"{file} no longer contains {member}: {raw_input.table_name} loses its {rows:,} rows"
            )
        elif now[member] < rows:
            notes.append(
                f"{file}: {member} has {now[member]:,} rows for {raw_input.table_name}; it had {rows:,}"
            )
    if not any(now.values()) and not in_other_files:
        notes.append(f"{file} has no rows")
    return notes


def compare_duplicate_rows(raw_input: RawInput, written: Sequence[StagedFile]) -> list[str]:
    """Return a note if the new version has more rows that equal another row in all columns than the last.

    In a table without a key, no other check finds them; in a wide table, the reader rejects them. They are
    counted only if the new version has more rows than the last one, because counting takes time.
    """
    before, table_name = raw_input.before, raw_input.table_name
    if raw_input.table.wide or not before or sum(file.rows for file in written) <= before.rows:
        return []
    if not records.is_complete(raw_input.warehouse, before):
        return []
    file = raw_input.raw.relative_name
    spill = written[0].path.with_suffix(".spill")
    try:
        now = _count_duplicate_rows([staged.path for staged in written], spill)
        earlier = _count_duplicate_rows([raw_input.warehouse / stored.path for stored in before.files], spill)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        return [f"{file}: rows for {table_name} that repeat another one were not counted ({reason})"]
    what = f"rows for {table_name} that repeat another one in all columns; it had {earlier:,}"
    return [f"{file} has {now:,} {what}"] if now > earlier else []


def _count_duplicate_rows(paths: Sequence[Path], spill: Path) -> int:
    """Count the rows that equal an earlier row. DuckDB spills data that exceeds its memory to `spill`."""
    if not paths:
        return 0
    names = ", ".join(f'"{name}"' for name in pq.read_schema(paths[0]).names)
    with duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(spill)}) as connection:
        # Equal hashes count as equal rows. Among a billion different rows, the probability that two share a
        # hash is 3 percent.
        found = connection.execute(
            f"select count(*) - count(distinct hash({names})) from read_parquet($files)",
            {"files": list(map(str, paths))},
        ).fetchone()
    assert found
    return int(found[0])


def is_synthetic(raw: RawFile) -> bool:
    """Return whether a raw file is marked as synthetic."""
    return is_marked(raw.paths[0], raw.root)


def compare_checksum(matched: MatchedFile, sha256: str) -> str:
    """Return the value of `records.Source.checksum` for a raw file with this checksum."""
    published = matched.table.published_sha256.get(matched.raw.name)
    if not published:
        return "none published"
    return "published" if published == sha256 else "differs"
