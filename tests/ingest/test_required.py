"""Ingest rejects rows without a value of a required column, in every table that has one."""

import io
from pathlib import Path

import pytest
from broken_rows import without_value

from tracehouse.ingest.archive import data_members
from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.find import MatchedFile, find
from tracehouse.ingest.raw_stream import open_raw
from tracehouse.ingest.readers import ReaderInput
from tracehouse.ingest.readers.formats import reader_of

pytestmark = pytest.mark.each_trace


def first_file(matched: MatchedFile) -> tuple[str, bytes]:
    """Return the name and the content of the first data file of a table in a raw file."""
    with open_raw(matched.raw.paths, lambda _: None) as stream:
        for member in data_members(stream, matched.raw, matched.table.has_name):
            if matched.table.key_values(member.name, member.folder) is not None:
                return member.name, member.stream.read()
    raise AssertionError(f"{matched.raw.relative_name} has no file of {matched.table_name}")


def test_rejects_rows_without_a_required_value(sample_raw: Path, tested_traces: list[str]) -> None:
    traces = [all_traces()[name] for name in tested_traces]
    files = {(one.trace.name, one.table.name): one for one in find([sample_raw], traces, traces).matched}
    for trace in traces:
        for table in trace.tables:
            for column in table.columns:
                # The line index of a wide table is required in any case, and Parquet has no texts.
                if not column.required or table.wide or table.converts_partitions:
                    continue
                name, content = first_file(files[trace.name, table.name])
                broken = without_value(content, table, name, column)
                source = ReaderInput(io.BytesIO(broken), table, name)
                batches = list(reader_of(table, name).read(source))
                reasons = [reject.reason for batch in batches for reject in batch.rejects]
                assert reasons, f"{trace.name}.{table.name}.{column.name} is not checked"
                expected = f"column {column.name} ({column.type}): it is empty"
                assert all(expected in reason for reason in reasons), reasons
                assert sum(batch.rows.num_rows for batch in batches) > 0
