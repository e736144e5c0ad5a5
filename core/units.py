"""Spell each unit in one way in the catalog.

The unit of a count is the plural of what is counted. The unit of a rank and the like is empty.
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


def spell_unit(unit: str) -> str:
    """Return the catalog's spelling of a unit. Released declarations keep their own spelling."""
    return _SPELLINGS.get(unit, unit)
