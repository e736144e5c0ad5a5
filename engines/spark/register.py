"""Register a warehouse in a Spark session: databases, base tables, views, the catalog and named queries.

A persistent catalog such as Hive's needs this only once: afterwards every client of the catalog has these
objects.
"""

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.core.errors import DefinitionError, UserError
from tracehouse.definitions.across_traces import expanded
from tracehouse.definitions.dependencies import sort_views, with_dependencies
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.view_files import ViewFile, plain_names
from tracehouse.engines.duckdb.write.database_objects import DatabaseObjects, Defined, objects_over
from tracehouse.engines.duckdb.write.template import read_built_queries, read_built_views
from tracehouse.engines.spark import ddl
from tracehouse.engines.spark.session import explain_errors, one_line
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.store import integrity, records
from tracehouse.ingest.store.layout import RECORDS_FOLDER
from tracehouse.ingest.store.records import Conversion

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_TIME_ZONE = "spark.sql.session.timeZone"
_REJECTED = "catalog.rejected_rows"
_HERE = "file:"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:.*", re.I)


@dataclass(frozen=True)
class Registered:
    """The names of the registered objects, and why each of the others is left out."""

    names: list[str]
    left_out: dict[str, str]


def register(
    session: "SparkSession", warehouse: str | Path, names: Collection[str] | None = None
) -> list[str]:
    """Register a warehouse's tables, views and named queries in a session, and return their names.

    `warehouse` is a folder with the same path on all nodes. With `names`, only these and their inputs are
    registered. Existing objects of the same name are replaced. A view or query that Spark refuses is left
    out, with all that read it, and a warning says why. Raises UserError if there is no warehouse, a name is
    unknown, or a Parquet file of this machine is missing or has a wrong size.
    """
    registered = register_each(session, warehouse, names)
    for name, reason in registered.left_out.items():
        warnings.warn(f"{name} is left out: {reason}", stacklevel=2)
    return registered.names


def register_each(
    session: "SparkSession", warehouse: str | Path, names: Collection[str] | None = None
) -> Registered:
    """Do the work of `register`, and return what is left out in place of warnings."""
    root = _spark_path(warehouse)
    conversions = _read_conversions(session, root)
    definitions = objects_over(conversions)
    views = sort_views(expanded(read_built_views()))
    queries = read_built_queries()
    wanted = definitions.names if names is None else _read_by(names, views, queries)
    for name in sorted(wanted - definitions.names):
        raise UserError(f"{name}: no table, view or named query has this name. See `traces list`")
    if root.startswith(_HERE):
        # Spark reads a table as if a missing or an empty file of it had no rows.
        read = [c for c in conversions if c.table_name in wanted or _REJECTED in wanted]
        integrity.check_sizes(Path(root.removeprefix(_HERE)), read)
    for database in sorted({name.split(".")[0] for name in wanted}):
        session.sql(f"create database if not exists {database}")
    registered = Registered([], {})
    # A view keeps the time zone of the session that created it.
    with _in_utc(session):
        existing = _list_existing(session)
        for name, rows in definitions.catalog.items():
            if name in wanted:
                registered.names.append(_save(session, name, rows, definitions.relations[name], existing))
        for one in _definitions(definitions, conversions, root, views, queries):
            if one.name not in wanted:
                continue
            if reason := _missing_input(one, registered) or _create(session, one, existing):
                registered.left_out[one.name] = reason
            else:
                registered.names.append(one.name)
    return registered


@dataclass(frozen=True)
class _Definition:
    """An object outside the catalog: the names that it reads, and a function that returns its statements.

    `needs` is what another engine has and Spark lacks.
    """

    name: str
    reads: Collection[str]
    statements: Callable[[], list[str]]
    is_view: bool = True
    needs: str = ""


def _missing_input(one: _Definition, registered: Registered) -> str:
    """Return which object that it reads is left out, as a reason to leave it out, too; empty if none is."""
    missing = sorted({*one.reads} & registered.left_out.keys())
    return f"it reads {missing[0]}, which is left out" if missing else ""


def _create(session: "SparkSession", one: _Definition, existing: Mapping[str, bool]) -> str:
    """Create an object. Returns why its header, the translation or Spark refuses it; empty if none does."""
    from pyspark.errors import AnalysisException

    if one.needs:
        return f"it needs {one.needs}"
    try:
        statements = one.statements()
        _drop_other_kind(session, one.name, existing, one.is_view)
        for statement in statements:
            session.sql(statement)
    except DefinitionError as error:
        return str(error)
    except AnalysisException as error:
        return one_line(str(error))
    return ""


def unsupported_queries() -> dict[str, str]:
    """Return the queries that do not run on Spark, with the DuckDB construct that each needs."""
    return {query.full_name: needs for query in read_built_queries() if (needs := query.header.one("engine"))}


