"""Report what an export lost or defaulted: the origin of each field, dropped columns, jobs left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import duckdb

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read.describe import Grid
from tracehouse.publish.simulators.format_spec import Condition, Field, File, FormatSpec, Origin

# An export has a single trace, and the other columns are computed from exported columns.
_NOT_LOST = {"trace", "size_band", "hour_of_day", "weekday", "span_gpu_s"}
# Errors of binary fractions are not counted as rounding.
_EXACT = 1e-6


@dataclass(frozen=True)
class FieldOrigin:
    """The number of rows in which a field has one origin. `source` says how the field is computed."""

    file: str
    field: str
    origin: Origin
    rows: int
    source: str


@dataclass(frozen=True)
class DroppedColumn:
    """A column with values that the format cannot represent."""

    column: str
    jobs: int
    meaning: str


@dataclass(frozen=True)
class LeftOutJobs:
    """How many jobs were left out for one reason, and the GPU-hours that they held, if known."""

    reason: str
    jobs: int
    gpu_h: float | None


@dataclass(frozen=True)
class LossReport:
    """The number of exported jobs, and the dropped and defaulted values.

    `exported_gpu_h` are the requested GPUs times the run times in the files, and `held_gpu_h` the GPU-hours
    that the jobs with a run time held in the trace.
    """

    jobs: int
    exported_gpu_h: float
    held_gpu_h: float
    fields: Sequence[FieldOrigin]
    dropped: Sequence[DroppedColumn]
    left_out: Sequence[LeftOutJobs]


def build_loss_report(connection: duckdb.DuckDBPyConnection, spec: FormatSpec) -> LossReport:
    """Count the origins of each field in the tables `job` and `candidate_job`.

    Raises UsageError, which lists all options that must be set, and UserError if no option covers a missing
    value.
    """
    counted = {(file.name, name): counts for file in spec.files for name, counts in _counts(connection, file)}
    unset = [
        (file, field)
        for file in spec.files
        for field in file.fields
        if counted[file.name, field.name].missing and not field.missing
    ]
    for file, field in unset:
        if not field.option:
            rows = counted[file.name, field.name].missing
            raise UserError(
                f"{spec.name} needs {field.name} in each row of {file.name}, but {rows:,} rows of the trace "
                "have none. Run `traces check` to see why"
            )
    if unset:
        listed = " ".join(f"{option} …" for option in dict.fromkeys(field.option for _, field in unset))
        raise UsageError(f"{spec.name} needs values that this trace does not have. Set them: {listed}")
    fields = [
        one
        for file in spec.files
        for field in file.fields
        for one in _field_origins(file, field, counted[file.name, field.name])
    ]
    [(jobs, exported_gpu_h, held_gpu_h)] = connection.execute(
        """
        select
            count(*),
            coalesce(fsum(requested_gpus * run_s), 0) / 3600,
            coalesce(fsum(held_gpu_s) filter (where run_s is not null), 0) / 3600
        from job
        """
    ).fetchall()
    return LossReport(
        jobs,
        exported_gpu_h,
        held_gpu_h,
        fields,
        list(_dropped(connection, spec, counted)),
        _left_out(connection),
    )


@dataclass(frozen=True)
class _Counts:
    """The numbers of rows with a field from the trace, from its default, or missing; and by condition."""

    from_trace: int
    defaulted: int
    missing: int
    counts: Sequence[tuple[str, int]]


def _counts(connection: duckdb.DuckDBPyConnection, file: File) -> Iterator[tuple[str, _Counts]]:
    selected = ["count(*)"]
    for field in file.fields:
        either = f"coalesce({field.sql}, {field.default})" if field.default else field.sql
        selected += [f"count({field.sql})", f"count({either})"]
        selected += [f"count(*) filter ({condition.sql})" for condition in _counted_conditions(field)]
    [(rows, *counts)] = connection.execute(f"select {', '.join(selected)} from {file.rows}").fetchall()
    left = iter(counts)
    for field in file.fields:
        from_trace, with_default = islice(left, 2)
        counted = [(condition.label, next(left)) for condition in _counted_conditions(field)]
        yield field.name, _Counts(from_trace, with_default - from_trace, rows - with_default, counted)


def _counted_conditions(field: Field) -> list[Condition]:
    is_rounded = f"abs({field.sql} - {field.rounding}({field.sql})) > {_EXACT}"
    return [*([Condition("rounded", is_rounded)] if field.rounding else []), *field.counts]


def _field_origins(file: File, field: Field, counts: _Counts) -> Iterator[FieldOrigin]:
    if counts.from_trace:
        counted = [f"{rows:,} {label}" for label, rows in counts.counts if rows]
        origin = Origin.DERIVED if field.derivation or counted else Origin.EXACT
        source = "; ".join([field.derivation or field.source_columns[0], *counted])
        yield FieldOrigin(file.name, field.name, origin, counts.from_trace, source)
    if counts.defaulted:
        source = field.default_note or f"{field.option} {field.default}"
        yield FieldOrigin(file.name, field.name, Origin.DEFAULTED, counts.defaulted, source)
    if counts.missing:
        yield FieldOrigin(file.name, field.name, Origin.MISSING, counts.missing, "the trace has no value")


def _dropped(
    connection: duckdb.DuckDBPyConnection, spec: FormatSpec, counted: Mapping[tuple[str, str], _Counts]
) -> Iterator[DroppedColumn]:
    # A column is dropped if its field has no value for any job, because the field also needs another column.
    exported = {
        column
        for file in spec.files
        for field in file.fields
        if counted[file.name, field.name].from_trace
        for column in field.source_columns
    }
    columns = connection.execute(
        """
        select column_name, meaning from catalog.columns
        where object_name = 'unified.jobs' order by position
        """
    ).fetchall()
    unused = {name: meaning for name, meaning in columns if name not in exported | _NOT_LOST}
    if not unused:
        return
    selected = ", ".join(f"count({name})" for name in unused)
    [counts] = connection.execute(f"select {selected} from job").fetchall()
    for (name, meaning), jobs in zip(unused.items(), counts, strict=True):
        if jobs:
            yield DroppedColumn(name, jobs, meaning)


def _left_out(connection: duckdb.DuckDBPyConnection) -> list[LeftOutJobs]:
    rows = connection.execute(
        """
        select left_out, count(*), fsum(held_gpu_s) / 3600 from candidate_job
        where left_out is not null
        group by left_out
        order by count(*) desc, left_out
        """
    ).fetchall()
    return [LeftOutJobs(*row) for row in rows]


def describe_gpu_time(report: LossReport) -> str:
    """Compare the GPU time in the files with the time that the jobs held, in a sentence."""
    text = f"{report.exported_gpu_h:,.1f} GPU-hours (requested GPUs times run time)"
    if not report.held_gpu_h:
        return f"The files have {text}; the trace does not say how many were held."
    more = 100 * (report.exported_gpu_h / report.held_gpu_h - 1)
    return f"The files have {text}, {more:+.1f} % of the {report.held_gpu_h:,.1f} that these jobs held."


def tables(report: LossReport) -> list[Grid]:
    """The report as tables: one per file, one of dropped columns, one of jobs left out."""
    files = dict.fromkeys(one.file for one in report.fields)
    return [
        *(
            Grid(
                name,
                ("field", "origin", "rows", "how"),
                [
                    (one.field, one.origin.value, f"{one.rows:,}", one.source)
                    for one in report.fields
                    if one.file == name
                ],
            )
            for name in files
        ),
        Grid(
            "dropped: the format cannot represent",
            ("column", "jobs", "meaning"),
            [(one.column, f"{one.jobs:,}", one.meaning) for one in report.dropped],
        ),
        Grid(
            "left out",
            ("jobs", "GPU-hours held", "reason"),
            [
                (f"{one.jobs:,}", "unknown" if one.gpu_h is None else f"{one.gpu_h:,.1f}", one.reason)
                for one in report.left_out
            ],
        ),
    ]
