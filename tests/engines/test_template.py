"""A build copies a template. If it is missing, damaged or outdated, it is built again."""

import os
from pathlib import Path

import duckdb
import pytest

from tracehouse.core.errors import DefinitionError
from tracehouse.engines.duckdb.write import catalog, database, template


def objects(path: Path) -> list[tuple]:
    listed = """
        select schema_name, view_name, sql, comment from duckdb_views() where not internal
        union all
        select schema_name, function_name, macro_definition, comment from duckdb_functions()
        where not internal
        order by all
    """
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(listed).fetchall()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tracehouse"


def test_copy_equals_new_database(cache: Path, tmp_path: Path) -> None:
    template.copy_to(tmp_path / "first.duckdb")
    [kept] = cache.iterdir()
    template.copy_to(tmp_path / "second.duckdb")
    assert [*cache.iterdir()] == [kept]
    assert (tmp_path / "second.duckdb").read_bytes() == kept.read_bytes()
    template.create(tmp_path / "new.duckdb")
    created = objects(tmp_path / "new.duckdb")
    assert len(created) > 400
    assert objects(tmp_path / "first.duckdb") == objects(tmp_path / "second.duckdb") == created


def test_damaged_template_is_not_used(cache: Path, tmp_path: Path) -> None:
    template.copy_to(tmp_path / "first.duckdb")
    [kept] = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    template.copy_to(tmp_path / "second.duckdb")
    assert objects(tmp_path / "second.duckdb") == objects(tmp_path / "first.duckdb")


def test_other_definitions_have_another_template(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for definitions in "abcdef":
        monkeypatch.setattr(template, "hash_definitions", lambda hashed=definitions: hashed * 64)
        monkeypatch.setattr(template, "create", lambda path, text=definitions: path.write_text(text))
        template.copy_to(tmp_path / "x.duckdb")
        assert (tmp_path / "x.duckdb").read_text() == definitions
    assert len([*cache.iterdir()]) == template._MOST_TEMPLATES


@pytest.mark.parametrize("cache_folder", [os.devnull, "~unknown-user/cache"])
def test_builds_without_a_cache_folder(
    cache_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache_folder)
    template.copy_to(tmp_path / "x.duckdb")
    assert objects(tmp_path / "x.duckdb")


def test_ingest_without_template_checks_the_ledgers_first(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise DefinitionError("a ledger")

    monkeypatch.setattr(catalog, "check_ledgers", fail)
    with pytest.raises(DefinitionError, match="a ledger"):
        template.check_definitions()


def test_build_without_template_checks_the_ledgers_before_the_views(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise DefinitionError("a ledger")

    def create(path: Path) -> None:
        raise AssertionError("the views were created first")

    monkeypatch.setattr(catalog, "check_ledgers", fail)
    monkeypatch.setattr(template, "create", create)
    with pytest.raises(DefinitionError, match="a ledger"):
        database.build(tmp_path)
