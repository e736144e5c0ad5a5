"""What a trace's sampler is: how its synthetic dump is written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracehouse.samples.files import OnBytes


@dataclass(frozen=True)
class Sampler:
    """How one trace's synthetic dump is written.

    `write` takes the folder, the scale, the random generator, and a function that it calls with the bytes of
    raw text added; it returns the raw files. `expected_bytes` estimates the bytes of raw text at a scale.
    """

    write: Callable[[Path, float, np.random.Generator, OnBytes], list[Path]]
    expected_bytes: Callable[[float], int]
