"""Tests of writing output atomically."""

import os
import stat
import threading
from pathlib import Path

import pytest

from tracehouse.core.errors import UsageError, UserError
from tracehouse.publish import output


def put(path: Path, folder: Path, content: bytes = b"new") -> None:
    with output.open_spool(path, folder) as spool:
        spool.file.write(content)


def test_writes_target_of_link(tmp_path: Path) -> None:
    target, link = tmp_path / "a" / "target.csv", tmp_path / "link.csv"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to("a/target.csv")
    put(link, tmp_path)
    assert link.is_symlink() and target.read_text() == "new"
    target.unlink()
    put(link, tmp_path)
    assert link.is_symlink() and target.read_text() == "new"


def test_keeps_mode_of_existing_file(tmp_path: Path) -> None:
    old, new, plain = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "plain"
    old.write_text("old")
    old.chmod(0o600)
    plain.touch()
    put(old, tmp_path)
    put(new, tmp_path)
    assert stat.S_IMODE(old.stat().st_mode) == 0o600 and old.read_text() == "new"
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_writes_to_fifo(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    put(fifo, tmp_path, b"x" * 300_000)
    reader.join(120)
    assert read == [b"x" * 300_000] and fifo.is_fifo()


def test_appends_to_open_descriptor(tmp_path: Path) -> None:
    log, link = tmp_path / "log", tmp_path / "stdout"
    log.write_text("before\n")
    with log.open("a") as file:
        link.symlink_to(f"/proc/self/fd/{file.fileno()}")
        put(link, tmp_path, b"new\n")
        file.write("after\n")
    assert log.read_text() == "before\nnew\nafter\n" and link.is_symlink()


def test_failure_keeps_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="stop"), output.open_spool(path, tmp_path) as spool:
        spool.file.write(b"half")
        raise ValueError("stop")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_works_without_unnamed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / "new.csv"
    put(path, tmp_path)
    (tmp_path / "plain").touch()
    assert path.read_text() == "new" and path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(ValueError, match="stop"), output.open_spool(path, tmp_path):
        raise ValueError("stop")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.csv", "plain"]


def test_rejects_targets_other_than_files(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(UsageError, match="points to itself"):
        put(loop, tmp_path)
    with pytest.raises(UsageError, match="is not a file"):
        put(tmp_path, tmp_path)
    with pytest.raises(UsageError, match="not a valid file name"):
        put(tmp_path / "a\0b", tmp_path)


def test_does_not_create_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("new", "file"):
        path = tmp_path / name / "x.csv"
        for refused in (lambda path=path: output.check(path), lambda path=path: put(path, tmp_path)):
            with pytest.raises(UserError, match=f"{name}: no such folder. Create it, or name another"):
                refused()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_write_error_names_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"/proc/x\.csv: cannot be written \("):
        put(Path("/proc/x.csv"), tmp_path)
