"""A whole ingest: what the raw folders hold, what of it is new, and the conversions that it takes."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Event

import duckdb
from duckdb import DuckDBPyConnection

from tracehouse.ingest import integrity, store
from tracehouse.ingest.convert import Holdings, Job, check_copy, convert, moved, still_good, times_of
from tracehouse.ingest.declare import Trace, all_traces
from tracehouse.ingest.errors import RawFileError, UsageError, UserError, check_traces
from tracehouse.ingest.find import Claim, Found, Group, find
from tracehouse.ingest.manifest import Conversion, Key

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
class _Task:
    """The raw files of one table, or of one partition of it, and what the warehouse has of it already."""

    group: Group
    claims: tuple[Claim, ...]
    before: Mapping[Key, Conversion]
    warehouse: Path
    may_shrink: bool
    on_bytes: Callable[[int], None]


@dataclass
class _Steps:
    """What came of a task: conversions by their key, and what is to be said."""

    converted: dict[Key, Conversion] = field(default_factory=dict)
    unchanged: dict[Key, Conversion] = field(default_factory=dict)
    problems: dict[Key, RawFileError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _StoppedError(Exception):
    """Raised in every thread that still reads when the ingest ends early."""


def ingest(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
) -> Outcome:
    """Bring the Parquet store up to date with the raw files of the named traces; of all, if none is named.

    What was ingested before stays, unless the same raw file is found in another version. With `replacing`,
    a table that raw files are found for consists of these alone afterwards. A raw file that cannot be read
    leaves what its last version gave; the others are converted all the same. The caller holds the store's
    lock, and publishes the outcome.
    """
    traces = _named(trace_names)
    _check_folders(raw_folders)
    store.check_manifest_is_there(warehouse)
    found = find(raw_folders, traces, all_traces().values())
    previous = {c.key: c for c in (*store.published(warehouse), *store.finished(warehouse))}
    stop = Event()
    tasks = _tasks(found, previous, warehouse, replacing, partial(_tell, progress, stop))
    steps = _run(tasks, warehouse, stop)
    converted = {key: conversion for step in steps for key, conversion in step.converted.items()}
    unchanged = {key: conversion for step in steps for key, conversion in step.unchanged.items()}
    problems = (*found.problems, *(problem for step in steps for problem in step.problems.values()))
    now = previous | unchanged | converted
    leaving = _leaving(found, now, bool(problems)) if replacing else []
    return Outcome(
        tuple(conversion for conversion in now.values() if conversion not in leaving),
        tuple(converted.values()),
        tuple(unchanged.values()),
        problems,
        tuple(note for step in steps for note in step.notes) + tuple(map(said_of_leaving, leaving)),
        found.unrecognised,
    )


def _leaving(found: Found, now: Mapping[Key, Conversion], has_problems: bool) -> list[Conversion]:
    """What a table that raw files were found for has from others. None, where a file could not be read."""
    here = {claim.key for claim in found.claims}
    tables = set() if has_problems else {key[:2] for key in here}
    return [conversion for key, conversion in now.items() if key[:2] in tables and key not in here]


def said_of_leaving(conversion: Conversion) -> str:
    """A note on a raw file whose rows are taken out of the warehouse."""
    return f"{conversion.shown_source}: its {conversion.rows:,} rows leave {conversion.table_name}"


def of_sources(conversions: Sequence[Conversion], names: Sequence[str]) -> list[Conversion]:
    """The conversions of the named raw files.

    A name is that below the raw folder, the file's alone, or a pattern of either. Raises UsageError where it
    fits none.
    """
    chosen = []
    for name in names:
        fitting = [c for c in conversions if any(of == name or fnmatchcase(of, name) for of in _names(c))]
        if not fitting:
            known = sorted({c.shown_source for c in conversions})
            close = get_close_matches(name, known, n=3, cutoff=0.4)
            meant = f" Did you mean {' or '.join(close)}?" if close else ""
            raise UsageError(f"no raw file in the warehouse is called {name}.{meant} catalog.sources has all")
        chosen += fitting
    return list(dict.fromkeys(chosen))


def _names(conversion: Conversion) -> set[str]:
    files = {source.file for source in conversion.sources}
    return {conversion.source, *files, *(PurePosixPath(file).name for file in files)}


def without(conversions: Sequence[Conversion], leaving: Sequence[Conversion]) -> list[Conversion]:
    """Conversions but for some of them.

    Pieces that lost lines to one that leaves, as these stood in both, are read anew when they are found next.
    """
    groups = {conversion.key[:3] for conversion in leaving}
    return [
        replace(c, fingerprint="") if c.key[:3] in groups and c.rejected else c
        for c in conversions
        if c not in leaving
    ]


def _run(tasks: Sequence[_Task], warehouse: Path, stop: Event) -> list[_Steps]:
    """Do several tasks at a time, and give what came of each in the order of the tasks."""
    at_once = min(TABLES_AT_ONCE, os.cpu_count() or 1)
    with _sorter(warehouse) as connection, ThreadPoolExecutor(at_once) as pool:
        # A large table begun last would keep one thread busy while the others have nothing to do.
        futures = {
            task.group: pool.submit(_bring_up_to_date, task, connection)
            for task in sorted(tasks, key=lambda task: _bytes(task.claims), reverse=True)
        }
        try:
            for future in as_completed(futures.values()):
                future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        return [futures[task.group].result() for task in tasks]


def _bring_up_to_date(task: _Task, connection: DuckDBPyConnection) -> _Steps:
    """Convert the raw files of a task that are not what they were.

    What a file that cannot be read gave before stays, and the others are then to be read beside that.
    """
    steps = _Steps()
    task = _without_copies(task, steps)
    while True:
        known = len(steps.problems)
        task = replace(task, before={**task.before, **steps.converted})
        _attempt(task, steps, connection)
        newly = list(steps.problems)[known:]
        if not any(key in task.before for key in newly):
            steps.notes = list(dict.fromkeys(steps.notes))
            return steps


def _without_copies(task: _Task, steps: _Steps) -> _Task:
    """The task without raw files of which another one is a copy; where that differs, neither is read."""
    first: dict[Key, Claim] = {}
    for claim in sorted(task.claims, key=lambda claim: claim.raw.relative_name):
        try:
            if claim.key in first:
                steps.notes += check_copy(claim, first[claim.key])
            else:
                first[claim.key] = claim
        except RawFileError as problem:
            steps.problems[claim.key] = problem
    return replace(task, claims=tuple(first.values()))


def _attempt(task: _Task, steps: _Steps, connection: DuckDBPyConnection) -> None:
    """Go through the raw files of a task but for those that are known to be a problem."""
    jobs = [job for job in _jobs(task) if job.key not in steps.problems]
    here = {job.key for job in jobs}
    staying = [conversion for key, conversion in task.before.items() if key not in here]
    holdings = Holdings()
    for conversion in staying:
        holdings.add(conversion)
    is_piece_anew = False
    for job in jobs:
        raw = job.claim.raw
        try:
            if not is_piece_anew and job.before and still_good(job, holdings):
                staying.append(job.before)
                holdings.add(job.before, raw)
                if job.key not in steps.converted:
                    steps.unchanged[job.key] = moved(job.before, raw)
            else:
                if job.claim.table.wide and not is_piece_anew:
                    # Which of several pieces gives a line that they share is then the same as in one go.
                    holdings.times |= times_of(staying, task.warehouse, job.claim.table.wide)
                    is_piece_anew = True
                steps.notes += _said_of_damage(job)
                conversion, notes = convert(job, holdings, connection)
                steps.converted[job.key] = conversion
                steps.unchanged.pop(job.key, None)
                steps.notes += notes
        except RawFileError as problem:
            steps.problems[job.key] = problem


def _said_of_damage(job: Job) -> list[str]:
    """Notes on the Parquet files that have to be written anew because they are not what was written."""
    wrong = integrity.wrong_sizes(job.warehouse, [job.before] if job.before else [])
    file = job.claim.raw.relative_name
    return [f"{job.warehouse / damage.stored.path}: {damage.what}; {file} is read anew" for damage in wrong]


def _jobs(task: _Task) -> list[Job]:
    """The raw files of a task in the order in which they are read: archives first, then by name."""
    in_order = sorted(task.claims, key=lambda claim: (not claim.raw.is_archive, claim.raw.relative_name))
    return [
        Job(claim, task.warehouse, task.before.get(claim.key), task.may_shrink, task.on_bytes)
        for claim in in_order
    ]


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


def _tasks(
    found: Found,
    previous: Mapping[Key, Conversion],
    warehouse: Path,
    may_shrink: bool,
    tell: Callable[[str, int, int], None],
) -> list[_Task]:
    """One task for each table, or partition of one, that has raw files."""
    groups: dict[Group, list[Claim]] = defaultdict(list)
    for claim in found.claims:
        groups[claim.group].append(claim)
    return [
        _Task(
            group,
            tuple(claims),
            {key: conversion for key, conversion in previous.items() if key[:3] == group},
            warehouse,
            may_shrink,
            partial(tell, _label(group), _bytes(claims)),
        )
        for group, claims in groups.items()
    ]


def _label(group: Group) -> str:
    trace_name, table_name, partition = group
    values = (pair.partition("=")[2] for pair in partition.split("/"))
    return " ".join([f"{trace_name}.{table_name}", *values]).strip()


def _bytes(claims: Iterable[Claim]) -> int:
    return sum(claim.raw.bytes for claim in claims)


def _tell(progress: Progress, stop: Event, label: str, total_bytes: int, more_bytes: int) -> None:
    if stop.is_set():
        raise _StoppedError
    progress(label, more_bytes, total_bytes)
