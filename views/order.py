"""Orders views so that each comes after what it reads."""

from collections.abc import Collection, Sequence
from graphlib import CycleError, TopologicalSorter

from tracehouse.views.view_files import DefinitionError, ViewFile


def in_order(views: Sequence[ViewFile], tables: Collection[str]) -> list[ViewFile]:
    """Sort views by their references. `tables` are the names that exist before any view.

    Raises DefinitionError on a reference to nothing, to a view without its version, or in a circle.
    """
    by_name = {view.versioned: view for view in views}
    aliases = {view.alias for view in views}
    graph: dict[str, set[str]] = {}
    for view in views:
        graph[view.versioned] = set()
        for name in view.references:
            if name in by_name:
                graph[view.versioned].add(name)
            elif name in aliases:
                raise DefinitionError(
                    f"{view.path}: reads {name}; name its version, or a new one would change this view"
                )
            elif name not in tables:
                raise DefinitionError(f"{view.path}: reads {name}, which does not exist")
    try:
        return [by_name[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        raise DefinitionError(f"views read each other in a circle: {' → '.join(error.args[1])}") from error
