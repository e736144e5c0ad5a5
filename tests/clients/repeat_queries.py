"""Run the same queries repeatedly, until the file STOP exists.

    python repeat_queries.py {python|traces|shell} WAREHOUSE STOP

Each round of queries uses a new connection, and prints its answers as a line of JSON.
"""

import json
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.write import database

QUESTIONS = (
    "select count(*), sum(cpu_milli) from openb.node",
    "select count(*), sum(cpu_milli) from openb.pod",
    "select row_count, (select sum(rows_kept) from catalog.sources where table_name = 'openb.pod')"
    " from catalog.tables where table_name = 'openb.node'",
    "select sum(pods), sum(requested_gpus) from openb.phases()",
)


def by_python(warehouse: Path) -> list[list[int]]:
    with duckdb.connect(str(warehouse / database.DATABASE), read_only=True) as connection:
        return rows(connection)


def by_traces(warehouse: Path) -> list[list[int]]:
    with sandbox.connect(warehouse) as connection:
        return rows(connection)


def rows(connection: duckdb.DuckDBPyConnection) -> list[list[int]]:
    return [[int(value) for value in connection.execute(sql).fetchall()[0]] for sql in QUESTIONS]


def by_shell(warehouse: Path) -> list[list[int]]:
    shell = Path(sysconfig.get_path("scripts")) / "duckdb"
    command = [shell, "-no-init", "-readonly", "-csv", "-noheader", warehouse / database.DATABASE]
    done = subprocess.run(command, input=";\n".join([*QUESTIONS, ""]), capture_output=True, encoding="utf-8")
    if done.returncode:
        raise SystemExit(done.stderr)
    return [[int(float(value)) for value in line.split(",")] for line in done.stdout.splitlines()]


WAYS: dict[str, Callable[[Path], list[list[int]]]] = {
    "python": by_python,
    "traces": by_traces,
    "shell": by_shell,
}


def main() -> None:
    way, warehouse, stop = WAYS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    while not stop.exists():
        print(json.dumps(way(warehouse)), flush=True)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
