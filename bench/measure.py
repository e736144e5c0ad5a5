"""Compute medians and ratios, compare ratios with goals, and write a table and a chart.

    rows = [Row("pai.instance", {"ours": [2.1, 2.0, 2.2], "pandas": [15.1, 15.4, 15.2]}, {"ours": 420.0})]
    goals = [Goal("pandas", "ours", at_least=5)]
    write("ingest", "Cost of an ingest", rows, goals, ["3 interleaved rounds", environment("duckdb")])

writes bench/ingest.txt and bench/ingest.svg, and returns the text.
"""

import datetime as dt
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import altair

FOLDER = Path(__file__).parent

PANEL_WIDTH, ROW_HEIGHT = 220, 18
WIDE = 4
MET, MISSED = "#4c78a8", "#e45756"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The lowest or the highest number that reaches a goal."""

    at_least: float | None = None
    at_most: float | None = None

    @property
    def limit(self) -> float:
        """The bound as a number."""
        found = self.at_least if self.at_most is None else self.at_most
        assert found is not None, f"{self} has no bound"
        return found

    def is_met(self, value: float) -> bool:
        """Return whether an unrounded number is within the bound."""
        return value >= self.limit if self.at_most is None else value <= self.limit


@dataclass(frozen=True)
class Goal(Bound):
    """A bound for the ratio of the medians of two implementations."""

    over: str
    under: str

    @property
    def name(self) -> str:
        """The name of the ratio, such as `pandas / ours`."""
        return f"{self.over} / {self.under}"

    @property
    def bound(self) -> str:
        """The bound in words, such as `at least 10`."""
        return f"at {'least' if self.at_most is None else 'most'} {self.limit:g}"


@dataclass(frozen=True)
class Row:
    """One measured task: the seconds of each implementation in each round, and its peak memory."""

    name: str
    seconds: Mapping[str, Sequence[float]]
    peak_mb: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def median_s(self, implementation: str) -> float | None:
        """Return the median of an implementation's seconds, or None if it was not timed."""
        found = self.seconds.get(implementation)
        return statistics.median(found) if found else None

    def ratio(self, goal: Goal) -> float | None:
        """Return the ratio of a goal's medians, or None if one of the two was not timed."""
        over, under = self.median_s(goal.over), self.median_s(goal.under)
        return over / under if over is not None and under is not None else None


def environment(*packages: str) -> str:
    """Return one line with the machine, the versions of Python and of packages, and the date."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}; {dt.datetime.now(dt.UTC):%Y-%m-%d}"
    )


def table(rows: Sequence[Row], goals: Sequence[Goal]) -> str:
    """Return a text table of medians in ms, ratios and peak memory, and a summary of each goal.

    A star marks a ratio that misses its goal.
    """
    implementations = list(dict.fromkeys(name for row in rows for name in row.seconds))
    weighed = [name for name in implementations if any(name in row.peak_mb for row in rows)]
    heads = ["", *(f"{name} ms" for name in implementations), *(goal.name for goal in goals)]
    heads += [f"{name} MB" for name in weighed]
    lines = [heads]
    for row in rows:
        cells = [row.name]
        cells += [_format_cell(row.median_s(name), lambda s: f"{1000 * s:,.1f}") for name in implementations]
        cells += [_format_cell(row.ratio(goal), _ratio_format(goal)) for goal in goals]
        cells += [_format_cell(row.peak_mb.get(name), lambda mb: f"{mb:,.0f}") for name in weighed]
        lines.append(cells)
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    text = [
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in pairs)
        for pairs in (list(enumerate(zip(line, widths, strict=True))) for line in lines)
    ]
    notes = [f"{row.name}: {row.note}" for row in rows if row.note]
    return "\n".join([*text, "", *(summary(rows, goal) for goal in goals), *notes])


def summary(rows: Sequence[Row], goal: Goal) -> str:
    """Return a line with the number of rows that reach a goal, the median ratio, and the worst ratio."""
    ratios = {row.name: ratio for row in rows if (ratio := row.ratio(goal)) is not None}
    if not ratios:
        return f"{goal.name}, {goal.bound}: not measured"
    reached = sum(map(goal.is_met, ratios.values()))
    choose = max if goal.at_most is not None else min
    worst = choose(ratios, key=lambda name: ratios[name])
    return (
        f"{goal.name}, {goal.bound}: reached by {reached} of {len(ratios)}, "
        f"median {statistics.median(ratios.values()):.2f}, worst {ratios[worst]:.2f} ({worst})"
    )


def chart(title: str, rows: Sequence[Row], goals: Sequence[Goal]) -> "altair.HConcatChart":
    """Return a panel per goal: a point for each row's ratio, and a line at the goal."""
    import altair

    names = [row.name for row in rows]
    panels: list[Any] = []
    for goal in goals:
        values = [
            {"name": row.name, "ratio": ratio, "goal": "reached" if goal.is_met(ratio) else "missed"}
            for row in rows
            if (ratio := row.ratio(goal)) is not None
        ]
        # Only the first panel has row labels.
        axis = altair.Axis(title=None, labels=not panels, ticks=not panels, grid=True, labelLimit=260)
        y = altair.Y("name:N", sort=names, axis=axis, scale=altair.Scale(domain=names))
        heading = f"{goal.name} ({goal.bound})"
        least, most = _scale_domain([float(value["ratio"]) for value in values] + [goal.limit])
        # A wide range gets a logarithmic scale.
        kind: Literal["log", "linear"] = "log" if most > WIDE * least else "linear"
        scale = altair.Scale(type=kind, domain=[least, most], nice=False, zero=False)
        x = altair.X("ratio:Q", title=heading, scale=scale, axis=altair.Axis(tickCount=5))
        colors = altair.Scale(domain=["reached", "missed"], range=[MET, MISSED])
        points = altair.Chart(altair.Data(values=values)).mark_point(filled=True, size=70, opacity=1)
        points = points.encode(x=x, y=y, color=altair.Color("goal:N", title="goal", scale=colors))
        line = altair.Chart(altair.Data(values=[{"ratio": goal.limit}])).mark_rule(strokeDash=[4, 3])
        layered = altair.layer(line.encode(x=x), points)
        panels.append(layered.properties(width=PANEL_WIDTH, height=ROW_HEIGHT * len(names)))
    return altair.hconcat(*panels, title=altair.Title(title, anchor="middle")).configure_view(stroke="#ddd")


def write(
    name: str,
    title: str,
    rows: Sequence[Row],
    goals: Sequence[Goal],
    facts: Sequence[str] = (),
    folder: Path = FOLDER,
) -> str:
    """Write the table as `<name>.txt` and the chart as `<name>.svg` to a folder. Return the text."""
    text = "\n".join([title, *facts, "", table(rows, goals), ""])
    (folder / f"{name}.txt").write_text(text)
    chart(title, rows, goals).save(str(folder / f"{name}.svg"))
    return text


def _scale_domain(values: Sequence[float]) -> tuple[float, float]:
    """Return the domain of an axis that shows all values, with a margin."""
    margin = (max(values) / min(values)) ** 0.06 * 1.01
    return min(values) / margin, max(values) * margin


def _ratio_format(goal: Goal) -> Any:
    return lambda ratio: f"{ratio:.2f}{' ' if goal.is_met(ratio) else '*'}"


def _format_cell(value: float | None, written: Any) -> str:
    return "-" if value is None else written(value)


def _processor() -> str:
    """Return the processor's model, or its architecture if the system does not name the model."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
