"""Where a warehouse may lie: in a folder whose path means the same to the system and to DuckDB."""

import re
from pathlib import Path

from tracehouse.core.errors import UserError
from tracehouse.core.names import shown_name

# DuckDB takes the first three for glob patterns, and then misplaces its log, and the fourth for a slash.
_OTHER_TO_DUCKDB = re.compile(r"[*?\[\\]")


def checked(warehouse: Path) -> Path:
    """The warehouse's absolute path, links followed. Raises UserError where there can be none."""
    try:
        absolute = warehouse.resolve()
    except (OSError, RuntimeError) as error:
        raise UserError(f"{warehouse}: there can be no warehouse ({error})") from None
    shown = shown_name(str(absolute))
    if shown != str(absolute):
        raise UserError(
            f"{shown}: a warehouse cannot lie in a folder whose path is not printable UTF-8 text. "
            "Choose another with --warehouse"
        )
    found = _OTHER_TO_DUCKDB.search(str(absolute))
    if found:
        raise UserError(
            f"{shown}: a warehouse cannot lie in a folder with {found[0]} in its path, which DuckDB reads as "
            "a pattern. Choose another with --warehouse"
        )
    if absolute.exists() and not absolute.is_dir():
        raise UserError(f"{shown}: this is a file. Name the warehouse's folder with --warehouse")
    return absolute
