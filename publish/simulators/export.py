"""Exports the jobs of a trace for a simulator: a folder of files with the account, whole or not at all."""

import json
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb

from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.read import answer, provenance, sandbox
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish.simulators import files
from tracehouse.publish.simulators.format_spec import NUMBERED, Form
from tracehouse.publish.simulators.loss_report import Account, account_of

REPORT = "export.json"
LIMITS = Limits(memory="1GB", most_threads=4)
"""Jobs are gathered, numbered and sorted in so much, and on disk; with 16 threads it does not suffice."""
_VIEW = "unified.jobs"


@dataclass(frozen=True)
class Exported:
    """What was written: the account of it, and what is to be known of the jobs."""

    account: Account
    notes: Sequence[str]
    caveats: Sequence[answer.Note]


def export(
    warehouse: Path, limits: Limits, trace: str, clusters: Sequence[str], form: Form, folder: Path
) -> Exported:
    """Write the jobs of a trace, of some clusters if any are named, to a new folder.

    Raises UsageError where the trace or a cluster is none, and where the format needs what is not told.
    """
    folder = folder.absolute()
    _check_free(folder)
    aside = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    aside.mkdir()

    def remove() -> None:
        shutil.rmtree(aside, ignore_errors=True)

    def work(connection: duckdb.DuckDBPyConnection) -> Exported:
        exported = _clusters(connection, trace, clusters)
        _gather(connection, trace, exported, form)
        account = account_of(connection, form)
        if not account.jobs:
            reasons = "; ".join(f"{left.jobs:,}: {left.reason}" for left in account.left_out)
            raise UserError(f"{trace} has no job for {form.name}: {reasons or 'it has no data'}")
        facts = _facts(connection, trace, form, account)
        for file in form.files:
            header = form.header(facts) if form.header and file is form.files[0] else ()
            files.write(connection, file, aside / file.name, header)
        read = [_VIEW, *form.reads.get(trace, ())]
        noted = {note.name: note for name in read for note in answer.notes(connection, name)}
        caveats = [note for name, note in sorted(noted.items()) if name.startswith(f"{trace}.")]
        report = _report(connection, trace, exported, form, account, facts, caveats)
        (aside / REPORT).write_text(json.dumps(report, indent=2, ensure_ascii=False, default=str) + "\n")
        return Exported(account, form.notes, caveats)

    with signals.before_the_end(remove):
        exported = sandbox.ask(warehouse, limits, work, confined=False)
        if folder.exists():
            folder.rmdir()
        aside.rename(folder)
    return exported


def _check_free(folder: Path) -> None:
    if not folder.parent.is_dir():
        raise UserError(f"{folder.parent}: there is no such folder. Make it, or name another")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: it is there already. Name a new folder, or take that one away")


def _clusters(connection: duckdb.DuckDBPyConnection, trace: str, asked: Sequence[str]) -> Sequence[str]:
    """The clusters that are exported: those asked for, or else all of a trace, which may tell none apart."""
    rows = connection.execute(f"select distinct trace, cluster from {_VIEW} order by all").fetchall()
    traces = dict.fromkeys(name for name, _ in rows)
    if trace not in traces:
        listed = ", ".join(traces) or "none"
        raise UsageError(f"no jobs of {trace} are in the warehouse. Traces with jobs: {listed}")
    known = [cluster for name, cluster in rows if name == trace and cluster is not None]
    if wrong := [name for name in asked if name not in known]:
        raise UsageError(f"{trace} has no cluster {wrong[0]}: {', '.join(known) or 'it tells none apart'}")
    return list(dict.fromkeys(asked)) or known


def _gather(connection: duckdb.DuckDBPyConnection, trace: str, clusters: Sequence[str], form: Form) -> None:
    """Make the tables `judged`, all jobs and why some are left out, and `job`, those that are not."""
    details = form.details.get(trace)
    more = "".join(
        f", {f'details.{column}' if details else f'cast(null as {kind})'} as {column}"
        for column, kind in form.more_columns.items()
    )
    joined = (
        f"left join ({details}) as details on jobs.job_id = details.job_id "
        "and jobs.cluster is not distinct from details.cluster"
        if details
        else ""
    )
    of_clusters = f"and list_contains([{', '.join(map(quoted, clusters))}], jobs.cluster)" if clusters else ""
    reasons = " ".join(f"when {rule.condition} then {quoted(rule.reason)}" for rule in form.left_out)
    job_name, partition = _told_apart(len(clusters) > 1)
    numbered = ", ".join(
        f"case when {column} is not null then dense_rank() over "
        f"(partition by left_out is null, {column} is null order by {column}) end as {name}"
        for name, column in NUMBERED.items()
    )
    connection.execute(
        f"""
        create temp table judged as
        with candidate as (
            select jobs.*, {job_name} as job_name, {partition} as job_partition {more}
            from {_VIEW} as jobs {joined}
            where jobs.trace = {quoted(trace)} {of_clusters}
        ),

        reasoned as (
            select *, {f"case {reasons} end" if reasons else "cast(null as varchar)"} as left_out
            from candidate
        )

        select
            *,
            row_number() over (partition by left_out is null order by submit_s, cluster, job_id) as number,
            min(submit_s) over (partition by left_out is null) as first_submit_s,
            {numbered}
        from reasoned
        """
    )
    connection.execute("create temp view job as select * from judged where left_out is null")


def _told_apart(are_several: bool) -> tuple[str, str]:
    """A job's name and its partition, which mean something within a cluster only."""
    if not are_several:
        return "jobs.job_id", "jobs.partition_name"
    behind = "coalesce(jobs.cluster || '/', '')"
    # A partition that is a cluster needs no other name.
    partition = f"""
        case
            when jobs.partition_name = jobs.cluster then jobs.partition_name
            else {behind} || jobs.partition_name
        end
    """
    return f"{behind} || jobs.job_id", partition


def _facts(connection: duckdb.DuckDBPyConnection, trace: str, form: Form, account: Account) -> dict[str, Any]:
    """What is to be said of the export as a whole."""
    described = connection.sql(
        "select title, publisher, homepage, licence, citation from catalog.traces where trace = $trace",
        params={"trace": trace},
    )
    [values] = described.fetchall()
    [(start,)] = connection.execute("select min(submit_time) from job").fetchall()
    return {
        **dict(zip(described.columns, values, strict=True)),
        "version": version("tracehouse"),
        "jobs": account.jobs,
        "first_submit_time": start,
        "notes": form.notes,
    }


def _report(
    connection: duckdb.DuckDBPyConnection,
    trace: str,
    clusters: Sequence[str],
    form: Form,
    account: Account,
    facts: dict[str, Any],
    caveats: Sequence[answer.Note],
) -> dict[str, Any]:
    sources = provenance.sources(connection, [_VIEW, *form.reads.get(trace, ())]).to_pylist()
    of_trace = [source for source in sources if source["table_name"].startswith(f"{trace}.")]
    return {
        "format": form.name,
        "trace": trace,
        "clusters": list(clusters),
        **facts,
        **account.as_data(),
        "caveats": {note.name: note.text for note in caveats},
        "sources": [{key: row[key] for key in ("file", "sha256", "synthetic")} for row in of_trace],
    }
