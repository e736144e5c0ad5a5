import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from few_files import quiet

from tracehouse.core.errors import UsageError, UserError
from tracehouse.ingest import pipeline
from tracehouse.ingest.store import (
    cleanup,
    files,
    integrity,
    journal,
    layout,
    lock,
    manifest,
    seen,
    view_store,
)
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.manifest import Conversion, SkippedCopy, Source, StoredFile, Superseded

NODE = "sn,cpu_milli,memory_mib,gpu,model\n"
POWER = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"


def ingest(folder: Path, files: dict[str, str]) -> pipeline.IngestResult:
    """Write raw files and ingest them without building a database."""
    raw, warehouse = folder / "raw", folder / "warehouse"
    raw.mkdir(exist_ok=True)
    for name, text in files.items():
        (raw / name).write_text(text)
    with lock.acquire(warehouse):
        cleanup.remove_leftovers(warehouse)
        outcome = pipeline.convert([raw], warehouse, [], quiet)
        journal.publish(warehouse, outcome.conversions)
    return outcome


def stage_file(warehouse: Path, content: bytes, rows: int = 1) -> StagedFile:
    half = layout.staging_folder(warehouse) / "rows.parquet"
    half.write_bytes(content)
    return files.stage(half, rows)


def conversion_of(*files: StoredFile) -> Conversion:
    source = Source("x.csv", "x.csv", "0" * 64, 10, 1, 3, 2, 1, 2, "none published", False)
    return Conversion("openb", "node", "", "x.csv", "f" * 64, "0" * 64, (source,), files)


def add(warehouse: Path, content: bytes, source: str = "x.csv") -> Conversion:
    """Add a conversion of one file to the store and to the journal."""
    half = stage_file(warehouse, content)
    conversion = replace(conversion_of(manifest.describe_file("openb/node", half)), source=source)
    journal.add(warehouse, conversion, [half])
    return conversion


def list_parquet(warehouse: Path) -> set[str]:
    return {path.relative_to(warehouse).as_posix() for path in warehouse.rglob("*.parquet")}


def list_paths(*conversions: Conversion) -> set[str]:
    return {stored.path for conversion in conversions for stored in conversion.all_files}


def test_names_file_by_its_content(tmp_path: Path) -> None:
    stored = manifest.describe_file("openb/node", stage_file(tmp_path, b"content", 3))
    sha256 = hashlib.sha256(b"content").hexdigest()
    assert stored == StoredFile(f"parquet/openb/node/{sha256[:16]}.parquet", 7, sha256, 3)
    (added,) = add(tmp_path, b"content").files
    assert added.path == stored.path
    assert (tmp_path / stored.path).read_bytes() == b"content"
    assert not (layout.staging_folder(tmp_path) / "rows.parquet").exists()
    assert add(tmp_path, b"content").files == (added,)


def test_journal_and_manifest_round_trip_conversions(tmp_path: Path) -> None:
    conversion = add(tmp_path, b"content")
    in_partition = replace(
        conversion,
        partition="day=1/list=a",
        files=(),
        rejected=conversion.files,
        skipped_copies=(SkippedCopy("y.csv", "1" * 64),),
    )
    assert manifest.read_conversions(tmp_path) == []
    journal.add(tmp_path, in_partition, [stage_file(tmp_path, b"content")])
    assert sorted(journal.read_finished(tmp_path), key=lambda one: one.key) == [conversion, in_partition]
    journal.publish(tmp_path, [in_partition, conversion])
    assert journal.read_finished(tmp_path) == []
    assert manifest.read_conversions(tmp_path) == [conversion, in_partition]


def test_ignores_half_written_manifest_and_journal(tmp_path: Path) -> None:
    conversion = add(tmp_path, b"1")
    journal.publish(tmp_path, [conversion])
    (tmp_path / "datapackage.json.half").write_text('{"conversions": [')
    add(tmp_path, b"1")
    (tmp_path / ".ingest" / "finished" / "openb.pod.json.half").write_text("{")
    assert manifest.read_conversions(tmp_path) == journal.read_finished(tmp_path) == [conversion]


