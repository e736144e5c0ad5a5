"""What pandas computes from raw files beside views and queries: the twins, one module a schema in `twins`.

A twin has VIEWS (by name: what computes it, and the columns by which rows meet, None for their order) and
QUERIES (by call: the same, with the arguments between). ON_REAL_FILES names those of them that the real files
at hand suffice for, where it is not all. A second version of a view differs in its last digits only, so that
its twin is that of the version before, unless it has one of its own.
"""

import importlib
import pkgutil
from pathlib import Path

from tracehouse.views.view_files import view_files

_TWINS = [
    importlib.import_module(f"twins.{found.name}")
    for found in pkgutil.iter_modules([str(Path(__file__).with_name("twins"))])
]

VIEWS = {name: twin for module in _TWINS for name, twin in getattr(module, "VIEWS", {}).items()}
QUERIES = {call: twin for module in _TWINS for call, twin in getattr(module, "QUERIES", {}).items()}

for view in view_files():
    before = f"{view.alias}_v{view.version - 1}"
    if view.versioned not in VIEWS and before in VIEWS:
        VIEWS[view.versioned] = VIEWS[before]


def _on_real_files() -> set[str]:
    found: set[str] = set()
    for module in _TWINS:
        named = {*getattr(module, "VIEWS", {}), *getattr(module, "QUERIES", {})}
        found |= set(getattr(module, "ON_REAL_FILES", named))
    return found


ON_REAL_FILES = _on_real_files()
