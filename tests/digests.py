"""Digests of rows, for comparing published tables with the warehouse."""

from typing import Any

import duckdb
import pytest


def digest(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, Any]:
    """Return a digest of the rows of a relation that does not depend on their order.

    It has count, sum, minimum and maximum of each column of floats, and hashes
    of the other columns.
    """
    columns = [(name, str(kind)) for name, kind, *_ in connection.execute(f"describe {relation}").fetchall()]
    floats = [f'"{name}"' for name, kind in columns if kind == "DOUBLE"]
    others = [_comparable(name, kind) for name, kind in columns if kind != "DOUBLE"]
    hashed = f"coalesce(bit_xor(hash({', '.join(others)})), 0), coalesce(sum(hash({', '.join(others)})), 0)"
    measured = [f"count({c}), fsum({c}), min({c}), max({c})" for c in floats]
    expressions = ", ".join(["count(*)", *([hashed] if others else []), *measured])
    [values] = connection.execute(f"select {expressions} from ({relation})").fetchall()
    return {
        "columns": [name for name, _ in columns],
        "values": [pytest.approx(v, rel=1e-9, nan_ok=True) if isinstance(v, float) else v for v in values],
    }


def _comparable(name: str, kind: str) -> str:
    """Return an expression with the same value for all widths of numbers and precisions of times."""
    if "TIMESTAMP" in kind:
        return f'epoch_us("{name}")'
    if kind.startswith(("DECIMAL", "HUGEINT")):
        return f'cast("{name}" as varchar)'
    return f'cast("{name}" as bigint)' if kind.endswith(("INTEGER", "BIGINT", "SMALLINT")) else f'"{name}"'