DAMAGED = ['{"trace": "openb"', '{"trace": "openb"}', "[]", "null", "\udcff", "", "[" * 100_000]


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_manifest_is_an_error_with_advice_and_removes_nothing(damaged: str, tmp_path: Path) -> None:
    journal.publish(tmp_path, [add(tmp_path, b"1")])
    before = list_parquet(tmp_path)
    (tmp_path / "datapackage.json").write_bytes(damaged.encode(errors="surrogateescape"))
    for use in (manifest.read_conversions, cleanup.remove_leftovers, cleanup.list_unlisted):
        with pytest.raises(UserError, match="`traces build --recover` makes a new one") as raised:
            use(tmp_path)
        assert str(raised.value).startswith(f"{tmp_path / 'datapackage.json'}: ")
    assert list_parquet(tmp_path) == before


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_journal_entry_loses_only_its_conversion(damaged: str, tmp_path: Path) -> None:
    add(tmp_path, b"1")
    (entry,) = (tmp_path / ".ingest" / "finished").glob("*.json")
    whole = add(tmp_path, b"2", "y.csv")
    entry.write_bytes(damaged.encode(errors="surrogateescape"))
    assert journal.read_finished(tmp_path) == [whole]
    cleanup.remove_leftovers(tmp_path)
    assert journal.read_finished(tmp_path) == [whole]
    assert not entry.exists()


@pytest.mark.parametrize("missing", [0, 1])
def test_conversion_without_one_of_its_files_is_not_finished(missing: int, tmp_path: Path) -> None:
    halves = [stage_file(tmp_path, b"1"), stage_file(tmp_path / "other", b"2")]
    conversion = conversion_of(*(manifest.describe_file("openb/node", half) for half in halves))
    journal.add(tmp_path, conversion, halves)
    assert journal.read_finished(tmp_path) == [conversion]
    (tmp_path / conversion.files[missing].path).unlink()
    assert journal.read_finished(tmp_path) == []
    cleanup.remove_leftovers(tmp_path)
    assert list_parquet(tmp_path) == set()


def test_removes_only_unfinished_files(tmp_path: Path) -> None:
    published = add(tmp_path, b"1")
    journal.publish(tmp_path, [published])
    finished = add(tmp_path, b"2")
    unknown = tmp_path / "parquet" / "openb" / "node" / f"{'a' * 16}.parquet"
    unknown.write_bytes(b"3")
    stage_file(tmp_path, b"half")
    cleanup.remove_leftovers(tmp_path)
    name = unknown.relative_to(tmp_path).as_posix()
    assert list_parquet(tmp_path) == list_paths(published, finished) | {name}
    assert cleanup.list_unlisted(tmp_path) == [name]
    # A second version before the first was published leaves no file behind.
    again = add(tmp_path, b"4")
    assert list_parquet(tmp_path) == list_paths(published, again) | {name}


@pytest.mark.parametrize(
    "name",
    [
        "datapackage.json",
        "records/0123456789abcdef.json",
        ".ingest/finished/0123456789abcdef.json",
        "stored/acme/job_v1/0123456789abcdef.sha256",
    ],
)
def test_removes_partial_text_of_a_killed_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(files.os, "fsync", kill)
        files.write_atomically(tmp_path / name, "{}")
    mine = tmp_path / "mine.json.half"
    mine.touch()
    cleanup.remove_leftovers(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]


def test_keeps_foreign_files(tmp_path: Path) -> None:
    # A user may choose a folder that already contains Parquet files.
    mine = tmp_path / "parquet" / "mine" / "results.parquet"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"my work")
    cleanup.remove_leftovers(tmp_path)
    journal.check_manifest_exists(tmp_path)
    assert mine.read_bytes() == b"my work"


