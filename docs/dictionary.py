"""Render the catalog of a database without data as Markdown.

There is one page per table, view and named query, and per trace one page of caveats and one of figures.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tracehouse.docs.catalog import SHARED, Catalog, Row
from tracehouse.docs.examples import Example
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

SYNTHETIC = "Rows and charts are of synthetic data (`traces sample`) and say nothing about a real cluster."

COVERAGE = "dictionary/coverage.md"

Pages = dict[str, str]
"""The content of Markdown and SVG files by path."""

Examples = Mapping[str, Example]
"""Examples by the name of the query."""


def dictionary(examples: Examples) -> Pages:
    """Return the pages for all traces, tables, views and queries of this package."""
    return render(Catalog(definitions_over([])), examples)


def render(catalog: Catalog, examples: Examples) -> Pages:
    """Return the pages for a catalog, and the charts of the examples of its queries."""
    pages = {
        "dictionary/index.md": _index(catalog),
        COVERAGE: _metrics(catalog),
        "dictionary/gallery.md": _gallery(catalog, examples),
    }
    pages |= {_path(name, "svg"): example.svg for name, example in examples.items() if example.svg}
    for schema in catalog.schemas():
        folder = f"dictionary/{schema}"
        pages[f"{folder}/index.md"] = _schema(catalog, schema)
        for names, render_page in (
            (catalog.tables, _table),
            (catalog.catalog_tables, _catalog_table),
            (catalog.views, _view),
        ):
            pages |= {_path(name): render_page(catalog, name) for name in _names_in_schema(names, schema)}
        for name in _names_in_schema(catalog.queries, schema):
            pages[_path(name)] = _query(catalog, name, examples.get(name))
        if _rows_of_trace(catalog.caveats, schema):
            pages[f"{folder}/all-caveats.md"] = _caveats(catalog, schema)
        if _rows_of_trace(catalog.figures + catalog.expected, schema):
            pages[f"{folder}/all-figures.md"] = _figures(catalog, schema)
    return pages


def _index(catalog: Catalog) -> str:
    rows = []
    for schema in catalog.schemas():
        counts = (
            catalog.tables | catalog.catalog_tables,
            catalog.views,
            catalog.queries,
            _rows_of_trace(catalog.caveats, schema),
        )
        rows.append(
            (
                f"[`{schema}`](#schema.{schema})",
                text(_title(catalog, schema)),
                *(str(len(_names_in_schema(found, schema)) or "") for found in counts[:3]),
                str(len(counts[3]) or ""),
            )
        )
    return document(
        "(dictionary)=\n# Dictionary",
        "All tables, views and named queries: their columns with unit, provenance, meaning and lineage, "
        "their caveats and their SQL. The schema `catalog` of the database contains the same information. "
        "`traces describe NAME` prints it.",
        grid(("schema", "description", "tables", "views", "queries", "caveats"), rows),
        "- [Metrics by trace](#dictionary.coverage)",
        toctree(["coverage", *(f"{schema} <{schema}/index>" for schema in catalog.schemas())]),
    )


def _schema(catalog: Catalog, schema: str) -> str:
    trace = next((row for row in catalog.traces if row["trace"] == schema), None)
    caveats, figures, expected = (
        _rows_of_trace(rows, schema) for rows in (catalog.caveats, catalog.figures, catalog.expected)
    )
    tables = _names_in_schema(catalog.tables | catalog.catalog_tables, schema)
    views, queries = _names_in_schema(catalog.views, schema), _names_in_schema(catalog.queries, schema)
    files = [name.partition(".")[2] for name in (*tables, *views, *queries)]
    more = [name for name, rows in (("all-caveats", caveats), ("all-figures", figures + expected)) if rows]
    return document(
        f"(schema.{schema})=\n# {schema}: {text(_title(catalog, schema))}",
        facts(
            {
                "Publisher": text(trace["publisher"]),
                "Described in": prose(trace["homepage"]),
                "Raw files": prose(trace["download"]),
                "Licence": text(trace["licence"]),
                "Cite": prose(trace["citation"]),
                "Caveats": f"[{len(caveats)} caveats](#caveats.{schema})" if caveats else "",
                "Figures": f"[{len(figures)} published, {len(expected)} expected](#figures.{schema})"
                if figures + expected
                else "",
            }
            if trace
            else {}
        ),
        _object_list("Tables", "table", tables, lambda name: _comment(catalog, name)),
        _object_list("Views", "view", views, lambda name: catalog.views[name][0]["title"]),
        _object_list("Queries", "query", queries, lambda name: catalog.queries[name]["title"]),
        _schema_metrics(catalog, schema),
        _clocks(catalog, schema),
        toctree([*files, *more]),
    )


def _object_list(title: str, kind: str, names: Sequence[str], about: Any) -> str:
    if not names:
        return ""
    rows = [(link(name), prose(about(name))) for name in names]
    return f"## {title}\n\n" + grid((kind, "description"), rows)


def _schema_metrics(catalog: Catalog, schema: str) -> str:
    rows = [
        (
            text(row["metric"]),
            row["exactness"],
            prose(row["reason"]) + (f" {link(row['answered_by'])}" if row["answered_by"] else ""),
        )
        for row in _rows_of_trace(catalog.metrics, schema)
    ]
    return "## Metrics\n\n" + grid(("metric", "exactness", "reason"), rows) if rows else ""


def _clocks(catalog: Catalog, schema: str) -> str:
    parts = []
    for clock in _rows_of_trace(catalog.clocks, schema):
        offset, scale = clock["local_offset_s"], clock["scale"]
        described = {
            "Zero": text(clock["epoch"]),
            "Zone": text(clock["zone"]),
            "To local time": "unknown" if offset is None else f"add {offset:,.10g} s",
            "Length of one unit": f"{scale:.10g} s",
            "Resolution": f"{clock['resolution_s']:.10g} s",
            "Real": text(clock["true_parts"]),
            "Not real": text(clock["fake_parts"]),
            "Documented in": prose(clock["documented_in"]),
            "Times": ", ".join(catalog.link(name) for name in clock["objects"]),
        }
        parts += [f"(clock.{clock['clock'].lower()})=\n### `{clock['clock']}`", facts(described)]
    return "\n\n".join(["## Clocks", *parts]) if parts else ""


def _metrics(catalog: Catalog) -> str:
    names = [trace["trace"] for trace in catalog.traces]
    found = {(row["metric"], row["trace"]): row for row in catalog.metrics}
    metrics = dict.fromkeys(row["metric"] for row in catalog.metrics)
    rows = [(text(metric), *(_cell(found[metric, name]) for name in names)) for metric in metrics]
    return document(
        "(dictionary.coverage)=\n# Metrics by trace",
        "Each link leads to the view or query that computes the metric. A dash (–) means that the trace does "
        "not record it; the page of the schema gives the reason.",
        grid(("metric", *(f"[{name}](#schema.{name})" for name in names)), rows),
    )


def _cell(metric: Row) -> str:
    if metric["exactness"] == "impossible":
        return "–"
    return f"[{metric['exactness']}](#{metric['answered_by']})"


def _gallery(catalog: Catalog, examples: Examples) -> str:
    parts = []
    for schema in catalog.schemas():
        with_example = [name for name in _names_in_schema(catalog.queries, schema) if name in examples]
        charts = [
            f"[![]({schema}/{name.partition('.')[2]}.svg)](#{name})\n{link(name)} "
            + prose(catalog.queries[name]["title"])
            for name in with_example
            if examples[name].svg
        ]
        if charts:
            parts += [f"## {text(_title(catalog, schema))}", "````{container} gallery", *charts, "````"]
    return document(
        "(dictionary.gallery)=\n# Gallery of charts",
        f"The named queries with a chart. {SYNTHETIC} A chart links to the page of its query.",
        *parts,
    )


def _table(catalog: Catalog, name: str) -> str:
    row = catalog.tables[name]
    return document(
        heading(name),
        prose(_comment(catalog, name)),
        facts(
            {
                "Kind": "base table: the publisher's names and values, typed",
                "Grain": text(row["grain"]),
                "Documented in": prose(row["source"]),
                "Clock": clock_links(catalog.clocks_of[name]),
                "Caveats": caveat_links(catalog.caveats_on[name]),
                "Read by": links(catalog.read_by[name]),
            }
        ),
        "## Columns",
        _columns(catalog, name),
        _rules(catalog, [name]),
    )


def _catalog_table(catalog: Catalog, name: str) -> str:
    defined = catalog.catalog_tables[name]
    rows = [
        (anchored(name, column), f"`{kind}`", prose(comment or ""))
        for column, (kind, comment) in defined.columns.items()
    ]
    return document(
        heading(name),
        prose(defined.comment),
        facts({"Caveats": caveat_links(catalog.caveats_on[name])}),
        "## Columns",
        stacked(("column", "type", "meaning"), rows),
    )


def _view(catalog: Catalog, name: str) -> str:
    rows = catalog.views[name]
    newest = rows[0]["versioned_name"]
    return document(
        heading(name),
        prose(rows[0]["title"]),
        f"`{name}` is an alias of the newest version, [`{newest}`](#{newest}). Cite a version "
        "([how versions work](/docs/versions.md)).",
        facts({"Read by": links(catalog.read_by[name])}),
        *(_version(catalog, row) for row in rows),
        _rules(catalog, [name, *(row["versioned_name"] for row in rows)]),
    )


def _version(catalog: Catalog, row: Row) -> str:
    name = row["versioned_name"]
    comment = catalog.definitions.relations[name].comment
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
                "Read by": links(catalog.read_by[name]),
                "Caveats": caveat_links(row["caveats"]),
            }
        ),
        _columns(catalog, name),
        sql_block(row["sql"]),
    )


def _query(catalog: Catalog, name: str, example: Example | None) -> str:
    row = catalog.queries[name]
    return document(
        heading(name),
        prose(row["title"]),
        prose(row["description"]),
        facts(
            {
                "Kind": "named query",
                "Reads": links(row["reads"]),
                "Versions read": links(row["reads_versions"]),
                "Chart": f"`{row['chart']}`" if row["chart"] else "",
                "Caveats": caveat_links(row["caveats"]),
                "SHA-256": f"`{row['sha256']}`",
            }
        ),
        f"```console\n$ traces query {name}\n```"
        if example is None
        else _example_section(name, row["title"], example),
        _parameters(catalog, name),
        "## Columns",
        _columns(catalog, name),
        sql_block(row["sql"]),
    )


def _example_section(name: str, title: str, example: Example) -> str:
    return document(
        f"## Example\n\n{SYNTHETIC}",
        f"```console\n$ traces query {name}\n{example.rows}\n```",
        f"![{text(title)}]({name.partition('.')[2]}.svg)" if example.svg else "",
    ).rstrip()


def _parameters(catalog: Catalog, name: str) -> str:
    if name not in catalog.parameters:
        return ""
    rows = [
        (
            f"`{row['parameter']}`",
            f"`{row['type']}`",
            f"`{row['default_value']}`",
            prose(row["meaning"]) + _choices(catalog, row),
        )
        for row in catalog.parameters[name]
    ]
    return "## Parameters\n\n" + stacked(("parameter", "type", "default", "meaning"), rows)


def _choices(catalog: Catalog, row: Row) -> str:
    if row["choices"]:
        return "<br>One of " + ", ".join(f"`{choice}`" for choice in row["choices"])
    if row["at_least"] is not None:
        return f"<br>From {row['at_least']} to {row['at_most']}"
    if row["values_of"] is not None:
        return f"<br>A value of {catalog.link(row['values_of'])}"
    return ""


def _columns(catalog: Catalog, name: str) -> str:
    kinds = {**catalog.definitions.relations, **catalog.definitions.queries}[name].columns
    rows = []
    for row in catalog.columns[name]:
        column = row["column_name"]
        label = f"{name}.{column}"
        notes = {
            "From": ", ".join(catalog.link(origin) for origin in row["lineage"]),
            "Clock": clock_links(catalog.clocks_of[label]),
            "Caveat": caveat_links(dict.fromkeys([*row["caveats"], *catalog.caveats_on[label]])),
        }
        meaning = [prose(row["meaning"]), *(f"{word}: {found}" for word, found in notes.items() if found)]
        about = (f"`{kinds[column][0]}`", text(row["unit"]), row["provenance"], "<br>".join(meaning))
        rows.append((anchored(name, column), *about))
    return stacked(("column", "type", "unit", "provenance", "meaning"), rows)


def _rules(catalog: Catalog, names: Sequence[str]) -> str:
    lines = [
        f"- {text(rule.rule)}" + (f" Known breaches: {caveat_links([rule.caveat])}" if rule.caveat else "")
        for name in names
        for rule in catalog.rules.get(name, ())
    ]
    return (
        "## Rules\n\n`traces check` counts the rows that break each rule.\n\n" + "\n".join(lines)
        if lines
        else ""
    )


def _caveats(catalog: Catalog, schema: str) -> str:
    parts = []
    for row in _rows_of_trace(catalog.caveats, schema):
        about = [
            f"{name}.{column['column_name']}"
            for name, columns in catalog.columns.items()
            if name not in catalog.views
            for column in columns
            if row["caveat"] in column["caveats"]
        ]
        described = {
            "Severity": text(row["severity"]),
            "What to do": prose(row["what_to_do"]),
            "Documented in": prose(row["documented_in"]),
            "Objects": ", ".join(map(catalog.link, row["objects"])),
            "Columns": links(name for name in about if name not in row["objects"]),
        }
        parts += [
            f"(caveat.{row['caveat'].lower()})=\n## {row['caveat']}",
            prose(row["what_goes_wrong"]),
            facts(described),
        ]
    return document(
        f"(caveats.{schema})=\n# Caveats of {schema}",
        "Known pitfalls of these data. [How caveats follow columns](/docs/caveats.md).",
        *parts,
    )


def _figures(catalog: Catalog, schema: str) -> str:
    sections = {
        "Published figures": (catalog.figures, "Documents print them. `traces verify` compares them."),
        "Expected counts": (catalog.expected, "No document prints them. `traces check` compares them."),
    }
    parts = []
    for title, (figures, about) in sections.items():
        rows = [
            (_figure_claim(f), _figure_value(f), _figure_source(f)) for f in _rows_of_trace(figures, schema)
        ]
        if rows:
            parts += [f"## {title}", about, stacked(("figure", "value", "source and measurement"), rows)]
    return document(f"(figures.{schema})=\n# Figures of {schema}", *parts)


def _figure_claim(figure: Row) -> str:
    name = figure["figure"].partition(".")[2]
    return f'[`{name}`]{{id="figure.{figure["figure"].lower()}"}}<br>{prose(figure["statement"])}'


def _figure_value(figure: Row) -> str:
    relation = "" if figure["relation"] == "equal" else f"{figure['relation']} "
    tolerance = f" ± {figure['tolerance']:,.10g}" if figure["tolerance"] else ""
    return f"{relation}{figure['value']:,.10g}{tolerance} {text(figure['unit'])}"


def _figure_source(figure: Row) -> str:
    lines = (
        f"{prose(figure['printed_in'])} ({figure['trust']})" if "trust" in figure else "",
        f"Reads {links(figure['reads'])}" if figure["reads"] else "",
        code(figure["measured_by"]) if figure["measured_by"] else "Not measurable",
        prose(figure["explanation"]),
    )
    return "<br>".join(filter(None, lines))


def _path(name: str, suffix: str = "md") -> str:
    return f"dictionary/{name.replace('.', '/')}.{suffix}"


def _names_in_schema(names: Collection[str], schema: str) -> list[str]:
    return sorted(name for name in names if name.startswith(f"{schema}."))


def _rows_of_trace(rows: Iterable[Row], schema: str) -> list[Row]:
    return [row for row in rows if row["trace"] == schema]


def _title(catalog: Catalog, schema: str) -> str:
    return SHARED.get(schema) or next(row["title"] for row in catalog.traces if row["trace"] == schema)


def _comment(catalog: Catalog, name: str) -> str:
    return catalog.definitions.relations[name].comment or ""
