"""Collect what is known about all traces: caveats, clocks and metrics as declared, figures and rules.

`traces lint` checks the rules that they follow.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tracehouse.definitions.requests import find_missing, metrics_of
from tracehouse.definitions.view_files import VIEWS, DefinitionError, Header, read_header
from tracehouse.ingest.declare.metadata import Caveat, Clock, Metric
from tracehouse.ingest.declare.trace import Trace, all_traces

# How a measured value compares with a figure.
RELATIONS = ("equal", "at least", "at most")
# Who or what printed a figure: the trace's publisher; a paper by its authors; a chart; slides; a source that
# is known from quotations only; a source that is known from memory only; other people. Each with its words
# in a summary.
TRUSTS = {
    "publisher": "of the publisher",
    "paper": "of papers",
    "read off a figure": "read off charts",
    "slides": "on slides",
    "quoted": "quoted elsewhere",
    "recalled": "quoted from memory",
    "third party": "printed by others",
}
# Sources by the authors of the trace or of a paper: `traces verify` fails if one of their figures differs.
OF_AUTHORS = ("publisher", "paper", "read off a figure", "slides")
# The columns of the value that an explanation leads to. Both may be empty.
EXPLAINED = ("explained_value", "explained_tolerance")
# The metrics that `catalog.metrics` lists for every trace. A trace may add others.
METRICS = (
    *("submission", "wait", "run", "requested GPUs", "allocated GPUs", "GPU utilisation", "CPU utilisation"),
    *("memory use", "power", "energy", "final state", "user", "group or recurrence", "workload"),
    *("machine placement", "GPU sharing", "fragmentation", "deadline", "time to accuracy", "hour of day"),
    "calendar date",
)
# The reason of a metric that a trace does not declare.
NOT_LISTED = "No view or query of this trace computes it."

CHECK_KEYS = {
    "check": "its name: schema, table or view, and what is checked, such as openb.node.lists_agree",
    "object": "the table or view whose rows it is about, with its schema",
    "kind": "key, reference, range, derived, coverage, or agreement of views that claim one quantity",
    "rule": "what must hold",
    "caveat": "the caveat that explains breaches in the published data",
}

_CHECK_START = re.compile(r"^(?=-- check: )", re.M)

Row = TypeVar("Row", "Figure", "PublishedFigure")


@dataclass(frozen=True)
class Check:
    """A data-quality rule. `sql` counts the rows that break it.

    `caveat` names the caveat that explains breaches in the published data, or is empty. `needs_all_rows` is
    true if rows that a part of a trace lacks would break the rule.
    """

    name: str
    trace: str
    object_name: str
    kind: str
    rule: str
    caveat: str
    sql: str
    needs_all_rows: bool = False


@dataclass(frozen=True)
class Figure:
    """A value and the SQL that measures it.

    `relation` says how the measured value should compare with `value`: equal, at least or at most, within
    `tolerance`. `explanation` says why it differs, if it does, and `explained_value` is the value that the
    explanation leads to, within `explained_tolerance`; both are None if it is not known. `needs_file` is the
    CSV that the figure is about, if its table has several: without this file, the figure has no data.
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
    explained_value: float | None
    explained_tolerance: float | None
    needs_file: str


@dataclass(frozen=True)
class PublishedFigure(Figure):
    """A figure that a document prints. Its `measured_by` is empty if the trace cannot measure it."""

    printed_in: str
    trust: str


def caveats() -> dict[Caveat, tuple[str, ...]]:
    """Return every caveat with the full names of the base tables and columns that it concerns."""
    return {k: v for trace in all_traces().values() for k, v in trace.objects_by_caveat.items()}


def clocks() -> dict[Clock, tuple[str, ...]]:
    """Return every clock with the full names of its columns."""
    return {k: v for trace in all_traces().values() for k, v in trace.columns_by_clock.items()}


def published(folder: Path = VIEWS) -> list[PublishedFigure]:
    """Read the figures that documents print."""
    return _read_figures(folder, "published.csv", PublishedFigure)


def expected(folder: Path = VIEWS) -> list[Figure]:
    """Read our own counts of the publishers' files, which no document prints.

    `traces check` compares them with the data, which finds changed files and changed SQL.
    """
    return _read_figures(folder, "expected.csv", Figure)


def supported_metrics(trace: Trace) -> dict[str, Metric]:
    """Return the metrics of a trace by name: those that follow from its requests, unless it declares them."""
    of_requests: Iterable[Metric] = ()
    if trace.requests and not find_missing(trace, trace.requests):
        of_requests = metrics_of(trace, trace.requests)
    return {one.name: one for one in (*of_requests, *trace.metrics)}


def metrics() -> list[tuple[str, Metric]]:
    """List every metric for every trace, in the same order: METRICS, then those that traces add.

    A metric that a trace neither declares nor has by its requests counts as impossible, with the reason
    NOT_LISTED.
    """
    found = {
        (name, one.name): one
        for name, trace in all_traces().items()
        for one in supported_metrics(trace).values()
    }
    added = sorted({name for _, name in found} - set(METRICS))
    return [
        (trace, found.get((trace, name)) or Metric(name, "impossible", NOT_LISTED))
        for trace in all_traces()
        for name in (*METRICS, *added)
    ]


def checks(folder: Path = VIEWS) -> list[Check]:
    """Read every rule of every `checks.sql`."""
    return [
        _check(part, path)
        for path in sorted(folder.glob("*/checks.sql"))
        for part in _CHECK_START.split(path.read_text(encoding="utf-8"))
        if part.startswith("-- check: ")
    ]


def _read_figures(folder: Path, file: str, kind: type[Row]) -> list[Row]:
    """Read the figures of all traces. Raises DefinitionError on an invalid line."""
    found = []
    for path in sorted(folder.glob(f"*/{file}")):
        with path.open(newline="", encoding="utf-8") as opened:
            reader = csv.DictReader(opened, strict=True)
            try:
                found += [_figure(row, path.parent.name, kind) for row in reader]
            except ValueError as error:
                raise DefinitionError(f"{path}, line {reader.line_num}", str(error)) from error
            except csv.Error as error:
                # The reader counts a line when it has parsed it.
                raise DefinitionError(f"{path}, line {reader.line_num + 1}", str(error)) from error
    return found


def _figure(row: Mapping[str, str], trace: str, kind: type[Row]) -> Row:
    # Some files lack optional columns.
    values = {**row, "name": row["figure"], "trace": trace}
    read: dict[str, Any] = {field.name: values.get(field.name) or "" for field in fields(kind)}
    read |= {name: float(read[name]) for name in ("value", "tolerance")}
    read |= {name: float(read[name]) if read[name] else None for name in EXPLAINED}
    return kind(**read)


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
        needs_all_rows=header.one("kind") in ("reference", "coverage"),
    )
