"""Read the figures of each trace: those that documents print, and our own counts of the publishers' files."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.released import VIEWS

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

Row = TypeVar("Row", "Figure", "PublishedFigure")


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


def published(folder: Path = VIEWS) -> list[PublishedFigure]:
    """Read the figures that documents print."""
    return _read_figures(folder, "published.csv", PublishedFigure)


def expected(folder: Path = VIEWS) -> list[Figure]:
    """Read our own counts of the publishers' files, which no document prints.

    `traces check` compares them with the data, which finds changed files and changed SQL.
    """
    return _read_figures(folder, "expected.csv", Figure)


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
