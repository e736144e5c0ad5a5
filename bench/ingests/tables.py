"""The part of `traces ingest` that the floors do too: the tables' Parquet, without the database over it.

python -m tracehouse.bench.ingests.tables TRACE RAW WAREHOUSE
"""

import sys
from pathlib import Path

from tracehouse.ingest import pipeline
from tracehouse.ingest.store import artifacts


def main() -> None:
    """Convert what is below the folder."""
    trace, raw, warehouse = sys.argv[1:]
    with artifacts.lock(Path(warehouse)):
        pipeline.ingest([Path(raw)], Path(warehouse), [trace], lambda *_: None)


if __name__ == "__main__":
    main()
