"""Report rows that a new version of a raw file repeats more often than its last version.

Tables without a key do not reveal them. Only a version with more rows than the last one is counted: the first
version of a file, and one with as many rows, cost nothing.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from tracehouse.ingest.convert.raw_input import RawInput
from tracehouse.ingest.store import journal
from tracehouse.ingest.store.files import StagedFile

_MEMORY = "1GB"


def describe_repeats(raw_input: RawInput, written: Sequence[StagedFile]) -> list[str]:
    """Return a note if more rows than in the last version repeat another row in all columns."""
    before, table_name = raw_input.before, raw_input.table_name
    if raw_input.table.wide or not before or sum(file.rows for file in written) <= before.rows:
        # A line of a wide table that repeats an index is rejected.
        return []
    if not journal.is_complete(raw_input.warehouse, before):
        return []
    file = raw_input.claim.raw.relative_name
    spill = written[0].path.with_suffix(".repeats")
    try:
        repeats = _count_repeats([staged.path for staged in written], spill)
        repeats_before = _count_repeats([raw_input.warehouse / stored.path for stored in before.files], spill)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        return [f"{file}: rows for {table_name} that repeat another one were not counted ({reason})"]
    if repeats <= repeats_before:
        return []
    return [
        f"{file} has {repeats:,} rows for {table_name} that repeat another one in all columns; "
        f"it had {repeats_before:,}"
    ]


def _count_repeats(paths: Sequence[Path], spill: Path) -> int:
    """Count the rows that equal an earlier one. `spill` is a folder for what exceeds memory."""
    if not paths:
        return 0
    names = ", ".join(f'"{name}"' for name in pq.read_schema(paths[0]).names)
    with duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(spill)}) as connection:
        # Of a billion different rows, two share a hash with a probability of 3 percent.
        found = connection.execute(
            f"select count(*) - count(distinct hash({names})) from read_parquet($files)",
            {"files": list(map(str, paths))},
        ).fetchone()
    assert found
    return int(found[0])
