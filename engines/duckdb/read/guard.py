"""Check that a user's SQL statement only reads.

DuckDB's own parser decides: `json_serialize_sql` gives the parse tree of the statement that will run. Each
node of the tree and each function that it calls must be on one of the allowlists below; all others are
rejected. (Since DuckDB 2.0 a CTE may contain COPY or DELETE, and the statement still counts as a SELECT.)
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tracehouse.core.errors import LIST_QUERIES, UsageError, UserError
from tracehouse.definitions.names import OWN
from tracehouse.definitions.released import SEVERAL_TRACES
from tracehouse.engines.duckdb.read.selected_traces import selected_traces

# Allowed values of the key `class`: expressions.
EXPRESSIONS = frozenset(
    {
        *("BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION"),
        *("CONSTANT", "DEFAULT", "FUNCTION", "LAMBDA", "OPERATOR", "PARAMETER"),
        *("POSITIONAL_REFERENCE", "STAR"),
        *("SUBQUERY", "TYPE", "WINDOW"),
    }
)
# Allowed values of the key `type`: queries, their sources, modifiers, and types of values.
NODES = frozenset(
    {
        *("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"),
        *("BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN"),
        *("PIVOT", "SHOW_REF", "SUBQUERY", "TABLE_FUNCTION"),
        *("DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER"),
        *("ASCENDING", "DESCENDING", "ORDER_DEFAULT"),
        *("ARRAY_TYPE_INFO", "DECIMAL_TYPE_INFO", "ENUM_TYPE_INFO", "EXTRA_TYPE_INFO", "GENERIC_TYPE_INFO"),
        *("INTEGER_LITERAL_TYPE_INFO", "LIST_TYPE_INFO", "STRING_TYPE_INFO", "STRUCT_TYPE_INFO"),
        "UNBOUND_TYPE_INFO",
    }
)
# Allowed table functions besides named queries; they only read. Others are rejected, such as `query`, which
# runs a statement that was not checked, readers of other formats than Parquet, and functions that change a
# setting.
TABLE_FUNCTIONS = frozenset(
    {
        *("generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "summary", "unnest"),
        *("histogram", "histogram_values", "query_table"),
        *("parquet_scan", "read_parquet", "parquet_bloom_probe", "parquet_file_metadata"),
        *("parquet_full_metadata", "parquet_kv_metadata", "parquet_metadata", "parquet_schema"),
        *("duckdb_columns", "duckdb_constraints", "duckdb_databases", "duckdb_dependencies"),
        *("duckdb_extensions", "duckdb_functions", "duckdb_indexes", "duckdb_keywords", "duckdb_memory"),
        *("duckdb_optimizers", "duckdb_schemas", "duckdb_sequences", "duckdb_settings", "duckdb_tables"),
        *("duckdb_types", "duckdb_variables", "duckdb_views"),
        *("pragma_collations", "pragma_database_size", "pragma_platform", "pragma_show"),
        *("pragma_storage_info", "pragma_table_info", "pragma_user_agent", "pragma_version"),
        *("icu_calendar_names", "pg_timezone_names", "test_all_types", "test_vector_types"),
    }
)
# Functions that DuckDB marks as volatile, although they have no side effects.
VOLATILE_FUNCTIONS = frozenset(
    {
        *("random", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "error", "sleep_ms"),
        *("current_connection_id", "current_query", "current_query_id", "current_transaction_id"),
        *("stats", "vector_type"),
    }
)
# Common functions without side effects. Listing all functions takes DuckDB 25 ms.
USUAL_FUNCTIONS = frozenset(
    {
        *("+", "-", "*", "/", "//", "%", "||", "~~", "!~~"),
        *("avg", "count", "count_star", "max", "median", "min", "quantile_cont", "stddev_samp", "sum"),
        *("abs", "ceil", "coalesce", "concat", "date_trunc", "floor", "length", "lower", "round", "upper"),
    }
)
# Values of the key `class` or `type`: nodes that may read columns without naming them.
UNNAMED_COLUMNS = frozenset({"STAR", "POSITIONAL_REFERENCE", "PIVOT", "SHOW_REF", "TABLE_FUNCTION"})
EXPLAIN_FORMATS = frozenset({"text", "json", "html", "graphviz", "yaml", "mermaid"})

_QUALIFIED = re.compile(r"\w+\.\w+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ReadingStatement:
    """A statement that only reads: its query, and its EXPLAIN clause with options, empty without one.

    `reads` are the tables, views and table functions that it names, as `schema.name`. `columns` are
    lower-case names that include every column that it reads; None if it may read columns that it does not
    name. `traces` are those that it selects, None for all, see `selected_traces`.
    """

    query: str
    explain: str = ""
    reads: frozenset[str] = frozenset()
    columns: frozenset[str] | None = None
    traces: frozenset[str] | None = None


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int


def reading_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> ReadingStatement:
    """Parse a text as one statement. Raises UserError unless the statement only reads.

    The returned query begins one line lower than in the text, so that other SQL can precede it on the first
    line; `sandbox` subtracts 1 from the line numbers in errors.
    """
    try:
        sql.encode()
        statements = connection.extract_statements(f"\n{sql}") if "\0" not in sql else []
    except UnicodeEncodeError:
        raise UsageError("The statement is not valid UTF-8") from None
    except duckdb.Error as error:
        raise UserError(str(error)) from None
    if "\0" in sql:
        raise UsageError("The statement contains a zero byte")
    if _needs_values(sql, [statement.type for statement in statements]):
        raise UserError("PIVOT needs a list of values: `pivot t on column in ('a', 'b') using sum(x)`")
    if len(statements) != 1:
        raise UsageError(f"Expected one statement, found {len(statements)}")
    explain, query = _split_explain(statements[0].query)
    tree = _tree(connection, query)
    # DuckDB drops comments and empty lines before the statement.
    query = query.lstrip()
    query = "\n" * (1 + sql[: sql.find(query)].count("\n")) + query
    reads = _check_nodes(connection, tree)
    return ReadingStatement(query, explain, reads, _columns_named(tree), _selected_traces(connection, tree))


def traces_of_query(connection: duckdb.DuckDBPyConnection, name: str) -> frozenset[str] | None:
    """Return the traces that the SQL of a named query selects, None for all."""
    sql = "select unnest(reads) from catalog.queries where query_name = $name"
    reads = connection.execute(sql, {"name": name}).fetchall()
    # A search in all functions takes 20 ms.
    if not any(read.startswith(f"{SEVERAL_TRACES}.") for (read,) in reads):
        return None
    schema, _, function = name.partition(".")
    sql = """
        select macro_definition from duckdb_functions()
        where database_name = current_database() and schema_name = $schema and function_name = $function
        """
    [(body,)] = connection.execute(sql, {"schema": schema, "function": function}).fetchall()
    return _selected_traces(connection, _tree(connection, body))


def _selected_traces(connection: duckdb.DuckDBPyConnection, tree: Any) -> frozenset[str] | None:
    known = connection.execute("select trace from catalog.traces").fetchall()
    return selected_traces(tree, frozenset(trace for (trace,) in known))


def names_read(connection: duckdb.DuckDBPyConnection, query: str) -> frozenset[str]:
    """Return the lower-case names of the tables, views and named queries that a query may read.

    They include names in the text arguments of table functions, such as `query_table`, which may not exist.
    Names of CTEs and of table functions without a schema are omitted. Raises UserError if the text is not one
    query.
    """
    nodes = list(_nodes(_tree(connection, query)))
    ctes = {str(cte["key"]).lower() for node in nodes for cte in node.get("cte_map", {}).get("map", ())}
    tables, functions = _relations(nodes)
    names = {f"{schema}.{name}" for schema, name in tables | functions if schema}
    names |= {name for schema, name in tables if not schema and name not in ctes}
    for node in nodes:
        if node.get("type") == "TABLE_FUNCTION":
            texts = [one["literal"].get("text", "") for one in _nodes(node["function"]) if "literal" in one]
            names |= {text.lower() for text in texts if _QUALIFIED.fullmatch(text)}
            if _lower(node["function"], "function_name") == "query":
                names |= names_read(connection, " ".join(texts))
    return frozenset(names)


def aggregates_rows(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Return whether a query groups or aggregates rows, anywhere, or has windows or DISTINCT.

    Raises UserError if the text is not one query.
    """
    nodes = list(_nodes(_tree(connection, query)))
    is_grouped = any(
        node.get("group_expressions")
        or node.get("aggregate_handling") == "FORCE_AGGREGATES"
        or node.get("class") == "WINDOW"
        or node.get("type") == "DISTINCT_MODIFIER"
        for node in nodes
    )
    sql = """
        select count(*) from duckdb_functions()
        where function_type = 'aggregate' and list_contains($names, function_name)
        """
    names = [_lower(node, "function_name") for node in nodes]
    [(aggregates,)] = connection.execute(sql, {"names": names}).fetchall()
    return is_grouped or aggregates > 0


