"""Find out which permission a user lacks to read a file."""

import os
import re
from pathlib import Path

from tracehouse.core.text import escape_name

# A file's absolute path as DuckDB and Python quote it in a message.
_QUOTED_PATH = re.compile(r"""(?P<quote>["'])(?P<path>/.+?)(?P=quote)""")


def explain_denied(path: Path) -> str:
    """Name the file, or the folder above it, that the user may not read. Empty if nothing forbids reading."""
    path = path.absolute()
    for folder in reversed(path.parents):
        if folder.is_dir() and not os.access(folder, os.X_OK):
            return _explain(folder, "open the files in this folder", "read and execute")
    if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
        return _explain(path, "list this folder", "read and execute")
    if path.exists() and not os.access(path, os.R_OK):
        return _explain(path, "read this file", "read")
    return ""


def explain_denied_in(message: str) -> str:
    """Do the same for the files that a message quotes."""
    paths = (Path(found["path"]) for found in _QUOTED_PATH.finditer(message))
    return next(filter(None, map(explain_denied, paths)), "")


def _explain(path: Path, action: str, permission: str) -> str:
    return f"{escape_name(path)}: you may not {action}. Grant yourself {permission} permission"
