"""Writes synthetic raw dumps of traces, each in a folder that is marked as synthetic.

A trace whose sample needs more than its declaration has a module of `tracehouse.samples.traces`, called like
it, that binds ``SAMPLER`` to a `Sampler`; so a new one changes no other module.
"""

import importlib
import math
import pkgutil
import shutil
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from tracehouse.core.errors import UsageError, UserError, check_traces
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.discovery.synthetic import MARKER_NAME
from tracehouse.samples import traces as modules
from tracehouse.samples.declare import Sampler
from tracehouse.samples.from_declaration import sampler_of

GENERATOR_VERSION = 1

_MARKER_TEXT = """\
This folder is SYNTHETIC. No publisher's data is in it.

Every file below it was made up by `tracehouse` in the format of the publisher of the trace `{trace}`,
to try out and test the software. Conclude nothing from it about any real cluster.

generator version: {version}
seed: {seed}
scale: {scale!r} (1.0 is as many rows as the publisher's files have)
"""


def available() -> list[str]:
    """The traces that can be generated, in alphabetical order."""
    return list(_samplers())


@cache
def _samplers() -> dict[str, Sampler]:
    """The sampler of each trace that can have one, by the trace's name, in alphabetical order."""
    own = {found.name for found in pkgutil.iter_modules(modules.__path__)}
    found = {
        name: importlib.import_module(f"{modules.__name__}.{name}").SAMPLER
        if name in own
        else sampler_of(trace)
        for name, trace in all_traces().items()
    }
    return {name: sampler for name, sampler in found.items() if sampler is not None}


def expected_bytes(traces: Sequence[str], scale: float) -> int:
    """About how many bytes of raw text a sample of `traces` will have."""
    known = _samplers()
    return sum(known[trace].expected_bytes(scale) for trace in traces)


def write_sample(
    out: Path,
    scale: float,
    seed: int,
    traces: Sequence[str],
    on_bytes: Callable[[str, int], None],
) -> list[Path]:
    """Write raw dumps of `traces` under `out`, a folder each, and say which raw files they consist of.

    `scale` is the share of the publisher's row counts; in Acme's telemetry, of the lines and of the devices.
    `on_bytes` is told, with the trace's name, how many bytes of raw text were added. The same seed, scale and
    trace give the same bytes.

    Raises UsageError where a trace, the scale or the seed is invalid, and UserError, with nothing written,
    where the disk has no room for all of it or a folder holds something else.
    """
    if not (math.isfinite(scale) and scale > 0):
        raise UsageError(f"the scale of a sample is a number above 0, not {scale:g}")
    if seed < 0:
        raise UsageError(f"the seed of a sample is 0 or more, not {seed}")
    known = _samplers()
    check_traces(traces, available())
    for trace in traces:
        _refuse_foreign(out / trace)
    _refuse_without_room(out, expected_bytes(traces, scale))
    written: list[Path] = []
    for trace in dict.fromkeys(traces):
        folder = out / trace
        _mark(folder, trace, scale, seed)
        rng = np.random.default_rng([seed, *trace.encode()])
        written += known[trace].write(folder, scale, rng, partial(on_bytes, trace))
    return written


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists() or (folder / MARKER_NAME).is_file():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise UserError(
            f"{folder} is not empty and is not a sample (it has no {MARKER_NAME}), so nothing was written. "
            "Choose another folder for the sample, or move what is there away."
        )


def _refuse_without_room(out: Path, expected: int) -> None:
    existing = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if expected > free:
        raise UserError(
            f"The sample would have about {_size(expected)}, and {existing} has room for {_size(free)}, so "
            "nothing was written. Choose a smaller scale, fewer traces or another disk."
        )


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def _mark(folder: Path, trace: str, scale: float, seed: int) -> None:
    # Before the data, so that a sample that was cut short is marked too.
    folder.mkdir(parents=True, exist_ok=True)
    text = _MARKER_TEXT.format(trace=trace, version=GENERATOR_VERSION, seed=seed, scale=float(scale))
    (folder / MARKER_NAME).write_text(text, encoding="utf-8", newline="\n")
