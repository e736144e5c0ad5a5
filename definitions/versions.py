"""Lock released views: `versions.lock` has a hash of each one's statement and comments.

    python -m tracehouse.definitions.versions itp.job_v1  # release a view
    python -m tracehouse.definitions.versions             # record released views that were rewritten

`docs/versions.md` says what a released view promises.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from tracehouse.definitions.findings import Finding
from tracehouse.definitions.macros import SCHEMA, macros_sql
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.released import HASH_DIGITS, LOCK, OLD, read_lock
from tracehouse.definitions.sql_text import sql_hash
from tracehouse.definitions.view_files import DRAFT, ViewFile, newest, plain_names, view_files

FORMAT = "# Format 2"
"""The first line of the lock. A new format may hash something else; the names of released views stay."""

_HEADER = f"""\
{FORMAT}: each released view with the hash of its statement and comments (docs/versions.md). No name is ever
# removed. A hash changes only in a commit that leaves every golden answer as it is.
"""


def view_hash(view: ViewFile) -> str:
    """Hash a view's statement and comments, without white space, the case of keywords and `--` comments.

    The hash of a view that calls macros includes `macros.sql`.
    """
    macros = [macros_sql()] if f"{SCHEMA}." in view.statement else []
    return sql_hash(";".join([view.statement, *view.comments, *macros]))[:HASH_DIGITS]


def broken(lock: Mapping[str, str], views: Sequence[ViewFile]) -> list[str]:
    """Compare released views with the lock. Returns a sentence for each problem."""
    by_name = {view.versioned: view for view in views}
    current = newest(view for view in views if view.versioned in lock)
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
                "means the same, run `python -m tracehouse.definitions.versions`, and leave all golden "
                "answers as they are"
            )
        problems += [
            f"{name} is released, and reads {draft}, a draft: release that too"
            for draft in sorted((view.references & by_name.keys()) - lock.keys())
        ]
        is_superseded = current[view.alias] is not view
        if is_superseded != (view.path.parent.name == OLD):
            place, why = (
                (view.path.parent / OLD, f"superseded by {current[view.alias].versioned}")
                if is_superseded
                else (view.path.parents[1], "the newest released version")
            )
            problems.append(f"{name} is {why}: move {view.path} to {place}/")
    return problems


def release(names: Sequence[str]) -> list[str]:
    """Record views in the lock: the named ones or, without names, those that are released already.

    A view that is released already means the same in other words. Returns the names of new and changed lines.
    Raises SystemExit if a name is unknown, the file of a released view is missing, another released view was
    changed, a released view reads a draft, or the file of a superseded version is not in `old/`.
    """
    views = view_files()
    hashes = {view.versioned: view_hash(view) for view in views}
    before = read_lock(LOCK)
    unknown = [name for name in names if name not in hashes]
    problems = [f"no view is called {name}: name a version, as itp.job_v1" for name in unknown]
    after = before | {name: hashes[name] for name in names or before if name in hashes}
    problems += broken(after, views)
    if problems:
        raise SystemExit("\n".join(problems))
    LOCK.write_text(
        _HEADER + "".join(f"{name} {digits}\n" for name, digits in sorted(after.items())), encoding="utf-8"
    )
    return sorted(name for name, digits in after.items() if before.get(name) != digits)


def lint_drafts(file: ViewFile | QueryFile, views: Sequence[ViewFile]) -> Iterator[Finding]:
    """Yield the draft that a released view or a query reads."""
    drafts = {view.versioned: view for view in views if view.status == DRAFT}
    # The plain name of a view without a released version.
    drafts |= {name: view for name, view in newest(drafts.values()).items() if name not in plain_names(views)}
    if read := min(drafts.keys() & file.references, default=""):
        what = f"reads {read}, a draft: {_advise_release(drafts[read].versioned)}"
        yield Finding(str(file.path), what, "version")


def explain_left_out(draft: str, uniting: str) -> str:
    """Say that a view which unites all traces leaves out one, whose view is a draft."""
    trace = draft.partition(".")[0]
    return f"{uniting} leaves out {trace}, because {draft} is a draft: {_advise_release(draft)}"


def _advise_release(draft: str) -> str:
    return f"release it with `python -m tracehouse.definitions.versions {draft}`"


def _main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tracehouse.definitions.versions", description="Lock released views."
    )
    parser.add_argument(
        "views",
        nargs="*",
        help="versions to release or to record again, such as itp.job_v1; none: all released ones",
    )
    print("\n".join(release(parser.parse_args().views)) or "No released view has changed.")


if __name__ == "__main__":
    _main()
