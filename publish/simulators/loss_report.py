"""Report what an export lost or defaulted: the origin of each field, dropped columns, skipped rows.

The numbers of jobs or requests, their totals and missing values are read from the written files (`readback`).
They are compared with all jobs or requests in the warehouse, also those that the export skips.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tracehouse.core.errors import UsageError, UserError
from tracehouse.core.text import identifier, quoted
from tracehouse.engines.duckdb.read.catalog import read_rows
from tracehouse.engines.duckdb.read.describe import Grid
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish.simulators import readback
from tracehouse.publish.simulators.formats import (
    CHANGES,
    JOBS,
    MACROS,
    NO_RUN_TIME,
    SKIPPED_JOBS,
    ExportFormat,
    Field,
    File,
    Population,
    bind,
    reason_sql,
)

# Errors of binary fractions are not counted as rounding.
_EXACT = 1e-6
# The share of the rows up to which the summary leaves out a change.
_FEW = 0.01


Report = dict[str, Any]
"""The losses of an export, as they are written.

`jobs` and `exported_gpu_h` are the jobs and the GPU-hours in the files. `warehouse_jobs` and
`warehouse_gpu_h` are those of the same trace or clusters in the warehouse, jobs that are skipped included,
and `held_gpu_h` those that the exported jobs held. `fields` has the number of rows of each file in which a
field has one origin: exact, derived, defaulted or missing; `source` says how the field is computed, and
`changed` counts rows by how the format changes their value. `dropped` has the columns with values that the
format cannot represent. `skipped` has the reasons for which jobs were skipped, and `untimed` those for which
exported jobs have no GPU-hours in the files; both with the GPU-hours that these jobs held, if known.

A report of requests has `requests` and `warehouse_requests`. In place of GPU-hours, it has the totals of the
file: `span_s`, the seconds from the first to the last request, `input_tokens` and `output_tokens`.
"""


@dataclass(frozen=True)
class TraceValues:
    """A field of a file, and in how many rows its value comes from the trace.

    `changed` counts, by label, the rows in which the value is changed.
    """

    name: str
    field: Field
    rows: int
    changed: Mapping[str, int]


def define_macros(connection: duckdb.DuckDBPyConnection, of_trace: bool = False) -> None:
    """Define the macros of the queries. With `of_trace`, values are those of the trace, not those written."""
    for signature, sql in [*MACROS.items(), *CHANGES.items()]:
        unchanged = of_trace and signature in CHANGES
        connection.execute(f"create or replace temp macro {signature} as {'x' if unchanged else sql}")


def check_complete(
    form: ExportFormat, file: File, missing: Mapping[str, int], values: Mapping[str, Any]
) -> None:
    """Raise UsageError, which lists the options to set, if required fields lack values in some rows.

    Raises UserError if no option covers a missing value. `missing` has the number of rows by required field.
    """
    unset = []
    required = (field for field in file.fields if not field.is_optional)
    for (name, count), field in zip(missing.items(), required, strict=True):
        if count and not field.options:
            raise UserError(
                f"{form.name} needs {name} in each row of {file.name}, but {count:,} rows of the trace "
                "have none. Run `traces check` to see why"
            )
        if count:
            unset += [option for option in field.options if _value(option, values) is None]
    if unset:
        listed = " ".join(f"{option} …" for option in dict.fromkeys(unset))
        raise UsageError(f"{form.name} needs values that this trace does not have. Set them: {listed}")


def _count_trace_values(
    connection: duckdb.DuckDBPyConnection, file: File, values: Mapping[str, Any]
) -> list[TraceValues]:
    """Count the values of a file's fields that come from the trace, which the file does not distinguish."""
    sql, bound, fields = file.sql, bind(file.sql, values), file.fields
    written = [str(kind) for kind in connection.sql(sql, params=bound).types]
    define_macros(connection, of_trace=True)
    relation = connection.sql(sql, params=bound)
    names, conditions = relation.columns[: len(fields)], relation.columns[len(fields) :]
    changes = [
        (
            name,
            "rounded up" if field.is_rounded_up else "rounded",
            f"abs({identifier(name)} - round({identifier(name)})) > {_EXACT}",
        )
        for name, field, before, after in zip(names, fields, relation.types, written, strict=False)
        # A fraction in a column of whole numbers is rounded when it is written.
        if before == "DOUBLE" and after in ("BIGINT", "INTEGER")
    ]
    for condition in conditions:
        name, _, label = condition.partition(": ")
        changes.append((name, label, identifier(condition)))
    sums = [f"count({identifier(name)})" for name in names]
    sums += [f"count(*) filter ({sql})" for _, _, sql in changes]
    [counts] = relation.aggregate(", ".join(sums)).fetchall()
    define_macros(connection)
    changed = [(*change[:2], count) for change, count in zip(changes, counts[len(names) :], strict=True)]
    return [
        TraceValues(name, field, count, {label: n for of, label, n in changed if of == name and n})
        for name, field, count in zip(names, fields, counts, strict=False)
    ]


