"""Write synthetic samples of traces, each in a folder that is marked as synthetic.

If `tracehouse.samples.traces` has a module with the name of the trace, its `write` writes the sample.
Otherwise the sample is drawn from the declaration of the trace.
"""

import fcntl
import importlib.util
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import ModuleType

import numpy as np

from tracehouse.core.errors import Option, UsageError, UserError, check_traces
from tracehouse.ingest.declare.sample_files import missing_samples
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.dump.raw_files import MARKER_NAME
from tracehouse.samples import from_declaration
from tracehouse.samples import traces as modules
from tracehouse.samples.output import Output

GENERATOR_VERSION = 5
BYTES_PER_FIELD = 10
# Any disk is too small for a sample beyond these limits.
MOST_SCALE = 1_000_000
MOST_DAYS = 1_000_000

_MARKER_TEXT = """\
This folder is SYNTHETIC. No publisher's data is in it.

`tracehouse` generated every file in it, in the format of the publisher of the trace `{trace}`, to try out
and test the software. The data says nothing about any real cluster.

generator version: {version}
seed: {seed}
scale: {scale!r} (1.0 is the number of rows in the publisher's files)
"""


def available() -> list[str]:
    """Return the names of the traces that have a sample, sorted."""
    return [name for name, trace in all_traces().items() if not missing_samples(trace)]


def has_days(trace: str) -> bool:
    """Return whether the sample of a trace has a number of days."""
    return hasattr(_module(trace), "DEFAULT_DAYS")


def expected_bytes(traces: Sequence[str], scale: float, days: int | None = None) -> int:
    """Estimate the bytes of raw text in a sample of `traces`."""
    return sum(_expected_bytes(trace, scale, days) for trace in traces)


@cache
def _module(trace: str) -> ModuleType | None:
    """Return the module that writes the sample of a trace, or None if its declaration suffices."""
    name = f"{modules.__name__}.{trace}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def _expected_bytes(trace: str, scale: float, days: int | None) -> int:
    module = _module(trace)
    if module and has_days(trace):
        return module.expected_bytes(scale, days or module.DEFAULT_DAYS)
    if module and hasattr(module, "expected_bytes"):
        return module.expected_bytes(scale)
    tables = all_traces()[trace].tables
    return sum(
        from_declaration.row_count(table, scale) * len(table.columns) * BYTES_PER_FIELD for table in tables
    )


def write_sample(
    out: Path,
    scale: float,
    seed: int,
    traces: Sequence[str],
    on_bytes: Callable[[str, int], None],
    days: int | None = None,
) -> list[Path]:
    """Write samples of `traces` below `out`, each in its own folder, and return the paths of the raw files.

    `scale` is the number of rows relative to the publisher's. In Acme's telemetry it applies to the lines and
    to the devices. `days` is the number of days of traces with files per day. `on_bytes` is called with a
    trace and the bytes of raw text after each write. Equal seeds, scales, days and traces give equal bytes.

    Raises UsageError if a trace, the scale, the seed or the number of days is invalid. Raises UserError,
    before it writes anything, if the disk is too small or a folder contains other files.
    """
    if not 0 < scale <= MOST_SCALE:
        raise UsageError(f"the scale of a sample must be above 0, at most {MOST_SCALE:,}, not {scale:g}")
    if seed < 0:
        raise UsageError(f"the seed of a sample must be 0 or more, not {seed}")
    check_traces(traces, all_traces())
    if without := [reason for trace in traces for _, reason in missing_samples(all_traces()[trace])]:
        raise UsageError("; ".join(without))
    if days is not None:
        with_days = [trace for trace in available() if has_days(trace)]
        if not 1 <= days <= MOST_DAYS or not set(traces) & set(with_days):
            raise UsageError(Option("days"), f" must be 1 to {MOST_DAYS:,}, for {', '.join(with_days)}")
    for trace in traces:
        _check_folder(out / trace)
    _check_free_space(out, expected_bytes(traces, scale, days))
    written: list[Path] = []
    for trace in dict.fromkeys(traces):
        with _mark(out / trace, trace, scale, seed):
            written += _write_trace(trace, out / trace, scale, seed, on_bytes, days)
    return written


def _write_trace(
    trace: str,
    folder: Path,
    scale: float,
    seed: int,
    on_bytes: Callable[[str, int], None],
    days: int | None,
) -> list[Path]:
    rng = np.random.default_rng([seed, *trace.encode()])
    output = Output(folder, int(rng.integers(2**31)), partial(on_bytes, trace))
    module = _module(trace)
    if module is None:
        from_declaration.write(all_traces()[trace], output, scale, rng)
    elif has_days(trace):
        module.write(output, scale, rng, days or module.DEFAULT_DAYS)
    else:
        module.write(output, scale, rng)
    return output.close(getattr(module, "IN_PARTS", {}))


def _check_folder(folder: Path) -> None:
    if not folder.exists() or (folder / MARKER_NAME).is_file():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise UserError(
            f"{folder} is not empty and is not a sample (it has no {MARKER_NAME}), so nothing was written. "
            "Choose another folder for the sample, or move these files."
        )


def _check_free_space(out: Path, expected: int) -> None:
    existing = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if expected > free:
        raise UserError(
            f"The sample needs about {_size(expected)}, but only {_size(free)} are free in {existing}, so "
            "nothing was written. Choose a smaller scale, fewer traces or another disk."
        )


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


@contextmanager
def _mark(folder: Path, trace: str, scale: float, seed: int) -> Iterator[None]:
    """Mark a folder as synthetic before its data is written, and lock the marker during the block.

    Raises UserError if another process has locked it: both would write the same temporary files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / MARKER_NAME).open("a", encoding="utf-8", newline="\n") as marker:
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{folder}: another `traces sample` is writing here. Wait until it has finished"
            ) from None
        marker.truncate(0)
        marker.write(
            _MARKER_TEXT.format(trace=trace, version=GENERATOR_VERSION, seed=seed, scale=float(scale))
        )
        marker.flush()
        yield
