"""Reference implementations in pandas of views and queries, one module per schema in `twins`.

A twin has VIEWS (by name: what computes it, and the columns by which rows meet, None for their order) and
QUERIES (by call: the same, with the arguments between). ON_REAL_FILES names those that the available real
files suffice for, where not all.
"""

import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from tracehouse.ingest.declarations import all_traces
from tracehouse.views.view_files import view_files

_TWINS = [
    importlib.import_module(f"twins.{found.name}")
    for found in pkgutil.iter_modules([str(Path(__file__).with_name("twins"))])
]


def with_later_versions(twins: dict, names: Iterable[str]) -> dict:
    """The twin of each view; a version without one has the twin of the previous version.

    Such a version differs in the last digits only, within what a comparison allows.
    """
    found = dict(twins)
    for name in names:
        alias, _, version = name.rpartition("_v")
        before = f"{alias}_v{int(version) - 1}"
        if name not in found and before in found:
            found[name] = found[before]
    return found


VIEWS = with_later_versions(
    {name: twin for module in _TWINS for name, twin in getattr(module, "VIEWS", {}).items()},
    [view.versioned for view in view_files()],
)
OTHER_VALUES = {
    module.__name__.removeprefix("twins."): getattr(module, "OTHER_VALUES", {}) for module in _TWINS
}
TOGETHER = {key: values for module in _TWINS for key, values in getattr(module, "TOGETHER", {}).items()}
QUERIES = {call: twin for module in _TWINS for call, twin in getattr(module, "QUERIES", {}).items()}


def _on_real_files() -> set[str]:
    found: set[str] = set()
    for module in _TWINS:
        named = {*getattr(module, "VIEWS", {}), *getattr(module, "QUERIES", {})}
        found |= set(getattr(module, "ON_REAL_FILES", named))
    return found


ON_REAL_FILES = _on_real_files()


def skip_without_files_of(name: str, raw: Path) -> None:
    """Skip what asks a trace of which no raw files are there; for what asks all traces, any will do."""
    trace = name.split(".")[0]
    if trace in all_traces() and not (raw / trace).is_dir():
        pytest.skip(f"there are no real files of {trace}")
