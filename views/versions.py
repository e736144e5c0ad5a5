"""The lock on released views: `versions.lock` records what each means, which must not change afterwards.

A line for each view has three hashes: of its `statement`; of the `comments` on it and its columns, which say
units, definitions and provenance; and of the base `columns` that it reads, whose declarations follow.
`python -m tracehouse.views.versions itp.job_v1 …` releases views; a new meaning is a new version, as
docs/versions.md says.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from tracehouse.ingest.declarations import all_traces
from tracehouse.views import across_traces
from tracehouse.views.base_columns import declared, read_by
from tracehouse.views.sql_text import normal
from tracehouse.views.view_files import VIEWS, DefinitionError, ViewFile, newest, view_files

LOCK = VIEWS / "versions.lock"

_HEADER = """\
# What each released view means, as hashes: of its statement, of the comments on it and its columns, and of
# the base columns that it reads, whose declarations stand below. Lines are only added: docs/versions.md.
"""
_HEADER_OF_COLUMNS = """
# The base columns that these views read: type, unit, and which texts are no value.
"""
_DIGITS = 16
# Instead of the hash of an empty text, so that a lock of parts that were wrongly empty is noticed.
_NOTHING = "none"

_VIEW = re.compile(
    r"(?P<name>\w+\.\w+) statement=(?P<statement>\w+) comments=(?P<comments>\w+) columns=(?P<columns>\w+)"
)
_COLUMN = re.compile(r"(?P<name>\w+\.\w+\.\w+) (?P<words>.+)")


@dataclass(frozen=True)
class Meaning:
    """What a reader of a view relies on, as a hash of each part."""

    statement: str
    comments: str
    columns: str


@dataclass(frozen=True)
class Lock:
    """What is released: what each view means, and what was declared of the base columns that they read."""

    views: dict[str, Meaning]
    columns: dict[str, str]


def locked() -> Lock:
    """What is released now."""
    return read_lock(LOCK.read_text()) if LOCK.exists() else Lock({}, {})


def read_lock(text: str) -> Lock:
    """What a text like that of `versions.lock` says. Raises DefinitionError on a line that it cannot have."""
    views, columns = {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        if view := _VIEW.fullmatch(line):
            views[view["name"]] = Meaning(view["statement"], view["comments"], view["columns"])
        elif column := _COLUMN.fullmatch(line):
            columns[column["name"]] = column["words"]
        elif line and not line.startswith("#"):
            raise DefinitionError(
                f"{LOCK}, line {number}: `{line}` locks neither a view nor a column; restore the file"
            )
    return Lock(views, columns)


def meaning(view: ViewFile, views: Mapping[str, ViewFile], columns: Mapping[str, str]) -> Meaning:
    """What a view means, given all views by their versioned names, and what is declared of base columns."""
    comments = sorted(normal(comment) for comment in view.comments)
    read = read_by(view, views, columns)
    return Meaning(
        view.sha256[:_DIGITS], _hash(comments), _hash(f"{name} {read[name]}" for name in sorted(read))
    )


def broken(lock: Lock, views: Sequence[ViewFile], columns: Mapping[str, str]) -> list[str]:
    """What is wrong with released views: a sentence for each part that was changed, or view that is gone."""
    by_name = {view.versioned: view for view in views}
    problems: list[str] = []
    for name in lock.views:
        if name in by_name:
            problems += _changes(lock, by_name[name], by_name, columns)
            problems += _drafts_read(lock, by_name[name], by_name)
        else:
            problems.append(f"{name} is released, and it is gone: restore its file")
    return problems


def release(names: Sequence[str]) -> None:
    """Add views to the lock. Raises SystemExit where that would break it, or a name is unknown."""
    views = {view.versioned: view for view in view_files()}
    columns = declared(all_traces().values())
    before = locked()
    unknown = [name for name in names if name not in views]
    problems = [f"no view is called {name}: name a version, as itp.job_v1" for name in unknown]
    problems += broken(before, list(views.values()), columns)
    if not problems:
        after = _with(before, [views[name] for name in names], views, columns)
        problems = broken(after, list(views.values()), columns)
    if problems:
        raise SystemExit("\n".join(problems))
    LOCK.write_text(_as_text(after))


def _with(
    lock: Lock, more: Iterable[ViewFile], views: Mapping[str, ViewFile], columns: Mapping[str, str]
) -> Lock:
    """A lock with more views, and the base columns that they read."""
    new_views, new_columns = dict(lock.views), dict(lock.columns)
    for view in more:
        new_views[view.versioned] = meaning(view, views, columns)
        new_columns |= read_by(view, views, columns)
    return Lock(new_views, new_columns)


def _changes(
    lock: Lock, view: ViewFile, views: Mapping[str, ViewFile], columns: Mapping[str, str]
) -> Iterator[str]:
    """A sentence for each part of a released view that is not what it was."""
    name = view.versioned
    was, now = asdict(lock.views[name]), asdict(meaning(view, views, columns))
    following = newest(views.values())[view.alias].version + 1
    for part, verb in (("statement", "was"), ("comments", "were")):
        if was[part] != now[part]:
            yield (
                f"{name} is released, and its {part} {verb} changed: restore {view.path}, and write what you "
                f"mean as its next version, {view.name}.v{following}.sql"
            )
    if was["statement"] != now["statement"]:
        # A changed statement may read other columns, whose declarations are as they were.
        return
    changed = list(_changed_columns(read_by(view, views, lock.columns), read_by(view, views, columns)))
    if changed or was["columns"] != now["columns"]:
        what = ", ".join(changed) or "the base columns that it reads were changed"
        yield (
            f"{name} is released, and {what}: restore the declaration in ingest/traces; a column that means "
            "something else needs another name, and the view that reads it a next version"
        )


def _changed_columns(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for column in sorted(was.keys() | now.keys()):
        if column not in now:
            yield f"the base column {column} that it reads is gone"
        elif column not in was:
            yield f"the base column {column} is new, with a name that its SQL uses"
        elif was[column] != now[column]:
            yield f"the base column {column} that it reads was changed from {was[column]} to {now[column]}"


def _drafts_read(lock: Lock, view: ViewFile, views: Mapping[str, ViewFile]) -> Iterator[str]:
    """A sentence for each draft that a released view reads: its meaning could change with it."""
    for name in sorted(_views_read(view, views)):
        if name not in lock.views:
            yield f"{view.versioned} is released, and reads {name}, a draft: release that too"


def _views_read(view: ViewFile, views: Mapping[str, ViewFile]) -> set[str]:
    found = set()
    for reference in view.references:
        schema, _, name = reference.partition(".")
        if schema == across_traces.SCHEMA:
            found |= {member.versioned for member in across_traces.members(name, list(views.values()))}
        elif reference in views:
            found.add(reference)
    return found


def _hash(lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS] if text else _NOTHING


def _as_text(lock: Lock) -> str:
    views = [
        f"{name} " + " ".join(f"{part}={hashed}" for part, hashed in asdict(meant).items()) + "\n"
        for name, meant in sorted(lock.views.items())
    ]
    columns = [f"{name} {words}\n" for name, words in sorted(lock.columns.items())]
    return "".join([_HEADER, *views, _HEADER_OF_COLUMNS, *columns])


if __name__ == "__main__":
    release(sys.argv[1:])
