"""Materialized views have the rows of computed views, and are computed again when an input changes."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import command_line
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import build_warehouse
from counting import non_empty
from few_files import quiet
from hostile_tests import in_full

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.describe import describe
from tracehouse.engines.duckdb.write import database, freshness, materialized_views
from tracehouse.engines.duckdb.write.build import build_file
from tracehouse.ingest.store import cleanup, integrity, layout, records, view_store
from tracehouse.ingest.store.records import Conversion
from tracehouse.publish.bi import database_file
from tracehouse.samples.dumps import write_sample
from tracehouse.views.across_traces import expanded
from tracehouse.views.graph import view_dependencies
from tracehouse.views.materialization import Storing, storings
from tracehouse.views.view_files import DefinitionError, parsed_view_file, view_files

STORED = {view.versioned: how for view in view_files() if (how := storings(view))}
KEPT = "select versioned_name from catalog.views where stored"
HOURLY = "acme.utilization_hourly_v2"
GPU_UTIL = "utilization/kalos/GPU_UTIL.csv"
CELLS = "Time,{0}-0,{0}-1\n2023-07-01 00:00:00+08:00,1.5,2.5\n2023-07-01 00:00:15+08:00,3.0,\n"


@pytest.fixture(scope="module", autouse=True)
def materialize_small_views() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(materialized_views, "LEAST_ROWS", 0)
        patched.setattr(materialized_views, "LEAST_FREE_BYTES", 0)
        yield


@pytest.fixture(scope="module")
def stored_sample(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return materialize_copy(sample_warehouse, tmp_path_factory.mktemp("sample") / "warehouse")


@pytest.fixture(scope="module")
def stored_real(real_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return materialize_copy(real_warehouse, tmp_path_factory.mktemp("real") / "warehouse")


def materialize_copy(warehouse: Path, copy: Path) -> Path:
    shutil.copytree(warehouse, copy)
    assert database.build(copy).notes == []
    return copy


@pytest.fixture(scope="module")
def few_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A raw folder with two partitions of one table."""
    folder = tmp_path_factory.mktemp("few") / "raw"
    write(folder, GPU_UTIL, CELLS.format("172.31.0.1"))
    write(folder, "utilization/seren/GPU_UTIL.csv", CELLS.format("10.140.0.1"))
    return folder


@pytest.fixture(scope="module")
def few_made(few_raw: Path) -> Path:
    return build_warehouse(few_raw, few_raw.with_name("warehouse"))


@pytest.fixture
def few(few_raw: Path, few_made: Path, tmp_path: Path) -> Path:
    """A copy of the warehouse, next to its raw files."""
    shutil.copytree(few_raw, tmp_path / "raw")
    warehouse = tmp_path / "warehouse"
    shutil.copytree(few_made, warehouse)
    conversions = records.read_conversions(warehouse)
    # Mark the copy for its new path, so that the database counts as current. A build would take seconds.
    freshness.write_mark(
        warehouse,
        freshness.fingerprint_inputs(conversions, warehouse, with_views=True),
        warehouse / database.NAME,
        planned_files(conversions),
    )
    return warehouse


def write(raw: Path, name: str, text: str) -> None:
    (raw / name).parent.mkdir(parents=True, exist_ok=True)
    (raw / name).write_text(text)


def planned_files(conversions: Sequence[Conversion]) -> list[str]:
    planned = materialized_views.plan(conversions)
    return materialized_views.list_paths(planned, planned)


def ingest(warehouse: Path, **options: bool) -> list[str]:
    outcome = database.ingest([warehouse.with_name("raw")], warehouse, [], quiet, **options)
    assert not outcome.problems
    return list(outcome.notes)


def query_rows(warehouse: Path, sql: str) -> list[tuple]:
    with sandbox.connect(warehouse) as connection:
        return connection.execute(sql).fetchall()


def files(warehouse: Path) -> dict[str, int]:
    """Return the modification time of each file of a materialized view."""
    found = (warehouse / "stored").rglob("*.parquet")
    return {
        path.relative_to(warehouse).as_posix(): path.stat().st_mtime_ns for path in found if path.is_file()
    }


