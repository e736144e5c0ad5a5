"""CTEs as subqueries, for what is stored where DuckDB 1.4.0 and 1.4.1 lose them.

They read a CTE back only at the top of a view; inside a macro, or deeper in a view, its name is unknown to
them. Files are written with CTEs all the same, as that is how they are read.
"""

from sqlglot import exp


def without_ctes(tree: exp.Expr) -> str:
    """The SQL of a query with each CTE written where it is read. The tree is changed."""
    while (found := tree.find(exp.With)) is not None:
        owner = found.parent
        assert owner is not None, tree
        first = found.expressions[0]
        if len(found.expressions) == 1:
            found.pop()
        else:
            first.pop()
        _write_where_read(owner, first)
    return tree.sql(dialect="duckdb", comments=False)


def _write_where_read(tree: exp.Expr, cte: exp.CTE) -> None:
    for table in list(tree.find_all(exp.Table)):
        if table.name == cte.alias and not table.db:
            alias = table.alias or cte.alias
            table.replace(exp.Subquery(this=cte.this.copy(), alias=exp.to_identifier(alias)))
