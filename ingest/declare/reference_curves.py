"""Read the distributions that publishers printed as curves, from ``traces/<trace>/curves.csv``.

A file has the columns curve, percentile and value. A row says which percentage of the samples is at most the
value.

Acme's comes from the pickles of quantiles in ``data/utilization/util_pkl`` of
https://github.com/InternLM/AcmeTrace, by Shanghai AI Laboratory, under CC BY 4.0. An original curve has 201
points, one for each half percent. The file keeps these points:

- those at 0, 1, 2.5, 5, 10, 15, … 90, 95, 97.5, 99 and 100 percent;
- the first and the last point of each run of three or more equal values;
- enough other points that no original point is further than 0.75 percentage points from the straight lines
  between the kept points.

Values have 5 significant digits.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "traces"

_FILE = "curves.csv"


@dataclass(frozen=True)
class Curve:
    """One published distribution. Percentiles (0 to 100) and values are ascending; values may repeat."""

    name: str
    percentiles: tuple[float, ...]
    values: tuple[float, ...]


def traces_with_curves(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the names of the traces whose publisher printed curves, in alphabetical order."""
    return tuple(sorted(path.parent.name for path in folder.glob(f"*/{_FILE}")))


@cache
def read_curves(trace: str, folder: Path = FOLDER) -> Mapping[str, Curve]:
    """Return the curves of a trace by name, in the order of the file."""
    with (folder / trace / _FILE).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    return {name: _curve(name, list(points)) for name, points in groupby(rows, lambda row: row["curve"])}


def _curve(name: str, points: list[dict[str, str]]) -> Curve:
    return Curve(
        name,
        tuple(float(point["percentile"]) for point in points),
        tuple(float(point["value"]) for point in points),
    )
