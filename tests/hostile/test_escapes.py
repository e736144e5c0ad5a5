"""No query changes a file or reads one outside the warehouse: the statement check and Landlock."""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb
import pytest
import suites
from hostile.escapes import ESCAPES, Escape

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import answer, binding, landlock, sandbox
from tracehouse.engines.duckdb.write import database
from tracehouse.publish.formats import OutputFormat
from tracehouse.publish.writers import FormatWriter

T = TypeVar("T")
SECRET = "SECRET"
with_landlock = pytest.mark.skipif(landlock.version() < 1, reason="this kernel has no Landlock")
CHANGES_THE_CONNECTION = (
    r"^(set|reset|use|detach|attach|pragma|begin|create|call|prepare)\b|logging|profiling"
)


@dataclass(frozen=True)
class Place:
    """The folder in which the attempts run. They must not change the files in it."""

    folder: Path
    names: dict[str, str]

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def state(self) -> dict[str, str]:
        """Return the hash of each file below the folder, except in the scratch folder, which may change."""
        return {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            for path in sorted(self.folder.rglob("*"))
            if path != self.scratch and self.scratch not in path.parents
        }

    def output_files(self) -> list[Path]:
        """Create the files that the answer may be written to."""
        files = [self.scratch / "output", self.scratch / "draft"]
        for file in files:
            file.touch()
        return files

    def fill_in(self, sql: str) -> str:
        return sql.format(**self.names)


