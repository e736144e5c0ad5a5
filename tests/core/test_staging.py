"""Files and folders that are replaced: after a kill at any step there is the old or the new content."""

import fcntl
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
import suites
from killing import kill_in_child

from tracehouse.core import staging
from tracehouse.core.errors import UserError

OLD, NEW = {"a": "old"}, {"b": "new"}
# The shortest run creates and removes the staging folder, and renames.
FEWEST_STEPS, MOST_STEPS = 3, 50


def accept(folder: Path) -> None:
    """Let any folder be replaced."""


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def replace_folder(path: Path) -> None:
    with staging.replace_folder(path, accept) as new:
        write(new, NEW)


def replace_file(path: Path) -> None:
    with staging.replace_file(path) as new:
        new.write_text("new", encoding="utf-8")


def read(path: Path) -> dict[str, str]:
    """The texts of the files of a folder, or of one file."""
    files = [found for found in (path, *path.rglob("*")) if found.is_file()]
    return {found.relative_to(path).as_posix(): found.read_text(encoding="utf-8") for found in files}


def cannot_exchange(one: Path, other: Path) -> None:
    raise OSError


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("case", ["file", "folder", "new folder", "without exchange"])
def test_kill_at_any_step_leaves_old_or_new(
    case: str, by: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = replace_file if case == "file" else replace_folder
    if case == "without exchange":
        monkeypatch.setattr(staging, "exchange", cannot_exchange)
    for number in range(2, 2 * MOST_STEPS, 1 if "hostile" in suites.REQUESTED else 2):
        step, after = number // 2, bool(number % 2)
        path = tmp_path / str(number) / "target"
        path.parent.mkdir()
        if case == "file":
            path.write_text("old", encoding="utf-8")
        elif case != "new folder":
            write(path, OLD)
        old, new = read(path), {".": "new"} if case == "file" else NEW
        code = kill_in_child(partial(replace, path), step, after, by)
        if code == 0:
            assert step > FEWEST_STEPS and read(path) == new
            return
        assert code == (-by if by == signal.SIGKILL else 128 + by)
        if case == "without exchange" and by == signal.SIGKILL and not path.exists():
            # Between the two renames. The next command moves the old folder back.
            with pytest.raises(ValueError, match="stop"), staging.replace_folder(path, accept):
                raise ValueError("stop")
        assert read(path) in (old, new)
        replace(path)
        assert read(path) == new and list(path.parent.iterdir()) == [path]
    pytest.fail(f"more than {MOST_STEPS} steps")


def test_failure_keeps_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "site"
    write(path, OLD)
    with pytest.raises(ValueError, match="stop"), staging.replace_folder(path, accept):
        raise ValueError("stop")

    def refuse(folder: Path) -> None:
        if (folder / "foreign").exists():
            raise UserError("foreign")

    with pytest.raises(UserError, match="foreign"), staging.replace_folder(path, refuse):
        (path / "foreign").touch()
    (path / "foreign").unlink()
    monkeypatch.setattr(staging, "exchange", cannot_exchange)
    with pytest.raises(FileNotFoundError), staging.replace_folder(path, accept) as new:
        new.rmdir()
    assert read(path) == OLD and list(tmp_path.iterdir()) == [path]


def test_keeps_links_and_long_names(tmp_path: Path) -> None:
    target, link = tmp_path / ("é" * 127), tmp_path / "link"
    write(target, OLD)
    link.symlink_to(target.name)
    replace_folder(link)
    assert link.is_symlink() and read(target) == NEW and {*tmp_path.iterdir()} == {target, link}


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    with staging.replace_file(path) as new:
        new.write_text("first", encoding="utf-8")
        with pytest.raises(UserError, match=r"answer\.csv: another command is writing here. Wait"):
            replace_file(path)
    assert path.read_text(encoding="utf-8") == "first" and list(tmp_path.iterdir()) == [path]


def test_waits_for_the_child_of_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    ready, write_end = os.pipe()
    process = os.fork()
    if not process:
        with staging.replace_file(path):
            if not os.fork():
                # Longer than the process that it belongs to.
                os.write(write_end, b"1")
                time.sleep(0.3)
                os._exit(0)
            signal.pause()
    assert os.read(ready, 1) == b"1"
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    replace_file(path)
    assert read(path) == {".": "new"} and list(tmp_path.iterdir()) == [path]


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot_lock(descriptor: int, operation: int) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", cannot_lock)
    path = tmp_path / "answer.csv"
    replace_file(path)
    assert list(tmp_path.iterdir()) == [path]
    with staging.replace_file(path), pytest.raises(UserError, match="remove this folder"):
        replace_file(path)
