"""Lock released views: `versions.lock` has a hash of each one's statement and comments.

    python -m tracehouse.views.versions itp.job_v1  # release a view
    python -m tracehouse.views.versions             # record released views that were rewritten

`docs/versions.md` says what a released view promises.
"""

import argparse
from collections.abc import Mapping, Sequence

from tracehouse.views import across_traces
from tracehouse.views.macros import SCHEMA, macros_sql
from tracehouse.views.sql_text import sql_hash
from tracehouse.views.view_files import VIEWS, DefinitionError, ViewFile, newest, view_files

LOCK = VIEWS / "versions.lock"

FORMAT = "# Format 2"
"""The first line of the lock. A new format may hash something else; the names of released views stay."""

_HEADER = f"""\
{FORMAT}: each released view with the hash of its statement and comments (docs/versions.md). No name is ever
# removed. A hash changes only in a commit that leaves every golden answer as it is.
"""
_DIGITS = 16


def locked() -> dict[str, str]:
    """Read the lock: the hash of each released view, by versioned name."""
    return read_lock(LOCK.read_text()) if LOCK.exists() else {}


def read_lock(text: str) -> dict[str, str]:
    """Parse the text of a lock. Raises DefinitionError on a line that is not a name and a hash."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("#"):
            name, _, digits = line.partition(" ")
            if len(digits) != _DIGITS or not digits.isalnum():
                raise DefinitionError(
                    f"{LOCK}, line {number}", f"`{line}` is not a view and a hash; restore the file"
                )
            found[name] = digits
    return found


def view_hash(view: ViewFile) -> str:
    """Hash a view's statement and comments, without white space, the case of keywords and `--` comments.

    The hash of a view that calls macros includes `macros.sql`.
    """
    macros = [macros_sql()] if f"{SCHEMA}." in view.statement else []
    return sql_hash(";".join([view.statement, *view.comments, *macros]))[:_DIGITS]


def broken(lock: Mapping[str, str], views: Sequence[ViewFile]) -> list[str]:
    """Compare released views with the lock. Returns a sentence for each problem."""
    by_name = {view.versioned: view for view in views}
    problems = []
    for name, digits in lock.items():
        view = by_name.get(name)
        if view is None:
            problems.append(f"{name} is released, and its file is missing: restore it")
            continue
        if view_hash(view) != digits:
            following = newest(views)[view.alias].version + 1
            problems.append(
                f"{name} is released, and its statement or comments were changed. If it means something "
                f"else, restore {view.path}, and write the next version, {view.name}.v{following}.sql. If it "
                "means the same, run `python -m tracehouse.views.versions`, and leave all golden answers as "
                "they are"
            )
        problems += [
            f"{name} is released, and reads {draft}, a draft: release that too"
            for draft in sorted(_views_read(view, views) - lock.keys())
        ]
    return problems


def release(names: Sequence[str]) -> list[str]:
    """Record views in the lock: the named ones or, without names, those that are released already.

    A view that is released already means the same in other words. Returns the names of new and changed lines.
    Raises SystemExit if a name is unknown, the file of a released view is missing, another released view was
    changed, or a released view reads a draft.
    """
    views = view_files()
    hashes = {view.versioned: view_hash(view) for view in views}
    before = locked()
    unknown = [name for name in names if name not in hashes]
    problems = [f"no view is called {name}: name a version, as itp.job_v1" for name in unknown]
    after = before | {name: hashes[name] for name in names or before if name in hashes}
    problems += broken(after, views)
    if problems:
        raise SystemExit("\n".join(problems))
    LOCK.write_text(_HEADER + "".join(f"{name} {digits}\n" for name, digits in sorted(after.items())))
    return sorted(name for name, digits in after.items() if before.get(name) != digits)


def _views_read(view: ViewFile, views: Sequence[ViewFile]) -> set[str]:
    names = {one.versioned for one in views}
    found = set(view.references & names)
    for reference in view.references:
        schema, _, name = reference.partition(".")
        if schema == across_traces.SCHEMA:
            found |= {member.versioned for member in across_traces.members(name, views)}
    return found


def _main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tracehouse.views.versions", description="Lock released views."
    )
    parser.add_argument(
        "views",
        nargs="*",
        help="versions to release or to record again, such as itp.job_v1; none: all released ones",
    )
    print("\n".join(release(parser.parse_args().views)) or "No released view has changed.")


if __name__ == "__main__":
    _main()