def databases_named(connection: duckdb.DuckDBPyConnection, query: str) -> frozenset[str]:
    """Return the databases that a query names before a schema, except DuckDB's own `system`.

    Raises UserError if the text is not one query.
    """
    nodes = list(_nodes(_tree(connection, query)))
    named = {node.get("catalog_name") or node.get("catalog") or "" for node in nodes}
    return frozenset(name for name in named if name.lower() not in ("", "system"))


def _needs_values(sql: str, kinds: list[duckdb.StatementType]) -> bool:
    """Whether a text is a PIVOT without a list of values: DuckDB rewrites it as statements that write."""
    multi = getattr(duckdb.StatementType, "MULTI", None)
    several = len(kinds) > 1 and duckdb.StatementType.CREATE in kinds and ";" not in sql.rstrip().rstrip(";")
    return several or (multi is not None and kinds == [multi])


def _split_explain(sql: str) -> tuple[str, str]:
    """Split a statement into a normalised EXPLAIN with options, empty if absent, and the bare query."""
    raw = sql.encode()
    tokens = _tokens(raw)
    while tokens and tokens[-1].text == ";":
        raw = raw[: tokens.pop().start]
    if not tokens or tokens[0].text != "explain":
        return "", raw.decode()
    options, used = _explain_options(tokens)
    rest = raw[tokens[used].start :] if used < len(tokens) else b""
    return f"explain ({', '.join(options)})" if options else "explain", rest.decode()


