"""Tests of writing output atomically."""

import os
import stat
import threading
from pathlib import Path

import pytest

from tracehouse.core.errors import UsageError, UserError
from tracehouse.publish import output


def put(path: Path, scratch: Path, content: bytes = b"new") -> None:
    with output.open_output(path, scratch) as file:
        file.write_bytes(content)


def test_writes_target_of_link(tmp_path: Path) -> None:
    target, link = tmp_path / "a" / "target.csv", tmp_path / "link.csv"
    target.parent.mkdir()
    link.symlink_to("a/target.csv")
    for _ in range(2):
        put(link, tmp_path)
        assert link.is_symlink() and target.read_text(encoding="utf-8") == "new"


def test_keeps_mode_of_existing_file(tmp_path: Path) -> None:
    old, new, plain = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "plain"
    old.write_text("old", encoding="utf-8")
    old.chmod(0o600)
    plain.touch()
    put(old, tmp_path)
    put(new, tmp_path)
    assert stat.S_IMODE(old.stat().st_mode) == 0o600 and old.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "old.csv", "plain"]


def test_writes_to_fifo(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    put(fifo, tmp_path, b"x" * 300_000)
    reader.join(120)
    assert read == [b"x" * 300_000] and fifo.is_fifo()


def test_failure_keeps_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="stop"), output.open_output(path, tmp_path) as file:
        file.write_bytes(b"half")
        raise ValueError("stop")
    assert path.read_text(encoding="utf-8") == "old" and list(tmp_path.iterdir()) == [path]


def test_rejects_targets_other_than_files(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    (tmp_path / "file").touch()
    missing = "no such folder. Create it, or name another"
    for path, error, message in (
        (loop, UsageError, "points to itself"),
        (tmp_path, UsageError, "is not a file"),
        (tmp_path / "a\0b", UsageError, "not a valid file name"),
        (tmp_path / "new" / "x.csv", UserError, missing),
        (tmp_path / "file" / "x.csv", UserError, missing),
        (Path("/proc/x.csv"), UserError, r"/proc/x\.csv: cannot be written \("),
    ):
        with pytest.raises(error, match=message):
            put(path, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loop"]
