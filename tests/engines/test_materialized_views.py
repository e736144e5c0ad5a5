"""Materialized views have the rows of computed views, and are computed again when an input changes."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import suites
from conftest import build_warehouse
from few_files import quiet
from non_empty import non_empty

from tracehouse.definitions import dependencies
from tracehouse.definitions.view_files import view_files
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.describe import describe
from tracehouse.engines.duckdb.write import build_info, database, materialized_views
from tracehouse.engines.duckdb.write.materialized_views import storage_rule
from tracehouse.engines.names import DATABASE
from tracehouse.ingest import memory
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import cleanup, integrity, layout, records
from tracehouse.ingest.store.snapshot import take

pytestmark = suites.of("long")

STORED = [view.versioned for view in view_files() if storage_rule(view)]
KEPT = "select versioned_name from catalog.views where stored"
HOURLY = "acme.utilization_hourly_v2"
MEANS = f"select cluster, mean_pct from {HOURLY} where metric = 'GPU_UTIL' order by cluster"
GPU_UTIL = "utilization/kalos/GPU_UTIL.csv"
# Metrics that views select.
METRICS = ("kalos/GPU_UTIL", "POWER_USAGE", "FB_USED", "XID_ERRORS", "kalos/NODE_CPU_UTILIZATION")
CELLS = "Time,{0}-0,{0}-1\n2023-07-01 00:00:00+08:00,1.5,2.5\n2023-07-01 00:00:15+08:00,3.0,\n"
KALOS, SEREN = CELLS.format("172.31.0.1"), CELLS.format("10.140.0.1")


@pytest.fixture(scope="module", autouse=True)
def materialize_small_views() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(materialized_views, "LEAST_ROWS", 0)
        patched.setattr(materialized_views, "LEAST_FREE_BYTES", 0)
        yield


@pytest.fixture(scope="module")
def few_built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two partitions of one table, raw and in a warehouse."""
    folder = tmp_path_factory.mktemp("few")
    write(folder / "raw", GPU_UTIL, KALOS)
    write(folder / "raw", "utilization/seren/GPU_UTIL.csv", SEREN)
    build_warehouse(folder / "raw", folder / "warehouse")
    return folder


@pytest.fixture
def few(few_built: Path, tmp_path: Path) -> Path:
    """A copy of the warehouse, next to its raw files."""
    shutil.copytree(few_built, tmp_path, dirs_exist_ok=True)
    warehouse = tmp_path / "warehouse"
    # The place is one of the inputs. A build would take seconds.
    inputs = build_info.hash_inputs(records.read_conversions(warehouse), warehouse)
    info = replace(build_info.read(warehouse), input_hash=inputs)
    build_info.write(warehouse, info, warehouse / DATABASE)
    return warehouse


def write(raw: Path, name: str, text: str) -> None:
    (raw / name).parent.mkdir(parents=True, exist_ok=True)
    (raw / name).write_text(text, encoding="utf-8")


def change_kalos(warehouse: Path, value: float = 4.0) -> None:
    write(warehouse.with_name("raw"), GPU_UTIL, KALOS.replace("3.0,", f"{value},"))


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
    return {path.relative_to(warehouse).as_posix(): path.stat().st_mtime_ns for path in found}


def of_hourly(paths: object) -> list[str]:
    return sorted(path for path in paths if HOURLY.split(".")[1] in path)  # type: ignore[attr-defined]


