"""Export jobs or requests of a trace for a simulator: a folder with a loss report, written atomically."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet

from tracehouse.core import staging
from tracehouse.core.errors import UsageError, UserError
from tracehouse.core.progress import NO_STEPS, Step, StepLine
from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read import notes as notes_on
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.answer import read
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import output
from tracehouse.publish.simulators.formats import JOBS, ExportFormat, File, bind, reason_sql
from tracehouse.publish.simulators.loss_report import (
    Report,
    build_loss_report,
    check_complete,
    define_macros,
    with_values,
)

REPORT = "export.json"
LIMITS = Limits(memory="1GB", most_threads=4, reserve_bytes=1_500_000_000)
"""Rows are collected, numbered and sorted within this memory, and on disk. More threads need more memory.

The reserve is for a second database that reads the files, and for batches of rows in Arrow and Polars.
"""
# Columns of `job` that number the sorted values of another column from 1.
_NUMBERED = {
    "user_number": "user_id",
    "group_number": "group_id",
    "executable_number": "workload",
    "partition_number": "job_partition",
}


def export(
    warehouse: Path,
    trace: str,
    parts: Sequence[str],
    form: ExportFormat,
    folder: Path,
    keep_censored: bool = False,
    run_as_held: bool = False,
    limits: Limits = LIMITS,
    step: StepLine = NO_STEPS,
) -> tuple[Report, Sequence[Note]]:
    """Write the jobs or requests of a trace, or of some of its clusters or workloads, to a new folder.

    Returns the loss report, and caveats of the exported rows. `step` shows what is being done.

    With `keep_censored`, jobs that the trace cuts off get their observed run time. With `run_as_held`, run
    times are the held GPU time divided by the requested GPUs. Raises UsageError if the trace or a part is
    unknown, or if the format needs an option.
    """
    run_time = _run_time(keep_censored, run_as_held)
    with staging.replace_folder(folder.absolute(), _check_target) as new, sandbox.scratch_folder() as scratch:
        work = partial(
            _write,
            trace=trace,
            parts=parts,
            form=form,
            run_time=run_time,
            folder=new,
            limits=limits,
            step=step,
        )
        return sandbox.run(warehouse, limits, work, [new, *step.files], scratch)


def _write(
    connection: duckdb.DuckDBPyConnection,
    trace: str,
    parts: Sequence[str],
    form: ExportFormat,
    run_time: str,
    folder: Path,
    limits: Limits,
    step: Step,
) -> tuple[Report, Sequence[Note]]:
    """Write the files of an export and its report to a folder; see `export`."""
    step(f"reading {form.population.name}s of {trace}")
    selected = _select_parts(connection, trace, parts, form)
    if form.population == JOBS:
        _collect_jobs(connection, trace, selected, form, run_time)
    else:
        _collect_requests(connection, trace, selected, form)
    _create_view(connection, trace, form)
    values = _query_values(connection, trace, form)
    facts = _describe_export(connection, trace, selected, form)
    define_macros(connection)
    for file in form.files:
        step(f"writing {file.name}")
        missing = _write_file(connection, file, values, folder / file.name, facts)
        check_complete(form, file, missing, values)
    step("counting what the files contain")
    part = _condition(trace, selected, form.population.part)
    report = build_loss_report(connection, form, values, folder, part, limits)
    caveats, sources = _caveats_and_sources(connection, trace, form)
    details = {
        "format": form.name,
        "trace": trace,
        f"{form.population.part}s": list(selected),
        "options": form.options,
        **facts,
        **report,
        "caveats": {note.name: note.text for note in caveats},
        "sources": sources,
    }
    (folder / REPORT).write_text(
        json.dumps(details, indent=2, ensure_ascii=False, default=str) + "\n", encoding="utf-8"
    )
    return report, caveats


def _check_target(folder: Path) -> None:
    """Raise UserError unless the folder can be created, or is empty."""
    output.check_folder(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: the folder exists and is not empty. Choose a new one, or remove it")


def _select_parts(
    connection: duckdb.DuckDBPyConnection, trace: str, names: Sequence[str], form: ExportFormat
) -> Sequence[str]:
    """The clusters or workloads to export: the named ones, or all; empty if the trace has none."""
    view, part, nouns = form.population.views[0], form.population.part, f"{form.population.name}s"
    # With a constant trace, DuckDB reads no other trace.
    sql = f"select distinct {part} from {view} where trace = {quoted(trace)} order by all"
    rows = connection.execute(sql).fetchall()
    if not rows:
        traces = connection.execute(f"select distinct trace from {view} order by all").fetchall()
        listed = ", ".join(name for (name,) in traces) or "none"
        raise UsageError(f"the warehouse has no {nouns} of {trace}. Traces with {nouns}: {listed}")
    known = [name for (name,) in rows if name is not None]
    if wrong := [name for name in names if name not in known]:
        raise UsageError(f"{trace} has no {part} {wrong[0]}. Its {part}s: {', '.join(known) or 'none'}")
    return list(dict.fromkeys(names)) or known


def _run_time(keep_censored: bool, run_as_held: bool) -> str:
    """The SQL of the exported run time of a job."""
    run = "coalesce(jobs.run_s, jobs.observed_run_s)" if keep_censored else "jobs.run_s"
    held = f"coalesce(jobs.held_gpu_s / nullif(jobs.requested_gpus, 0), {run})"
    return f"case when {run} is not null then {held} end" if run_as_held else run


def _collect_jobs(
    connection: duckdb.DuckDBPyConnection,
    trace: str,
    clusters: Sequence[str],
    form: ExportFormat,
    run_time: str,
) -> None:
    """Create the table `candidate_job`, which has all jobs, with the reason if a job is skipped."""
    typed = {"cluster": "varchar", "job_id": "varchar", **form.detail_columns}
    nulls = ", ".join(f"cast(null as {kind}) as {column}" for column, kind in typed.items())
    details = f"select {nulls} limit 0"
    if form.details:
        # Columns that the trace lacks become NULL.
        details = f"({details}) union all by name ({form.details})"
    more = "".join(f", details.{column}" for column in form.detail_columns)
    # If several clusters are exported, names get the cluster as prefix, because clusters reuse them. A
    # partition named like its cluster is unique already.
    prefix = "coalesce(jobs.cluster || '/', '')" if len(clusters) > 1 else "''"
    numbered = ", ".join(
        f"case when {column} is not null then dense_rank() over "
        f"(partition by skipped is null, {column} is null order by {column}) end as {name}"
        for name, column in _NUMBERED.items()
    )
    connection.execute(
        f"""
        create temp table candidate_job as
        with candidate as (
            select
                jobs.* replace ({run_time} as run_s),
                {prefix} || jobs.job_id as job_name,
                case when jobs.partition_name = jobs.cluster then '' else {prefix} end || jobs.partition_name
                as job_partition
                {more}
            from unified.jobs as jobs
            left join ({details}) as details
                on jobs.job_id = details.job_id and jobs.cluster is not distinct from details.cluster
            where {_condition(trace, clusters, "jobs.cluster")}
        ),

        reasoned as (
            select *, {_skipped(form)} as skipped from candidate
        )

        select
            *,
            row_number() over (partition by skipped is null order by submit_s, cluster, job_id) as number,
            min(submit_s) over (partition by skipped is null) as first_submit_s,
            {numbered}
        from reasoned
        """
    )


def _collect_requests(
    connection: duckdb.DuckDBPyConnection, trace: str, workloads: Sequence[str], form: ExportFormat
) -> None:
    """Create the table `candidate_request`, which has all requests, with the reason if one is skipped.

    Raises UsageError if the workloads do not share their prefix blocks.
    """
    sql = f"""
        create temp table candidate_request as
        with candidate as (
            -- Seconds since 1970 have errors below a microsecond as doubles.
            select *, round(arrival_s - min(arrival_s) over (), 6) as elapsed_s
            from unified.requests
            where {_condition(trace, workloads, "workload")}
        ),

        reasoned as (
            select *, {_skipped(form)} as skipped from candidate
        )

        select
            *,
            (arrival_s - min(arrival_s) over (partition by skipped is null)) / $rate_factor as offset_s,
            row_number() over (
                partition by skipped is null
                order by arrival_s, workload, request_number, session_id, input_tokens, output_tokens
            ) as number
        from reasoned
        """
    connection.execute(sql, bind(sql, form.options))
    numbered = "select distinct workload from candidate_request where prefix_blocks is not null order by all"
    separate = [workload for (workload,) in connection.execute(numbered).fetchall()]
    if len(separate) > 1:
        raise UsageError(
            f"{trace} numbers its prefix blocks, and counts its times, separately in each workload."
            f" Choose one with --workload: {', '.join(separate)}"
        )


def _condition(trace: str, parts: Sequence[str], column: str) -> str:
    """The SQL condition of the rows of a trace, or of some of its parts."""
    of_parts = f" and list_contains([{', '.join(map(quoted, parts))}], {column})" if parts else ""
    return f"trace = {quoted(trace)}{of_parts}"


def _skipped(form: ExportFormat) -> str:
    """The SQL of the reason for which a row is skipped."""
    return reason_sql({with_values(one, form.options): form.population.skipped[one] for one in form.skipped})


def _create_view(connection: duckdb.DuckDBPyConnection, trace: str, form: ExportFormat) -> None:
    """Create the view of the candidates that are not skipped. Raises UserError if there is none."""
    name = form.population.name
    candidates = f"candidate_{name}"
    connection.execute(f"create temp view {name} as select * from {candidates} where skipped is null")
    skipped = connection.execute(f"select skipped, count(*) from {candidates} group by all order by all")
    counts = dict(skipped.fetchall())
    if None not in counts:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in counts.items())
        raise UserError(f"{trace} has no {name} for {form.name}: {reasons or 'it has no data'}")


def _query_values(connection: duckdb.DuckDBPyConnection, trace: str, form: ExportFormat) -> dict[str, Any]:
    """The parameters of the queries: options, the trace, and what separates a job's name from a number."""
    options = {name: None if value == "" else value for name, value in form.options.items()}
    if form.population != JOBS:
        return {**options, "trace": trace}
    # One dash more than any job name has before its final number, so that names of pods are unique.
    [(dashes,)] = connection.execute(
        "select coalesce(max(length(regexp_extract(job_name, '(-+)[0-9]+$', 1))), 0) from job"
    ).fetchall()
    return {**options, "trace": trace, "separator": "-" * (dashes + 1)}


