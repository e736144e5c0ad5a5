"""Write synthetic raw files in the publishers' formats."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracehouse.samples.files import OnBytes


@dataclass(frozen=True)
class Sampler:
    """Writes the synthetic sample of one trace.

    `write` takes a folder, the scale, a random generator and a callback. It calls the callback with the bytes
    of raw text after each write, and returns the paths of the raw files. `expected_bytes` estimates the bytes
    of raw text at a scale. `of_days` returns a sampler for a number of days, if the trace has files per day.
    """

    write: Callable[[Path, float, np.random.Generator, OnBytes], list[Path]]
    expected_bytes: Callable[[float], int]
    of_days: "Callable[[int], Sampler] | None" = None
