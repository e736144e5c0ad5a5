"""The catalog of a database, looked up by name: for the pages of the dictionary."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from tracehouse.docs import markdown
from tracehouse.engines.duckdb.write.definitions import Defined, Definitions
from tracehouse.ingest.declarations import all_traces
from tracehouse.views.ledgers import Check
from tracehouse.views.rules import all_rules

Row = Mapping[str, Any]

# Schemas of no trace.
SHARED = {
    "unified": "What all traces have in common",
    "catalog": "What the numbers mean and where they come from",
}


class House:
    """The catalog, looked up by name."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.traces = self._rows("traces")
        self.caveats = self._rows("caveats")
        self.clocks = self._rows("clocks")
        self.metrics = self._rows("metrics")
        self.figures = self._rows("published")
        self.tables = {row["table_name"]: row for row in self._rows("tables")}
        self.versions = {row["versioned_name"]: row for row in self._rows("views")}
        self.queries = {row["query_name"]: row for row in self._rows("queries")}
        self.parameters = _grouped(self._rows("query_parameters"), "query_name")
        self.columns = _grouped(self._rows("columns"), "object_name")
        self.rules = _by(all_rules(all_traces().values()))

    def _rows(self, name: str) -> list[Row]:
        return self.definitions.catalog[f"catalog.{name}"].to_pylist()

    @cached_property
    def views(self) -> dict[str, list[Row]]:
        """The versions of each view, the newest first, by its plain name."""
        found = _grouped(self.versions.values(), "view_name")
        return {name: sorted(rows, key=lambda row: -row["version"]) for name, rows in found.items()}

    @cached_property
    def catalog_tables(self) -> dict[str, Defined]:
        """The catalog's own tables."""
        relations = self.definitions.relations.items()
        return {name: defined for name, defined in relations if name.startswith("catalog.")}

    @cached_property
    def read_by(self) -> dict[str, list[str]]:
        """The views and queries that read a table or view, by the name that they read it by."""
        readers = defaultdict(list)
        for name, row in (self.versions | self.queries).items():
            for read in row["reads"]:
                readers[read].append(name)
        return readers

    @cached_property
    def caveats_on(self) -> dict[str, list[str]]:
        """The caveats that a ledger or a view's header names of an object or a column."""
        on = defaultdict(list)
        for caveat in self.caveats:
            for touched in caveat["objects"]:
                on[touched].append(caveat["caveat"])
        return on

    @cached_property
    def clocks_of(self) -> dict[str, list[str]]:
        """The clocks that tell the times of a table or column."""
        of = defaultdict(list)
        for clock in self.clocks:
            for touched in clock["objects"]:
                of[touched].append(clock["clock"])
        return of

    def link(self, name: str) -> str:
        """A link to an object or a column; to the newest version's, where a view has its plain name."""
        relation, _, column = name.rpartition(".")
        versions = self.views.get(relation)
        return markdown.link(name, f"{versions[0]['versioned_name']}.{column}" if versions else name)

    def schemas(self) -> list[str]:
        """The traces' schemas, and those of all."""
        return [*(trace["trace"] for trace in self.traces), *SHARED]


def _grouped(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def _by(rules: Iterable[Check]) -> dict[str, list[Check]]:
    found: dict[str, list[Check]] = {}
    for rule in rules:
        found.setdefault(rule.object_name, []).append(rule)
    return found
