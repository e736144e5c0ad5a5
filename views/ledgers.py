"""Reads the catalog's ledgers of each trace.

`caveats.csv`, `clocks.csv`, `metrics.csv`, `published.csv` and `checks.sql`.
"""

import csv
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracehouse.ingest.declarations import all_traces
from tracehouse.ingest.reference_curves import traces_with_curves
from tracehouse.views.view_files import VIEWS, DefinitionError, Header, read_header

RELATIONS = ("equal", "at least", "at most")
TRUSTS = ("publisher", "read off a figure", "third party", "slides")
EXACTNESSES = ("exact", "approximate", "impossible")
# What people ask of a cluster trace, and what every trace must therefore answer for.
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

CHECK_KEYS = {
    "check": "its name: the table or view, and what is checked",
    "object": "the table or view whose rows it is about",
    "kind": "key, reference, range, derived, coverage, or agreement of views that claim one quantity",
    "rule": "what must hold",
    "caveat": "the trap that explains breaches in the published data",
}

_MAY_BE_NEGATIVE = ("value", "local_offset_s")
_CHECK_START = re.compile(r"^(?=-- check: )", re.M)


@dataclass(frozen=True)
class Caveat:
    """One trap of a trace, and the base tables and columns, `trace.table.column`, that it is about."""

    name: str
    trace: str
    objects: tuple[str, ...]
    what_goes_wrong: str
    what_to_do: str
    documented_in: str


@dataclass(frozen=True)
class Clock:
    """How the times in some columns are to be read: what they count from, where, and what is true of them.

    One second on the clock takes `scale` real seconds. A time plus `local_offset_s`, in seconds, has the hour
    and the weekday of the cluster's local time; None where that is unknown.
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
    """One data-quality rule: `sql` gives the number of rows that break it.

    `caveat` names the trap that explains breaches in the published data, where there is one.
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
    """One figure that a publisher printed, and the SQL that measures it, empty where nothing can.

    `relation` is what the measured value must be to the printed one: equal, at least or at most, give or take
    `tolerance`. `explanation` says why another value is to be expected, where it is. `needs_file` is the CSV
    that the figure is about, where a table is made of several: without it there are no data.
    """

    name: str
    trace: str
    statement: str
    relation: str
    value: float
    unit: str
    tolerance: float
    printed_in: str
    trust: str
    measured_by: str
    explanation: str
    needs_file: str


@dataclass(frozen=True)
class Metric:
    """What a trace can tell of one metric: how exactly, why, and the view or query that answers.

    `answered_by` is empty where it is impossible.
    """

    trace: str
    metric: str
    exactness: str
    reason: str
    answered_by: str


def caveats(folder: Path = VIEWS) -> list[Caveat]:
    """Every caveat of every ledger. Raises DefinitionError on one that makes no sense."""
    return [
        Caveat(
            row["caveat"],
            row["trace"],
            _objects(row, row["caveat"]),
            row["what_goes_wrong"],
            row["what_to_do"],
            row["documented_in"],
        )
        for row in _named_rows(folder, "caveats.csv", "caveat")
    ]


def clocks(folder: Path = VIEWS) -> list[Clock]:
    """Every clock of every ledger.

    Raises DefinitionError on one that makes no sense, and where a column of times has no clock.
    """
    found = [
        Clock(
            row["clock"],
            row["trace"],
            _objects(row, row["clock"]),
            row["epoch"],
            row["zone"],
            None if row["local_offset_s"] == "unknown" else _number(row, "clock", "local_offset_s"),
            _number(row, "clock", "scale"),
            _number(row, "clock", "resolution_s"),
            row["true_parts"],
            row["fake_parts"],
            row["documented_in"],
        )
        for row in _named_rows(folder, "clocks.csv", "clock")
    ]
    _check_times(found, {path.name for path in folder.iterdir()})
    return found


def _check_times(clocks: Sequence[Clock], traces: Collection[str]) -> None:
    told = {name for clock in clocks for name in clock.objects}
    for trace in all_traces().values():
        for table in trace.tables if trace.name in traces else ():
            for column in table.columns:
                name = f"{trace.name}.{table.name}.{column.name}"
                if column.is_time and name not in told:
                    raise DefinitionError(
                        f"{trace.name}/clocks.csv: no clock tells the time of {name}; where it is how long "
                        "something took, its declaration says `is_duration=True`"
                    )


def _named_rows(folder: Path, file: str, key: str) -> list[dict[str, str]]:
    """The rows of a ledger without an empty field, each with a name of its own that begins with its trace."""
    rows = list(_rows(folder, file))
    names = [row[key] for row in rows]
    for row in rows:
        place = f"{row['trace']}/{file}: {row[key]}"
        empty = [field for field, text in row.items() if not text]
        if empty:
            raise DefinitionError(f"{place}: its {empty[0]} is empty")
        if not re.fullmatch(rf"{row['trace']}\.[a-z][a-z0-9_]*", row[key]):
            raise DefinitionError(f"{place}: its name is {row['trace']}. and words in lower case")
        if names.count(row[key]) > 1:
            raise DefinitionError(f"{place} is there twice")
    return rows


