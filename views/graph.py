"""The dependency graph of tables, views, queries and columns, each by its full name."""

from collections.abc import Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from tracehouse.core.errors import DefinitionError

if TYPE_CHECKING:
    from tracehouse.views.view_files import ViewFile

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


def sort(reads: Reads) -> tuple[list[str], list[str]]:
    """Sort objects so that each comes after its dependencies.

    Returns the sorted objects and a cycle, which is empty if there is none. Objects in a cycle, and objects
    that depend on one, are not in the result.
    """
    # The names are sorted, because sets have a different order in every process.
    sorter = TopologicalSorter({name: sorted(lower) for name, lower in reads.items()})
    circle: list[str] = []
    try:
        sorter.prepare()
    except CycleError as error:
        circle = error.args[1]
    found: list[str] = []
    while ready := sorter.get_ready():
        found += [name for name in ready if name in reads]
        sorter.done(*ready)
    return found, circle


def sort_views(views: "Collection[ViewFile]", tables: Collection[str]) -> "list[ViewFile]":
    """Sort views so that each comes after its dependencies. `tables` names the existing tables.

    Raises DefinitionError if a view reads something that does not exist, reads a view by a name without a
    version, or reads itself through other views.
    """
    by_name = {view.versioned: view for view in views}
    aliases = {view.alias for view in views}
    for view in views:
        for name in sorted(view.references - by_name.keys()):
            if name in aliases:
                raise DefinitionError(
                    f"{view.path}: reads {name}; name its version, or a new one would change this view"
                )
            if name not in tables:
                raise DefinitionError(f"{view.path}: reads {name}, which does not exist")
    found, circle = sort({view.versioned: view.references for view in views})
    if circle:
        raise DefinitionError(f"views read each other in a circle: {' → '.join(circle)}")
    return [by_name[name] for name in found]
