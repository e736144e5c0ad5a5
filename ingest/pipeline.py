"""A whole ingest: what the raw folders hold, what of it is new, and the conversions that it takes."""

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

from tracehouse.core.errors import UsageError, UserError, check_traces
from tracehouse.core.names import shown_name
from tracehouse.core.progress import Progress
from tracehouse.ingest.convert.incremental import Steps, Task, bring_up_to_date
from tracehouse.ingest.declarations import Trace, all_traces
from tracehouse.ingest.discovery.packing import whole_name
from tracehouse.ingest.discovery.raw_files import Claim, Found, Group, find
from tracehouse.ingest.store import artifacts, integrity
from tracehouse.ingest.store.manifest import Conversion, Key

Run = Callable[[Sequence[Task], Path, Event], list[Steps]]
"""Does tasks for a warehouse, and returns their outcomes in order; it ends when the event is set."""

# Each keeps several threads busy, to inflate, parse, sort and write; a third table only costs more memory.
TABLES_AT_ONCE = 2


@dataclass(frozen=True)
class IngestResult:
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
    documents: tuple[str, ...]


class _StoppedError(Exception):
    """Raised in every thread that still reads when the ingest ends early."""


def ingest(
    raw_folders: Sequence[Path],
    warehouse: Path,
    trace_names: Sequence[str],
    progress: Progress,
    replacing: bool = False,
    run: Run | None = None,
) -> IngestResult:
    """Bring the Parquet store up to date with the raw files of the named traces; of all, if none is named.

    What was ingested before stays, unless the same raw file is found in another version. With `replacing`,
    a table that raw files are found for consists of these alone afterwards, if all of them can be read. A
    raw file that cannot be read keeps the rows of its last version; the others are converted all the same.
    `run` does the conversions; without it, this process does.
    The caller holds the store's lock, and publishes the outcome.
    """
    traces = _named(trace_names)
    _check_folders(raw_folders)
    progress("raw folders", 0, 0)
    found = find(raw_folders, traces, all_traces().values())
    notes = []
    if replacing and found.problems:
        replacing = False
        notes.append("nothing is replaced, as there are files that cannot be read")
    published = {c.key: c for c in artifacts.published(warehouse)}
    _check_what_stays(warehouse, published.values(), found, replacing)
    stop = Event()
    tasks = _tasks(found, published, warehouse, replacing, partial(_tell, progress, stop))
    steps = (run or _run_here)(tasks, warehouse, stop)
    converted = {key: conversion for step in steps for key, conversion in step.converted.items()}
    unchanged = {key: conversion for step in steps for key, conversion in step.unchanged.items()}
    before = {key: conversion for task in tasks for key, conversion in task.before.items()}
    now = {**published, **before, **unchanged, **converted}
    leaving = _leaving(tasks, steps, now) if replacing else []
    for conversion in leaving:
        artifacts.drop_unpublished(warehouse, conversion.key)
    return IngestResult(
        tuple(conversion for conversion in now.values() if conversion not in leaving),
        tuple(converted.values()),
        tuple(unchanged.values()),
        (*found.problems, *(problem for step in steps for problem in step.problems.values())),
        (*notes, *(note for step in steps for note in step.notes), *map(said_of_leaving, leaving)),
        found.unrecognised,
        found.documents,
    )


def _check_what_stays(
    warehouse: Path, published: Iterable[Conversion], found: Found, replacing: bool
) -> None:
    """Raise UserError, before any conversion, where a file is damaged that no raw file found can restore."""
    here = {claim.key for claim in found.claims}
    replaced = {key[:2] for key in here} if replacing else set()
    staying = [c for c in published if c.key not in here and c.key[:2] not in replaced]
    integrity.check_sizes(warehouse, staying)


