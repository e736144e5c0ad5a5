"""Publish a warehouse to PostgreSQL: the tables of the published file, with comments and primary keys.

All tables are replaced in one transaction, so that readers see either the old version or the new one.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb

from tracehouse.core.errors import UsageError, UserError, check_installed
from tracehouse.core.text import identifier, quoted
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.write.base_tables import comments_sql
from tracehouse.publish.bi import database_file
from tracehouse.publish.bi.database_file import LEFT_OUT_COMMENT, MARKER_COMMENT, Published

_BATCH_ROWS = 100_000
_CONNECT_TIMEOUT_S = 10
LOCK_TIMEOUT_S = 10
ENCODING = "UTF8"
_NAME_BYTES = 63
_MOST_COLUMNS = 1600
_SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
# The driver does not send nested types, except lists of simple values. It changes values of the other types.
_UNSUPPORTED = re.compile(
    r"(STRUCT|MAP|UNION)\(.*|(VARIANT|BIT|BIGNUM|TIME WITH TIME ZONE)(\[\d*\])?|.*\[\d*\]\[\d*\]", re.S
)
_LIST = re.compile(r"\[\d*\]$")
# Values that the driver changes or does not send, by their type: a name, and a condition on `value`.
_DIGITS = "numbers of more than 38 digits", "try_cast(value as decimal(38, 0)) is null"
_TIMES = (
    "times that are infinite or before 4713 BC",
    "cast(value as timestamp) not between timestamp '4713-01-01 (BC)' and timestamp '294247-01-10'",
)
_DATES = (
    "dates that are infinite, before 4713 BC or after 5874897",
    "value not between date '4713-01-01 (BC)' and date '5874897-12-31'",
)
_UNSUPPORTED_VALUES = {
    "HUGEINT": _DIGITS,
    "UHUGEINT": _DIGITS,
    "DATE": _DATES,
    "TIMESTAMP": _TIMES,
    "TIMESTAMP_S": _TIMES,
    "TIMESTAMP_MS": _TIMES,
    "TIMESTAMP_NS": _TIMES,
    "TIMESTAMP WITH TIME ZONE": _TIMES,
}
# PostgreSQL's classes of errors about values: data exception, and program limit exceeded.
_ABOUT_VALUES = re.compile(r"SQLSTATE: (22|54)\w{3}")
# Why a table has no primary key.
_NO_KEY = "unique_violation or not_null_violation or program_limit_exceeded or undefined_object"


class _UnsupportedValueError(Exception):
    """PostgreSQL refuses a value of a table."""

    def __init__(self, table: str, error: Exception):
        super().__init__(str(error))
        self.table = table


@dataclass(frozen=True)
class Address:
    """A database: its URL for libpq, the URL shown in messages, and the password, empty if it has none."""

    url: str
    shown: str
    password: str

    def without_password(self, text: str) -> str:
        """The text with the password replaced by ***."""
        for secret in {self.password, unquote(self.password)} - {""}:
            text = text.replace(secret, "***")
        return text


def read_address(text: str) -> Address:
    """Parse `postgresql://user@host:port/database`. Raises UsageError, without the URL, if it is invalid.

    The URL is parsed before libpq gets it, because libpq prints parts of an invalid URL, such as a password.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    is_valid = parts.scheme in ("postgresql", "postgres") and "@" not in parts.path + parts.query
    if not is_valid or parts.fragment or parts.netloc.count("@") > 1 or "password=" in parts.query:
        raise UsageError(
            "--to takes a URL such as postgresql://user@host:5432/database. In a user name or password write "
            "%40 for @, %3A for :, %2F for /, %3F for ?, %23 for # and %25 for %; or leave the password out "
            "and set PGPASSWORD"
        )
    user = f"{unquote(parts.username)}@" if parts.username else ""
    host = f"{parts.hostname or ''}{f':{port}' if port else ''}"
    # Without this option libpq waits forever.
    timeout = f"{'&' if parts.query else '?'}connect_timeout={_CONNECT_TIMEOUT_S}"
    return Address(text + timeout, f"postgresql://{user}{host}{parts.path}", parts.password or "")


def publish(
    warehouse: Path, to: str, whole: bool, file: Path | None = None
) -> tuple[Published, str, list[str]]:
    """Publish to the database of a URL, and replace an earlier version there.

    `file` is the published file of the warehouse; without it, a temporary one is written.
    Returns what was published, the URL without a password, and notes. Raises UserError if the server cannot
    be reached or written to, or if it has a table of the same name that was not published. No message has
    the password.
    """
    address = read_address(to)
    check_installed("publishing to PostgreSQL needs", "bi", "adbc_driver_postgresql")
    with sandbox.scratch_folder() as scratch:
        path = file or scratch / "traces.duckdb"
        # Python handles a signal only between statements of the main thread, and a silent server can keep the
        # driver waiting without end.
        thread = ThreadPoolExecutor(1, "postgresql")
        with thread, thread.submit(_connect, address).result() as server:
            if not file:
                database_file.publish(warehouse, path, whole)
            notes, failed = thread.submit(_publish_file, path, server, address).result()
        published = database_file.read_published(path)
    kept = published.names - failed.keys()
    published = replace(published, names=kept, left_out={**published.left_out, **failed})
    return published, address.shown, notes


