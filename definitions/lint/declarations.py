"""Rules on the declarations of traces."""

import re
from collections import Counter
from collections.abc import Iterator

from tracehouse.definitions.findings import Finding, suggest
from tracehouse.definitions.lint.metrics import lint_impossible_metrics, lint_metrics
from tracehouse.definitions.lint.read import Definitions, Place, place_in_trace
from tracehouse.definitions.requests import find_missing
from tracehouse.definitions.view_files import VIEWS
from tracehouse.ingest.declare.sample_files import columns_off_pattern, missing_samples
from tracehouse.ingest.declare.trace import Table, Trace

LONGEST_SUMMARY = 100


def lint_trace(definitions: Definitions, trace: Trace) -> Iterator[Finding]:
    """Yield the findings on one trace."""

    def place(text: str) -> str:
        return place_in_trace(trace.name, f'"{text}"')

    for table in trace.tables:
        yield from _lint_table(trace, table, place)
        if f"{trace.name}.{table.name}" in {view.alias for view in definitions.views}:
            view = VIEWS / trace.name / table.name
            yield Finding(place(table.name), f"a view, {view}, has the name of the table", "name")
    for table, why in missing_samples(trace):
        yield Finding(place(table.name), why, "sample")
    for table, column in columns_off_pattern(trace):
        what = f"samples of {table.name}.{column.name} do not match its pattern: declare `examples`"
        yield Finding(place(column.name), what, "sample")
    if trace.requests and (missing := find_missing(trace, trace.requests)):
        name, known = missing
        what = f"`requests` names {name}, which is not in the trace{suggest(name, known)}"
        yield Finding(place(name), what, "column name")
    yield from _lint_caveats(definitions, trace, place)
    yield from _lint_clocks(trace, place)
    yield from lint_metrics(definitions, trace, place)
    yield from lint_impossible_metrics(definitions, trace, place)


def _lint_table(trace: Trace, table: Table, place: Place) -> Iterator[Finding]:
    at = place(table.name)
    for field in ("comment", "grain", "source", "columns", "order_by"):
        if not getattr(table, field):
            yield Finding(at, f"the table {table.name} needs a value of `{field}`", "documented")
    groups = [*re.compile(table.file_name).groupindex, *re.compile(table.folder).groupindex]
    if sorted(key.name for key in table.keys) != sorted(groups):
        listed = ", ".join(groups)
        what = f"`keys` of {table.name} must be the named groups of `file_name` and `folder`: {listed}"
        yield Finding(at, what, "keys")
    names = [column.name for column in table.stored_columns]
    for name, count in Counter(names).items():
        if count > 1:
            yield Finding(place(name), f"{table.name} has the column {name} twice", "columns")
    yield from _lint_column_lists(table, set(names), at)
    for column in table.stored_columns:
        if not column.comment or column.comment.endswith("."):
            what = f"the comment on {table.name}.{column.name} must be its meaning, without a full stop"
            yield Finding(place(column.name), what, "comment")
        if column.is_time and not column.clocks and not trace.clock:
            what = f"{table.name}.{column.name} is a time: give it `clocks`, or the trace a `clock`"
            yield Finding(place(column.name), what, "clock")
    explained = [*(rule.caveat for rule in table.rules), *(other.caveat for other in table.references)]
    for name in filter(None, explained):
        if name not in {caveat.name for caveat in trace.objects_by_caveat}:
            yield Finding(place(name), f"no caveat is called {name}", "caveat name")


def _lint_column_lists(table: Table, names: set[str], at: str) -> Iterator[Finding]:
    """Yield the names in lists of columns that are not columns of the table."""
    lists = {
        "key": table.key,
        "never_empty": table.never_empty,
        "order_by": [name.removeprefix("-") for name in table.order_by],
        "partition_by": table.partition_by,
        "optional": sorted(table.optional),
        **{f"references to {other.table}": other.columns for other in table.references},
    }
    for field, listed in lists.items():
        for name in listed:
            if name not in names:
                what = f"`{field}` of {table.name} names {name}, which is not a column{suggest(name, names)}"
                yield Finding(at, what, "column name")
    if table.wide:
        of_the_name = re.compile(table.wide.variable_pattern).groupindex
        made = {*of_the_name, table.wide.variable, table.wide.index, table.wide.value}
        if made != {column.name for column in table.columns}:
            what = f"the columns of {table.name} must be those of its cells: {', '.join(sorted(made))}"
            yield Finding(at, what, "columns")


def _lint_caveats(definitions: Definitions, trace: Trace, place: Place) -> Iterator[Finding]:
    known = {*definitions.columns, "catalog.reference_curves"}
    known |= {f"{name}.{column}" for name, columns in definitions.columns.items() for column in columns}
    names = Counter(caveat.name for caveat in trace.objects_by_caveat)
    for caveat, objects in trace.objects_by_caveat.items():
        at = place(caveat.name)
        if not re.fullmatch(rf"{trace.name}\.\w+", caveat.name) or names[caveat.name] > 1:
            what = f"name the caveat `{trace.name}.<word>`; no other caveat may have this name"
            yield Finding(at, what, "caveat name")
        texts = (caveat.summary, caveat.what_goes_wrong, caveat.what_to_do, caveat.documented_in)
        if not all(texts) or len(caveat.summary) > LONGEST_SUMMARY:
            what = f"{caveat.name} needs all its texts, and a summary of at most {LONGEST_SUMMARY} characters"
            yield Finding(at, what, "documented")
        for name in objects:
            if name not in known:
                what = f"{caveat.name} concerns {name}, which does not exist{suggest(name, known)}"
                yield Finding(at, what, "column name")


def _lint_clocks(trace: Trace, place: Place) -> Iterator[Finding]:
    for clock in trace.columns_by_clock:
        if not re.fullmatch(rf"{trace.name}\.\w+", clock.name):
            yield Finding(place(clock.name), f"name the clock `{trace.name}.<word>`", "clock")
        if clock.scale <= 0 or clock.resolution_s < 0:
            what = f"{clock.name} needs a scale above 0 and a resolution of at least 0 s"
            yield Finding(place(clock.name), what, "clock")
