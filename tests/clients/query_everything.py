"""Run every query of a database, and print the answers as JSON.

    python query_everything.py DATABASE [--attach ALIAS] [--data-root FOLDER] [--no-files] [--schemas A B]

Requires only DuckDB, any version. The answer for a table or view is its comment and, for each column, type,
comment, number of values, minimum and maximum. The answer for a query is its rows with default parameters.
"""

import argparse
import json
from collections.abc import Iterable

import duckdb


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("database")
    parser.add_argument("--attach", default="")
    parser.add_argument("--data-root", default="")
    parser.add_argument("--no-files", action="store_true")
    parser.add_argument("--schemas", nargs="*", default=[])
    options = parser.parse_args()
    if options.attach:
        connection = duckdb.connect()
        connection.execute(f"attach {quoted(options.database)} as {options.attach} (read_only)")
    else:
        connection = duckdb.connect(options.database, read_only=True)
    connection.execute("set timezone = 'UTC'")
    if options.data_root:
        connection.execute(f"set variable data_root = {quoted(options.data_root)}")
    if options.no_files:
        connection.execute("set enable_external_access = false")
    print(json.dumps(everything(connection, options.attach, options.schemas)))


def everything(connection: duckdb.DuckDBPyConnection, alias: str, schemas: list[str]) -> dict:
    place = {"database": alias or connection.execute("select current_database()").fetchall()[0][0]}
    errors: dict = {}
    tables = within(schemas, found_tables(connection, place))
    for name, table in tables.items():
        # With --attach no database is in use, so names start with the alias.
        full_name = f"{alias}.{name}" if alias else name
        table["rows"] = answer(connection, summary(full_name, table["columns"]), errors, name)
    if alias:
        connection.execute(f"use {alias}")
    queries = within(schemas, found_queries(connection, place))
    for name, query in queries.items():
        query["rows"] = answer(connection, f"select to_json(row) from {name}() as row", errors, name)
    return {"tables": tables, "queries": queries, "errors": errors}


def within(schemas: list[str], found: dict) -> dict:
    """Return the objects of some schemas, or all objects if no schema is given."""
    return {name: about for name, about in found.items() if not schemas or name.split(".")[0] in schemas}


def found_tables(connection: duckdb.DuckDBPyConnection, place: dict) -> dict:
    tables = connection.execute(
        """
        select schema_name || '.' || view_name, comment from duckdb_views()
        where database_name = $database and not internal
        union all
        select schema_name || '.' || table_name, comment from duckdb_tables()
        where database_name = $database
        order by all
        """,
        place,
    ).fetchall()
    columns = connection.execute(
        """
        select schema_name || '.' || table_name, column_name, data_type, comment from duckdb_columns()
        where database_name = $database and not internal
        """,
        place,
    ).fetchall()
    return {
        table: {
            "comment": comment,
            "columns": {column: about for owner, column, *about in columns if owner == table},
        }
        for table, comment in tables
    }


def found_queries(connection: duckdb.DuckDBPyConnection, place: dict) -> dict:
    macros = connection.execute(
        """
        select schema_name || '.' || function_name, comment, parameters from duckdb_functions()
        where database_name = $database and function_type = 'table_macro' and not internal
        order by all
        """,
        place,
    ).fetchall()
    return {name: {"comment": comment, "parameters": parameters} for name, comment, parameters in macros}


def summary(table: str, columns: Iterable[str]) -> str:
    of_columns = [
        f"""'{column}', json_array(count("{column}"), min("{column}"), max("{column}"))"""
        for column in columns
    ]
    return f"select json_object('rows', count(*), {', '.join(of_columns)}) from {table}"


def answer(connection: duckdb.DuckDBPyConnection, sql: str, errors: dict, name: str) -> list:
    try:
        rows = connection.execute(sql).fetchall()
    except duckdb.Error as error:
        errors[name] = str(error)
        return []
    return [json.loads(text) for (text,) in rows]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    main()
