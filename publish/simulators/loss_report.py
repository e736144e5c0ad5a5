"""What an export lost or made up: of each field where it comes from, of each job left out why it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import duckdb

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read.describe import Grid
from tracehouse.publish.simulators.format_spec import Field, File, Form, Origin, Rule

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

    Raises UsageError that names all options which have to be set before something can be written, and
    UserError where no option can say what is missing.
    """
    counted = {(file.name, name): counts for file in form.files for name, counts in _counts(connection, file)}
    unset = [
        (file, field)
        for file in form.files
        for field in file.fields
        if counted[file.name, field.name].without and not field.missing
    ]
    for file, field in unset:
        if not field.option:
            rows = counted[file.name, field.name].without
            raise UserError(
                f"{form.name} has to say {field.name} of each row of {file.name}, and the trace does not "
                f"tell it of {rows:,}. See with traces check what is wrong"
            )
    if unset:
        listed = " ".join(f"{option} …" for option in dict.fromkeys(field.option for _, field in unset))
        raise UsageError(f"{form.name} has to say what this trace does not tell. Set it: {listed}")
    fields = [
        one
        for file in form.files
        for field in file.fields
        for one in _accounts(file, field, counted[file.name, field.name])
    ]
    [(jobs,)] = connection.execute("select count(*) from job").fetchall()
    return Account(jobs, fields, list(_dropped(connection, form, counted)), list(_left_out(connection)))


@dataclass(frozen=True)
class _Counts:
    """Rows that have a field from the trace, from its default, and not at all; and what else was counted."""

    had: int
    defaulted: int
    without: int
    notable: Sequence[tuple[str, int]]


def _counts(connection: duckdb.DuckDBPyConnection, file: File) -> Iterator[tuple[str, _Counts]]:
    selected = ["count(*)"]
    for field in file.fields:
        either = f"coalesce({field.sql}, {field.default})" if field.default else field.sql
        selected += [f"count({field.sql})", f"count({either})"]
        selected += [f"count(*) filter ({rule.condition})" for rule in _notable(field)]
    [(rows, *counts)] = connection.execute(f"select {', '.join(selected)} from {file.rows}").fetchall()
    left = iter(counts)
    for field in file.fields:
        had, told = islice(left, 2)
        notable = [(rule.reason, next(left)) for rule in _notable(field)]
        yield field.name, _Counts(had, told - had, rows - told, notable)


def _notable(field: Field) -> list[Rule]:
    rounding = f"abs({field.sql} - {field.rounded}({field.sql})) > {_EXACT}"
    return [*([Rule("rounded", rounding)] if field.rounded else []), *field.counted]


def _accounts(file: File, field: Field, counts: _Counts) -> Iterator[FieldAccount]:
    if counts.had:
        notable = [f"{rows:,} {what}" for what, rows in counts.notable if rows]
        origin = Origin.DERIVED if field.rule or notable else Origin.EXACT
        source = "; ".join([field.rule or field.held[0], *notable])
        yield FieldAccount(file.name, field.name, origin, counts.had, source)
    if counts.defaulted:
        source = field.otherwise or f"{field.option} {field.default}"
        yield FieldAccount(file.name, field.name, Origin.DEFAULTED, counts.defaulted, source)
    if counts.without:
        yield FieldAccount(file.name, field.name, Origin.MISSING, counts.without, "the trace tells none")


def _dropped(
    connection: duckdb.DuckDBPyConnection, form: Form, counted: Mapping[tuple[str, str], _Counts]
) -> Iterator[Dropped]:
    # What a field could hold and has of no job, as it needs another column too, is dropped.
    held = {
        column
        for file in form.files
        for field in file.fields
        if counted[file.name, field.name].had
        for column in field.held
    }
    columns = connection.execute(
        """
        select column_name, meaning from catalog.columns
        where object_name = 'unified.jobs' order by position
        """
    ).fetchall()
    unused = {name: meaning for name, meaning in columns if name not in held | _NOT_LOST}
    if not unused:
        return
    selected = ", ".join(f"count({name})" for name in unused)
    [counts] = connection.execute(f"select {selected} from job").fetchall()
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
