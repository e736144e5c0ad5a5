"""The names of the engines, and their limits. Imports nothing heavy, so that `--help` is fast."""

from enum import StrEnum

LOCAL = "local[*]"
"""The default master of Spark: this machine."""

MOST_ROWS = 2**31 - 2
"""The highest row limit. A query fetches one row more, to see whether the limit omits any; Spark allows no
more than that."""


class Engine(StrEnum):
    """An engine for queries, and for the conversions of an ingest."""

    DUCKDB = "duckdb"
    SPARK = "spark"
