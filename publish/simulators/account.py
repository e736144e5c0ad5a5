"""What an export lost or made up: of each field where it comes from, of each job left out why it is."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import duckdb

from tracehouse.engines.duckdb.read.describe import Grid
from tracehouse.ingest.errors import UsageError
from tracehouse.publish.simulators.form import NUMBERED, Field, File, Form, Origin
from tracehouse.views.sql_text import names_in

# The export has the trace in its name, and the others are had from columns beside them.
_NOT_LOST = {"trace", "size_band", "hour_of_day", "weekday", "span_gpu_s"}
# What binary fractions lose is no rounding.
_EXACT = 1e-6


@dataclass(frozen=True)
class FieldAccount:
    """How many rows of a file have a field from where; `source` says how it is had, or why not."""

    file: str
    field: str
    origin: Origin
    rows: int
    source: str


@dataclass(frozen=True)
class Dropped:
    """A column that has values, and no place in the format."""

    column: str
    jobs: int
    meaning: str


@dataclass(frozen=True)
class LeftOut:
    """How many jobs are not in the export, and why not."""

    reason: str
    jobs: int


@dataclass(frozen=True)
class Account:
    """The whole of it: how many jobs are in the export, and what was lost or made up."""

    jobs: int
    fields: Sequence[FieldAccount]
    dropped: Sequence[Dropped]
    left_out: Sequence[LeftOut]

    def as_data(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return asdict(self)


def account_of(connection: duckdb.DuckDBPyConnection, form: Form) -> Account:
    """Count what the fields of a format will hold, where the tables of jobs are there.

    Raises UsageError that names all options which have to be set before something can be written.
    """
    counted = {(file.name, name): counts for file in form.files for name, counts in _counts(connection, file)}
    unset = [
        field.option
        for file in form.files
        for field in file.fields
        if counted[file.name, field.name].without and not field.missing
    ]
    if unset:
        listed = " ".join(f"{option} …" for option in dict.fromkeys(unset))
        raise UsageError(f"{form.name} has to say what this trace does not tell. Set it: {listed}")
    fields = [
        one
        for file in form.files
        for field in file.fields
        for one in _accounts(file, field, counted[file.name, field.name])
    ]
    [(jobs,)] = connection.execute("select count(*) from job").fetchall()
    return Account(jobs, fields, list(_dropped(connection, form)), list(_left_out(connection)))


@dataclass(frozen=True)
class _Counts:
    """Rows that have a field from the trace, from its default, and not at all; and how many were rounded."""

    had: int
    defaulted: int
    without: int
    rounded: int


def _counts(connection: duckdb.DuckDBPyConnection, file: File) -> Iterator[tuple[str, _Counts]]:
    selected = ["count(*)"]
    for field in file.fields:
        either = f"coalesce({field.sql}, {field.default})" if field.default else field.sql
        rounded = f"abs({field.sql} - {field.rounded}({field.sql})) > {_EXACT}" if field.rounded else "false"
        selected += [f"count({field.sql})", f"count({either})", f"count(*) filter ({rounded})"]
    [(rows, *counts)] = connection.execute(f"select {', '.join(selected)} from {file.rows}").fetchall()
    for place, field in enumerate(file.fields):
        had, told, rounded = counts[3 * place : 3 * place + 3]
        yield field.name, _Counts(had, told - had, rows - told, rounded)


def _accounts(file: File, field: Field, counts: _Counts) -> Iterator[FieldAccount]:
    if counts.had:
        rounded = f"{counts.rounded:,} rounded" if counts.rounded else ""
        origin = Origin.DERIVED if field.rule or rounded else Origin.EXACT
        source = "; ".join(filter(None, [field.rule or field.sql, rounded]))
        yield FieldAccount(file.name, field.name, origin, counts.had, source)
    if counts.defaulted:
        source = field.otherwise or f"{field.option} {field.default}"
        yield FieldAccount(file.name, field.name, Origin.DEFAULTED, counts.defaulted, source)
    if counts.without:
        yield FieldAccount(file.name, field.name, Origin.MISSING, counts.without, "the trace tells none")


def _dropped(connection: duckdb.DuckDBPyConnection, form: Form) -> Iterator[Dropped]:
    read = [sql for file in form.files for sql in (file.rows, *(field.sql for field in file.fields))]
    used = {name for sql in read for name in names_in(sql)}
    used |= {column for number, column in NUMBERED.items() if number in used}
    columns = connection.execute(
        """
        select column_name, meaning from catalog.columns
        where object_name = 'unified.jobs' order by position
        """
    ).fetchall()
    unused = {name: meaning for name, meaning in columns if name not in used | _NOT_LOST}
    if not unused:
        return
    counted = ", ".join(f"count({name})" for name in unused)
    [counts] = connection.execute(f"select {counted} from job").fetchall()
    for (name, meaning), jobs in zip(unused.items(), counts, strict=True):
        if jobs:
            yield Dropped(name, jobs, meaning)


def _left_out(connection: duckdb.DuckDBPyConnection) -> Iterator[LeftOut]:
    rows = connection.execute(
        """
        select left_out, count(*) from judged
        where left_out is not null
        group by left_out
        order by count(*) desc, left_out
        """
    ).fetchall()
    for reason, jobs in rows:
        yield LeftOut(reason, jobs)


def grids(account: Account) -> list[Grid]:
    """The account as tables to show: one of each file, of columns that were dropped, of jobs left out."""
    files = dict.fromkeys(one.file for one in account.fields)
    return [
        *(
            Grid(
                name,
                ("field", "origin", "rows", "how"),
                [
                    (one.field, one.origin.value, f"{one.rows:,}", one.source)
                    for one in account.fields
                    if one.file == name
                ],
            )
            for name in files
        ),
        Grid(
            "dropped: the format has no place for",
            ("column", "jobs", "meaning"),
            [(one.column, f"{one.jobs:,}", one.meaning) for one in account.dropped],
        ),
        Grid(
            "left out",
            ("jobs", "because"),
            [(f"{one.jobs:,}", one.reason) for one in account.left_out],
        ),
    ]
