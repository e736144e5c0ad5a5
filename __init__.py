"""Tracehouse: a columnar warehouse of public GPU-cluster traces.

`tracehouse.open("warehouse")` opens a warehouse; see `tracehouse.python`. `tracehouse.fetch`,
`tracehouse.sample` and `tracehouse.ingest` correspond to `traces fetch`, `traces sample` and `traces ingest`.
"""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import tracehouse.ingest as _package
from tracehouse.core.errors import UsageError, UserError

if TYPE_CHECKING:
    from tracehouse.python import Warehouse, fetch, sample
    from tracehouse.python import Warehouse as open  # noqa: A004, N813

__all__ = ["UsageError", "UserError", "fetch", "ingest", "open", "sample"]


def __getattr__(name: str) -> object:
    """Import the Python interface when it is used: the command line imports this package and starts fast."""
    if name not in ("fetch", "open", "sample"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracehouse import python

    return python.Warehouse if name == "open" else getattr(python, name)


class _Ingest(ModuleType):
    """The package `tracehouse.ingest`, which is also a function."""

    def __call__(
        self,
        raw: "str | Path | Sequence[str | Path]" = "raw",
        warehouse: "str | Path" = "warehouse",
        traces: Sequence[str] = (),
        replace: bool = False,
        only: Sequence[str] = (),
    ) -> "Warehouse":
        """Convert the raw files of one or several folders into a warehouse, and open it.

        The arguments are those of `traces ingest`. Raises UserError if a file cannot be read; the
        warehouse then has the rows of all other files.
        """
        from tracehouse.python import ingest

        return ingest(raw, warehouse, traces, replace, only)


_package.__class__ = _Ingest
ingest = _package
