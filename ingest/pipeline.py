"""A whole ingest: what the raw folders hold, what of it is new, and the conversions that it takes."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tracehouse.ingest import store
from tracehouse.ingest.convert import Job, convert, still_good
from tracehouse.ingest.declare import Trace, all_traces
from tracehouse.ingest.errors import RawFileError, UsageError, UserError
from tracehouse.ingest.find import Claim, Found, find
from tracehouse.ingest.store import Conversion

Progress = Callable[[str, int, int], None]
"""Told what is being read, how many more bytes of raw files have been, and how many there are in all."""


@dataclass(frozen=True)
class Outcome:
    """What an ingest did.

    `conversions` is all that the warehouse now consists of: what was `converted`, what was `unchanged`,
    and tables that this ingest did not touch.
    """

    conversions: tuple[Conversion, ...]
    converted: tuple[Conversion, ...]
    unchanged: tuple[Conversion, ...]
    problems: tuple[UserError, ...]
    notes: tuple[str, ...]
    unrecognised: tuple[str, ...]


def ingest(
    raw_folders: Sequence[Path], warehouse: Path, trace_names: Sequence[str], progress: Progress
) -> Outcome:
    """Bring the Parquet store up to date with the raw files of the named traces; of all, if none is named.

    A table whose raw files cannot be read keeps its last good version; the others are converted all the
    same. The caller holds the store's lock, and publishes the outcome.
    """
    traces = _named(trace_names)
    _check_folders(raw_folders)
    found = find(raw_folders, traces, all_traces().values())
    previous = {c.key: c for c in (*store.published(warehouse), *store.finished(warehouse))}
    problems: list[UserError] = list(found.problems)
    converted: list[Conversion] = []
    unchanged: list[Conversion] = []
    notes: list[str] = []
    for job in _jobs(found, warehouse, progress):
        if job.key[:2] in found.unsure:
            continue
        try:
            before = previous.get(job.key)
            if before is not None and still_good(job, before):
                unchanged.append(before)
                continue
            conversion, job_notes = convert(job)
        except RawFileError as problem:
            problems.append(problem)
            continue
        converted.append(conversion)
        notes += job_notes
    now = previous | {c.key: c for c in converted}
    return Outcome(
        tuple(now.values()),
        tuple(converted),
        tuple(unchanged),
        tuple(problems),
        tuple(notes),
        tuple(raw.relative_name for raw in found.unrecognised),
    )


def _check_folders(raw_folders: Sequence[Path]) -> None:
    for folder in raw_folders:
        if not folder.is_dir():
            raise UserError(
                f"{folder}: there is no such folder. Name the one that holds the raw files with --raw, "
                "or write a synthetic one with `traces sample`"
            )


def _named(trace_names: Sequence[str]) -> list[Trace]:
    known = all_traces()
    unknown = [name for name in trace_names if name not in known]
    if unknown:
        raise UsageError(f"no trace is called {unknown[0]}. Known: {', '.join(known)}")
    return [known[name] for name in trace_names] or list(known.values())


def _jobs(found: Found, warehouse: Path, progress: Progress) -> list[Job]:
    """One job for each table, or partition of one, that has raw files."""
    groups: dict[tuple[str, str, str], list[Claim]] = defaultdict(list)
    for claim in found.claims:
        keys = claim.table.key_values(claim.raw.csv_name) or {}
        partition = "/".join(f"{key}={keys[key]}" for key in claim.table.partition_by)
        groups[claim.trace.name, claim.table.name, partition].append(claim)
    total_bytes = sum(claim.raw.bytes for claim in found.claims)
    return [
        Job(
            claims[0].trace,
            claims[0].table,
            partition,
            tuple(claims),
            warehouse,
            partial(_tell, progress, f"{trace_name}.{table_name}", total_bytes),
        )
        for (trace_name, table_name, partition), claims in groups.items()
    ]


def _tell(progress: Progress, label: str, total_bytes: int, more_bytes: int) -> None:
    progress(label, more_bytes, total_bytes)
