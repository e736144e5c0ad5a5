"""Report that a new version of a raw file contains more repeated rows than its last version.

In a table without a key, no other check finds repeated rows. They are counted only if the new version has
more rows than the last one, because counting takes time.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from tracehouse.ingest.convert.raw_input import RawInput
from tracehouse.ingest.store import records
from tracehouse.ingest.store.files import StagedFile

_MEMORY = "1GB"


def describe_repeats(raw_input: RawInput, written: Sequence[StagedFile]) -> list[str]:
    """Return a note if the new version has more rows that equal another row in all columns than the last."""
    before, table_name = raw_input.before, raw_input.table_name
    if raw_input.table.wide or not before or sum(file.rows for file in written) <= before.rows:
        # In a wide table, the reader rejects a line that repeats an index.
        return []
    if not records.is_complete(raw_input.warehouse, before):
        return []
    file = raw_input.matched.raw.relative_name
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