def test_keeps_superseded_files_for_days_and_versions(tmp_path: Path) -> None:
    versions = [add(tmp_path, b"%d" % number) for number in range(1)]
    journal.publish(tmp_path, versions)
    for number in range(1, 6):
        versions.append(add(tmp_path, b"%d" % number))
        journal.publish(tmp_path, versions[-1:])
    cleanup.remove_leftovers(tmp_path)
    assert list_parquet(tmp_path) == list_paths(*versions)
    assert cleanup.vacuum(tmp_path, 1, 0) == []

    # Files of the last versions stay regardless of their age.
    now = manifest.read(tmp_path)
    old = tuple(replace(file, since="2020-01-01T00:00:00+00:00") for file in now.superseded)
    manifest.write(tmp_path, replace(now, superseded=old))
    cleanup.remove_leftovers(tmp_path)
    assert list_parquet(tmp_path) == list_paths(*versions[2:])
    assert manifest.read(tmp_path).version == 6
    gone = cleanup.vacuum(tmp_path, 0, 0)
    assert {file.path for file in gone} == list_paths(*versions[2:5])
    assert list_parquet(tmp_path) == list_paths(versions[5])
    assert manifest.read(tmp_path).superseded == ()

    # A file that is used again is no longer superseded.
    journal.publish(tmp_path, [add(tmp_path, b"0")])
    journal.publish(tmp_path, [add(tmp_path, b"5")])
    journal.publish(tmp_path, [add(tmp_path, b"0")])
    assert [file.path for file in manifest.read(tmp_path).superseded] == [*list_paths(versions[5])]


def test_publishing_same_conversions_makes_no_new_version(tmp_path: Path) -> None:
    conversion = add(tmp_path, b"1")
    journal.publish(tmp_path, [conversion])
    before = (tmp_path / "datapackage.json").read_bytes()
    journal.publish(tmp_path, [conversion])
    assert (tmp_path / "datapackage.json").read_bytes() == before


def test_lost_manifest_stops_ingest_until_recovered(tmp_path: Path) -> None:
    files = {
        "openb_node_list_all_node.csv": NODE + "n1,1,2,0,\n" * 9 + "n2,x,2,0,\n",
        "summary_power_a40.csv": POWER + "d,n,8,adam,100,1.5,90.5\n",
    }
    published = ingest(tmp_path, files).conversions
    warehouse = tmp_path / "warehouse"
    everything = list_parquet(tmp_path / "warehouse")
    (tmp_path / "raw" / "summary_power_a40.csv").unlink()
    (warehouse / "datapackage.json").unlink()
    with pytest.raises(UserError, match=r"json: the manifest is missing, but 2 conversions are on record"):
        ingest(tmp_path, {})
    assert list_parquet(tmp_path / "warehouse") == everything

    assert integrity.recover(warehouse, quiet) == []
    assert manifest.read_conversions(warehouse) == sorted(published, key=lambda one: one.key)
    with pytest.raises(UsageError, match="nothing to recover"):
        integrity.recover(warehouse, quiet)


def test_recovery_reports_damaged_files_and_omits_them(tmp_path: Path) -> None:
    files = {
        "openb_node_list_all_node.csv": NODE + "n1,1,2,0,\n" * 9 + "n2,x,2,0,\n",
        "summary_power_a40.csv": POWER + "d,n,8,adam,100,1.5,90.5\n",
    }
    ingest(tmp_path, files)
    warehouse = tmp_path / "warehouse"
    (warehouse / "datapackage.json").write_text("{")
    (damaged,) = (warehouse / "parquet" / "openb" / "node").glob("*.parquet")
    content = bytearray(damaged.read_bytes())
    content[10] ^= 4
    damaged.write_bytes(content)
    notes = integrity.recover(warehouse, quiet)
    assert notes == [
        f"{damaged}: its content is not what was written",
        "openb.node lacks the rows of openb_node_list_all_node.csv: ingest it again",
        f"The damaged manifest is kept as {warehouse / 'datapackage.json.damaged'}",
        f"Kept 2 Parquet files that the manifest does not list: {cleanup.list_unlisted(warehouse)[0]}",
    ]
    assert (warehouse / "datapackage.json.damaged").read_text() == "{"
    assert [conversion.table for conversion in manifest.read_conversions(warehouse)] == ["power"]


