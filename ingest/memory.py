"""How much memory an ingest may use, and sizes of memory as text."""

import os
import re

# DuckDB's default limit, as a share of the memory of the machine or container.
SHARE_OF_DUCKDB = 0.8
# What each worker of a cluster may use for a sort or a view: others run on the same machine.
WORKER_BYTES = 700_000_000

SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?) *(?:(?P<unit>[kmgt])(?P<binary>i?)b|b|bytes)", re.I)

# An ingest uses at most a quarter of the memory, and 4 GB. These are in addition to what DuckDB uses.
_OTHER_BYTES = 400_000_000
_MOST_BYTES = 3_600_000_000
_LEAST_BYTES = 500_000_000


def size_bytes(size: str) -> float:
    """Convert a size that matches `SIZE`, such as 500MB or 4GiB, to bytes."""
    parts = SIZE.fullmatch(size)
    assert parts is not None, size
    power = " kmgt".index((parts["unit"] or " ").lower())
    return float(parts["number"]) * (1024 if parts["binary"] else 1000) ** power


def keep_freed_pages() -> None:
    """Let Arrow use freed memory again instead of returning it to the system, which clears it each time.

    Clearing takes an eighth of the processor time of an ingest. Arrow's allocator reads the variable when
    pyarrow is imported.
    """
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")


def limit_of_ingest() -> int:
    """Return DuckDB's memory limit in bytes for the sorts and views of an ingest in this process."""
    import duckdb

    with duckdb.connect() as connection:
        [(most,)] = connection.execute("select current_setting('memory_limit')").fetchall()
    return share_of(size_bytes(most) / SHARE_OF_DUCKDB)


def share_of(machine_bytes: float) -> int:
    """Return the limit in bytes on a machine or in a container with some memory."""
    return max(_LEAST_BYTES, min(int(machine_bytes / 4) - _OTHER_BYTES, _MOST_BYTES))
