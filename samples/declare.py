"""What a trace's sampler is, and how they are found.

A sampler is a module of `tracehouse.samples.traces` that is called like its trace and binds ``SAMPLER`` to a
`Sampler`, so that a new one changes no other module.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tracehouse.samples import traces
from tracehouse.samples.files import OnBytes


@dataclass(frozen=True)
class Sampler:
    """How one trace's synthetic dump is written.

    `write` takes the folder, the scale, the random generator, and a function that it calls with the bytes of
    raw text added; it returns the raw files. `expected_bytes` estimates the bytes of raw text at a scale.
    """

    write: Callable[[Path, float, np.random.Generator, OnBytes], list[Path]]
    expected_bytes: Callable[[float], int]


@cache
def samplers() -> dict[str, Sampler]:
    """The sampler of each trace that has one, by the trace's name, in alphabetical order."""
    modules = {
        found.name: importlib.import_module(f"{traces.__name__}.{found.name}")
        for found in pkgutil.iter_modules(traces.__path__)
    }
    found = {name: getattr(module, "SAMPLER", None) for name, module in sorted(modules.items())}
    return {name: sampler for name, sampler in found.items() if isinstance(sampler, Sampler)}