def test_materialized_rows_equal_computed_rows(fixture_warehouse: Path, tmp_path: Path) -> None:
    """Each view has rows, in the order of its header, and the same comments."""
    warehouse = Path(shutil.copytree(fixture_warehouse, tmp_path / "warehouse"))
    # All partitions of a telemetry table are computed alike.
    records.publish(
        warehouse,
        [
            conversion
            for conversion in records.read_conversions(warehouse)
            if conversion.table not in ("gpu_metric", "node_metric")
            or any(metric in conversion.sources[0].file for metric in METRICS)
        ],
    )
    assert database.build(warehouse, materialize=False).notes == []
    computed = (warehouse / DATABASE).rename(tmp_path / "computed.duckdb")
    assert database.build(warehouse).notes == []
    planned = materialized_views.plan(records.read_conversions(warehouse))
    assert sorted(planned) == sorted(STORED)
    columns = """
        select column_name, data_type, comment from duckdb_columns()
        where database_name = $side and schema_name || '.' || table_name = $name order by column_index
        """
    problems = []
    with duckdb.connect() as connection:
        connection.execute(f"attach '{computed}' as computed (read_only)")
        connection.execute(f"attach '{warehouse / DATABASE}' as stored (read_only); use computed")
        for name, of_view in non_empty(planned.items()):
            described = [
                connection.execute(columns, {"side": side, "name": name}).fetchall()
                for side in ("stored", "computed")
            ]
            rows = [f"(from stored.{name})", f"(from computed.{name})"]
            differing = [
                connection.execute(f"{one} except all {other} limit 1").fetchall()
                for one, other in (rows, reversed(rows))
            ]
            count = connection.execute(f"select count(*) from {rows[0]}").fetchall()[0][0]
            in_order = all(_is_in_order(warehouse / one.path, one.order) for one in of_view)
            if differing != [[], []] or described[0] != described[1] or not count or not in_order:
                problems.append((name, count, in_order, differing, described[0] == described[1]))
    assert problems == []


def _is_in_order(file: Path, columns: Sequence[str]) -> bool:
    if not columns:
        return True
    listed = ", ".join(f'"{column}"' for column in columns)
    sql = f"select {listed} from '{file}'"
    return duckdb.sql(sql).fetchall() == duckdb.sql(f"{sql} order by all").fetchall()


def test_catalog_describes_materialized_views(few: Path) -> None:
    [(at, size, paths, tables, sql)] = query_rows(
        few,
        f"""
        select stored_at, stored_bytes, stored_files, base_tables, sql
        from catalog.views where versioned_name = '{HOURLY}'
        """,
    )
    facts = [(few / path).stat() for path in paths]
    assert len(facts) == 2 and size == sum(fact.st_size for fact in facts)
    assert int(at.timestamp()) <= max(fact.st_mtime for fact in facts) < at.timestamp() + 1
    assert tables == ["acme.gpu_metric", "acme.node_metric"]
    assert "read_parquet" not in sql and "device_hours" in sql
    with sandbox.connect(few) as connection:
        assert (
            describe(connection, "acme.utilization_hourly")
            .facts["stored"]
            .startswith(f"since {at:%Y-%m-%d %H:%M} UTC, 0.0 MB in 2 files, computed from acme")
        )
        assert describe(connection, "acme.job").facts["stored"] == ""
    others = "select distinct stored_at, stored_bytes, stored_files from catalog.views where not stored"
    assert query_rows(few, others) == [(None, None, [])]


