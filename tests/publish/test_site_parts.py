"""The tables of a site: which are published, and what a page reads from them."""

import gzip
from pathlib import Path

import duckdb
import pytest

from tracehouse.core.errors import UserError
from tracehouse.publish.site import parts

DATABASE = """
create schema itp;
create schema catalog;
create table itp.few as select i as id from range(10) as numbers(i);
create table itp.read as
select i as id, i / 3 as share, 'job ' || i as "group" from range(1000) as numbers(i);
create table itp.unread as from itp.read;
create table itp.answer as from itp.read;
create table itp.fixed as from itp.read;
create macro itp.answer(least := 0) as table from itp.read where id >= least;
create table catalog.queries as
select * from (values ('itp.answer', ['itp.read']), ('itp.fixed', ['itp.unread'])) as queries(
    query_name, reads
);
create table catalog.query_parameters as select 'itp.answer' as query_name;
create table catalog.left_out as select 'pai' as name, 'it has no data' as reason;
create table catalog.contents as
select * from (values
    ('itp.few', 'base table', 10),
    ('itp.read', 'view', 1000),
    ('itp.unread', 'view', 1000),
    ('itp.answer', 'answer', 1000),
    ('itp.fixed', 'answer', 1000),
    ('catalog.queries', 'catalog', 1000),
) as contents(name, kind, row_count);
"""


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A published database; tables of more than 100 rows are large."""
    monkeypatch.setattr(parts, "MOST_ROWS", 100)
    with duckdb.connect(str(tmp_path / "published.duckdb")) as connection:
        connection.execute(DATABASE)
    (tmp_path / "site").mkdir()
    return tmp_path / "published.duckdb"


def test_large_tables_that_no_query_needs_are_left_out(database: Path, tmp_path: Path) -> None:
    found = parts.write_parts(database, tmp_path / "site", whole=False)
    assert found.addresses.keys() == {"traces", "itp.few", "itp.read", "itp.fixed"}
    # The page computes the answer of a macro.
    assert found.left_out.keys() == {"itp.unread"}
    assert "more than" in found.left_out["itp.unread"] and "--whole" in found.left_out["itp.unread"]
    written = {path.name: path.stat().st_size for path in (tmp_path / "site" / "data").iterdir()}
    assert written.keys() == {f"{name}.bin" for name in found.addresses}
    assert sum(written.values()) == found.bytes


def test_whole_leaves_nothing_out(database: Path, tmp_path: Path) -> None:
    found = parts.write_parts(database, tmp_path / "site", whole=True)
    assert found.left_out == {} and {"itp.unread", "itp.answer"} <= found.addresses.keys()


def test_parts_answer_as_the_database(database: Path, tmp_path: Path) -> None:
    found = parts.write_parts(database, tmp_path / "site", whole=False)
    with duckdb.connect() as connection, duckdb.connect(str(database), read_only=True) as before:

        def attach(name: str) -> None:
            path = tmp_path / f"{name}.duckdb"
            packed = tmp_path / "site" / found.addresses[name].partition("?")[0]
            path.write_bytes(gzip.decompress(packed.read_bytes()))
            connection.execute(f"attach '{path}' as \"{name}\" (read_only)")

        attach("traces")
        connection.execute("use traces")
        names = connection.execute("select name from catalog.contents where kind <> 'catalog'").fetchall()
        assert {name for (name,) in names} == found.addresses.keys() - {"traces"}
        names = connection.execute("select name from catalog.left_out").fetchall()
        assert {name for (name,) in names} == {"pai", "itp.unread", "itp.answer"}
        attach("itp.read")
        answer = connection.execute("from itp.answer(least := 990)")
        expected = before.execute("from itp.answer(least := 990)")
        assert answer.description == expected.description
        assert answer.fetchall() == expected.fetchall()


def test_large_part_is_not_compressed(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_COMPRESSED", 0)
    found = parts.write_parts(database, tmp_path / "site", whole=False)
    assert found.addresses["itp.read"].startswith("data/itp.read.duckdb?")


def test_error_names_the_site(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "published.duckdb").write_text("other", encoding="utf-8")
    with pytest.raises(UserError, match="site: publishing failed"):
        parts.write_parts(tmp_path / "published.duckdb", tmp_path / "site", whole=False)
