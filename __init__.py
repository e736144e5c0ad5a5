"""Tracehouse: a columnar warehouse of public GPU-cluster traces.

`tracehouse.open("warehouse")` opens a warehouse; see `tracehouse.python`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.core.errors import UsageError, UserError

if TYPE_CHECKING:
    from tracehouse.python import Warehouse

__all__ = ["UsageError", "UserError", "open"]


def open(  # noqa: A001
    folder: "str | Path" = "warehouse", timeout_s: float | None = None, memory_limit: str = ""
) -> "Warehouse":
    """Open the warehouse in a folder.

    `timeout_s` limits the seconds of a query, and `memory_limit` its memory, a size such as `4GB`; the
    default is half of the machine's. Raises UserError where there is no database.
    """
    # The command line imports this package too, and must start fast.
    from tracehouse.python import Warehouse

    return Warehouse(folder, timeout_s, memory_limit)
