"""Run one implementation of a named query in a separate process.

    python -m tracehouse.bench.implementations pandas WAREHOUSE pai.machines

The process prints how many threads it uses. It then reads requests from standard input, one per line, and
prints one line of JSON for each: for `rows` the columns and rows of the result, for `time` the seconds of one
run, and for `peak` the peak memory of the process in MB.
"""

import json
import re
import resource
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

Rows = tuple[list[str], list[list[Any]]]
Implementation = tuple[int, Callable[[], Any], Callable[[Any], Rows]]
"""The number of threads, a function that computes the result, and one that converts it to rows."""


def ours(warehouse: Path, query: str) -> Implementation:
    """Return an implementation that runs the query as `traces query` does."""
    from tracehouse.engines.duckdb.read import answer, binding, sandbox

    connection = sandbox.connect(warehouse)

    def run() -> Any:
        return answer.read(connection, binding.bind_query(connection, query, {})).read_all()

    def rows(table: Any) -> Rows:
        columns = [[_to_python(value) for value in column.to_pylist()] for column in table.columns]
        return table.column_names, [list(row) for row in zip(*columns, strict=True)]

    return _threads(connection), run, rows


def bare(warehouse: Path, query: str) -> Implementation:
    """Return an implementation that runs the SQL of the query with DuckDB alone, on the database file."""
    import duckdb

    from tracehouse.engines.duckdb.names import NAME

    connection = duckdb.connect(str(warehouse / NAME), read_only=True)
    statement = bare_statement(query)

    def run() -> Any:
        found = connection.execute(statement)
        return [column[0] for column in found.description], found.fetchall()

    return _threads(connection), run, lambda found: (found[0], _to_python_rows(found[1]))


def pandas(warehouse: Path, query: str) -> Implementation:
    """Return an implementation that computes the result with pandas."""
    import pyarrow

    from tracehouse.bench.answers import answers

    function = answers("pandas")[query]

    def rows(frame: Any) -> Rows:
        values = frame.astype(object).where(frame.notna(), None)
        return list(frame.columns), _to_python_rows(values.itertuples(index=False))

    return pyarrow.cpu_count(), lambda: function(warehouse / "parquet"), rows


def polars(warehouse: Path, query: str) -> Implementation:
    """Return an implementation with Polars, on the streaming engine unless the function selects another."""
    import polars as pl

    from tracehouse.bench.answers import answers

    pl.Config.set_engine_affinity("streaming")
    function = answers("polars")[query]
    return (
        pl.thread_pool_size(),
        lambda: function(warehouse / "parquet"),
        lambda frame: (frame.columns, [list(row) for row in frame.rows()]),
    )


IMPLEMENTATIONS = {"ours": ours, "bare": bare, "pandas": pandas, "polars": polars}


def bare_statement(query: str) -> str:
    """Return the SQL of a query from its file, with default values instead of parameters."""
    from sqlglot.dialects import DuckDB
    from sqlglot.tokens import TokenType

    from tracehouse.sql.query_files import query_files

    [file] = [file for file in query_files() if file.full_name == query]
    body = re.split(r"\bas table\b", file.text, maxsplit=1, flags=re.I)[1].split("\ncomment on ")[0]
    body = body.rstrip().removesuffix(";")
    defaults = {p.name: f"cast({p.default} as {p.type})" for p in file.parameters}
    parts, after = [], 0
    for token in DuckDB().tokenize(body):
        # Parameters can be replaced by name, because no column of a query has the name of a parameter.
        if token.token_type is TokenType.VAR and token.text in defaults:
            parts += [body[after : token.start], defaults[token.text]]
            after = token.end + 1
    return "".join([*parts, body[after:]])


def main() -> None:
    """Serve requests until standard input ends."""
    name, warehouse, query = sys.argv[1:]
    threads, run, rows = IMPLEMENTATIONS[name](Path(warehouse), query)
    _print(threads)
    for line in sys.stdin:
        if line == "rows\n":
            _print(rows(run()))
        elif line == "time\n":
            start_s = time.perf_counter()
            run()
            _print(time.perf_counter() - start_s)
        else:
            _print(_peak_mb())


def _peak_mb() -> float:
    """Return the peak memory of this process.

    On Linux, ru_maxrss includes the memory of the process that started this one.
    """
    if sys.platform == "linux":
        [kilobytes] = re.findall(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
        return int(kilobytes) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def _to_python_rows(rows: Any) -> list[list[Any]]:
    return [[_to_python(value) for value in row] for row in rows]


def _to_python(value: Any) -> Any:
    """Convert a NumPy number or a decimal to a Python number."""
    if isinstance(value, Decimal):
        return float(value)
    return value.item() if hasattr(value, "item") else value


def _threads(connection: Any) -> int:
    [(threads,)] = connection.execute("select current_setting('threads')").fetchall()
    return threads


def _print(value: Any) -> None:
    # Dates and times are printed as strings.
    print(json.dumps(value, default=str), flush=True)


if __name__ == "__main__":
    main()
