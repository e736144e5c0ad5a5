"""Repeat a query until the file STOP exists and once more, and print each answer as a line of JSON.

    python keep_reading.py {new|same|both} WAREHOUSE STOP QUERY

`new` opens a connection for each query, `same` keeps one open for all queries, and `both` opens a connection
for each query while another one stays open.
"""

import json
import sys
import time
from pathlib import Path

import duckdb


def main() -> None:
    """Run the query and print the answer in a loop."""
    way, warehouse, stop, query = sys.argv[1:]
    database = str(Path(warehouse) / "traces.duckdb")
    kept = None if way == "new" else duckdb.connect(database, read_only=True)
    is_last = False
    while not is_last:
        is_last = Path(stop).exists()
        if way == "same" and kept:
            rows = kept.execute(query).fetchall()
        else:
            with duckdb.connect(database, read_only=True) as connection:
                rows = connection.execute(query).fetchall()
        print(json.dumps([float(value) for value in rows[0]]), flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
