"""Rejected rows, and the rule by which too many of them make the whole file unusable."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from tracehouse.core.errors import RawFileError

Piece = TypeVar("Piece")

_MOST_REJECTED_SHARE = 0.1
# How many rows a stream holds is not known before its end, and the bad ones may all come first: up to these
# limits, rejects are tolerated until then, whatever their share.
_MOST_REJECTS = 20_000
_MOST_REJECTED_BYTES = 16 << 20


@dataclass(frozen=True)
class Reject:
    """A row that does not fit its table: the line it stands on, from 1, why, and its text."""

    line: int
    reason: str
    raw_text: str


@dataclass(frozen=True)
class Batch:
    """Some rows of a file, in order: those that fit, and those that do not."""

    rows: pa.Table
    rejects: tuple[Reject, ...] = field(default=())


@dataclass
class Tally:
    """The rows of a file so far, and those of them that were rejected."""

    file: str
    rows: int = 0
    rejected: int = 0
    rejected_bytes: int = 0
    first: Reject | None = None

    def add(self, reject: Reject) -> None:
        self.first = self.first or reject
        self.rejected += 1
        self.rejected_bytes += len(reject.raw_text)

    def raise_if_hopeless(self, rows: int) -> None:
        """Raise RawFileError where rejects exceed the limits above, and also a tenth of `rows`."""
        if self.rejected > _MOST_REJECTS or self.rejected_bytes > _MOST_REJECTED_BYTES:
            self.raise_if_bad(f"of at most {rows:,} rows so far", rows)

    def raise_if_bad(self, what: str, rows: int) -> None:
        """Raise RawFileError where over a tenth of `rows` was rejected; `what` names these in the error."""
        if self.first and self.rejected > _MOST_REJECTED_SHARE * rows:
            raise RawFileError(
                self.file,
                f"{self.rejected:,} {what} do not fit, more than a tenth; the first: {self.first.reason}",
                "This is another file than its name says, or a damaged one: fetch it again",
                line=self.first.line,
            )


def unless_hopeless(read: Iterable[tuple[Piece, Batch]], file: str) -> Iterator[tuple[Piece, Batch]]:
    """Pass on what is read of a file, piece by piece, unless too much of it is rejected.

    Raises RawFileError where over a tenth of its rows was rejected: at the end of the file, or earlier, once
    the rejects exceed the limits above.
    """
    tally = Tally(file)
    for piece, batch in read:
        tally.rows += batch.rows.num_rows + len(batch.rejects)
        for reject in batch.rejects:
            tally.add(reject)
        tally.raise_if_hopeless(tally.rows)
        yield piece, batch
    tally.raise_if_bad(f"of its {tally.rows:,} rows", tally.rows)
