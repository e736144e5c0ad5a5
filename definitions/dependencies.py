"""The dependencies of tables, views, queries and columns on each other, each by its full name."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracehouse.definitions.view_files import ViewFile

Reads = Mapping[str, Collection[str]]
"""The objects that each object reads directly. An object without a key, such as a base table, reads none."""


def with_dependencies(names: Iterable[str], reads: Reads) -> list[str]:
    """List objects and their dependencies, direct and indirect, each after its own dependencies."""
    # A dictionary as an ordered set. An object is added after its dependencies.
    found: dict[str, None] = {}
    visited: set[str] = set()

    def visit(name: str) -> None:
        if name not in visited:
            visited.add(name)
            for lower in sorted(reads.get(name, ())):
                visit(lower)
            found[name] = None

    for name in names:
        visit(name)
    return list(found)


def sources(names: Iterable[str], reads: Reads) -> set[str]:
    """Return the direct and indirect inputs that read nothing. A name that reads nothing is included."""
    return {name for name in with_dependencies(names, reads) if name not in reads}


def find_circle(name: str, reads: Reads) -> list[str]:
    """Return the shortest chain of objects, each of which reads the next, from an object to itself.

    Empty if the object does not depend on itself.
    """
    chains = deque([[name]])
    visited: set[str] = set()
    while chains:
        chain = chains.popleft()
        for lower in sorted({*reads.get(chain[-1], ())} - visited):
            if lower == name:
                return [*chain, name]
            visited.add(lower)
            chains.append([*chain, lower])
    return []


def sort_views(views: "Collection[ViewFile]") -> "list[ViewFile]":
    """Sort views so that each comes after its dependencies."""
    by_name = {view.versioned: view for view in views}
    reads: dict[str, Collection[str]] = {name: view.references for name, view in by_name.items()}
    # Views of the user may read others by their plain names.
    for view in views:
        reads[view.alias] = {*reads.get(view.alias, ()), view.versioned}
    in_order = with_dependencies(by_name, reads)
    return [by_name[name] for name in in_order if name in by_name]
