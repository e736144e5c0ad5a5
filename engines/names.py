"""Names of the engines and of the database, and limits. Imports nothing heavy, so that `--help` is fast."""

from enum import StrEnum

DATABASE = "traces.duckdb"
"""The name of the database's file in a warehouse."""

LOCAL = "local[*]"
"""The default master of Spark: this machine."""

MOST_ROWS = 2**31 - 2
"""The highest row limit. A query fetches one row more than its limit, and Spark allows at most 2**31 - 1."""


class Engine(StrEnum):
    """An engine for queries, and for the conversions of an ingest."""

    DUCKDB = "duckdb"
    SPARK = "spark"
