"""Every data-quality rule: those of the ledgers, and those that follow from a table's declaration."""

from collections.abc import Iterable, Iterator

from tracehouse.ingest.declarations import Table, Trace
from tracehouse.views import ledgers
from tracehouse.views.ledgers import Check


def all_rules(traces: Iterable[Trace]) -> list[Check]:
    """The rules of the ledgers, and those of each declared table: row count, key, and columns never empty."""
    declared = (rule for trace in traces for table in trace.tables for rule in _of_table(trace, table))
    return [*ledgers.checks(), *declared]


def _of_table(trace: Trace, table: Table) -> Iterator[Check]:
    name = f"{trace.name}.{table.name}"
    yield Check(f"{name}.row_count", trace.name, name, "row count", _ROW_COUNT, "", _row_count(name))
    if table.key:
        rule = f"no two rows have the same {', '.join(table.key)}"
        yield Check(f"{name}.key", trace.name, name, "key", rule, "", _repeated(name, table.key))
    if table.never_empty:
        rule = f"no row is without a value of {', '.join(table.never_empty)}"
        yield Check(
            f"{name}.complete", trace.name, name, "coverage", rule, "", _empty(name, table.never_empty)
        )


_ROW_COUNT = "its rows are the rows stored, and rows read are rows kept and rejected"


def _row_count(name: str) -> str:
    return f"""
        select
            abs((select count(*) from {name}) - coalesce(sum(rows_stored), 0))
            + abs(coalesce(sum(rows_read - rows_kept - rows_rejected), 0))
        from catalog.sources
        where table_name = '{name}'
    """


def _repeated(name: str, key: Iterable[str]) -> str:
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


def _empty(name: str, columns: Iterable[str]) -> str:
    return f"""select count(*) from {name} where {" or ".join(f'"{column}" is null' for column in columns)}"""
