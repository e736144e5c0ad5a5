"""Split a published database into parts: the pages fetch a table when a query or statement reads it.

Each table is a DuckDB file of its own. The main part has the catalog, the macros of the named queries, and a
view for each table, which reads it from a database that has the name of the table. Parts are compressed, so
that they are small on any web server. A part that is too large for that is stored as it is: DuckDB-WASM reads
it by HTTP ranges.
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError
from tracehouse.core.progress import Step, ignore_step
from tracehouse.core.text import identifier, quoted
from tracehouse.engines.duckdb.write.build_info import hash_file
from tracehouse.engines.duckdb.write.template import STORAGE_VERSION

MAIN = "traces"
FOLDER = "data"
# A table with more rows is published if a query with parameters reads it. The pages show no more rows.
MOST_ROWS = 10_000
# The largest file that a page unpacks in memory.
MOST_COMPRESSED = 64_000_000

_LEFT_OUT = f"it has more than {MOST_ROWS:,} rows, and no query with parameters reads it; --whole includes it"


@dataclass(frozen=True)
class Parts:
    """The addresses of the parts by table, with checksums; their size; and the tables that are left out."""

    addresses: dict[str, str]
    bytes: int
    left_out: dict[str, str]


def write_parts(database: Path, site: Path, whole: bool, step: Step = ignore_step) -> Parts:
    """Split a published database, without large tables that no query needs unless `whole`.

    Raises UserError if a part cannot be written.
    """
    folder = site / FOLDER
    folder.mkdir()
    try:
        with duckdb.connect() as connection:
            connection.execute(f"attach {quoted(str(database))} as published (read_only)")
            _attach(connection, folder, MAIN)
            connection.execute(f"copy from database published to {MAIN} (schema)")
            tables = _find_tables(connection)
            left_out = {} if whole else _find_unneeded(connection)
            for number, (name, relation) in enumerate(tables.items(), 1):
                step(f"compressing {number:,} of {len(tables):,}: {name}")
                if name in left_out:
                    connection.execute(f"drop table {MAIN}.{relation}")
                elif name.startswith("catalog."):
                    connection.execute(f"insert into {MAIN}.{relation} from published.{relation}")
                else:
                    _write_table(connection, folder, name, relation)
            names = {"names": list(left_out)}
            connection.execute(
                f"delete from {MAIN}.catalog.contents where list_contains(cast($names as varchar[]), name)",
                names,
            )
            connection.execute(
                f"insert into {MAIN}.catalog.left_out select unnest(cast($names as varchar[])), $reason",
                names | {"reason": _LEFT_OUT},
            )
    except (duckdb.Error, OSError) as error:
        raise UserError(f"{site}: publishing failed ({str(error).splitlines()[0]})") from None
    paths = {path.name.removesuffix(".duckdb"): _compress(path) for path in sorted(folder.iterdir())}
    # A part has its checksum in its address, so that no cache mixes two versions.
    addresses = {name: f"{FOLDER}/{path.name}?{hash_file(path)[:12]}" for name, path in paths.items()}
    size = sum(path.stat().st_size for path in paths.values())
    # The page computes an answer that is not there.
    return Parts(addresses, size, {name: _LEFT_OUT for name, kind in left_out.items() if kind != "answer"})


def _find_tables(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The tables of the database, with their names as SQL."""
    rows = connection.execute(
        "select schema_name, table_name from duckdb_tables() where database_name = 'published'"
    ).fetchall()
    return {f"{schema}.{table}": f"{identifier(schema)}.{identifier(table)}" for schema, table in rows}


def _find_unneeded(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The kinds of large tables that no query with parameters reads, and of large answers of a macro."""
    rows = connection.execute(
        """
        select name, kind
        from published.catalog.contents
        where
            kind <> 'catalog'
            and row_count > $most
            and name not in (
                select unnest(reads)
                from published.catalog.queries
                semi join published.catalog.query_parameters using (query_name)
            )
            and (
                kind <> 'answer'
                or name in (
                    select schema_name || '.' || function_name
                    from duckdb_functions()
                    where database_name = 'published'
                )
            )
        """,
        {"most": MOST_ROWS},
    ).fetchall()
    return dict(rows)


def _attach(connection: duckdb.DuckDBPyConnection, folder: Path, name: str) -> None:
    path = quoted(str(folder / f"{name}.duckdb"))
    connection.execute(f"attach {path} as {identifier(name)} (storage_version '{STORAGE_VERSION}')")


def _write_table(connection: duckdb.DuckDBPyConnection, folder: Path, name: str, relation: str) -> None:
    """Write the rows of a table to its part, and replace the table in the main part by a view of them."""
    _attach(connection, folder, name)
    part = identifier(name)
    connection.execute(f"create table {part}.main.rows as from published.{relation}")
    connection.execute(f"drop table {MAIN}.{relation}")
    connection.execute(f"create view {MAIN}.{relation} as from {part}.main.rows")
    connection.execute(f"detach {part}")


def _compress(path: Path) -> Path:
    """Replace a file by a compressed one, unless it is large, and return its path.

    The name does not end with `.gz`, because some web servers and browsers unpack such files.
    """
    if path.stat().st_size > MOST_COMPRESSED:
        return path
    packed = path.with_suffix(".bin")
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    return packed
