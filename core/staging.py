"""Replace a file or a folder atomically: its new content is written to a hidden staging folder next to it.

After a kill at any moment, there is the old or the new content. The process that replaces it holds a lock on
the staging folder, so the next one recognises what a killed process left, and removes it.
"""

import ctypes
import errno
import fcntl
import os
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tracehouse.core import signals
from tracehouse.core.errors import UserError

# Numbers of the kernel's interface (linux/fs.h and linux/fcntl.h).
_EXCHANGE = 1 << 1
_AT_FDCWD = -100
LOCK_WAIT_S = 2


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a new file that replaces a file when the block ends. Keeps its mode, owner and links to it.

    Raises UserError if another process is replacing it.
    """
    path = Path(os.path.realpath(path))
    with _stage(path) as new:
        new.touch()
        yield new
        if path.exists():
            old = path.stat()
            with suppress(PermissionError):
                # Only root can keep the owner.
                os.chown(new, old.st_uid, old.st_gid)
            new.chmod(stat.S_IMODE(old.st_mode))
        new.replace(path)


@contextmanager
def replace_folder(folder: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """Yield a new folder that replaces a folder, which need not exist, when the block ends. Keeps links.

    `check` raises UserError if the folder must not be replaced. It is called before the block and after it,
    because there may be files of others by then. Raises UserError if another process is replacing the folder.
    """
    check(folder)
    folder = Path(os.path.realpath(folder))
    with _stage(folder) as new:
        new.mkdir()
        yield new
        check(folder)
        if not folder.exists():
            new.rename(folder)
            return
        try:
            exchange(new, folder)
        except OSError:
            # This kernel or file system cannot exchange folders.
            folder.rename(_old(new))
            new.rename(folder)


def exchange(one: Path, other: Path) -> None:
    """Exchange the names of two files or folders atomically. Raises OSError if the system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(other))


@contextmanager
def _stage(path: Path) -> Iterator[Path]:
    """Yield a path in the staging folder of `path`, which is removed when the block or the process ends."""
    # A name may have 255 bytes. The checksum distinguishes long names.
    staging = path.with_name(f".{path.name[:50]}-{zlib.crc32(os.fsencode(path.name)):08x}.new")
    new = staging / "new"

    def remove() -> None:
        _restore(path, new)
        shutil.rmtree(staging, ignore_errors=True)

    with _lock_folder(staging, path), signals.clean_up_at_end(remove):
        _restore(path, new)
        for left in staging.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield new


def _old(new: Path) -> Path:
    """The name of the old folder while the new one gets its name, if both cannot be exchanged."""
    return new.with_name("old")


def _restore(path: Path, new: Path) -> None:
    """Move the old folder back if the process ended before the new one got its name."""
    if not path.exists():
        with suppress(FileNotFoundError):
            _old(new).rename(path)


def _lock_folder(folder: Path, path: Path) -> ExitStack:
    """Create a folder unless it exists, and lock it until the result is closed or the process ends.

    Raises UserError, which names `path`, if another process has locked it, or it cannot be created.
    """
    while True:
        try:
            folder.mkdir(0o700)
            is_new = True
        except FileExistsError:
            is_new = False
        except OSError as error:
            raise UserError(
                f"{path}: cannot be written ({error.strerror}). Name one in a folder that you may write"
            ) from None
        # Another process may remove the folder before it is opened, or before it is locked.
        with ExitStack() as opened, suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, descriptor)
            _lock(descriptor, folder, path, is_new)
            if os.path.samestat(os.fstat(descriptor), folder.stat()):
                return opened.pop_all()


def _lock(descriptor: int, folder: Path, path: Path, is_new: bool) -> None:
    try:
        _wait_for_lock(descriptor)
    except BlockingIOError:
        raise UserError(f"{path}: another command is writing here. Wait until it has finished") from None
    except OSError as error:
        if not is_new:
            raise UserError(
                f"{folder}: cannot be locked ({error.strerror}). If no other command is writing to {path}, "
                "remove this folder"
            ) from None
    if os.fstat(descriptor).st_uid != os.geteuid():
        raise UserError(f"{folder}: belongs to another user, who is writing to {path} or was interrupted")


def _wait_for_lock(descriptor: int) -> None:
    """Lock a folder. Raises BlockingIOError if it stays locked.

    A child process shares the lock of a killed process, and ends a moment after it.
    """
    end_s = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end_s:
                raise
        time.sleep(0.01)
