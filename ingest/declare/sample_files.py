"""The names of the files of a synthetic sample, and why no sample follows from the declaration of a table."""

import importlib.util
import math
import re
from collections.abc import Iterable, Mapping
from itertools import product

from tracehouse.ingest.declare.trace import Column, Table, Trace

GROUP = re.compile(r"\(\?P<(\w+)>((?:[^()]|\([^()]*\))*)\)")
# The formats of raw files in which samples are drawn from declarations.
_DRAWN = (".csv", ".jsonl")
# The most names of cells that are drawn from the pattern of a wide table.
_CELLS = 10
_DIGITS = re.compile(r"((?:\\d)+)(\+|\{(\d+)\})?")


def name_of(pattern: str, keys: Mapping[str, str]) -> str:
    """Return a name that matches a pattern: groups have the given values, and optional parts are omitted."""
    named = GROUP.sub(lambda group: keys[group[1]], pattern)
    return re.sub(r"\(\?:[^()]*\)\?", "", named).replace("\\", "")


def file_keys(table: Table) -> list[dict[str, str]]:
    """Return the values of the keys in the name of each file of a sample.

    They are the `examples` of the key, or the alternatives in its pattern.
    """
    return _group_values("/".join((table.folder, table.archive_stem, table.file_name)), table.keys)


def cell_names(table: Table) -> list[str]:
    """Return the names of the cells in a wide CSV, or none if the declaration does not determine them."""
    assert table.wide
    variable, pattern = table.column(table.wide.variable), table.wide.variable_pattern
    if given := declared_texts(variable):
        return list(given)
    first = math.ceil(float(variable.least or 0)) if variable.type == "BIGINT" else 0
    found: dict[str, None] = {}
    for number in range(first, first + _CELLS):
        numbered = with_digits(pattern, number)
        alternatives = [numbered] if "(" in numbered else numbered.split("|")
        for keys in _group_values(numbered, (*table.columns, *table.keys)):
            found |= dict.fromkeys(name_of(text, keys) for text in alternatives)
    return [name for name in found if is_text_like(pattern, name)][:_CELLS]


def with_digits(pattern: str, number: int) -> str:
    r"""Replace each run of digits in a pattern, such as ``\d+`` or ``\d\d``, by a number."""
    return _DIGITS.sub(lambda run: f"{number:0{len(run[1]) // 2 - 1 + int(run[3] or 1)}}", pattern)


def is_text_like(pattern: str, text: str) -> bool:
    """Return whether a text that was made from a pattern matches it, and has none of its operators."""
    return re.fullmatch(pattern, text) is not None and not re.search(r"[*+?|(\[{]", text)


def invented_text(column: Column, number: int) -> str:
    """Return the text of a column for a number, if none is declared.

    It matches a `pattern` of text and digits. Texts for other patterns may not match.
    """
    pattern = column.pattern
    numbered = with_digits(pattern, number)
    text = "" if numbered == pattern or "(?P<" in pattern else name_of(numbered, {})
    return text if text and is_text_like(pattern, text) else f"{column.name}_{number}"


def declared_texts(column: Column) -> tuple[str, ...]:
    """Return the texts that a column may have, if they are declared."""
    return column.examples or tuple(map(str, column.choices))


def _group_values(pattern: str, columns: Iterable[Column]) -> list[dict[str, str]]:
    """Return the combinations of values of the named groups: the columns' `examples`, or alternatives."""
    groups: dict[str, str] = dict(GROUP.findall(pattern))
    examples = {column.name: column.examples for column in columns}
    choices = [examples.get(name) or alternatives.split("|") for name, alternatives in groups.items()]
    return [dict(zip(groups, chosen, strict=True)) for chosen in product(*choices)]


def explain_missing_sample(table: Table) -> tuple[str, str] | None:
    """Return why no sample of a table follows from its declaration, and what to declare; None if one does.

    What to declare is empty if no declaration helps.
    """
    if table.json_list:
        return "its file is one JSON list", ""
    # Another rule reports a wide table without the column that receives the names of its cells.
    has_variable = table.wide and any(one.name == table.wide.variable for one in table.columns)
    if table.wide and has_variable and not cell_names(table):
        reason = f"the names of its cells do not follow from {table.wide.variable_pattern}"
        return reason, f"declare `examples` of {table.wide.variable}"
    for keys in file_keys(table):
        name, folder = name_of(table.file_name, keys), name_of(table.folder, keys)
        if not name.endswith(_DRAWN):
            return f"its file does not end in {' or '.join(_DRAWN)}", ""
        if table.key_values(name, folder) is None:
            return _explain_file_name(table, keys)
    return None


def missing_samples(trace: Trace) -> list[tuple[Table, str]]:
    """Return the tables without a sample, each with the reason and what to do; none if a module writes it."""
    if _has_module(trace):
        return []
    module, found = f"samples/traces/{trace.name}.py", []
    for table in trace.tables:
        if why := explain_missing_sample(table):
            reason, remedy = why
            to_do = f"{remedy}, or write {module}" if remedy else f"write {module}"
            found.append((table, f"no sample of {table.name} can be drawn, because {reason}: {to_do}"))
    return found


def columns_off_pattern(trace: Trace) -> list[tuple[Table, Column]]:
    """Return the columns whose texts in a sample do not match their `pattern`; none if a module writes it."""
    return [
        (table, column)
        for table in (() if _has_module(trace) else trace.tables)
        for column in table.columns
        if column.type == "VARCHAR" and column.pattern and column.sample is None
        if not declared_texts(column) and not re.fullmatch(column.pattern, invented_text(column, 1))
    ]


def _has_module(trace: Trace) -> bool:
    return importlib.util.find_spec(f"tracehouse.samples.traces.{trace.name}") is not None


def _explain_file_name(table: Table, keys: Mapping[str, str]) -> tuple[str, str]:
    """Return why these keys do not give the name of a file, and what to declare."""
    patterns = dict(GROUP.findall("/".join((table.folder, table.archive_stem, table.file_name))))
    for key in table.keys:
        if key.name not in keys or re.fullmatch(patterns[key.name], keys[key.name]):
            continue
        if key.examples:
            what = f"the example {keys[key.name]} of {key.name} does not match {patterns[key.name]}"
            return what, "correct it"
        return f"{key.name}, a key in its file names, has no `examples`", "declare them"
    what = "`file_name` or `folder` has a pattern outside its named groups"
    return what, "name the group and declare it in `keys`, with `examples`"
