"""The allowed outcomes of an ingest of a raw file, and their comparison with the actual outcome."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from command_line import Run
from hostile.dumps import Place, Rows, stored, wanted


@dataclass(frozen=True)
class Refused:
    """An error names the file, and the line if one is given. The table keeps its previous rows."""

    line: int | None = None


@dataclass(frozen=True)
class Taken:
    """Exactly these rows are stored, `rejected` lines are not. If `reported`, a message names the file."""

    rows: Rows
    rejected: int = 0
    reported: bool = False


Way = Refused | Taken


def problems(
    place: Place,
    name: str,
    ways: Sequence[Way],
    before: Rows,
    run: Run,
    connection: duckdb.DuckDBPyConnection,
) -> list[str]:
    """Return why none of the allowed outcomes occurred, or an empty list if one did."""
    reasons = [_compare(place, name, way, before, run, connection) for way in ways]
    if "" in reasons:
        return []
    messages = [line for line in run.stderr.splitlines() if name in line]
    return [*reasons, *(messages or [f"no message names {name}"])]


def _compare(
    place: Place, name: str, way: Way, before: Rows, run: Run, connection: duckdb.DuckDBPyConnection
) -> str:
    named = [line for line in run.errors if name in line]
    if isinstance(way, Refused):
        if not named:
            return "not refused"
        if way.line is not None and not any(f"line {way.line:,}" in line for line in named):
            return f"the error does not name line {way.line}"
        return _compare_rows(place, before, connection)
    if named:
        return "refused"
    if way.reported and name not in run.stderr:
        return "accepted without a message"
    return _compare_rows(place, way.rows, connection) or _compare_counts(place, way, connection)


def _compare_rows(place: Place, rows: Rows, connection: duckdb.DuckDBPyConnection) -> str:
    found, expected = stored(connection, place), wanted(rows)
    if found == expected:
        return ""
    lost = [row for row in expected if row not in found]
    new = [row for row in found if row not in expected]
    return f"{len(found)} rows, not {len(expected)}; lost {lost[:3]}, new {new[:3]}"


def _compare_counts(place: Place, way: Taken, connection: duckdb.DuckDBPyConnection) -> str:
    rows = connection.execute(
        f"""
        select sum(rows_read), sum(rows_kept), sum(rows_rejected) from catalog.sources
        where table_name = '{place.table}' and contains('/' || file, '/{place.path(".")}')
        """
    ).fetchall()
    expected = (len(way.rows) + way.rejected, len(way.rows), way.rejected)
    return "" if rows == [expected] else f"rows read, kept and rejected: {rows}, not {expected}"


def unsound(connection: duckdb.DuckDBPyConnection, warehouse: Path) -> list[str]:
    """Return errors in the counts of rows, sizes and checksums of a warehouse."""
    sources = connection.execute(
        "select file, rows_read, rows_kept, rows_rejected from catalog.sources"
        " where rows_read <> rows_kept + rows_rejected"
    ).fetchall()
    found = [
        f"{file}: {read} rows read, {kept} kept, {rejected} rejected"
        for file, read, kept, rejected in sources
    ]
    for path, (size, sha256) in manifest(warehouse).items():
        data = (warehouse / path).read_bytes() if (warehouse / path).is_file() else b""
        if (len(data), hashlib.sha256(data).hexdigest()) != (size, sha256):
            found.append(f"{path}: not the bytes that the manifest lists")
    [(rejected,)] = connection.execute("select count(*) from catalog.rejected_rows").fetchall()
    [(expected,)] = connection.execute(
        "select coalesce(sum(rows_rejected), 0) from catalog.sources"
    ).fetchall()
    if rejected != expected:
        found.append(f"{rejected} rejected rows are stored, {expected} are counted")
    return found


def manifest(warehouse: Path) -> dict[str, tuple[int, str]]:
    """Return the size in bytes and the SHA-256 of each file that `datapackage.json` lists."""
    package = json.loads((warehouse / "datapackage.json").read_text(encoding="utf-8"))
    return {r["path"]: (r["bytes"], r["hash"].removeprefix("sha256:")) for r in package["resources"]}


def opened(warehouse: Path) -> duckdb.DuckDBPyConnection:
    """Open the database of a warehouse as any client does."""
    connection = duckdb.connect(str(warehouse / "traces.duckdb"), read_only=True)
    connection.execute("set timezone = 'UTC'")
    return connection


def contents(warehouse: Path, places: Sequence[Place]) -> Mapping[str, list[tuple[str, float | None]]]:
    """Return the stored rows of some places."""
    with opened(warehouse) as connection:
        return {f"{place.table} {place.picked}": stored(connection, place) for place in places}


def fail_with(found: Mapping[str, Sequence[str]]) -> None:
    """Fail if there are faults, and print all of them."""
    if found:
        lines = [
            line for name, faults in found.items() for line in (name, *(f"    {fault}" for fault in faults))
        ]
        pytest.fail("\n".join([f"{len(found)} cases went wrong", *lines]), pytrace=False)
