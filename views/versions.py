"""Lock released views: `versions.lock` records hashes of the meaning of each view.

    python -m tracehouse.views.versions itp.job_v1              # release a view
    python -m tracehouse.views.versions --editorial             # record reworded comments of released views

`docs/versions.md` says what is locked, and what an editorial change is.
"""

import argparse
import hashlib
import json
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tracehouse.core.text import quoted
from tracehouse.ingest.declarations import Column, Trace, all_traces
from tracehouse.views import across_traces
from tracehouse.views.graph import sort, view_dependencies
from tracehouse.views.meanings import Relations, of_tables, of_views
from tracehouse.views.sql_text import names_in, normal
from tracehouse.views.view_files import VIEWS, DefinitionError, ViewFile, newest, view_files

LOCK = VIEWS / "versions.lock"

_HEADER = """\
# What each released view means, as hashes (docs/versions.md): the statement; the comments, the newest wording
# last; the labels of its columns, which are unit and provenance; and the base columns that it reads, which
# follow. Lines are only added. An editorial change adds a hash of comments to a line.
"""
_HEADER_OF_COLUMNS = """
# The base columns that these views read: type, unit, and the texts that stand for a missing value.
"""
_DIGITS = 16
# This word replaces the hash of an empty text, so that a reader of the lock sees an empty part.
_NOTHING = "none"

_VIEW = re.compile(
    r"(?P<name>\w+\.\w+) statement=(?P<statement>\w+) comments=(?P<comments>\w+(?:,\w+)*)"
    # Locks of earlier commits have no labels.
    r"(?: labels=(?P<labels>\w+))? columns=(?P<columns>\w+)"
)
_COLUMN = re.compile(r"(?P<name>\w+\.\w+\.\w+) (?P<words>.+)")
_ON_COLUMN = re.compile("comment on column ")


@dataclass(frozen=True)
class Meaning:
    """Hashes of the parts of a view that its readers rely on, with one for each wording of the comments."""

    statement: str
    comments: tuple[str, ...]
    labels: str
    columns: str

    def continues(self, before: "Meaning") -> bool:
        """Whether this equals the meaning in an earlier lock, except for more wordings of the comments."""
        return (
            (self.statement, self.columns) == (before.statement, before.columns)
            and self.comments[: len(before.comments)] == before.comments
            and before.labels in ("", self.labels)
        )


@dataclass(frozen=True)
class Lock:
    """The released views with their meanings, and the declarations of the base columns that they read."""

    views: dict[str, Meaning]
    columns: dict[str, str]


def locked() -> Lock:
    """Read the lock."""
    return read_lock(LOCK.read_text()) if LOCK.exists() else Lock({}, {})


