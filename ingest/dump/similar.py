"""Say what a raw file of no table may be: one that a trace skips, or a known file under another name."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declare.metadata import SkippedFile
from tracehouse.ingest.declare.trace import Table, Trace
from tracehouse.ingest.dump.archive import data_members
from tracehouse.ingest.dump.raw_files import RawFile, unpacked_name
from tracehouse.ingest.dump.raw_stream import Stamp, is_settled, open_raw, stamp_of
from tracehouse.ingest.dump.readers import csv
from tracehouse.ingest.store.noted_files import Notes

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


def note_once(
    raw: RawFile, describe: Callable[[], str], noted: Notes, noted_now: dict[str, tuple[Stamp, str]]
) -> str:
    """Return the note on a raw file: that of an earlier search, if the file has not changed since.

    Adds the note to `noted_now`.
    """
    path = str(raw.paths[0].absolute())
    try:
        stamp = stamp_of(raw.paths)
    except OSError:
        # A broken link.
        return describe()
    before, note = noted.get(path, (None, ""))
    if before != stamp:
        note = describe()
    if is_settled(stamp):
        noted_now[path] = (stamp, note)
    return note


def describe_similar(
    raw: RawFile, candidates: Sequence[tuple[Trace, Table]], published_names: Collection[str]
) -> str:
    """Say which of these tables' files a file of no table resembles; empty if it resembles none.

    `published_names` are the names of all files that the publishers list.
    """
    header: list[str] | None = None
    for trace, table in candidates:
        known, folders = f"{trace.name}.{table.name}", " or ".join(table.folder_names)
        where = f" in a folder called {folders}" if folders else ""
        if where and table.has_name(raw.file_name):
            return f"has the name of a file of {known}. Put it{where}"
        if raw.form.startswith("csv") and not table.wide and not table.json_list:
            # One read serves all tables.
            header = _read_header(raw) if header is None else header
            if header and csv.names_fit(table, header):
                pattern = re.sub(r"\?P<\w+>", "", table.file_name).replace(r"\.", ".")
                called = f"whose files are called {pattern}{where}"
                return f"has the columns of {known}, {called}: rename it"
    for close in get_close_matches(raw.name, published_names, 1, _CLOSE):
        # The header is that of no table.
        if not (header and any(table.has_header and table.has_name(close) for _, table in candidates)):
            return f"not a file of a known trace. Did you mean {close}?"
    return ""


def _read_header(raw: RawFile) -> list[str]:
    """Return the names in the first line of a CSV; none if it cannot be read."""
    try:
        with open_raw(raw.paths) as stream:
            members = data_members(stream, raw, lambda _: False)
            return csv.read_names(next(members).stream, raw.name)
    except RawFileError:
        return []
