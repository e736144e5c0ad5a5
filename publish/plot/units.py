"""Names of columns in words, for the titles of axes, and numbers as texts."""

import re
from collections.abc import Sequence

from tracehouse.definitions.units import DURATIONS, SUFFIXES

GPU_TIME = {"gpu_h": "GPU-hours", "gpu_s": "GPU-seconds"}
# The other units that names end in.
UNITS = {name: unit for name, unit in SUFFIXES.items() if name not in GPU_TIME} | {"pct": "%"}
# Units in other places than the end of a name.
PER = {"per_s": "per second", "per_ms": "per millisecond", "per_h": "per hour", "gpu_h_per": "GPU-hours per"}
WORDS = {"gpu": "GPU", "gpus": "GPUs", "cpu": "CPU", "cpus": "CPUs", "hp": "HP", "lp": "LP", "xid": "Xid"}
WORDS |= {"util": "utilisation", "temp": "temperature", "sm": "SM", "ib": "InfiniBand"}
WORDS |= {"vc": "virtual cluster", "qos": "quality of service"}
# Names of columns whose words do not say what they measure.
MEANT = {"size_band": "requested GPUs"}
# Metrics of GPUs whose names in the trace have no unit.
UNITS_OF_METRICS = {"gpu_util": "pct", "mem_copy_util": "pct", "power_usage": "w", "gpu_temp": "c"}
UNITS_OF_METRICS |= {"memory_temp": "c"}


def axis_title(column: str) -> str:
    """A column's name as an axis title: `run_s` is run time (s), `gpu_h_pct` is GPU-hours (%)."""
    if column in MEANT:
        return MEANT[column]
    words, unit = split_name(column)
    if unit in GPU_TIME.values():
        return f"{words} {unit}".strip()
    return f"{words} ({unit})" if words and unit else words or unit


def split_name(column: str) -> tuple[str, str]:
    """The words and the unit of a column's name, one of which may be empty: `run_s` is run time and s."""
    column = column.replace("+", "_and_")
    for suffix, spelling in PER.items():
        column = re.sub(rf"(?<![a-z]){suffix}(?![a-z])", spelling.replace(" ", "_"), column)
    for suffix, spelling in GPU_TIME.items():
        if column.endswith(suffix):
            return _words(column.removesuffix(suffix)), spelling
    words, _, last = column.rpartition("_")
    if not words or last not in UNITS:
        return _words(column), ""
    if UNITS[last] in ("s", "ms", "h"):
        head, _, tail = words.rpartition("_")
        words = f"{head}_{DURATIONS.get(tail, tail)}"
    return " ".join(part for part in split_name(words) if part), UNITS[last]


def _words(name: str) -> str:
    words = [WORDS.get(word, word) for word in name.split("_") if word]
    return re.sub(r"\bp(\d+)\b(?=.)", r"\1th percentile of", " ".join(words))


def column_name(value: str) -> str:
    """A parameter's value as a column's name: `kalos.gpu_util_pct` and `GPU_UTIL` are gpu_util_pct."""
    name = value.rpartition(".")[2].lower()
    return f"{name}_{UNITS_OF_METRICS[name]}" if name in UNITS_OF_METRICS else name


def number(value: float) -> str:
    """A number in a text: 6,212 or 0.55."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def span(values: Sequence[float]) -> str:
    """The least and the greatest value: `900 to 1,000`, or one number if they are equal."""
    return " to ".join(number(value) for value in dict.fromkeys((min(values), max(values))))
