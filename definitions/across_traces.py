"""Define `each_trace.standard_job_v1`: the union of that view of every trace that has released one.

The database has the union as a view; lineage and Spark read it in place of that view. Each trace maps its own
data to the common columns, so a new trace changes no existing file. The first column of the union, `trace`,
is the schema's name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.view_files import DRAFT, RELEASED, ViewFile, plain_names, references

SCHEMA = "each_trace"


def expanded(views: Sequence[ViewFile]) -> list[ViewFile]:
    """Replace each reference to `each_trace.name`, in the trees, by the union of that view of all traces."""
    return list(_expand_all(tuple(views)))


# An ingest expands the same views a dozen times, and searching all parse trees takes 30 ms.
@lru_cache(maxsize=4)
def _expand_all(views: tuple[ViewFile, ...]) -> tuple[ViewFile, ...]:
    return tuple(_expand(view, views) if _list_united(view) else view for view in views)


def members(name: str, views: Sequence[ViewFile]) -> list[ViewFile]:
    """Find the released views of a name such as `standard_job_v1` in all schemas, sorted by schema."""
    found = (one for one in views if _name_in_schema(one) == name and one.status == RELEASED)
    return sorted(found, key=lambda view: view.schema)


def find_left_out(views: Sequence[ViewFile]) -> Iterator[tuple[ViewFile, ViewFile]]:
    """Yield each draft that a union leaves out, and the released view that reads the union."""
    for uniting in plain_names(views).values():
        for name in sorted(_list_united(uniting)) if uniting.status == RELEASED else ():
            yield from (
                (one, uniting) for one in views if _name_in_schema(one) == name and one.status == DRAFT
            )


def find_empty_unions(view: ViewFile, views: Sequence[ViewFile]) -> list[str]:
    """Return the unions that a view reads and that no trace has a view for, sorted."""
    return [f"{SCHEMA}.{name}" for name in sorted(_list_united(view)) if not members(name, views)]


def united(views: Sequence[ViewFile]) -> dict[str, ViewFile]:
    """Map the versioned name of each view that is part of a union to the view that unites it."""
    return {
        member.versioned: view
        for view in views
        for name in _list_united(view)
        for member in members(name, views)
    }


def _name_in_schema(view: ViewFile) -> str:
    return view.versioned.partition(".")[2]


def _list_united(view: ViewFile) -> set[str]:
    return {table.name for table in view.tree.find_all(exp.Table) if table.db == SCHEMA}


def _expand(view: ViewFile, views: Sequence[ViewFile]) -> ViewFile:
    tree = view.tree.copy()
    unions = []
    for table in list(tree.find_all(exp.Table)):
        if table.db == SCHEMA:
            united = members(table.name, views)
            if not united:
                raise DefinitionError(view.path, f"no trace has a view {table.name}")
            union = _union(united)
            unions.append(f"create or replace view {SCHEMA}.{table.name} as {union.sql(dialect='duckdb')}")
            table.replace(exp.Subquery(this=union, alias=exp.to_identifier(table.alias or table.name)))
    return replace(
        view,
        tree=tree,
        references=references(tree.expression, view.path),
        unions=(f"create schema if not exists {SCHEMA}", *unions),
    )


def _union(united: Sequence[ViewFile]) -> exp.Query:
    columns = united[0].tree.expression.named_selects
    selects = [
        exp.select(exp.alias_(exp.Literal.string(one.schema), "trace"), *map(exp.column, columns)).from_(
            one.versioned
        )
        for one in united
    ]
    return selects[0] if len(selects) == 1 else exp.union(*selects, distinct=False, copy=False)
