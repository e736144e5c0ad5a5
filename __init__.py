"""Tracehouse: a columnar warehouse of public GPU-cluster traces.

`tracehouse.open("warehouse")` gives the warehouse in a folder to ask; see `tracehouse.python`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracehouse.python import Warehouse

__all__ = ["open"]


def open(  # noqa: A001
    folder: "str | Path" = "warehouse", timeout_s: float | None = None, memory_limit: str = ""
) -> "Warehouse":
    """Open the warehouse in a folder, to ask it.

    A question may take `timeout_s` seconds, None for as long as it takes, and `memory_limit`, a size as
    `4GB`, by default half of the machine's. Raises UserError where there is no database.
    """
    # Only here: what starts the command line imports this package too.
    from tracehouse.python import Warehouse

    return Warehouse(folder, timeout_s, memory_limit)
