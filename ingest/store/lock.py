"""Allow one process at a time to write to a warehouse, and explain failed writes."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from tracehouse.core.errors import Option, Part, UserError
from tracehouse.core.permissions import explain_denied, explain_denied_in
from tracehouse.ingest.store.layout import WORK_FOLDER, resolve_warehouse, staging_folder

# The exceptions of Arrow and DuckDB about a full disk. DuckDB's exception depends on what it was writing.
_WRITE_ERRORS = (
    OSError,
    duckdb.IOException,
    duckdb.TransactionException,
    duckdb.FatalException,
    duckdb.OutOfMemoryException,
)
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_WRONG_KIND = (errno.EISDIR, errno.EEXIST, errno.ENOTDIR, errno.ENOTEMPTY)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def acquire(warehouse: Path) -> Iterator[None]:
    """Lock a warehouse for one writer.

    Raises UserError if another process holds the lock, if a file in the warehouse cannot be written, or if
    the disk gets full.
    """
    lock = FileLock(resolve_warehouse(warehouse) / WORK_FOLDER / "lock", timeout=0)
    try:
        staging_folder(warehouse)
        lock.acquire()
    except Timeout:
        raise UserError(
            f"{warehouse}: another ingest or build is writing here. Wait until it has finished"
        ) from None
    except (FileExistsError, NotADirectoryError) as error:
        folder = Path(error.filename)
        blocking = next((path for path in (folder, *folder.parents) if path.is_file()), folder)
        raise UserError(
            f"{blocking}: this is a file, but a folder is needed here. Move it away, or name another "
            "warehouse with ",
            Option("warehouse"),
        ) from None
    except OSError as error:
        path = Path(os.fsdecode(error.filename or warehouse))
        if denied := explain_denied(path):
            raise UserError(denied) from error
        place = path if error.errno in _WRONG_KIND else warehouse
        raise UserError(f"{place}: cannot write to the warehouse. ", *_advise(error)) from error
    try:
        yield
    except OSError as error:
        path = Path(os.fsdecode(error.filename2 or error.filename or warehouse))
        is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(warehouse))
        if error.errno not in _DISK_FULL and not is_inside:
            raise
        if denied := explain_denied(path):
            raise UserError(denied) from error
        raise UserError(f"{path}: cannot write ({error.strerror}). ", *_advise(error)) from error
    finally:
        lock.release()


@contextmanager
def explain_write_errors(warehouse: Path, name: str) -> Iterator[None]:
    """Turn the errors of a failed write, such as a full disk, into a UserError that says what to do."""
    try:
        yield
    except _WRITE_ERRORS as error:
        reason = str(error).splitlines()[0]
        if denied := explain_denied_in(reason):
            raise UserError(denied) from error
        raise UserError(f"{warehouse}: cannot write {name} ({reason}). ", *_advise(error)) from error


def _advise(error: Exception) -> Sequence[Part]:
    """Return advice for the user after a failed write. DuckDB and Arrow give the reason only as text."""
    code = error.errno if isinstance(error, OSError) else None
    text = str(error)
    if code in _DISK_FULL or any(os.strerror(one) in text for one in _DISK_FULL):
        return ("Free disk space, and run the same command again: it resumes where it stopped",)
    if code in _NOT_ALLOWED or any(os.strerror(one) in text for one in _NOT_ALLOWED):
        return (
            "Grant yourself write permission, or name another warehouse with ",
            Option("warehouse"),
            "; queries need only read permission",
        )
    if code in _WRONG_KIND:
        return ("A file or folder of that name is in the way: move it away and run the same command again",)
    if code == errno.ENAMETOOLONG:
        return "Choose a folder with a shorter path with ", Option("warehouse")
    return ("Run the same command again: it resumes where it stopped",)
