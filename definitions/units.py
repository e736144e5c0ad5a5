"""Units of columns, and the units and meanings that follow from names.

A unit is written in square brackets where the column is computed: in the comment of a view's column,
`'Jobs in the queue [jobs]; derived.'`, or in the header of a query, `-- column: waiting [jobs]: Jobs in the
queue`. A label, a rank or an index has `[no unit]`. A name that ends in its unit needs no brackets:
`free_gpus` counts GPUs.

Each unit has one spelling in the catalog. The unit of a count is the plural of the counted noun, such as
`jobs`.
"""

import re
from collections.abc import Mapping

Stated = Mapping[str, tuple[str, str | None]]
"""The meaning and the unit, None without brackets, that the header of a query states, by column name."""

_BRACKETS = re.compile(r"(?P<text>.*?)\s*\[(?P<unit>[^\[\]]+)\]", re.S)
NO_UNIT = "no unit"
_NUMBERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|BIGNUM|FLOAT|DOUBLE|DECIMAL\(.*\)")

_SPELLINGS = {
    "%": "percent",
    "pct": "percent",
    "fraction": "ratio",
    "share": "ratio",
    "seconds": "s",
    "sec": "s",
    "hours": "h",
    "minutes": "min",
    "milliseconds": "ms",
    "GPU-seconds": "GPU-s",
    "GPU-hours": "GPU-h",
    "GPU h": "GPU-h",
    "GPU": "GPUs",
    "CPU": "CPU cores",
    "CPUs": "CPU cores",
    "cores": "CPU cores",
    "milli-GPU": "thousandths of a GPU",
    "milli-CPU": "thousandths of a CPU core",
    "watts": "W",
    "joules": "J",
    "requests/s": "requests per s",
}

# The prefixes of the name and of the meaning of a statistic.
STATISTICS = {
    "min": "Minimum",
    "mean": "Mean",
    "median": "Median",
    "max": "Maximum",
    "peak": "Peak",
    "low": "Lower bound of the 95 % confidence interval of the",
    "high": "Upper bound of the 95 % confidence interval of the",
    **{f"p{percent}": f"{percent}th percentile of the" for percent in (5, 25, 75, 90, 95, 99)},
}

_NOUNS = ["attempts", "blocks", "codes", "devices", "epochs", "instances", "jobs", "machines", "nodes"]
_NOUNS += ["pods", "requests", "rows", "runs", "samples", "servers", "tasks", "tokens", "users", "workers"]
_COUNTED = {noun: noun for noun in _NOUNS} | {"cpus": "CPU cores", "gpus": "GPUs"}
# Abbreviated units: the last word of a name, or its last two.
SUFFIXES = {"s": "s", "ms": "ms", "h": "h", "w": "W", "j": "J", "kj": "kJ", "mj": "MJ", "gj": "GJ"}
SUFFIXES |= {"kwh": "kWh", "gpu_h": "GPU-h", "gpu_s": "GPU-s", "c": "°C", "pct": "percent"}
SUFFIXES |= {"gb": "GB", "tb": "TB", "gib": "GiB", "mib": "MiB", "gibps": "GiB/s"}
_ENDINGS = _COUNTED | SUFFIXES | {"margin": "ratio", "minutes": "min", "ratio": "ratio", "share": "ratio"}

DURATIONS = {"run": "run time", "wait": "queueing delay"}
"""The meanings of names of durations without their unit, such as `run_s`."""

# Meanings of names in queries that need no line.
_MEANINGS = {name: f"{counted[0].upper()}{counted[1:]}" for name, counted in _COUNTED.items()}
_MEANINGS |= {f"{name}_pct": f"Share of the {counted}" for name, counted in _COUNTED.items()}
_MEANINGS |= {f"{name}_s": meaning.capitalize() for name, meaning in DURATIONS.items()}
_MEANINGS |= {"gpu_h": "GPU-hours", "gpu_h_pct": "Share of all GPU-hours"}


def is_number(kind: str) -> bool:
    """Return whether a SQL type is numeric."""
    return _NUMBERS.fullmatch(kind) is not None


def split_unit(text: str) -> tuple[str, str | None]:
    """Split a text from the unit in brackets at its end: None without one, and empty for `[no unit]`."""
    match = _BRACKETS.fullmatch(text)
    if match is None:
        return text, None
    return match["text"], "" if match["unit"] == NO_UNIT else spell_unit(match["unit"])


def unit_in(name: str) -> str | None:
    """Return the unit that a name ends in, None if it has none or is a rate, such as `cost_per_s`."""
    words = name.split("_")
    if "per" in words:
        return None
    return _ENDINGS.get("_".join(words[-2:])) or _ENDINGS.get(words[-1])


def describe_name(name: str, stated: Stated) -> tuple[str, str | None]:
    """Return the meaning and the unit, or None, that follow from a name and the header of its query.

    A statistic has the unit and the meaning of the name after its prefix: `p95_wait_s` those of `wait_s`. A
    few names, such as `jobs` and `run_s`, need no line. The meaning of any other is empty.
    """
    meaning, unit = _describe_name(name, stated)
    prefix, _, base = name.partition("_")
    if meaning or prefix not in STATISTICS:
        return meaning, unit
    meaning, unit = _describe_name(base, stated)
    # "Run time" becomes "run time", but "GPU memory" stays.
    first = meaning[:1].lower() if meaning[1:2].islower() else meaning[:1]
    return meaning and f"{STATISTICS[prefix]} {first}{meaning[1:]}", unit


def _describe_name(name: str, stated: Stated) -> tuple[str, str | None]:
    return stated.get(name, (_MEANINGS.get(name, ""), None))


def spell_unit(unit: str) -> str:
    """Return the catalog's spelling of a unit. Released declarations keep their own spelling."""
    return _SPELLINGS.get(unit, unit)
