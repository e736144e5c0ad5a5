"""A real PostgreSQL has the tables of the warehouse; publishing replaces only schemas of Tracehouse."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import command_line
import duckdb
import postgresql_server
import pytest
from bi_tests import in_full
from command_line import TRACES
from digests import digest
from postgresql_server import OWNER, PASSWORD, Server
from terminal import end, terminal

from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.declarations import all_traces
from tracehouse.publish.bi.contents import Kind, Relation
from tracehouse.publish.bi.postgresql_schemas import STAGING_SUFFIX
from tracehouse.publish.bi.postgresql_table import Server as Session
from tracehouse.publish.bi.postgresql_table import store_relation

pytestmark = in_full


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgresql_server.started() as started:
        yield started


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)


def publish_to_server(warehouse: Path, url: str, password: str = PASSWORD, code: int = 0) -> command_line.Run:
    """Publish to PostgreSQL, and check that the output has no password."""
    done = command_line.by_itself(
        "publish", "--warehouse", warehouse, "--to", url, env=os.environ | {"PGPASSWORD": password}
    )
    assert not done.faults((0, 1, 2))
    assert done.code == code, done.stderr
    for text in (done.stdout, done.stderr):
        assert not password or password not in text
    return done


@pytest.fixture(scope="module")
def whole(server: Server, sample_warehouse: Path) -> str:
    """The name of a database with the published sample."""
    server.psql("create database whole")
    run = publish_to_server(sample_warehouse, server.url("whole"))
    assert run.stdout.endswith(f" to {server.url('whole')}\n")
    assert "primary key" not in run.stderr
    return "whole"


@pytest.fixture
def small(request: pytest.FixtureRequest, server: Server, small_warehouse: Path) -> str:
    """The name of a new database with a published small warehouse."""
    name = f"small_{abs(hash(request.node.name))}"
    server.psql(f"create database {name}")
    publish_to_server(small_warehouse, server.url(name))
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


def test_tables_have_rows_of_warehouse(server: Server, whole: str, sample_warehouse: Path) -> None:
    from adbc_driver_postgresql import dbapi

    with duckdb.connect() as connection, dbapi.connect(server.url(whole)) as postgresql:
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
            assert rows.num_rows == row_count
            if kind != "hourly rollup":
                connection.register("there", rows)
                here = f"from {name}()" if kind == "answer" else f"from {name}"
                assert digest(connection, "from there") == digest(connection, here), name


def test_types_are_native(server: Server, whole: str) -> None:
    def type_of(table: str, column: str) -> str:
        return server.psql(
            f"select format_type(atttypid, atttypmod) from pg_attribute"
            f" where attrelid = '{table}'::regclass and attname = '{column}'",
            whole,
        )

    assert type_of("acme.job_trace", "submit_time") == "timestamp with time zone"
    assert type_of("genai.lora_request_trace", "gmt_create") == "timestamp without time zone"
    assert type_of("catalog.caveats", "objects") == "text[]"
    assert type_of("itp.raw_job", "duration") == "bigint"
    [wide] = {
        row.split("|")[2]
        for row in server.psql(
            "select table_schema, table_name, data_type from information_schema.columns"
            " where table_schema = 'dlrm' and table_name = 'requests_by_role' and data_type = 'numeric'",
            whole,
        ).splitlines()
    }
    assert wide == "numeric"


def test_commands_of_page_run(server: Server, small_warehouse: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "postgresql.md").read_text()
    create_user, create_database, publish = re.findall(r"^    (\w.*)$", page, re.M)
    place = {"PGHOST": "127.0.0.1", "PGPORT": server.port, "PGUSER": OWNER, "PGPASSWORD": PASSWORD}
    with terminal(*create_user.split(), **place) as opened:
        for asked in ("Enter password for new role: ", "Enter it again: "):
            opened.expect_exact(asked)
            opened.sendline(PASSWORD)
        assert end(opened) == 0
    with terminal(*create_database.split(), **place) as opened:
        assert end(opened) == 0
    # A reader of the page has a local server on the usual port.
    mine = {**os.environ, "PGPORT": str(server.port), "TRACES_WAREHOUSE": str(small_warehouse)}
    done = command_line.by_itself(*publish.split()[1:], env=mine)
    assert done.code == 0, done.stderr
    assert server.psql("select count(*) > 0 from itp.job", "traces", "publisher") == "t"


def test_sql_of_page_runs(server: Server, whole: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "postgresql.md").read_text()
    for sql in re.findall(r"```sql\n(.*?)```", page, re.S):
        server.psql(sql, whole)


def test_comments_and_keys_are_set(server: Server, whole: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    found = set(
        server.psql(
            """
            select table_schema || '.' || table_name || '.' || column_name
            from information_schema.columns
            where table_schema in ('unified', 'catalog', 'acme', 'itp', 'openb', 'pai', 'zeus')
            and col_description((table_schema || '.' || table_name)::regclass, ordinal_position) is null
            """,
            whole,
        ).splitlines()
    )
    assert found == set()
    comment = server.psql("select col_description('itp.job'::regclass, 2)", whole)
    assert [(comment,)] == synthetic.execute(
        "select comment from duckdb_columns()"
        " where schema_name = 'itp' and table_name = 'job' and column_index = 2"
    ).fetchall()
    keys = {
        line.split("|")[0]: tuple(line.split("|")[1].split(","))
        for line in server.psql(
            """
            select i.indrelid::regclass, string_agg(a.attname, ',' order by k.place)
            from pg_index as i, unnest(i.indkey) with ordinality as k (number, place), pg_attribute as a
            where i.indisprimary and a.attrelid = i.indrelid and a.attnum = k.number
            and i.indrelid::regclass::text !~ '^pg_'
            group by 1
            """,
            whole,
        ).splitlines()
    }
    declared = {
        f"{trace.name}.{table.name}": table.key
        for trace in all_traces().values()
        for table in trace.tables
        if table.key and not table.wide
    }
    assert declared
    assert {name: keys[name] for name in declared} == declared
    assert keys["acme.gpu_metric_hourly"] == ("cluster", "metric", "device", "hour")


def test_second_publish_replaces_tables_and_keeps_grants(
    server: Server, small: str, small_warehouse: Path
) -> None:
    role = f"reader_{small}"
    server.psql(
        f"create role {role} login password '{PASSWORD.replace(chr(39), chr(39) * 2)}';"
        f"grant usage on schema itp to {role}; grant select on itp.job, itp.gpu_hours to {role};"
        "create schema mine; create table mine.notes as select 1 as n; drop table if exists dlrm.nothing",
        small,
    )
    before = everything(server, small)
    count = server.psql("select count(*) from itp.job", small, role)
    publish_to_server(small_warehouse, server.url(small))
    after = everything(server, small)
    assert [line.rpartition("|")[0] for line in before.splitlines()] == [
        line.rpartition("|")[0] for line in after.splitlines()
    ]
    same = set(before.splitlines()) & set(after.splitlines())
    assert same == {line for line in before.splitlines() if line.startswith(("mine|", "public|"))}
    assert server.psql("select count(*) from itp.job", small, role) == count
    assert server.psql("select count(*) from itp.gpu_hours", small, role)


def test_trace_without_data_is_removed(server: Server, small: str, sample_raw: Path, tmp_path: Path) -> None:
    assert not database.ingest([sample_raw], tmp_path, ["itp"], lambda *_: None).problems
    assert "dlrm|" in everything(server, small)
    publish_to_server(tmp_path, server.url(small))
    assert "dlrm|" not in everything(server, small) and "itp|job|" in everything(server, small)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("create table itp.mine as select 1 as n", "itp.mine"),
        ("create function itp.one() returns int language sql as 'select 1'", "itp.one()"),
        ("create schema genuine; create view genuine.jobs as select count(*) from itp.job", "genuine.jobs"),
        (
            f"create schema itp{STAGING_SUFFIX}; create table itp{STAGING_SUFFIX}.mine as select 1 as n",
            f"itp{STAGING_SUFFIX}.mine",
        ),
    ],
)
def test_foreign_objects_are_not_replaced(
    statement: str, name: str, server: Server, small: str, small_warehouse: Path
) -> None:
    server.psql(statement, small)
    before = everything(server, small)
    run = publish_to_server(small_warehouse, server.url(small), code=1)
    assert run.errors[0].startswith(f"error: {name}: ")
    assert everything(server, small) == before


def test_foreign_schema_is_not_replaced(server: Server, small_warehouse: Path) -> None:
    server.psql("create database others")
    server.psql("create schema itp; create table itp.job as select 1 as n; create schema dlrm", "others")
    before = everything(server, "others")
    assert (
        "itp.job: not created by" in publish_to_server(small_warehouse, server.url("others"), code=1).stderr
    )
    assert everything(server, "others") == before


def test_killed_publish_keeps_old_version(server: Server, small: str, small_warehouse: Path) -> None:
    before = everything(server, small)
    command = [TRACES, "publish", "--warehouse", small_warehouse, "--to", server.url(small)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while f"dlrm{STAGING_SUFFIX}|" not in everything(server, small) and process.poll() is None:
            pass
        process.kill()
    left = everything(server, small)
    assert STAGING_SUFFIX in left
    assert [line for line in left.splitlines() if STAGING_SUFFIX not in line] == before.splitlines()
    publish_to_server(small_warehouse, server.url(small))
    assert STAGING_SUFFIX not in everything(server, small)


def test_long_reader_blocks_publish(server: Server, small: str, small_warehouse: Path) -> None:
    from adbc_driver_postgresql import dbapi

    before = everything(server, small)
    with dbapi.connect(server.url(small)) as reader, reader.cursor() as cursor:
        cursor.execute("select count(*) from itp.job")
        count = cursor.fetchall()
        run = publish_to_server(small_warehouse, server.url(small), code=1)
        assert "a reader held a lock" in run.errors[0]
        cursor.execute("select count(*) from itp.job")
        assert cursor.fetchall() == count
    assert everything(server, small) == before


def test_one_publish_at_a_time(server: Server, small: str, small_warehouse: Path) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server.url(small)) as other, other.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(5077321)")
        assert "another publish" in publish_to_server(small_warehouse, server.url(small), code=1).errors[0]


def test_connection_errors_are_one_line(server: Server, small_warehouse: Path) -> None:
    server.psql(f"create role guest login password '{PASSWORD.replace(chr(39), chr(39) * 2)}'")

    def error(url: str, password: str = PASSWORD, code: int = 1) -> str:
        run = publish_to_server(small_warehouse, url, password, code)
        assert len(run.errors) == 1 and len(run.stderr.splitlines()) == 1
        return run.errors[0]

    assert "the password is missing or wrong" in error(server.url(), "wrong-password")
    assert "the password is missing or wrong" in error(server.url(), "")
    assert "no PostgreSQL server answers" in error(f"postgresql://{OWNER}@127.0.0.1:1/postgres")
    assert "no PostgreSQL server answers" in error(f"postgresql://{OWNER}@nowhere.invalid/postgres")
    assert 'database "nowhere" does not exist' in error(server.url("nowhere"))
    assert "grant create on database postgres to guest" in error(server.url(user="guest"))
    within = server.url().replace("@", f":{PASSWORD}@")
    assert "%40" in error(within, code=2)
    assert "hidden" not in error(f"postgresql://{OWNER}:hidden@127.0.0.1:{server.port}/postgres", "")
    assert "hidden" not in error(f"postgresql://127.0.0.1:1/a?user={OWNER}&password=hidden", "")


def test_password_in_url_is_not_printed(server: Server, small: str, small_warehouse: Path) -> None:
    from urllib.parse import quote

    url = server.url(small).replace("@", f":{quote(PASSWORD, safe='')}@")
    run = publish_to_server(small_warehouse, url, "")
    assert PASSWORD not in run.stdout and quote(PASSWORD, safe="") not in run.stdout
    assert run.stdout.endswith(f" to {server.url(small)}\n")


def test_values_that_the_driver_changes(server: Server) -> None:
    """Infinity, the character NUL and 128-bit integers are converted."""
    from adbc_driver_postgresql import dbapi

    sql = """
        select
            1 as n,
            'infinity'::timestamptz as t,
            '-infinity'::timestamp as u,
            'infinity'::date as d,
            'a' || chr(0) || 'b' as s,
            12345678901234567890123456789012345678::hugeint as h,
            'nan'::double as f,
            1.50 as e
        union all
        select 1, '2023-01-02 03:04:05.000006+00', null, '2023-01-02', null, -1, 'inf'::double, 2.25
    """
    relation = Relation("odd.values", Kind.TABLE, sql, "It's odd.", {"n": "The $number$."}, ("n",))
    notes: list[str] = []
    with duckdb.connect() as source, dbapi.connect(server.url()) as connection:
        source.execute("set timezone = 'UTC'")
        session = Session(connection)
        session.run(f"create schema odd{STAGING_SUFFIX}")
        assert store_relation(source, session, relation, {}, notes) == 2
        connection.commit()
    rows = server.psql(f"set timezone = 'UTC'; select * from odd{STAGING_SUFFIX}.values order by h")
    assert rows.splitlines() == [
        "1|2023-01-02 03:04:05.000006+00||2023-01-02||-1|Infinity|2.25",
        "1|infinity|-infinity|infinity|a␀b|12345678901234567890123456789012345678|NaN|1.5",
    ]
    assert ["odd.values.s: NUL" in notes[0], "no primary key" in notes[1]] == [True, True]