def build_loss_report(
    connection: duckdb.DuckDBPyConnection,
    form: ExportFormat,
    values: Mapping[str, Any],
    folder: Path,
    exported_part: str,
    limits: Limits,
) -> Report:
    """Report the losses of the files in a folder.

    `exported_part` is the SQL condition of the trace, or of its clusters or workloads.
    """
    main = folder / form.files[0].name
    counted = [_count_trace_values(connection, file, values) for file in form.files]
    origins: list[dict[str, Any]] = []
    with readback.reader(connection, limits) as reader:
        for file, fields in zip(form.files, counted, strict=True):
            rows, missing = readback.count_rows(reader, folder / file.name)
            for field in fields:
                origins += _field_origins(file, field, missing.get(field.name, rows), rows, values)
        if form.population == JOBS:
            totals = _count_jobs(connection, *readback.read_jobs(reader, form.name, main, values))
            in_warehouse = "count(*) as warehouse_jobs, fsum(held_gpu_s) / 3600 as warehouse_gpu_h"
        else:
            totals = readback.read_requests(reader, form.name, main)
            in_warehouse = "count(*) as warehouse_requests"
    view = form.population.views[0]
    [of_warehouse] = read_rows(connection, f"select {in_warehouse} from {view} where {exported_part}")
    # A column is dropped if its field has no value for any job, because the field also needs another column.
    exported = {column for fields in counted for one in fields if one.rows for column in one.field.columns}
    return {
        **totals,
        **of_warehouse,
        "fields": origins,
        "dropped": list(_dropped(connection, form.population, exported)),
        "skipped": _count_by_reason(
            connection,
            form.population,
            f"select *, skipped as reason from candidate_{form.population.name}",
        ),
    }


def _count_jobs(
    connection: duckdb.DuckDBPyConnection, jobs: int, gpu_s: float, untimed: pa.Table
) -> dict[str, Any]:
    """The totals of the jobs in the files, and the GPU-hours that these jobs held in the trace."""
    connection.register("untimed", untimed)
    [held] = read_rows(connection, "select fsum(held_gpu_s) / 3600 as held_gpu_h from job")
    reasons = reason_sql({reason: SKIPPED_JOBS[reason] for reason in NO_RUN_TIME})
    return {
        "jobs": jobs,
        "exported_gpu_h": gpu_s / 3600,
        **held,
        "untimed": _count_by_reason(
            connection,
            JOBS,
            # A job with a run time lacks another time in the files.
            f"select *, coalesce({reasons}, {quoted(NO_RUN_TIME[-1])}) as reason from job"
            f" where {untimed.column_names[0]} in (from untimed)",
        ),
    }


