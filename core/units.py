"""Give each unit a single spelling in the catalog.

The unit of a count is the plural of the counted noun, such as `jobs`. A rank or an index has an empty unit.
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