def _leaving(
    tasks: Sequence[Task], steps: Sequence[Steps], now: Mapping[Key, Conversion]
) -> list[Conversion]:
    """The conversions that `replacing` removes: of raw files not found, in tables that were read in full."""
    here = {claim.key for task in tasks for claim in task.claims}
    unsure = {task.group[:2] for task, step in zip(tasks, steps, strict=True) if step.problems}
    replaced = {task.group for task, step in zip(tasks, steps, strict=True) if not step.problems}
    tables = {group[:2] for group in replaced} - unsure
    return [
        conversion
        for key, conversion in now.items()
        if key not in here and (key[:3] in replaced or key[:2] in tables)
    ]


def said_of_leaving(conversion: Conversion) -> str:
    """A note on a raw file whose rows are taken out of the warehouse."""
    return f"{conversion.shown_source}: its {conversion.rows:,} rows leave {conversion.table_name}"


def conversions_of(conversions: Sequence[Conversion], names: Sequence[str]) -> list[Conversion]:
    """The conversions of the named raw files.

    A name is a path below the raw folder, a bare file name, a glob pattern of either, or the file's path with
    the raw folder before it, as messages have it, if the file lies there. Raises UsageError where one matches
    nothing.
    """
    chosen = []
    for name in names:
        fitting = [c for c in conversions if any(of == name or fnmatchcase(of, name) for of in _names(c))]
        if not fitting:
            ending = _at_the_end_of(name, conversions)
            if not ending or not _lies_there(Path(name)):
                raise _of_no_file(name, ending, conversions)
            fitting = ending
        chosen += fitting
    return list(dict.fromkeys(chosen))


def _at_the_end_of(path: str, conversions: Sequence[Conversion]) -> list[Conversion]:
    """The conversions of the raw file whose whole path below a raw folder stands at the end of a path."""
    parts = PurePosixPath(path).parts
    for place in range(len(parts)):
        below = "/".join(parts[place:])
        # The longest: of `a/x.csv` and `x.csv`, `raw/a/x.csv` is the first.
        if found := [c for c in conversions if any(source.file == below for source in c.sources)]:
            return found
    return []


def _lies_there(path: Path) -> bool:
    """Whether a file has this path, whole or in parts: which folders were raw ones is not recorded."""
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    return path.name in {shown_name(whole_name(each.name)) for each in beside}


def _of_no_file(name: str, ending: Sequence[Conversion], conversions: Sequence[Conversion]) -> UsageError:
    """The error of a name that no raw file has, which suggests those that stand at its end or are like it."""
    known = sorted({c.shown_source for c in conversions})
    close = sorted({c.shown_source for c in ending}) or get_close_matches(name, known, n=3, cutoff=0.4)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    nor = ", and no file lies there" if ending else ""
    return UsageError(f"no raw file in the warehouse is called {name}{nor}.{meant} catalog.sources has all")


def _names(conversion: Conversion) -> set[str]:
    files = {source.file for source in conversion.sources}
    return {conversion.source, *files, *(PurePosixPath(file).name for file in files)}


def _run_here(tasks: Sequence[Task], warehouse: Path, stop: Event) -> list[Steps]:
    """Run several tasks at a time, and return their outcomes in the order of the tasks."""
    at_once = min(TABLES_AT_ONCE, os.cpu_count() or 1)
    with ThreadPoolExecutor(at_once) as pool:
        # A large table begun last would keep one thread busy while the others have nothing to do.
        futures = {
            task.group: pool.submit(bring_up_to_date, task)
            for task in sorted(tasks, key=lambda task: _bytes(task.claims), reverse=True)
        }
        try:
            for future in as_completed(futures.values()):
                future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        return [futures[task.group].result() for task in tasks]


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
    published: Mapping[Key, Conversion],
    warehouse: Path,
    replacing: bool,
    tell: Callable[[str, int, int], None],
) -> list[Task]:
    """One task for each table, or partition of one, that has raw files.

    Finished conversions of an interrupted ingest are reused only for these: no others are checked.
    """
    groups: dict[Group, list[Claim]] = defaultdict(list)
    for claim in found.claims:
        groups[claim.group].append(claim)
    known = {**published, **{c.key: c for c in artifacts.finished(warehouse)}}
    return [
        Task(
            group,
            tuple(claims),
            {key: conversion for key, conversion in known.items() if key[:3] == group},
            warehouse,
            replacing,
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
