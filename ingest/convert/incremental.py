"""Convert the new and changed raw files of one table, or of one partition of a table.

The rows of a raw file that is absent or unreadable stay; a newer version of the file replaces them. A CSV
that several raw files contain is read once. A wide table may be split into several raw files whose lines
overlap. A line that several of them contain is stored once.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.convert.compare_versions import is_up_to_date, read_indexes, relocate
from tracehouse.ingest.convert.raw_file import check_header_file, convert
from tracehouse.ingest.convert.raw_input import AlreadyStored, RawInput, compare_raw_files
from tracehouse.ingest.find import Group, MatchedFile
from tracehouse.ingest.store import integrity, records
from tracehouse.ingest.store.records import Conversion, Key, OverlappingFile


@dataclass(frozen=True)
class Task:
    """The raw files of one group, and the group's published conversions in `before`.

    `finished` are conversions of an interrupted ingest. They are used only for raw files that have not
    changed since, so that a refused file keeps its published rows in all tables. With `replacing`, the ingest
    removes the rows of raw files that were not found. `refused` are raw files that must not be read because
    another table that they feed refused them.
    """

    group: Group
    matched_files: tuple[MatchedFile, ...]
    before: Mapping[Key, Conversion]
    finished: Mapping[Key, Conversion]
    warehouse: Path
    replacing: bool
    on_bytes: Callable[[int], None]
    refused: Mapping[Key, RawFileError] = field(default_factory=dict)


@dataclass
class TaskResult:
    """The result of a task: conversions and errors by conversion key, and notes for the user.

    `incomplete` are the errors of data files that could not be read and whose rows the conversion of their
    partition therefore lacks.
    """

    converted: dict[Key, Conversion] = field(default_factory=dict)
    unchanged: dict[Key, Conversion] = field(default_factory=dict)
    problems: dict[Key, RawFileError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    incomplete: dict[Key, list[RawFileError]] = field(default_factory=dict)

    @property
    def all_problems(self) -> list[RawFileError]:
        """The errors of raw files and of single data files."""
        return [*self.problems.values(), *chain(*self.incomplete.values())]


def run_task(task: Task) -> TaskResult:
    """Convert the raw files of a task that have changed since their last conversion.

    With `replacing`, one unreadable file undoes the conversions of all other files. Raises UserError if the
    warehouse is damaged or not writable.
    """
    result = TaskResult(problems=dict(task.refused))
    task = _skip_copies(task, result)
    while True:
        known = set(result.problems)
        _convert_files(task, result)
        # An unreadable file keeps its earlier rows. The other files of a wide table must omit the lines that
        # these rows contain, so they are converted again.
        if not any(key in task.before for key in result.problems.keys() - known):
            break
    if task.replacing and result.all_problems:
        for key in list(result.converted):
            _undo(result, key, task.warehouse)
        for key, conversion in list(result.unchanged.items()):
            if key not in task.before or conversion.all_files != task.before[key].all_files:
                del result.unchanged[key]
        table_name = ".".join(task.group[:2])
        result.notes.append(f"{table_name}: nothing is replaced, because a file cannot be read")
    result.notes = list(dict.fromkeys(result.notes))
    return result


def refuse_in_all_tables(
    tasks: Sequence[Task], results: Sequence[TaskResult], run: Callable[[Sequence[Task]], list[TaskResult]]
) -> list[TaskResult]:
    """Return the results of tasks after each raw file that one task refused is refused by all tasks.

    Otherwise the rows of one table would be newer than those of another. A task that accepted the file runs
    again without it. Its other conversions are kept, unless they relied on the rows of the refused file.
    """
    results = list(results)
    while True:
        pairs = list(zip(tasks, results, strict=True))
        problems = {
            matched.raw: result.problems[matched.key]
            for task, result in pairs
            for matched in task.matched_files
            if matched.key in result.problems
        }
        again: dict[int, Task] = {}
        for number, (task, result) in enumerate(pairs):
            refused = {m.key: problems[m.raw] for m in task.matched_files if m.raw in problems}
            for key in refused.keys() - result.problems.keys():
                _undo(result, key, task.warehouse)
                finished = {**task.finished, **result.converted}
                again[number] = replace(task, finished=finished, refused={**refused, **result.problems})
        if not again:
            return results
        for number, result in zip(again, run(list(again.values())), strict=True):
            first = results[number]
            # The second run reports what the first run converted as unchanged.
            kept = {key: one for key, one in first.converted.items() if result.unchanged.pop(key, None)}
            result.converted = {**kept, **result.converted}
            result.notes = list(dict.fromkeys([*first.notes, *result.notes]))
            results[number] = result


def _skip_copies(task: Task, result: TaskResult) -> Task:
    """Return the task without copies of raw files. If two files of one key differ, neither is read."""
    first: dict[Key, MatchedFile] = {}
    for matched in sorted(task.matched_files, key=lambda matched: matched.raw.relative_name):
        try:
            if matched.key in first:
                result.notes += compare_raw_files(matched, first[matched.key])
            else:
                first[matched.key] = matched
        except RawFileError as problem:
            result.problems[matched.key] = problem
    return replace(task, matched_files=tuple(first.values()))


def _convert_files(task: Task, result: TaskResult) -> None:
    """Convert or keep each raw file of a task, except those already known to be unreadable.

    Archives are read first.
    """
    raw_inputs = [
        RawInput(matched, task.warehouse, task.before.get(matched.key), task.replacing, task.on_bytes)
        for matched in sorted(
            task.matched_files, key=lambda matched: (not matched.raw.is_archive, matched.raw.source_name)
        )
        if matched.key not in result.problems
    ]
    found = {raw_input.key for raw_input in raw_inputs}
    done = [
        conversion
        for key, conversion in task.before.items()
        if key not in found and (key in result.problems or not task.replacing)
    ]
    stored = AlreadyStored()
    for conversion in done:
        stored.add(conversion)
    indexes: dict[Key, set[Hashable]] = {}
    for raw_input in raw_inputs:
        try:
            # The header file may have changed although the data file did not.
            check_header_file(raw_input.matched)
            if kept := _find_up_to_date(task, result, raw_input, stored, done):
                done.append(kept)
                stored.add(kept, raw_input.matched.raw)
                if kept != result.converted.get(raw_input.key):
                    _undo(result, raw_input.key, task.warehouse)
                    result.unchanged[raw_input.key] = relocate(kept, raw_input.matched)
            else:
                result.notes += _describe_damage(raw_input)
                done.append(_convert_file(raw_input, stored, done, indexes, result))
        except RawFileError as problem:
            result.problems[raw_input.key] = problem
            _undo(result, raw_input.key, task.warehouse)
            if raw_input.key in task.before:
                done.append(task.before[raw_input.key])
                stored.add(task.before[raw_input.key])


def _find_up_to_date(
    task: Task, result: TaskResult, raw_input: RawInput, stored: AlreadyStored, done: Sequence[Conversion]
) -> Conversion | None:
    """Return an existing conversion that still matches a raw file: the newest, the published one, or None."""
    newest = {**task.finished, **result.converted}.get(raw_input.key)
    for conversion in (newest, raw_input.before):
        candidate = replace(raw_input, before=conversion)
        if conversion and is_up_to_date(candidate, stored, _list_expected(candidate, done)):
            return conversion
    return None


def _convert_file(
    raw_input: RawInput,
    stored: AlreadyStored,
    done: Sequence[Conversion],
    indexes: dict[Key, set[Hashable]],
    result: TaskResult,
) -> Conversion:
    """Convert a raw file. `indexes` are the line indexes of a wide table's conversions that were read."""
    overlapping: tuple[OverlappingFile, ...] = ()
    if wide := raw_input.table.wide:
        overlapping = _list_overlapping(done)
        for other in done:
            if other.key not in indexes:
                integrity.check_sizes(raw_input.warehouse, [other])
                indexes[other.key] = read_indexes(other, raw_input.warehouse, wide)
        stored.indexes = set().union(*(indexes[other.key] for other in done))
    read_before = set(stored.indexes)
    conversion, notes, incomplete = convert(raw_input, stored, overlapping)
    if incomplete:
        result.incomplete[raw_input.key] = incomplete
    indexes[conversion.key] = stored.indexes - read_before
    result.converted[raw_input.key] = conversion
    result.unchanged.pop(raw_input.key, None)
    result.notes += notes
    return conversion


