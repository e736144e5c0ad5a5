"""Rules on the files of views and queries."""

import re
from collections.abc import Iterator
from itertools import chain

from tracehouse.definitions import caveats, sql_text, versions
from tracehouse.definitions.across_traces import SCHEMA as EACH_TRACE
from tracehouse.definitions.across_traces import find_empty_unions, find_left_out
from tracehouse.definitions.lint.metrics import lint_answers
from tracehouse.definitions.lint.subject import Finding, Subject, names_selected, place_of, suggest
from tracehouse.definitions.query_files import CHART_KEYS, DRAWN_KEYS, NUMBER, Parameter, QueryFile
from tracehouse.definitions.released import LOCK, released
from tracehouse.definitions.view_files import Header, ViewFile

# A list of 80 columns shows 41 letters of a title, so the text before the brackets is not much longer.
_TITLE = re.compile(r"(?=.{1,60}$)[A-Z][^?.()]{,50} \([^?.()]+\)")


def lint_view(subject: Subject, view: ViewFile, is_ours: bool) -> Iterator[Finding]:
    """Yield the findings on a view; without `is_ours`, of the rules that hold for a user's own view, too."""
    columns = subject.columns[view.versioned]
    yield from _lint_reads(subject, view)
    yield from _lint_caveats(subject, view.header, view, columns)
    yield from lint_answers(subject, view)
    spelled = columns if is_ours else {column.lower() for column in columns}
    commented = {column if is_ours else column.lower() for column in view.column_comments}
    for column in sorted(commented - spelled) if "*" not in columns else ():
        what = f"the view has no column {column} to comment on{suggest(column, columns)}"
        yield Finding(place_of(view.path, column), what, "column name")
    if not is_ours:
        return
    for key in ("grain", "source"):
        if not view.header.one(key):
            yield Finding(f"{view.path}, line 1", f"the header needs a line `-- {key}: …`", "documented")
    if not view.header.title:
        yield Finding(f"{view.path}, line 1", "the first line must be the title of the view", "title")
    yield from _lint_text(view)


def lint_query(subject: Subject, query: QueryFile, is_ours: bool) -> Iterator[Finding]:
    """Yield the findings on a query; without `is_ours`, of the rules that hold for a user's own, too."""
    columns = names_selected(query.tree)
    yield from _lint_reads(subject, query)
    yield from _lint_caveats(subject, query.header, query, columns)
    yield from lint_answers(subject, query)
    if "*" not in columns:
        drawn = query.chart.columns if query.chart else []
        for key, names in (("chart", drawn), ("column", list(query.column_docs))):
            for name in names:
                if name not in columns:
                    what = f"`{key}` names {name}, which the query does not return{suggest(name, columns)}"
                    yield Finding(place_of(query.path, f"-- {key}:"), what, f"{key} column")
    if query.chart:
        for key in query.chart.ignored_keys:
            of_others = {*chain(*DRAWN_KEYS.values())} - {*DRAWN_KEYS[query.chart.kind]}
            used = [one for one in CHART_KEYS if one not in of_others]
            what = f"a {query.chart.kind} chart ignores `{key}=`: it uses {', '.join(used)}"
            yield Finding(place_of(query.path, "-- chart:"), what, "chart key")
    for parameter in query.parameters:
        yield from _lint_parameter(subject, query, parameter)
        if is_ours:
            yield from _lint_table_parameter(query, parameter)
    if is_ours and not _TITLE.fullmatch(query.header.title):
        what = (
            "the title must be a noun phrase of at most 51 characters and the population in parentheses,"
            " at most 60 characters in all: `GPU-hours by cluster (ITP jobs)`"
        )
        yield Finding(f"{query.path}, line 1", what, "title")
    if is_ours and (problem := versions.explain_draft(query.references, subject.views)):
        yield Finding(str(query.path), problem, "version")
    population = query.header.title.rpartition("(")[2].casefold()
    if is_ours and query.schema.replace("unified", "trace") not in population:
        what = f"the population in the parentheses of the title must name {query.schema}"
        yield Finding(f"{query.path}, line 1", what, "title")


def lint_versions(subject: Subject) -> Iterator[Finding]:
    """Yield the released views that were changed, are missing, read a draft, or are in the wrong folder.

    Also yields the drafts that a view of all traces leaves out.
    """
    for problem in versions.broken(released(), subject.views):
        yield Finding(str(LOCK), problem, "version")
    for draft, uniting in find_left_out(subject.views):
        yield Finding(str(draft.path), versions.explain_left_out(draft.versioned, uniting.alias), "version")


def _lint_reads(subject: Subject, read: ViewFile | QueryFile) -> Iterator[Finding]:
    known = {*subject.columns, *(query.full_name for query in subject.queries)}
    # Another rule reports the plain name of a draft.
    known |= {view.alias for view in subject.views}
    for name in find_empty_unions(read, subject.views) if isinstance(read, ViewFile) else ():
        yield Finding(
            place_of(read.path, name), f"reads {name}, but no trace has released that view", "reads"
        )
    for name in sorted(read.references - known):
        if name.partition(".")[0] not in ("catalog", EACH_TRACE, "information_schema", "pg_catalog"):
            what = f"reads {name}, which does not exist{suggest(name, known)}"
            yield Finding(place_of(read.path, name), what, "reads")


def _lint_caveats(
    subject: Subject, header: Header, file: ViewFile | QueryFile, columns: frozenset[str]
) -> Iterator[Finding]:
    for key in ("caveat", "resolves_caveat"):
        for name, listed in caveats.read_lines(header, key):
            if name not in subject.caveats:
                what = f"no caveat is called {name}{suggest(name, subject.caveats)}"
                yield Finding(place_of(file.path, f"{key}: {name}"), what, "caveat name")
            for column in sorted(listed - columns) if "*" not in columns else ():
                what = f"`{key}` names {column}, which is not a column{suggest(column, columns)}"
                yield Finding(place_of(file.path, f"{key}: {name}"), what, "column name")


def _lint_parameter(subject: Subject, query: QueryFile, parameter: Parameter) -> Iterator[Finding]:
    at = place_of(query.path, f"{parameter.name} ")
    default = parameter.default.strip("'")
    if parameter.values_of:
        table, _, column = parameter.values_of.rpartition(".")
        if not {column, "*"} & {*subject.columns.get(table, ())}:
            what = f"the values of {parameter.name} are those of {parameter.values_of}, which does not exist"
            yield Finding(at, what, "column name")
    is_outside = parameter.choices and default not in parameter.choices
    if parameter.range and re.fullmatch(NUMBER, default):
        is_outside = not float(parameter.range.at_least) <= float(default) <= float(parameter.range.at_most)
    if is_outside and default != "null":
        yield Finding(at, f"the default of {parameter.name}, {default}, is outside its limit", "parameter")


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
