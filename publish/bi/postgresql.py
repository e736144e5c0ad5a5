"""Publish a warehouse to PostgreSQL: every table, view and answer as a table with comments and keys.

Each schema is built under a temporary name, `itp__new`, in its own transaction. A final transaction renames
all of them, so that readers see either the complete old version or the complete new one.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError, check_installed
from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read.sandbox import connect
from tracehouse.publish.bi import postgresql_schemas as schemas_of
from tracehouse.publish.bi.contents import Contents, LeftOut, describe_contents, select_contents
from tracehouse.publish.bi.postgresql_address import Address, read_address
from tracehouse.publish.bi.postgresql_schemas import STAGING_SUFFIX
from tracehouse.publish.bi.postgresql_table import Server, store_relation

# An arbitrary number for the advisory lock of a publish.
_LOCK = 5077321
_UNREACHABLE = re.compile(
    r"Connection refused|could not translate host name|timeout expired|No route|Network is unreachable"
    r"|No such file or directory|could not connect"
)


@dataclass(frozen=True)
class Published:
    """The target, the number of relations and rows, objects left out, and notes on changed values."""

    place: str
    relations: int
    rows: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def publish(warehouse: Path, to: str, whole: bool) -> Published:
    """Publish to the database of a URL, and replace an earlier version there.

    Raises UserError if the server cannot be reached or written to, or if a schema has objects that were not
    published. The message never has the password.
    """
    address = read_address(to)
    with (
        connect(warehouse) as source,
        _session(address) as server,
    ):
        contents = select_contents(source, whole, has_macros=False)
        names = list(dict.fromkeys(relation.schema for relation in contents.relations))
        published = schemas_of.list_published(server.run)
        schemas_of.check(server.run, [*names, *{name.partition(".")[0] for name in published}], {*published})
        server.commit()
        notes: list[str] = []
        try:
            counts = _fill_staging(source, server, contents, names, notes)
            schemas_of.swap(server.run, names, published)
            server.commit()
        except (duckdb.Error, server.errors) as error:
            # The server may be gone; the next publish removes the staging schemas too.
            with suppress(server.errors):
                server.rollback()
                for name in names:
                    schemas_of.drop_staging(server.run, name)
                server.commit()
            if isinstance(error, duckdb.Error):
                raise UserError(f"{warehouse}: reading failed ({str(error).splitlines()[0]})") from None
            raise
    return Published(address.shown, len(contents.relations), sum(counts), contents.left_out, tuple(notes))


@contextmanager
def _session(address: Address) -> Iterator[Server]:
    check_installed("publishing to PostgreSQL needs", "bi", "adbc_driver_postgresql")
    from adbc_driver_manager import Error
    from adbc_driver_postgresql import dbapi

    try:
        connection = dbapi.connect(address.url)
    except Error as error:
        raise UserError(_explain_connection_error(address, str(error))) from None
    try:
        with connection:
            server = Server(connection)
            _check_rights(server, address)
            yield server
    except Error as error:
        raise UserError(_explain_error(address, str(error))) from None


def _check_rights(server: Server, address: Address) -> None:
    [(may_create, role, database)] = server.run(
        "select has_database_privilege(current_database(), 'CREATE'), current_user, current_database()"
    )
    if not may_create:
        raise UserError(
            f"{address.shown}: {role} may not create schemas there. Let its owner run: "
            f"grant create on database {database} to {role}"
        )
    if server.run(f"select pg_try_advisory_lock({_LOCK})") != [(True,)]:
        raise UserError(f"{address.shown}: another publish is writing there. Wait until it has finished")


def _explain_connection_error(address: Address, text: str) -> str:
    reason = _reason(address, text)
    if "password" in reason:
        return f"{address.shown}: the password is missing or wrong. Set PGPASSWORD, or add it to ~/.pgpass"
    if _UNREACHABLE.search(reason):
        return (
            f"{address.shown}: no PostgreSQL server answers ({reason}). "
            "Check host and port, and that the server is running"
        )
    return f"{address.shown}: the server refuses the connection ({reason})"


def _explain_error(address: Address, text: str) -> str:
    reason = _reason(address, text)
    if "lock timeout" in reason:
        return (
            f"{address.shown}: a reader held a lock for {schemas_of.LOCK_TIMEOUT_S} s: nothing was replaced. "
            "Publish again when it has finished"
        )
    return f"{address.shown}: publishing failed ({reason}); the previous version is unchanged"


def _reason(address: Address, text: str) -> str:
    """The lines of libpq's message, without repeated lines and the driver's prefix."""
    message = re.sub(r"^.*?(FATAL|ERROR|Failed to connect): *", "", text, count=1, flags=re.S)
    lines = [re.sub(r"^.*? failed: (FATAL: *)?", "", " ".join(line.split())) for line in message.splitlines()]
    # Lines that are questions add nothing to the message.
    statements = [line.removesuffix(".") for line in lines if line and not line.endswith("?")]
    return address.without_secrets("; ".join(dict.fromkeys(statements)))


def _fill_staging(
    source: duckdb.DuckDBPyConnection,
    server: Server,
    contents: Contents,
    names: Sequence[str],
    notes: list[str],
) -> list[int]:
    """Build each schema under its temporary name, the catalog last, and return the row counts."""
    counts: dict[str, int] = {}
    for name in sorted(names, key=lambda schema: schema == "catalog"):
        schemas_of.drop_staging(server.run, name)
        server.run(f'create schema "{name}{STAGING_SUFFIX}"')
        server.run(f'comment on schema "{name}{STAGING_SUFFIX}" is {quoted(_schema_comment(source, name))}')
        for relation in contents.relations:
            if relation.schema == name:
                counts[relation.name] = store_relation(source, server, relation, counts, notes)
        if name == "catalog":
            for relation in describe_contents(
                contents, [counts[relation.name] for relation in contents.relations]
            ):
                store_relation(source, server, relation, counts, notes)
        server.commit()
    return list(counts.values())


def _schema_comment(source: duckdb.DuckDBPyConnection, name: str) -> str:
    found = source.execute("select title from catalog.traces where trace = $name", {"name": name}).fetchall()
    own = {
        "unified": "Views across all traces.",
        "catalog": "What the numbers mean and where they come from.",
    }
    return f"{found[0][0] + '.' if found else own.get(name, '')} {schemas_of.SIGNATURE}".strip()
