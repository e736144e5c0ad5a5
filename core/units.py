"""How units are spelled: one spelling each in the catalog, for base tables, views and queries alike.

A count has the plural of what is counted; a number without a unit, such as a rank, has an empty text.
"""

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
    "GPU": "GPUs",
    "CPU": "CPU cores",
    "CPUs": "CPU cores",
    "cores": "CPU cores",
    "milli-GPU": "thousandths of a GPU",
    "milli-CPU": "thousandths of a CPU core",
    "watts": "W",
    "joules": "J",
}


def spelled(unit: str) -> str:
    """A unit as the catalog spells it. Declarations that are released keep their own spelling."""
    return _SPELLINGS.get(unit, unit)
