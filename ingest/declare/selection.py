"""Select partitions by the values of their keys: `day=109..115`."""

import re
from collections.abc import Iterable, Mapping, Sequence

from tracehouse.core.errors import Option, UsageError
from tracehouse.ingest.declare.trace import Trace

Selection = Mapping[str, Sequence[str | range]]
"""The selected values and ranges of each partition key."""

_TERM = re.compile(r"(?P<key>\w+)=(?:(?P<first>\d+)\.\.(?P<last>\d+)|(?P<value>.+))")


def parse_selection(terms: Iterable[str], traces: Iterable[Trace]) -> Selection:
    """Parse terms such as `key=value` and `key=first..last`, which includes both limits.

    Raises UsageError if a term is invalid or no table of the traces is partitioned by its key.
    """
    tables = [
        table
        for trace in traces
        for table in trace.tables
        if table.converts_partitions or not table.archive_stem
    ]
    known = sorted({key for table in tables for key in table.partition_by})
    numbers = {key.name for table in tables for key in table.keys if key.type == "BIGINT"}
    selection: dict[str, list[str | range]] = {}
    for term in terms:
        found = _TERM.fullmatch(term)
        if not found or (found["first"] and int(found["first"]) > int(found["last"])):
            what = f" must be KEY=VALUE or KEY=FIRST..LAST, such as day=109..115, not {term}"
            raise UsageError(Option("only"), what)
        if found["key"] not in known:
            listed = f"They are partitioned by {', '.join(known)}" if known else "None is partitioned"
            raise UsageError(f"no table of these traces is partitioned by {found['key']}. {listed}")
        if found["key"] in numbers and found["value"] and not found["value"].isdecimal():
            what = f" {found['key']}= takes a number or FIRST..LAST, not {found['value']}"
            raise UsageError(Option("only"), what)
        values = selection.setdefault(found["key"], [])
        values.append(
            range(int(found["first"]), int(found["last"]) + 1) if found["first"] else found["value"]
        )
    return selection


def selects(selection: Selection, partition: str) -> bool:
    """Return whether a partition such as `day=110` is selected.

    A partition that has none of the keys in the selection is selected.
    """
    values = dict(pair.split("=", 1) for pair in partition.split("/") if pair)
    return all(key not in values or _has(allowed, values[key]) for key, allowed in selection.items())


def _has(allowed: Sequence[str | range], value: str) -> bool:
    return any(
        value.isdigit() and int(value) in one if isinstance(one, range) else value == one for one in allowed
    )
