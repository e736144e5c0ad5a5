"""Convert new and changed raw files: find them, plan one task per table or partition, run the tasks."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Event

from tracehouse.core.errors import (
    Command,
    Option,
    RawFileError,
    StoppedError,
    UsageError,
    UserError,
    check_traces,
)
from tracehouse.core.progress import Progress
from tracehouse.core.text import escape_name, join_names
from tracehouse.ingest.convert.incremental import TaskResult, refuse_in_all_tables, run_task
from tracehouse.ingest.convert.raw_file import Task
from tracehouse.ingest.declare.selection import Selection, parse_selection, selects
from tracehouse.ingest.declare.trace import Trace, all_traces
from tracehouse.ingest.dump.find import find
from tracehouse.ingest.dump.identify import Group, MatchedFile, identify
from tracehouse.ingest.memory import limit_of_ingest
from tracehouse.ingest.store import noted_files, records
from tracehouse.ingest.store.records import Conversion, Journal, Key

RunTasks = Callable[[Sequence[Task], Journal, Event], list[TaskResult]]
"""Runs tasks and returns their results in order. It stops early when the event is set."""

# A table keeps several threads busy (inflate, parse, sort, write); a third table would only cost memory.
TABLES_AT_ONCE = 2


def run_tasks_here(tasks: Sequence[Task], journal: Journal, stop: Event) -> list[TaskResult]:
    """Run several tasks at a time in this process, and return their results in the order of the tasks."""
    at_once = min(TABLES_AT_ONCE, os.cpu_count() or 1)
    with ThreadPoolExecutor(at_once) as pool:
        # The largest task runs first. If it ran last, the other threads would wait for it.
        futures = {
            task.group: pool.submit(run_task, task, journal)
            for task in sorted(tasks, key=lambda task: _sum_bytes(task.matched_files), reverse=True)
        }
        try:
            for future in as_completed(futures.values()):
                future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        return [futures[task.group].result() for task in tasks]


@dataclass(frozen=True)
class IngestResult:
    """The result of an ingest.

    `conversions` are all conversions of the warehouse: those `converted` now, those `unchanged`, and those of
    raw files that this ingest did not find. `unrecognised` are the names of files that it skipped.
    """

    conversions: tuple[Conversion, ...]
    converted: tuple[Conversion, ...]
    unchanged: tuple[Conversion, ...]
    problems: tuple[UserError, ...]
    notes: tuple[str, ...]
    unrecognised: tuple[str, ...]


def convert(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
    run_tasks: RunTasks = run_tasks_here,
    only: Sequence[str] = (),
) -> IngestResult:
    """Convert the new and changed raw files of the named traces, or of all traces if none is named.

    Earlier conversions stay, unless another version of the same raw file is found. With `replacing`, each
    table for which raw files are found afterwards contains the rows of these files only, provided that all of
    them can be read. If a raw file cannot be read, the rows of its last version stay. `run_tasks` may run the
    tasks in other processes. `only` selects partitions of partitioned tables (see `selection`). The caller
    holds the lock of the warehouse and publishes the result.
    """
    traces, selection = check_arguments(raw_folders, trace_names, only)
    progress("finding raw files", 0, 0)
    known = all_traces().values()
    noted = noted_files.read(warehouse, known)
    found = identify(find(raw_folders, traces, known), traces, known, noted)
    if found.noted != noted:
        noted_files.write(warehouse, known, found.noted)
    chosen = [matched for matched in found.matched if selects(selection, matched.group[2])]
    if found.matched and not chosen:
        raise UserError("no raw file has a partition that ", Option("only"), " selects")
    chosen, duplicates = _find_duplicates(chosen)
    unread = [*found.problems, *duplicates]
    notes = list(found.notes)
    if replacing and unread:
        replacing = False
        notes.append("Nothing is replaced, because some files cannot be read")
    journal = Journal(warehouse)
    published = {conversion.key: conversion for conversion in journal.published.conversions}
    stop = Event()
    tasks = _plan_tasks(chosen, published, warehouse, replacing, partial(_report_bytes, progress, stop))
    results = run_tasks(tasks, journal, stop)
    refuse_in_all_tables(tasks, results)
    converted = {key: conversion for result in results for key, conversion in result.converted.items()}
    unchanged = {key: conversion for result in results for key, conversion in result.unchanged.items()}
    now = {**published, **unchanged, **converted}
    problems = [*unread, *(problem for result in results for problem in result.problems.values())]
    removed = _find_removed(tasks, results, now, bool(selection)) if replacing else []
    removed_keys = {conversion.key for conversion in removed}
    if removed_keys:
        records.discard(warehouse, removed_keys)
    return IngestResult(
        tuple(conversion for key, conversion in now.items() if key not in removed_keys),
        tuple(converted.values()),
        tuple(unchanged.values()),
        # Several tables may have the same error about a raw file.
        tuple({str(problem): problem for problem in problems}.values()),
        (*notes, *(note for result in results for note in result.notes), *map(describe_removal, removed)),
        found.unrecognised,
    )


def _find_duplicates(chosen: Iterable[MatchedFile]) -> tuple[list[MatchedFile], list[RawFileError]]:
    """Return the files without those that have the name and table of another one, and an error for each."""
    first: dict[Key, MatchedFile] = {}
    problems = []
    for matched in chosen:
        other = first.setdefault(matched.key, matched)
        if other is not matched:
            problems.append(
                RawFileError(
                    matched.raw.paths[0],
                    f"it and {escape_name(other.raw.paths[0])} are the same file or partition",
                    "Move one of the two out of the raw folders",
                )
            )
    return list(first.values()), problems


def _find_removed(
    tasks: Sequence[Task], results: Sequence[TaskResult], now: Mapping[Key, Conversion], is_selection: bool
) -> list[Conversion]:
    """Find the conversions that `replacing` removes: those of missing raw files in tables without problems.

    If only some partitions are selected, conversions of the other partitions stay.
    """
    keys = {matched.key for task in tasks for matched in task.matched_files}
    incomplete = {task.group[:2] for task, result in zip(tasks, results, strict=True) if result.problems}
    replaced = {task.group for task, result in zip(tasks, results, strict=True) if not result.problems}
    tables = set() if is_selection else {group[:2] for group in replaced} - incomplete
    return [
        conversion
        for key, conversion in now.items()
        if key not in keys and (key[:3] in replaced or key[:2] in tables)
    ]


def describe_removal(conversion: Conversion) -> str:
    """Return a message about a raw file whose rows are removed from the warehouse."""
    names = join_names(list(dict.fromkeys(source.file for source in conversion.sources)), 5)
    return f"{names}: removed its {conversion.rows:,} rows from {conversion.table_name}"


def find_conversions(conversions: Sequence[Conversion], names: Sequence[str]) -> list[Conversion]:
    """Find the conversions of the named raw files.

    A name is a path below the raw folder, a file name without a folder, or a glob pattern for one of these.
    Raises UsageError if a name matches nothing.
    """
    chosen = []
    for name in names:
        found = [c for c in conversions if any(fnmatchcase(own, name) for own in _list_source_names(c))]
        if not found:
            known = sorted({own for c in conversions for own in _list_source_names(c)})
            close = [one for one in known if name.endswith(f"/{one}")] or get_close_matches(
                name, known, 3, 0.4
            )
            suggestion = f" Did you mean {' or '.join(close)}?" if close else ""
            raise UsageError(
                f"no raw file in the warehouse is called {name}.{suggestion} catalog.sources lists all"
            )
        chosen += found
    return list(dict.fromkeys(chosen))


def _list_source_names(conversion: Conversion) -> set[str]:
    files = {name for source in conversion.sources for name in (source.file, source.member)}
    return {conversion.source, *files, *(PurePosixPath(file).name for file in files)}


def check_arguments(
    raw_folders: Sequence[Path], trace_names: Sequence[str], only: Sequence[str]
) -> tuple[list[Trace], Selection]:
    """Return the named traces and the selected partitions.

    Raises UserError if a folder does not exist, and UsageError if a trace or a selection is unknown.
    """
    known = all_traces()
    check_traces(trace_names, known)
    traces = [known[name] for name in trace_names] or list(known.values())
    for folder in raw_folders:
        if not folder.is_dir():
            raise UserError(
                f"{folder}: there is no such folder. Name the folder of the raw files with ",
                Option("raw"),
                ", or write synthetic files with ",
                Command("sample"),
            )
    return traces, parse_selection(only, traces)


def _plan_tasks(
    chosen: Iterable[MatchedFile],
    published: Mapping[Key, Conversion],
    warehouse: Path,
    replacing: bool,
    report_bytes: Callable[[str, int, int], None],
) -> list[Task]:
    """Plan one task for each table, or partition of a table, that has raw files."""
    groups: dict[Group, list[MatchedFile]] = defaultdict(list)
    for matched in chosen:
        groups[matched.group].append(matched)
    before: dict[Group, dict[Key, Conversion]] = defaultdict(dict)
    for key, conversion in published.items():
        before[key[:3]][key] = conversion
    memory_bytes = limit_of_ingest()
    return [
        Task(
            group,
            tuple(matched_files),
            before[group],
            warehouse,
            replacing,
            partial(report_bytes, _label(group), _sum_bytes(matched_files)),
            memory_bytes,
        )
        for group, matched_files in groups.items()
    ]


def _label(group: Group) -> str:
    trace_name, table_name, partition = group
    values = (pair.partition("=")[2] for pair in partition.split("/"))
    return " ".join([f"{trace_name}.{table_name}", *values]).strip()


def _sum_bytes(matched_files: Iterable[MatchedFile]) -> int:
    return sum(matched.raw.bytes for matched in matched_files)


def _report_bytes(progress: Progress, stop: Event, label: str, total_bytes: int, more_bytes: int) -> None:
    if stop.is_set():
        raise StoppedError
    progress(label, more_bytes, total_bytes)
