"""Find the files, extensions and databases outside the warehouse that a user's view or query reads."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
from sqlglot import exp

from tracehouse.definitions.user_files import explain_database, explain_outside
from tracehouse.ingest.store.layout import TABLES_FOLDER, VIEWS_FOLDER


def find_outside(tree: exp.Expr, warehouse: Path) -> str:
    """Say what a query reads outside the warehouse; empty if it reads nothing else.

    DuckDB decides, as in a build: it binds each source without a schema, and may not open files.
    """
    tables = list(tree.find_all(exp.Table))
    for table in tables:
        if table.catalog.lower() not in ("", "system"):
            return explain_database(table.catalog)
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    unknown = [table.this.sql("duckdb") for table in tables if not table.db and table.name not in own]
    return next(filter(None, map(explain_outside, _bind_each(unknown, warehouse))), "")


def _bind_each(sources: list[str], warehouse: Path) -> Iterator[str]:
    """Yield DuckDB's errors on the sources of rows that it cannot bind."""
    if not sources:
        return
    folders = [(warehouse.absolute() / folder).as_posix() for folder in (TABLES_FOLDER, VIEWS_FOLDER)]
    with duckdb.connect() as connection:
        connection.execute("set python_enable_replacements = false")
        connection.execute("set autoinstall_known_extensions = false")
        connection.execute("set autoload_known_extensions = false")
        connection.execute("set allowed_directories = $folders", {"folders": folders})
        connection.execute("set enable_external_access = false")
        for source in sources:
            try:
                connection.execute(f"describe from {source}")
            except duckdb.Error as error:
                yield str(error)
