"""Look up the rows of the catalog of a database by the name of their object."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from tracehouse.docs import markdown
from tracehouse.engines.duckdb.write.definitions import Defined, Definitions
from tracehouse.ingest.declarations import all_traces
from tracehouse.views.ledgers import Check
from tracehouse.views.rules import all_rules

Row = Mapping[str, Any]
T = TypeVar("T")

# Schemas that do not belong to a trace, with their titles.
SHARED = {
    "unified": "Views and queries over all traces",
    "catalog": "Meaning and origin of the data",
}


class Catalog:
    """The rows of the catalog tables, by the name of the trace, table, view or query that they describe."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.traces = self._rows("traces")
        self.caveats = self._rows("caveats")
        self.clocks = self._rows("clocks")
        self.metrics = self._rows("metrics")
        self.figures = self._rows("published")
        self.expected = self._rows("expected")
        self.tables = {row["table_name"]: row for row in self._rows("tables")}
        self.versions = {row["versioned_name"]: row for row in self._rows("views")}
        self.queries = {row["query_name"]: row for row in self._rows("queries")}
        self.parameters = _group_rows(self._rows("query_parameters"), "query_name")
        self.columns = _group_rows(self._rows("columns"), "object_name")
        rules = all_rules(all_traces().values())
        self.rules: Mapping[str, list[Check]] = _group((rule.object_name, rule) for rule in rules)

    def _rows(self, name: str) -> list[Row]:
        return self.definitions.catalog[f"catalog.{name}"].to_pylist()

    @cached_property
    def views(self) -> dict[str, list[Row]]:
        """The catalog rows of each view's versions by plain name, the newest version first."""
        found = _group_rows(self.versions.values(), "view_name")
        return {name: sorted(rows, key=lambda row: -row["version"]) for name, rows in found.items()}

    @cached_property
    def catalog_tables(self) -> dict[str, Defined]:
        """The definitions of the tables in the schema `catalog`, by name."""
        relations = self.definitions.relations.items()
        return {name: defined for name, defined in relations if name.startswith("catalog.")}

    @cached_property
    def read_by(self) -> dict[str, list[str]]:
        """The views and queries that read each table or view, by the name that they use in their SQL."""
        return _names_by((self.versions | self.queries).items(), "reads")

    @cached_property
    def caveats_on(self) -> dict[str, list[str]]:
        """The caveats that a ledger or a view's header declares for each object or column."""
        return _names_by(((row["caveat"], row) for row in self.caveats), "objects")

    @cached_property
    def clocks_of(self) -> dict[str, list[str]]:
        """The clocks of each table or column of times."""
        return _names_by(((row["clock"], row) for row in self.clocks), "objects")

    def link(self, name: str) -> str:
        """Return a link to an object or column; the plain name of a view links to its newest version."""
        relation, _, column = name.rpartition(".")
        versions = self.views.get(relation)
        return markdown.link(name, f"{versions[0]['versioned_name']}.{column}" if versions else name)

    def schemas(self) -> list[str]:
        """Return the schemas of the traces and the shared ones."""
        return [*(trace["trace"] for trace in self.traces), *SHARED]


def _group_rows(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    return _group((row[key], row) for row in rows)


def _names_by(rows: Iterable[tuple[str, Row]], key: str) -> dict[str, list[str]]:
    """Return the names of the rows that list a value in the list column `key`, by value."""
    return _group((value, name) for name, row in rows for value in row[key])


def _group(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    found = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found
