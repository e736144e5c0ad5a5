"""Convert the new and changed raw files of one table, or of one partition of a table.

The rows of a raw file that is absent or unreadable stay; a newer version of the file replaces them. A CSV
that several raw files contain is read once. Wide tables may be split into several raw files, called pieces. A
line that several pieces contain is stored once.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.convert.copies import compare_raw_files
from tracehouse.ingest.convert.previous import is_up_to_date, read_indexes, relocate
from tracehouse.ingest.convert.raw_file import check_header_file, convert
from tracehouse.ingest.convert.raw_input import Holdings, RawInput
from tracehouse.ingest.discovery.claims import Claim, Group
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
    claims: tuple[Claim, ...]
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
        # An unreadable file keeps its earlier rows. The other pieces must omit the lines that these rows
        # contain, so they are converted again.
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


def _skip_copies(task: Task, result: TaskResult) -> Task:
    """Return the task without copies of raw files. If two files of one key differ, neither is read."""
    first: dict[Key, Claim] = {}
    for claim in sorted(task.claims, key=lambda claim: claim.raw.relative_name):
        try:
            if claim.key in first:
                result.notes += compare_raw_files(claim, first[claim.key])
            else:
                first[claim.key] = claim
        except RawFileError as problem:
            result.problems[claim.key] = problem
    return replace(task, claims=tuple(first.values()))


def _convert_files(task: Task, result: TaskResult) -> None:
    """Convert or keep each raw file of a task, except those already known to be unreadable."""
    raw_inputs = [raw_input for raw_input in _order_inputs(task) if raw_input.key not in result.problems]
    found = {raw_input.key for raw_input in raw_inputs}
    pieces = [
        conversion
        for key, conversion in task.before.items()
        if key not in found and (key in result.problems or not task.replacing)
    ]
    holdings, indexes = Holdings(), _Indexes(task.warehouse)
    for piece in pieces:
        holdings.add(piece)
    for raw_input in raw_inputs:
        try:
            # The header file may have changed although the data file did not.
            check_header_file(raw_input.claim)
            if kept := _find_up_to_date(task, result, raw_input, holdings, pieces):
                pieces.append(kept)
                holdings.add(kept, raw_input.claim.raw)
                if kept != result.converted.get(raw_input.key):
                    _undo(result, raw_input.key, task.warehouse)
                    result.unchanged[raw_input.key] = relocate(kept, raw_input.claim)
            else:
                result.notes += _describe_damage(raw_input)
                pieces.append(_convert_file(raw_input, holdings, pieces, indexes, result))
        except RawFileError as problem:
            result.problems[raw_input.key] = problem
            _undo(result, raw_input.key, task.warehouse)
            if raw_input.key in task.before:
                pieces.append(task.before[raw_input.key])
                holdings.add(task.before[raw_input.key])


def _find_up_to_date(
    task: Task, result: TaskResult, raw_input: RawInput, holdings: Holdings, pieces: Sequence[Conversion]
) -> Conversion | None:
    """Return the conversion of the current version of a raw file: the newest, the published one, or None."""
    newest = {**task.finished, **result.converted}.get(raw_input.key)
    for conversion in (newest, raw_input.before):
        candidate = replace(raw_input, before=conversion)
        if conversion and is_up_to_date(candidate, holdings, _list_expected_pieces(candidate, pieces)):
            return conversion
    return None


def _convert_file(
    raw_input: RawInput,
    holdings: Holdings,
    pieces: Sequence[Conversion],
    indexes: "_Indexes",
    result: TaskResult,
) -> Conversion:
    overlapping_files: tuple[OverlappingFile, ...] = ()
    if raw_input.table.wide:
        overlapping_files = _list_pieces(pieces)
        holdings.indexes = indexes.unite(pieces, raw_input)
    read_before = set(holdings.indexes)
    conversion, notes, incomplete = convert(raw_input, holdings, overlapping_files)
    if incomplete:
        result.incomplete[raw_input.key] = incomplete
    indexes.known[conversion.key] = holdings.indexes - read_before
    result.converted[raw_input.key] = conversion
    result.unchanged.pop(raw_input.key, None)
    result.notes += notes
    return conversion


def _list_expected_pieces(raw_input: RawInput, pieces: Sequence[Conversion]) -> tuple[OverlappingFile, ...]:
    """List the pieces whose lines an unchanged piece of a wide table must omit.

    These are the pieces before it by name, and each later piece that does not omit the lines of this one,
    because the two would otherwise store the same line twice.
    """
    if not raw_input.table.wide or not raw_input.before:
        return ()
    this = OverlappingFile(raw_input.before.source, raw_input.before.sha256)
    return _list_pieces([c for c in pieces if c.source < this.source or this not in c.overlapping_files])


def _list_pieces(pieces: Sequence[Conversion]) -> tuple[OverlappingFile, ...]:
    return tuple(sorted(OverlappingFile(piece.source, piece.sha256) for piece in pieces))


@dataclass
class _Indexes:
    """The line indexes of each piece of a wide table, read on demand from the piece's Parquet files."""

    warehouse: Path
    known: dict[Key, set[Hashable]] = field(default_factory=dict)

    def unite(self, pieces: Sequence[Conversion], raw_input: RawInput) -> set[Hashable]:
        """Return the line indexes of all pieces. Raises UserError if a Parquet file of a piece is damaged."""
        assert raw_input.table.wide
        for piece in pieces:
            if piece.key not in self.known:
                integrity.check_sizes(self.warehouse, [piece])
                self.known[piece.key] = read_indexes(piece, self.warehouse, raw_input.table.wide)
        return set().union(*(self.known[piece.key] for piece in pieces))


def _undo(result: TaskResult, key: Key, warehouse: Path) -> None:
    if result.converted.pop(key, None):
        records.discard(warehouse, key)


def _describe_damage(raw_input: RawInput) -> list[str]:
    """Return a note for each damaged Parquet file that forces a raw file to be converted again."""
    conversions = [raw_input.before] if raw_input.before else []
    file = raw_input.claim.raw.relative_name
    return [
        f"{raw_input.warehouse / damage.path}: {damage.problem}; {file} is converted again"
        for damage in integrity.find_wrong_sizes(raw_input.warehouse, conversions)
    ]


def _order_inputs(task: Task) -> list[RawInput]:
    """Return the inputs of a task in reading order: archives first, each group sorted by name."""
    in_order = sorted(task.claims, key=lambda claim: (not claim.raw.is_archive, claim.raw.source_name))
    return [
        RawInput(claim, task.warehouse, task.before.get(claim.key), task.replacing, task.on_bytes)
        for claim in in_order
    ]
