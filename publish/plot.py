"""Draws the answer of a named query as its `-- chart:` line says, in a PNG or SVG file.

Vega-Lite draws, by way of Altair and without a browser; both are imported only here, as few need them.
"""

import datetime as dt
import io
import math
import textwrap
from collections.abc import Collection, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import duckdb
import pyarrow as pa
from pyarrow import types

from tracehouse.engines.duckdb.read.answer import Question, notes, run
from tracehouse.ingest.errors import UsageError, UserError
from tracehouse.sql.query_files import Axis, Chart, read_chart
from tracehouse.views.view_files import DefinitionError

if TYPE_CHECKING:
    import altair

ENDINGS = (".png", ".svg")

WIDTH, HEIGHT = 560, 320
LETTER_WIDTH = 7
TITLE_LETTERS = 75
MOST_MARKED_POINTS = 200
COLORS_OF_A_SCHEME = 10

# Units that a column's name may end in, and how people write them.
UNITS = {
    "s": "s",
    "ms": "ms",
    "h": "h",
    "w": "W",
    "j": "J",
    "kwh": "kWh",
    "gb": "GB",
    "gib": "GiB",
    "mib": "MiB",
    "pct": "%",
}
GPU_TIME = {"gpu_h": "GPU-hours", "gpu_s": "GPU-seconds"}
CAPITALS = {"gpu": "GPU", "gpus": "GPUs", "cpu": "CPU", "cpus": "CPUs"}

Row = dict[str, Any]


def check_path(path: Path) -> None:
    """Raise UsageError unless a picture can have a path's ending."""
    if path.suffix not in ENDINGS:
        raise UsageError(f"{path}: the name of a picture ends in {' or '.join(ENDINGS)}")


def draw(connection: duckdb.DuckDBPyConnection, question: Question, ending: str, file: BinaryIO) -> None:
    """Answer a named question and write its picture, of the kind that an ending stands for.

    Raises UserError where there is nothing to draw, or nothing to draw with.
    """
    picture = picture_of(connection, question)
    if ending == ".png":
        picture.save(file, format="png", scale_factor=2)
    else:
        text = io.StringIO()
        picture.save(text, format="svg")
        file.write(text.getvalue().encode())


def picture_of(connection: duckdb.DuckDBPyConnection, question: Question) -> "altair.Chart":
    """Answer a named question, and lay the answer out as its chart line says."""
    _check_extra()
    found = connection.execute(
        "select title, chart from catalog.queries where query_name = $name", {"name": question.name}
    ).fetchall()
    # A view or base table has none.
    title, line = found[0] if found else ("", "")
    if not line:
        raise UserError(f"{question.name} has no chart")
    chart = read_chart(line, question.name)
    answered = run(connection, question).read_all()
    _check(chart, answered.schema, question.name)
    rows, left_out = _drawable(answered.to_pylist(), chart)
    if not rows:
        raise UserError(f"{question.name}: there is nothing to draw, the answer holds no {chart.y.column}")
    given = ", ".join(f"{name} = {_name(value)}" for name, value in question.values.items())
    is_synthetic = any(note.name == "synthetic data" for note in notes(connection, question.name))
    remarks = ["synthetic data" if is_synthetic else "", given, *left_out]
    times = {name for name in chart.columns if types.is_temporal(answered.schema.field(name).type)}
    return _laid_out(chart, rows, times, title, [remark for remark in remarks if remark])


def axis_title(column: str) -> str:
    """A column's name for people: `p90_wait_s` is p90 wait (s), `gpu_h_pct` is GPU-hours (%)."""
    for ending, written in GPU_TIME.items():
        if column.endswith(ending):
            return f"{_words(column.removesuffix(ending))} {written}".strip()
    words, _, last = column.rpartition("_")
    if words and last in UNITS and not words.endswith("_per"):
        return f"{axis_title(words)} ({UNITS[last]})"
    return _words(column)


def _words(column: str) -> str:
    return " ".join(CAPITALS.get(word, word) for word in column.split("_")).strip()


def _check_extra() -> None:
    try:
        for module in ("altair", "vl_convert"):
            import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(
            f"pictures need {error.name}, which is not installed: pip install 'tracehouse[plot]'"
        ) from None


def _check(chart: Chart, answered: pa.Schema, name: str) -> None:
    """Raise DefinitionError where a chart shows a column that the answer lacks, or a scale of no numbers."""
    missing = [column for column in chart.columns if column not in answered.names]
    if missing:
        raise DefinitionError(f"{name}: its chart shows {missing[0]}, which its answer does not have")
    scales = [chart.y.column, *(axis.column for axis in (chart.x,) if axis.is_log)]
    for column in scales:
        kind = answered.field(column).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
            raise DefinitionError(f"{name}: its chart has a scale of {column}, a {kind}")


