"""Read and validate the ledgers of each trace: caveats, clocks, metrics, figures and rules."""

import csv
import difflib
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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

_MAY_BE_NEGATIVE = ("value", "local_offset_s")
_CHECK_START = re.compile(r"^(?=-- check: )", re.M)


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
    return [_caveat(row) for row in _named_rows(folder, "caveats.csv", "caveat")]


def _caveat(row: dict[str, str]) -> Caveat:
    name = row["caveat"]
    _require_choice(name, row, "severity", SEVERITIES)
    if len(row["summary"]) > LONGEST_SUMMARY:
        raise DefinitionError(
            f"{name}: summary has {len(row['summary'])} characters, at most {LONGEST_SUMMARY} are allowed"
        )
    return Caveat(
        name=name,
        trace=row["trace"],
        severity=row["severity"],
        summary=row["summary"],
        objects=_objects(row, name),
        what_goes_wrong=row["what_goes_wrong"],
        what_to_do=row["what_to_do"],
        documented_in=row["documented_in"],
    )


def _require_choice(place: str, row: dict[str, str], key: str, choices: Sequence[str]) -> None:
    if row[key] not in choices:
        raise DefinitionError(f"{place}: {key} must be {' or '.join(choices)}, not {row[key]!r}")


def clocks(folder: Path = VIEWS) -> list[Clock]:
    """Read every clock of every ledger.

    Raises DefinitionError on an invalid one, and if a column of times has no clock.
    """
    clocks = [
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
    _require_clocks(clocks, {path.name for path in folder.iterdir()})
    return clocks


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


def _named_rows(folder: Path, file: str, key: str) -> list[dict[str, str]]:
    """Read a ledger whose rows have no empty field and a unique name that begins with their trace."""
    rows = list(_read_ledger(folder, file))
    names = [row[key] for row in rows]
    for row in rows:
        place = f"{row['trace']}/{file}: {row[key]}"
        empty = [field for field, text in row.items() if not text]
        if empty:
            raise DefinitionError(f"{place}: {empty[0]} is empty")
        if not re.fullmatch(rf"{row['trace']}\.[a-z][a-z0-9_]*", row[key]):
            raise DefinitionError(f"{place}: the name must be {row['trace']}. and words in lower case")
    _require_unique(f"{file}: ", names)
    return rows


def _require_unique(place: str, names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DefinitionError(f"{place}{repeated[0]} occurs twice")


def _objects(row: dict[str, str], name: str) -> tuple[str, ...]:
    """Return the tables and columns of its trace that a line names."""
    trace = all_traces()[row["trace"]]
    known = {f"{trace.name}.{table.name}" for table in trace.tables}
    known |= {f"{trace.name}.{t.name}.{column.name}" for t in trace.tables for column in t.stored_columns}
    if trace.name in traces_with_curves():
        known.add("catalog.reference_curves")
    objects = tuple(row["objects"].split())
    unknown = [named for named in objects if named not in known]
    if unknown:
        raise DefinitionError(f"{name}: {unknown[0]} is not a table or column of {trace.name}")
    return objects


def published(folder: Path = VIEWS) -> list[PublishedFigure]:
    """Read the figures that documents print. Raises DefinitionError on an invalid one."""
    return [_published_figure(row) for row in _figure_rows(folder, "published.csv")]


def expected(folder: Path = VIEWS) -> list[Figure]:
    """Read the counts of published files that no document prints. Raises DefinitionError on an invalid one.

    `traces check` compares them with the data, which finds changed files and changed SQL.
    """
    return [_figure(row, "measured_by") for row in _figure_rows(folder, "expected.csv")]


def _figure_rows(folder: Path, file: str) -> list[dict[str, str]]:
    """Read one of the two ledgers of figures. A name must be unique in both together."""
    ledgers = {name: list(_read_ledger(folder, name)) for name in ("published.csv", "expected.csv")}
    _require_unique(
        "published.csv, expected.csv: ", [row["figure"] for rows in ledgers.values() for row in rows]
    )
    return ledgers[file]


def metrics(folder: Path = VIEWS) -> list[Metric]:
    """List every metric for every trace, in the same order: METRICS, then those that ledgers add.

    A metric that the ledger of a trace lacks is impossible. Raises DefinitionError on an invalid line.
    """
    found = [_metric(row) for row in _read_ledger(folder, "metrics.csv")]
    for trace in all_traces():
        names = [metric.metric for metric in found if metric.trace == trace]
        _require_unique(f"{trace}/metrics.csv: ", names)
    by_name = {(metric.trace, metric.metric): metric for metric in found}
    added = sorted({metric.metric for metric in found} - set(METRICS))
    return [
        by_name.get((trace, name)) or Metric(trace, name, "impossible", NOT_LISTED, "")
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


def _read_ledger(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a ledger for all traces. Each row has its trace as an additional field."""
    for path in sorted(folder.glob(f"*/{name}")):
        if path.parent.name not in all_traces():
            raise DefinitionError(f"{path}: no trace is called {path.parent.name}")
        with path.open(newline="") as file:
            reader = csv.DictReader(file, strict=True)
            for row in reader:
                if None in row or None in row.values():
                    raise DefinitionError(
                        f"{path}, line {reader.line_num}: not as many fields as the header. "
                        "Quote a field that contains a comma"
                    )
                yield {"trace": path.parent.name, **row}


def _metric(row: dict[str, str]) -> Metric:
    place = f"{row['trace']}/metrics.csv: {row['metric']}"
    similar = difflib.get_close_matches(row["metric"], METRICS, n=1, cutoff=0.75)
    if row["metric"] not in METRICS and similar:
        raise DefinitionError(f"{place}: did you mean {similar[0]}? A new metric needs another name")
    _require_choice(place, row, "exactness", EXACTNESSES)
    if not row["reason"]:
        raise DefinitionError(f"{place}: reason is empty")
    if bool(row["answered_by"]) == (row["exactness"] == "impossible"):
        raise DefinitionError(
            f"{place}: answered_by must name a view or query, or be empty if the metric is impossible"
        )
    return Metric(**row)


def _published_figure(row: dict[str, str]) -> PublishedFigure:
    _require_choice(row["figure"], row, "trust", TRUSTS)
    return PublishedFigure(
        **asdict(_figure(row, "printed_in")), printed_in=row["printed_in"], trust=row["trust"]
    )


def _figure(row: dict[str, str], required: str) -> Figure:
    """Return a line of a ledger as a figure. `required` is a column that this ledger may not leave empty."""
    name = row["figure"]
    if not name.startswith(f"{row['trace']}."):
        raise DefinitionError(f"{name} must begin with {row['trace']}., its trace")
    for key in ("statement", "unit", required):
        if not row[key]:
            raise DefinitionError(f"{name}: {key} is empty")
    _require_choice(name, row, "relation", RELATIONS)
    value = _number(row, "figure", "value")
    spellings = spell_value(value)
    if not any(spelling in row["statement"] for spelling in spellings):
        raise DefinitionError(
            f"{name}: the statement must contain the value, written as {' or '.join(spellings)}: "
            f"{row['statement']}"
        )
    return Figure(
        name=name,
        trace=row["trace"],
        statement=row["statement"],
        relation=row["relation"],
        value=value,
        unit=row["unit"],
        tolerance=_number(row, "figure", "tolerance"),
        measured_by=row["measured_by"],
        explanation=row["explanation"],
        needs_file=_known_file(row),
    )


def spell_value(value: float) -> tuple[str, ...]:
    """Return the ways in which a figure's statement may write its value: 1,200,000 or 1.2 million."""
    millions = (f"{value / 1e6:,.15g} million", f"{value / 1e9:,.15g} billion")
    return (f"{value:,.15g}", *(millions if abs(value) >= 1e6 else ()))


def _known_file(row: dict[str, str]) -> str:
    """Return the file that a figure needs. The column is optional in a ledger."""
    name = row.get("needs_file", "")
    tables = all_traces()[row["trace"]].tables
    if name and not any(re.fullmatch(table.file_name, name) for table in tables):
        raise DefinitionError(f"{row['figure']}: no table of {row['trace']} is read from {name}")
    return name


def _number(row: dict[str, str], named: str, key: str) -> float:
    """Return a finite number; at least 0 unless it is a value or an offset."""
    try:
        value = float(row[key])
    except ValueError:
        value = math.nan
    negative_allowed = key in _MAY_BE_NEGATIVE
    if not math.isfinite(value) or (value < 0 and not negative_allowed):
        least = "" if negative_allowed else " of at least 0"
        raise DefinitionError(f"{row[named]}: {key} must be a number{least}, not {row[key]!r}")
    return value


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