@pytest.mark.parametrize("of", ["sample", "real"])
@pytest.mark.parametrize("name", STORED)
def test_materialized_rows_equal_computed_rows(name: str, of: str, request: pytest.FixtureRequest) -> None:
    warehouse = request.getfixturevalue(f"stored_{of}")
    computed = warehouse.with_name(f"{warehouse.name}-computed.duckdb")
    if not computed.exists():
        build_file(computed, records.read_conversions(warehouse), warehouse, materialize=False)
    with duckdb.connect() as connection:
        connection.execute(f"attach '{computed}' as computed (read_only)")
        connection.execute(f"attach '{warehouse / database.NAME}' as stored (read_only)")
        is_stored = f"select stored from stored.catalog.views where versioned_name = '{name}'"
        reads = materialized_views.tables_read(*views_of(name))
        with_data = (
            f"select count(*) > 0 from stored.catalog.tables where row_count > 0 and table_name in {reads}"
        )
        assert connection.execute(is_stored).fetchall() == connection.execute(with_data).fetchall()
        described = [
            connection.execute(f"describe {side}.{name}").fetchall() for side in ("stored", "computed")
        ]
        assert described[0] == described[1]
        comments = [
            connection.execute(
                """
                select column_name, comment from duckdb_columns()
                where database_name = $side and schema_name || '.' || table_name = $name order by column_index
                """,
                {"side": side, "name": name},
            ).fetchall()
            for side in ("stored", "computed")
        ]
        assert comments[0] == comments[1] != []
        for side in ("stored", "computed"):
            connection.execute(f"create temp table {side}_rows as from {side}.{name}")
        for one, other in (("stored", "computed"), ("computed", "stored")):
            more = connection.execute(f"from {one}_rows except all from {other}_rows limit 3").fetchall()
            assert more == [], f"rows of {one} that {other} lacks"


def views_of(name: str) -> tuple:
    views = materialized_views._views_in_order()
    return views[name], views


