"""Read the unit and meaning of column names.

`views/units.csv` declares names that several schemas share, `views/<schema>/units.csv` names of one schema.
Two kinds of names need no line. A statistic has the unit and the meaning of its quantity: `p95_wait_s` and
`mean_wait_s` follow from `wait_s`. Any other name has the unit that it ends in: `free_gpus` counts GPUs.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tracehouse.core.errors import DefinitionError
from tracehouse.core.units import spell_unit
from tracehouse.views.view_files import VIEWS

_FILE = "units.csv"
_FIELDS = ["quantity", "unit", "meaning"]

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


# Units by the last word of a name, or its last two.
_ENDINGS = {
    "attempts": "attempts",
    "codes": "codes",
    "cpus": "CPU cores",
    "devices": "devices",
    "epochs": "epochs",
    "gb": "GB",
    "gib": "GiB",
    "gpu_h": "GPU-h",
    "gpu_s": "GPU-s",
    "gpus": "GPUs",
    "h": "h",
    "instances": "instances",
    "j": "J",
    "jobs": "jobs",
    "kwh": "kWh",
    "machines": "machines",
    "margin": "ratio",
    "minutes": "min",
    "ms": "ms",
    "nodes": "nodes",
    "pct": "percent",
    "pods": "pods",
    "ratio": "ratio",
    "requests": "requests",
    "rows": "rows",
    "runs": "runs",
    "s": "s",
    "samples": "samples",
    "servers": "servers",
    "share": "ratio",
    "tasks": "tasks",
    "users": "users",
    "w": "W",
    "workers": "workers",
}


@dataclass(frozen=True)
class Quantity:
    """The unit and meaning of all columns with one name.

    `unit` is empty for labels, ranks and indexes. `meaning` describes columns that a query computes and does
    not describe itself; it is empty if no query has such a column.
    """

    name: str
    unit: str
    meaning: str


@cache
def read_units(schema: str, folder: Path = VIEWS) -> Mapping[str, Quantity]:
    """Return the quantities of a schema by name: shared ones, its own, and the statistics of both.

    Raises DefinitionError if a file is not valid, or a name has two units.
    """
    shared = _read(folder / _FILE)
    others = {path.parent.name: _read(path) for path in sorted(folder.glob(f"*/{_FILE}"))}
    for place, own in others.items():
        for name, quantity in own.items():
            if name in shared:
                raise DefinitionError(f"{place}/{_FILE}: {name} is already in the shared {_FILE}")
            for other, those in others.items():
                if name in those and those[name].unit != quantity.unit:
                    raise DefinitionError(f"{place}/{_FILE}: {name} has a different unit in {other}/{_FILE}")
    declared = {**shared, **others.get(schema, {})}
    return {**_statistics(declared.values()), **declared}


def unit_in(name: str) -> str | None:
    """Return the unit that a name ends in, None if it has none or is a rate, such as `cost_per_s`."""
    words = name.split("_")
    if "per" in words:
        return None
    return _ENDINGS.get("_".join(words[-2:])) or _ENDINGS.get(words[-1])


def _statistics(quantities: Iterable[Quantity]) -> dict[str, Quantity]:
    found = {}
    for quantity in quantities:
        for prefix, label in _STATISTICS.items():
            name, meaning = f"{prefix}_{quantity.name}", quantity.meaning
            if meaning:
                # "Run time" becomes "run time", but "GPU memory" stays.
                first = meaning[0].lower() if meaning[1:2].islower() else meaning[0]
                meaning = f"{label} {first}{meaning[1:]}"
            found[name] = replace(quantity, name=name, meaning=meaning)
    return found


def _read(path: Path) -> dict[str, Quantity]:
    found: dict[str, Quantity] = {}
    for quantity in _rows(path):
        if quantity.name in found:
            raise DefinitionError(f"{path}: {quantity.name} is declared twice")
        if spell_unit(quantity.unit) != quantity.unit:
            raise DefinitionError(
                f"{path}: {quantity.name}: write the unit {quantity.unit} as {spell_unit(quantity.unit)}"
            )
        found[quantity.name] = quantity
    return found


def _rows(path: Path) -> Iterator[Quantity]:
    with path.open(newline="") as file:
        reader = csv.reader(file, strict=True)
        if next(reader, None) != _FIELDS:
            raise DefinitionError(f"{path}: the header must be {','.join(_FIELDS)}")
        for row in reader:
            if len(row) != len(_FIELDS):
                raise DefinitionError(
                    f"{path}, line {reader.line_num}: the number of fields differs from the header"
                )
            yield Quantity(*row)