def _write_file(
    connection: duckdb.DuckDBPyConnection,
    file: File,
    values: Mapping[str, Any],
    path: Path,
    facts: Mapping[str, Any],
) -> Mapping[str, int]:
    """Write one file of an export in batches, in constant memory.

    Returns the number of missing values by required field. From the first one on, no rows are written.
    """
    reader = read(connection, BoundQuery(file.sql, bind(file.sql, values)))
    names = reader.schema.names[: len(file.fields)]
    pairs = zip(names, file.fields, strict=True)
    missing = {name: 0 for name, described in pairs if not described.is_optional}
    batches = _complete((batch.select(names) for batch in reader), missing)
    schema = pa.schema([reader.schema.field(name) for name in names])
    if path.suffix == ".parquet":
        schema = pa.schema(
            [
                pa.field(one.name, _parquet_type(one.type), nullable=described.is_optional)
                for one, described in zip(schema, file.fields, strict=True)
            ]
        )
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch.cast(schema, safe=False))
    elif path.suffix == ".csv":
        # Quote only where a value needs it: some simulators' parsers do not support quotes.
        with path.open("wb") as rows:
            rows.write(f"{','.join(names)}\n".encode())
            for batch in batches:
                polars.DataFrame(batch).write_csv(rows, include_header=False, quote_style="necessary")
    else:
        if path.suffix == ".swf":
            lines = _swf_lines(batches, _swf_header(values["processors_per_gpu"], facts))
        else:
            lines = _json_lines(batches) if path.suffix == ".jsonl" else _json_list(batches)
        with path.open("w", encoding="utf-8") as text:
            text.writelines(lines)
    return missing


