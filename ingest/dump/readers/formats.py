"""Choose the reader of a raw file."""

from tracehouse.ingest.declare.trace import Table
from tracehouse.ingest.dump.readers import Reader, csv, json, json_lines, parquet, wide


def reader_of(table: Table, file_name: str) -> Reader:
    """Return the reader of a table's file. `file_name` is the name of the decompressed file."""
    if table.wide:
        return wide.READER
    if table.json_list:
        return json.READER
    by_extension = {"jsonl": json_lines.READER, "parquet": parquet.READER}
    return by_extension.get(file_name.rpartition(".")[2], csv.READER)
