"""Find the columns of the views that unite traces, such as `unified.jobs`, that a trace does not record.

They are NULL, or the text `unknown`, in all rows of the trace by its own view. An answer computed from them
leaves the trace out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from sqlglot import exp

from tracehouse.definitions.across_traces import united
from tracehouse.definitions.released import SEVERAL_TRACES
from tracehouse.definitions.view_files import ViewFile

# What a trace lacks, by the column: in an answer, the first of these that is missing is the reason.
QUANTITIES = {
    "submit_s": "submissions",
    "wait_s": "waits",
    "observed_wait_s": "waits",
    "observed_start_s": "starts",
    "run_s": "run times",
    "observed_run_s": "run times",
    "user_id": "users",
    "group_id": "groups",
    "status": "outcomes",
    "local_submit_s": "local times",
    "hour_of_day": "local times",
    "weekday": "local times",
    "local_arrival_s": "local times",
    "requested_gpus": "GPU requests",
    "allocated_gpus": "allocated GPUs",
    "requested_cpus": "CPU requests",
    "cpus": "CPUs of its machines",
    "requested_memory_gib": "memory requests",
    "prefix_blocks": "prefixes",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
    "latency_s": "latencies",
}


@dataclass(frozen=True)
class NotRecorded:
    """A column of a view that a trace does not record. `quantity` is what the trace lacks, in words."""

    view: str
    versioned: str
    trace: str
    column: str
    quantity: str


def find_not_recorded(views: Sequence[ViewFile]) -> list[NotRecorded]:
    """Find the columns that traces do not record, the most telling ones of a trace first.

    `views` are the newest versions, with the unions of `each_trace` unexpanded.
    """
    order = {column: place for place, column in enumerate(QUANTITIES)}
    found = sorted(_all_not_recorded(views), key=astuple)
    return sorted(found, key=lambda one: (one.view, one.trace, order.get(one.column, len(order))))


def _all_not_recorded(views: Sequence[ViewFile]) -> Iterator[NotRecorded]:
    by_name = {view.versioned: view for view in views}
    for name, uniting in united(views).items():
        member = by_name[name]
        empty = _empty_columns(_query(member))
        for column, sources in _sources(uniting).items():
            if empty & sources:
                quantity = QUANTITIES.get(column, column)
                yield NotRecorded(uniting.alias, uniting.versioned, member.schema, column, quantity)


def _query(view: ViewFile) -> exp.Query:
    query = view.tree.expression
    assert isinstance(query, exp.Query)
    return query


def _empty_columns(query: exp.Query) -> set[str]:
    """Return the columns that are NULL or `unknown` in all rows."""
    if isinstance(query, exp.SetOperation):
        return _empty_columns(query.left) & _empty_columns(query.right)
    return {select.alias_or_name for select in query.selects if _is_empty(select.unalias())}


def _is_empty(expression: exp.Expr) -> bool:
    while isinstance(expression, exp.Cast | exp.Paren):
        expression = expression.this
    is_unknown = isinstance(expression, exp.Literal) and expression.name == "unknown"
    return is_unknown or isinstance(expression, exp.Null)


def _sources(uniting: ViewFile) -> dict[str, set[str]]:
    """Return the columns of the union from which each column of the uniting view is computed."""
    return {
        select.alias_or_name: {column.name for column in select.find_all(exp.Column)}
        for select in _query(uniting).selects
    }


def columns_needed(query: exp.Expr) -> set[str]:
    """Return the columns of views of several traces that a query requires: its WHERE says `is not null`."""
    found = set()
    for select in query.find_all(exp.Select):
        source, where = select.args.get("from_"), select.args.get("where")
        if source and where and source.this.args.get("db") and source.this.db == SEVERAL_TRACES:
            conditions = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
            found |= {one.this.this.name for one in conditions if _is_required(one)}
    return found


def _is_required(condition: exp.Expr) -> bool:
    """Whether a condition is `column is not null`."""
    inner = condition.this
    is_null = isinstance(inner, exp.Is) and isinstance(inner.this, exp.Column)
    return isinstance(condition, exp.Not) and is_null
