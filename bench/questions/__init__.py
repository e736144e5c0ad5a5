"""PAI's named queries as a pandas user and as a Polars user would answer them, at their defaults.

A module holds a group of them: `<query>_pandas` and `<query>_polars`, each from the folder of the Parquet
to a data frame with the columns and the rows of the query, in its order.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracehouse.bench.questions import demand, fleet, outcomes, requests, usage, users, waits

LIBRARIES = ("pandas", "polars")

Answer = Callable[[Path], Any]


def questions(library: str) -> dict[str, Answer]:
    """Every question in one library, by the full name of its query."""
    ending = f"_{library}"
    return {
        f"pai.{name.removesuffix(ending)}": function
        for module in (demand, fleet, outcomes, requests, usage, users, waits)
        for name, function in vars(module).items()
        if name.endswith(ending)
    }
