"""The formats of an answer. Imports nothing heavy, so that `--help` is fast."""

from enum import StrEnum


class Format(StrEnum):
    """A format of an answer."""

    TABLE = "table"
    RECORDS = "records"
    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"
    MARKDOWN = "markdown"
    PARQUET = "parquet"
    ARROW = "arrow"
    XLSX = "xlsx"


BY_SUFFIX = {
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".ndjson": Format.NDJSON,
    ".jsonl": Format.NDJSON,
    ".md": Format.MARKDOWN,
    ".parquet": Format.PARQUET,
    ".arrow": Format.ARROW,
    ".feather": Format.ARROW,
    ".xlsx": Format.XLSX,
    ".txt": Format.TABLE,
}
BINARY = {Format.PARQUET, Format.ARROW, Format.XLSX}
# Formats for people, with colours on a terminal.
LAID_OUT = {Format.TABLE, Format.RECORDS}
# The extensions of a chart's file.
PICTURES = (".png", ".svg", ".pdf")
