"""Fill the catalog: the tables that document the data, its meaning and its sources."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import PurePosixPath

import sqlglot
from duckdb import DuckDBPyConnection

from tracehouse.core.text import quoted
from tracehouse.definitions.caveats import ColumnsByCaveat
from tracehouse.definitions.column_docs import ColumnDoc, ColumnDocs, parse_comment
from tracehouse.definitions.figures import Figure
from tracehouse.definitions.lineage import Columns, lineage_of
from tracehouse.definitions.rules import Check, all_rules
from tracehouse.definitions.units import is_number
from tracehouse.definitions.view_files import VIEWS, ViewFile, references
from tracehouse.engines.duckdb.read.catalog import read_base_tables
from tracehouse.engines.duckdb.write.base_tables import add_comments
from tracehouse.ingest.declare.reference_curves import read_curves, traces_with_curves
from tracehouse.ingest.declare.trace import Table, Trace, all_caveats, all_clocks
from tracehouse.ingest.store.records import Conversion, Source
from tracehouse.ingest.store.snapshot import MaterializedView


def create_catalog(connection: DuckDBPyConnection) -> None:
    """Create the catalog's tables, empty."""
    connection.execute((VIEWS / "catalog" / "tables.sql").read_text(encoding="utf-8"))


def fill_traces(connection: DuckDBPyConnection, traces: Iterable[Trace]) -> None:
    """Fill the tables of traces, caveats, clocks and reference curves. Needs neither data nor views."""
    for trace in traces:
        described = (trace.title, trace.publisher, trace.homepage, trace.download, trace.licence)
        insert(connection, "traces", [(trace.name, *described, trace.citation)])
    caveats = [
        (*described, objects, one.what_goes_wrong, one.what_to_do, one.documented_in, one.raw_files)
        for one, objects in all_caveats().items()
        for described in [(one.name, one.trace, one.severity, one.summary)]
    ]
    insert(connection, "caveats", caveats)
    fill_clocks(connection)
    insert(connection, "reference_curves", _curve_rows())


def fill_clocks(connection: DuckDBPyConnection) -> None:
    """Fill the clocks of the traces."""
    rows = [(one.name, one.trace, objects, *astuple(one)[1:]) for one, objects in all_clocks().items()]
    insert(connection, "clocks", rows)


def fill_sources(
    connection: DuckDBPyConnection, traces: Iterable[Trace], conversions: Sequence[Conversion]
) -> None:
    """Replace the rows of `catalog.tables` and `catalog.sources`: base tables and their raw files."""
    connection.execute("delete from catalog.tables; delete from catalog.sources")
    complete: dict[str, Mapping[str, int]] = defaultdict(dict)
    for trace in traces:
        insert(connection, "tables", [_table_row(trace, table, conversions) for table in trace.tables])
        complete |= {f"{trace.name}.{table.name}": table.published_rows for table in trace.tables}
    rows = [
        (
            one.trace,
            one.table_name,
            *vars(source).values(),
            _complete_rows(source, complete.get(one.table_name, {})),
        )
        for one in conversions
        for source in one.sources
    ]
    insert(connection, "sources", rows)


def fill_views(
    connection: DuckDBPyConnection,
    views: Sequence[ViewFile],
    aliases: Mapping[str, ViewFile],
    caveats_by_object: Mapping[str, ColumnsByCaveat],
    base_tables: Mapping[str, Sequence[str]],
) -> None:
    """Fill `catalog.views` with views that are not materialized, and add the views to their caveats.

    `aliases` has the version that each plain name means, and `base_tables` those behind each view.
    """
    current = {view.versioned for view in aliases.values()}
    rows: list[tuple] = [
        (
            view.alias,
            view.schema,
            view.version,
            view.versioned,
            view.header.title,
            view.header.one("grain"),
            view.header.one("source"),
            view.status,
            view.versioned in current,
            view.sha256,
            sorted(view.references),
            base_tables[view.versioned],
            sorted(caveats_by_object[view.versioned]),
            view.header.one("engine") or "any",
            False,
            None,
            None,
            [],
            view.text,
        )
        for view in views
    ]
    insert(connection, "views", rows)
    record_in_caveats(connection, {view.versioned: caveats_by_object[view.versioned] for view in views})


