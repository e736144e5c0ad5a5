"""A whole ingest: what the raw folders hold, what of it is new, and the conversions that it takes."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

import duckdb
from duckdb import DuckDBPyConnection

from tracehouse.ingest import store
from tracehouse.ingest.convert import Job, convert, still_good
from tracehouse.ingest.declare import Trace, all_traces
from tracehouse.ingest.errors import RawFileError, UserError, check_traces
from tracehouse.ingest.find import Claim, Found, Key, find
from tracehouse.ingest.store import Conversion

Progress = Callable[[str, int, int], None]
"""Told which table is being read, how many more bytes of its raw files have been, and how many it has.

Called from several threads. A negative number takes back bytes that have to be read again.
"""

# Each keeps three threads busy, to inflate, parse and write; a third table only costs more memory.
TABLES_AT_ONCE = 2
# For sorting; what does not fit is spilled beside the half-written files.
SORT_MEMORY = "700MB"


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


@dataclass(frozen=True)
class _Step:
    """What came of one job."""

    conversion: Conversion | None
    is_new: bool = True
    problem: UserError | None = None
    notes: tuple[str, ...] = ()


class _StoppedError(Exception):
    """Raised in every thread that still reads when the ingest ends early."""


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
    stop = Event()
    jobs = [job for job in _jobs(found, warehouse, progress, stop) if not found.is_unsure(job.key)]
    steps = _run(jobs, previous, warehouse, stop)
    converted = tuple(step.conversion for step in steps if step.conversion and step.is_new)
    unchanged = tuple(step.conversion for step in steps if step.conversion and not step.is_new)
    now = previous | {c.key: c for c in converted}
    return Outcome(
        tuple(now.values()),
        converted,
        unchanged,
        (*found.problems, *(step.problem for step in steps if step.problem)),
        tuple(note for step in steps for note in step.notes),
        found.unrecognised,
    )


def _run(
    jobs: Sequence[Job], previous: Mapping[Key, Conversion], warehouse: Path, stop: Event
) -> list[_Step]:
    """Do several jobs at a time, and give what came of each in the order of the jobs."""
    at_once = min(TABLES_AT_ONCE, os.cpu_count() or 1)
    with _sorter(warehouse) as connection, ThreadPoolExecutor(at_once) as pool:
        # A large table begun last would keep one thread busy while the others have nothing to do.
        futures = {
            job.key: pool.submit(_bring_up_to_date, job, previous.get(job.key), connection)
            for job in sorted(jobs, key=lambda job: _bytes(job.claims), reverse=True)
        }
        try:
            for future in as_completed(futures.values()):
                future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        return [futures[job.key].result() for job in jobs]


def _bring_up_to_date(job: Job, before: Conversion | None, connection: DuckDBPyConnection) -> _Step:
    try:
        if before is not None and still_good(job, before):
            return _Step(before, is_new=False)
        conversion, notes = convert(job, connection)
    except RawFileError as problem:
        return _Step(None, problem=problem)
    return _Step(conversion, notes=tuple(notes))


def _sorter(warehouse: Path) -> DuckDBPyConnection:
    """An empty DuckDB that lends its threads and memory to every sort."""
    spill = store.half_written(warehouse) / "spill"
    return duckdb.connect(config={"memory_limit": SORT_MEMORY, "temp_directory": str(spill)})


def _check_folders(raw_folders: Sequence[Path]) -> None:
    for folder in raw_folders:
        if not folder.is_dir():
            raise UserError(
                f"{folder}: there is no such folder. Name the one that holds the raw files with --raw, "
                "or write a synthetic one with `traces sample`"
            )


def _named(trace_names: Sequence[str]) -> list[Trace]:
    known = all_traces()
    check_traces(trace_names, known)
    return [known[name] for name in trace_names] or list(known.values())


def _jobs(found: Found, warehouse: Path, progress: Progress, stop: Event) -> list[Job]:
    """One job for each table, or partition of one, that has raw files."""
    groups: dict[Key, list[Claim]] = defaultdict(list)
    for claim in found.claims:
        groups[claim.key].append(claim)
    return [
        Job(
            claims[0].trace,
            claims[0].table,
            key[2],
            tuple(claims),
            warehouse,
            partial(_tell, progress, stop, _label(key), _bytes(claims)),
        )
        for key, claims in groups.items()
    ]


def _label(key: Key) -> str:
    trace_name, table_name, partition = key
    values = (pair.partition("=")[2] for pair in partition.split("/"))
    return " ".join([f"{trace_name}.{table_name}", *values]).strip()


def _bytes(claims: Iterable[Claim]) -> int:
    return sum(claim.raw.bytes for claim in claims)


def _tell(progress: Progress, stop: Event, label: str, total_bytes: int, more_bytes: int) -> None:
    if stop.is_set():
        raise _StoppedError
    progress(label, more_bytes, total_bytes)
