"""Convert the new and changed raw files of one table, or of one partition of a table.

The rows of a raw file that is absent or unreadable stay; a newer version of the file replaces them. A data
file that two raw files contain is read from the first one, and the second one is refused. A file that was
unpacked next to its archive is skipped.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import join_names
from tracehouse.ingest.convert.compare_versions import is_up_to_date, relocate
from tracehouse.ingest.convert.raw_file import convert
from tracehouse.ingest.convert.raw_input import (
    AlreadyStored,
    RawInput,
    describe_conflict,
)
from tracehouse.ingest.find import Group, MatchedFile
from tracehouse.ingest.store import integrity, records
from tracehouse.ingest.store.records import Conversion, Key


@dataclass(frozen=True)
class Task:
    """The raw files of one group, and the group's published conversions in `before`.

    `finished` are conversions of an interrupted ingest. They are used only for raw files that have not
    changed since, so that a refused file keeps its published rows in all tables. With `replacing`, the ingest
    removes the rows of raw files that were not found.
    """

    group: Group
    matched_files: tuple[MatchedFile, ...]
    before: Mapping[Key, Conversion]
    finished: Mapping[Key, Conversion]
    warehouse: Path
    replacing: bool
    on_bytes: Callable[[int], None]


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
    """Convert the raw files of a task that have changed since their last conversion, archives first.

    Raises UserError if the warehouse is damaged or not writable.
    """
    result = TaskResult()
    raw_inputs = [
        RawInput(matched, task.warehouse, task.before.get(matched.key), task.replacing, task.on_bytes)
        for matched in sorted(task.matched_files, key=lambda m: (not m.raw.is_archive, m.raw.relative_name))
    ]
    stored: dict[str, str] = {}
    found = {raw_input.key for raw_input in raw_inputs}
    for key, conversion in task.before.items():
        if key not in found and not task.replacing:
            stored |= conversion.data_files
    from_archive: dict[str, str] = {}
    unpacked: dict[str, list[str]] = defaultdict(list)
    for raw_input in raw_inputs:
        archive = None if raw_input.raw.is_archive else from_archive.get(raw_input.raw.file_name)
        if archive and raw_input.before is None:
            unpacked[archive].append(raw_input.raw.relative_name)
            continue
        try:
            read = _convert_file(task, result, raw_input, stored).data_files
            stored |= read
            if raw_input.raw.is_archive:
                from_archive |= read
        except RawFileError as problem:
            result.problems[raw_input.key] = problem
            records.discard(task.warehouse, raw_input.key)
    for archive, names in unpacked.items():
        result.notes.append(f"skipped {join_names(names)}: read from {archive}, which contains them too")
    return result


def _convert_file(task: Task, result: TaskResult, raw_input: RawInput, stored: AlreadyStored) -> Conversion:
    """Return the conversion of a raw file: an existing one that still matches the file, or a new one."""
    key = raw_input.key
    for before in (task.finished.get(key), raw_input.before):
        if before and is_up_to_date(raw_input, before, stored):
            result.unchanged[key] = relocate(before, raw_input)
            return before
    for damage in integrity.find_wrong_sizes(task.warehouse, filter(None, [raw_input.before])):
        path, file = task.warehouse / damage.path, raw_input.raw.relative_name
        result.notes.append(f"{path}: {damage.problem}; {file} is converted again")
    conversion, notes, incomplete = convert(raw_input, stored)
    if incomplete:
        result.incomplete[key] = incomplete
    result.converted[key] = conversion
    result.notes += notes
    return conversion


def refuse_in_all_tables(tasks: Sequence[Task], results: Sequence[TaskResult]) -> None:
    """Undo the conversions of each raw file that one of its tables refused.

    Otherwise the rows of one table would be newer than those of another. Where the last version's rows stay,
    conversions of other raw files with the same data files are undone too. In an ingest that replaces, one
    refused file undoes all conversions of its table.
    """
    pairs = list(zip(tasks, results, strict=True))
    is_settled = False
    while not is_settled:
        is_settled = True
        refused = {
            matched.raw: result.problems[matched.key]
            for task, result in pairs
            for matched in task.matched_files
            if matched.key in result.problems
        }
        for task, result in pairs:
            restored = [task.before[key].data_files for key in result.problems if key in task.before]
            stays = dict(chain(*(files.items() for files in restored)))
            for matched in task.matched_files:
                conversion = (result.converted | result.unchanged).get(matched.key)
                if conversion is None:
                    continue
                twice = stays.keys() & conversion.data_files.keys()
                conflicts = [describe_conflict(matched, name, stays[name]) for name in sorted(twice)]
                if problem := refused.get(matched.raw) or next(iter(conflicts), None):
                    _undo(task, result, matched.key)
                    result.problems[matched.key] = problem
                    is_settled = False
    for task, result in pairs:
        if task.replacing and result.all_problems:
            for key in [*result.converted, *result.unchanged]:
                _undo(task, result, key)
            table_name = ".".join(task.group[:2])
            result.notes.append(f"{table_name}: nothing is replaced, because a file cannot be read")


def _undo(task: Task, result: TaskResult, key: Key) -> None:
    """Discard the unpublished conversion of a raw file, so that the published one stays."""
    result.converted.pop(key, None)
    result.unchanged.pop(key, None)
    records.discard(task.warehouse, key)