def _drawable(answered: Sequence[Row], chart: Chart) -> tuple[list[Row], list[str]]:
    """The rows that can be drawn, and remarks on those that a logarithmic axis cannot show."""
    rows = [
        {column: _plain(row[column]) for column in chart.columns}
        for row in answered
        if row[chart.y.column] is not None and (not chart.omit or row[chart.x.column] != chart.omit)
    ]
    left_out = []
    for axis in (chart.x, chart.y):
        if axis.is_log:
            placed = [row for row in rows if row[axis.column] is not None and row[axis.column] > 0]
            if len(placed) < len(rows):
                left_out.append(f"without {axis.column} of 0: its axis is logarithmic")
            rows = placed
    return rows, left_out


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, dt.date) else value


def _laid_out(
    chart: Chart, rows: Sequence[Row], times: Collection[str], title: str, remarks: Sequence[str]
) -> "altair.Chart":
    import altair

    encoding: dict[str, Any] = {
        "x": altair.X(chart.x.column, **_axis(chart, chart.x, rows, times)),
        "y": altair.Y(chart.y.column, **_axis(chart, chart.y, rows, times)),
    }
    if chart.color:
        encoding["color"] = altair.Color(chart.color, **_colors(chart.color, rows))
    if chart.kind == "bar" and chart.color not in ("", chart.x.column):
        encoding["xOffset"] = altair.XOffset(chart.color, type="nominal", sort=_names(rows, chart.color))
    heading = altair.Title(
        textwrap.wrap(title, TITLE_LETTERS), subtitle=list(remarks), anchor="start", frame="group", offset=14
    )
    texts = {column for column in rows[0] if _is_category(chart, column, rows, times)}
    values = [
        {column: _name(row[column]) if column in texts else row[column] for column in row} for row in rows
    ]
    # Inline values, as Altair refuses a data frame of more than 5,000 rows.
    picture = altair.Chart(altair.Data(values=values), title=heading, width=WIDTH, height=HEIGHT)
    return _marked(picture, chart, len(rows)).encode(**encoding).configure_view(stroke=None)


def _marked(picture: Any, chart: Chart, row_count: int) -> Any:
    if chart.kind == "line":
        return picture.mark_line(point=row_count <= MOST_MARKED_POINTS)
    if chart.kind == "point":
        return picture.mark_point(filled=True, size=80)
    return picture.mark_bar()


def _axis(chart: Chart, axis: Axis, rows: Sequence[Row], times: Collection[str]) -> dict[str, Any]:
    """Type, title, order and scale of an axis."""
    import altair

    title = axis_title(axis.column)
    if not _is_category(chart, axis.column, rows, times):
        if axis.column in times:
            # An hour or day without a row leaves its place empty. The warehouse's times are in UTC.
            return {"type": "temporal", "title": title, "scale": altair.Scale(type="utc")}
        drawn: dict[str, Any] = {"type": "quantitative", "title": title}
        if axis.is_log:
            drawn["scale"] = altair.Scale(type="log", nice=False, padding=8)
            drawn["axis"] = altair.Axis(**_ticks([row[axis.column] for row in rows]))
        return drawn
    names = _names(rows, axis.column)
    is_tight = max(map(len, names)) * LETTER_WIDTH > WIDTH / len(names)
    labels = altair.Axis(labelAngle=-35 if is_tight else 0, labelLimit=WIDTH // 3, labelOverlap=True)
    # In the order of the answer, which the query chose with care.
    return {"type": "ordinal", "title": title, "sort": names, "axis": labels}


def _ticks(values: Sequence[float]) -> dict[str, Any]:
    """Marks of a logarithmic axis: the powers of ten, where at least two are in its range."""
    first, last = math.ceil(math.log10(min(values))), math.floor(math.log10(max(values)))
    return {"values": [10.0**power for power in range(first, last + 1)]} if last > first else {}


def _colors(column: str, rows: Sequence[Row]) -> dict[str, Any]:
    import altair

    names = _names(rows, column)
    scheme: Literal["tableau10", "tableau20"]
    scheme = "tableau10" if len(names) <= COLORS_OF_A_SCHEME else "tableau20"
    return {
        "type": "nominal",
        "title": axis_title(column),
        "sort": names,
        "scale": altair.Scale(scheme=scheme),
        "legend": altair.Legend(symbolLimit=0, labelLimit=WIDTH // 2),
    }


def _is_category(chart: Chart, column: str, rows: Sequence[Row], times: Collection[str]) -> bool:
    """Whether the values of a column are names, each with a place of its own, not points of a scale."""
    if column == chart.y.column:
        return False
    if column == chart.color or chart.kind in ("bar", "stack"):
        return True
    if column in times:
        return any(row[column] is None for row in rows)
    return any(isinstance(row[column], str | bool | None) for row in rows)


def _names(rows: Sequence[Row], column: str) -> list[str]:
    """The different values of a column as names, in the order of the answer."""
    return list(dict.fromkeys(_name(row[column]) for row in rows))


def _name(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "NULL" if value is None else str(value)