@pytest.fixture(scope="module")
def made(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("escapes")
    shutil.copytree(sample_warehouse, folder / "warehouse")
    return folder


@pytest.fixture
def place(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    for name in ("cwd/.tmp", "secrets", "scratch"):
        (made / name).mkdir(parents=True, exist_ok=True)
    (made / "secrets" / "secret.csv").write_text(f"a,b\n{SECRET},1\n", encoding="utf-8")
    (made / "cwd" / ".tmp" / "kept.txt").write_text("kept", encoding="utf-8")
    monkeypatch.chdir(made / "cwd")
    parquet = made / "warehouse" / "parquet"
    file = min((parquet / "openb").rglob("*.parquet"))
    names = {
        "file": file,
        "table": file.parent,
        "parquet": parquet,
        "root": made / "warehouse",
        "database": made / "warehouse" / database.DATABASE,
        "manifest": made / "warehouse" / "datapackage.json",
        "cwd": made / "cwd",
        "secret": made / "secrets" / "secret.csv",
        "other": made / "secrets",
    }
    yield Place(made, {name: str(path) for name, path in names.items()})


def run_in_thread(work: Callable[[], T]) -> T:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def run_statement(connection: duckdb.DuckDBPyConnection, sql: str, files: list[Path]) -> str:
    """Run a statement as `traces sql` does, and return the answer, the plan, or the error."""
    try:
        query = binding.bind_statement(connection, sql)
        if query.explain:
            return answer.plan(connection, query)
        FormatWriter(OutputFormat.CSV).render(answer.Answer(connection, query), *files)
    except (UserError, duckdb.Error) as error:
        return f"refused: {error}"
    return files[0].read_text(encoding="utf-8")


def test_escapes_change_no_file_and_read_no_other(place: Place) -> None:
    assert len(ESCAPES) >= 200
    before = place.state()

    def work() -> dict[str, str]:
        files = place.output_files()
        landlock.confine_thread([place.scratch, *files])
        with sandbox.connect(place.warehouse, writable=files, scratch=place.scratch) as connection:
            return {
                escape.sql: run_statement(connection, place.fill_in(escape.sql), files) for escape in ESCAPES
            }

    found = run_in_thread(work)
    assert place.state() == before
    # An error may name the requested file, but not quote its contents.
    assert [sql for sql, text in found.items() if SECRET in text] == []
    writing = [sql for sql in found if "copy" in sql.lower() and not found[sql].startswith("refused")]
    assert writing == []


@suites.of("long")
@with_landlock
def test_landlock_blocks_writes_without_check(place: Place) -> None:
    """Runs the statements without the statement check, on a connection with default settings."""
    tried = [escape for escape in ESCAPES if not escape.network]
    before = place.state()

    def work() -> dict[str, str]:
        landlock.confine_thread([place.scratch])
        return dict(run(place, tried))

    found = run_in_thread(work)
    assert place.state() == before
    plain = [f"copy (select 1) to '{where}'" for where in ("{file}", "{cwd}/new.csv", "{secret}")]
    assert [sql for sql in plain if sql in found and "Permission denied" not in found[sql]] == []
    denied = [sql for sql, text in found.items() if "Permission denied" in text]
    assert len(denied) > 20


def run(place: Place, escapes: list[Escape]) -> Iterator[tuple[str, str]]:
    connection = None
    for escape in escapes:
        if connection is None:
            connection = duckdb.connect()
            connection.execute(f"attach '{place.names['database']}' as warehouse (read_only); use warehouse")
            connection.execute(f"set temp_directory = '{place.scratch}'")
        try:
            yield escape.sql, str(connection.execute(place.fill_in(escape.sql)).fetchall())
        except (duckdb.Error, ValueError, RuntimeError, TypeError) as error:
            yield escape.sql, f"{type(error).__name__}: {error}"
        if re.search(CHANGES_THE_CONNECTION, escape.sql):
            connection.close()
            connection = None


@with_landlock
def test_statement_writes_without_landlock(place: Place) -> None:
    """The same statement writes without Landlock, so the test above depends on Landlock."""
    target = place.scratch / "written.csv"
    with duckdb.connect() as connection:
        connection.execute(f"copy (select 1) to '{target}'")
    assert target.exists()
    target.unlink()


READING = [
    "select 1",
    "from openb.pod limit 1",
    "table catalog.traces",
    "with a as (select 1 as x) from a",
    "with recursive a(x) as (select 1 union all select x + 1 from a where x < 3) from a",
    "with a as materialized (select 1 as x) select * from a",
    "values (1), (2)",
    "describe openb.pod",
    "describe select 1",
    "show tables",
    "show all tables",
    "summarize openb.node",
    "from (describe openb.pod) where column_name = 'name'",
    "pivot openb.pod on qos in ('LS', 'BE') using count(*)",
    "unpivot (select 1 as a, 2 as b) on a, b",
    "from openb.request_tiers('default')",
    "from openb.phases(gpu_only := false)",
    "from read_parquet('{file}') limit 1",
    "from range(3)",
    "from generate_series(1, 3)",
    "select unnest([1, 2])",
    "from unnest([1, 2])",
    "from duckdb_tables()",
    "from duckdb_views()",
    "from duckdb_settings()",
    "from pragma_table_info('openb.pod')",
    "from test_all_types()",
    "select random() < 2, uuid() is not null, now() is not null, getvariable('data_root')",
    "select [x for x in [1, 2] if x > 1], {{'a': 1}}, map {{1: 2}}, list_transform([1], lambda x: x + 1)",
    "select cast('1' as decimal(3, 1)), try_cast('x' as integer), date '2020-01-01' + interval 1 day",
    "select count(*) filter (where true), sum(1) over (order by 1), any_value(2 order by 1)",
    "from openb.pod p join openb.node n on true positional join range(1) limit 1",
    "from range(3) a asof join range(3) b on a.range >= b.range",
    "select distinct on (name) name from openb.pod qualify row_number() over () < 3 order by all",
    "(select 1 as a) union all by name (select 2 as a) except select 3 intersect select 4",
    "select columns('name|qos'), * exclude (qos) from openb.pod using sample 3",
    "explain select 1",
    "explain analyze from openb.pod",
    "explain (analyze, format json) select 1",
    "explain (select 1)",
    "  -- a comment; with a semicolon\n select 'é;' ; -- the end",
    "select * from openb.pod where name in (select name from openb.pod) and exists (select 1)",
]


def test_runs_reading_statements(place: Place) -> None:
    files = place.output_files()
    with sandbox.connect(place.warehouse, writable=files, scratch=place.scratch) as connection:
        found = {sql: run_statement(connection, place.fill_in(sql), files) for sql in READING}
    assert {sql: text for sql, text in found.items() if text.startswith("refused")} == {}