def _spark_path(warehouse: str | Path) -> str:
    """Return the warehouse's folder as a Spark path, which begins with the file system."""
    text = str(warehouse).rstrip("/")
    return text if _SCHEME.fullmatch(text) else f"{_HERE}{Path(text).absolute().as_posix()}"


def _read_conversions(session: "SparkSession", root: str) -> Sequence[Conversion]:
    place = f"{root}/{records.NAME}"
    here = Path(root.removeprefix(_HERE))
    if root.startswith(_HERE) and (here / records.NAME).is_file():
        # Python reads the file, because a Spark job would take two seconds.
        return records.read(here).conversions
    try:
        with explain_errors():
            [row] = session.read.text(place, wholetext=True).collect()
            paths = [
                f"{root}/{RECORDS_FOLDER}/{name}" for name in records.parse_record_names(row.value, place)
            ]
            texts = session.read.text(paths, wholetext=True).collect() if paths else []
    except UserError as error:
        raise UserError(f"{place}: reading failed ({error}). Name the folder of a warehouse") from None
    by_name = {records.name_of(text.value): text.value for text in texts}
    return records.parse(row.value, place, by_name.__getitem__).conversions


def _definitions(
    definitions: DatabaseObjects,
    conversions: Sequence[Conversion],
    root: str,
    views: Sequence[ViewFile],
    queries: Sequence[QueryFile],
) -> Iterator[_Definition]:
    """Yield all objects outside the catalog, each after the objects that it reads."""
    relations = definitions.relations
    for trace in all_traces().values():
        for table in trace.tables:
            name = f"{trace.name}.{table.name}"
            files = [file for c in conversions if c.table_name == name for file in c.files]
            if files:
                create = partial(ddl.create_table, name, table, files, root, relations[name])
                yield _Definition(name, (), create, is_view=False)
            else:
                yield _Definition(name, (), partial(ddl.create_empty_table, name, relations[name]))
    rejected = [file for conversion in conversions for file in conversion.rejected]
    create_rejected = partial(ddl.create_rejected_rows, _REJECTED, rejected, root, relations[_REJECTED])
    yield _Definition(_REJECTED, (), create_rejected)
    for view in views:
        create_view = partial(ddl.create_view, view, relations[view.versioned])
        needs = view.header.one("engine")
        yield _Definition(view.versioned, view.references, create_view, needs=needs)
    for name, view in plain_names(views).items():
        create_alias = partial(ddl.create_alias, name, view.versioned, relations[name])
        yield _Definition(name, {view.versioned}, create_alias)
    for query in queries:
        create_function = partial(ddl.create_function, query, definitions.queries[query.full_name])
        needs = query.header.one("engine")
        yield _Definition(query.full_name, query.references, create_function, needs=needs)


def _save(
    session: "SparkSession", name: str, rows: "pa.Table", defined: Defined, existing: Mapping[str, bool]
) -> str:
    """Save a catalog table and return its name: in the metastore, or without one in the text of a view."""
    if session.conf.get("spark.sql.catalogImplementation") == "hive":
        # A metastore limits the length of a view's text.
        _drop_other_kind(session, name, existing, for_view=False)
        session.createDataFrame(rows).write.saveAsTable(name)
        session.sql(f"comment on table {name} is {ddl.quoted(defined.comment)}")
    else:
        # A table would need a folder that all nodes of the cluster share.
        _drop_other_kind(session, name, existing, for_view=True)
        for statement in ddl.create_catalog_table(name, rows, defined):
            session.sql(statement)
    return name


def _read_by(names: Collection[str], views: Sequence[ViewFile], queries: Sequence[QueryFile]) -> set[str]:
    """Return the names of objects and of everything that they read, directly or through views."""
    reads: dict[str, set[str]] = {}
    for view in views:
        reads[view.versioned] = set(view.references)
    for alias, view in plain_names(views).items():
        reads[alias] = {view.versioned}
    for query in queries:
        reads.setdefault(query.full_name, set()).update(query.references)
    return set(with_dependencies(names, reads))


@contextmanager
def _in_utc(session: "SparkSession") -> Iterator[None]:
    before = session.conf.get(_TIME_ZONE)
    session.conf.set(_TIME_ZONE, "UTC")
    try:
        yield
    finally:
        session.conf.set(_TIME_ZONE, str(before))


def _list_existing(session: "SparkSession") -> Mapping[str, bool]:
    """Return the tables and views that the session already has, and whether each is a view."""
    found = {}
    for (database,) in session.sql("show databases").collect():
        for row in session.sql(f"show tables in `{database}`").collect():
            found[f"{database}.{row.tableName}"] = False
        for row in session.sql(f"show views in `{database}`").collect():
            found[f"{database}.{row.viewName}"] = True
    return found


def _drop_other_kind(
    session: "SparkSession", name: str, existing: Mapping[str, bool], for_view: bool
) -> None:
    """Drop an existing object, unless it is a view and the new object is a view too. No file is removed."""
    if name in existing and not (for_view and existing[name]):
        session.sql(f"drop {'view' if existing[name] else 'table'} {name}")
