"""List every data-quality rule: those declared with the tables, and those of each `checks.sql`."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.text import quoted
from tracehouse.definitions.released import VIEWS
from tracehouse.definitions.view_files import read_header
from tracehouse.ingest.declare.sample_distributions import Names
from tracehouse.ingest.declare.trace import Limit, Reference, Table, Trace

# The limits that several columns share, by name and value.
Limits = tuple[tuple[str, Limit], ...]

CHECK_KEYS = {
    "check": "its name: schema, table or view, and what is checked, such as openb.node.lists_agree",
    "object": "the table or view whose rows it is about, with its schema",
    "kind": "key, reference, range, derived, coverage, or agreement of views that claim one quantity",
    "rule": "what must hold",
    "caveat": "the caveat that explains breaches in the published data",
}

_CHECK_START = re.compile(r"^(?=-- check: )", re.M)

_ROW_COUNT = "the table has the rows that were stored; rows read are rows kept plus rows rejected"
# The words for each limit that a column may declare, and the comparison that is true for a value outside it.
_COMPARISONS = {
    "least": ("at least", "<"),
    "most": ("at most", ">"),
    "above": ("above", "<="),
    "below": ("below", ">="),
}
# Numbers to which a spreadsheet or a reader converts an identifier.
_CONVERTED = r"[0-9]+\.0+|[0-9.]+[eE]\+[0-9]+"
# Names of rules on several columns.
_NAMES: dict[Limits, str] = {
    (("least", 0),): "non_negative",
    (("least", 1),): "positive",
    (("above", 0),): "positive",
    (("least", 0), ("most", 1)): "fraction",
    (("least", 0), ("most", 100)): "percent",
}


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


def all_rules(traces: Iterable[Trace]) -> list[Check]:
    """Return the rules of every `checks.sql`, and those that follow from the declaration of each table."""
    declared = (rule for trace in traces for table in trace.tables for rule in _declared_rules(trace, table))
    return [*checks(), *declared]


def checks(folder: Path = VIEWS) -> list[Check]:
    """Read every rule of every `checks.sql`."""
    return [
        _check(part, path)
        for path in sorted(folder.glob("*/checks.sql"))
        for part in _CHECK_START.split(path.read_text(encoding="utf-8"))
        if part.startswith("-- check: ")
    ]


def _check(part: str, path: Path) -> Check:
    header = read_header(part, CHECK_KEYS, path)
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


def _declared_rules(trace: Trace, table: Table) -> Iterator[Check]:
    name = f"{trace.name}.{table.name}"

    def check(rule: str, kind: str, text: str, sql: str, caveat: str = "") -> Check:
        needs_all_rows = kind == "reference"
        return Check(f"{name}.{rule}", trace.name, name, kind, text, caveat, sql, needs_all_rows)

    yield check("row_count", "row count", _ROW_COUNT, _row_count(name))
    if table.key:
        text = f"no two rows have the same {_join_names(table.key)}"
        yield check("key", "key", text, _count_repeated(name, table.key))
    if table.never_empty:
        text = f"every row has a value of {_join_names(table.never_empty)}"
        breach = " or ".join(f'"{column}" is null' for column in table.never_empty)
        yield check("complete", "coverage", text, _count(name, breach))
    for column in table.stored_columns:
        if column.choices:
            text = f"{column.name} is one of {', '.join(map(str, column.choices))}"
            breach = f'"{column.name}" not in ({", ".join(map(_literal, column.choices))})'
            yield check(column_rule(column.name), "range", text, _count(name, breach))
        if column.pattern:
            text = f"{column.name} matches {column.pattern}"
            breach = f'not regexp_full_match("{column.name}", {_literal(column.pattern)})'
            yield check(column_rule(column.name), "range", text, _count(name, breach))
    if names := identifiers(table):
        verb = "is" if len(names) == 1 else "are"
        text = f"{_join_names(names)} {verb} not converted to numbers, such as 105.0"
        breach = " or ".join(f'regexp_full_match("{column}", {_literal(_CONVERTED)})' for column in names)
        yield check("identifiers", "range", text, _count(name, breach))
    for rule, limits, columns in limit_rules(table):
        text = f"{_join_names(columns)} {'is' if len(columns) == 1 else 'are'} {_limits_text(limits)}"
        yield check(rule, "range", text, _count(name, _build_breach(limits, columns)))
    for declared in table.rules:
        sql = _count(name, declared.breach)
        yield check(declared.name, declared.kind, declared.rule, sql, declared.caveat)
    for reference in table.references:
        other = f"{trace.name}.{reference.table}"
        joined = ", ".join(reference.columns)
        text = f"every {joined if len(reference.columns) == 1 else f'({joined})'} occurs in {other}"
        sql = _count_unmatched(name, other, reference)
        yield check(reference.rule_name, "reference", text, sql, reference.caveat)


def identifiers(table: Table) -> list[str]:
    """Return the texts in a file that identify something: of the key or of a reference, or anonymous names.

    Columns with a pattern have a rule of their own.
    """
    named = {*table.key, *(column for reference in table.references for column in reference.columns)}
    return [
        column.name
        for column in table.columns
        if column.type == "VARCHAR"
        and not (column.choices or column.pattern)
        and (column.name in named or isinstance(column.sample, Names))
    ]


def column_rule(column: str) -> str:
    """Return the name of the rule on a column: the column's, without spaces and signs."""
    return re.sub(r"\W+", "_", column)


