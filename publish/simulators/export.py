"""Export the jobs of a trace for a simulator: a folder of files with a loss report, written atomically."""

import json
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb

from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError
from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read import notes as notes_on
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish.simulators.files import write_file
from tracehouse.publish.simulators.format_spec import NUMBERED_COLUMNS, FormatSpec
from tracehouse.publish.simulators.loss_report import LossReport, build_loss_report

REPORT = "export.json"
LIMITS = Limits(memory="1GB", most_threads=4)
"""Jobs are collected, numbered and sorted within this memory, and on disk. More threads need more memory."""
_VIEW = "unified.jobs"


@dataclass(frozen=True)
class ExportResult:
    """The loss report of an export, and caveats of the jobs."""

    report: LossReport
    caveats: Sequence[Note]


def export(
    warehouse: Path,
    limits: Limits,
    trace: str,
    clusters: Sequence[str],
    spec: FormatSpec,
    folder: Path,
    keep_censored: bool = False,
    run_as_held: bool = False,
) -> ExportResult:
    """Write the jobs of a trace, or of some of its clusters, to a new folder.

    With `keep_censored`, jobs that the trace cuts off get their observed run time. With `run_as_held`, run
    times are the held GPU time divided by the requested GPUs. Raises UsageError if the trace or a cluster is
    unknown, or if the format needs an option.
    """
    folder = folder.absolute()
    _check_is_new(folder)
    staging = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    try:
        staging.mkdir()
    except OSError as error:
        raise UserError(f"{folder}: the folder cannot be written ({error.strerror})") from None

    def work(connection: duckdb.DuckDBPyConnection) -> ExportResult:
        selected = _select_clusters(connection, trace, clusters)
        _collect_jobs(connection, trace, selected, spec, _run_time(keep_censored, run_as_held))
        report = build_loss_report(connection, spec)
        if not report.jobs:
            reasons = "; ".join(f"{left.jobs:,}: {left.reason}" for left in report.left_out)
            raise UserError(f"{trace} has no job for {spec.name}: {reasons or 'it has no data'}")
        facts = _describe_export(connection, trace, selected, spec, report)
        for file in spec.files:
            header = spec.header(facts) if spec.header and file is spec.files[0] else ()
            write_file(connection, file, staging / file.name, header)
        read = [_VIEW, "unified.capacity", *spec.reads.get(trace, ())]
        notes = {note.name: note for name in read for note in notes_on.of_object(connection, name)}
        caveats = [note for name, note in sorted(notes.items()) if name.startswith(f"{trace}.")]
        details = _build_report(connection, trace, selected, spec, report, facts, caveats)
        (staging / REPORT).write_text(json.dumps(details, indent=2, ensure_ascii=False, default=str) + "\n")
        return ExportResult(report, caveats)

    with signals.clean_up_at_end(lambda: shutil.rmtree(staging, ignore_errors=True)):
        exported = sandbox.run(warehouse, limits, work, confined=False)
        if folder.exists():
            folder.rmdir()
        staging.rename(folder)
    return exported


def _check_is_new(folder: Path) -> None:
    if not folder.parent.is_dir():
        raise UserError(f"{folder.parent}: no such folder. Create it, or choose another")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: the folder exists and is not empty. Choose a new one, or remove it")