def test_each_view_takes_effect_when_it_is_ready(
    sample_raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = []
    compute = materialized_views._write_part

    def record(*arguments: Any) -> str:
        stored.append({name for (name,) in query_rows(tmp_path, KEPT)})
        return compute(*arguments)

    monkeypatch.setattr(database, "PUBLISH_VIEWS_EVERY_S", 0)
    monkeypatch.setattr(materialized_views, "_write_part", record)
    assert not database.ingest([sample_raw], tmp_path, ["philly"], quiet).problems
    stored.append({name for (name,) in query_rows(tmp_path, KEPT)})
    assert stored[0] == set()
    assert all(before < after for before, after in itertools.pairwise(stored))
    assert {name for name in STORED if name.startswith("philly.")} < stored[-1]


def test_views_that_read_few_bytes_come_first(stored_sample: Path) -> None:
    conversions = records.read_conversions(stored_sample)
    views = materialized_views._views_in_order()
    read = {name: materialized_views._bytes_read(view, views, conversions) for name, view in views.items()}
    pairs = [(name, other) for name, view in views.items() for other in view.references if other in read]
    assert [(name, other) for name, other in pairs if read[other] > read[name]] == []
    assert pairs


def test_every_sample_has_rows_to_materialize(stored_sample: Path) -> None:
    """Without rows, the comparison above would compare nothing."""
    with sandbox.connect(stored_sample) as connection:
        names = [name for (name,) in connection.execute(KEPT).fetchall()]
        assert sorted(names) == sorted(STORED)
        assert [name for name in names if not connection.execute(f"from {name} limit 1").fetchall()] == []


def test_rows_are_in_order_of_header(stored_sample: Path) -> None:
    for parts in non_empty(materialized_views.plan(records.read_conversions(stored_sample)).values()):
        for part in non_empty(parts):
            listed = ", ".join(f'"{column}"' for column in part.how.order)
            sql = f"select {listed} from '{stored_sample / part.path}'"
            assert duckdb.sql(sql).fetchall() == duckdb.sql(f"{sql} order by all").fetchall()


def test_catalog_describes_materialized_views(few: Path) -> None:
    [(at, size, paths, tables, sql)] = query_rows(
        few,
        f"""
        select stored_at, stored_bytes, stored_files, stored_from, sql
        from catalog.views where versioned_name = '{HOURLY}'
        """,
    )
    there = {path: (few / path).stat() for path in paths}
    assert len(there) == 2
    assert size == sum(fact.st_size for fact in there.values())
    assert int(at.timestamp()) <= max(fact.st_mtime for fact in there.values()) < at.timestamp() + 1
    assert tables == ["acme.gpu_metric", "acme.node_metric"]
    assert "read_parquet" not in sql and "device_hours" in sql
    with sandbox.connect(few) as connection:
        facts = describe(connection, "acme.utilization_hourly").facts
        assert facts["stored"].startswith(
            f"since {at:%Y-%m-%d %H:%M} UTC, 0.0 MB in 2 files, computed from acme"
        )
        assert describe(connection, "acme.job").facts["stored"] == ""
    others = "select distinct stored_at, stored_bytes, stored_files from catalog.views where not stored"
    assert query_rows(few, others) == [(None, None, [])]


def test_small_views_are_not_materialized(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialized_views, "LEAST_ROWS", 9)
    database.build(few)
    assert query_rows(few, KEPT) == []
    monkeypatch.setattr(materialized_views, "LEAST_ROWS", 8)
    database.build(few)
    assert (HOURLY,) in query_rows(few, KEPT)


def test_ingest_without_changes_computes_nothing(few: Path) -> None:
    before, built = files(few), (few / database.NAME).stat().st_ino
    assert before
    assert ingest(few) == []
    database.vacuum(few, 0, 0)
    database.build(few)
    assert files(few) == before
    ingest(few)
    assert files(few) == before
    assert (few / database.NAME).stat().st_ino != built, "build wrote no new database"


def test_computes_only_changed_partition(few: Path) -> None:
    before = files(few)
    rows = f"select cluster, mean_pct from {HOURLY} where metric = 'GPU_UTIL' order by cluster"
    assert query_rows(few, rows) == [("kalos", 7 / 3), ("seren", 7 / 3)]
    write(few.with_name("raw"), GPU_UTIL, CELLS.format("172.31.0.1").replace("3.0,", "4.0,"))
    assert ingest(few) == []
    after = files(few)
    assert query_rows(few, rows) == [("kalos", 8 / 3), ("seren", 7 / 3)]
    assert before.items() <= after.items(), "superseded files were deleted"
    [made] = [path for path in after if path not in before and HOURLY.split(".")[1] in path]
    assert len([path for path in after if HOURLY.split(".")[1] in path]) == 3
    assert (
        made
        in query_rows(few, f"select stored_files from catalog.views where versioned_name = '{HOURLY}'")[0][0]
    )


def flip_in_place(path: Path) -> None:
    """Flip a bit of a Parquet file such that values change and no reader reports damage."""
    data, before = path.read_bytes(), pq.read_table(path)
    column = before.column_names.index("value")
    pages = pq.ParquetFile(path).metadata.row_group(0).column(column)
    end = pages.data_page_offset + pages.total_compressed_size
    for at in range(8 * pages.data_page_offset, 8 * min(end, len(data) - 8)):
        flipped = bytearray(data)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        with suppress(duckdb.Error, pa.ArrowException, OSError):
            after = pq.read_table(path)
            is_changed = after["value"] != before["value"] and after.drop(["value"]) == before.drop(["value"])
            if is_changed and len(duckdb.read_parquet(str(path)).fetchall()) == len(after):
                return
    raise AssertionError("no bit changes only the values")


@pytest.mark.parametrize("advice", ["delete", "forget", "forget and vacuum"])
def test_recomputes_views_of_a_damaged_file(few: Path, advice: str) -> None:
    rows = f"select cluster, mean_pct from {HOURLY} where metric = 'GPU_UTIL' order by cluster"
    right = query_rows(few, rows)
    [kalos] = [one for one in records.read_conversions(few) if "kalos" in one.sources[0].file]
    flip_in_place(few / kalos.files[0].path)
    shutil.rmtree(few / "stored")
    database.build(few)
    assert query_rows(few, rows) != right, "the damage did not change the answer"
    if advice == "delete":
        (few / kalos.files[0].path).unlink()
    else:
        database.forget(few, [GPU_UTIL])
    if advice == "forget and vacuum":
        (few / kalos.files[0].path).unlink()
        cleanup.vacuum(few, older_than_days=0, keep_versions=0)
        assert list((few / "stored").rglob("*.parquet")), (
            "it is not known which views are in use, so all stay"
        )
    ingest(few)
    assert query_rows(few, rows) == right
    assert integrity.check(few, [], quiet).damages == ()


def test_computes_only_added_partition(few: Path) -> None:
    before = files(few)
    write(few.with_name("raw"), "utilization/kalos/SM_ACTIVE.csv", CELLS.format("172.31.0.1"))
    ingest(few)
    of_hourly = [path for path in files(few) if HOURLY.split(".")[1] in path]
    assert len(of_hourly) == 3
    assert before.items() <= files(few).items()
    assert query_rows(few, f"select count(*) from {HOURLY}") == [(3,)]


def test_additional_day_adds_one_file_per_view(tmp_path: Path) -> None:
    write_sample(tmp_path / "raw", 0.001, 7, ["asi"], quiet, 7)
    later = list((tmp_path / "raw").rglob("day=115"))
    for folder in later:
        folder.rename(tmp_path / folder.parent.name)
    warehouse = tmp_path / "warehouse"
    assert ingest(warehouse) == []
    before = files(warehouse)
    for folder in later:
        (tmp_path / folder.parent.name).rename(folder)
    assert ingest(warehouse) == []
    after = files(warehouse)
    names = sorted(name for name in STORED if name.startswith("asi."))
    assert before.items() <= after.items()
    added = [path for path in after.keys() - before.keys() if path.startswith("stored/asi/")]
    assert sorted(path.split("/")[2] for path in added) == [name.removeprefix("asi.") for name in names]
    per_day = "select versioned_name, len(stored_files) from catalog.views where stored order by 1"
    assert query_rows(warehouse, per_day) == [*((name, 7) for name in names), ("unified.summary_v3", 1)]


def test_computes_view_of_changed_sql(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(few)
    changed = [replace(view, sha256="0" * 64) if view.versioned == HOURLY else view for view in view_files()]
    monkeypatch.setattr(materialized_views, "view_files", lambda: changed)
    database.build(few)
    more = files(few).keys() - before.keys()
    assert len(more) == 2
    assert all(HOURLY.split(".")[1] in path for path in more)


def test_computes_views_above_changed_sql(monkeypatch: pytest.MonkeyPatch, stored_sample: Path) -> None:
    views = {view.versioned: view for view in view_files()}
    united = {view.versioned: view for view in expanded(view_files())}
    lower = {
        name: sorted(
            one.versioned for one in view_dependencies(united[name], united) if one.versioned != name
        )
        for name in STORED
    }
    name = next(name for name, below in lower.items() if below)
    conversions = records.read_conversions(stored_sample)
    before = materialized_views.plan(conversions)
    views[lower[name][0]] = replace(views[lower[name][0]], sha256="0" * 64)
    monkeypatch.setattr(materialized_views, "view_files", lambda: list(views.values()))
    after = materialized_views.plan(conversions)
    assert {part.path for part in before[name]}.isdisjoint(part.path for part in after[name])
    for other, parts in before.items():
        changed = lower[name][0] in [other, *lower[other]]
        assert (after[other] != parts) == changed, other


def test_database_without_materialized_views_stays_so_until_build(few: Path) -> None:
    database.build(few, stored=False)
    assert query_rows(few, KEPT) == []
    assert ingest(few) == []
    database.vacuum(few, 0, 0)
    assert query_rows(few, KEPT) == []
    assert files(few) == {}, "files of views remain"
    database.build(few)
    assert (HOURLY,) in query_rows(few, KEPT)
    assert ingest(few, stored=False) == []
    assert query_rows(few, KEPT) == []


def test_ingest_and_build_have_option_no_stored(few: Path) -> None:
    for command in (["ingest", "--raw", few.with_name("raw")], ["build"]):
        assert freshness.uses_materialized_views(few)
        run = command_line.server().run(*command, "--no-stored", "--warehouse", few)
        assert (run.code, run.errors) == (0, [])
        assert not freshness.uses_materialized_views(few)
        layout.database_mark(few).unlink()


def test_database_with_tables_reads_no_file(few: Path) -> None:
    database.build(few, materialize=True)
    rows = query_rows(few, f"from {HOURLY} order by all")
    assert len(rows) == 2
    shutil.rmtree(few / "stored")
    shutil.rmtree(few / "parquet")
    assert query_rows(few, f"from {HOURLY} order by all") == rows
    assert query_rows(few, KEPT) == []


def test_vacuum_removes_superseded_files(few: Path) -> None:
    before = files(few)
    write(few.with_name("raw"), GPU_UTIL, CELLS.format("172.31.0.1").replace("3.0,", "4.0,"))
    ingest(few)
    needed = set(planned_files(records.read_conversions(few)))
    listed = {
        path for (paths,) in query_rows(few, "select stored_files from catalog.views") for path in paths
    }
    assert listed < needed, "files without rows must be kept but not listed"
    assert database.vacuum(few, 7, 3)[0] == []
    assert database.vacuum(few, 0, 3)[0] == [], "superseded versions were deleted"
    assert before.keys() <= files(few).keys()
    old = before.keys() - needed
    removed = [file.path for file in database.vacuum(few, 0, 0)[0] if file.path.startswith("stored/")]
    assert old <= set(removed)
    assert needed <= files(few).keys()
    assert files(few).keys().isdisjoint(removed)
    assert database.vacuum(few, 0, 0)[0] == []
    assert ingest(few) == []


def test_keeps_reused_file_after_kill_before_it_is_recorded(
    few: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    first = files(few).keys()

    def with_value(value: int) -> None:
        write(few.with_name("raw"), GPU_UTIL, CELLS.format("172.31.0.1").replace("3.0,", f"{value}.0,"))
        ingest(few)

    for value in range(4, 5 + cleanup.KEEP_SUPERSEDED_VERSIONS):
        with_value(value)
    with monkeypatch.context() as killed:
        killed.setattr(database, "record_superseded", lambda *_: None)
        with_value(3)
    noted = json.loads(view_store.superseded_list(few).read_text())
    assert {old["path"] for old in noted} & first, "the list must be older than the kill"
    text = json.dumps([old | {"since": "2020-01-01T00:00:00+00:00"} for old in noted])
    view_store.superseded_list(few).write_text(text)
    with pytest.raises(UserError, match="no such folder"):
        database.ingest([few.with_name("gone")], few, [], quiet)
    assert first <= files(few).keys()
    assert query_rows(few, f"from {HOURLY} order by all") == rows


def test_computes_lost_or_broken_file_again(few: Path) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    [one, other] = [few / path for path in files(few) if HOURLY.split(".")[1] in path]
    one.unlink()
    other.write_bytes(other.read_bytes()[:-9])
    assert ingest(few) == []
    assert query_rows(few, f"from {HOURLY} order by all") == rows


def test_computes_file_of_another_view_again(few: Path) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    paths = [few / path for path in files(few)]
    replaced = next(path for path in paths if HOURLY.split(".")[1] in path.parts)
    other = next(path for path in paths if HOURLY.split(".")[1] not in path.parts)
    shutil.copyfile(other, replaced)
    assert ingest(few) == []
    assert query_rows(few, f"from {HOURLY} order by all") == rows


def test_computes_file_without_checksum_again(few: Path) -> None:
    """A kill between the writes of a file and its checksum leaves this state."""
    before = files(few)
    for path in before:
        (few / path).with_suffix(".sha256").unlink()
    database.build(few)
    assert files(few).keys() == before.keys()
    assert all(when > before[path] for path, when in files(few).items())


def test_sha256sum_accepts_checksums(few: Path) -> None:
    for path in files(few):
        file = few / path
        subprocess.run(["sha256sum", "--check", f"{file.stem}.sha256"], cwd=file.parent, check=True)


def test_check_reports_damage_with_advice(few: Path) -> None:
    def check(*traces: str) -> command_line.Run:
        return command_line.server().run("check", *traces, "--files", "--warehouse", few)

    number = len(files(few))
    run = check()
    assert run.code == 0 and ": no damage" in run.stdout.splitlines()[-1]
    of_tables = int(run.stdout.splitlines()[-1].split()[0]) - number
    assert of_tables == len([*(few / "parquet").rglob("*.parquet")])
    [one, other] = [few / path for path in files(few) if HOURLY.split(".")[1] in path]
    content = bytearray(one.read_bytes())
    content[20] ^= 1
    one.write_bytes(content)
    other.unlink()
    run = check()
    assert run.code == 1
    assert f"2 of {of_tables + number} files are damaged" in run.errors[-1]
    reported = {line.partition(": ")[2] for line in run.stdout.splitlines()}
    advice = (
        "Delete it, if it exists, and {}.sha256 next to it, "
        "and run `traces build`, which computes the view again"
    )
    assert reported == {
        f"{one}: its content is not what was written. {advice.format(one.stem)}",
        f"{other}: the file is missing. {advice.format(other.stem)}",
    }
    one.unlink()
    database.build(few)
    assert check("acme").code == 0


def test_advice_on_superseded_file_works(few: Path) -> None:
    before = files(few)
    write(few.with_name("raw"), GPU_UTIL, CELLS.format("172.31.0.1").replace("3.0,", "4.0,"))
    ingest(few)
    needed = planned_files(records.read_conversions(few))
    old = few / min(before.keys() - set(needed))
    old.unlink()
    [damage] = integrity.check(few, [], quiet).damages
    assert few / damage.path == old and old.with_suffix(".sha256").name in damage.advice
    old.with_suffix(".sha256").unlink()
    database.build(few)
    assert integrity.check(few, [], quiet).damages == ()


def test_kill_during_vacuum_leaves_no_damage(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(few.with_name("raw"), GPU_UTIL, CELLS.format("172.31.0.1").replace("3.0,", "4.0,"))
    ingest(few)
    in_use = freshness.read_view_files(few)
    assert in_use
    unlink, removed = Path.unlink, []

    def kill_after_first(path: Path, missing_ok: bool = False) -> None:
        if path.suffix in (".parquet", ".sha256"):
            if removed:
                raise KeyboardInterrupt
            removed.append(path)
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "unlink", kill_after_first)
        cleanup.vacuum(few, 0, 0, in_use)
    assert removed and integrity.check(few, [], quiet).damages == ()
    old = removed[0].with_suffix(".parquet").relative_to(few).as_posix()
    assert old in [file.path for file in cleanup.vacuum(few, 0, 0, in_use)]
    assert not (few / old).exists()


def test_missing_view_without_checksum_is_no_damage(few: Path) -> None:
    shutil.rmtree(few / "stored")
    tables = len([*(few / "parquet").rglob("*.parquet")])
    report = integrity.check(few, [], quiet)
    assert (report.files, report.damages) == (tables, ())


def test_reports_progress_of_materialization(few: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    database.build(few, progress=lambda *reported: seen.append(reported))
    assert seen == [("database", 0, 0)], "views were computed although all files exist"
    shutil.rmtree(few / "stored")
    seen.clear()
    database.build(few, progress=lambda *reported: seen.append(reported))
    first, *of_views, last = seen
    assert first == last == ("database", 0, 0)
    [(label, total)] = {(label, total) for label, _, total in of_views}
    assert label == "materialized views"
    assert of_views[0] == ("materialized views", 0, total)
    assert sum(more for _, more, _ in of_views) == total > 0
    assert len(of_views) == 1 + len(files(few)), "not one report per file"


def test_moved_warehouse_answers(few: Path) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    moved = few.rename(few.with_name("moved"))
    assert query_rows(moved, f"from {HOURLY} order by all") == rows
    with duckdb.connect(str(moved / database.NAME), read_only=True) as connection:
        connection.execute("set variable data_root = '/nowhere'")
        with pytest.raises(duckdb.IOException, match="No files found"):
            connection.execute(f"from {HOURLY}")
        connection.execute(f"set variable data_root = '{moved}'")
        assert len(connection.execute(f"from {HOURLY}").fetchall()) == len(rows)


def test_published_file_needs_no_warehouse(few: Path) -> None:
    rows = query_rows(few, "from acme.utilization_hourly order by all")
    published = few.with_name("published.duckdb")
    database_file.publish(few, published, whole=True)
    few.rename(few.with_name("away"))
    with duckdb.connect(str(published), read_only=True) as connection:
        found = connection.execute("from acme.utilization_hourly order by all").fetchall()
        assert len(found) == len(rows)
        assert connection.execute(
            "select count(*) from duckdb_views() where sql ilike '%read_parquet%'"
        ).fetchall() == [(0,)]


def test_view_that_would_fill_disk_is_not_materialized(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(few / "stored")
    rows = query_computed_view(few)
    monkeypatch.setattr(materialized_views, "LEAST_FREE_BYTES", 1 << 60)
    notes = database.build(few).notes
    per_partition = "sql ilike '%materialize: parquet per%' and versioned_name like 'acme.%'"
    assert len(notes) == len(query_rows(few, f"select 1 from catalog.views where {per_partition}"))
    assert "it would fill the disk. Free disk space" in notes[0]
    assert query_rows(few, f"from {HOURLY} order by all") == rows
    assert files(few) == {}
    monkeypatch.undo()
    monkeypatch.setattr(materialized_views, "LEAST_ROWS", 0)
    monkeypatch.setattr(materialized_views, "LEAST_FREE_BYTES", 0)
    assert ingest(few) == [], "the views were not computed"
    assert (HOURLY,) in query_rows(few, KEPT)


def test_reports_error_without_message_by_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise OSError

    monkeypatch.setattr(materialized_views.shutil, "disk_usage", fail)
    part = materialized_views.Part(Storing("", ("a",), False), None, "stored/mine/view_v1/0.parquet", 0)
    with duckdb.connect() as connection:
        assert (
            materialized_views._write_part(connection, tmp_path, "mine.view_v1", "select 1 as a", part)
            == "OSError"
        )


def query_computed_view(warehouse: Path) -> list[tuple]:
    database.build(warehouse, stored=False)
    return query_rows(warehouse, f"from {HOURLY} order by all")


def test_full_disk_leaves_no_partial_file(stored_sample: Path, tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(tmp_path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        warehouse = tmp_path / "warehouse"
        shutil.copytree(stored_sample, warehouse)
        shutil.rmtree(warehouse / "stored")
        free = shutil.disk_usage(warehouse).free
        (warehouse / "filling").write_bytes(bytes(free - (12 << 10)))
        conversions = records.read_conversions(warehouse)
        planned = materialized_views.plan(conversions)
        notes = materialized_views.materialize(warehouse, conversions, planned, quiet, lambda: None)
        found = materialized_views.find_complete(warehouse, planned)
        assert len(found) + len(notes) == len(STORED)
        assert notes and all("is not materialized, so that each query computes it" in note for note in notes)
        assert any("No space left on device" in note for note in notes)
        assert [path for path in layout.staging_folder(warehouse).rglob("*") if path.is_file()] == []
        for path in (warehouse / "stored").rglob("*.parquet"):
            duckdb.sql(f"select count(*) from '{path}'").fetchall()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_database_answers_before_views_are_materialized(few: Path) -> None:
    sql = f"select cluster, mean_pct from {HOURLY} where metric = 'GPU_UTIL' order by cluster"
    seen: list[tuple[bool, list]] = []

    def look(views: int) -> None:
        assert views == len(planned) > 0
        seen.append(((HOURLY,) in query_rows(few, KEPT), query_rows(few, sql)))

    for cluster, node in (("kalos", "172.31.0.1"), ("seren", "10.140.0.1")):
        text = CELLS.format(node).replace("3.0,", "4.0,")
        write(few.with_name("raw"), f"utilization/{cluster}/GPU_UTIL.csv", text)
    planned = materialized_views.plan(records.read_conversions(few))
    assert not database.ingest([few.with_name("raw")], few, [], quiet, on_ready=look).problems
    rows = [("kalos", 8 / 3), ("seren", 8 / 3)]
    assert seen == [(False, rows)]
    assert (HOURLY,) in query_rows(few, KEPT)
    assert query_rows(few, sql) == rows


def test_resumes_materialization_without_another_build(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(few / "stored")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(materialized_views, "compute_unit", interrupt)
        database.build(few)
    assert query_rows(few, KEPT) == []
    monkeypatch.setattr(database, "build_file", interrupt)
    assert ingest(few) == []
    assert (HOURLY,) in query_rows(few, KEPT)


def test_keeps_database_modified_during_materialization(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(few / "stored")
    compute_unit = materialized_views.compute_unit

    def write_first(*given: object) -> dict[str, str]:
        with duckdb.connect(str(few / database.NAME)) as connection:
            connection.execute("create table if not exists mine as select 42 as answer")
        return compute_unit(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(materialized_views, "compute_unit", write_first)
    [note] = database.build(few).notes
    assert "main.mine" in note
    [kept] = few.glob("traces-kept-*.duckdb")
    with duckdb.connect(str(kept), read_only=True) as connection:
        assert connection.execute("from mine").fetchall() == [(42,)]
    assert (HOURLY,) in query_rows(few, KEPT)
    assert query_rows(few, "select count(*) from duckdb_tables() where table_name = 'mine'") == [(0,)]


def test_view_whose_files_cannot_be_restored_is_computed(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    comments = (
        f"select column_name, comment from duckdb_columns() where table_name = '{HOURLY.split('.')[1]}'"
    )
    before = query_rows(few, comments)
    shutil.rmtree(few / "stored")
    monkeypatch.setattr(materialized_views, "LEAST_FREE_BYTES", 1 << 60)
    assert ingest(few) != []
    assert (HOURLY,) not in query_rows(few, KEPT)
    assert query_rows(few, f"from {HOURLY} order by all") == rows
    assert query_rows(few, comments) == before


KILLED = """
import os, signal, sys
from pathlib import Path
from tracehouse.engines.duckdb.write import database, materialized_views
from tracehouse.ingest.store import view_store
materialized_views.LEAST_ROWS = materialized_views.LEAST_FREE_BYTES = 0
step, warehouse = sys.argv[1], Path(sys.argv[2])
left = [2]
def killed(*given):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(*given)
module, name = {
    "written": (materialized_views, "stage"),
    "named": (view_store.files, "flush_folder"),
    "published": (database, "record_superseded"),
    "all materialized": (database, "update_views"),
    "marked": (database.freshness, "write_mark"),
    "built": (database, "record_superseded"),
}[step]
if step in ("marked", "published", "all materialized"):
    left = [1]
before = getattr(module, name)
setattr(module, name, killed)
database.ingest([warehouse.with_name("raw")], warehouse, [], lambda *_: None)
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of an uninterrupted ingest of changed raw files."""
    warehouse = tmp_path_factory.mktemp("uninterrupted") / "warehouse"
    for cluster, node in (("kalos", "172.31.0.1"), ("seren", "10.140.0.1")):
        text = CELLS.format(node).replace("3.0,", "4.0,")
        write(warehouse.with_name("raw"), f"utilization/{cluster}/GPU_UTIL.csv", text)
    ingest(warehouse)
    return warehouse


@pytest.mark.parametrize(
    "step",
    [
        "marked",
        "published",
        "written",
        *(pytest.param(step, marks=in_full) for step in ("named", "all materialized")),
        "built",
    ],
)
def test_kill_leaves_one_complete_version(step: str, few: Path, uninterrupted: Path) -> None:
    old = query_rows(few, f"from {HOURLY} order by all")
    new = query_rows(uninterrupted, f"from {HOURLY} order by all")
    shutil.copytree(uninterrupted.with_name("raw"), few.with_name("raw"), dirs_exist_ok=True)
    run = subprocess.run([sys.executable, "-c", KILLED, step, str(few)], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert query_rows(few, f"from {HOURLY} order by all") == (old if step == "marked" else new) != []
    assert ((HOURLY,) in query_rows(few, KEPT)) == (step in ("marked", "built"))
    kept = files(few)
    for path in kept:
        duckdb.sql(f"select count(*) from '{few / path}'").fetchall()
    assert ingest(few) == []
    assert query_rows(few, f"from {HOURLY} order by all") == new
    assert kept.items() <= files(few).items(), "finished files were computed again"
    assert not (few / ".ingest" / "staging").exists()
    database.vacuum(few, 0, 0)
    assert files(few).keys() == files(uninterrupted).keys()


VIEW = """-- A thing.
-- materialize: {form}
create or replace view itp.thing_v1 as
with few as (select jobid, user from {table}), fewer as (select user from few)
select few.jobid as one, fewer.user as two from few cross join fewer;
"""


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("parquet", [Storing("", ("one", "two"), False)]),
        ("parquet by two", [Storing("", ("two",), False)]),
        ("parquet per partition by two, one", [Storing("", ("two", "one"), True)]),
        (
            "parquet of few by user\n-- materialize: parquet of fewer",
            [Storing("few", ("user",), False), Storing("fewer", ("user",), False)],
        ),
    ],
)
def test_parses_header(form: str, expected: list[Storing]) -> None:
    view = parsed_view_file(Path("itp/thing.v1.sql"), VIEW.format(form=form, table="itp.job"))
    assert storings(view) == expected


@pytest.mark.parametrize(
    ("form", "table", "expected"),
    [
        ("csv", "itp.job", "write `parquet`"),
        ("parquet of many", "itp.job", "stores the CTE many, which it does not have"),
        ("parquet of few by two", "itp.job", "sorts by two, which is not a column"),
        ("parquet of few\n-- materialize: parquet", "itp.job", "the same part is stored twice"),
        ("parquet by three", "itp.job", "sorts by three, which is not a column"),
        ("parquet", "catalog.sources", "reads catalog.sources, which builds refill"),
    ],
)
def test_rejects_invalid_header(
    form: str, table: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = parsed_view_file(Path("itp/thing.v1.sql"), VIEW.format(form=form, table=table))
    monkeypatch.setattr(materialized_views, "view_files", lambda: [view])
    with pytest.raises(DefinitionError, match=expected):
        materialized_views.plan([])


def test_rejects_materialized_view_of_user(few: Path) -> None:
    path = few / "local" / "views" / "mine" / "thing.v1.sql"
    path.parent.mkdir(parents=True)
    path.write_text("-- materialize: parquet\ncreate or replace view mine.thing_v1 as select 1 as one;")
    [problem] = database.build(few).problems
    assert "only Tracehouse's own views can have a line `-- materialize:`" in problem.error