def _field_origins(
    file: File, counted: TraceValues, missing: int, rows: int, values: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    field, changed = counted.field, counted.changed
    how = with_values(field.how, values) or field.columns[0]
    default = with_values(field.default.removeprefix("optional: "), values)
    # The file has no more values of the trace than it has values.
    from_trace = min(counted.rows, rows - missing)
    for origin, count, source in (
        ("derived" if field.how or changed else "exact", from_trace, how),
        ("defaulted", rows - missing - from_trace, default),
        ("missing", missing, "the trace has no value"),
    ):
        if count:
            text = "; ".join([source, *(f"{n:,} {label}" for label, n in changed.items())])
            about = {"file": file.name, "field": counted.name, "origin": origin, "rows": count}
            yield about | {"source": text, "changed": changed}
            changed = {}


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with the value after each option that is set."""

    def with_value(option: re.Match[str]) -> str:
        value = _value(option[0], values)
        if value is None:
            return option[0]
        return f"{option[0]} {value:.15g}" if isinstance(value, float) else f"{option[0]} {value}"

    return re.sub(r"--[a-z-]+", with_value, text)


def _value(option: str, values: Mapping[str, Any]) -> Any:
    return values[option.removeprefix("--").replace("-", "_")]


def _dropped(
    connection: duckdb.DuckDBPyConnection, population: Population, exported: Set[str]
) -> Iterator[dict[str, Any]]:
    columns = connection.execute(
        "select column_name, meaning from catalog.columns where object_name = $1 order by position",
        [population.views[0]],
    ).fetchall()
    unused = {name: meaning for name, meaning in columns if name not in exported | population.needs_no_field}
    if not unused:
        return
    selected = ", ".join(f"count({name})" for name in unused)
    [counts] = connection.execute(f"select {selected} from {population.name}").fetchall()
    for (name, meaning), count in zip(unused.items(), counts, strict=True):
        if count:
            yield {"column": name, f"{population.name}s": count, "meaning": meaning}


def _count_by_reason(
    connection: duckdb.DuckDBPyConnection, population: Population, rows: str
) -> list[dict[str, Any]]:
    """Count the rows of a SELECT by its column `reason`, and the GPU-hours that jobs held."""
    # Pods that never started held no GPU.
    held = "if(wait_s is null and observed_wait_s is not null, coalesce(held_gpu_s, 0), held_gpu_s)"
    gpu_h = f", fsum({held}) / 3600 as gpu_h" if population == JOBS else ""
    return read_rows(
        connection,
        f"""
        select reason, count(*) as {population.name}s {gpu_h} from ({rows})
        where reason is not null
        group by reason
        order by count(*) desc, reason
        """,
    )


def describe_totals(report: Report) -> str:
    """Describe what the files contain, and what the warehouse contains, in a few sentences."""
    if "requests" in report:
        requests, span_s = report["requests"], report["span_s"]
        rate = f" ({requests / span_s:,.2f} per second)" if span_s else ""
        tokens = f"{report['input_tokens']:,} input and {report['output_tokens']:,} output tokens"
        text = f"The files have {_part(requests, report['warehouse_requests'])} requests, with {tokens}."
        return f"{text} They arrive within {span_s:,.0f} s{rate}."
    gpu_h, in_warehouse = report["exported_gpu_h"], report["warehouse_gpu_h"]
    hours = f"{gpu_h:,.1f} GPU-hours"
    if not in_warehouse:
        hours += " (GPUs times run time); the trace does not say how many were held"
    elif change := _change(gpu_h, in_warehouse):
        hours += f" (GPUs times run time), {change} than the {in_warehouse:,.1f} in the warehouse"
    else:
        hours = f"all {hours}"
    text = f"The files have {_part(report['jobs'], report['warehouse_jobs'])} jobs and {hours}."
    who = "These jobs"
    if untimed := sum(one["jobs"] for one in report["untimed"]):
        text += f" {untimed:,} of these jobs lack a run time in the files."
        who = "The others"
    # What the files have of the jobs that they represent, separately from the jobs that they lose.
    held = (report["held_gpu_h"] or 0) - math.fsum(one["gpu_h"] or 0 for one in report["untimed"])
    if untimed < report["jobs"] and held and _change(held, in_warehouse):
        more = _change(gpu_h, held)
        text += f" {who} held {held:,.1f} GPU-hours{more and f'; the files have {more}'}."
    return text


def _change(gpu_h: float, before: float) -> str:
    """The relative change of GPU-hours, such as `0.5 % less`; empty if both print the same."""
    if f"{gpu_h:,.1f}" == f"{before:,.1f}":
        return ""
    change = 100 * (gpu_h / before - 1)
    percent = f"{abs(change):.1f} %" if abs(change) >= 0.05 else "under 0.1 %"
    return f"{percent} {'more' if change > 0 else 'less'}"


def _part(count: int, of: int) -> str:
    return f"all {count:,}" if count == of else f"{count:,} of {of:,}"


def summarize(report: Report) -> dict[str, str]:
    """The changed, defaulted and missing fields by file, and the dropped columns; each a list of names.

    A field that lacks some values only has their number. Rounding to the nearest unit and changes of at most
    1 % of the rows are left out.
    """
    lists: dict[str, list[str]] = {}
    origins: Counter[tuple[str, str]] = Counter()
    rows: Counter[tuple[str, str]] = Counter()
    for one in report["fields"]:
        origins[one["file"], one["field"]] += 1
        rows[one["file"], one["field"]] += one["rows"]
    for one in report["fields"]:
        for label, count in one["changed"].items():
            if label != "rounded" and count > _FEW * rows[one["file"], one["field"]]:
                changed = f"{one['field']} ({count:,} rows {label})"
                lists.setdefault(f"changed in {one['file']}", []).append(changed)
    for one in report["fields"]:
        if one["origin"] in ("defaulted", "missing"):
            is_in_all = origins[one["file"], one["field"]] == 1
            name = one["field"] if is_in_all else f"{one['field']} ({one['rows']:,} rows)"
            lists.setdefault(f"{one['origin']} in {one['file']}", []).append(name)
    lists["dropped, as the format has no field"] = [one["column"] for one in report["dropped"]]
    return {heading: ", ".join(names) for heading, names in lists.items() if names}


def tables(report: Report) -> list[Grid]:
    """The report as tables: one per file, one of dropped columns, the last two by reason."""
    files: dict[str, list[tuple[str, ...]]] = {}
    for one in report["fields"]:
        row = (one["field"], one["origin"], f"{one['rows']:,}", one["source"])
        files.setdefault(one["file"], []).append(row)
    noun = "jobs" if "jobs" in report else "requests"
    dropped = [(one["column"], f"{one[noun]:,}", one["meaning"]) for one in report["dropped"]]
    gpu_h = ("GPU-hours held",) if "jobs" in report else ()
    reasons = [
        Grid(
            title,
            (noun, *gpu_h, "reason"),
            [(f"{one[noun]:,}", *(_hours(one["gpu_h"]) for _ in gpu_h), one["reason"]) for one in rows],
        )
        for title, rows in (
            ("without a run time in the files", report.get("untimed", ())),
            ("skipped", report["skipped"]),
        )
    ]
    return [
        *(Grid(name, ("field", "origin", "rows", "how"), rows) for name, rows in files.items()),
        Grid("dropped: the format cannot represent", ("column", noun, "meaning"), dropped),
        *reasons,
    ]


def _hours(gpu_h: float | None) -> str:
    return "unknown" if gpu_h is None else f"{gpu_h:,.1f}"