def _select_clusters(
    connection: duckdb.DuckDBPyConnection, trace: str, names: Sequence[str]
) -> Sequence[str]:
    """The clusters to export: the named ones, or all; empty if the trace has no clusters."""
    rows = connection.execute(f"select distinct trace, cluster from {_VIEW} order by all").fetchall()
    traces = dict.fromkeys(name for name, _ in rows)
    if trace not in traces:
        listed = ", ".join(traces) or "none"
        raise UsageError(f"the warehouse has no jobs of {trace}. Traces with jobs: {listed}")
    known = [cluster for name, cluster in rows if name == trace and cluster is not None]
    if wrong := [name for name in names if name not in known]:
        raise UsageError(f"{trace} has no cluster {wrong[0]}: {', '.join(known) or 'it has no clusters'}")
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
    spec: FormatSpec,
    run_time: str,
) -> None:
    """Create the table `candidate_job` and the view `job`.

    `candidate_job` has all jobs, with the reason if a job is left out. `job` has the exported jobs.
    """
    typed = {"cluster": "varchar", "job_id": "varchar", **spec.detail_columns}
    nulls = ", ".join(f"cast(null as {kind}) as {column}" for column, kind in typed.items())
    details = f"select {nulls} limit 0"
    if trace in spec.details:
        # Columns that the trace lacks become NULL.
        details = f"({details}) union all by name ({spec.details[trace]})"
    more = "".join(f", details.{column}" for column in spec.detail_columns)
    of_clusters = f"and list_contains([{', '.join(map(quoted, clusters))}], jobs.cluster)" if clusters else ""
    reasons = " ".join(f"when {condition.sql} then {quoted(condition.label)}" for condition in spec.left_out)
    job_name, partition = _name_columns(len(clusters) > 1)
    numbered = ", ".join(
        f"case when {column} is not null then dense_rank() over "
        f"(partition by left_out is null, {column} is null order by {column}) end as {name}"
        for name, column in NUMBERED_COLUMNS.items()
    )
    connection.execute(
        f"""
        create temp table candidate_job as
        with candidate as (
            select
                jobs.* replace ({run_time} as run_s),
                {job_name} as job_name,
                {partition} as job_partition
                {more}
            from {_VIEW} as jobs
            left join ({details}) as details
                on jobs.job_id = details.job_id and jobs.cluster is not distinct from details.cluster
            where jobs.trace = {quoted(trace)} {of_clusters}
        ),

        reasoned as (
            select *, case {reasons} end as left_out from candidate
        )

        select
            *,
            row_number() over (partition by left_out is null order by submit_s, cluster, job_id) as number,
            min(submit_s) over (partition by left_out is null) as first_submit_s,
            {numbered}
        from reasoned
        """
    )
    connection.execute("create temp view job as select * from candidate_job where left_out is null")


def _name_columns(has_several_clusters: bool) -> tuple[str, str]:
    """The SQL of a job's name and partition, prefixed by the cluster if several clusters are exported."""
    if not has_several_clusters:
        return "jobs.job_id", "jobs.partition_name"
    prefix = "coalesce(jobs.cluster || '/', '')"
    # A partition named like its cluster is unique already.
    partition = f"""
        case
            when jobs.partition_name = jobs.cluster then jobs.partition_name
            else {prefix} || jobs.partition_name
        end
    """
    return f"{prefix} || jobs.job_id", partition


def _describe_export(
    connection: duckdb.DuckDBPyConnection,
    trace: str,
    clusters: Sequence[str],
    spec: FormatSpec,
    report: LossReport,
) -> dict[str, Any]:
    """Facts about the export as a whole, for headers and the report."""
    described = connection.sql(
        "select title, publisher, homepage, licence, citation from catalog.traces where trace = $trace",
        params={"trace": trace},
    )
    [values] = described.fetchall()
    [(start, partitions)] = connection.execute(
        "select min(submit_time), count(distinct partition_number) from job"
    ).fetchall()
    gpus, nodes = _capacity(connection, trace, clusters)
    return {
        **dict(zip(described.columns, values, strict=True)),
        "version": version("tracehouse"),
        "jobs": report.jobs,
        "first_submit_time": start,
        "zone": _zone(connection, trace),
        "gpus": gpus,
        "nodes": nodes,
        "partitions": partitions,
        "notes": spec.notes,
    }


def _capacity(
    connection: duckdb.DuckDBPyConnection, trace: str, clusters: Sequence[str]
) -> tuple[int | None, int | None]:
    """The numbers of GPUs and nodes of the exported clusters; None if a number is unknown for any of them."""
    rows = connection.execute(
        "select cluster, gpus, nodes from unified.capacity where trace = $1", [trace]
    ).fetchall()
    parts = [(cluster, gpus, nodes) for cluster, gpus, nodes in rows if not clusters or cluster in clusters]
    is_complete = parts and {cluster for cluster, _, _ in parts} >= set(clusters)
    gpus, nodes = (
        sum(part[column] for part in parts)
        if is_complete and all(part[column] is not None for part in parts)
        else None
        for column in (1, 2)
    )
    return gpus, nodes


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


def _build_report(
    connection: duckdb.DuckDBPyConnection,
    trace: str,
    clusters: Sequence[str],
    spec: FormatSpec,
    report: LossReport,
    facts: dict[str, Any],
    caveats: Sequence[Note],
) -> dict[str, Any]:
    sources = notes_on.sources(connection, [_VIEW, *spec.reads.get(trace, ())]).to_pylist()
    of_trace = [source for source in sources if source["table_name"].startswith(f"{trace}.")]
    return {
        "format": spec.name,
        "trace": trace,
        "clusters": list(clusters),
        **facts,
        **asdict(report),
        "caveats": {note.name: note.text for note in caveats},
        "sources": [{key: row[key] for key in ("file", "sha256", "synthetic")} for row in of_trace],
    }
