"""The lock on released views: `versions.lock` holds the hash of each, and none may change after.

`python -m tracehouse.views.versions itp.job_v1 …` releases views; a new meaning is a new version.
"""

import sys
from collections.abc import Iterable, Sequence

from tracehouse.views.view_files import VIEWS, ViewFile, view_files

LOCK = VIEWS / "versions.lock"


def released() -> dict[str, str]:
    """The released views and their hashes."""
    if not LOCK.exists():
        return {}
    lines = LOCK.read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def broken(views: Iterable[ViewFile]) -> list[str]:
    """What is wrong with released views: one sentence for each that was changed or is gone."""
    now = {view.versioned: view.sha256 for view in views}
    return [
        f"{name} is released and {'was changed' if name in now else 'is gone'}: "
        "restore it, and write what you mean as its next version"
        for name, sha256 in released().items()
        if now.get(name) != sha256
    ]


def release(names: Sequence[str]) -> None:
    """Add views to the lock. Raises SystemExit where a name is unknown or a released view was changed."""
    views = {view.versioned: view for view in view_files()}
    problems = broken(views.values()) + [f"no view is called {name}" for name in names if name not in views]
    if problems:
        raise SystemExit("\n".join(problems))
    locked = released() | {name: views[name].sha256 for name in names}
    lines = [f"{name} {sha256}" for name, sha256 in sorted(locked.items())]
    LOCK.write_text("# Released views, and the hash of what each means. See versions.py.\n")
    with LOCK.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    release(sys.argv[1:])
