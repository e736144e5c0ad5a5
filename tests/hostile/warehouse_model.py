"""A simple model of a warehouse: the version of each raw file that it must contain after an operation.

The model implements the documentation, without code of Tracehouse.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from hostile.cases import LFS_POINTER
from hostile.dumps import WIDE, Place, Rows, gz, tar

A = Place(
    *("jobs.task", "tasks_a", "name,weight,number", "{name},1,{number}", "name", "number"),
    picked="variant = 'a'",
)
B = replace(A, stem="tasks_b", picked="variant = 'b'")
LEFT = replace(A, table="jobs.left", stem="left", picked="true")
RIGHT = replace(A, table="jobs.right", stem="right", picked="true")
KALOS = replace(
    WIDE[0],
    table="power.metric",
    stem="metric",
    folder="kalos",
    header="Time,n1-0",
    picked="cluster = 'kalos'",
)
SEREN = replace(KALOS, folder="seren", picked="cluster = 'seren'")
# Two files of one table (one is compressed), an archive of two tables, and two partitions of a wide table.
FILES = {
    "jobs/tasks_a.csv": (A,),
    "jobs/tasks_b.csv.gz": (B,),
    "jobs/pair.tar.gz": (LEFT, RIGHT),
    "power/kalos/metric.csv": (KALOS,),
    "power/seren/metric.csv": (SEREN,),
}
PLACES = tuple(place for places in FILES.values() for place in places)

# Contents of a raw file that ingest refuses. With HALF, the other table of the archive can be read.
POINTER, CUT, HALF = "a Git LFS pointer", "cut short", "no number of the last table can be read"


@dataclass(frozen=True)
class Version:
    """A version of a raw file. Its values depend on its number, and ingest rejects its last `bad` lines."""

    number: int
    count: int
    bad: int = 0

    @property
    def lines(self) -> int:
        return self.count + self.bad

    def rows(self, place: Place) -> Rows:
        """Return the rows that must be stored. Their values occur in no other version or file."""
        first = 1000.0 * self.number + 100 * PLACES.index(place)
        return {name: first + n for n, name in enumerate(place.names("old", self.count))}

    def text(self, place: Place) -> bytes:
        bad = place.names("old", self.lines)[self.count :]
        lines = [*place.lines(self.rows(place)), *(place.text_of(name, "x") for name in bad)]
        return "".join(f"{line}\n" for line in lines).encode()


# Ingest refuses to replace one of the last two by one of the first two, with less than half of the lines.
VERSIONS = (Version(1, 12), Version(2, 15, 1), Version(3, 40), Version(4, 44, 2))
FEW_LINES = 5

Content = Version | str
Versions = Mapping[Place, Version]


@dataclass(frozen=True)
class Outcome:
    """An allowed result of an operation: exit code and published versions. None means no change."""

    code: int
    published: Versions | None


def trace_of(place: Place) -> str:
    return place.table.split(".")[0]


def file_of(place: Place) -> str:
    """Return the path of the raw file of a place, below the raw folder."""
    return next(file for file, places in FILES.items() if place in places)


@cache
def bytes_of(file: str, content: Content) -> bytes:
    """Return the bytes of a raw file with this content."""
    if content == POINTER:
        return LFS_POINTER
    if content == CUT:
        whole = bytes_of(file, VERSIONS[0])
        return whole[: len(whole) // 2]
    if content == HALF:
        texts = [VERSIONS[1].text(place) for place in FILES[file]]
        texts[-1] = re.sub(rb",(\d+)\n", rb",x\1\n", texts[-1])
    else:
        texts = [content.text(place) for place in FILES[file]]
    if file.endswith(".tar.gz"):
        members = zip((f"{place.stem}.csv" for place in FILES[file]), texts, strict=True)
        return gz(tar(list(members)))
    return gz(texts[0]) if file.endswith(".gz") else texts[0]


def group_of(place: Place) -> tuple[str, str]:
    """Return the table and the partition of a place."""
    return place.table, place.folder


def is_refused(content: Content, before: Version | None, replacing: bool) -> bool:
    """Return whether a file cannot be read, or lost more than half of its lines."""
    if not isinstance(content, Version):
        return True
    return not replacing and before is not None and content.lines * 2 < before.lines


def ingest_outcomes(
    raw: Mapping[Place, Content],
    published: Versions,
    unpublished: Mapping[str, Collection[Version]],
    broken: Collection[Place],
    replacing: bool,
) -> Iterator[Outcome]:
    """Yield the results of an ingest of these raw files.

    `unpublished` are versions that an interrupted ingest may have finished, for all tables of a raw file or
    for none. `broken` are the places whose Parquet files are missing or have another size.
    """
    for choice in product(*([None, *versions] for versions in unpublished.values())):
        chosen = zip(unpublished, choice, strict=True)
        finished = {place: version for file, version in chosen if version for place in FILES[file]}
        yield _ingest(raw, published, finished, broken, replacing)
        # The conversion of another table may repair its files before the last table is refused.
        repaired = {
            place
            for place in broken
            if raw.get(place) == HALF
            and place is not FILES[file_of(place)][-1]
            and published[place] == VERSIONS[1]
        }
        if repaired:
            yield _ingest(raw, published, finished, set(broken) - repaired, replacing)


def _ingest(
    raw: Mapping[Place, Content],
    published: Versions,
    finished: Versions,
    broken: Collection[Place],
    replacing: bool,
) -> Outcome:
    # Ingest recognises a pointer before it converts files.
    claims = {place: content for place, content in raw.items() if content != POINTER}
    replacing = replacing and len(claims) == len(raw)
    groups, tables = {group_of(place) for place in claims}, {place.table for place in claims}
    unread = {
        place for place in published if place not in claims and not (replacing and place.table in tables)
    }
    if unread & set(broken):
        return Outcome(1, None)
    before = {**published, **{place: v for place, v in finished.items() if group_of(place) in groups}}
    # If one table of a file is refused, all are.
    refused = {
        other
        for place, content in claims.items()
        if is_refused(content, before.get(place), replacing)
        for other in FILES[file_of(place)]
    }
    read = {place: content for place, content in claims.items() if place not in refused}
    if replacing:
        incomplete = {group_of(place) for place in refused}
        accepted = {place: content for place, content in read.items() if group_of(place) not in incomplete}
    else:
        accepted = read
    now = {**before, **accepted}
    if replacing:
        replaced = groups - incomplete
        whole = {table for table, _ in replaced} - {place.table for place in refused}
        now = {
            place: version
            for place, version in now.items()
            if place in claims or (group_of(place) not in replaced and place.table not in whole)
        }
    # Converting the same version again repairs its files, even without `--replace`.
    if any(place in broken and now.get(place) == published[place] != read.get(place) for place in published):
        return Outcome(1, None)
    return Outcome(int(not claims or bool(refused) or len(claims) < len(raw)), now or None)