def test_vacuum_after_recovery_removes_views_of_all_versions_before(tmp_path: Path) -> None:
    path = "stored/acme/job_v1/0123456789abcdef.parquet"
    files.write_atomically(tmp_path / path, "rows")
    view_store.write_superseded(tmp_path, [Superseded(path, 4, 9, "2020-01-01T00:00:00+00:00")])
    journal.publish(tmp_path, [add(tmp_path, b"1")])
    assert manifest.read(tmp_path).version == 1
    assert [old.path for old in cleanup.vacuum(tmp_path, 0, 0, [])] == [path]


def test_recovery_without_records_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there are no records to rebuild datapackage"):
        integrity.recover(tmp_path, quiet)
    assert list(tmp_path.iterdir()) == []


def test_data_package_lists_every_output_and_input(tmp_path: Path) -> None:
    ingest(
        tmp_path,
        {
            "openb_node_list_all_node.csv": NODE + "n1,1,2,0,\n" * 9 + "n2,x,2,0,\n",
            "openb_node_list_gpu_node.csv": NODE + "n1,1,2,0,T4\n",
            "summary_power_a40.csv": POWER + "d,n,8,adam,100,1.5,90.5\n",
        },
    )
    warehouse = tmp_path / "warehouse"
    package = json.loads((warehouse / "datapackage.json").read_text())
    assert package["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    resources = {resource["name"]: resource for resource in package["resources"]}
    assert sorted(resources) == [
        "openb.node.openb_node_list_all_node.csv",
        "openb.node.openb_node_list_all_node.csv.rejected",
        "openb.node.openb_node_list_gpu_node.csv",
        "zeus.power.summary_power_a40.csv",
    ]
    assert {resource["path"] for resource in resources.values()} == list_parquet(tmp_path / "warehouse")
    for resource in resources.values():
        data = (warehouse / resource["path"]).read_bytes()
        assert resource["bytes"] == len(data)
        assert resource["hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        stored = duckdb.connect().read_parquet(str(warehouse / resource["path"]))
        assert [field["name"] for field in resource["schema"]["fields"]] == stored.columns
        assert resource["rows"] == len(stored.fetchall())
        assert all(field["description"] for field in resource["schema"]["fields"])
    raw = {path.name: path.read_bytes() for path in (tmp_path / "raw").iterdir()}
    sources = {source["path"]: (source["bytes"], source["hash"]) for source in package["sources"]}
    assert sources == {
        name: (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") for name, data in raw.items()
    }
    assert len(package["licenses"]) == len(package["contributors"]) == 2


HOLD = """
import pathlib, sys
from tracehouse.ingest.store import cleanup, files, journal, layout, lock, manifest
with lock.acquire(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_allows_one_writer_at_a_time(killed: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with (
            pytest.raises(UserError, match="another ingest or build is writing here"),
            lock.acquire(tmp_path),
        ):
            pass
        if killed:
            other.kill()
    with lock.acquire(tmp_path):
        pass


def test_tables_of_one_file_remember_its_checksum_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "_SETTLED_S", -1)
    file = tmp_path / "raw.json"
    file.write_text("[]")
    stamp = seen.stamp([file])
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda _: seen.remember(tmp_path, [file], stamp, "abc"), range(200)):
            pass
    assert seen.recall(tmp_path, [file], stamp) == "abc"


def test_file_of_a_view_is_incomplete_if_arrow_cannot_decode_the_name_of_a_column(tmp_path: Path) -> None:
    path = "stored/a/b/0123456789abcdef.parquet"
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    rows = pa.table({"column": [1, 2]})
    pq.write_table(rows.replace_schema_metadata({view_store.PATH_IN_FOOTER: path}), file)
    view_store.checksum_file(file).touch()
    assert view_store.count_rows(tmp_path, path) == 2
    file.write_bytes(file.read_bytes().replace(b"column", b"colum\xe7"))
    assert view_store.count_rows(tmp_path, path) is None
