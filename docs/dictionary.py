"""Render the catalog of a database without data as Markdown for the Sphinx extension MyST.

There is one page per table, view and named query, and per schema one page of caveats and one of figures. A
label is `(itp.job)=` above a heading and `{id="itp.job_v1.run_s"}` after the name of a column.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracehouse.definitions.rules import all_rules
from tracehouse.definitions.sql_text import first_statement
from tracehouse.definitions.view_files import DRAFT
from tracehouse.docs.examples import Example
from tracehouse.engines.duckdb.write.database_objects import DatabaseObjects, objects_over
from tracehouse.ingest.declare.trace import all_traces

SYNTHETIC = "Rows and charts are of synthetic data (`traces sample`) and say nothing about a real cluster."
COVERAGE = "dictionary/coverage.md"
# Schemas that do not belong to a trace, with their titles.
SHARED = {"unified": "Views and queries over all traces", "catalog": "Meaning and origin of the data"}

# The columns of the catalog that a page shows as facts, and labels other than their names.
TRACE_FACTS = ("publisher", "homepage", "download", "licence", "citation")
OBJECT_FACTS = ["kind", "status", "grain", "source", "chart", "clocks", "caveats", "reads", "reads_versions"]
OBJECT_FACTS += ["read_by"]
CLOCK_FACTS = ["epoch", "zone", "local_offset_s", "scale", "resolution_s", "true_parts", "fake_parts"]
CLOCK_FACTS += ["documented_in", "objects"]
CAVEAT_FACTS = ("severity", "what_to_do", "documented_in", "objects", "columns")
LABELS = {
    "source": "Documented in",
    "reads_versions": "Versions read",
    "homepage": "Described in",
    "download": "Raw files",
    "citation": "Cite",
    "epoch": "Zero",
    "local_offset_s": "Seconds to local time",
    "scale": "Seconds of one unit",
    "resolution_s": "Resolution in seconds",
    "true_parts": "Real",
    "fake_parts": "Not real",
}
# The prefix of the labels that lists of these columns link to.
PREFIXES = {"caveats": "caveat.", "clocks": "clock."}

Row = dict[str, Any]
Pages = dict[str, str]
"""The content of Markdown and SVG files by path."""


def dictionary(examples: Mapping[str, Example]) -> Pages:
    """Return the pages for all traces, tables, views and queries of this package.

    `examples` are examples by the name of the query; their charts are among the pages.
    """
    return Dictionary(objects_over([]), examples).pages()


class Dictionary:
    """The rows of the catalog, by the name of the trace, table, view or query that they describe."""

    def __init__(self, definitions: DatabaseObjects, examples: Mapping[str, Example]) -> None:
        self._comments = {name: found.comment or "" for name, found in definitions.relations.items()}
        self._catalog_columns = {
            name: [
                {"column_name": column, "type": kind, "meaning": comment or ""}
                for column, (kind, comment) in found.columns.items()
            ]
            for name, found in definitions.relations.items()
            if name.startswith("catalog.")
        }
        self._examples = examples
        self._catalog = {name: table.to_pylist() for name, table in definitions.catalog.items()}
        self._traces = {row["trace"]: row for row in self._rows("traces")}
        self._queries = {row["query_name"]: row for row in self._rows("queries")}
        self._tables: dict[str, Row] = {name: {} for name in self._catalog_columns}
        self._tables |= {row["table_name"]: row for row in self._rows("tables")}
        self._views: dict[str, list[Row]] = defaultdict(list)
        # The current version comes first. Drafts have no page.
        for row in sorted(self._rows("views"), key=lambda row: (not row["is_current"], -row["version"])):
            if row["status"] != DRAFT:
                self._views[row["view_name"]].append(row)
        self._columns: dict[str, list[Row]] = defaultdict(list, self._catalog_columns)
        # The catalog has no types of the columns of queries.
        defined = {**definitions.relations, **definitions.queries}
        for row in self._rows("columns"):
            kind, _ = defined[row["object_name"]].columns[row["column_name"]]
            self._columns[row["object_name"]].append(row | {"type": kind})
        self._rules: dict[str, list[str]] = defaultdict(list)
        for rule in all_rules(all_traces().values()):
            breaches = f" Known breaches: {self._links([rule.caveat], 'caveat.')}" if rule.caveat else ""
            self._rules[rule.object_name].append(f"- {text(rule.rule)}{breaches}")
        self._clocks = self._names_of("clocks", "clock", "objects")
        self._caveats = self._names_of("caveats", "caveat", "objects")
        self._read_by = self._names_of("views", "versioned_name", "reads")
        for read, names in self._names_of("queries", "query_name", "reads").items():
            self._read_by[read] += names

    def pages(self) -> Pages:
        """Return all pages, and the charts of the examples, by path."""
        found = {
            "dictionary/index.md": self._index(),
            COVERAGE: self._coverage(),
            "dictionary/gallery.md": self._gallery(),
        }
        found |= {_path(name, "svg"): example.svg for name, example in self._examples.items() if example.svg}
        found |= {f"dictionary/{schema}/index.md": self._schema(schema) for schema in self._schemas()}
        found |= {_path(name): self._table(name) for name in self._tables}
        found |= {_path(name): self._view(name) for name in self._views}
        found |= {_path(name): self._query(name) for name in self._queries}
        for schema in self._schemas():
            found |= {f"dictionary/{schema}/{name}.md": page for name, page in self._ledgers(schema).items()}
        return found

    def _rows(self, table: str, schema: str = "") -> list[Row]:
        rows = self._catalog[f"catalog.{table}"]
        return [row for row in rows if row["trace"] == schema] if schema else rows

    def _names_of(self, table: str, name: str, key: str) -> dict[str, list[str]]:
        """Return the names of the rows that list a value in the column `key`, by value."""
        found = defaultdict(list)
        for row in self._rows(table):
            for value in row[key]:
                found[value].append(row[name])
        return found

    def _schemas(self) -> list[str]:
        return [*self._traces, *SHARED]

    def _title(self, schema: str) -> str:
        return text(SHARED.get(schema) or self._traces[schema]["title"])

    def _links(self, names: Iterable[str], prefix: str = "") -> str:
        """Return links to objects, columns and labels with a prefix.

        A column of a view has the label of the current version.
        """
        found = []
        for name in names:
            relation, _, column = name.rpartition(".")
            current = self._views[relation][0]["versioned_name"] if relation in self._views else relation
            found.append(link(name, prefix + f"{current}.{column}".removeprefix(".")))
        return ", ".join(found)

    def _facts(self, row: Row, keys: Iterable[str]) -> str:
        """Return a field list of the columns of a row that are not empty."""
        lines = []
        for key in keys:
            value = row.get(key)
            if isinstance(value, list):
                value = self._links(value, PREFIXES.get(key, ""))
            elif isinstance(value, float):
                value = f"{value:,.10g}"
            elif key in ("chart", "status"):
                value = value and code(value)
            else:
                value = prose(value or "")
            if value:
                lines.append(f":{LABELS.get(key) or key.replace('_', ' ').capitalize()}: {value}")
        return "\n".join(lines)

    def _index(self) -> str:
        rows = []
        for schema in self._schemas():
            found = [_in_schema(names, schema) for names in (self._tables, self._views, self._queries)]
            sizes = (*map(len, found), len(self._rows("caveats", schema)))
            counts = [str(size or "") for size in sizes]
            rows.append((link(schema, f"schema.{schema}"), self._title(schema), *counts))
        return document(
            "(dictionary)=\n# Dictionary",
            "All tables, views and named queries: their columns with unit, provenance, meaning and lineage, "
            "their caveats and their SQL. The schema `catalog` of the database contains the same "
            "information. `traces describe NAME` prints it.",
            grid(("schema", "description", "tables", "views", "queries", "caveats"), rows),
            "- [Metrics by trace](#dictionary.coverage)",
            toctree(["coverage", *(f"{schema} <{schema}/index>" for schema in self._schemas())]),
        )

    def _coverage(self) -> str:
        def cell(row: Row) -> str:
            return f"[{row['exactness']}](#{row['answered_by']})" if row["answered_by"] else "–"

        found = {(row["metric"], row["trace"]): row for row in self._rows("metrics")}
        rows = [
            (text(metric), *(cell(found[metric, trace]) for trace in self._traces))
            for metric in dict.fromkeys(row["metric"] for row in self._rows("metrics"))
        ]
        return document(
            "(dictionary.coverage)=\n# Metrics by trace",
            "Each link leads to the view or query that computes the metric. A dash (–) means that the trace "
            "does not record it; the page of the schema gives the reason.",
            grid(("metric", *(f"[{trace}](#schema.{trace})" for trace in self._traces)), rows),
        )

    def _gallery(self) -> str:
        parts = []
        for schema in self._schemas():
            charts = [
                f"[![]({name.replace('.', '/')}.svg)](#{name})\n{link(name)} "
                + prose(self._queries[name]["title"])
                for name in _in_schema(self._examples, schema)
                if self._examples[name].svg
            ]
            if charts:
                parts += [f"## {self._title(schema)}", "````{container} gallery", *charts, "````"]
        return document(
            "(dictionary.gallery)=\n# Gallery of charts",
            f"The named queries with a chart. {SYNTHETIC} A chart links to the page of its query.",
            *parts,
        )

    def _schema(self, schema: str) -> str:
        objects = {
            "Tables": {name: self._comments[name] for name in self._tables},
            "Views": {name: versions[0]["title"] for name, versions in self._views.items()},
            "Queries": {name: row["title"] for name, row in self._queries.items()},
        }
        parts, files = [], []
        for title, about in objects.items():
            if names := _in_schema(about, schema):
                rows = [(link(name), prose(about[name])) for name in names]
                parts.append(f"## {title}\n\n" + grid(("name", "description"), rows))
                files += [name.partition(".")[2] for name in names]
        pages = [*self._ledgers(schema)]
        more = [f"[{name.removeprefix('all-').capitalize()}]({name}.md)" for name in pages]
        metrics = [
            (row["metric"], row["exactness"], prose(row["reason"]) + f" {link(by)}" * bool(by))
            for row in self._rows("metrics", schema)
            for by in [row["answered_by"]]
        ]
        clocks = [
            f"(clock.{row['clock'].lower()})=\n### `{row['clock']}`\n\n{self._facts(row, CLOCK_FACTS)}"
            for row in self._rows("clocks", schema)
        ]
        return document(
            f"(schema.{schema})=\n# {schema}: {self._title(schema)}",
            self._facts(self._traces.get(schema, {}), TRACE_FACTS),
            ", ".join(more),
            *parts,
            "## Metrics\n\n" + grid(("metric", "exactness", "reason"), metrics) if metrics else "",
            *(["## Clocks", *clocks] if clocks else []),
            toctree([*files, *pages]),
        )

    def _table(self, name: str) -> str:
        kind = "" if name.startswith("catalog.") else "base table: the publisher's names and values, typed"
        row = self._tables[name] | {"kind": kind}
        return document(self._object(name, row, self._comments[name]), self._rule_list(name))

    def _view(self, name: str) -> str:
        versions = self._views[name]
        current = versions[0]["versioned_name"]
        return document(
            f"({name})=\n# {name}",
            prose(versions[0]["title"]),
            f"`{name}` means the newest released version, [`{current}`](#{current}). Cite a version "
            "([how versions work](/docs/versions.md)).",
            self._object_facts(name, {}),
            *(self._version(row) for row in versions),
            self._rule_list(name, *(row["versioned_name"] for row in versions)),
        )

    def _version(self, row: Row) -> str:
        name = row["versioned_name"]
        comment = self._comments[name]
        row = row | {"status": f"{row['status']}, SHA-256 {row['sha256']}"}
        return self._object(name, row, comment if comment != row["title"] else "", level="##")

    def _query(self, name: str) -> str:
        row, example = self._queries[name], self._examples.get(name)
        rows = "" if example is None else f"\n{example.rows}"
        shown = (
            f"## Example\n\n{SYNTHETIC}" if example else "",
            f"```console\n$ traces query {name}{rows}\n```",
            f"![{text(row['title'])}]({name.partition('.')[2]}.svg)" if example and example.svg else "",
            self._parameters(name),
        )
        row = row | {"kind": "named query", "status": f"SHA-256 {row['sha256']}"}
        return self._object(name, row, row["title"], row["description"], shown)

    def _object(
        self, name: str, row: Row, title: str, about: str = "", parts: Sequence[str] = (), level: str = "#"
    ) -> str:
        """Return the section of a table, version or query: its facts, `parts`, columns and SQL."""
        heading = f"({name})=\n{level} {name}"
        columns = self._column_table(name, "## Columns\n\n" if level == "#" else "")
        sql = sql_block(row["sql"]) if "sql" in row else ""
        facts = self._object_facts(name, row)
        return document(heading, prose(title), prose(about), facts, *parts, columns, sql)

    def _object_facts(self, name: str, row: Row) -> str:
        of_name = {"clocks": self._clocks.get(name), "read_by": self._read_by.get(name)}
        return self._facts({"caveats": self._caveats.get(name)} | row | of_name, OBJECT_FACTS)

    def _parameters(self, name: str) -> str:
        rows = []
        for row in self._rows("query_parameters"):
            if row["query_name"] == name:
                meaning = [prose(row["meaning"])]
                if row["choices"]:
                    meaning.append("One of " + ", ".join(map(code, row["choices"])))
                elif row["at_least"] is not None:
                    meaning.append(f"From {row['at_least']} to {row['at_most']}")
                elif row["values_of"] is not None:
                    what = "Values, separated by commas," if row["is_list"] else "A value"
                    meaning.append(f"{what} of {self._links([row['values_of']])}")
                kind = (code(row["type"]), code(row["default_value"]))
                rows.append((code(row["parameter"]), *kind, "<br>".join(meaning)))
        table = stacked(("parameter", "type", "default", "meaning"), rows)
        return f"## Parameters\n\n{table}" if rows else ""

    def _column_table(self, name: str, heading: str = "## Columns\n\n") -> str:
        rows = []
        for row in self._columns[name]:
            label = f"{name}.{row['column_name']}"
            caveats = dict.fromkeys([*row.get("caveats", ()), *self._caveats.get(label, ())])
            notes = {
                "From": self._links(row.get("lineage", ())),
                "Clock": self._links(self._clocks.get(label, ()), "clock."),
                "Caveat": self._links(caveats, "caveat."),
            }
            meaning = [prose(row["meaning"]), *(f"{word}: {note}" for word, note in notes.items() if note)]
            about = (code(row["type"]), text(row.get("unit", "")), row.get("provenance", ""))
            rows.append((anchored(row["column_name"], label), *about, "<br>".join(meaning)))
        return heading + stacked(("column", "type", "unit", "provenance", "meaning"), rows)

    def _rule_list(self, *names: str) -> str:
        lines = [line for name in names for line in self._rules[name]]
        intro = "## Rules\n\n`traces check` counts the rows that break each rule.\n\n"
        return intro + "\n".join(lines) if lines else ""

    def _ledgers(self, schema: str) -> Pages:
        """Return the pages of caveats and figures that a schema has, by name."""
        caveats = []
        for row in self._rows("caveats", schema):
            name = row["caveat"]
            columns = [
                label
                for relation, rows in self._columns.items()
                if relation not in self._views
                for column in rows
                if name in column.get("caveats", ())
                and (label := f"{relation}.{column['column_name']}") not in row["objects"]
            ]
            heading = f"(caveat.{name.lower()})=\n## {name}"
            about = self._facts(row | {"columns": columns}, CAVEAT_FACTS)
            caveats.append(document(heading, prose(row["what_goes_wrong"]), about).rstrip())
        figures = []
        for title, table, about in (
            ("Published figures", "published", "Documents print them. `traces verify` compares them."),
            ("Expected counts", "expected", "No document prints them. `traces check` compares them."),
        ):
            if rows := self._rows(table, schema):
                cells = stacked(("figure", "value", "source and measurement"), map(_figure, rows))
                figures += [f"## {title}", about, cells]
        intro = "Known pitfalls of these data. [How caveats follow columns](/docs/command-line.md#caveats)."
        pages = {}
        if caveats:
            pages["all-caveats"] = document(f"(caveats.{schema})=\n# Caveats of {schema}", intro, *caveats)
        if figures:
            pages["all-figures"] = document(f"(figures.{schema})=\n# Figures of {schema}", *figures)
        return pages


def _figure(figure: Row) -> tuple[str, str, str]:
    """Return the claim of a figure, its value, and how it is measured."""
    name = anchored(figure["figure"].partition(".")[2], f"figure.{figure['figure']}")
    relation = "" if figure["relation"] == "equal" else f"{figure['relation']} "
    tolerance = f" ± {figure['tolerance']:,.10g}" if figure["tolerance"] else ""
    lines = (
        f"{prose(figure['printed_in'])} ({figure['trust']})" if "trust" in figure else "",
        f"Reads {', '.join(map(link, figure['reads']))}" if figure["reads"] else "",
        code(figure["measured_by"]) if figure["measured_by"] else "Not measurable",
        prose(figure["explanation"]),
    )
    return (
        f"{name}<br>{prose(figure['statement'])}",
        f"{relation}{figure['value']:,.10g}{tolerance} {text(figure['unit'])}",
        "<br>".join(filter(None, lines)),
    )


def _path(name: str, suffix: str = "md") -> str:
    return f"dictionary/{name.replace('.', '/')}.{suffix}"


def _in_schema(names: Iterable[str], schema: str) -> list[str]:
    return sorted(name for name in names if name.startswith(f"{schema}."))


def text(plain: str) -> str:
    """Escape plain text so that Markdown shows it unchanged, also in a table."""
    return re.sub(r"([\\`*_\[\]<>|#$~{}])", r"\\\1", plain or "")


def prose(plain: str) -> str:
    """Escape text and turn its URLs into links."""
    parts = re.split(r"(https?://[^\s,;()]*[^\s,;().])", plain or "")
    return "".join(f"<{part}>" if index % 2 else text(part) for index, part in enumerate(parts))


def code(sql: str) -> str:
    """Format SQL as code in one line, also in a table."""
    return "`" + " ".join(sql.split()).replace("|", r"\|") + "`"


def link(name: str, target: str = "") -> str:
    """Return a link with the text `name` to the label `target`, by default to the label `name`."""
    return f"[`{name}`](#{_as_label(target or name)})"


def anchored(shown: str, label: str) -> str:
    """Return a name with a label, so that links can point to it."""
    return f'[`{shown}`]{{id="{_as_label(label)}"}}'


def _as_label(name: str) -> str:
    """Return a name as a label, which has no capital letters and no spaces."""
    return "-".join(name.lower().split())


def grid(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with these column names and rows; cells are Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stacked(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that narrow screens show with one cell per line."""
    return "{.stacked}\n" + grid(names, rows)


def sql_block(sql: str) -> str:
    """Return the first statement of a SQL file as a code block."""
    return f"```sql\n{first_statement(sql).strip()}\n```"


def toctree(paths: Iterable[str]) -> str:
    """Return the directive that adds child pages to the navigation."""
    return "\n".join(["```{toctree}", ":hidden:", "", *paths, "```"])


def document(*parts: str) -> str:
    """Join Markdown blocks with empty lines, without empty blocks."""
    return "\n\n".join(part for part in parts if part) + "\n"
