"""Draw random numbers, categories, times and identifiers."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.signedinteger[Any]]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DAY_S = 86_400
HOUR_S = 3_600

# Relative arrivals in each hour and on each weekday of the local clock.
_HOUR_WEIGHTS = 1.0 - 0.6 * np.cos((np.arange(24) - 3) / 24 * 2 * np.pi)
_WEEKDAY_WEIGHTS = np.array([1.1, 1.15, 1.15, 1.15, 1.1, 0.65, 0.6])
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday

_HEX_PAIRS = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), dtype=np.uint16)


def scaled(count: int, scale: float, least: int = 1) -> int:
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


def pick(rng: np.random.Generator, weights: ArrayLike, count: int) -> Ints:
    """Draw `count` different positions of the weights; twice the weight is about twice as likely."""
    shares = np.asarray(weights, dtype=np.float64)
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    with np.errstate(divide="ignore"):
        order = rng.exponential(size=len(shares)) / shares
    return np.argpartition(order, min(count, len(order)) - 1)[:count]


def mask_of(size: int, positions: Ints) -> Bools:
    """Return a mask of `size` values that is true at the positions."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[positions] = True
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


def local_times(seconds: Ints) -> pl.Series:
    """Format Unix seconds as `2023-07-01 00:00:00`."""
    return pl.Series(seconds * 1_000_000).cast(pl.Datetime("us")).dt.strftime("%Y-%m-%d %H:%M:%S")


def labels(codes: Ints, names: Sequence[str | None]) -> pl.Series:
    """Return the name at the position of each code; None becomes NULL."""
    return pl.Series(names, dtype=pl.String).gather(codes)


def floats(values: ArrayLike) -> pl.Series:
    """Return a column of floats; NaN is NULL."""
    return pl.Series(np.asarray(values, dtype=np.float64), nan_to_null=True)


def whole(values: ArrayLike, null: Bools | None = None) -> pl.Series:
    """Return a column of integers, NULL where `null` is true."""
    return set_nulls(pl.Series(np.asarray(values, dtype=np.int64)), null)


def set_nulls(values: pl.Series, null: Bools | None) -> pl.Series:
    """Return a column that is NULL where `null` is true."""
    return values if null is None else pl.select(pl.when(pl.Series(~null)).then(values)).to_series()


def salt_of(seed: int, kind: str) -> int:
    """Return a salt that makes identifiers of different kinds differ."""
    return (seed + (zlib.crc32(kind.encode()) << 31)) % 2**63


def hex_ids(index: Ints, salt: int, digits: int, null: Bools | None = None) -> pl.Series:
    """Return a hexadecimal identifier for each number; equal numbers and salts give equal identifiers."""
    return _strings(_hex(index, salt, digits), null)


def uuids(index: Ints, salt: int) -> pl.Series:
    """Return an identifier with the layout of a UUID for each number."""
    digits = _hex(index, salt, 32)
    return _strings(np.insert(digits, (8, 12, 16, 20), ord("-"), axis=1), None)


def _hex(index: Ints, salt: int, digits: int) -> NDArray[np.uint8]:
    words = -(-digits // 16)
    mixed: NDArray[np.uint64] = np.asarray(index).astype(np.uint64)[:, None] * np.uint64(words)
    mixed = mixed + np.arange(words).astype(np.uint64) + np.uint64(salt)
    # The finaliser of splitmix64 is a bijection, so the first 16 digits are unique.
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    octets = mixed.astype("<u8").view(np.uint8)[:, : digits // 2]
    return np.ascontiguousarray(_HEX_PAIRS[octets]).view(np.uint8)


def _strings(text: NDArray[np.uint8], null: Bools | None) -> pl.Series:
    """Return a string for each row of a matrix of ASCII codes. This creates no Python object per string."""
    rows, width = text.shape
    offsets = np.arange(rows + 1, dtype=np.int64) * width
    valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text))]
    return pl.Series(pa.Array.from_buffers(pa.large_string(), rows, buffers))
