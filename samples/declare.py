"""Declare how a trace's synthetic sample is written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracehouse.samples.files import OnBytes


@dataclass(frozen=True)
class Sampler:
    """Writes one trace's synthetic sample.

    `write` takes a folder, the scale, a random generator, and a function that it calls with the number of
    bytes of raw text written; it returns the raw files. `expected_bytes` estimates the bytes at a scale.
    If the number of days can be chosen, `of_days` returns the sampler of a number of days.
    """

    write: Callable[[Path, float, np.random.Generator, OnBytes], list[Path]]
    expected_bytes: Callable[[float], int]
    of_days: "Callable[[int], Sampler] | None" = None
