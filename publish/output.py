"""Write output atomically: to a file, or to a stream once all of it is computed.

Until then, a spool holds the output: a temporary file, without a name if the system supports that, so that
even a killed process leaves no file behind.
"""

import codecs
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError
from tracehouse.core.text import escape_text
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.sandbox import Writable

_CHUNK_BYTES = 1 << 20
_MODE_BITS = 0o7777


@dataclass(frozen=True)
class Spool:
    """An open temporary file, and a path with which this process can open the file again."""

    file: BinaryIO
    path: str

    @property
    def writable(self) -> Writable:
        """The file as an argument of `sandbox.run_in`, which lets a query write to it."""
        return Writable(self.path, self.file.fileno())


@dataclass(frozen=True)
class _Target:
    """The target of an output: a file, new or existing, or a stream that `open_stream` opens."""

    path: Path
    open_stream: Callable[[], BinaryIO] | None = None


def is_terminal(output: Path | None) -> bool:
    """Whether an output is a terminal."""
    if output is None:
        return sys.stdout is not None and sys.stdout.isatty()
    number = _descriptor(output)
    if number is not None:
        return os.isatty(number)
    if not output.is_char_device():
        return False
    with output.open("rb") as file:
        return file.isatty()


def is_stream(output: Path) -> bool:
    """Whether an output is a stream, not a file that can be replaced."""
    return _target(output).open_stream is not None


def check(output: Path | None) -> None:
    """Raise UserError if an output cannot be written."""
    _target(output)


def check_folder(path: Path) -> None:
    """Raise UserError if the folder of a file does not exist. A mistyped name must not create a folder."""
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: no such folder. Create it, or name another file")


@contextmanager
def open_spool(
    output: Path | None, folder: Path, escapes: bool = False, pages: bool = False
) -> Iterator[Spool]:
    """Yield a spool, and write its content to the output when the block ends without an error.

    The spool is in the folder of the output, or in `folder` if the output is a stream. With `escapes`,
    control characters are escaped on a terminal. With `pages`, text that is longer than the terminal goes
    through a pager.
    """
    target = _target(output)
    with ExitStack() as stack:
        with _explain_errors(output):
            if target.open_stream is None:
                folder = target.path.parent
            spool = stack.enter_context(create_spool(folder))
        yield spool
        spool.file.flush()
        if target.open_stream is None:
            with _explain_errors(output):
                _move_into_place(spool, target.path)
        else:
            to_terminal = is_terminal(output)
            paged = _pager(spool) if pages and output is None and to_terminal else None
            with paged or target.open_stream() as stream:
                _copy(spool, stream, escapes and to_terminal)


def _pager(spool: Spool) -> AbstractContextManager[BinaryIO] | None:
    """Start a pager and return its input. Returns None without a pager, or if the text fits the terminal."""
    # Imported here, because most outputs need no pager.
    from tracehouse.publish import pager

    command = pager.command()
    return pager.start(command) if command and pager.is_longer_than_screen(spool.file) else None


@contextmanager
def _explain_errors(output: Path | None) -> Iterator[None]:
    """Turn an OSError on writing a file into a UserError that names the file."""
    try:
        yield
    except OSError as error:
        if output is None:
            raise
        raise UserError(
            f"{output}: cannot be written ({error.strerror}). Name a file in a folder that you may write"
        ) from None


def print_text(text: str, pages: bool) -> None:
    """Print a text without escaping it, with `pages` through a pager if it is longer than the terminal."""
    with sandbox.scratch_folder() as folder, open_spool(None, folder, pages=pages) as spool:
        spool.file.write(text.encode(errors="surrogateescape"))


@contextmanager
def create_spool(folder: Path) -> Iterator[Spool]:
    """Yield an empty spool on the disk of a folder, and remove it when the block ends."""
    descriptor, named = _open_unnamed(folder), ""
    if descriptor is None:
        descriptor, named = tempfile.mkstemp(dir=folder, prefix=".traces-")

    def remove() -> None:
        if named:
            Path(named).unlink(missing_ok=True)

    with signals.clean_up_at_end(remove), open(descriptor, "w+b") as file:  # noqa: PTH123
        yield Spool(file, named or f"/proc/self/fd/{descriptor}")


