"""Convert the raw files that are new or changed: find them, plan one task per table, run the tasks."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Event

from tracehouse.core.errors import RawFileError, StoppedError, UsageError, UserError, check_traces
from tracehouse.core.progress import Progress
from tracehouse.core.text import escape_name
from tracehouse.ingest.convert.incremental import Task, TaskResult, run_task
from tracehouse.ingest.convert.refusals import refuse_in_all_tables
from tracehouse.ingest.declarations import Trace, all_traces
from tracehouse.ingest.discovery.claims import Claim, Found, Group, find
from tracehouse.ingest.discovery.packing import whole_name
from tracehouse.ingest.discovery.raw_files import RawFile
from tracehouse.ingest.selection import Selection, parse_selection, selects
from tracehouse.ingest.store import integrity, journal, manifest
from tracehouse.ingest.store.manifest import Conversion, Key

RunTasks = Callable[[Sequence[Task], Path, Event], list[TaskResult]]
"""Runs tasks for a warehouse and returns their results in order; ends early when the event is set."""

# A table keeps several threads busy (inflate, parse, sort, write); a third table would only cost memory.
TABLES_AT_ONCE = 2


@dataclass(frozen=True)
class IngestResult:
    """The result of an ingest.

    `conversions` are all conversions of the warehouse: those `converted` now, those `unchanged`, and those of
    raw files that this ingest did not find.
    """

    conversions: tuple[Conversion, ...]
    converted: tuple[Conversion, ...]
    unchanged: tuple[Conversion, ...]
    problems: tuple[UserError, ...]
    notes: tuple[str, ...]
    unrecognised: tuple[str, ...]
    documents: tuple[str, ...]


def convert(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
    run_tasks: RunTasks | None = None,
    only: Sequence[str] = (),
) -> IngestResult:
    """Convert the new and changed raw files of the named traces, or of all traces if none is named.

    Earlier conversions stay, unless another version of the same raw file is found. With `replacing`, a table
    that raw files are found for consists of these alone afterwards, if all of them can be read. A raw file
    that cannot be read keeps the rows of its last version. `run_tasks` converts elsewhere; without it, this
    process does. Of partitioned tables, `only` some partitions are converted (see `selection`). The caller
    holds the lock of the warehouse and publishes the result.
    """
    traces, selection = check_arguments(raw_folders, trace_names, only)
    progress("raw folders", 0, 0)
    found = _select(find(raw_folders, traces, all_traces().values()), selection)
    notes = []
    if replacing and found.problems:
        replacing = False
        notes.append("Nothing is replaced, because some files cannot be read")
    published = {c.key: c for c in manifest.read_conversions(warehouse)}
    _check_unread_conversions(warehouse, published.values(), found, replacing)
    stop = Event()
    tasks = _plan_tasks(found, published, warehouse, replacing, partial(_report_bytes, progress, stop))

    def run(tasks: Sequence[Task]) -> list[TaskResult]:
        return (run_tasks or _run_tasks)(tasks, warehouse, stop)

    results = refuse_in_all_tables(tasks, run(tasks), run)
    converted = {key: conversion for result in results for key, conversion in result.converted.items()}
    unchanged = {key: conversion for result in results for key, conversion in result.unchanged.items()}
    before = {key: conversion for task in tasks for key, conversion in task.before.items()}
    now = {**published, **before, **unchanged, **converted}
    removed = _find_removed(tasks, results, now, bool(selection)) if replacing else []
    for conversion in removed:
        journal.discard(warehouse, conversion.key)
    return IngestResult(
        tuple(conversion for conversion in now.values() if conversion not in removed),
        tuple(converted.values()),
        tuple(unchanged.values()),
        (*found.problems, *_list_problems(results)),
        (*notes, *(note for result in results for note in result.notes), *map(describe_removal, removed)),
        found.unrecognised,
        found.documents,
    )


def _select(found: Found, selection: Selection) -> Found:
    """Return what was found, without partitions that are not selected. Raises UserError if none is left."""
    claims = tuple(claim for claim in found.claims if selects(selection, claim.group[2]))
    if found.claims and not claims:
        raise UserError("no raw file has a partition that --only selects")
    return replace(found, claims=claims)


def _list_problems(results: Sequence[TaskResult]) -> list[RawFileError]:
    """List the errors of all tables; a raw file that several tables refuse for one reason has one."""
    problems = [problem for result in results for problem in result.all_problems]
    return list({str(problem): problem for problem in problems}.values())


def _check_unread_conversions(
    warehouse: Path, published: Iterable[Conversion], found: Found, replacing: bool
) -> None:
    """Raise UserError, before any conversion, where a file is damaged that no raw file found can restore."""
    keys = {claim.key for claim in found.claims}
    replaced = {key[:2] for key in keys} if replacing else set()
    unread = [c for c in published if c.key not in keys and c.key[:2] not in replaced]
    integrity.check_sizes(warehouse, unread)


def _find_removed(
    tasks: Sequence[Task],
    results: Sequence[TaskResult],
    now: Mapping[Key, Conversion],
    is_selection: bool,
) -> list[Conversion]:
    """Find the conversions that `replacing` removes: of raw files not found, in tables without problems.

    Of a selection of partitions, those in other partitions stay.
    """
    keys = {claim.key for task in tasks for claim in task.claims}
    incomplete = {task.group[:2] for task, result in zip(tasks, results, strict=True) if result.all_problems}
    replaced = {task.group for task, result in zip(tasks, results, strict=True) if not result.all_problems}
    tables = set() if is_selection else {group[:2] for group in replaced} - incomplete
    return [
        conversion
        for key, conversion in now.items()
        if key not in keys and (key[:3] in replaced or key[:2] in tables)
    ]


def describe_removal(conversion: Conversion) -> str:
    """Describe a raw file whose rows are removed from the warehouse."""
    return f"{conversion.shown_source}: removed its {conversion.rows:,} rows from {conversion.table_name}"


def find_conversions(conversions: Sequence[Conversion], names: Sequence[str]) -> list[Conversion]:
    """Find the conversions of the named raw files.

    A name is a path below the raw folder, a bare file name, a glob pattern of either, or, if the file exists,
    its path with the raw folder in front, as messages print it. Raises UsageError where one matches nothing.
    """
    chosen = []
    for name in names:
        matches = [
            c
            for c in conversions
            if any(own == name or fnmatchcase(own, name) for own in _list_source_names(c))
        ]
        if not matches:
            matches = _match_end_of_path(name, conversions)
            if not matches or not _file_exists(Path(name)):
                raise _no_match_error(name, matches, conversions)
        chosen += matches
    return list(dict.fromkeys(chosen))


def _match_end_of_path(path: str, conversions: Sequence[Conversion]) -> list[Conversion]:
    """Find the conversions of the raw file whose path below its raw folder is the end of a path."""
    parts = PurePosixPath(path).parts
    for start in range(len(parts)):
        below = "/".join(parts[start:])
        # The longest match: of `a/x.csv` and `x.csv`, `raw/a/x.csv` is the first.
        if found := [c for c in conversions if any(source.file == below for source in c.sources)]:
            return found
    return []


def _file_exists(path: Path) -> bool:
    """Return whether a file has this path, in one piece or in parts: raw folders are not recorded."""
    siblings = path.parent.iterdir() if path.parent.is_dir() else ()
    return path.name in {escape_name(whole_name(each.name)) for each in siblings}


def _no_match_error(
    name: str, same_end: Sequence[Conversion], conversions: Sequence[Conversion]
) -> UsageError:
    """Return the error on a name that matches no raw file, which suggests similar ones."""
    known = sorted({c.shown_source for c in conversions})
    close = sorted({c.shown_source for c in same_end}) or get_close_matches(name, known, n=3, cutoff=0.4)
    suggestion = f" Did you mean {' or '.join(close)}?" if close else ""
    missing = ", and there is no such file" if same_end else ""
    return UsageError(
        f"no raw file in the warehouse is called {name}{missing}.{suggestion} catalog.sources lists all"
    )


def _list_source_names(conversion: Conversion) -> set[str]:
    files = {source.file for source in conversion.sources}
    return {conversion.source, *files, *(PurePosixPath(file).name for file in files)}


def _run_tasks(tasks: Sequence[Task], warehouse: Path, stop: Event) -> list[TaskResult]:
    """Run several tasks at a time, and return their results in the order of the tasks."""
    at_once = min(TABLES_AT_ONCE, os.cpu_count() or 1)
    with ThreadPoolExecutor(at_once) as pool:
        # The largest first: as the last, it would keep one thread busy while the others wait.
        futures = {
            task.group: pool.submit(run_task, task)
            for task in sorted(tasks, key=lambda task: _sum_bytes(task.claims), reverse=True)
        }
        try:
            for future in as_completed(futures.values()):
                future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        return [futures[task.group].result() for task in tasks]


def check_arguments(
    raw_folders: Sequence[Path], trace_names: Sequence[str], only: Sequence[str]
) -> tuple[list[Trace], Selection]:
    """Return the named traces and the selection. Raises UserError where one does not exist."""
    traces = _select_traces(trace_names)
    for folder in raw_folders:
        if not folder.is_dir():
            raise UserError(
                f"{folder}: there is no such folder. Name the folder of the raw files with --raw, or write "
                "synthetic files with `traces sample`"
            )
    return traces, parse_selection(only, traces)


def _select_traces(names: Sequence[str]) -> list[Trace]:
    known = all_traces()
    check_traces(names, known)
    return [known[name] for name in names] or list(known.values())


def _plan_tasks(
    found: Found,
    published: Mapping[Key, Conversion],
    warehouse: Path,
    replacing: bool,
    report_bytes: Callable[[str, int, int], None],
) -> list[Task]:
    """Plan one task for each table, or partition of a table, that has raw files.

    Finished conversions of an interrupted ingest are reused only for these: no others are checked.
    """
    groups: dict[Group, list[Claim]] = defaultdict(list)
    for claim in found.claims:
        groups[claim.group].append(claim)
    known = {**published, **_resume(found.claims, published, warehouse)}
    return [
        Task(
            group,
            tuple(claims),
            {key: conversion for key, conversion in known.items() if key[:3] == group},
            warehouse,
            replacing,
            partial(report_bytes, _label(group), _sum_bytes(claims)),
        )
        for group, claims in groups.items()
    ]


def _resume(
    claims: Iterable[Claim], published: Mapping[Key, Conversion], warehouse: Path
) -> dict[Key, Conversion]:
    """Return the finished conversions of an interrupted ingest.

    Those of a raw file that feeds several tables are discarded unless all of these have the same version: if
    a table refused the file now, its rows would be older than those of the others.
    """
    finished = {conversion.key: conversion for conversion in journal.read_finished(warehouse)}
    keys_of: dict[RawFile, list[Key]] = defaultdict(list)
    for claim in claims:
        keys_of[claim.raw].append(claim.key)
    for keys in keys_of.values():
        versions = [finished.get(key) or published.get(key) for key in keys]
        if len({version.sha256 if version else "" for version in versions}) > 1:
            for key in finished.keys() & keys:
                journal.discard(warehouse, key)
                del finished[key]
    return finished


def _label(group: Group) -> str:
    trace_name, table_name, partition = group
    values = (pair.partition("=")[2] for pair in partition.split("/"))
    return " ".join([f"{trace_name}.{table_name}", *values]).strip()


def _sum_bytes(claims: Iterable[Claim]) -> int:
    return sum(claim.raw.bytes for claim in claims)


def _report_bytes(progress: Progress, stop: Event, label: str, total_bytes: int, more_bytes: int) -> None:
    if stop.is_set():
        raise StoppedError
    progress(label, more_bytes, total_bytes)
