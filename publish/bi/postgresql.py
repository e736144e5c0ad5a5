"""Publishes a warehouse into a PostgreSQL: every table, view and answer as a table with comments and keys.

Each schema is built aside, `itp__new`, in a transaction of its own; one more gives all of them their names,
so that a reader sees the version before or the new one, whole.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracehouse.core.errors import UserError, not_installed
from tracehouse.engines.duckdb.names import quoted
from tracehouse.engines.duckdb.read import schema_mismatch
from tracehouse.engines.duckdb.read.answer import connect
from tracehouse.publish.bi import postgresql_schemas as schemas_of
from tracehouse.publish.bi.contents import Contents, LeftOut, contents, told
from tracehouse.publish.bi.postgresql_address import Address, read_address
from tracehouse.publish.bi.postgresql_schemas import ASIDE
from tracehouse.publish.bi.postgresql_table import Server, store

# Any number; of the locks that sessions may take, this one stands for a publish.
_LOCK = 5077321
_UNREACHABLE = re.compile(
    r"Connection refused|could not translate host name|timeout expired|No route|Network is unreachable"
    r"|No such file or directory|could not connect"
)


@dataclass(frozen=True)
class Published:
    """What was published: where, relations, rows in all, what was left out, and what is not as it was."""

    place: str
    relations: int
    rows: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def publish(warehouse: Path, to: str, whole: bool) -> Published:
    """Fill the database that a URL names, and replace what was published there before.

    Raises UserError, which shows no password, where the server cannot be reached or written to, or where a
    schema of that name holds what was not published.
    """
    address = read_address(to)
    with connect(warehouse) as source, schema_mismatch.told(source, warehouse), _session(address) as server:
        chosen = contents(source, whole, takes_values=False)
        names = list(dict.fromkeys(relation.schema for relation in chosen.relations))
        before = schemas_of.published_before(server.ask)
        schemas_of.check(server.ask, [*names, *{name.partition(".")[0] for name in before}], {*before})
        server.commit()
        notes: list[str] = []
        try:
            counts = _fill_aside(source, server, chosen, names, notes)
            schemas_of.take_their_place(server.ask, names, before)
            server.commit()
        except (duckdb.Error, server.errors) as error:
            # The server may be gone, and the next publish removes them too.
            with suppress(server.errors):
                server.rollback()
                for name in names:
                    schemas_of.drop_aside(server.ask, name)
                server.commit()
            if isinstance(error, duckdb.Error):
                raise UserError(f"{warehouse}: it cannot be read ({str(error).splitlines()[0]})") from None
            raise
    return Published(address.shown, len(chosen.relations), sum(counts), chosen.left_out, tuple(notes))


@contextmanager
def _session(address: Address) -> Iterator[Server]:
    try:
        from adbc_driver_manager import Error
        from adbc_driver_postgresql import dbapi
    except ModuleNotFoundError:
        raise not_installed("publishing to PostgreSQL needs", "adbc_driver_postgresql", "bi") from None
    try:
        connection = dbapi.connect(address.url)
    except Error as error:
        raise UserError(_not_connected(address, str(error))) from None
    try:
        with connection:
            server = Server(connection)
            _check_rights(server, address)
            yield server
    except Error as error:
        raise UserError(_failed(address, str(error))) from None


def _check_rights(server: Server, address: Address) -> None:
    [(may_create, role, database)] = server.ask(
        "select has_database_privilege(current_database(), 'CREATE'), current_user, current_database()"
    )
    if not may_create:
        raise UserError(
            f"{address.shown}: {role} may not create schemas there. Let its owner run: "
            f"grant create on database {database} to {role}"
        )
    if server.ask(f"select pg_try_advisory_lock({_LOCK})") != [(True,)]:
        raise UserError(f"{address.shown}: another publish is writing there. Wait until it has finished")


def _not_connected(address: Address, text: str) -> str:
    reason = _reason(address, text)
    if "password" in reason:
        return (
            f"{address.shown}: the server does not accept the password, or was given none. "
            "Set PGPASSWORD, or enter it in ~/.pgpass"
        )
    if _UNREACHABLE.search(reason):
        return (
            f"{address.shown}: no PostgreSQL answers there ({reason}). "
            "Check host and port, and that the server is running"
        )
    return f"{address.shown}: the server refuses the connection ({reason})"


def _failed(address: Address, text: str) -> str:
    reason = _reason(address, text)
    if "lock timeout" in reason:
        return (
            f"{address.shown}: somebody has read what is published for {schemas_of.LOCK_TIMEOUT_S} s without "
            "an end, so that it was not replaced. Publish again when that is done"
        )
    return f"{address.shown}: it was not published, and what was there before stays ({reason})"


def _reason(address: Address, text: str) -> str:
    """What libpq said, each of its lines once, without what the driver puts around it."""
    said = re.sub(r"^.*?(FATAL|ERROR|Failed to connect): *", "", text, count=1, flags=re.S)
    lines = [re.sub(r"^.*? failed: (FATAL: *)?", "", " ".join(line.split())) for line in said.splitlines()]
    # It asks, where the message says what to look at.
    told = [line.removesuffix(".") for line in lines if line and not line.endswith("?")]
    return address.without_secrets("; ".join(dict.fromkeys(told)))


def _fill_aside(
    source: duckdb.DuckDBPyConnection,
    server: Server,
    chosen: Contents,
    names: Sequence[str],
    notes: list[str],
) -> list[int]:
    """Build each schema beside the one of its name, the catalog last, and tell the relations' rows."""
    counts: dict[str, int] = {}
    for name in sorted(names, key=lambda schema: schema == "catalog"):
        schemas_of.drop_aside(server.ask, name)
        server.ask(f'create schema "{name}{ASIDE}"')
        server.ask(f'comment on schema "{name}{ASIDE}" is {quoted(_schema_comment(source, name))}')
        for relation in chosen.relations:
            if relation.schema == name:
                counts[relation.name] = store(source, server, relation, counts, notes)
        if name == "catalog":
            for relation in told(chosen, [counts[relation.name] for relation in chosen.relations]):
                store(source, server, relation, counts, notes)
        server.commit()
    return list(counts.values())


def _schema_comment(source: duckdb.DuckDBPyConnection, name: str) -> str:
    found = source.execute("select title from catalog.traces where trace = $name", {"name": name}).fetchall()
    own = {
        "unified": "All traces side by side.",
        "catalog": "What the numbers mean and where they come from.",
    }
    return f"{found[0][0] + '.' if found else own.get(name, '')} {schemas_of.SIGNED}".strip()
