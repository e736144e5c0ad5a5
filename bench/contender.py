"""One contender answering one named query in a process of its own: asked line by line, as often as wanted.

    python -m tracehouse.bench.contender pandas WAREHOUSE pai.machines

It says how many threads it works with, and then for each line that it reads: `rows` answers with columns and
rows, `time` with the seconds that an answer took, `peak` with the most memory that it held, in MB. JSON each.
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
Ask = Callable[[], Any]
Read = Callable[[Any], Rows]

PEAK_UNITS_PER_MB = 1024 if sys.platform == "linux" else 1024**2


def ours(warehouse: Path, query: str) -> tuple[int, Ask, Read]:
    """The named query, by the function that `traces query` calls."""
    from tracehouse.engines.duckdb.read import answer

    connection = answer.connect(warehouse)

    def ask() -> Any:
        return answer.run(connection, answer.named_question(connection, query, {})).read_all()

    return _threads(connection), ask, _arrow_rows


def bare(warehouse: Path, query: str) -> tuple[int, Ask, Read]:
    """The query's statement as its file writes it, on the database file, without anything of this project."""
    import duckdb

    from tracehouse.engines.duckdb.names import NAME

    connection = duckdb.connect(str(warehouse / NAME), read_only=True)
    statement = bare_statement(query)

    def ask() -> Any:
        found = connection.execute(statement)
        return [column[0] for column in found.description], found.fetchall()

    def read(answer: Any) -> Rows:
        columns, rows = answer
        return columns, [[_plain(value) for value in row] for row in rows]

    return _threads(connection), ask, read


def pandas(warehouse: Path, query: str) -> tuple[int, Ask, Read]:
    """The question in pandas."""
    import pyarrow

    from tracehouse.bench.questions import questions

    function = questions("pandas")[query]

    def read(frame: Any) -> Rows:
        values = frame.astype(object).where(frame.notna(), None)
        return list(frame.columns), [
            [_plain(value) for value in row] for row in values.itertuples(index=False)
        ]

    return pyarrow.cpu_count(), lambda: function(warehouse / "parquet"), read


def polars(warehouse: Path, query: str) -> tuple[int, Ask, Read]:
    """The question in Polars, by its streaming engine where the question does not say otherwise."""
    import polars as pl

    from tracehouse.bench.questions import questions

    pl.Config.set_engine_affinity("streaming")
    function = questions("polars")[query]
    read: Read = lambda frame: (frame.columns, [list(row) for row in frame.rows()])  # noqa: E731
    return pl.thread_pool_size(), lambda: function(warehouse / "parquet"), read


CONTENDERS = {"ours": ours, "bare": bare, "pandas": pandas, "polars": polars}


def bare_statement(query: str) -> str:
    """A query's SQL as its file writes it, with the defaults in the places of the parameters."""
    from sqlglot.dialects import DuckDB
    from sqlglot.tokens import TokenType

    from tracehouse.sql.query_files import query_files

    [file] = [file for file in query_files() if file.full_name == query]
    body = re.split(r"\bas table\b", file.text, maxsplit=1, flags=re.I)[1].split("\ncomment on ")[0]
    body = body.rstrip().removesuffix(";")
    defaults = {p.name: f"cast({p.default} as {p.type})" for p in file.parameters}
    parts, after = [], 0
    for token in DuckDB().tokenize(body):
        # No column that a query reads is called like one of its parameters.
        if token.token_type is TokenType.VAR and token.text in defaults:
            parts += [body[after : token.start], defaults[token.text]]
            after = token.end + 1
    return "".join([*parts, body[after:]])


def main() -> None:
    """Answer, until there is nothing more to read."""
    name, warehouse, query = sys.argv[1:]
    threads, ask, read = CONTENDERS[name](Path(warehouse), query)
    _say(threads)
    for line in sys.stdin:
        if line == "rows\n":
            _say(read(ask()))
        elif line == "time\n":
            start_s = time.perf_counter()
            ask()
            _say(time.perf_counter() - start_s)
        else:
            _say(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / PEAK_UNITS_PER_MB)


def _arrow_rows(table: Any) -> Rows:
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return table.column_names, [list(row) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    """A value as JSON has it: a number of NumPy or a decimal is a Python number."""
    if isinstance(value, Decimal):
        return float(value)
    return value.item() if hasattr(value, "item") else value


def _threads(connection: Any) -> int:
    [(threads,)] = connection.execute("select current_setting('threads')").fetchall()
    return threads


def _say(value: Any) -> None:
    # Days and times as texts.
    print(json.dumps(value, default=str), flush=True)


if __name__ == "__main__":
    main()
