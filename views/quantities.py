"""What columns' names stand for: one unit in the whole house, and a meaning where queries use them.

`views/quantities.csv` has the names that several schemas share, `views/<schema>/quantities.csv` those of one.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tracehouse.core.errors import DefinitionError
from tracehouse.core.units import spelled
from tracehouse.views.view_files import VIEWS

_FILE = "quantities.csv"
_FIELDS = ["quantity", "unit", "meaning"]


@dataclass(frozen=True)
class Quantity:
    """What a column of this name holds.

    `unit` is empty for what has none, as labels, ranks and indexes. `meaning` is what a query's column means
    that is computed there and not described by the query itself; empty where no query has such a column.
    """

    name: str
    unit: str
    meaning: str


@cache
def quantities(schema: str, folder: Path = VIEWS) -> Mapping[str, Quantity]:
    """The quantities that views and queries of a schema have, by name: the shared ones and its own.

    Raises DefinitionError where a file makes no sense, or a name has two units.
    """
    shared = _read(folder / _FILE)
    others = {path.parent.name: _read(path) for path in sorted(folder.glob(f"*/{_FILE}"))}
    for place, own in others.items():
        for name, quantity in own.items():
            if name in shared:
                raise DefinitionError(f"{place}/{_FILE}: {name} is in the shared {_FILE} already")
            for other, those in others.items():
                if name in those and those[name].unit != quantity.unit:
                    raise DefinitionError(f"{place}/{_FILE}: {name} has another unit than in {other}/{_FILE}")
    return {**shared, **others.get(schema, {})}


def _read(path: Path) -> dict[str, Quantity]:
    found: dict[str, Quantity] = {}
    for quantity in _rows(path):
        if quantity.name in found:
            raise DefinitionError(f"{path}: {quantity.name} is there twice")
        if spelled(quantity.unit) != quantity.unit:
            raise DefinitionError(
                f"{path}: {quantity.name}: write the unit {quantity.unit} as {spelled(quantity.unit)}"
            )
        found[quantity.name] = quantity
    return found


def _rows(path: Path) -> Iterator[Quantity]:
    with path.open(newline="") as file:
        reader = csv.reader(file, strict=True)
        if next(reader, None) != _FIELDS:
            raise DefinitionError(f"{path}: its header is {','.join(_FIELDS)}")
        for row in reader:
            if len(row) != len(_FIELDS):
                raise DefinitionError(f"{path}, line {reader.line_num}: not as many fields as its header")
            yield Quantity(*row)