def test_small_views_are_not_materialized(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for least, is_stored in ((9, False), (8, True)):
        monkeypatch.setattr(materialized_views, "LEAST_ROWS", least)
        database.build(few)
        assert ((HOURLY,) in query_rows(few, KEPT)) == is_stored


def test_ingest_without_changes_computes_nothing(few: Path) -> None:
    before, built = files(few), (few / DATABASE).stat().st_ino
    assert before
    assert ingest(few) == []
    database.vacuum(few, 0, 0)
    assert (few / DATABASE).stat().st_ino == built
    database.build(few)
    assert files(few) == before
    assert (few / DATABASE).stat().st_ino != built, "build wrote no new database"


def test_publishes_base_tables_and_then_all_views(few: Path) -> None:
    seen: list[tuple[bool, list]] = []
    reported: list[tuple[str, int, int]] = []

    def look(result: IngestResult, views: int) -> None:
        assert views == len(planned) > 0
        assert {one.table_name for one in result.converted} == {"acme.gpu_metric"}
        seen.append(((HOURLY,) in query_rows(few, KEPT), query_rows(few, MEANS)))

    change_kalos(few)
    write(few.with_name("raw"), "utilization/seren/GPU_UTIL.csv", SEREN.replace("3.0,", "4.0,"))
    planned = materialized_views.plan(records.read_conversions(few))
    outcome = database.ingest(
        [few.with_name("raw")], few, [], lambda *more: reported.append(more), on_published=look
    )
    assert not outcome.problems
    rows = [("kalos", 8 / 3), ("seren", 8 / 3)]
    assert seen == [(False, rows)]
    assert (HOURLY,) in query_rows(few, KEPT)
    assert query_rows(few, MEANS) == rows
    assert [label for label, *_ in reported].count("building the database") == 2
    of_views = [more for label, more, _ in reported if label == "materialized views"]
    [total] = {total for label, _, total in reported if label == "materialized views"}
    assert of_views[0] == 0 and sum(of_views) == total > 0


def test_what_others_change_between_two_publications_is_not_published(few: Path) -> None:
    def change(result: IngestResult, views: int) -> None:
        with duckdb.connect(str(few / DATABASE)) as connection:
            connection.execute("create table openb.own as select 1 as one")

    change_kalos(few)
    database.ingest([few.with_name("raw")], few, [], lambda *_: None, on_published=change)
    assert (HOURLY,) in query_rows(few, KEPT)
    assert query_rows(few, "from duckdb_tables() where table_name = 'own'") == []


def test_view_whose_files_vanish_between_two_publications_is_computed(few: Path) -> None:
    first, *_, last = [name for (name,) in query_rows(few, KEPT)]

    def remove(name: str) -> None:
        for path in non_empty(list((few / "stored" / name.replace(".", "/")).iterdir())):
            path.unlink()

    remove(first)
    raw = [few.with_name("raw")]
    database.ingest(raw, few, [], lambda *_: None, on_published=lambda result, views: remove(last))
    kept = {name for (name,) in query_rows(few, KEPT)}
    assert first in kept and last not in kept
    assert len(query_rows(few, f"select count(*) from {last}")) == 1


def test_two_publications_give_the_database_of_one_build(few: Path) -> None:
    own = few / "local" / "views" / "mine" / "hourly.v1.sql"
    own.parent.mkdir(parents=True)
    own.write_text(f"create or replace view mine.hourly_v1 as select * from {HOURLY};\n", encoding="utf-8")
    change_kalos(few)
    missing: list[int] = []
    database.ingest(
        [few.with_name("raw")], few, [], quiet, on_published=lambda _, views: missing.append(views)
    )
    assert missing > [0] and (HOURLY,) in query_rows(few, KEPT) and query_rows(few, "from mine.hourly")
    found = list_contents(few)
    built = (few / DATABASE).stat().st_ino
    assert not database.build(few).notes
    assert (few / DATABASE).stat().st_ino != built
    assert list_contents(few) == found


def list_contents(warehouse: Path) -> dict[str, list[tuple]]:
    """Return the rows of the catalog, and the definition and comment of each object and column."""
    described = {
        "duckdb_schemas()": "schema_name, comment",
        "duckdb_tables()": "schema_name, table_name, comment, sql",
        "duckdb_views()": "schema_name, view_name, comment, sql",
        "duckdb_columns()": "schema_name, table_name, column_index, column_name, data_type, comment",
        "duckdb_functions()": "schema_name, function_name, parameters, comment, macro_definition",
    }
    with duckdb.connect(str(warehouse / DATABASE), read_only=True) as connection:
        tables = connection.execute(
            "select table_name from duckdb_tables() where schema_name = 'catalog'"
        ).fetchall()
        selects = {
            name: f"select {columns} from {name} where not internal" for name, columns in described.items()
        }
        selects |= {name: f"from catalog.{name}" for (name,) in non_empty(tables)}
        return {name: connection.execute(f"{sql} order by all").fetchall() for name, sql in selects.items()}


def test_computes_only_changed_and_added_partitions(few: Path) -> None:
    before = files(few)
    assert query_rows(few, MEANS) == [("kalos", 7 / 3), ("seren", 7 / 3)]
    change_kalos(few)
    assert ingest(few) == []
    assert query_rows(few, MEANS) == [("kalos", 8 / 3), ("seren", 7 / 3)]
    assert before.items() <= files(few).items(), "superseded files were deleted"
    [made] = of_hourly(files(few).keys() - before.keys())
    listed = f"select stored_files from catalog.views where versioned_name = '{HOURLY}'"
    assert made in query_rows(few, listed)[0][0]
    before = files(few)
    write(few.with_name("raw"), "utilization/kalos/SM_ACTIVE.csv", KALOS)
    ingest(few)
    assert len(of_hourly(files(few).keys() - before.keys())) == 1
    assert query_rows(few, f"select count(*) from {HOURLY}") == [(3,)]


def test_computes_a_view_and_the_views_above_it_when_its_sql_changes(
    few: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower, above = "acme.telemetry_time_v1", "acme.telemetry_coverage_v1"
    before = materialized_views.plan(records.read_conversions(few))
    monkeypatch.setattr(
        materialized_views,
        "read_built_views",
        lambda: [replace(v, sha256="0" * 64) if v.versioned == lower else v for v in view_files()],
    )
    after = materialized_views.plan(records.read_conversions(few))
    changed = {name for name in before if before[name] != after[name]}
    assert {lower, above} <= changed and HOURLY not in changed


def test_keeps_the_kind_of_database_until_build(few: Path) -> None:
    database.build(few, materialize=False)
    record = layout.build_info_file(few)
    for name in ("materialize", "with_views"):
        # Tracehouse 1.0 has the second name.
        text = record.read_text(encoding="utf-8").replace('"materialize"', f'"{name}"')
        record.write_text(text, encoding="utf-8")
        assert query_rows(few, KEPT) == []
        assert ingest(few) == []
        database.vacuum(few, 0, 0)
    assert files(few) == {}, "files of views remain"
    database.build(few)
    assert (HOURLY,) in query_rows(few, KEPT)
    assert ingest(few, materialize=False) == []
    assert query_rows(few, KEPT) == []


def test_database_with_tables_reads_no_file(few: Path) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    database.build(few, embed_tables=True)
    shutil.rmtree(few / "stored")
    shutil.rmtree(few / "parquet")
    assert query_rows(few, f"from {HOURLY} order by all") == rows != []
    assert query_rows(few, KEPT) == []


def test_moved_warehouse_answers(few: Path) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    moved = few.rename(few.with_name("moved"))
    assert query_rows(moved, f"from {HOURLY} order by all") == rows != []
    with duckdb.connect(str(moved / DATABASE), read_only=True) as connection:
        connection.execute("set variable data_root = '/nowhere'")
        with pytest.raises(duckdb.IOException, match="No files found"):
            connection.execute(f"from {HOURLY}")
        connection.execute(f"set variable data_root = '{moved}'")
        assert connection.execute(f"from {HOURLY} order by all").fetchall() == rows


def test_vacuum_removes_superseded_files(few: Path) -> None:
    before = files(few)
    change_kalos(few)
    ingest(few)
    planned = materialized_views.plan(records.read_conversions(few))
    needed = {file.path for files_of_view in planned.values() for file in files_of_view}
    for days, versions in ((7, 3), (0, 3)):
        assert database.vacuum(few, days, versions)[0] == []
    removed = {file.path for file in database.vacuum(few, 0, 0)[0] if file.path.startswith("stored/")}
    assert before.keys() - needed <= removed
    assert files(few).keys() >= needed and files(few).keys().isdisjoint(removed)
    assert database.vacuum(few, 0, 0)[0] == [] and ingest(few) == []


def test_keeps_reused_file_after_kill_before_it_is_recorded(
    few: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    first = files(few).keys()
    monkeypatch.setattr(cleanup, "KEEP_SUPERSEDED_VERSIONS", 1)
    for value in (4, 5):
        change_kalos(few, value)
        ingest(few)
    with monkeypatch.context() as killed:
        killed.setattr(database, "record_superseded", lambda *_: None)
        change_kalos(few, 3.0)
        ingest(few)
    noted = records.read(few)
    assert {old.path for old in noted.superseded} & first, "the list must be older than the kill"
    long_ago = tuple(replace(old, since="2020-01-01T00:00:00+00:00") for old in noted.superseded)
    records.write(few, replace(noted, superseded=long_ago))
    ingest(few)
    assert first <= files(few).keys()
    assert query_rows(few, f"from {HOURLY} order by all") == rows


def remove_file(few: Path) -> None:
    (few / of_hourly(files(few))[0]).unlink()


def truncate_file(few: Path) -> None:
    path = few / of_hourly(files(few))[0]
    path.write_bytes(path.read_bytes()[:-9])


def copy_file_of_another_view(few: Path) -> None:
    other = next(path for path in files(few) if path not in of_hourly(files(few)))
    shutil.copyfile(few / other, few / of_hourly(files(few))[0])


def remove_checksum(few: Path) -> None:
    # A kill between the writes of a file and its checksum leaves this state.
    (few / of_hourly(files(few))[0]).with_suffix(".sha256").unlink()


def test_computes_unusable_files_again(few: Path) -> None:
    rows = query_rows(few, f"from {HOURLY} order by all")
    for damage in (remove_file, truncate_file, copy_file_of_another_view, remove_checksum):
        damage(few)
        assert ingest(few) == []
        assert query_rows(few, f"from {HOURLY} order by all") == rows, damage
        for path in of_hourly(files(few)):
            checked = ["sha256sum", "--check", f"{Path(path).stem}.sha256"]
            subprocess.run(checked, cwd=(few / path).parent, check=True, capture_output=True)


def test_recomputes_views_of_a_damaged_file(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The views were computed from a wrong base file, which an ingest restores from its raw file."""
    right = query_rows(few, MEANS)
    [kalos] = [one for one in records.read_conversions(few) if "kalos" in one.sources[0].file]
    base = few / kalos.files[0].path
    saved = base.read_bytes()
    for forget in (False, True):
        rows = pq.read_table(base)
        column = rows.column_names.index("value")
        pq.write_table(rows.set_column(column, "value", pc.add(rows["value"], 1.0)), base)
        shutil.rmtree(few / "stored")
        with monkeypatch.context() as patched:
            patched.setattr(integrity, "check_sizes", lambda *_: None)
            database.build(few)
        assert query_rows(few, MEANS) != right
        if forget:
            database.forget(few, [GPU_UTIL])
            database.vacuum(few, 0, 0)
        else:
            base.unlink()
        ingest(few)
        assert query_rows(few, MEANS) == right
        assert base.read_bytes() == saved
        assert integrity.check(few, [], quiet).damages == ()


def test_view_that_would_fill_disk_is_computed(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = f"select column_name, comment from duckdb_columns() where table_name = '{HOURLY.split('.')[1]}'"
    rows, comments = query_rows(few, f"from {HOURLY} order by all"), query_rows(few, columns)
    shutil.rmtree(few / "stored")
    with monkeypatch.context() as patched:
        patched.setattr(materialized_views, "LEAST_FREE_BYTES", 1 << 60)
        notes = ingest(few)
    assert len(notes) > 5
    assert all(
        " is not materialized, so that each query computes it: it would fill" in note for note in notes
    )
    assert files(few) == {}
    assert query_rows(few, f"from {HOURLY} order by all") == rows
    assert query_rows(few, columns) == comments
    assert ingest(few) == [], "the views were not computed"
    assert (HOURLY,) in query_rows(few, KEPT)


def test_check_reports_damage_with_advice(few: Path) -> None:
    one, other = (few / path for path in of_hourly(files(few)))
    content = bytearray(one.read_bytes())
    content[20] ^= 1
    one.write_bytes(content)
    other.unlink()
    damages = {damage.path: damage for damage in integrity.check(few, [], quiet).damages}
    assert set(damages) == {str(path.relative_to(few)) for path in (one, other)}
    assert all("run `traces build`" in damage.advice for damage in damages.values())
    one.unlink()
    database.build(few)
    assert integrity.check(few, [], quiet).damages == ()


KILLED = """
import os, signal, sys
from pathlib import Path
from tracehouse.engines.duckdb.write import build_info, database, materialized_views
from tracehouse.ingest.store import view_store

materialized_views.LEAST_ROWS = materialized_views.LEAST_FREE_BYTES = 0
step, warehouse = sys.argv[1], Path(sys.argv[2])
module, name, calls = {
    "first database recorded": (build_info, "write", 1),
    "first database in place": (database, "record_superseded", 1),
    "view written": (materialized_views, "stage", 2),
    "view named": (view_store.files, "flush_folder", 2),
    "second database recorded": (build_info, "write", 2),
    "second database in place": (database, "record_superseded", 2),
}[step]
def killed(*given):
    global calls
    calls -= 1
    if not calls:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(*given)
before = getattr(module, name)
setattr(module, name, killed)
database.ingest([warehouse.with_name("raw")], warehouse, [], lambda *_: None)
"""


def test_kill_leaves_one_complete_version(few_built: Path, tmp_path: Path) -> None:
    old = [("kalos", 7 / 3), ("seren", 7 / 3)]
    new = [("kalos", 8 / 3), ("seren", 7 / 3)]
    steps = [
        ("first database recorded", old, True),
        ("view written", new, False),
        ("first database in place", new, False),
        ("second database recorded", new, False),
        ("second database in place", new, True),
    ]
    for step, rows, is_stored in non_empty(steps if "hostile" in suites.REQUESTED else steps[:2]):
        few = tmp_path / step / "warehouse"
        shutil.copytree(few_built, few.parent)
        ingest(few)
        change_kalos(few)
        run = subprocess.run(
            [sys.executable, "-c", KILLED, step, str(few)], capture_output=True, encoding="utf-8"
        )
        assert run.returncode == -signal.SIGKILL, run.stderr
        assert query_rows(few, MEANS) == rows, step
        assert ((HOURLY,) in query_rows(few, KEPT)) == is_stored, step
        kept = files(few)
        assert ingest(few) == []
        assert query_rows(few, MEANS) == new, step
        assert (HOURLY,) in query_rows(few, KEPT), step
        assert kept.items() <= files(few).items(), "finished files were computed again"
        assert not (few / ".ingest" / "staging").exists()


def test_full_disk_leaves_no_partial_file(few: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        warehouse = Path(shutil.copytree(few, disk / "warehouse"))
        shutil.rmtree(warehouse / "stored")
        (warehouse / "filling").write_bytes(bytes(shutil.disk_usage(disk).free - (12 << 10)))
        conversions = records.read_conversions(warehouse)
        planned = materialized_views.plan(conversions)
        failures = materialized_views.materialize(take(warehouse, conversions, "", planned), quiet)
        assert failures.keys() == take(warehouse, conversions, "", planned).missing.keys()
        assert any("No space left on device" in reason for reason in failures.values())
        assert list((warehouse / ".ingest" / "staging").rglob("*.parquet")) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(("machine_gb", "views_gb"), [(1, 0.5), (6, 1.1), (12, 2.6), (24, 3.6), (500, 3.6)])
def test_views_take_a_quarter_of_the_memory_at_most(machine_gb: int, views_gb: float) -> None:
    assert memory.share_of(machine_gb * 1e9) == round(views_gb * 1e9)


def test_rules_name_columns_and_read_no_catalog_table_that_builds_refill() -> None:
    views = {view.versioned: view for view in view_files()}
    reads = {name: view.references for name, view in views.items()}
    with_line = [view for view in views.values() if view.header.one("materialize")]
    assert [view.versioned for view in with_line] == STORED, "write `parquet by column, column`"
    for view in non_empty(with_line):
        rule = storage_rule(view)
        assert rule and set(rule.order) <= set(view.tree.expression.named_selects), view.versioned
        refilled = {
            name for name in dependencies.sources([view.versioned], reads) if name.startswith("catalog.")
        }
        assert refilled <= {"catalog.clocks"}, view.versioned
    unsorted = storage_rule(views["pai.sensed_worker_v1"])
    assert unsorted and unsorted.order == ()
    hourly = storage_rule(views[HOURLY])
    assert hourly and hourly.per_partition and hourly.order[0] in ("cluster", "metric")