def _connect(address: Address) -> Any:
    """Connect to a database of the encoding UTF8. Raises UserError if that fails, or for other encodings."""
    from adbc_driver_manager import Error
    from adbc_driver_postgresql import dbapi

    try:
        server = dbapi.connect(address.url)
        with server.cursor() as cursor:
            cursor.execute("select current_database(), current_setting('server_encoding')")
            [(name, encoding)] = cursor.fetchall()
        # An open transaction would last while the file is written.
        server.rollback()
    except Error as error:
        reason = _reason(address, error)
        raise UserError(
            f"{address.shown}: no connection ({reason}). Check host, port and database, that the server is "
            "running, and the password in PGPASSWORD or ~/.pgpass"
        ) from None
    if encoding != ENCODING:
        server.close()
        # A server of another encoding may have a locale that does not fit.
        create = (
            f"createdb --encoding={ENCODING} --locale=C --template=template0 {shlex.quote(f'{name}_utf8')}"
        )
        raise UserError(
            f"{address.shown}: the encoding of the database is {encoding}; it must be {ENCODING}. Nothing "
            f"was written. Create another database with `{create}`, and publish to that"
        )
    return server


def _publish_file(path: Path, server: Any, address: Address) -> tuple[list[str], dict[str, str]]:
    """Replace all tables of the connected database by those of a published file, as `_replace_all`."""
    from adbc_driver_manager import Error

    failed: dict[str, str] = {}
    while True:
        outcome = "the previous version is unchanged"
        try:
            with duckdb.connect(str(path), read_only=True) as source, server.cursor() as cursor:
                source.execute("set timezone = 'UTC'")
                notes = _replace_all(source, cursor, failed)
            # If the connection breaks here, nobody tells whether the server has finished.
            outcome = "the database has the complete previous version or the complete new one. Publish again"
            server.commit()
            return notes, failed
        except (Error, _UnsupportedValueError) as error:
            # If the connection is broken, the server rolls back, and this call fails.
            with suppress(Error):
                server.rollback()
            reason = _reason(address, error)
            if isinstance(error, Error):
                raise UserError(f"{address.shown}: publishing failed ({reason}); {outcome}") from None
            # The driver cannot roll back to a savepoint, so all tables are sent again, without this one.
            failed[error.table] = f"PostgreSQL cannot store it ({reason})"


def _reason(address: Address, error: Exception) -> str:
    """The lines of libpq's message, without the driver's prefix and the statements."""
    message = re.sub(r"^.*?(FATAL|ERROR|Failed to connect): *", "", str(error), count=1, flags=re.S)
    message = re.sub(r"\n?(Query was:|CONTEXT: *SQL statement) .*", "", message, flags=re.S)
    lines = dict.fromkeys(" ".join(line.split()) for line in message.splitlines() if line.strip())
    return address.without_password("; ".join(lines))


def _replace_all(source: duckdb.DuckDBPyConnection, cursor: Any, failed: dict[str, str]) -> list[str]:
    """Replace all tables and views within the transaction of the cursor, and return notes.

    `failed` are relations that PostgreSQL cannot store, with the reason; further ones are added. Raises
    _UnsupportedValueError for one of which PostgreSQL refuses a value.
    """
    from adbc_driver_manager import Error

    cursor.execute(f"set local lock_timeout = '{LOCK_TIMEOUT_S}s'")
    # By default, libpq expects text in the database's encoding, and the driver sends UTF-8.
    cursor.execute(f"set local client_encoding = '{ENCODING}'")
    contents = source.execute("select name, key_columns, comment from catalog.contents").fetchall()
    contents += [
        ("catalog.contents", "name", MARKER_COMMENT),
        ("catalog.left_out", "name", LEFT_OUT_COMMENT),
    ]
    _drop_published(cursor, [name for name, *_ in contents])
    columns = database_file.read_columns(source)
    notes = []
    for schema in dict.fromkeys(name.partition(".")[0] for name, *_ in contents):
        cursor.execute(f"create schema if not exists {identifier(schema)}")
    for name, key, comment in contents:
        if name in failed:
            continue
        if reason := _find_unsupported(source, name):
            failed[name] = f"PostgreSQL cannot store {reason}"
            continue
        try:
            _store(source, cursor, name, comment, columns[name])
        except Error as error:
            if _ABOUT_VALUES.search(str(error)):
                raise _UnsupportedValueError(name, error) from None
            raise
        if key and not _add_key(cursor, _quoted(name), key):
            notes.append(f"{name} has no primary key: {key} are not unique")
    for name, reason in failed.items():
        cursor.execute(f"delete from catalog.contents where name = {quoted(name)}")
        cursor.execute(f"insert into catalog.left_out values ({quoted(name)}, {quoted(reason)})")
    return notes


