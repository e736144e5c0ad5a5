"""Writes the dictionary as Markdown: a page for each table, view and named query, its traps and its figures.

Everything comes from the catalog of a database without data.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tracehouse.docs.house import SHARED, House, Row
from tracehouse.docs.markdown import (
    anchored,
    caveat_links,
    clock_links,
    code,
    document,
    facts,
    grid,
    heading,
    link,
    links,
    prose,
    sql_block,
    stacked,
    text,
    toctree,
)
from tracehouse.engines.duckdb.write.definitions import definitions_over

Pages = dict[str, str]
"""Markdown by path."""


def dictionary() -> Pages:
    """The pages of the dictionary, Markdown by path."""
    return pages(House(definitions_over([])))


def pages(house: House) -> Pages:
    """The pages over a catalog."""
    written = {"dictionary/index.md": _start(house), "dictionary/coverage.md": _metrics(house)}
    for schema in house.schemas():
        folder = f"dictionary/{schema}"
        written[f"{folder}/index.md"] = _schema(house, schema)
        for name in _in_schema(house.tables, schema):
            written[_path(name)] = _table(house, name)
        for name in _in_schema(house.catalog_tables, schema):
            written[_path(name)] = _catalog_table(house, name)
        for name in _in_schema(house.views, schema):
            written[_path(name)] = _view(house, name)
        for name in _in_schema(house.queries, schema):
            written[_path(name)] = _query(house, name)
        if _of_trace(house.caveats, schema):
            written[f"{folder}/all-caveats.md"] = _caveats(house, schema)
        if _of_trace(house.figures, schema):
            written[f"{folder}/published-figures.md"] = _figures(house, schema)
    return written


def _start(house: House) -> str:
    rows = []
    for schema in house.schemas():
        counts = (
            house.tables | house.catalog_tables,
            house.views,
            house.queries,
            _of_trace(house.caveats, schema),
        )
        rows.append(
            (
                f"[`{schema}`](#schema.{schema})",
                text(_title(house, schema)),
                *(str(len(_in_schema(found, schema)) or "") for found in counts[:3]),
                str(len(counts[3]) or ""),
            )
        )
    return document(
        "(dictionary)=\n# Dictionary",
        "Every table, view and named query: its columns with unit, provenance and meaning, what each is "
        "computed from, the traps that its numbers hold, its SQL. `catalog` in the database holds the same, "
        "and `traces describe NAME` prints it.",
        grid(("schema", "what it is", "tables", "views", "queries", "caveats"), rows),
        "- [What each trace can tell](#dictionary.coverage)",
        toctree(["coverage", *(f"{schema} <{schema}/index>" for schema in house.schemas())]),
    )


def _schema(house: House, schema: str) -> str:
    trace = next((row for row in house.traces if row["trace"] == schema), None)
    caveats, figures = _of_trace(house.caveats, schema), _of_trace(house.figures, schema)
    tables = _in_schema(house.tables | house.catalog_tables, schema)
    views, queries = _in_schema(house.views, schema), _in_schema(house.queries, schema)
    files = [name.partition(".")[2] for name in (*tables, *views, *queries)]
    more = [name for name, rows in (("all-caveats", caveats), ("published-figures", figures)) if rows]
    return document(
        f"(schema.{schema})=\n# {schema}: {text(_title(house, schema))}",
        facts(
            {
                "Publisher": text(trace["publisher"]),
                "Described in": prose(trace["homepage"]),
                "Raw files": prose(trace["download"]),
                "Licence": text(trace["licence"]),
                "Cite": prose(trace["citation"]),
                "Traps": f"[{len(caveats)} caveats](#caveats.{schema})" if caveats else "",
                "Printed": f"[{len(figures)} published figures](#figures.{schema})" if figures else "",
            }
            if trace
            else {}
        ),
        _listed("Tables", "table", tables, lambda name: _comment(house, name)),
        _listed("Views", "view", views, lambda name: house.views[name][0]["title"]),
        _listed("Queries", "query", queries, lambda name: house.queries[name]["title"]),
        _schema_metrics(house, schema),
        _clocks(house, schema),
        toctree([*files, *more]),
    )


def _listed(title: str, kind: str, names: Sequence[str], about: Any) -> str:
    if not names:
        return ""
    rows = [(link(name), prose(about(name))) for name in names]
    return f"## {title}\n\n" + grid((kind, "what it is"), rows)


def _schema_metrics(house: House, schema: str) -> str:
    rows = [
        (text(row["metric"]), row["exactness"], prose(row["reason"]) + _answered(row))
        for row in _of_trace(house.metrics, schema)
    ]
    return "## What it can tell\n\n" + grid(("metric", "exactness", "why"), rows) if rows else ""


def _answered(metric: Row) -> str:
    return f" {link(metric['answered_by'])}" if metric["answered_by"] else ""


def _clocks(house: House, schema: str) -> str:
    parts = []
    for clock in _of_trace(house.clocks, schema):
        offset, scale = clock["local_offset_s"], clock["scale"]
        described = {
            "Zero": text(clock["epoch"]),
            "Zone": text(clock["zone"]),
            "To local time": "unknown" if offset is None else f"add {offset:,.10g} s",
            "One of its seconds": f"{scale:.10g} s",
            "Resolution": f"{clock['resolution_s']:.10g} s",
            "True": text(clock["true_parts"]),
            "Not true": text(clock["fake_parts"]),
            "Documented in": prose(clock["documented_in"]),
            "Times": ", ".join(house.link(name) for name in clock["objects"]),
        }
        parts += [f"(clock.{clock['clock'].lower()})=\n### `{clock['clock']}`", facts(described)]
    return "\n\n".join(["## Clocks", *parts]) if parts else ""


def _metrics(house: House) -> str:
    names = [trace["trace"] for trace in house.traces]
    found = {(row["metric"], row["trace"]): row for row in house.metrics}
    metrics = dict.fromkeys(row["metric"] for row in house.metrics)
    rows = [(text(metric), *(_cell(found[metric, name]) for name in names)) for metric in metrics]
    return document(
        "(dictionary.coverage)=\n# What each trace can tell",
        "A link goes to the view or query that answers; – is what the trace does not record. Each schema's "
        "page says why.",
        grid(("metric", *(f"[{name}](#schema.{name})" for name in names)), rows),
    )


def _cell(metric: Row) -> str:
    if metric["exactness"] == "impossible":
        return "–"
    return f"[{metric['exactness']}](#{metric['answered_by']})"


def _table(house: House, name: str) -> str:
    row = house.tables[name]
    return document(
        heading(name),
        prose(_comment(house, name)),
        facts(
            {
                "Kind": "base table: the publisher's names and values, typed",
                "Grain": text(row["grain"]),
                "Documented in": prose(row["source"]),
                "Clock": clock_links(house.clocks_of[name]),
                "Caveats": caveat_links(house.caveats_on[name]),
                "Read by": links(house.read_by[name]),
            }
        ),
        "## Columns",
        _columns(house, name),
        _rules(house, [name]),
    )


def _catalog_table(house: House, name: str) -> str:
    defined = house.catalog_tables[name]
    rows = [
        (anchored(name, column), f"`{kind}`", prose(comment or ""))
        for column, (kind, comment) in defined.columns.items()
    ]
    return document(
        heading(name),
        prose(defined.comment),
        facts({"Caveats": caveat_links(house.caveats_on[name])}),
        "## Columns",
        stacked(("column", "type", "meaning"), rows),
    )


def _view(house: House, name: str) -> str:
    rows = house.views[name]
    newest = rows[0]["versioned_name"]
    return document(
        heading(name),
        prose(rows[0]["title"]),
        f"`{name}` is the newest version, [`{newest}`](#{newest}); cite a version "
        "([how versions work](/docs/versions.md)).",
        facts({"Read by": links(house.read_by[name])}),
        *(_version(house, row) for row in rows),
        _rules(house, [name, *(row["versioned_name"] for row in rows)]),
    )


def _version(house: House, row: Row) -> str:
    name = row["versioned_name"]
    comment = house.definitions.relations[name].comment
    return document(
        f"({name})=\n## {name}",
        prose(comment) if comment != row["title"] else "",
        facts(
            {
                "Status": f"{row['status']}, SHA-256 `{row['sha256']}`",
                "Grain": text(row["grain"]),
                "Documented in": prose(row["source"]),
                "Engine": "" if row["engine"] == "any" else text(row["engine"]),
                "Reads": links(row["reads"]),
                "Read by": links(house.read_by[name]),
                "Caveats": caveat_links(row["caveats"]),
            }
        ),
        _columns(house, name),
        sql_block(row["sql"]),
    )


def _query(house: House, name: str) -> str:
    row = house.queries[name]
    return document(
        heading(name),
        prose(row["title"]),
        prose(row["description"]),
        facts(
            {
                "Kind": "named query",
                "Reads": links(row["reads"]),
                "In versions": links(row["reads_versions"]),
                "Chart": f"`{row['chart']}`" if row["chart"] else "",
                "Caveats": caveat_links(row["caveats"]),
                "SHA-256": f"`{row['sha256']}`",
            }
        ),
        f"```console\n$ traces query {name}\n```",
        _parameters(house, name),
        "## Columns",
        _columns(house, name),
        sql_block(row["sql"]),
    )


def _parameters(house: House, name: str) -> str:
    if name not in house.parameters:
        return ""
    rows = [
        (
            f"`{row['parameter']}`",
            f"`{row['type']}`",
            f"`{row['default_value']}`",
            prose(row["meaning"]) + _choices(house, row),
        )
        for row in house.parameters[name]
    ]
    return "## Parameters\n\n" + stacked(("parameter", "type", "default", "meaning"), rows)


def _choices(house: House, row: Row) -> str:
    if row["choices"]:
        return "<br>One of " + ", ".join(f"`{choice}`" for choice in row["choices"])
    if row["at_least"] is not None:
        return f"<br>From {row['at_least']} to {row['at_most']}"
    if row["values_of"] is not None:
        return f"<br>A value of {house.link(row['values_of'])}"
    return ""


def _columns(house: House, name: str) -> str:
    kinds = {**house.definitions.relations, **house.definitions.queries}[name].columns
    rows = []
    for row in house.columns[name]:
        column = row["column_name"]
        label = f"{name}.{column}"
        notes = {
            "From": ", ".join(house.link(origin) for origin in row["lineage"]),
            "Clock": clock_links(house.clocks_of[label]),
            "Caveat": caveat_links(dict.fromkeys([*row["caveats"], *house.caveats_on[label]])),
        }
        meaning = [prose(row["meaning"]), *(f"{word}: {found}" for word, found in notes.items() if found)]
        about = (f"`{kinds[column][0]}`", text(row["unit"]), row["provenance"], "<br>".join(meaning))
        rows.append((anchored(name, column), *about))
    return stacked(("column", "type", "unit", "provenance", "meaning"), rows)


def _rules(house: House, names: Sequence[str]) -> str:
    lines = [
        f"- {text(rule.rule)}" + (f" Known breaches: {caveat_links([rule.caveat])}" if rule.caveat else "")
        for name in names
        for rule in house.rules.get(name, ())
    ]
    return (
        "## Rules\n\n`traces check` counts the rows that break them.\n\n" + "\n".join(lines) if lines else ""
    )


def _caveats(house: House, schema: str) -> str:
    parts = []
    for row in _of_trace(house.caveats, schema):
        about = [
            f"{name}.{column['column_name']}"
            for name, columns in house.columns.items()
            if name not in house.views
            for column in columns
            if row["caveat"] in column["caveats"]
        ]
        described = {
            "What to do": prose(row["what_to_do"]),
            "Documented in": prose(row["documented_in"]),
            "Touches": ", ".join(map(house.link, row["objects"])),
            "About the columns": links(name for name in about if name not in row["objects"]),
        }
        parts += [
            f"(caveat.{row['caveat'].lower()})=\n## {row['caveat']}",
            prose(row["what_goes_wrong"]),
            facts(described),
        ]
    return document(
        f"(caveats.{schema})=\n# Caveats of {schema}",
        "Ways to read these numbers wrongly; [how they follow columns](/docs/caveats.md).",
        *parts,
    )


def _figures(house: House, schema: str) -> str:
    rows = [
        (_figure_claim(row), _figure_value(row), _figure_source(row))
        for row in _of_trace(house.figures, schema)
    ]
    return document(
        f"(figures.{schema})=\n# Published figures of {schema}",
        "What its publisher and its readers printed; `traces verify` sets each beside what is measured.",
        stacked(("figure", "printed", "where, and how it is measured"), rows),
    )


def _figure_claim(figure: Row) -> str:
    name = figure["figure"].partition(".")[2]
    return f'[`{name}`]{{id="figure.{figure["figure"].lower()}"}}<br>{prose(figure["statement"])}'


def _figure_value(figure: Row) -> str:
    relation = "" if figure["relation"] == "equal" else f"{figure['relation']} "
    tolerance = f" ± {figure['tolerance']:,.10g}" if figure["tolerance"] else ""
    return f"{relation}{figure['value']:,.10g}{tolerance} {text(figure['unit'])}"


def _figure_source(figure: Row) -> str:
    lines = (
        f"{prose(figure['printed_in'])} ({figure['trust']})",
        f"Reads {links(figure['reads'])}" if figure["reads"] else "",
        code(figure["measured_by"]) if figure["measured_by"] else "Not measurable",
        prose(figure["explanation"]),
    )
    return "<br>".join(filter(None, lines))


def _path(name: str) -> str:
    return f"dictionary/{name.replace('.', '/')}.md"


def _in_schema(names: Collection[str], schema: str) -> list[str]:
    return sorted(name for name in names if name.startswith(f"{schema}."))


def _of_trace(rows: Iterable[Row], schema: str) -> list[Row]:
    return [row for row in rows if row["trace"] == schema]


def _title(house: House, schema: str) -> str:
    return SHARED.get(schema) or next(row["title"] for row in house.traces if row["trace"] == schema)


def _comment(house: House, name: str) -> str:
    return house.definitions.relations[name].comment or ""
