"""The formats of an answer. Imports nothing heavy, so that `--help` is fast."""

from enum import StrEnum


class OutputFormat(StrEnum):
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
    ".csv": OutputFormat.CSV,
    ".json": OutputFormat.JSON,
    ".ndjson": OutputFormat.NDJSON,
    ".jsonl": OutputFormat.NDJSON,
    ".md": OutputFormat.MARKDOWN,
    ".parquet": OutputFormat.PARQUET,
    ".arrow": OutputFormat.ARROW,
    ".feather": OutputFormat.ARROW,
    ".xlsx": OutputFormat.XLSX,
    ".txt": OutputFormat.TABLE,
}
BINARY = {OutputFormat.PARQUET, OutputFormat.ARROW, OutputFormat.XLSX}
# Formats for people, with colours on a terminal.
LAID_OUT = {OutputFormat.TABLE, OutputFormat.RECORDS}
# The extensions of a chart's file.
PICTURES = (".png", ".svg", ".pdf")
