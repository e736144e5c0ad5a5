"""Digests of rows, by which what was published is compared with the warehouse that it came from."""

from typing import Any

import duckdb
import pytest


def digest(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, Any]:
    """What the rows of a relation are, whatever their order.

    Floats by count, sum, least and greatest, as threads add them up in an order of their own; all else by the
    hashes of rows.
    """
    columns = [(name, str(kind)) for name, kind, *_ in connection.execute(f"describe {relation}").fetchall()]
    floats = [f'"{name}"' for name, kind in columns if kind == "DOUBLE"]
    others = [_comparable(name, kind) for name, kind in columns if kind != "DOUBLE"]
    hashed = f"coalesce(bit_xor(hash({', '.join(others)})), 0), coalesce(sum(hash({', '.join(others)})), 0)"
    measured = [f"count({c}), fsum({c}), min({c}), max({c})" for c in floats]
    asked = ", ".join(["count(*)", *([hashed] if others else []), *measured])
    [values] = connection.execute(f"select {asked} from ({relation})").fetchall()
    return {
        "columns": [name for name, _ in columns],
        "values": [pytest.approx(v, rel=1e-9, nan_ok=True) if isinstance(v, float) else v for v in values],
    }


def _comparable(name: str, kind: str) -> str:
    """A column as a value that is the same however wide the number or fine the time is."""
    if "TIMESTAMP" in kind:
        return f'epoch_us("{name}")'
    if kind.startswith(("DECIMAL", "HUGEINT")):
        return f'cast("{name}" as varchar)'
    return f'cast("{name}" as bigint)' if kind.endswith(("INTEGER", "BIGINT", "SMALLINT")) else f'"{name}"'
