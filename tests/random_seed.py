"""The seed and the depth of the tests that draw random cases.

The seed is fixed, so that a run repeats; `make nightly` draws another. TRACEHOUSE_DEPTH=10 tries 10 times as
many cases.
"""

import os
import random
from collections.abc import Sequence

SEED = int(os.environ.get("TRACEHOUSE_SEED", "1"))
DEPTH = int(os.environ.get("TRACEHOUSE_DEPTH", "1"))
REPEAT = f"random tests: repeat with TRACEHOUSE_SEED={SEED} TRACEHOUSE_DEPTH={DEPTH}"


def some(names: Sequence[str], number: int) -> list[str]:
    """Return `number` random names at the default depth, and all at a greater depth. Fails without names."""
    assert names
    return list(names) if DEPTH > 1 else sorted(random.Random(SEED).sample(names, min(number, len(names))))