def _explain_options(tokens: list[_Token]) -> tuple[list[str], int]:
    """The options of EXPLAIN, and the number of tokens before the query, EXPLAIN included."""
    words = [token.text for token in tokens]
    if words[1:2] in (["analyze"], ["analyse"]):
        return ["analyze"], 2
    if words[1:2] != ["("] or words[2:3] not in (["analyze"], ["format"]) or ")" not in words:
        return [], 1
    end = words.index(")")
    listed = " ".join(words[2:end])
    options = [option.strip() for option in listed.split(",")]
    for option in options:
        if option != "analyze" and option.removeprefix("format ") not in EXPLAIN_FORMATS:
            raise UserError(f"Unknown option in explain ({listed}). Use analyze, or format and a name")
    return sorted(options), end + 1


def _tokens(raw: bytes) -> list[_Token]:
    """The tokens of a statement without its comments. Words are in lower case."""
    # The tokenizer's offsets count bytes, not characters.
    found = duckdb.tokenize(raw.decode())
    starts = [start for start, kind in found if "comment" not in str(kind)]
    tokens = []
    for start, end in zip(starts, [*starts[1:], len(raw)], strict=True):
        text = raw[start:end].decode(errors="replace")
        word = _WORD.match(text)
        tokens.append(_Token((word[0] if word else text[:1]).lower(), start, end))
    return tokens