def read_lock(text: str) -> Lock:
    """Parse the text of a lock. Raises DefinitionError on a line that is neither a view nor a column."""
    views, columns = {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        if view := _VIEW.fullmatch(line):
            comments = tuple(view["comments"].split(","))
            views[view["name"]] = Meaning(view["statement"], comments, view["labels"] or "", view["columns"])
        elif column := _COLUMN.fullmatch(line):
            columns[column["name"]] = column["words"]
        elif line and not line.startswith("#"):
            raise DefinitionError(
                f"{LOCK}, line {number}: `{line}` locks neither a view nor a column; restore the file"
            )
    return Lock(views, columns)


def declared(traces: Iterable[Trace]) -> dict[str, str]:
    """Return the declaration of every base column as text, by its full name, such as `pai.task.plan_gpu`."""
    return {
        f"{trace.name}.{table.name}.{column.name}": _declaration(column)
        for trace in traces
        for table in trace.tables
        for column in table.stored_columns
    }


def read_by(view: ViewFile, views: Mapping[str, ViewFile], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the subset of `columns` that a view reads, directly or through other views.

    A column counts as read if the SQL references its table and contains its name. This needs no parser, so
    the result is the same with every version of sqlglot, and may include too many columns. A new column
    counts only if the SQL already used its name, which may then mean something else. Columns behind
    `each_trace` do not count: each of the united views has a line of its own, and a new trace must not change
    a version.
    """
    tables: dict[str, set[str]] = {}
    for lower in view_dependencies(view, views):
        for reference in lower.references:
            tables.setdefault(reference, set()).update(names_in(lower.statement))
    read = {}
    for name, words in columns.items():
        table, _, column = name.rpartition(".")
        if column.lower() in tables.get(table, ()):
            read[name] = words
    return read


def meaning(
    view: ViewFile, views: Mapping[str, ViewFile], columns: Mapping[str, str], relations: Relations
) -> Meaning:
    """Hash each part of a view.

    `views` has all views by versioned name, `columns` the declarations of all base columns, and `relations`
    the meanings of the columns of tables and views.
    """
    of_columns = relations[view.versioned]
    comments = [comment for comment in map(normal, view.comments) if not _ON_COLUMN.match(comment)]
    for name, column in of_columns.items():
        comments.append(f"comment on column {view.versioned}.{name} is {quoted(column.comment)}")
    labels = (f"{name} {column.provenance} {column.unit or ''}" for name, column in of_columns.items())
    read = read_by(view, views, columns)
    return Meaning(
        view.sha256[:_DIGITS],
        (_hash(sorted(comments)),),
        _hash(labels),
        _hash(f"{name} {read[name]}" for name in sorted(read)),
    )


def relations_of(files: Sequence[ViewFile]) -> Relations:
    """Return the meanings of the columns of all tables and of some views. These may read missing views."""
    views = {view.versioned: view for view in across_traces.expanded(files)}
    in_order, _ = sort({name: view.references for name, view in views.items()})
    return of_views([views[name] for name in in_order], files, of_tables(all_traces().values()))


def broken(lock: Lock, views: Sequence[ViewFile], columns: Mapping[str, str]) -> list[str]:
    """Compare released views with the lock. Returns a sentence for each part that differs."""
    by_name = {view.versioned: view for view in views}
    relations = relations_of(views)
    problems: list[str] = []
    for name in lock.views:
        if name in by_name:
            problems += _changes(lock, by_name[name], by_name, columns, relations)
            problems += _drafts_read(lock, by_name[name], by_name)
        else:
            problems.append(f"{name} is released, and its file is missing: restore it")
    return problems


def release(names: Sequence[str]) -> None:
    """Add views to the lock. Raises SystemExit if a name is unknown or a released view was changed."""
    files = view_files()
    views = {view.versioned: view for view in files}
    columns = declared(all_traces().values())
    before = locked()
    unknown = [name for name in names if name not in views]
    problems = [f"no view is called {name}: name a version, as itp.job_v1" for name in unknown]
    problems += broken(before, files, columns)
    if not problems:
        relations = relations_of(files)
        new = [views[name] for name in names if name not in before.views]
        read = [read_by(view, views, columns) for view in new]
        after = Lock(
            before.views | {view.versioned: meaning(view, views, columns, relations) for view in new},
            dict(ChainMap(before.columns, *read)),
        )
        problems = broken(after, files, columns)
    if problems:
        raise SystemExit("\n".join(problems))
    LOCK.write_text(_as_text(after))


def record_editorial(names: Sequence[str]) -> list[str]:
    """Record editorial changes of comments, of the named views or of all.

    Returns the views whose comments changed. Raises SystemExit if a view is not released, or if anything else
    of a released view was changed.
    """
    files = view_files()
    views = {view.versioned: view for view in files}
    columns = declared(all_traces().values())
    relations = relations_of(files)
    before = locked()
    problems = [f"{name} is not released" for name in names if name not in before.views]
    reworded = {}
    for name in names or before.views:
        was = before.views.get(name)
        if was and name in views:
            now = meaning(views[name], views, columns, relations).comments
            if now[-1] != was.comments[-1]:
                reworded[name] = replace(was, comments=was.comments + now)
    after = replace(before, views=before.views | reworded)
    problems += broken(after, files, columns)
    if problems:
        raise SystemExit("\n".join(problems))
    LOCK.write_text(_as_text(after))
    return list(reworded)


def lost(earlier: Lock, now: Lock) -> list[str]:
    """Compare a lock with an earlier one. Returns the views and base columns that are gone or changed."""
    views = [
        name
        for name, before in earlier.views.items()
        if name not in now.views or not now.views[name].continues(before)
    ]
    return views + [name for name, words in earlier.columns.items() if now.columns.get(name) != words]


def _changes(
    lock: Lock,
    view: ViewFile,
    views: Mapping[str, ViewFile],
    columns: Mapping[str, str],
    relations: Relations,
) -> Iterator[str]:
    """Yield a sentence for each part of a released view that differs from the lock."""
    name = view.versioned
    was, now = lock.views[name], meaning(view, views, columns, relations)
    following = newest(views.values())[view.alias].version + 1
    next_version = (
        f"restore {view.path}, and write what you mean as its next version, {view.name}.v{following}.sql"
    )
    if was.statement != now.statement:
        # A changed statement may have and read other columns, which are not changed themselves.
        yield f"{name} is released, and its statement was changed: {next_version}"
        return
    if was.comments[-1] != now.comments[-1]:
        yield (
            f"{name} is released, and its comments were changed: {next_version}; if they mean the same as "
            f"before, run `python -m tracehouse.views.versions --editorial {name}`"
        )
    if was.labels != now.labels:
        yield f"{name} is released, and the unit or provenance of a column was changed: {next_version}"
    changed = list(_changed_columns(read_by(view, views, lock.columns), read_by(view, views, columns)))
    if changed or was.columns != now.columns:
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
    """Yield a sentence for each draft that a released view reads: a changed draft could change the view."""
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


def _declaration(column: Column) -> str:
    words = [column.stored_type]
    if column.unit:
        words.append(f"unit={json.dumps(column.unit, ensure_ascii=False)}")
    if column.null_texts:
        words.append(f"null_texts={json.dumps(column.null_texts, ensure_ascii=False)}")
    if column.required:
        words.append("required")
    return " ".join(words)


def _hash(lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS] if text else _NOTHING


def _as_text(lock: Lock) -> str:
    views = [
        f"{name} statement={meant.statement} comments={','.join(meant.comments)} labels={meant.labels} "
        f"columns={meant.columns}\n"
        for name, meant in sorted(lock.views.items())
    ]
    columns = [f"{name} {words}\n" for name, words in sorted(lock.columns.items())]
    return "".join([_HEADER, *views, _HEADER_OF_COLUMNS, *columns])


def _main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tracehouse.views.versions", description="Lock released views."
    )
    parser.add_argument("views", nargs="*", help="versions to release, such as itp.job_v1")
    parser.add_argument(
        "--editorial",
        action="store_true",
        help="record reworded comments of these released views, or of all; nothing else may have changed",
    )
    options = parser.parse_args()
    if options.editorial:
        print("\n".join(record_editorial(options.views)) or "No comment of a released view was changed.")
    else:
        release(options.views)


if __name__ == "__main__":
    _main()
