"""Write the view `<trace>.request` of a trace that declares its requests.

`unified.requests` unites these views, as `unified.jobs` unites the views `standard_job`.
"""

import re
from collections.abc import Iterable, Iterator

from tracehouse.core.errors import DefinitionError
from tracehouse.ingest.declare.metadata import MetricSupport
from tracehouse.ingest.declare.trace import Requests, Trace


def write_view(trace: Trace, declared: Requests) -> str:
    """Return the text of a view file. Raises DefinitionError if the declaration names no table or column."""
    if missing := find_missing(trace, declared):
        raise DefinitionError(
            f"ingest/traces/{trace.name}.py", f"`requests` names {missing[0]}, which is missing"
        )
    source = trace.table(declared.table).source
    listed = ",\n".join(f"    {sql} as {name}" for name, sql in _columns(trace, declared).items())
    return (
        f"-- {title(trace)}\n"
        "-- grain: one row per request\n"
        f"-- source: {source}\n"
        f"{_answers_line(trace, declared)}"
        f"{''.join(_caveat_lines(trace, declared))}"
        f"create or replace view {trace.name}.request_v1 as\n"
        f"select\n{listed}\nfrom {trace.name}.{declared.table};\n"
    )


def title(trace: Trace) -> str:
    """Return the title of the view."""
    return f"Requests in the standard columns: {trace.title}."


def find_missing(trace: Trace, declared: Requests) -> tuple[str, set[str]] | None:
    """Return the first name that the trace lacks, and the names that it could be; None if it has all."""
    columns = {table.name: {column.name for column in table.stored_columns} for table in trace.tables}
    if declared.table not in columns:
        return declared.table, set(columns)
    known = columns[declared.table]
    fields = (declared.at, declared.workload, declared.model, declared.session, declared.input)
    named = filter(None, (*fields, declared.output, declared.latency, declared.prefix_blocks))
    return next(((name, known) for name in named if name not in known), None)


def metrics_of(trace: Trace, declared: Requests) -> Iterator[MetricSupport]:
    """Yield the metrics that follow from the requests of a trace and their clock.

    The declaration must name tables and columns of the trace: see `find_missing`.
    """
    columns = {column.name: column for column in trace.table(declared.table).stored_columns}
    yield MetricSupport("submission", "exact", "Arrival of each request.")
    if named := declared.workload or declared.model:
        yield MetricSupport("workload", "exact", f"{columns[named].comment}.")
    if declared.failed:
        yield MetricSupport("final state", "exact", f"A request failed if {declared.failed}.")
    elif declared.completed:
        yield MetricSupport("final state", "exact", f"A request completed if {declared.completed}.")
    if declared.prefix_blocks:
        reason = f"{declared.prefix_blocks} has equal numbers for equal prefixes."
        yield MetricSupport("prefix reuse", "exact", reason)
    else:
        named = " and ".join(filter(None, (declared.input, declared.output))) or declared.at
        reason = f"Requests of {trace.name} have {named}, and nothing on prefixes that they share."
        yield MetricSupport("prefix reuse", "impossible", reason)
    if declared.session:
        reason = "Sessions of requests are known; a user may have several."
        yield MetricSupport("user", "approximate", reason)
    clock = trace.clock_of(columns[declared.at])
    if clock and clock.local_offset_s is not None:
        yield MetricSupport("hour of day", "exact", f"The clock {clock.name} gives local hours.")


def _answers_line(trace: Trace, declared: Requests) -> str:
    """Return the line of a header on the metrics that the view answers; empty if it answers none.

    Leaves out prefix reuse, which `unified.prefix_reuse` answers, and the metrics that the trace declares.
    """
    elsewhere = {"prefix reuse", *(metric.name for metric in trace.metrics)}
    found = [one.name for one in metrics_of(trace, declared) if one.is_possible and one.name not in elsewhere]
    return f"-- answers: {', '.join(found)}\n" if found else ""


def _caveat_lines(trace: Trace, declared: Requests) -> Iterator[str]:
    """Yield the lines of a header on the caveats of the table and of the columns that the view reads.

    Views do not inherit caveats of tables. Those that change no number stay with the table.
    """
    table = trace.table(declared.table)
    for caveat in table.caveats:
        if caveat.severity != "background":
            yield f"-- caveat: {caveat.name}\n"
    read = {
        declared.at: "arrival_s local_arrival_s",
        declared.input: "input_tokens",
        declared.output: "output_tokens",
        declared.latency: "latency_s",
        declared.prefix_blocks: "prefix_blocks",
    }
    of_outcome = re.findall(r"\w+", declared.failed)
    for column in table.stored_columns:
        names = [read.get(column.name, ""), "status" if column.name in of_outcome else ""]
        for caveat in column.caveats if any(names) else ():
            if caveat.severity != "background":
                yield f"-- caveat: {caveat.name}: {' '.join(filter(None, names))}\n"


def _columns(trace: Trace, declared: Requests) -> dict[str, str]:
    """Return the SQL of each standard column."""
    table = trace.table(declared.table)
    types = {column.name: column.type for column in table.stored_columns}

    def typed(column: str, kind: str) -> str:
        if not column:
            return f"cast(null as {kind})"
        return f'"{column}"' if types[column] == kind.upper() else f'cast("{column}" as {kind})'

    at = table.column(declared.at)
    arrival_s = f'epoch("{at.name}")' if at.type.startswith("TIMESTAMP") else typed(at.name, "double")
    if at.unit == "ms":
        arrival_s += " / 1000"
    clock = trace.clock_of(at)
    local_arrival_s = "cast(null as double)"
    if clock and clock.local_offset_s is not None:
        is_local = clock.scale == 1 and clock.local_offset_s == 0
        local_arrival_s = arrival_s if is_local else f"{arrival_s} * {clock.scale} + {clock.local_offset_s}"
    completed = declared.completed or (f"not ({declared.failed})" if declared.failed else "")
    outcomes = {"failed": declared.failed, "completed": completed}
    whens = "".join(
        f" when {_quote_columns(is_so, types)} then '{outcome}'"
        for outcome, is_so in outcomes.items()
        if is_so
    )
    return {
        "workload": typed(declared.workload, "varchar"),
        "model": typed(declared.model, "varchar"),
        "session_id": typed(declared.session, "varchar"),
        "request_number": typed(table.row_number, "bigint"),
        "arrival_s": arrival_s,
        "local_arrival_s": local_arrival_s,
        "input_tokens": typed(declared.input, "bigint"),
        "output_tokens": typed(declared.output, "bigint"),
        "latency_s": typed(declared.latency, "double"),
        "status": f"case{whens} else 'unknown' end" if whens else "'unknown'",
        "prefix_blocks": typed(declared.prefix_blocks, "bigint[]"),
        "block_tokens": f"cast({declared.block_tokens or 'null'} as bigint)",
    }


def _quote_columns(condition: str, columns: Iterable[str]) -> str:
    """Put quotes around the columns in a condition, which a file with capitals in names needs."""
    names = "|".join(map(re.escape, columns))
    return re.sub(rf"""(?<![\w"'])({names})(?![\w"'])""", r'"\1"', condition)
