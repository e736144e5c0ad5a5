"""Draw random numbers, categories, times and identifiers."""

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DAY_S, HOUR_S = 86_400, 3_600

# Relative arrivals in each hour and on each weekday of the local clock.
_HOUR_WEIGHTS = 1.0 - 0.6 * np.cos((np.arange(24) - 3) / 24 * 2 * np.pi)
_WEEKDAY_WEIGHTS = np.array([1.1, 1.15, 1.15, 1.15, 1.1, 0.65, 0.6])
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday

_HEX_PAIRS = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), dtype=np.uint16)


def scaled(count: float, scale: float, least: int = 1) -> int:
    """Return a count times the scale, rounded, and at least `least`."""
    return max(least, round(count * scale))


def apportion(total: int, weights: ArrayLike) -> Ints:
    """Return integers that sum to `total`, in proportion to the weights, each at least 1 if possible."""
    shares = np.asarray(weights, dtype=np.float64)
    exact = total * shares / shares.sum()
    counts = np.floor(exact).astype(np.int64)
    by_remainder = np.argsort(counts - exact, kind="stable")
    counts[by_remainder[: total - int(counts.sum())]] += 1
    missing = np.flatnonzero((counts == 0) & (shares > 0))
    largest = int(np.argmax(counts))
    if counts[largest] > len(missing):
        counts[missing] = 1
        counts[largest] -= len(missing)
    return counts


def spread(rng: np.random.Generator, total: int, weights: ArrayLike) -> Ints:
    """Draw `total` positions of the weights in random order; `apportion` gives the number of each."""
    counts = apportion(total, weights)
    return rng.permutation(np.repeat(np.arange(len(counts)), counts))


def shares(rng: np.random.Generator, weights: Mapping[Any, float], count: int) -> NDArray[Any]:
    """Draw `count` values in random order; `apportion` gives the number of each from its weight."""
    return np.array(list(weights))[spread(rng, count, list(weights.values()))]


def heavy_users(rng: np.random.Generator, count: int, users: int) -> Ints:
    """Draw `count` numbers of users from 0 on; user n is drawn in proportion to 1 / (n + 1)."""
    return spread(rng, count, 1 / np.arange(1, users + 1))


def pick(rng: np.random.Generator, weights: ArrayLike, count: int) -> Bools:
    """Draw `count` different positions; twice the weight is about twice as likely. Return a mask of them."""
    likely = np.asarray(weights, dtype=np.float64)
    mask = np.zeros(len(likely), dtype=np.bool_)
    count = min(count, int((likely > 0).sum()))
    if count > 0:
        with np.errstate(divide="ignore"):
            order = rng.exponential(size=len(likely)) / likely
        mask[np.argpartition(order, count - 1)[:count]] = True
    return mask


def lognormal(rng: np.random.Generator, size: int, median: ArrayLike, sigma: ArrayLike) -> Floats:
    """Draw log-normal numbers with a given median; sigma is the standard deviation of the logarithm."""
    return np.asarray(median) * np.exp(np.asarray(sigma) * rng.standard_normal(size))


def arrivals(rng: np.random.Generator, size: int, first_s: int, last_s: int, utc_offset_h: int = 0) -> Ints:
    """Draw sorted times from `first_s` to `last_s`, both included; most are by day and on weekdays.

    Times are Unix seconds; `utc_offset_h` is the offset of the local clock.
    """
    hours = np.arange(first_s // HOUR_S, last_s // HOUR_S + 1)
    local = hours + utc_offset_h
    weights = _HOUR_WEIGHTS[local % 24] * _WEEKDAY_WEIGHTS[(local // 24 + _EPOCH_WEEKDAY) % 7]
    hour = rng.choice(hours, size=size, p=weights / weights.sum())
    times = np.clip(hour * HOUR_S + rng.integers(0, HOUR_S, size), first_s, last_s)
    times.sort()
    times[-1] = last_s
    times[0] = first_s
    return times


def prefix_blocks(rng: np.random.Generator, lengths: Ints) -> list[list[int]]:
    """Return a list of block numbers of each length; about half begin as an earlier one does."""
    found: list[list[int]] = []
    following = 0
    for number, length in enumerate(lengths.tolist()):
        # A recent list is the likeliest, as in a conversation.
        back = int(rng.geometric(0.05))
        continued = found[-back] if back <= number and rng.random() < 0.5 else []
        new = max(0, length - len(continued))
        found.append([*continued[:length], *range(following, following + new)])
        following += new
    return found


def local_times(seconds: ArrayLike) -> pl.Series:
    """Format Unix seconds as `2023-07-01 00:00:00`; NaN is NULL."""
    series = pl.Series(np.asarray(seconds, dtype=np.float64), nan_to_null=True) * 1e6
    return series.cast(pl.Int64).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%d %H:%M:%S")


def hex_ids(numbers: pl.Series, seed: int, kind: str, digits: int) -> pl.Series:
    """Return a hexadecimal identifier for each number, NULL for NULL and negative numbers.

    Equal numbers of a kind get equal identifiers. Creates no Python object per string.
    """
    valid = (numbers.is_not_null() & (numbers >= 0)).to_numpy()
    index = numbers.fill_null(0).to_numpy().astype(np.uint64)
    words = -(-digits // 16)
    salt = (seed + (zlib.crc32(kind.encode()) << 31)) % 2**63
    mixed: NDArray[np.uint64] = index[:, None] * np.uint64(words)
    mixed = mixed + np.arange(words).astype(np.uint64) + np.uint64(salt)
    # The finaliser of splitmix64 is a bijection, so the first 16 digits are unique.
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    text = np.ascontiguousarray(_HEX_PAIRS[mixed.astype("<u8").view(np.uint8)[:, : digits // 2]])
    offsets = np.arange(len(index) + 1, dtype=np.int64) * digits
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pl.Series(pa.Array.from_buffers(pa.large_string(), len(index), buffers))
