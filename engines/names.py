"""The engines that can run a question, and where. Imports nothing, so that `--help` is quick."""

from enum import StrEnum

LOCAL = "local[*]"
"""Spark's master where there is no cluster: this machine."""


class Engine(StrEnum):
    """What runs a question, or the conversions of an ingest."""

    DUCKDB = "duckdb"
    SPARK = "spark"
