"""The formats that an answer can be written in. Imports nothing, so that `--help` is quick."""

from enum import StrEnum


class Format(StrEnum):
    """How an answer is written."""

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
# Those that are laid out for people, in colours on a terminal.
LAID_OUT = {Format.TABLE, Format.RECORDS}
