"""The engines that can run a question. Imports nothing, so that `--help` is quick."""

from enum import StrEnum


class Engine(StrEnum):
    """What runs a question, or the conversions of an ingest."""

    DUCKDB = "duckdb"
    SPARK = "spark"
