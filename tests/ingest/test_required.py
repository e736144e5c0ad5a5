"""Ingest rejects rows without a value of a required column, in every table that has one."""

import io
from pathlib import Path

import pytest
from broken_rows import without_value

from tracehouse.ingest.declare.trace import Column, all_traces
from tracehouse.ingest.dump.find import find
from tracehouse.ingest.dump.identify import MatchedFile, identify
from tracehouse.ingest.dump.open import open_dump
from tracehouse.ingest.dump.readers import ReaderInput
from tracehouse.ingest.dump.readers.formats import reader_of

pytestmark = pytest.mark.each_trace


def first_file(matched: MatchedFile) -> tuple[str, bytes]:
    """Return the name and the content of the first data file of a table in a raw file."""
    with open_dump(matched.raw) as dump:
        for member in dump.members(matched.table.has_name):
            if matched.table.key_values(member.name, member.folder) is not None:
                return member.name, member.stream.read()
    raise AssertionError(f"{matched.raw.relative_name} has no file of {matched.table_name}")


def reasons_without_value(matched: MatchedFile, column: Column) -> set[str]:
    """Return the reasons for the rejects of a file in which the column is empty once."""
    name, content = first_file(matched)
    broken = without_value(content, matched.table, name, column)
    batches = list(reader_of(matched.table, name).read(ReaderInput(io.BytesIO(broken), matched.table, name)))
    assert sum(batch.rows.num_rows for batch in batches) > 0
    # Reasons of rejected objects in a JSON list begin with their place.
    return {reject.reason[reject.reason.index("column") :] for batch in batches for reject in batch.rejects}


def test_rejects_rows_without_a_required_value(sample_raw: Path, tested_traces: list[str]) -> None:
    traces = [all_traces()[name] for name in tested_traces]
    identified = identify(find([sample_raw], traces, traces), traces, traces, {})
    files = {(one.trace.name, one.table.name): one for one in identified.matched}
    # The line index of a wide table is required in any case, and Parquet has no texts.
    found = {
        (trace.name, table.name, column.name): reasons_without_value(files[trace.name, table.name], column)
        for trace in traces
        for table in trace.tables
        for column in table.columns
        if column.required and not table.wide and not table.converts_partitions
    }
    types = {name: all_traces()[name[0]].table(name[1]).column(name[2]).type for name in found}
    assert found == {name: {f"column {name[2]} ({types[name]}): it is empty"} for name in found}
