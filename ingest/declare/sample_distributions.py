"""How synthetic samples draw a column. A mapping of values to weights draws each value in proportion."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LogNormal:
    """Log-normal numbers, of which a share is 0. `sigma` is the standard deviation of the logarithm."""

    median: float
    sigma: float = 1.0
    zeros: float = 0.0
    most: float = float("inf")


@dataclass(frozen=True)
class Arrivals:
    """Times in seconds from `first_s` to `last_s`, most of them by day and on weekdays.

    `utc_offset_h` is the offset of the local clock.
    """

    first_s: int
    last_s: int
    utc_offset_h: int = 0


@dataclass(frozen=True)
class Names:
    """Hexadecimal identifiers after a prefix; equal numbers of a `kind` have the same one in all tables.

    `count` is the number of different names, of which the first are the most frequent. With 0, each row has
    its own.
    """

    kind: str
    digits: int
    prefix: str = ""
    count: int = 0


@dataclass(frozen=True)
class PrefixBlocks:
    """Lists of numbers, one per `block_tokens` tokens in the column `tokens`.

    About half of the rows continue the list of an earlier row, and so have its first numbers.
    """

    tokens: str
    block_tokens: int


Distribution = (
    Mapping[str, float]
    | Mapping[int, float]
    | Mapping[float, float]
    | LogNormal
    | Arrivals
    | Names
    | PrefixBlocks
)
