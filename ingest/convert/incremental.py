"""Brings one table, or one partition of it, up to date with its raw files.

The rows of a raw file that is absent or unreadable stay; a newer version of it replaces them. A CSV is read
once, whichever raw files hold it, and so is a line that several pieces of a wide table share.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.convert.raw_file import (
    Holdings,
    RawInput,
    check_copy,
    convert,
    is_up_to_date,
    moved,
    read_indexes,
)
from tracehouse.ingest.discovery.raw_files import Claim, Group
from tracehouse.ingest.store import artifacts, integrity
from tracehouse.ingest.store.manifest import Beside, Conversion, Key


@dataclass(frozen=True)
class Task:
    """The raw files of one group, and what the warehouse has of it already.

    With `replacing`, the rows of raw files that were not found are to be removed.
    """

    group: Group
    claims: tuple[Claim, ...]
    before: Mapping[Key, Conversion]
    warehouse: Path
    replacing: bool
    on_bytes: Callable[[int], None]


@dataclass
class Steps:
    """The outcome of a task: conversions and errors by conversion key, and notes for the user."""

    converted: dict[Key, Conversion] = field(default_factory=dict)
    unchanged: dict[Key, Conversion] = field(default_factory=dict)
    problems: dict[Key, RawFileError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def bring_up_to_date(task: Task) -> Steps:
    """Convert the raw files of a task that have changed since their last conversion.

    With `replacing`, one unreadable file undoes the conversions of all the others. Raises UserError where
    the warehouse is damaged, or cannot be written to.
    """
    steps = Steps()
    task = _without_copies(task, steps)
    while True:
        known = set(steps.problems)
        _attempt(task, steps)
        # The earlier rows of an unreadable file stay, so the other files have to be read beside these.
        if not any(key in task.before for key in steps.problems.keys() - known):
            break
    if task.replacing and steps.problems:
        for key in list(steps.converted):
            _undo(steps, key, task.warehouse)
        steps.notes.append(f"{'.'.join(task.group[:2])}: nothing is replaced, as a file cannot be read")
    steps.notes = list(dict.fromkeys(steps.notes))
    return steps


def _without_copies(task: Task, steps: Steps) -> Task:
    """The task without copies of raw files; where two files of one key differ, neither is read."""
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


def _attempt(task: Task, steps: Steps) -> None:
    """Convert or keep each raw file of a task, except those already known to be unreadable."""
    raw_inputs = [raw_input for raw_input in _raw_inputs(task, steps) if raw_input.key not in steps.problems]
    here = {raw_input.key for raw_input in raw_inputs}
    pieces = [
        conversion
        for key, conversion in task.before.items()
        if key not in here and (key in steps.problems or not task.replacing)
    ]
    holdings, indexes = Holdings(), _Indexes(task.warehouse)
    for piece in pieces:
        holdings.add(piece)
    for raw_input in raw_inputs:
        try:
            if raw_input.before and is_up_to_date(raw_input, holdings, _expected_beside(raw_input, pieces)):
                pieces.append(raw_input.before)
                holdings.add(raw_input.before, raw_input.claim.raw)
                if raw_input.key not in steps.converted:
                    steps.unchanged[raw_input.key] = moved(raw_input.before, raw_input.claim)
            else:
                steps.notes += _said_of_damage(raw_input)
                pieces.append(_converted(raw_input, holdings, pieces, indexes, steps))
        except RawFileError as problem:
            steps.problems[raw_input.key] = problem
            _undo(steps, raw_input.key, task.warehouse)
            if raw_input.key in task.before:
                pieces.append(task.before[raw_input.key])
                holdings.add(task.before[raw_input.key])


def _converted(
    raw_input: RawInput,
    holdings: Holdings,
    pieces: Sequence[Conversion],
    indexes: "_Indexes",
    steps: Steps,
) -> Conversion:
    beside: tuple[Beside, ...] = ()
    if raw_input.table.wide:
        beside = _as_beside(pieces)
        holdings.indexes = indexes.of(pieces, raw_input)
    read_before = set(holdings.indexes)
    conversion, notes = convert(raw_input, holdings, beside)
    indexes.known[conversion.key] = holdings.indexes - read_before
    steps.converted[raw_input.key] = conversion
    steps.unchanged.pop(raw_input.key, None)
    steps.notes += notes
    return conversion


def _expected_beside(raw_input: RawInput, pieces: Sequence[Conversion]) -> tuple[Beside, ...]:
    """The pieces that an unchanged piece of a wide table must have been read beside: those before it by name.

    A later piece counts too if it was not read beside this one, as both may then hold the same lines.
    """
    if not raw_input.table.wide or not raw_input.before:
        return ()
    this = Beside(raw_input.before.source, raw_input.before.sha256)
    return _as_beside([c for c in pieces if c.source < this.source or this not in c.beside])


def _as_beside(pieces: Sequence[Conversion]) -> tuple[Beside, ...]:
    return tuple(sorted(Beside(piece.source, piece.sha256) for piece in pieces))


@dataclass
class _Indexes:
    """The indexes of the lines of each piece of a wide table, read from its Parquet files on demand."""

    warehouse: Path
    known: dict[Key, set[Hashable]] = field(default_factory=dict)

    def of(self, pieces: Sequence[Conversion], raw_input: RawInput) -> set[Hashable]:
        """The indexes of all pieces together. Raises UserError where a Parquet file of one is damaged."""
        assert raw_input.table.wide
        for piece in pieces:
            if piece.key not in self.known:
                integrity.check_sizes(self.warehouse, [piece])
                self.known[piece.key] = read_indexes(piece, self.warehouse, raw_input.table.wide)
        return set().union(*(self.known[piece.key] for piece in pieces))


def _undo(steps: Steps, key: Key, warehouse: Path) -> None:
    if steps.converted.pop(key, None):
        artifacts.drop_unpublished(warehouse, key)


def _said_of_damage(raw_input: RawInput) -> list[str]:
    """Notes on the Parquet files that have to be written anew because they are not what was written."""
    wrong = integrity.wrong_sizes(raw_input.warehouse, [raw_input.before] if raw_input.before else [])
    file = raw_input.claim.raw.relative_name
    return [
        f"{raw_input.warehouse / damage.stored.path}: {damage.what}; {file} is read anew" for damage in wrong
    ]


def _raw_inputs(task: Task, steps: Steps) -> list[RawInput]:
    """The raw files of a task in the order in which they are read: archives first, then by name."""
    in_order = sorted(task.claims, key=lambda claim: (not claim.raw.is_archive, claim.raw.source_name))
    before = {**task.before, **steps.converted}
    return [
        RawInput(claim, task.warehouse, before.get(claim.key), task.replacing, task.on_bytes)
        for claim in in_order
    ]
