"""Read the ledgers of each trace: caveats, clocks, metrics, figures and rules.

`tests/views/test_ledgers.py` has the rules that the rows of a ledger follow.
"""

import csv
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tracehouse.ingest.declarations import all_traces
from tracehouse.views.view_files import VIEWS, DefinitionError, Header, read_header

# Who or what printed a figure: the trace's publisher; a paper by its authors; a chart; slides; a source that
# is known from quotations only; a source that is known from memory only; other people.
TRUSTS = ("publisher", "paper", "read off a figure", "slides", "quoted", "recalled", "third party")
# The consequence of ignoring a caveat: users misread the result; the result covers or shows less than it
# seems to; or none, because ingest or a view handles it.
SEVERITIES = ("wrong result", "limited result", "background")
# The metrics that `catalog.metrics` lists for every trace. A trace's ledger may add others.
METRICS = (
    *("submission", "wait", "run", "requested GPUs", "allocated GPUs", "GPU utilisation", "CPU utilisation"),
    *("memory use", "power", "energy", "final state", "user", "group or recurrence", "workload"),
    *("machine placement", "GPU sharing", "fragmentation", "deadline", "time to accuracy", "hour of day"),
    "calendar date",
)
# The reason of a metric that a trace's ledger does not list.
NOT_LISTED = "No view or query of this trace computes it."

CHECK_KEYS = {
    "check": "its name: schema, table or view, and what is checked, such as openb.node.lists_agree",
    "object": "the table or view whose rows it is about, with its schema",
    "kind": "key, reference, range, derived, coverage, or agreement of views that claim one quantity",
    "rule": "what must hold",
    "caveat": "the caveat that explains breaches in the published data",
}

_CHECK_START = re.compile(r"^(?=-- check: )", re.M)

Row = TypeVar("Row", "Caveat", "Clock", "Figure", "PublishedFigure", "Metric")


@dataclass(frozen=True)
class Caveat:
    """A known pitfall of a trace, and the base tables and columns (`trace.table.column`) that it is about.

    `summary` is one sentence of at most 100 characters, and `severity` one of SEVERITIES.
    """

    name: str
    trace: str
    severity: str
    summary: str
    objects: tuple[str, ...]
    what_goes_wrong: str
    what_to_do: str
    documented_in: str


@dataclass(frozen=True)
class Clock:
    """How to read the times in some columns: their epoch, their time zone, and which parts are true.

    One second on the clock takes `scale` real seconds. A time plus `local_offset_s`, in seconds, has the hour
    and the weekday of the cluster's local time; None if that is unknown.
    """

    name: str
    trace: str
    objects: tuple[str, ...]
    epoch: str
    zone: str
    local_offset_s: float | None
    scale: float
    resolution_s: float
    true_parts: str
    fake_parts: str
    documented_in: str


@dataclass(frozen=True)
class Check:
    """A data-quality rule. `sql` counts the rows that break it.

    `caveat` names the caveat that explains breaches in the published data, or is empty.
    """

    name: str
    trace: str
    object_name: str
    kind: str
    rule: str
    caveat: str
    sql: str


@dataclass(frozen=True)
class Figure:
    """A value and the SQL that measures it.

    `relation` says how the measured value should compare with `value`: equal, at least or at most, within
    `tolerance`. `explanation` says why it differs, if it does. `needs_file` is the CSV that the figure is
    about, if its table has several: without this file, the figure has no data.
    """

    name: str
    trace: str
    statement: str
    relation: str
    value: float
    unit: str
    tolerance: float
    measured_by: str
    explanation: str
    needs_file: str


@dataclass(frozen=True)
class PublishedFigure(Figure):
    """A figure that a document prints. Its `measured_by` is empty if the trace cannot measure it."""

    printed_in: str
    trust: str


@dataclass(frozen=True)
class Metric:
    """How exactly a trace supports a metric, why, and the view or query that computes it.

    `answered_by` is empty if the metric is impossible.
    """

    trace: str
    metric: str
    exactness: str
    reason: str
    answered_by: str


def caveats(folder: Path = VIEWS) -> list[Caveat]:
    """Read every caveat of every ledger. Raises DefinitionError on an invalid line, as all of these do."""
    return _read_ledgers(folder, "caveats.csv", Caveat, "caveat")


def clocks(folder: Path = VIEWS) -> list[Clock]:
    """Read every clock of every ledger."""
    return _read_ledgers(folder, "clocks.csv", Clock, "clock")


def published(folder: Path = VIEWS) -> list[PublishedFigure]:
    """Read the figures that documents print."""
    return _read_ledgers(folder, "published.csv", PublishedFigure, "figure")


def expected(folder: Path = VIEWS) -> list[Figure]:
    """Read our own counts of the publishers' files, which no document prints.

    `traces check` compares them with the data, which finds changed files and changed SQL.
    """
    return _read_ledgers(folder, "expected.csv", Figure, "figure")


def metrics(folder: Path = VIEWS) -> list[Metric]:
    """List every metric for every trace, in the same order: METRICS, then those that ledgers add.

    A metric that the ledger of a trace does not list counts as impossible, with the reason NOT_LISTED.
    """
    found = {(one.trace, one.metric): one for one in _read_ledgers(folder, "metrics.csv", Metric, "metric")}
    added = sorted({name for _, name in found} - set(METRICS))
    return [
        found.get((trace, name)) or Metric(trace, name, "impossible", NOT_LISTED, "")
        for trace in all_traces()
        for name in (*METRICS, *added)
    ]


def checks(folder: Path = VIEWS) -> list[Check]:
    """Read every rule of every `checks.sql`."""
    return [
        _check(part, path)
        for path in sorted(folder.glob("*/checks.sql"))
        for part in _CHECK_START.split(path.read_text())
        if part.startswith("-- check: ")
    ]


def _read_ledgers(folder: Path, file: str, kind: type[Row], key: str) -> list[Row]:
    """Read a ledger of all traces: one object per row. `key` is the column with the name of a row."""
    found = []
    for path in sorted(folder.glob(f"*/{file}")):
        with path.open(newline="") as opened:
            reader = csv.DictReader(opened, strict=True)
            for row in reader:
                # Some ledgers lack optional columns.
                values = {**row, "name": row[key], "trace": path.parent.name}
                try:
                    found.append(
                        kind(**{f.name: _parse(values.get(f.name) or "", f.type) for f in fields(kind)})
                    )
                except ValueError as error:
                    raise DefinitionError(f"{path}, line {reader.line_num}: {error}") from error
    return found


def _parse(text: str, kind: object) -> Any:
    """Convert a field of a ledger to its type."""
    if kind is str:
        return text
    if kind == tuple[str, ...]:
        return tuple(text.split())
    return None if text == "unknown" else float(text)


def _check(part: str, path: Path) -> Check:
    header: Header = read_header(part, CHECK_KEYS, path)
    lines = part.splitlines()
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip().removesuffix(";")
    return Check(
        name=header.one("check"),
        trace=path.parent.name,
        object_name=header.one("object"),
        kind=header.one("kind"),
        rule=header.one("rule"),
        caveat=header.one("caveat"),
        sql=sql,
    )