def find_base_tables(names: Iterable[str], known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the base tables behind some objects, sorted. `known` has those of each object."""
    return sorted({table for name in names for table in known.get(name, ())})


def record_materialized(connection: DuckDBPyConnection, name: str, view: MaterializedView) -> None:
    """Record in `catalog.views` that a view, by versioned name, is materialized."""
    connection.execute(
        """
        update catalog.views set stored = true, stored_at = ?, stored_bytes = ?, stored_files = ?
        where versioned_name = ?
        """,
        [view.at, view.bytes, list(view.files), name],
    )


def record_in_caveats(connection: DuckDBPyConnection, caveats_by_object: Mapping[str, Iterable[str]]) -> None:
    """Record in `catalog.caveats` which views and queries each caveat applies to."""
    objects: dict[str, list[str]] = defaultdict(list)
    for name, caveats in caveats_by_object.items():
        for caveat in caveats:
            objects[caveat].append(name)
    connection.execute(
        """
        update catalog.caveats set objects = list_concat(objects, found.names)
        from (select unnest($caveats) as caveat, unnest($names) as names) as found
        where caveats.caveat = found.caveat
        """,
        {"caveats": list(objects), "names": list(objects.values())},
    )


def fill_columns(
    connection: DuckDBPyConnection,
    named: Mapping[str, ViewFile | None],
    caveats_by_object: Mapping[str, ColumnsByCaveat],
    docs: ColumnDocs,
    types: Mapping[str, Columns],
) -> None:
    """Fill `catalog.columns` with the columns of views, by each name of a view, and of base tables (None)."""
    rows: list[tuple] = []
    for name, view in named.items():
        origins = lineage_of(view.tree.expression, view.references, docs, view.path) if view else {}
        for position, (column, (kind, _)) in enumerate(types[name].items(), 1):
            found = docs[name][column]
            unit = found.unit or "" if is_number(kind) else ""
            about = sorted(
                caveat
                for caveat, those in caveats_by_object.get(name, {}).items()
                if those and column in those
            )
            described = (unit, found.provenance, found.meaning, origins.get(column.lower(), []), about)
            rows.append((name, position, column, kind, *described))
    insert(connection, "columns", rows)


def create_checks(connection: DuckDBPyConnection, traces: Sequence[Trace]) -> None:
    """Create the view `catalog.checks`, which counts violations each time it is read, after all views.

    `catalog.rules` has the SQL of each rule, so that rules can run one by one: all at once need more memory.
    """
    known = read_base_tables(connection)
    rules = all_rules(traces)
    counts = [_check_sql(rule, known) for rule in rules]
    connection.execute(f"create view catalog.checks as {_with_status(counts)}")
    rows = [(rule.name, rule.trace, _with_status([sql])) for rule, sql in zip(rules, counts, strict=True)]
    insert(connection, "rules", rows)
    comments = {
        "check_name": "Name of the rule.",
        "trace": "Trace that it belongs to.",
        "object_name": "Table or view that it checks.",
        "kind": "key, reference, range, derived, coverage, agreement or row count.",
        "rule": "The rule, in words.",
        "violations": "Rows that violate it; NULL if a table that it reads has no data.",
        "status": "ok; known: violated in the published data, as the caveat explains; failed; no data;"
        " not comparable: the tables are a part of the publisher's, and the rule needs all rows.",
        "caveat": "Caveat that explains the violations.",
    }
    text = "Data-quality rules and their current violations."
    add_comments(connection, "view", "catalog.checks", text, comments)


def _with_status(counts: Iterable[str]) -> str:
    """Build the select that gives the violations and the status of rules."""
    united = "\nunion all\n".join(counts)
    return f"""
        with counted as ({united}),

        with_data as (
            select
                counted.*,
                (
                    select min(tables.row_count) from catalog.tables as tables
                    where list_contains(counted.reads, tables.table_name)
                ) as least_rows,
                (
                    select count(tables.incomplete) from catalog.tables as tables
                    where list_contains(counted.reads, tables.table_name)
                ) as incomplete_tables
            from counted
        )

        select
            check_name,
            trace,
            object_name,
            kind,
            rule,
            case when least_rows > 0 then cast(violations as bigint) end as violations,
            case
                when least_rows = 0 then 'no data'
                when violations = 0 then 'ok'
                when caveat <> '' then 'known'
                when needs_all_rows and incomplete_tables > 0 then 'not comparable'
                else 'failed'
            end as status,
            caveat
        from with_data
        """


def fill_figures(connection: DuckDBPyConnection, table: str, figures: Iterable[Figure]) -> None:
    """Fill `catalog.published` or `catalog.expected`.

    Does not run the SQL of the figures, because that takes as long as the rest of a build: SQL that does not
    return one number fails when it is measured.
    """
    insert(connection, table, [(*astuple(figure), _tables_read(figure)) for figure in figures])


def _tables_read(figure: Figure) -> list[str]:
    """Return the names that a figure's SQL reads."""
    if not figure.measured_by:
        return []
    return sorted(references(sqlglot.parse_one(figure.measured_by, dialect="duckdb"), figure.name))


def _check_sql(rule: Check, known: Mapping[str, Sequence[str]]) -> str:
    """Return the select of a rule's name, texts, base tables and number of violations."""
    texts = {
        "check_name": rule.name,
        "trace": rule.trace,
        "object_name": rule.object_name,
        "kind": rule.kind,
        "rule": rule.rule,
        "caveat": rule.caveat,
    }
    listed = ", ".join(f"{quoted(text)} as {name}" for name, text in texts.items())
    read = references(sqlglot.parse_one(rule.sql, dialect="duckdb"), rule.name)
    reads = ", ".join(quoted(name) for name in find_base_tables(read, known))
    needs = f"{str(rule.needs_all_rows).lower()} as needs_all_rows"
    return f"select {listed}, [{reads}] as reads, {needs}, ({rule.sql}) as violations"


def _table_row(trace: Trace, table: Table, conversions: Sequence[Conversion]) -> tuple:
    mine = [c for c in conversions if (c.trace, c.table) == (trace.name, table.name)]
    files = [stored for conversion in mine for stored in conversion.files]
    return (
        f"{trace.name}.{table.name}",
        trace.name,
        sum(stored.rows for stored in files),
        len(files),
        sum(stored.bytes for stored in files),
        any(source.synthetic for conversion in mine for source in conversion.sources),
        _incomplete(table, mine),
        table.tried_on,
        table.grain,
        table.source,
    )


def _incomplete(table: Table, conversions: Sequence[Conversion]) -> str | None:
    """Return how much of the publisher's table there is; None if all of it, or if that is not known."""
    sources = [source for conversion in conversions for source in conversion.sources]
    if not sources or any(source.synthetic for source in sources):
        return None
    partitions = len({conversion.partition for conversion in conversions})
    if partitions < table.published_partitions:
        return f"{partitions:,} of {table.published_partitions:,} partitions"
    rows, complete = sum(source.rows_read for source in sources), sum(table.published_rows.values())
    if rows < complete:
        return f"{rows:,} of {complete:,} rows"
    # The complete size of other files of the table is not known.
    for source in sources:
        if source.rows_read < (_complete_rows(source, table.published_rows) or 0):
            return f"a part of {source.member}"
    return None


def _complete_rows(source: Source, published_rows: Mapping[str, int]) -> int | None:
    return published_rows.get(PurePosixPath(source.member).name)


def _curve_rows() -> list[tuple]:
    return [
        (trace, curve.name, percentile, value)
        for trace in traces_with_curves()
        for curve in read_curves(trace).values()
        for percentile, value in zip(curve.percentiles, curve.values, strict=True)
    ]


def insert(connection: DuckDBPyConnection, table: str, rows: Sequence[tuple]) -> None:
    """Add rows to a table of the catalog."""
    if rows:
        # Binds one list per column. Binding thousands of single values takes longer than the rest of a build,
        # and Arrow imports pandas, if it is installed, to make arrays of them.
        kinds = connection.sql(f"from catalog.{table} limit 0").types
        columns = ", ".join(f"unnest(cast(? as {kind}[]))" for kind in kinds)
        values = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(f"insert into catalog.{table} select {columns}", values)


def column_types(connection: DuckDBPyConnection) -> dict[str, Columns]:
    """Return the type and comment of every column of every table and view, by the object's name.

    The unions of `each_trace` are left out: nothing but the views that read them knows them.
    """
    sql = """
        select schema_name || '.' || table_name, column_name, data_type, comment
        from duckdb_columns()
        where database_name = current_database() and not internal and schema_name <> 'each_trace'
        order by schema_name, table_name, column_index
        """
    rows = connection.execute(sql).fetchall()
    types: dict[str, Columns] = {}
    for name, column, kind, comment in rows:
        types.setdefault(name, {})[column] = (kind, comment)
    return types


def read_docs(connection: DuckDBPyConnection) -> ColumnDocs:
    """Return the columns of all tables, views and queries of a database."""
    sql = "select object_name, column_name, meaning, provenance, unit from catalog.columns"
    known = {(name, column): docs for name, column, *docs in connection.execute(sql).fetchall()}
    queries: ColumnDocs = {}
    sql = """
        select object_name, column_name, meaning, meaning, provenance, unit from catalog.columns
        where object_name in (select query_name from catalog.queries)
        order by object_name, position
        """
    for name, column, *docs in connection.execute(sql).fetchall():
        queries.setdefault(name, {})[column] = ColumnDoc(*docs)
    return queries | {
        name: {
            # `catalog.columns` has no columns of the catalog itself.
            column: ColumnDoc(comment or "", *known[name, column])
            if (name, column) in known
            else parse_comment(comment)
            for column, (_, comment) in columns.items()
        }
        for name, columns in column_types(connection).items()
    }


def read_comments(connection: DuckDBPyConnection) -> dict[str, str]:
    """Return the comment of every table, view and query of the current database; empty without one."""
    sql = """
        select schema_name || '.' || table_name, comment from duckdb_tables()
        where database_name = current_database()
        union all
        select schema_name || '.' || view_name, comment from duckdb_views()
        where database_name = current_database() and not internal
        union all
        select distinct schema_name || '.' || function_name, comment from duckdb_functions()
        where database_name = current_database() and not internal and function_type = 'table_macro'
        """
    return {name: comment or "" for name, comment in connection.execute(sql).fetchall()}