def _list_expected(raw_input: RawInput, done: Sequence[Conversion]) -> tuple[OverlappingFile, ...]:
    """List the files whose lines an unchanged file of a wide table must omit.

    These are the files before it by name, and each later file that does not omit the lines of this one,
    because the two would otherwise store the same line twice.
    """
    if not raw_input.table.wide or not raw_input.before:
        return ()
    this = OverlappingFile(raw_input.before.source, raw_input.before.sha256)
    return _list_overlapping([c for c in done if c.source < this.source or this not in c.overlapping_files])


def _list_overlapping(conversions: Sequence[Conversion]) -> tuple[OverlappingFile, ...]:
    return tuple(sorted(OverlappingFile(one.source, one.sha256) for one in conversions))


def _undo(result: TaskResult, key: Key, warehouse: Path) -> None:
    if result.converted.pop(key, None):
        records.discard(warehouse, key)


def _describe_damage(raw_input: RawInput) -> list[str]:
    """Return a note for each damaged Parquet file that forces a raw file to be converted again."""
    conversions = [raw_input.before] if raw_input.before else []
    file = raw_input.matched.raw.relative_name
    return [
        f"{raw_input.warehouse / damage.path}: {damage.problem}; {file} is converted again"
        for damage in integrity.find_wrong_sizes(raw_input.warehouse, conversions)
    ]