def _tree(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    """The parse tree of a text. Raises UserError unless it is one query."""
    [(serialized,)] = connection.execute("select json_serialize_sql($query)", {"query": query}).fetchall()
    try:
        tree = json.loads(serialized)
    except RecursionError:
        raise UserError("The statement is nested too deeply") from None
    if tree["error"] and tree["error_type"] == "parser":
        raise UserError(f"Parser Error: {tree['error_message']}")
    if tree["error"] or len(tree["statements"]) != 1:
        raise _build_rejection(connection)
    return tree["statements"][0]


def _columns_named(tree: Any) -> frozenset[str] | None:
    """The names that may be columns; None if a node may read columns without naming them."""
    tables: set[str] = set()
    named: list[list[str]] = []
    nodes = list(_nodes(tree))
    # `order by all` reads the columns of the answer.
    orders = [one["expression"] for node in nodes for one in node.get("orders", ())]
    for node in nodes:
        if any(node is order and order.get("type") == "STAR" for order in orders):
            continue
        # The `type` of a type node is not a string.
        kind = str(node.get("class") or node.get("type"))
        if kind in UNNAMED_COLUMNS or node.get("ref_type") == "NATURAL" or node.get("column_name_alias"):
            return None
        if kind == "BASE_TABLE":
            tables |= {_lower(node, "alias") or _lower(node, "table_name")}
        elif kind == "JOIN":
            named += [[name.lower()] for name in node.get("using_columns", ())]
        elif kind == "COLUMN_REF":
            named += [[name.lower() for name in node["column_names"]]]
    # A table's name, where a column is expected, means the complete row.
    if any(len(path) == 1 and path[0] in tables for path in named):
        return None
    return frozenset(name for path in named for name in path)


def _check_nodes(connection: duckdb.DuckDBPyConnection, tree: Any) -> frozenset[str]:
    """Raise UserError unless each node of a parse tree only reads.

    Returns the tables, views and table functions that the tree reads, as `schema.name`.
    """
    nodes = list(_nodes(tree))
    for node in nodes:
        _check_kind(connection, node)
    tables, functions = _relations(nodes)
    _check_table_functions(
        connection, {(schema, name) for schema, name in functions if name not in TABLE_FUNCTIONS}
    )
    values = {
        _lower(node, "function_name")
        for node in nodes
        if "function_name" in node and node.get("type") not in ("TABLE_FUNCTION", "BASE_TABLE")
    }
    _check_functions(connection, values - VOLATILE_FUNCTIONS - USUAL_FUNCTIONS)
    return frozenset(f"{schema}.{name}" for schema, name in functions | tables if schema)


def _relations(nodes: list[dict[str, Any]]) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the tables and views in a parse tree, and its table functions, as pairs of schema and name."""
    tables, functions = set(), set()
    for node in nodes:
        if node.get("type") == "TABLE_FUNCTION":
            functions.add((_lower(node["function"], "schema"), _lower(node["function"], "function_name")))
        elif node.get("type") == "BASE_TABLE":
            tables.add((_lower(node, "schema_name"), _lower(node, "table_name")))
    return tables, functions


def _lower(node: dict[str, Any], key: str) -> str:
    return str(node.get(key, "")).lower()


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all JSON objects of a parse tree.

    The names of table functions are removed: `_check_nodes` checks them with their schema.
    """
    if isinstance(tree, dict):
        yield tree
        if tree.get("type") == "TABLE_FUNCTION" and isinstance(tree.get("function"), dict):
            function = {key: value for key, value in tree["function"].items() if key != "function_name"}
            tree = tree | {"function": function}
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(child)


def _check_kind(connection: duckdb.DuckDBPyConnection, node: dict[str, Any]) -> None:
    if "class" in node:
        if node["class"] not in EXPRESSIONS:
            raise _build_rejection(connection, node["class"])
    elif isinstance(node.get("type"), str) and node["type"] not in NODES:
        raise _build_rejection(connection, node["type"])


def _check_table_functions(connection: duckdb.DuckDBPyConnection, called: set[tuple[str, str]]) -> None:
    """Raise UserError if one of the table functions, pairs of schema and name, is not a named query."""
    if not called:
        return
    sql = """
        select lower(schema_name), lower(function_name) from duckdb_functions()
        where not internal and function_type = 'table_macro'
        """
    named_queries = connection.execute(sql).fetchall()
    for schema, name in sorted(called - set(named_queries)):
        if schema:
            # Imported late, because only a wrong name needs it.
            from tracehouse.engines.duckdb.read.search import suggest_queries

            full = f"{schema}.{name}"
            matches = suggest_queries(connection, full)
            raise UserError(f'No query named "{full}".{matches} List: ', LIST_QUERIES)
        raise UserError(
            f"The table function {name} is not allowed here, where statements read only the warehouse. The "
            "DuckDB shell also reads other files: `traces shell`"
        )


def _check_functions(connection: duckdb.DuckDBPyConnection, called: set[str]) -> None:
    """Raise UserError if DuckDB marks a function as volatile: it may have side effects."""
    if not called:
        return
    sql = """
        select distinct lower(function_name) from duckdb_functions()
        where (stability = 'VOLATILE' or has_side_effects) and list_contains($names, lower(function_name))
        """
    rows = connection.execute(sql, {"names": sorted(called)}).fetchall()
    for (name,) in sorted(rows):
        raise UserError(f"The function {name} is not allowed: it may have side effects")


def _build_rejection(connection: duckdb.DuckDBPyConnection, kind: str = "") -> UserError:
    found = f", not {kind.removesuffix('_QUERY_NODE')}" if kind else ""
    sql = "select path from duckdb_databases() where database_name = current_database()"
    [(path,)] = connection.execute(sql).fetchall()
    views = Path(path or "").parent / OWN / "views"
    return UserError(
        f"Only queries are allowed: select, from, with, describe, show, summarize or explain{found}. "
        f"Put your own views in {views}, and run `traces build`"
    )