def _open_unnamed(folder: Path) -> int | None:
    """Open a file without a name on the disk of a folder. Returns None if the system cannot do that."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    with suppress(OSError):
        # On an error, create_spool tries a named file, whose error describes the problem better.
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    return None


def _target(output: Path | None) -> _Target:
    if output is None:
        if sys.stdout is None:
            raise UserError("Standard output is closed. Name a file with --output")
        return _Target(Path("-"), _standard_output)
    try:
        number = _descriptor(output)
        if number is not None:
            os.fstat(number)
            return _Target(output, lambda: _stream(number))
        # The output replaces the target of a symbolic link, and the link is kept.
        path = Path(os.path.realpath(output))
        if path.is_symlink():
            raise UsageError(f"{output}: the link points to itself")
        check_folder(path if output.is_symlink() else output)
        kind = path.stat().st_mode if path.exists() else stat.S_IFREG
    except (ValueError, UnicodeError):
        raise UsageError(f"{escape_text(str(output))}: not a valid file name") from None
    if stat.S_ISREG(kind):
        return _Target(path)
    if stat.S_ISFIFO(kind) or stat.S_ISCHR(kind):
        return _Target(path, lambda: open(path, "wb", buffering=0))  # noqa: PTH123
    raise UsageError(f"{output}: exists, and is not a file")


def _standard_output() -> BinaryIO:
    sys.stdout.flush()
    return _stream(sys.stdout.fileno())


def _stream(descriptor: int) -> BinaryIO:
    # Unbuffered, so that a failure is raised here and not when the process ends.
    return open(descriptor, "wb", buffering=0, closefd=False)


def _descriptor(output: Path) -> int | None:
    """The file descriptor that a path such as /dev/stdout or /dev/fd/3 names; None for other paths."""
    own = (f"/proc/{os.getpid()}/fd", "/dev/fd")
    path = output
    for _ in range(40):
        if path.name.isdigit() and os.path.realpath(path.parent) in own:
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def _move_into_place(spool: Spool, path: Path) -> None:
    """Rename a spool to a file atomically. Replaces an existing file, and keeps its mode."""
    descriptor = spool.file.fileno()
    old = path.stat() if path.exists() else None
    if old is None and not _is_unnamed(spool):
        # A spool without a name has the mode of a new file already.
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
    elif old is not None:
        with suppress(PermissionError):
            # Only root can keep the owner.
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, old.st_mode & _MODE_BITS)
    # The spool gets a temporary name first: os.link cannot replace an existing file, but a rename can.
    name = path.with_name(f".traces-{os.getpid()}-{descriptor}")
    with signals.clean_up_at_end(lambda: name.unlink(missing_ok=True)):
        if _is_unnamed(spool):
            root = os.open("/", os.O_RDONLY)
            try:
                # os.link follows symbolic links only with src_dir_fd, which an absolute path ignores.
                os.link(spool.path, name, src_dir_fd=root, follow_symlinks=True)
            finally:
                os.close(root)
        else:
            Path(spool.path).rename(name)
        name.replace(path)


def _is_unnamed(spool: Spool) -> bool:
    return spool.path.startswith("/proc/self/fd/")


def _copy(spool: Spool, stream: BinaryIO, escapes: bool) -> None:
    spool.file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    more = True
    while more:
        chunk = spool.file.read(_CHUNK_BYTES)
        more = bool(chunk)
        _write(stream, escape_text(decoder.decode(chunk, final=not more)).encode() if escapes else chunk)


def _write(stream: BinaryIO, text: bytes) -> None:
    """Write all bytes. An unbuffered stream may write fewer bytes than it gets."""
    rest = memoryview(text)
    while rest:
        rest = rest[stream.write(rest) or 0 :]
