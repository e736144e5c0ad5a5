"""Reference implementations in pandas of views and queries, one module per schema in `twins`.

VIEWS of a twin maps each view to its pandas function and its key columns; without a key, rows are compared by
position. QUERIES maps each call of a query to its pandas function, the arguments and the key. ON_REAL_FILES
lists the views and calls that the available real files can be compared with; without it, all are.
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
    """Return the twin of each view. A version without its own twin uses that of the previous version.

    The two versions differ in the last digits only, and the comparison tolerates this.
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
    """Skip the test of a view or query whose trace has no raw files; `unified` works with any trace."""
    trace = name.split(".")[0]
    if trace in all_traces() and not (raw / trace).is_dir():
        pytest.skip(f"there are no real files of {trace}")
