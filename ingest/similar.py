"""Say what a raw file of no table may be: one that a trace skips, or a known file under another name."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.archive import data_members
from tracehouse.ingest.declarations import Table, Trace
from tracehouse.ingest.facts import SkippedFile
from tracehouse.ingest.raw_files import RawFile, unpacked_name
from tracehouse.ingest.raw_stream import open_raw
from tracehouse.ingest.readers import csv

# The similarity, from 0 to 1, from which a name is likely a misspelt one.
_CLOSE = 0.8


def find_skipped(name: str, traces: Iterable[Trace]) -> tuple[Trace, SkippedFile] | None:
    """Return the trace that leaves a raw file out on purpose, and its reason; None if no trace does."""
    file_name = unpacked_name(PurePosixPath(name).name)
    for trace in traces:
        for skipped in trace.skipped_files:
            if re.fullmatch(skipped.file_name, file_name):
                return trace, skipped
    return None


def describe_similar(raw: RawFile, candidates: Sequence[tuple[Trace, Table]]) -> str:
    """Return a note on a file that resembles one of these tables' files; empty if it resembles none."""
    name = raw.relative_name
    for trace, table in candidates:
        known, folders = f"{trace.name}.{table.name}", " or ".join(table.folder_names)
        where = f" in a folder called {folders}" if folders else ""
        if where and table.has_name(raw.file_name):
            return f"{name}: has the name of a file of {known}. Put it{where}"
        if raw.form.startswith("csv") and not table.wide and not table.json_list and _has_columns(raw, table):
            pattern = re.sub(r"\?P<\w+>", "", table.file_name).replace(r"\.", ".")
            called = f"whose files are called {pattern}{where}"
            return f"{name}: has the columns of {known}, {called}: rename it"
    names = {PurePosixPath(file.path).name for trace, _ in candidates for file in trace.files}
    for close in get_close_matches(raw.name, names, 1, _CLOSE):
        return f"{name}: not a file of a known trace. Did you mean {close}?"
    return ""


def _has_columns(raw: RawFile, table: Table) -> bool:
    try:
        with open_raw(raw.paths) as stream:
            members = data_members(stream, raw, lambda _: False)
            return csv.names_fit(table, csv.read_names(next(members).stream, raw.name))
    except RawFileError:
        return False
