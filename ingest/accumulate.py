"""What the raw files of one table, or of one partition of it, give beside what the warehouse has of it.

A raw file that is away, or cannot be read, keeps what it gave; a newer version of it replaces that. A CSV
is taken once, whichever raw files hold it, and so is a line that several pieces of a wide table share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from duckdb import DuckDBPyConnection

from tracehouse.ingest import integrity, store
from tracehouse.ingest.convert import Holdings, Job, check_copy, convert, moved, still_good, times_of
from tracehouse.ingest.errors import RawFileError
from tracehouse.ingest.find import Claim, Group
from tracehouse.ingest.manifest import Beside, Conversion, Key


@dataclass(frozen=True)
class Task:
    """The raw files of one group, and what the warehouse has of it already.

    With `replacing`, what raw files gave that are not here is about to leave.
    """

    group: Group
    claims: tuple[Claim, ...]
    before: Mapping[Key, Conversion]
    warehouse: Path
    replacing: bool
    on_bytes: Callable[[int], None]


@dataclass
class Steps:
    """What came of a task: conversions by their key, and what is to be said."""

    converted: dict[Key, Conversion] = field(default_factory=dict)
    unchanged: dict[Key, Conversion] = field(default_factory=dict)
    problems: dict[Key, RawFileError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def bring_up_to_date(task: Task, connection: DuckDBPyConnection) -> Steps:
    """Convert the raw files of a task that are not what they were.

    Where one of them cannot be read, nothing is replaced by the others. Raises UserError where the warehouse
    is damaged, or cannot be written to.
    """
    steps = Steps()
    task = _without_copies(task, steps)
    while True:
        known = set(steps.problems)
        _attempt(task, steps, connection)
        # What a file gave that turned out to be a problem stays, and the others are to be read beside that.
        if not any(key in task.before for key in steps.problems.keys() - known):
            break
    if task.replacing and steps.problems:
        for key in list(steps.converted):
            _undo(steps, key, task.warehouse)
        steps.notes.append(f"{'.'.join(task.group[:2])}: nothing is replaced, as a file cannot be read")
    steps.notes = list(dict.fromkeys(steps.notes))
    return steps


def _without_copies(task: Task, steps: Steps) -> Task:
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


def _attempt(task: Task, steps: Steps, connection: DuckDBPyConnection) -> None:
    """Go through the raw files of a task but for those that are known to be a problem."""
    jobs = [job for job in _jobs(task, steps) if job.key not in steps.problems]
    here = {job.key for job in jobs}
    pieces = [
        conversion
        for key, conversion in task.before.items()
        if key not in here and (key in steps.problems or not task.replacing)
    ]
    holdings, times = Holdings(), _Times(task.warehouse)
    for piece in pieces:
        holdings.add(piece)
    for job in jobs:
        try:
            if job.before and still_good(job, holdings, _expected_beside(job, pieces)):
                pieces.append(job.before)
                holdings.add(job.before, job.claim.raw)
                if job.key not in steps.converted:
                    steps.unchanged[job.key] = moved(job.before, job.claim)
            else:
                steps.notes += _said_of_damage(job)
                pieces.append(_converted(job, holdings, pieces, times, steps, connection))
        except RawFileError as problem:
            steps.problems[job.key] = problem
            _undo(steps, job.key, task.warehouse)
            if job.key in task.before:
                pieces.append(task.before[job.key])
                holdings.add(task.before[job.key])


def _converted(
    job: Job,
    holdings: Holdings,
    pieces: Sequence[Conversion],
    times: "_Times",
    steps: Steps,
    connection: DuckDBPyConnection,
) -> Conversion:
    beside: tuple[Beside, ...] = ()
    if job.table.wide:
        beside = _as_beside(pieces)
        holdings.times = times.of(pieces, job)
    read_before = set(holdings.times)
    conversion, notes = convert(job, holdings, beside, connection)
    times.known[conversion.key] = holdings.times - read_before
    steps.converted[job.key] = conversion
    steps.unchanged.pop(job.key, None)
    steps.notes += notes
    return conversion


def _expected_beside(job: Job, pieces: Sequence[Conversion]) -> tuple[Beside, ...]:
    """What an unchanged piece must have been read beside: the pieces before it by name.

    A later one counts where that was not read beside this one, so that both may have the same lines.
    """
    if not job.table.wide or not job.before:
        return ()
    this = Beside(job.before.source, job.before.sha256)
    return _as_beside([c for c in pieces if c.source < this.source or this not in c.beside])


def _as_beside(pieces: Sequence[Conversion]) -> tuple[Beside, ...]:
    return tuple(sorted(Beside(piece.source, piece.sha256) for piece in pieces))


@dataclass
class _Times:
    """The times of the lines that each piece of a wide table gave, read when they are needed."""

    warehouse: Path
    known: dict[Key, set[int]] = field(default_factory=dict)

    def of(self, pieces: Sequence[Conversion], job: Job) -> set[int]:
        """The times of all pieces together. Raises UserError where a Parquet file of one is damaged."""
        assert job.table.wide
        for piece in pieces:
            if piece.key not in self.known:
                integrity.check_sizes(self.warehouse, [piece])
                self.known[piece.key] = times_of(piece, self.warehouse, job.table.wide)
        return set().union(*(self.known[piece.key] for piece in pieces))


def _undo(steps: Steps, key: Key, warehouse: Path) -> None:
    if steps.converted.pop(key, None):
        store.drop_unpublished(warehouse, key)


def _said_of_damage(job: Job) -> list[str]:
    """Notes on the Parquet files that have to be written anew because they are not what was written."""
    wrong = integrity.wrong_sizes(job.warehouse, [job.before] if job.before else [])
    file = job.claim.raw.relative_name
    return [f"{job.warehouse / damage.stored.path}: {damage.what}; {file} is read anew" for damage in wrong]


def _jobs(task: Task, steps: Steps) -> list[Job]:
    """The raw files of a task in the order in which they are read: archives first, then by name."""
    in_order = sorted(task.claims, key=lambda claim: (not claim.raw.is_archive, claim.raw.source_name))
    before = {**task.before, **steps.converted}
    return [
        Job(claim, task.warehouse, before.get(claim.key), task.replacing, task.on_bytes) for claim in in_order
    ]