def _objects(row: dict[str, str], name: str) -> tuple[str, ...]:
    """The tables and columns of its trace that a line names."""
    trace = all_traces()[row["trace"]]
    known = {f"{trace.name}.{table.name}" for table in trace.tables}
    known |= {f"{trace.name}.{t.name}.{column.name}" for t in trace.tables for column in t.stored_columns}
    if trace.name in traces_with_curves():
        known.add("catalog.reference_curves")
    objects = tuple(row["objects"].split())
    unknown = [named for named in objects if named not in known]
    if unknown:
        raise DefinitionError(f"{name}: {unknown[0]} is no table or column of {trace.name}")
    return objects


def published(folder: Path = VIEWS) -> list[Figure]:
    """Every published figure of every ledger. Raises DefinitionError on one that makes no sense."""
    figures = [_figure(row) for row in _rows(folder, "published.csv")]
    names = [figure.name for figure in figures]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DefinitionError(f"published.csv: {repeated[0]} is there twice")
    return figures


def metrics(folder: Path = VIEWS) -> list[Metric]:
    """Every metric of every trace, in one order: what a ledger does not have is impossible.

    Raises DefinitionError where a line makes no sense.
    """
    found: dict[tuple[str, str], Metric] = {}
    for row in _rows(folder, "metrics.csv"):
        metric = _metric(row)
        if (metric.trace, metric.metric) in found:
            raise DefinitionError(f"{metric.trace}/metrics.csv: {metric.metric} is there twice")
        found[metric.trace, metric.metric] = metric
    return [
        found.get((trace, metric)) or Metric(trace, metric, "impossible", "The trace does not record it.", "")
        for trace in all_traces()
        for metric in METRICS
    ]


def checks(folder: Path = VIEWS) -> list[Check]:
    """Every rule of every `checks.sql`."""
    return [
        _check(part, path)
        for path in sorted(folder.glob("*/checks.sql"))
        for part in _CHECK_START.split(path.read_text())
        if part.startswith("-- check: ")
    ]


def _rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    for path in sorted(folder.glob(f"*/{name}")):
        if path.parent.name not in all_traces():
            raise DefinitionError(f"{path}: there is no trace {path.parent.name}")
        with path.open(newline="") as file:
            reader = csv.DictReader(file, strict=True)
            for row in reader:
                if None in row or None in row.values():
                    raise DefinitionError(f"{path}, line {reader.line_num}: not as many fields as its header")
                yield {"trace": path.parent.name, **row}


def _metric(row: dict[str, str]) -> Metric:
    place = f"{row['trace']}/metrics.csv: {row['metric']}"
    if row["metric"] not in METRICS:
        raise DefinitionError(f"{place} is no metric: {', '.join(METRICS)}")
    if row["exactness"] not in EXACTNESSES:
        raise DefinitionError(f"{place} is {' or '.join(EXACTNESSES)}, not {row['exactness']!r}")
    if not row["reason"]:
        raise DefinitionError(f"{place} has no reason")
    if bool(row["answered_by"]) == (row["exactness"] == "impossible"):
        raise DefinitionError(
            f"{place} is answered by a view or query unless it is impossible, and only then"
        )
    return Metric(**row)


def _figure(row: dict[str, str]) -> Figure:
    name = row["figure"]
    if not name.startswith(f"{row['trace']}."):
        raise DefinitionError(f"published.csv: {name} must begin with {row['trace']}., its trace")
    for key in ("statement", "unit", "printed_in"):
        if not row[key]:
            raise DefinitionError(f"{name}: its {key} is empty")
    for key, choices in (("relation", RELATIONS), ("trust", TRUSTS)):
        if row[key] not in choices:
            raise DefinitionError(f"{name}: its {key} is {' or '.join(choices)}, not {row[key]!r}")
    return Figure(
        name=name,
        trace=row["trace"],
        statement=row["statement"],
        relation=row["relation"],
        value=_number(row, "figure", "value"),
        unit=row["unit"],
        tolerance=_number(row, "figure", "tolerance"),
        printed_in=row["printed_in"],
        trust=row["trust"],
        measured_by=row["measured_by"],
        explanation=row["explanation"],
        needs_file=_known_file(row),
    )


def _known_file(row: dict[str, str]) -> str:
    """The file that a figure needs; a ledger without such figures has no such column."""
    name = row.get("needs_file", "")
    tables = all_traces()[row["trace"]].tables
    if name and not any(re.fullmatch(table.file_name, name) for table in tables):
        raise DefinitionError(f"{row['figure']}: no table of {row['trace']} is made of {name}")
    return name


def _number(row: dict[str, str], named: str, key: str) -> float:
    """A finite number; not under 0, unless it is a value or an offset."""
    try:
        value = float(row[key])
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (key not in _MAY_BE_NEGATIVE and value < 0):
        raise DefinitionError(f"{row[named]}: its {key} is {row[key]!r}")
    return value


def _check(part: str, path: Path) -> Check:
    header: Header = read_header(part, CHECK_KEYS, path)
    lines = part.splitlines()
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip().removesuffix(";")
    missing = [key for key in ("check", "object", "kind", "rule") if not header.one(key)]
    if missing:
        raise DefinitionError(f"{path}: {header.one('check')} has no `-- {missing[0]}:` line")
    return Check(
        name=header.one("check"),
        trace=path.parent.name,
        object_name=header.one("object"),
        kind=header.one("kind"),
        rule=header.one("rule"),
        caveat=header.one("caveat"),
        sql=sql,
    )
