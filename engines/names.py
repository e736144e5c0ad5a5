"""The engines that can run a question, where, and how far. Imports nothing, so that `--help` is quick."""

from enum import StrEnum

LOCAL = "local[*]"
"""Spark's master where there is no cluster: this machine."""

MOST_ROWS = 2**31 - 2
"""The highest limit of rows. One more is asked for, to tell whether any are left out; Spark counts so far."""


class Engine(StrEnum):
    """What runs a question, or the conversions of an ingest."""

    DUCKDB = "duckdb"
    SPARK = "spark"