def _store(
    source: duckdb.DuckDBPyConnection,
    cursor: Any,
    name: str,
    comment: str,
    columns: Mapping[str, str],
) -> None:
    """Create a table with its rows and comments."""
    schema, _, table = name.partition(".")
    target = _quoted(name)
    sent = ", ".join(_sent(*column) for column in source.execute(f"describe {name}").fetchall())
    rows = source.sql(f"select {sent} from {name}").to_arrow_reader(_BATCH_ROWS)
    cursor.adbc_ingest(table, rows, mode="replace", db_schema_name=schema)
    comments = comments_sql("table", target, comment, columns)
    tag = "$comments$"
    while tag in comments:
        tag = f"${tag[1:-1]}_$"
    cursor.execute(f"do {tag} begin {comments}; end {tag}")


def _find_unsupported(source: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return what of a relation PostgreSQL or its driver cannot store; empty if nothing."""
    stored = set()
    columns = source.execute(f"describe {name}").fetchall()
    if len(columns) > _MOST_COLUMNS:
        return f"{len(columns):,} columns"
    for column, kind, *_ in columns:
        if _UNSUPPORTED.fullmatch(kind):
            return f"the type {kind} of the column {column}"
        if column in _SYSTEM_COLUMNS:
            return f"a column of the name {column}"
        # PostgreSQL cuts longer names.
        cut = column.encode()[:_NAME_BYTES]
        if cut in stored:
            return f"two columns whose names begin with {column[:_NAME_BYTES]}"
        stored.add(cut)
        if what := _find_unsupported_values(source, name, column, kind):
            return f"{what}, in the column {column}"
    return ""


def _find_unsupported_values(source: duckdb.DuckDBPyConnection, name: str, column: str, kind: str) -> str:
    """Name the values of a column that PostgreSQL cannot store; empty if there are none."""
    what, condition = _UNSUPPORTED_VALUES.get(_LIST.sub("", kind), ("", ""))
    if not what:
        return ""
    values = f"unnest({identifier(column)})" if _LIST.search(kind) else identifier(column)
    found = source.execute(
        f"from (select {values} as value from {name}) where value is not null and {condition} limit 1"
    ).fetchall()
    return what if found else ""


def _drop_published(cursor: Any, names: Sequence[str]) -> None:
    """Drop what an earlier publish created. Raises UserError if other tables have one of the names."""
    cursor.execute(
        """
        select n.nspname || '.' || c.relname, c.relkind::text, obj_description(c.oid, 'pg_class')
        from pg_class as c inner join pg_namespace as n on c.relnamespace = n.oid
        where c.relkind in ('r', 'v', 'm', 'p', 'f')
        """
    )
    there: dict[str, tuple[str, str]] = {name: (kind, comment) for name, kind, comment in cursor.fetchall()}
    published = []
    if there.get("catalog.contents", ("", ""))[1] == MARKER_COMMENT:
        cursor.execute("select name from catalog.contents")
        published = [name for (name,) in cursor.fetchall() if name in there]
        published += [name for name in ("catalog.contents", "catalog.left_out") if name in there]
    if foreign := sorted((there.keys() & {*names}) - {*published}):
        raise UserError(
            f"{foreign[0]}: not created by `traces publish`, so it is not replaced. "
            "Move it to another schema, or publish to another database"
        )
    for kind, word in (("v", "view"), ("r", "table")):
        if old := ", ".join(_quoted(name) for name in published if there[name][0] == kind):
            cursor.execute(f"drop {word} {old}")


def _sent(name: str, kind: str, *_: object) -> str:
    """The SQL of a column in types that the driver sends. PostgreSQL cannot store the character NUL."""
    column = identifier(name)
    if kind == "VARCHAR" or kind.startswith("ENUM("):
        return f"replace(cast({column} as varchar), chr(0), '␀') as {column}"
    if kind == "VARCHAR[]":
        return f"list_transform({column}, lambda text: replace(text, chr(0), '␀')) as {column}"
    if (base := _LIST.sub("", kind)) in ("HUGEINT", "UHUGEINT", "UBIGINT"):
        return f"cast({column} as decimal(38, 0){kind.removeprefix(base)}) as {column}"
    return column


def _quoted(name: str) -> str:
    """The name of a relation with its schema, quoted."""
    return ".".join(map(identifier, name.split(".")))


def _add_key(cursor: Any, target: str, key: str) -> bool:
    """Add a primary key. Returns False if the columns are not unique, or empty."""
    columns = ", ".join(map(identifier, key.split(", ")))
    # The driver cannot go on after an error, so the server handles it.
    add = f"alter table {target} add primary key ({columns})"
    cursor.execute(f"do $key$ begin {add}; exception when {_NO_KEY} then null; end $key$")
    cursor.execute(f"select 1 from pg_index where indisprimary and indrelid = {quoted(target)}::regclass")
    return bool(cursor.fetchall())
