"""Read the unit and meaning of column names.

A trace declares the `quantities` of its views and queries. `views/units.csv` has names that several schemas
share, `views/unified/units.csv` those of `unified`.
Two kinds of names need no line. A statistic has the unit and the meaning of its quantity: `p95_wait_s` and
`mean_wait_s` follow from `wait_s`. Any other name has the unit that it ends in: `free_gpus` counts GPUs.

Each unit has one spelling in the catalog. The unit of a count is the plural of the counted noun, such as
`jobs`; a rank or an index has an empty unit.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from tracehouse.definitions.view_files import VIEWS
from tracehouse.ingest.declare.metadata import Quantity
from tracehouse.ingest.declare.trace import all_traces

SHARED = VIEWS / "units.csv"

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
_STATISTICS = {
    "min": "Minimum",
    "mean": "Mean",
    "median": "Median",
    "max": "Maximum",
    "peak": "Peak",
    "low": "Lower bound of the 95 % confidence interval of the",
    "high": "Upper bound of the 95 % confidence interval of the",
    **{f"p{percent}": f"{percent}th percentile of the" for percent in (5, 25, 75, 90, 95, 99)},
}


# Units by the last word of a name, or its last two. Most words are their own unit.
_OWN_UNITS = (
    *("attempts", "blocks", "codes", "devices", "epochs", "h", "instances", "jobs", "machines", "ms"),
    *("nodes", "pods", "ratio", "requests", "rows", "runs", "s", "samples", "servers", "tasks", "tokens"),
    *("users", "workers"),
)
_ENDINGS = {
    **{word: word for word in _OWN_UNITS},
    "cpus": "CPU cores",
    "gb": "GB",
    "gib": "GiB",
    "gpu_h": "GPU-h",
    "gpu_s": "GPU-s",
    "gpus": "GPUs",
    "j": "J",
    "kwh": "kWh",
    "margin": "ratio",
    "minutes": "min",
    "pct": "percent",
    "share": "ratio",
    "w": "W",
}


@cache
def read_units(schema: str) -> Mapping[str, Quantity]:
    """Return the quantities of a schema by name: shared ones, its own, and the statistics of both."""
    trace = all_traces().get(schema)
    own = trace.quantities if trace else read_quantities(VIEWS / schema / SHARED.name)
    declared = {quantity.name: quantity for quantity in (*read_quantities(SHARED), *own)}
    return with_statistics(declared.values())


def read_quantities(path: Path) -> list[Quantity]:
    """Return the quantities of one file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Quantity(row["quantity"], row["unit"], row["meaning"])
            for row in csv.DictReader(file, strict=True)
        ]


def unit_in(name: str) -> str | None:
    """Return the unit that a name ends in, None if it has none or is a rate, such as `cost_per_s`."""
    words = name.split("_")
    if "per" in words:
        return None
    return _ENDINGS.get("_".join(words[-2:])) or _ENDINGS.get(words[-1])


def with_statistics(quantities: Iterable[Quantity]) -> dict[str, Quantity]:
    """Return quantities and their statistics by name. A statistic that is declared itself is kept."""
    found, declared = {}, {quantity.name: quantity for quantity in quantities}
    for quantity in declared.values():
        for prefix, label in _STATISTICS.items():
            name, meaning = f"{prefix}_{quantity.name}", quantity.meaning
            if meaning:
                # "Run time" becomes "run time", but "GPU memory" stays.
                first = meaning[0].lower() if meaning[1:2].islower() else meaning[0]
                meaning = f"{label} {first}{meaning[1:]}"
            found[name] = replace(quantity, name=name, meaning=meaning)
    return found | declared


def spell_unit(unit: str) -> str:
    """Return the catalog's spelling of a unit. Released declarations keep their own spelling."""
    return _SPELLINGS.get(unit, unit)
