"""Rows that break the rules in a table's declaration, each derived from a valid row of a sample.

A new trace needs no file for these rules: limits, choices, patterns, keys, references, and columns that are
never empty or required.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from tracehouse.core.text import quoted
from tracehouse.definitions.rules import column_rule, identifiers, limit_rules
from tracehouse.ingest.declare.trace import Column, Table, Trace

# Texts of which at least one does not match a pattern.
TEXTS = ("", "?", "A", "a", "0")
# More than ten, because a file is refused if more than a tenth of its rows do not fit.
ROWS = 20

Changes = Sequence[tuple[str, Mapping[str, str]]]
"""Rules by full name, and SQL expressions by column: what to change in a valid row so that it breaks one."""


@dataclass(frozen=True)
class BrokenRow:
    """A copy of a valid row of a table with `changes` that break a rule.

    The expressions may read all columns of the row. `is_valid` is the SQL condition for a row that does not
    break the rule. `other` is the table without whose rows the rule counts nothing.
    """

    rule: str
    changes: Mapping[str, str] = field(default_factory=dict)
    is_valid: str = "true"
    other: str = ""

    @property
    def table(self) -> str:
        """The full name of the table."""
        return self.rule.rpartition(".")[0]

    def insert(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Insert the row. The valid row is the one with the fewest empty columns."""
        columns = [f'"{name}"' for name, *_ in connection.execute(f"describe {self.table}").fetchall()]
        changes = {f'"{name}"': value for name, value in self.changes.items()}
        assert set(columns) >= changes.keys(), f"{self.rule} changes columns that do not exist: {changes}"
        empty = " + ".join(f"if({column} is null, 1, 0)" for column in columns)
        valid = f"from {self.table} where {self.is_valid} order by {empty}, {', '.join(columns)} limit 1"
        changed = ", ".join(changes.get(column, column) for column in columns)
        connection.execute(f"insert into {self.table} with valid as ({valid}) select {changed} from valid")


def broken_rows(trace: Trace, by_hand: Changes) -> Iterator[BrokenRow]:
    """Yield rows that break the declared rules of a trace: one for each column and limit, and those by hand.

    `by_hand` breaks the declared rules in SQL.
    """
    for table in trace.tables:
        name = f"{trace.name}.{table.name}"
        yield from (BrokenRow(f"{name}.{rule}", changes) for rule, changes in _changes(table))
        columns = {column.name: column for column in table.stored_columns}
        for reference in table.references:
            other = f"{trace.name}.{reference.table}"
            own, targets = _listed(reference.columns), _listed(reference.targets or reference.columns)
            has_partner = f"({own}) in (select ({targets}) from {other})"
            for column in reference.columns:
                changes = {column: _unmatched(columns[column])}
                yield BrokenRow(f"{name}.{reference.rule_name}", changes, has_partner, other)
        breaches = {f"{name}.{rule.name}": rule.breach for rule in table.rules}
        for rule, changes in by_hand:
            if rule in breaches:
                yield BrokenRow(rule, changes, f"({breaches[rule]}) is not true")


def without_value(content: bytes, column: Column) -> bytes:
    """Return the first rows of a CSV with a header; the last one has no value of a required column."""
    *lines, last = content.decode().splitlines()[: ROWS + 1]
    fields = next(csv.reader([last]))
    fields[next(csv.reader(lines)).index(column.name_in_file)] = ""
    return "".join(f"{line}\n" for line in (*lines, ",".join(fields))).encode()


def _changes(table: Table) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a table's rules on its own columns, and what to change in a row so that it breaks one."""
    if table.key:
        yield "key", {}
    for name in table.never_empty:
        yield "complete", {name: "null"}
    for name in identifiers(table):
        yield "identifiers", {name: "'1.05E+23'"}
    names = {column: rule for rule, _, columns in limit_rules(table) for column in columns}
    for column in table.stored_columns:
        if column.choices:
            yield column_rule(column.name), {column.name: _outside_choices(column)}
        if column.pattern:
            text = next(text for text in TEXTS if not re.fullmatch(column.pattern, text))
            yield column_rule(column.name), {column.name: quoted(text)}
        for limit in ("least", "most", "above", "below"):
            if (value := getattr(column, limit)) is not None:
                yield names[column.name], {column.name: _outside(column, limit, value)}


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _outside_choices(column: Column) -> str:
    numbers = [choice for choice in column.choices if isinstance(choice, int)]
    return str(max(numbers) + 1) if numbers else quoted("".join(map(str, column.choices)))


def _outside(column: Column, limit: str, value: float | str) -> str:
    """Return the value closest to a limit, or one unit or second from it, that is outside."""
    bound = f"cast({quoted(value)} as {column.type})" if isinstance(value, str) else str(value)
    unit = "interval 1 second" if isinstance(value, str) else "1"
    return bound + {"least": f" - {unit}", "most": f" + {unit}", "above": "", "below": ""}[limit]


def _unmatched(column: Column) -> str:
    """Return a value that no row of another table has."""
    kinds = {"VARCHAR": "'no such name'", "BIGINT": "-987654321", "DOUBLE": "-987654321"}
    return kinds.get(column.type, f"cast('1900-01-01' as {column.type})")
