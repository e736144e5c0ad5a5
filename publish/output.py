"""Where an answer goes: to a file, whole or not at all, or to a stream once all of it is there.

Until then it is in a spool, a file that has no name where the system has such files: nothing is left of it,
even by a process that is killed.
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
from tracehouse.core.terminal import shown
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.sandbox import Writable

_CHUNK_BYTES = 1 << 20
_MODE_BITS = 0o7777


@dataclass(frozen=True)
class Spool:
    """A file to write to: open, and the path by which this process alone can open it again."""

    file: BinaryIO
    path: str

    @property
    def writable(self) -> Writable:
        """The same file as `asking.ask_within` takes it, so that a question may write there."""
        return Writable(self.path, self.file.fileno())


@dataclass(frozen=True)
class _Target:
    """What an output is: a file, which need not exist, or, where `opened` is set, a stream."""

    path: Path
    opened: Callable[[], BinaryIO] | None = None


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
    """Whether an output is a stream, and not a file that can be replaced as a whole."""
    return _target(output).opened is not None


def check(output: Path | None) -> None:
    """Raise UserError where nothing can be written to an output."""
    _target(output)


def check_folder(path: Path) -> None:
    """Raise UserError where a file has no folder to be written to: a name that was mistyped makes none."""
    if not path.parent.is_dir():
        raise UserError(f"{path.parent}: there is no such folder. Make it, or name another file")


@contextmanager
def spooled(
    output: Path | None, folder: Path, shows_escapes: bool = False, pages: bool = False
) -> Iterator[Spool]:
    """A spool for what goes to an output, and goes there where the block ends without an error.

    It is beside the output, or in the folder where the output is a stream. With `shows_escapes`, a stream
    that is a terminal gets the text with its control characters spelled out. With `pages`, what is too long
    for the terminal that is standard output is shown in a pager.
    """
    target = _target(output)
    with ExitStack() as stack:
        with _explained(output):
            if target.opened is None:
                folder = target.path.parent
            spool = stack.enter_context(new_spool(folder))
        yield spool
        spool.file.flush()
        if target.opened is None:
            with _explained(output):
                _place(spool, target.path)
        else:
            to_terminal = is_terminal(output)
            paged = _pager(spool) if pages and output is None and to_terminal else None
            with paged or target.opened() as stream:
                _copy(spool, stream, shows_escapes and to_terminal)


def _pager(spool: Spool) -> AbstractContextManager[BinaryIO] | None:
    """What to write to for a pager; None where there is none, or the terminal is long enough."""
    # Not for every answer to wait for.
    from tracehouse.publish import pager

    shows = pager.command()
    return pager.opened(shows) if shows and pager.is_longer_than_screen(spool.file) else None


@contextmanager
def _explained(output: Path | None) -> Iterator[None]:
    """Turn the system's refusal to write a file into a UserError that names it."""
    try:
        yield
    except OSError as error:
        if output is None:
            raise
        raise UserError(
            f"{output}: it cannot be written ({error.strerror}). Name a file where you may write"
        ) from None


def show(text: str, pages: bool) -> None:
    """Print a text that is fit to be shown, with `pages` in a pager where the terminal is too short."""
    with sandbox.scratch_folder() as folder, spooled(None, folder, pages=pages) as spool:
        spool.file.write(text.encode(errors="surrogateescape"))


@contextmanager
def new_spool(folder: Path) -> Iterator[Spool]:
    """An empty spool on the disk of a folder."""
    descriptor = _open_unnamed(folder)
    named = "" if descriptor is not None else tempfile.mkstemp(dir=folder, prefix=".traces-")[1]
    if descriptor is None:
        descriptor = os.open(named, os.O_RDWR)

    def remove() -> None:
        if named:
            Path(named).unlink(missing_ok=True)

    with signals.before_the_end(remove), open(descriptor, "w+b") as file:  # noqa: PTH123
        yield Spool(file, named or f"/proc/self/fd/{descriptor}")


def _open_unnamed(folder: Path) -> int | None:
    """A file without a name on the disk of a folder; None where the system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    with suppress(OSError):
        # Errors are left to the making of a named file, which reports what is wrong with the folder better.
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    return None


def _target(output: Path | None) -> _Target:
    if output is None:
        if sys.stdout is None:
            raise UserError("standard output is closed: name a file with --output")
        return _Target(Path("-"), _standard_output)
    try:
        number = _descriptor(output)
        if number is not None:
            os.fstat(number)
            return _Target(output, lambda: _stream(number))
        # Links are followed, and stay: what is written is their target.
        path = Path(os.path.realpath(output))
        if path.is_symlink():
            raise UsageError(f"{output}: it is a link that leads to itself")
        check_folder(path if output.is_symlink() else output)
        kind = path.stat().st_mode if path.exists() else stat.S_IFREG
    except (ValueError, UnicodeError):
        raise UsageError(f"{shown(str(output))}: no file can have this name") from None
    if stat.S_ISREG(kind):
        return _Target(path)
    if stat.S_ISFIFO(kind) or stat.S_ISCHR(kind):
        return _Target(path, lambda: open(path, "wb", buffering=0))  # noqa: PTH123
    raise UsageError(f"{output}: there is something else of that name, not a file")


def _standard_output() -> BinaryIO:
    sys.stdout.flush()
    return _stream(sys.stdout.fileno())


def _stream(descriptor: int) -> BinaryIO:
    # Without a buffer: what cannot be written fails here, not when the process ends.
    return open(descriptor, "wb", buffering=0, closefd=False)


def _descriptor(output: Path) -> int | None:
    """The number of the open file that a path like /dev/stdout or /dev/fd/3 stands for."""
    own = (f"/proc/{os.getpid()}/fd", "/dev/fd")
    path = output
    for _ in range(40):
        if path.name.isdigit() and os.path.realpath(path.parent) in own:
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def _place(spool: Spool, path: Path) -> None:
    """Give a spool the name of a file, in one step; an old file of that name is replaced, its mode kept."""
    descriptor = spool.file.fileno()
    old = path.stat() if path.exists() else None
    if old is None and not _is_unnamed(spool):
        # A file that was made without a name has the mode of any new file already.
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
    elif old is not None:
        with suppress(PermissionError):
            # Only root can; for others the file becomes theirs.
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, old.st_mode & _MODE_BITS)
    # A temporary name first, as a link cannot replace an existing file, while a rename can.
    name = path.with_name(f".traces-{os.getpid()}-{descriptor}")

    def remove() -> None:
        name.unlink(missing_ok=True)

    with signals.before_the_end(remove):
        if _is_unnamed(spool):
            anywhere = os.open("/", os.O_RDONLY)
            try:
                # Only with a folder does os.link follow links, although the absolute path needs none.
                os.link(spool.path, name, src_dir_fd=anywhere, follow_symlinks=True)
            finally:
                os.close(anywhere)
        else:
            Path(spool.path).rename(name)
        name.replace(path)


def _is_unnamed(spool: Spool) -> bool:
    return spool.path.startswith("/proc/self/fd/")


def _copy(spool: Spool, stream: BinaryIO, shows_escapes: bool) -> None:
    spool.file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    more = True
    while more:
        chunk = spool.file.read(_CHUNK_BYTES)
        more = bool(chunk)
        _write(stream, shown(decoder.decode(chunk, final=not more)).encode() if shows_escapes else chunk)


def _write(stream: BinaryIO, text: bytes) -> None:
    """Write all of a text: a stream without a buffer may take but a part at a time."""
    rest = memoryview(text)
    while rest:
        rest = rest[stream.write(rest) or 0 :]
