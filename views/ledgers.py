"""Read and validate the ledgers of each trace: caveats, clocks, metrics, figures and rules."""

import csv
import difflib
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.reference_curves import traces_with_curves
from tracehouse.views.view_files import VIEWS, DefinitionError, Header, read_header

RELATIONS = ("equal", "at least", "at most")
# Who or what printed a figure: the trace's publisher; a paper by its authors; a chart; slides; a source that
# is known from quotations only; a source that is known from memory only; other people.
TRUSTS = ("publisher", "paper", "read off a figure", "slides", "quoted", "recalled", "third party")
EXACTNESSES = ("exact", "approximate", "impossible")
# The consequence of ignoring a caveat: users misread the result; the result covers or shows less than it
# seems to; or none, because ingest or a view handles it.
SEVERITIES = ("wrong result", "limited result", "background")
LONGEST_SUMMARY = 100
# The metrics that `catalog.metrics` lists for every trace. A trace's ledger may add others.
METRICS = (
    "submission",
    "wait",
    "run",
    "requested GPUs",
    "allocated GPUs",
    "GPU utilisation",
    "CPU utilisation",
    "memory use",
    "power",
    "energy",
    "final state",
    "user",
    "group or recurrence",
    "workload",
    "machine placement",
    "GPU sharing",
    "fragmentation",
    "deadline",
    "time to accuracy",
    "hour of day",
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

_CHOICES = {"severity": SEVERITIES, "relation": RELATIONS, "trust": TRUSTS, "exactness": EXACTNESSES}
_MAY_BE_EMPTY = {"measured_by", "explanation", "needs_file", "answered_by"}
_MAY_BE_NEGATIVE = {"value", "local_offset_s"}
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
    """Read every caveat of every ledger. Raises DefinitionError on an invalid one."""
    found = _read_ledgers(folder, "caveats.csv", Caveat, "caveat")
    for caveat in found:
        _check_names(caveat.name, caveat.trace, caveat.objects)
        if len(caveat.summary) > LONGEST_SUMMARY:
            raise DefinitionError(
                f"{caveat.name}: summary has {len(caveat.summary)} characters, at most {LONGEST_SUMMARY} are "
                "allowed"
            )
    return found


def clocks(folder: Path = VIEWS) -> list[Clock]:
    """Read every clock of every ledger.

    Raises DefinitionError on an invalid one, and if a column of times has no clock.
    """
    found = _read_ledgers(folder, "clocks.csv", Clock, "clock")
    for clock in found:
        _check_names(clock.name, clock.trace, clock.objects)
    _require_clocks(found, {path.name for path in folder.iterdir()})
    return found


def published(folder: Path = VIEWS) -> list[PublishedFigure]:
    """Read the figures that documents print. Raises DefinitionError on an invalid one."""
    return _read_figures(folder, "published.csv", PublishedFigure)


def expected(folder: Path = VIEWS) -> list[Figure]:
    """Read the counts of published files that no document prints. Raises DefinitionError on an invalid one.

    `traces check` compares them with the data, which finds changed files and changed SQL.
    """
    found = _read_figures(folder, "expected.csv", Figure)
    for figure in found:
        if not figure.measured_by:
            raise DefinitionError(f"{figure.name}: measured_by is empty")
    return found


def metrics(folder: Path = VIEWS) -> list[Metric]:
    """List every metric for every trace, in the same order: METRICS, then those that ledgers add.

    A metric that the ledger of a trace lacks is impossible. Raises DefinitionError on an invalid line.
    """
    found = {(one.trace, one.metric): one for one in _read_ledgers(folder, "metrics.csv", Metric, "metric")}
    for metric in found.values():
        place = f"{metric.trace}/metrics.csv: {metric.metric}"
        similar = difflib.get_close_matches(metric.metric, METRICS, n=1, cutoff=0.75)
        if metric.metric not in METRICS and similar:
            raise DefinitionError(f"{place}: did you mean {similar[0]}? A new metric needs another name")
        if bool(metric.answered_by) == (metric.exactness == "impossible"):
            raise DefinitionError(
                f"{place}: answered_by must name a view or query, or be empty if the metric is impossible"
            )
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
    """Read a ledger of all traces: one object per row. `key` is the column with the name of a row.

    Raises DefinitionError if a row does not fit the fields of `kind`, or a trace has two rows of one name.
    """
    found = []
    for path in sorted(folder.glob(f"*/{file}")):
        trace = path.parent.name
        if trace not in all_traces():
            raise DefinitionError(f"{path}: no trace is called {trace}")
        names = set()
        with path.open(newline="") as opened:
            reader = csv.DictReader(opened, strict=True)
            for row in reader:
                if None in row or None in row.values():
                    raise DefinitionError(
                        f"{path}, line {reader.line_num}: not as many fields as the header. "
                        "Quote a field that contains a comma"
                    )
                place = f"{trace}/{file}: {row[key]}"
                if row[key] in names:
                    raise DefinitionError(f"{place} occurs twice")
                names.add(row[key])
                values = {"name": row[key], **row, "trace": trace}
                found.append(
                    kind(
                        **{
                            field.name: _parse(values, field.name, field.type, place)
                            for field in fields(kind)
                        }
                    )
                )
    return found


def _parse(row: dict[str, str], name: str, kind: object, place: str) -> Any:
    """Convert a field of a ledger to its type. Raises DefinitionError if the text is not valid."""
    # Some ledgers lack optional columns.
    text = row.get(name, "")
    if not text and name not in _MAY_BE_EMPTY:
        raise DefinitionError(f"{place}: {name} is empty")
    if name in _CHOICES and text not in _CHOICES[name]:
        raise DefinitionError(f"{place}: {name} must be {' or '.join(_CHOICES[name])}, not {text!r}")
    if kind is str:
        return text
    if kind == tuple[str, ...]:
        return tuple(text.split())
    if kind == float | None and text == "unknown":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (value < 0 and name not in _MAY_BE_NEGATIVE):
        least = "" if name in _MAY_BE_NEGATIVE else " of at least 0"
        raise DefinitionError(f"{place}: {name} must be a number{least}, not {text!r}")
    return value


def _check_names(name: str, trace_name: str, objects: Sequence[str]) -> None:
    """Check that a name begins with its trace, and that its objects are tables or columns of that trace."""
    if not re.fullmatch(rf"{trace_name}\.[a-z][a-z0-9_]*", name):
        raise DefinitionError(f"{name}: the name must be {trace_name}. and words in lower case")
    trace = all_traces()[trace_name]
    known = {f"{trace_name}.{table.name}" for table in trace.tables}
    known |= {f"{trace_name}.{t.name}.{column.name}" for t in trace.tables for column in t.stored_columns}
    if trace_name in traces_with_curves():
        known.add("catalog.reference_curves")
    if unknown := [one for one in objects if one not in known]:
        raise DefinitionError(f"{name}: {unknown[0]} is not a table or column of {trace_name}")


def _require_clocks(clocks: Sequence[Clock], traces: Collection[str]) -> None:
    """Check that every column of times has a clock, including columns from file and folder names."""
    covered = {name for clock in clocks for name in clock.objects}
    for trace in all_traces().values():
        for table in trace.tables if trace.name in traces else ():
            for column in table.stored_columns:
                name = f"{trace.name}.{table.name}.{column.name}"
                if column.is_time and name not in covered:
                    raise DefinitionError(
                        f"views/{trace.name}/clocks.csv: no clock has {name} among its objects; declare the "
                        "column with `is_duration=True` if it is a duration"
                    )


Printed = TypeVar("Printed", Figure, PublishedFigure)


def _read_figures(folder: Path, file: str, kind: type[Printed]) -> list[Printed]:
    """Read one of the two ledgers of figures. A name must be unique in both together."""
    found = _read_ledgers(folder, file, kind, "figure")
    other = "expected.csv" if file == "published.csv" else "published.csv"
    others = {
        row["figure"] for path in folder.glob(f"*/{other}") for row in csv.DictReader(path.open(newline=""))
    }
    for figure in found:
        if figure.name in others:
            raise DefinitionError(f"published.csv, expected.csv: {figure.name} occurs twice")
        if not figure.name.startswith(f"{figure.trace}."):
            raise DefinitionError(f"{figure.name} must begin with {figure.trace}., its trace")
        spellings = spell_value(figure.value)
        if not any(spelling in figure.statement for spelling in spellings):
            raise DefinitionError(
                f"{figure.name}: the statement must contain the value, written as "
                f"{' or '.join(spellings)}: {figure.statement}"
            )
        tables = all_traces()[figure.trace].tables
        if figure.needs_file and not any(
            re.fullmatch(table.file_name, figure.needs_file) for table in tables
        ):
            raise DefinitionError(
                f"{figure.name}: no table of {figure.trace} is read from {figure.needs_file}"
            )
    return found


def spell_value(value: float) -> tuple[str, ...]:
    """Return the ways in which a figure's statement may write its value: 1,200,000 or 1.2 million."""
    millions = (f"{value / 1e6:,.15g} million", f"{value / 1e9:,.15g} billion")
    return (f"{value:,.15g}", *(millions if abs(value) >= 1e6 else ()))


def _check(part: str, path: Path) -> Check:
    header: Header = read_header(part, CHECK_KEYS, path)
    lines = part.splitlines()
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip().removesuffix(";")
    missing = [key for key in ("check", "object", "kind", "rule") if not header.one(key)]
    if missing:
        raise DefinitionError(f"{path}: the rule {header.one('check')} has no `-- {missing[0]}:` line")
    return Check(
        name=header.one("check"),
        trace=path.parent.name,
        object_name=header.one("object"),
        kind=header.one("kind"),
        rule=header.one("rule"),
        caveat=header.one("caveat"),
        sql=sql,
    )
