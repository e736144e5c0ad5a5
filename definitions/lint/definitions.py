"""Rules on the files of views and queries."""

import re
from collections.abc import Collection, Iterator
from itertools import chain

from tracehouse.definitions import caveats, sql_text, versions
from tracehouse.definitions.across_traces import SCHEMA as EACH_TRACE
from tracehouse.definitions.across_traces import find_empty_unions, find_left_out
from tracehouse.definitions.findings import Finding, place_of, suggest
from tracehouse.definitions.lint.metrics import lint_answers
from tracehouse.definitions.lint.read import Definitions, names_selected
from tracehouse.definitions.parameters import NUMBER, Parameter
from tracehouse.definitions.query_columns import lint_values
from tracehouse.definitions.query_files import CHART_KEYS, DRAWN_KEYS, QueryFile
from tracehouse.definitions.released import LOCK, released
from tracehouse.definitions.units import STATISTICS
from tracehouse.definitions.view_files import ViewFile

# A list of 80 columns shows 41 letters of a title, so the text before the brackets is not much longer.
_TITLE = re.compile(r"(?=.{1,60}$)[A-Z][^?.()]{,50} \([^?.()]+\)")


def lint_view(definitions: Definitions, view: ViewFile) -> Iterator[Finding]:
    """Yield the findings on a view."""
    columns = definitions.columns[view.versioned]
    yield from _lint_reads(definitions, view)
    yield from caveats.lint_lines(view, columns, definitions.caveats)
    yield from lint_answers(definitions, view)
    for column in sorted(view.column_comments.keys() - columns):
        what = f"the view has no column {column} to comment on{suggest(column, columns)}"
        yield Finding(place_of(view.path, column), what, "column name")
    for key in ("grain", "source"):
        if not view.header.one(key):
            yield Finding(f"{view.path}, line 1", f"the header needs a line `-- {key}: …`", "documented")
    if not view.header.title:
        yield Finding(f"{view.path}, line 1", "the first line must be the title of the view", "title")
    yield from _lint_text(view)


def lint_query(definitions: Definitions, query: QueryFile) -> Iterator[Finding]:
    """Yield the findings on a query."""
    columns = names_selected(query.tree)
    yield from _lint_reads(definitions, query)
    yield from caveats.lint_lines(query, columns, definitions.caveats)
    yield from lint_answers(definitions, query)
    yield from lint_values(query, definitions.columns)
    yield from lint_result(query, columns)
    for parameter in query.parameters:
        yield from _lint_table_parameter(query, parameter)
    if not _TITLE.fullmatch(query.header.title):
        what = (
            "the title must be a noun phrase of at most 51 characters and the population in parentheses,"
            " at most 60 characters in all: `GPU-hours by cluster (ITP jobs)`"
        )
        yield Finding(f"{query.path}, line 1", what, "title")
    yield from versions.lint_drafts(query, definitions.views)
    population = query.header.title.rpartition("(")[2].casefold()
    if query.schema.replace("unified", "trace") not in population:
        what = f"the population in the parentheses of the title must name {query.schema}"
        yield Finding(f"{query.path}, line 1", what, "title")


def lint_result(query: QueryFile, columns: Collection[str]) -> Iterator[Finding]:
    """Check the chart, the `column` lines and the defaults of a query whose result has these columns.

    These rules hold for the user's own queries, too.
    """
    drawn = query.chart.columns if query.chart else []
    bases = {base for prefix, _, base in (name.partition("_") for name in columns) if prefix in STATISTICS}
    for key, names, known in (("chart", drawn, set()), ("column", [*query.column_docs], bases)):
        for name in names if "*" not in columns else ():
            if name not in columns and name not in known:
                what = f"`{key}` names {name}, which the query does not return{suggest(name, columns)}"
                yield Finding(place_of(query.path, f"-- {key}:"), what, f"{key} column")
    if query.chart:
        for key in query.chart.ignored_keys:
            of_others = {*chain(*DRAWN_KEYS.values())} - {*DRAWN_KEYS[query.chart.kind]}
            used = [one for one in CHART_KEYS if one not in of_others]
            what = f"a {query.chart.kind} chart ignores `{key}=`: it uses {', '.join(used)}"
            yield Finding(place_of(query.path, "-- chart:"), what, "chart key")
    for parameter in query.parameters:
        yield from _lint_default(query, parameter)


def lint_versions(definitions: Definitions) -> Iterator[Finding]:
    """Yield the released views that were changed, are missing, read a draft, or are in the wrong folder.

    Also yields the drafts that a view of all traces leaves out.
    """
    for problem in versions.broken(released(), definitions.views):
        yield Finding(str(LOCK), problem, "version")
    for draft, uniting in find_left_out(definitions.views):
        yield Finding(str(draft.path), versions.explain_left_out(draft.versioned, uniting.alias), "version")


def _lint_reads(definitions: Definitions, read: ViewFile | QueryFile) -> Iterator[Finding]:
    known = {*definitions.columns, *(query.full_name for query in definitions.queries)}
    # Another rule reports the plain name of a draft.
    known |= {view.alias for view in definitions.views}
    for name in find_empty_unions(read, definitions.views) if isinstance(read, ViewFile) else ():
        yield Finding(
            place_of(read.path, name), f"reads {name}, but no trace has released that view", "reads"
        )
    for name in sorted(read.references - known):
        if name.partition(".")[0] not in ("catalog", EACH_TRACE, "information_schema", "pg_catalog"):
            what = f"reads {name}, which does not exist{suggest(name, known)}"
            yield Finding(place_of(read.path, name), what, "reads")


def _lint_default(query: QueryFile, parameter: Parameter) -> Iterator[Finding]:
    default = parameter.default.strip("'")
    is_outside = parameter.choices and default not in parameter.choices
    if parameter.range and re.fullmatch(NUMBER, default):
        is_outside = not float(parameter.range.at_least) <= float(default) <= float(parameter.range.at_most)
    if is_outside and default != "null":
        what = f"the default of {parameter.name}, {default}, is outside its limit"
        yield Finding(place_of(query.path, f"{parameter.name} "), what, "parameter")


def _lint_table_parameter(query: QueryFile, parameter: Parameter) -> Iterator[Finding]:
    reads = re.search(rf"query_table\(\s*{parameter.name}\b", query.body)
    if reads and not parameter.table_columns:
        what = (
            f"{parameter.name} names a table: end the comment above it with the columns that the query reads,"
            " as `[table with sn model]`"
        )
        yield Finding(place_of(query.path, f"{parameter.name} "), what, "parameter")


def _lint_text(view: ViewFile) -> Iterator[Finding]:
    """Yield what the lock cannot distinguish: two texts of different meaning would have one hash."""
    for token in sql_text.TOKEN.finditer(view.text):
        if token["gap"] and "/*" in re.sub(r"--[^\n]*", "", token[0]):
            yield Finding(place_of(view.path, "/*"), "begin each line of a comment with --", "comment")
    for token in sql_text.TOKEN.finditer(sql_text.first_statement(view.text)):
        if token["word"] and token[0] != token[0].lower():
            what = f"write {token[0]} in lower case, or in double quotes if it is a name with capitals"
            yield Finding(place_of(view.path, token[0]), what, "capital letters")
