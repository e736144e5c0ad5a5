"""The SQL of views and queries as a database keeps it: as written, but that sums of fractions are exact."""

from functools import cache

from tracehouse.engines.duckdb.write.exact import exact_sums, has_fractions
from tracehouse.engines.duckdb.write.inline import without_ctes
from tracehouse.sql.query_files import QueryFile
from tracehouse.views.view_files import ViewFile


@cache
def stored_view(view: ViewFile) -> str:
    """The statements that create a view and its comments."""
    if not has_fractions(view.tree):
        return view.text
    return view.text.replace(view.statement, exact_sums(view.tree.copy()).sql(dialect="duckdb"))


@cache
def stored_query(query: QueryFile) -> str:
    """The statements that create a query's macro and its comment."""
    return f"{query.signature} {without_ctes(exact_sums(query.tree.copy()))}; {query.comments}"
