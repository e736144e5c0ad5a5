"""A real PostgreSQL has the tables of the published file; publishing replaces only its own tables."""

import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import command_line
import duckdb
import postgresql_server
import pytest
import suites
from digests import digest
from postgresql_server import OWNER, PASSWORD, Server
from terminal import end, terminal

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.publish.bi import postgresql
from tracehouse.publish.bi.postgresql import read_address

PAGE = (Path(__file__).parents[3] / "docs" / "postgresql.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgresql_server.started() as started:
        yield started


def publish_to(warehouse: Path, url: str, password: str = PASSWORD, code: int = 0) -> command_line.Run:
    """Publish to PostgreSQL, and check that the output has no password."""
    done = command_line.by_itself(
        "publish", "--warehouse", warehouse, "--to", url, env=os.environ | {"PGPASSWORD": password}
    )
    assert not done.faults((0, 1, 2))
    assert done.code == code, done.stderr
    assert not password or password not in done.stdout + done.stderr
    return done


@pytest.fixture
def small(request: pytest.FixtureRequest, server: Server, small_warehouse: Path) -> str:
    """The name of a new database with a published small warehouse."""
    name = f"small_{abs(hash(request.node.name))}"
    server.psql(f"create database {name}")
    publish_to(small_warehouse, server.url(name))
    return name


def everything(server: Server, database_name: str) -> str:
    """Return the schemas, with name and OID of each relation."""
    return server.psql(
        """
        select n.nspname, c.relname, c.oid
        from pg_namespace as n left join pg_class as c on n.oid = c.relnamespace
        where n.nspname !~ '^(pg_|information_schema)' order by 1, 2
        """,
        database_name,
    )


@suites.of("bi")
def test_tables_equal_those_of_the_warehouse(server: Server, sample_warehouse: Path) -> None:
    from adbc_driver_postgresql import dbapi

    server.psql("create database whole")
    run = publish_to(sample_warehouse, server.url("whole"))
    assert run.stdout.endswith(f" to {server.url('whole')}\n") and "primary key" not in run.stderr
    different = []
    with (
        duckdb.connect() as connection,
        dbapi.connect(server.url("whole").replace("@", f":{quote(PASSWORD, safe='')}@")) as postgresql,
    ):
        connection.execute("set timezone = 'UTC'")
        connection.execute(f"attach '{sample_warehouse / database.DATABASE}' as warehouse (read_only)")
        connection.execute("use warehouse")
        with postgresql.cursor() as cursor:
            cursor.execute("select name, kind, row_count from catalog.contents")
            contents = cursor.fetchall()
        assert len(contents) > 300
        for name, kind, row_count in contents:
            with postgresql.cursor() as cursor:
                cursor.execute(f"select * from {name}")
                rows = cursor.fetch_arrow_table()
            connection.register("there", rows)
            here = f"from {name}()" if kind == "answer" else f"from {name}"
            if rows.num_rows != row_count or (
                kind != "hourly rollup" and digest(connection, "from there") != digest(connection, here)
            ):
                different.append(name)
        assert different == []
        comments = dict(
            connection.execute(
                "select column_name, comment from duckdb_columns()"
                " where schema_name = 'itp' and table_name = 'job'"
            ).fetchall()
        )
    types = """
        select attname || '|' || format_type(atttypid, atttypmod) || '|' || col_description(attrelid, attnum)
        from pg_attribute where attrelid = '{}'::regclass and attnum > 0
    """
    found = [line.split("|", 2) for line in server.psql(types.format("itp.job"), "whole").splitlines()]
    assert {name: comment for name, _, comment in found} == comments
    for table, column, kind in (
        ("acme.job_trace", "submit_time", "timestamp with time zone"),
        ("catalog.caveats", "objects", "text[]"),
        ("itp.raw_job", "duration", "bigint"),
        ("dlrm.requests_by_role", "requested_gpus", "numeric"),
    ):
        found = [line.split("|") for line in server.psql(types.format(table), "whole").splitlines()]
        assert {name: kind for name, kind, *_ in found}[column].startswith(kind), column
    keys = dict(
        line.split("|")
        for line in server.psql(
            """
            select i.indrelid::regclass, string_agg(a.attname, ',' order by k.place)
            from pg_index as i, unnest(i.indkey) with ordinality as k (number, place), pg_attribute as a
            where i.indisprimary and a.attrelid = i.indrelid and a.attnum = k.number
            and i.indrelid::regclass::text !~ '^pg_'
            group by 1
            """,
            "whole",
        ).splitlines()
    )
    declared = {
        f"{trace.name}.{table.name}": ",".join(table.key)
        for trace in all_traces().values()
        for table in trace.tables
        if table.key and not table.wide
    }
    published = {name for name, _, _ in contents}
    assert {name: keys[name] for name in declared.keys() & published} == {
        name: key for name, key in declared.items() if name in published
    }
    assert keys["acme.gpu_metric_hourly"] == "cluster,metric,device,hour"
    for sql in re.findall(r"```sql\n(.*?)```", PAGE, re.S):
        server.psql(sql, "whole")


@suites.of("bi")
def test_commands_of_page_run(server: Server, small_warehouse: Path) -> None:
    create_user, create_database, publish = re.findall(r"^    (\w.*)$", PAGE, re.M)
    place = {"PGHOST": "127.0.0.1", "PGPORT": server.port, "PGUSER": OWNER, "PGPASSWORD": PASSWORD}
    with terminal(*create_user.split(), **place) as opened:
        for asked in ("Enter password for new role: ", "Enter it again: "):
            opened.expect_exact(asked)
            opened.sendline(PASSWORD)
        assert end(opened) == 0
    with terminal(*create_database.split(), **place) as opened:
        assert end(opened) == 0
    # A reader of the page has a local server on the usual port.
    mine = {"PGPORT": str(server.port), "PGPASSWORD": PASSWORD, "TRACES_WAREHOUSE": str(small_warehouse)}
    done = command_line.by_itself(*publish.split()[1:], env=os.environ | mine)
    assert done.code == 0, done.stderr
    assert server.psql("select count(*) > 0 from itp.job", "traces", "publisher") == "t"


@suites.of("bi")
def test_second_publish_replaces_its_tables_only(
    server: Server, small: str, small_warehouse: Path, sample_raw: Path, tmp_path: Path
) -> None:
    role = f"reader_{small}"
    server.psql(
        f"create role {role} login password '{PASSWORD.replace(chr(39), chr(39) * 2)}';"
        f"grant usage on schema itp to {role}; grant select on itp.job to {role};"
        f"alter default privileges in schema itp grant select on tables to {role};"
        "create schema mine; create table mine.notes as select 1 as n;"
        "create table itp.mine as select 1 as n",
        small,
    )
    before = everything(server, small).splitlines()
    count = server.psql("select count(*) from itp.job", small, role)
    publish_to(small_warehouse, server.url(small))
    after = everything(server, small).splitlines()
    assert [line.rpartition("|")[0] for line in before] == [line.rpartition("|")[0] for line in after]
    same = {line for line in before if line.startswith(("mine|", "public|", "itp|mine|"))}
    assert {*before} & {*after} == same
    assert server.psql("select count(*) from itp.job", small, role) == count
    # The tables of a trace without data are removed.
    assert not database.ingest([sample_raw], tmp_path, ["itp"], lambda *_: None).problems
    server.psql("drop table catalog.left_out", small)
    publish_to(tmp_path, server.url(small))
    left = everything(server, small)
    assert "dlrm|raw" not in left and "itp|job|" in left and "itp|mine|" in left


@suites.of("bi")
def test_old_version_stays_if_a_publish_fails(server: Server, small: str, small_warehouse: Path) -> None:
    from adbc_driver_postgresql import dbapi

    def failing() -> str:
        before = everything(server, small)
        run = publish_to(small_warehouse, server.url(small), code=1)
        assert everything(server, small) == before
        return run.errors[0]

    server.psql("create schema genuine; create view genuine.jobs as select count(*) from itp.job", small)
    assert "view genuine.jobs depends on" in failing()
    server.psql("drop view genuine.jobs", small)
    with_password = server.url(small).replace("@", f":{quote(PASSWORD, safe='')}@")
    with dbapi.connect(with_password) as reader, reader.cursor() as cursor:
        cursor.execute("select count(*) from itp.job")
        assert "lock timeout" in failing()
    server.psql("create database others")
    server.psql("create schema itp; create table itp.job as select 1 as n", "others")
    before = everything(server, "others")
    assert "itp.job: not created by" in publish_to(small_warehouse, server.url("others"), code=1).stderr
    assert everything(server, "others") == before
    before = everything(server, small)
    command = [command_line.TRACES, "publish", "--warehouse", small_warehouse, "--to", with_password]
    writing = (
        "select count(*) from pg_stat_activity where query like 'COPY%' and datname = current_database()"
    )
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while server.psql(writing, small) == "0" and process.poll() is None:
            pass
        process.kill()
    assert everything(server, small) == before


@suites.of("bi")
@pytest.mark.parametrize("way", ["disconnected", "silent"])
def test_server_fails_during_a_publish(
    way: str, server: Server, small: str, small_warehouse: Path, tmp_path: Path
) -> None:
    """A broken connection is an error of one line, and a signal ends the wait for a silent server."""
    before = everything(server, small)
    url = server.url(small).replace("@", f":{quote(PASSWORD, safe='')}@")
    command = [command_line.TRACES, "publish", "--warehouse", small_warehouse, "--to", url]
    find = (
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
        "and query like 'COPY%'"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", env=environment) as process:
        while not (backend := server.psql(find, small)) and process.poll() is None:
            pass
        os.kill(int(backend), signal.SIGSTOP)
        if way == "disconnected":
            server.psql(f"select pg_terminate_backend({backend})", small)
            os.kill(int(backend), signal.SIGCONT)
            _, errors = process.communicate()
            assert (process.returncode, errors.count("\n")) == (1, 1)
            assert "publishing failed (" in errors and "the previous version is unchanged" in errors
        else:
            try:
                process.terminate()
                assert process.wait(120) == 128 + signal.SIGTERM
            finally:
                os.kill(int(backend), signal.SIGCONT)
            assert [path.name for path in tmp_path.iterdir()] == []
    assert everything(server, small) == before


@suites.of("bi")
def test_connection_errors_are_one_line(server: Server, small_warehouse: Path) -> None:
    server.psql(f"create role guest login password '{PASSWORD.replace(chr(39), chr(39) * 2)}'")

    def error(url: str, password: str = PASSWORD, code: int = 1) -> str:
        run = publish_to(small_warehouse, url, password, code)
        assert len(run.errors) == 1 or code == 2
        return run.stderr

    assert "password authentication failed" in error(server.url(), "wrong-password")
    assert "no password supplied" in error(server.url(), "")
    assert 'database "nowhere" does not exist' in error(server.url("nowhere"))
    assert "permission denied for database" in error(server.url(user="guest"))
    assert "hidden" not in error(f"postgresql://{OWNER}:hidden@127.0.0.1:{server.port}/postgres", "")
    within = server.url().replace("@", f":{quote(PASSWORD, safe='')}@")
    server.psql("create database within")
    done = publish_to(small_warehouse, within.replace("/postgres", "/within"), "")
    assert PASSWORD not in done.stdout and quote(PASSWORD, safe="") not in done.stdout


@suites.of("bi")
def test_database_of_another_encoding_is_refused(server: Server, small_warehouse: Path) -> None:
    """The advice creates a database that publishing accepts."""
    server.psql("create database \"latin one\" encoding 'LATIN1' locale 'C' template template0")
    before = everything(server, "latin one")
    url = server.url("latin%20one")
    [error] = publish_to(small_warehouse, url, code=1).errors
    assert error.startswith(f"error: {url}: the encoding of the database is LATIN1; it must be UTF8. ")
    assert everything(server, "latin one") == before
    place = {"PGHOST": "127.0.0.1", "PGPORT": server.port, "PGUSER": OWNER, "PGPASSWORD": PASSWORD}
    with terminal(*shlex.split(re.findall(r"`(createdb .*)`", error)[0]), **place) as opened:
        assert end(opened) == 0
    publish_to(small_warehouse, server.url("latin%20one_utf8"))
    # Any bytes are text of this encoding.
    server.psql("create database bytes encoding 'SQL_ASCII' locale 'C' template template0")
    assert "is SQL_ASCII" in publish_to(small_warehouse, server.url("bytes"), code=1).stderr


FINE = {
    "fine": 'select 1 as "a""b", 18446744073709551615::ubigint as "it\'s", [1] as listed',
    "numbers": "select [18446744073709551615::ubigint] as a, 1::uhugeint as b, 'nan'::double as c",
    "nul": "select ['a' || chr(0)] as a, 'b' || chr(0) as b",
}
FINE_ROWS = {
    "fine": "1|18446744073709551615|{1}",
    "numbers": "{18446744073709551615}|1|NaN",
    "nul": "{a␀}|b␀",
}
TIMES = "times that are infinite or before 4713 BC, in the column"
DATES = "dates that are infinite, before 4713 BC or after 5874897, in the column"
# What PostgreSQL cannot store, and the beginning of the reason.
UNSUPPORTED = {
    "nested": ("select 1 as one, [[1]] as lists", "the type INTEGER[][] of the column lists"),
    "map": ("select map {'a': 1} as m", "the type MAP(VARCHAR, INTEGER) of the column m"),
    "bits": ("select '01'::bit as b", "the type BIT of the column b"),
    "zoned": ("select '12:00:00+02'::timetz as t", "the type TIME WITH TIME ZONE of the column t"),
    "long": (
        f"select 1 as {'x' * 70}a, 2 as {'x' * 70}b",
        f"two columns whose names begin with {'x' * 63}",
    ),
    "system": ("select 1 as ctid", "a column of the name ctid"),
    "columns": (f"select {', '.join(f'1 as c{number}' for number in range(1601))}", "1,601 columns"),
    "row": (f"select {', '.join(f'1e0 as c{number}' for number in range(1600))}", "it (row is too big"),
    "huge": (
        "select if(i = 249999, 170141183460469231731687303715884105727, i) as h from range(250000) t(i)",
        "numbers of more than 38 digits, in the column h",
    ),
    "date": ("select 'infinity'::date as d", f"{DATES} d"),
    "time": ("select '-infinity'::timestamp as t", f"{TIMES} t"),
    "zone": ("select 'infinity'::timestamptz as t", f"{TIMES} t"),
    "times": ("select [null, '5000-01-01 (BC)'::timestamp] as t", f"{TIMES} t"),
    "nanos": ("select 'infinity'::timestamp_ns as t", f"{TIMES} t"),
}


@suites.of("bi")
def test_leaves_out_what_postgresql_cannot_store(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The published file of a warehouse whose user has such views and queries."""
    statements = FINE | {name: sql for name, (sql, _) in UNSUPPORTED.items()}
    path = write_published(tmp_path, statements)
    server.psql("create database odd")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    for _ in range(2):
        published, _, _ = postgresql.publish(tmp_path, server.url("odd"), False, path)
        assert published.names == {f"mine.{name}" for name in FINE}
        reasons = dict(published.left_out)
        found = {name: reason.removeprefix("PostgreSQL cannot store ") for name, reason in reasons.items()}
        assert found == {
            f"mine.{name}": found[f"mine.{name}"] if name == "row" else reason
            for name, (_, reason) in UNSUPPORTED.items()
        }
        assert found["mine.row"].startswith(UNSUPPORTED["row"][1])
        for name, rows in FINE_ROWS.items():
            assert server.psql(f"select * from mine.{name}", "odd") == rows
        listed = server.psql("select name from catalog.contents order by name", "odd").split()
        assert listed == sorted(published.names)


@suites.of("bi")
def test_table_without_unique_key_is_published(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = {
        "twice": "select unnest([1, 1]) as one",
        "empty": "select unnest([1, null]) as one",
        "unique": "select unnest([1, 2]) as one",
    }
    path = write_published(tmp_path, statements, key="one")
    server.psql("create database keys")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    published, _, notes = postgresql.publish(tmp_path, server.url("keys"), False, path)
    assert published.names == {f"mine.{name}" for name in statements}
    assert notes == [
        "mine.twice has no primary key: one are not unique",
        "mine.empty has no primary key: one are not unique",
    ]


@suites.of("bi")
def test_broken_commit_does_not_claim_the_previous_version(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adbc_driver_postgresql import dbapi

    def commit_and_break(connection: dbapi.Connection) -> None:
        commit(connection)
        raise dbapi.OperationalError("[libpq] Failed to commit", status_code=10)

    commit = dbapi.Connection.commit
    path = write_published(tmp_path, {"one": "select 1 as one"})
    server.psql("create database broken")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setattr(dbapi.Connection, "commit", commit_and_break)
    with pytest.raises(UserError, match="complete previous version or the complete new one"):
        postgresql.publish(tmp_path, server.url("broken"), False, path)
    assert server.psql("select * from mine.one", "broken") == "1"


def write_published(folder: Path, statements: Mapping[str, str], key: str = "") -> Path:
    """Write a published file with tables of a user."""
    path = folder / "published.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema mine; create schema catalog")
        connection.execute("create table catalog.left_out (name varchar, reason varchar)")
        connection.execute(
            "create table catalog.contents as select 'mine.' || unnest($names) as name, 1 as row_count, "
            "$key as key_columns, '$comments$' as comment",
            {"names": [*statements], "key": key},
        )
        for name, sql in statements.items():
            connection.execute(f"create table mine.{name} as {sql}")
    return path


def test_rejects_invalid_url() -> None:
    for url in (
        "postgresql://[::1/x",
        "postgresql://me@db:port/x",
        "https://db/x",
        "postgresql://me:a@b@db/x",
        "postgresql://db/x?password=hidden",
    ):
        with pytest.raises(UsageError, match="URL") as error:
            read_address(url)
        assert url not in str(error.value)


def test_unreachable_server_is_named(sample_warehouse: Path) -> None:
    with socket.socket() as bound:
        # The socket is bound and does not listen, so the connection is refused.
        bound.bind(("127.0.0.1", 0))
        url = f"postgresql://me@127.0.0.1:{bound.getsockname()[1]}/traces"
        run = publish_to(sample_warehouse, url, code=1)
    assert run.stderr.startswith(f"error: {url}: no connection (") and "Connection refused" in run.stderr