def limit_rules(table: Table) -> Iterator[tuple[str, Limits, list[str]]]:
    """Yield the name of each rule on limits, the limits, and the columns that have them."""
    found: dict[Limits, list[str]] = defaultdict(list)
    for column in table.stored_columns:
        values = {name: getattr(column, name) for name in _COMPARISONS}
        if limits := tuple((name, value) for name, value in values.items() if value is not None):
            found[limits].append(column.name)
    for limits, columns in found.items():
        shared = _NAMES.get(limits) or "_".join(f"{name}_{value}" for name, value in limits)
        yield column_rule(columns[0]).lower() if len(columns) == 1 else shared, limits, columns


def _limits_text(limits: Limits) -> str:
    return " and ".join(f"{_COMPARISONS[name][0]} {value}" for name, value in limits)


def _build_breach(limits: Limits, columns: Iterable[str]) -> str:
    """Return the SQL condition that a value of any of the columns is outside the limits."""
    return " or ".join(
        f'"{column}" {_COMPARISONS[name][1]} {_literal(value)}'
        for column in columns
        for name, value in limits
    )


def _literal(value: Limit) -> str:
    return quoted(value) if isinstance(value, str) else str(value)


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _count(name: str, breach: str) -> str:
    return f"select count(*) from {name} where {breach}"


def _row_count(name: str) -> str:
    return f"""
        select
            abs((select count(*) from {name}) - coalesce(sum(rows_stored), 0))
            + abs(coalesce(sum(rows_read - rows_kept - rows_rejected), 0))
        from catalog.sources
        where table_name = '{name}'
    """


def _count_repeated(name: str, key: Iterable[str]) -> str:
    columns = [f'"{column}"' for column in key]
    return f"""
        select coalesce(sum(copies - 1), 0)
        from (
            select count(*) as copies
            from {name}
            where {" and ".join(f"{column} is not null" for column in columns)}
            group by {", ".join(columns)}
            having count(*) > 1
        ) as repeated
    """


def _count_unmatched(name: str, other: str, reference: Reference) -> str:
    # For millions of rows, an anti join needs a fraction of the memory of `not exists`.
    pairs = zip(reference.columns, reference.targets or reference.columns, strict=True)
    return f"""
        select count(*)
        from {name} as referring
        anti join {other} as referred
            on {" and ".join(f'referring."{column}" = referred."{target}"' for column, target in pairs)}
        where
            {" and ".join(f'referring."{column}" is not null' for column in reference.columns)}
            and exists (select 1 from {other} as present)
    """