def _complete(batches: Iterable[pa.RecordBatch], missing: dict[str, int]) -> Iterator[pa.RecordBatch]:
    """The batches before the first missing value. Adds the numbers of missing values in all batches."""
    for batch in batches:
        for name in missing:
            missing[name] += batch[name].null_count
        if not any(missing.values()):
            yield batch


def _swf_lines(batches: Iterable[pa.RecordBatch], header: Sequence[str]) -> Iterator[str]:
    yield from (f"{line}\n" for line in header)
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield " ".join("-1" if value is None else str(value) for value in row) + "\n"


def _json_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """An object per line, without the fields that have no value."""
    for row in (row for batch in batches for row in batch.to_pylist()):
        yield json.dumps({name: value for name, value in row.items() if value is not None}) + "\n"


def _json_list(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """A list with an object per line, which has all fields."""
    for number, row in enumerate(row for batch in batches for row in batch.to_pylist()):
        yield ("[" if number == 0 else ",\n") + json.dumps(row)
    yield "]\n"


def _parquet_type(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("ms", kind.tz) if pa.types.is_timestamp(kind) else kind


def _describe_export(
    connection: duckdb.DuckDBPyConnection, trace: str, parts: Sequence[str], form: ExportFormat
) -> dict[str, Any]:
    """Facts about the export as a whole, for headers and the report."""
    described = connection.sql(
        "select title, publisher, homepage, licence, citation from catalog.traces where trace = $trace",
        params={"trace": trace},
    )
    [values] = described.fetchall()
    facts = {**dict(zip(described.columns, values, strict=True)), "version": version("tracehouse")}
    if form.population != JOBS:
        [(block_tokens,)] = connection.execute("select max(block_tokens) from request").fetchall()
        return {**facts, "block_tokens": block_tokens, "notes": form.notes}
    [(jobs, start, partitions, largest)] = connection.execute(
        "select count(*), min(submit_time), count(distinct partition_number),"
        " cast(ceil(max(greatest(requested_gpus, allocated_gpus))) as bigint) from job"
    ).fetchall()
    gpus, nodes = _capacity(connection, trace, parts)
    return {
        **facts,
        "jobs": jobs,
        "first_submit_time": start,
        "zone": _zone(connection, trace),
        "gpus": gpus,
        "nodes": nodes,
        "largest_job_gpus": largest,
        "partitions": partitions,
        "notes": (*form.notes, *(_warnings_on_capacity(connection, trace) if gpus else ())),
    }


def _warnings_on_capacity(connection: duckdb.DuckDBPyConnection, trace: str) -> list[str]:
    """Why the number of GPUs may be wrong: a simulator would take it for that of the cluster."""
    about = notes_on.of_statement(connection, ["unified.capacity"], traces=[trace])
    return [
        f"MaxProcs: {note.summary}"
        for note in about
        if note.severity == notes_on.WRONG_RESULT and note.name.startswith(f"{trace}.")
    ]


def _capacity(
    connection: duckdb.DuckDBPyConnection, trace: str, clusters: Sequence[str]
) -> tuple[int | None, int | None]:
    """The numbers of GPUs and nodes of the exported clusters; None if a number is unknown for any of them."""
    [(gpus, nodes, known)] = connection.execute(
        """
        select
            if(bool_and(gpus is not null), sum(gpus), null),
            if(bool_and(nodes is not null), sum(nodes), null),
            count(distinct cluster)
        from unified.capacity
        where trace = $trace and (len($clusters) = 0 or list_contains($clusters, cluster))
        """,
        {"trace": trace, "clusters": list(clusters)},
    ).fetchall()
    return (gpus, nodes) if known >= len(clusters) else (None, None)


def _zone(connection: duckdb.DuckDBPyConnection, trace: str) -> str | None:
    """The name of the time zone of the clusters, if the trace's job times have a known one."""
    rows = connection.execute(
        r"""
        select distinct regexp_extract(zone, '^[A-Z][a-z]+/[A-Z][A-Za-z_]+') as name
        from catalog.clocks, (select distinct local_submit_s - epoch(submit_time) as offset_s from job)
        where trace = $1 and local_offset_s is not null and offset_s is not null and name <> ''
        """,
        [trace],
    ).fetchall()
    return rows[0][0] if len(rows) == 1 else None


def _caveats_and_sources(
    connection: duckdb.DuckDBPyConnection, trace: str, form: ExportFormat
) -> tuple[list[Note], list[dict[str, Any]]]:
    """The caveats of the trace and its rejected rows, and the raw files behind the export."""
    read = [*form.population.views, *form.reads]
    notes = {note.name: note for note in notes_on.of_statement(connection, read, traces=[trace])}
    sources = notes_on.sources(connection, [form.population.views[0], *form.reads]).to_pylist()
    return (
        [note for name, note in notes.items() if name.startswith(f"{trace}.") or name == notes_on.REJECTED],
        [
            {key: source[key] for key in ("file", "sha256", "synthetic")}
            for source in sources
            if source["table_name"].startswith(f"{trace}.")
        ],
    )


def _swf_header(processors_per_gpu: int, facts: Mapping[str, Any]) -> list[str]:
    """The header lines, with the keys of the standard, in its order; lines of unknown values are left out."""
    gpus, largest, notes = facts["gpus"], facts["largest_job_gpus"], [*facts["notes"]]
    if gpus is not None and gpus < largest:
        notes += [f"MaxProcs is that of the largest job, as the trace lists {gpus:,} GPUs only."]
        gpus = largest
    lines = [
        ("Version", "2.2"),
        ("Computer", f"{facts['title']}, GPUs counted as processors"),
        ("Installation", facts["publisher"]),
        ("Acknowledge", facts["citation"]),
        ("Information", facts["homepage"]),
        ("Conversion", f"Tracehouse {facts['version']}"),
        ("MaxJobs", facts["jobs"]),
        ("MaxRecords", facts["jobs"]),
        *_swf_dates(facts),
        ("MaxNodes", facts["nodes"]),
        ("MaxProcs", gpus and int(gpus) * processors_per_gpu),
        ("MaxPartitions", facts["partitions"] or None),
        *(("Note", note) for note in notes),
        ("Note", f"Licence: {facts['licence']}"),
    ]
    return [f"; {key}: {' '.join(str(value).split())}" for key, value in lines if value is not None]


def _swf_dates(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Header lines on the start of the log. The time zone is left out if it is unknown."""
    start, zone = facts["first_submit_time"], facts["zone"]
    yield "UnixStartTime", int(start.timestamp()) if start else 0
    if not start:
        yield "Note", "UnixStartTime is 0 because the trace has no dates"
    elif zone:
        yield "TimeZoneString", zone
        yield "StartTime", f"{start.astimezone(ZoneInfo(zone)):%a %b %d %H:%M:%S %Z %Y}"
    else:
        yield "StartTime", f"{start:%a %b %d %H:%M:%S UTC %Y}"
