"""Asks a warehouse the same question until a file is there that says to stop; each answer is a line of JSON.

    python keep_reading.py {new|same|beside} WAREHOUSE STOP QUESTION

Over a new connection each time; over one that stays open; or over new ones while one stays open.
"""

import json
import sys
import time
from pathlib import Path

import duckdb


def main() -> None:
    """Ask, print, and go on."""
    way, warehouse, stop, question = sys.argv[1:]
    database = str(Path(warehouse) / "traces.duckdb")
    kept = None if way == "new" else duckdb.connect(database, read_only=True)
    while not Path(stop).exists():
        if way == "same" and kept:
            rows = kept.execute(question).fetchall()
        else:
            with duckdb.connect(database, read_only=True) as connection:
                rows = connection.execute(question).fetchall()
        print(json.dumps([float(value) for value in rows[0]]), flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
