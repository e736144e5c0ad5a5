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
    from tracehouse.python import Warehouse

__all__ = ["UsageError", "UserError", "fetch", "ingest", "open", "sample"]

# The command line imports this package and must start fast, so each function imports its own modules.


def open(  # noqa: A001
    folder: "str | Path" = "warehouse", timeout_s: float | None = None, memory_limit: str = ""
) -> "Warehouse":
    """Open the warehouse in a folder.

    `timeout_s` is the longest run time of a query in seconds, None for no limit. `memory_limit` is the most
    memory of a query, such as `4GB`; the default is half of the machine's memory. Raises UserError if the
    folder has no database.
    """
    from tracehouse.python import Warehouse

    return Warehouse(folder, timeout_s, memory_limit)


def fetch(
    *traces: str,
    out: "str | Path" = "raw",
    metrics: Sequence[str] = (),
    clusters: Sequence[str] = (),
    only: Sequence[str] = (),
    yes: bool = False,
) -> Path:
    """Download the raw files of traces to a folder, and return the folder.

    The arguments are the options of `traces fetch`. Raises UserError if a file cannot be downloaded.
    """
    from tracehouse.python import run_command

    selected = {"traces": traces, "metrics": metrics, "clusters": clusters, "only": only, "yes": yes}
    return run_command("fetch", out, **selected, mirrors=(), dry_run=False)


def sample(
    *traces: str, out: "str | Path" = "raw", scale: float = 0.01, seed: int = 0, days: int | None = None
) -> Path:
    """Generate synthetic raw files of traces in a folder, and return the folder.

    The arguments are the options of `traces sample`. Raises UsageError for an unknown trace.
    """
    from tracehouse.python import run_command

    return run_command("sample", out, traces=traces, scale=scale, seed=seed, days=days)


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
