"""Limit the number of rejected rows: a file with too many of them is not what its name says."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.readers import Batch, Reject

Piece = TypeVar("Piece")

_MOST_REJECTED_SHARE = 0.1
# The number of rows is unknown before the end of a file, and bad rows may come first. Up to these limits,
# rejects are tolerated until the end of the file, regardless of their share.
_MOST_REJECTS = 20_000
_MOST_REJECTED_BYTES = 16 << 20


def limit_rejects(read: Iterable[tuple[Piece, Batch]], file: str) -> Iterator[tuple[Piece, Batch]]:
    """Yield the pieces of a file with their batches unchanged, and count the rejected rows.

    Raises RawFileError if more than a tenth of the rows is rejected: at the end of the file, or as soon as
    the rejects exceed `_MOST_REJECTS` or `_MOST_REJECTED_BYTES`.
    """
    rows = rejected = rejected_bytes = 0
    first: Reject | None = None
    for piece, batch in read:
        first = first or next(iter(batch.rejects), None)
        rows += batch.rows.num_rows + len(batch.rejects)
        rejected += len(batch.rejects)
        rejected_bytes += sum(len(reject.raw_text) for reject in batch.rejects)
        if first:
            check_early(rejected, rejected_bytes, rows, first, file)
        yield piece, batch
    if first:
        _check_share(rejected, rows, f"of its {rows:,} rows", first, file)


def check_early(rejected: int, rejected_bytes: int, rows: int, first: Reject, file: str) -> None:
    """Raise RawFileError if the rejects so far exceed the limits above and a tenth of `rows` rows."""
    if rejected > _MOST_REJECTS or rejected_bytes > _MOST_REJECTED_BYTES:
        _check_share(rejected, rows, f"of at most {rows:,} rows so far", first, file)


def _check_share(rejected: int, rows: int, what: str, first: Reject, file: str) -> None:
    if rejected > _MOST_REJECTED_SHARE * rows:
        raise RawFileError(
            file,
            f"{rejected:,} {what} do not fit, more than a tenth; the first: {first.reason}",
            "The file is damaged, or is not what its name says: fetch it again",
            line=first.line,
        )
