"""Convert the new and changed raw files of one table, or of one partition of a table.

The rows of a raw file that is absent or unreadable stay; a newer version of the file replaces them. A data
file that two raw files contain is read from the first one, and the second one is refused. A file that was
unpacked next to its archive is skipped.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import join_names
from tracehouse.ingest.convert.raw_file import Task, convert, describe_conflict, read_checksum
from tracehouse.ingest.dump.identify import MatchedFile
from tracehouse.ingest.store import integrity, records
from tracehouse.ingest.store.records import Conversion, Journal, Key


@dataclass
class TaskResult:
    """The result of a task: conversions and errors by conversion key, and notes for the user."""

    converted: dict[Key, Conversion] = field(default_factory=dict)
    unchanged: dict[Key, Conversion] = field(default_factory=dict)
    problems: dict[Key, RawFileError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def undo(self, keys: Sequence[Key]) -> Sequence[Key]:
        """Remove conversions, so that the published ones stay, and return their keys."""
        for key in keys:
            self.converted.pop(key, None)
            self.unchanged.pop(key, None)
        return keys


def run_task(task: Task, journal: Journal) -> TaskResult:
    """Convert the raw files of a task that have changed since their last conversion, archives first.

    The conversions that an interrupted ingest finished are used only for raw files that have not changed
    since, so that a refused file keeps its published rows in all tables. Raises UserError if the warehouse is
    damaged or not writable.
    """
    result = TaskResult()
    found = {matched.key for matched in task.matched_files}
    kept = [c for key, c in task.before.items() if key not in found and not task.replacing]
    stored = dict(chain(*(conversion.data_files.items() for conversion in kept)))
    from_archive: dict[str, str] = {}
    unpacked: dict[str, list[str]] = defaultdict(list)
    for matched in sorted(task.matched_files, key=lambda m: (not m.raw.is_archive, m.raw.relative_name)):
        archive = None if matched.raw.is_archive else from_archive.get(matched.raw.file_name)
        if archive and matched.key not in task.before:
            unpacked[archive].append(matched.raw.relative_name)
            continue
        try:
            read = _convert_file(task, result, matched, stored, journal).data_files
            stored |= read
            if matched.raw.is_archive:
                from_archive |= read
        except RawFileError as problem:
            result.problems[matched.key] = problem
            journal.discard(matched.key)
    for archive, names in unpacked.items():
        result.notes.append(f"skipped {join_names(names)}: read from {archive}, which contains them too")
    return result


def _convert_file(
    task: Task, result: TaskResult, matched: MatchedFile, stored: Mapping[str, str], journal: Journal
) -> Conversion:
    """Return the conversion of a raw file: an existing one that still matches the file, or a new one."""
    key = matched.key
    published = task.before.get(key)
    for before in (journal.finished.get(key), published):
        if before and _is_up_to_date(task, matched, before, stored):
            result.unchanged[key] = _relocate(before, matched)
            return before
    for damage in integrity.find_wrong_sizes(task.warehouse, filter(None, [published])):
        path, file = task.warehouse / damage.path, matched.raw.relative_name
        result.notes.append(f"{path}: {damage.problem}; {file} is converted again")
    conversion, notes = convert(task, matched, stored, journal)
    result.converted[key] = conversion
    result.notes += notes
    return conversion


def _is_up_to_date(task: Task, matched: MatchedFile, before: Conversion, stored: Mapping[str, str]) -> bool:
    """Return whether a conversion is intact and a new conversion would return the same rows."""
    if not (
        before.fingerprint == matched.table.fingerprint()
        and records.is_complete(task.warehouse, before)
        and all(source.synthetic == matched.is_synthetic for source in before.sources)
        and stored.keys().isdisjoint(before.data_files)
    ):
        return False
    same = read_checksum(task.warehouse, matched.raw, task.on_bytes) == before.sha256
    if not same and not matched.raw.checksum:
        # The conversion will read and report these bytes again.
        task.on_bytes(-matched.raw.bytes)
    return same


def _relocate(conversion: Conversion, matched: MatchedFile) -> Conversion:
    """Return the conversion of an unchanged raw file with the file's current path and number of parts."""
    raw = matched.raw
    files = raw.list_files() if raw.partition and matched.table.wide else [raw] * len(conversion.sources)
    sources = [
        replace(
            source,
            file=file.relative_name,
            parts=len(file.paths),
            checksum=matched.compare_checksum(source.sha256),
        )
        for source, file in zip(conversion.sources, files, strict=True)
    ]
    return replace(conversion, sources=tuple(sources))


def refuse_in_all_tables(tasks: Sequence[Task], results: Sequence[TaskResult]) -> None:
    """Undo the conversions of each raw file that one of its tables refused.

    Otherwise the rows of one table would be newer than those of another. Where the last version's rows stay,
    conversions of other raw files with the same data files are undone too. In an ingest that replaces, one
    refused file undoes all conversions of its table.
    """
    pairs = list(zip(tasks, results, strict=True))
    undone: list[Key] = []
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
                conversion = result.converted.get(matched.key) or result.unchanged.get(matched.key)
                if conversion is None:
                    continue
                twice = stays.keys() & conversion.data_files.keys()
                conflicts = [describe_conflict(matched, name, stays[name]) for name in sorted(twice)]
                if problem := refused.get(matched.raw) or next(iter(conflicts), None):
                    undone += result.undo([matched.key])
                    result.problems[matched.key] = problem
                    is_settled = False
    for task, result in pairs:
        if task.replacing and result.problems:
            undone += result.undo([*result.converted, *result.unchanged])
            table_name = ".".join(task.group[:2])
            result.notes.append(f"{table_name}: nothing is replaced, because a file cannot be read")
    if undone:
        records.discard(tasks[0].warehouse, undone)
