import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from few_files import quiet

from tracehouse.core.errors import UsageError, UserError
from tracehouse.ingest import pipeline
from tracehouse.ingest.store import artifacts, integrity, manifest
from tracehouse.ingest.store.artifacts import StagedFile
from tracehouse.ingest.store.manifest import Conversion, PassedOver, Source, StoredFile

NODE = "sn,cpu_milli,memory_mib,gpu,model\n"
POWER = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"


def ingest(folder: Path, files: dict[str, str]) -> pipeline.IngestResult:
    """All of an ingest but the database, from files that are written first."""
    raw, warehouse = folder / "raw", folder / "warehouse"
    raw.mkdir(exist_ok=True)
    for name, text in files.items():
        (raw / name).write_text(text)
    with artifacts.lock(warehouse):
        artifacts.clean(warehouse)
        outcome = pipeline.ingest([raw], warehouse, [], quiet)
        artifacts.publish(warehouse, outcome.conversions)
    return outcome


def parquet_files(folder: Path) -> set[str]:
    warehouse = folder / "warehouse"
    return {path.relative_to(warehouse).as_posix() for path in warehouse.rglob("*.parquet")}


def half_file(warehouse: Path, content: bytes, rows: int = 1) -> StagedFile:
    half = artifacts.staging(warehouse) / "rows.parquet"
    half.write_bytes(content)
    return artifacts.staged(half, rows)


def conversion_of(*files: StoredFile) -> Conversion:
    source = Source("x.csv", "x.csv", "0" * 64, 10, 1, 3, 2, 1, 2, "none published", False)
    return Conversion("openb", "node", "", "x.csv", "f" * 64, "0" * 64, (source,), files)


def kept(warehouse: Path, content: bytes, source: str = "x.csv") -> Conversion:
    """A conversion of one file, that is in the store and in the journal."""
    half = half_file(warehouse, content)
    conversion = replace(conversion_of(artifacts.named("openb/node", half)), source=source)
    artifacts.finalize(warehouse, conversion, [half])
    return conversion


def in_store(warehouse: Path) -> set[str]:
    return {path.relative_to(warehouse).as_posix() for path in warehouse.rglob("*.parquet")}


def paths_of(*conversions: Conversion) -> set[str]:
    return {stored.path for conversion in conversions for stored in conversion.all_files}


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    stored = artifacts.named("openb/node", half_file(tmp_path, b"content", 3))
    sha256 = hashlib.sha256(b"content").hexdigest()
    assert stored == StoredFile(f"parquet/openb/node/{sha256[:16]}.parquet", 7, sha256, 3)
    (kept_file,) = kept(tmp_path, b"content").files
    assert kept_file.path == stored.path
    assert (tmp_path / stored.path).read_bytes() == b"content"
    assert not (artifacts.staging(tmp_path) / "rows.parquet").exists()
    assert kept(tmp_path, b"content").files == (kept_file,)


def test_the_journal_and_the_manifest_give_back_what_they_were_given(tmp_path: Path) -> None:
    conversion = kept(tmp_path, b"content")
    in_partition = replace(
        conversion,
        partition="day=1/list=a",
        files=(),
        rejected=conversion.files,
        passed_over=(PassedOver("y.csv", "1" * 64),),
    )
    assert artifacts.published(tmp_path) == []
    artifacts.finalize(tmp_path, in_partition, [half_file(tmp_path, b"content")])
    assert sorted(artifacts.finished(tmp_path), key=lambda one: one.key) == [conversion, in_partition]
    artifacts.publish(tmp_path, [in_partition, conversion])
    assert artifacts.finished(tmp_path) == []
    assert artifacts.published(tmp_path) == [conversion, in_partition]


def test_what_a_kill_leaves_of_a_manifest_is_not_read(tmp_path: Path) -> None:
    conversion = kept(tmp_path, b"1")
    artifacts.publish(tmp_path, [conversion])
    (tmp_path / "datapackage.json.half").write_text('{"conversions": [')
    kept(tmp_path, b"1")
    (tmp_path / ".ingest" / "finished" / "openb.pod.json.half").write_text("{")
    assert artifacts.published(tmp_path) == artifacts.finished(tmp_path) == [conversion]


DAMAGED = ['{"trace": "openb"', '{"trace": "openb"}', "[]", "null", "\udcff", "", "[" * 100_000]


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_manifest_is_named_with_what_to_do_and_nothing_is_removed(
    damaged: str, tmp_path: Path
) -> None:
    artifacts.publish(tmp_path, [kept(tmp_path, b"1")])
    before = in_store(tmp_path)
    (tmp_path / "datapackage.json").write_bytes(damaged.encode(errors="surrogateescape"))
    for use in (artifacts.published, artifacts.clean, artifacts.unlisted):
        with pytest.raises(UserError, match="`traces build --recover` makes a new one") as raised:
            use(tmp_path)
        assert str(raised.value).startswith(f"{tmp_path / 'datapackage.json'}: ")
    assert in_store(tmp_path) == before


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_journal_costs_only_what_it_told_of(damaged: str, tmp_path: Path) -> None:
    kept(tmp_path, b"1")
    (journal,) = (tmp_path / ".ingest" / "finished").glob("*.json")
    whole = kept(tmp_path, b"2", "y.csv")
    journal.write_bytes(damaged.encode(errors="surrogateescape"))
    assert artifacts.finished(tmp_path) == [whole]
    artifacts.clean(tmp_path)
    assert artifacts.finished(tmp_path) == [whole]
    assert not journal.exists()


@pytest.mark.parametrize("missing", [0, 1])
def test_a_conversion_that_a_kill_left_without_a_file_is_not_finished(missing: int, tmp_path: Path) -> None:
    halves = [half_file(tmp_path, b"1"), half_file(tmp_path / "other", b"2")]
    conversion = conversion_of(*(artifacts.named("openb/node", half) for half in halves))
    artifacts.finalize(tmp_path, conversion, halves)
    assert artifacts.finished(tmp_path) == [conversion]
    (tmp_path / conversion.files[missing].path).unlink()
    assert artifacts.finished(tmp_path) == []
    artifacts.clean(tmp_path)
    assert in_store(tmp_path) == set()


def test_cleaning_removes_what_was_half_done_and_nothing_else(tmp_path: Path) -> None:
    published = kept(tmp_path, b"1")
    artifacts.publish(tmp_path, [published])
    finished = kept(tmp_path, b"2")
    unknown = tmp_path / "parquet" / "openb" / "node" / f"{'a' * 16}.parquet"
    unknown.write_bytes(b"3")
    half_file(tmp_path, b"half")
    artifacts.clean(tmp_path)
    assert in_store(tmp_path) == paths_of(published, finished) | {unknown.relative_to(tmp_path).as_posix()}
    assert artifacts.unlisted(tmp_path) == [unknown.relative_to(tmp_path).as_posix()]
    # What is finished once more, before it was published, leaves no file behind.
    again = kept(tmp_path, b"4")
    assert in_store(tmp_path) == paths_of(published, again) | {unknown.relative_to(tmp_path).as_posix()}


def test_cleaning_leaves_what_is_not_ours(tmp_path: Path) -> None:
    # Somebody names a folder as warehouse that has Parquet of its own.
    mine = tmp_path / "parquet" / "mine" / "results.parquet"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"my work")
    artifacts.clean(tmp_path)
    artifacts.check_manifest_is_there(tmp_path)
    assert mine.read_bytes() == b"my work"


def test_superseded_files_stay_for_a_time_and_for_some_versions(tmp_path: Path) -> None:
    versions = [kept(tmp_path, b"%d" % number) for number in range(1)]
    artifacts.publish(tmp_path, versions)
    for number in range(1, 6):
        versions.append(kept(tmp_path, b"%d" % number))
        artifacts.publish(tmp_path, versions[-1:])
    artifacts.clean(tmp_path)
    assert in_store(tmp_path) == paths_of(*versions)
    assert artifacts.vacuum(tmp_path, 1, 0) == []

    # Their age alone takes no file of the last versions.
    now = manifest.read(tmp_path)
    old = tuple(replace(file, since="2020-01-01T00:00:00+00:00") for file in now.superseded)
    manifest.write(tmp_path, replace(now, superseded=old))
    artifacts.clean(tmp_path)
    assert in_store(tmp_path) == paths_of(*versions[2:])
    assert manifest.read(tmp_path).version == 6
    gone = artifacts.vacuum(tmp_path, 0, 0)
    assert {file.path for file in gone} == paths_of(*versions[2:5])
    assert in_store(tmp_path) == paths_of(versions[5])
    assert manifest.read(tmp_path).superseded == ()

    # One that comes back is not superseded any more.
    artifacts.publish(tmp_path, [kept(tmp_path, b"0")])
    artifacts.publish(tmp_path, [kept(tmp_path, b"5")])
    artifacts.publish(tmp_path, [kept(tmp_path, b"0")])
    assert [file.path for file in manifest.read(tmp_path).superseded] == [*paths_of(versions[5])]


def test_what_has_not_changed_is_no_new_version(tmp_path: Path) -> None:
    conversion = kept(tmp_path, b"1")
    artifacts.publish(tmp_path, [conversion])
    before = (tmp_path / "datapackage.json").read_bytes()
    artifacts.publish(tmp_path, [conversion])
    assert (tmp_path / "datapackage.json").read_bytes() == before


def test_a_lost_manifest_stops_everything_but_its_recovery(tmp_path: Path) -> None:
    files = {
        "openb_node_list_all_node.csv": NODE + "n1,1,2,0,\n" * 9 + "n2,x,2,0,\n",
        "summary_power_a40.csv": POWER + "d,n,8,adam,100,1.5,90.5\n",
    }
    published = ingest(tmp_path, files).conversions
    warehouse = tmp_path / "warehouse"
    everything = parquet_files(tmp_path)
    (tmp_path / "raw" / "summary_power_a40.csv").unlink()
    (warehouse / "datapackage.json").unlink()
    with pytest.raises(UserError, match=r"json: it is gone, but there are records of 2 raw files"):
        ingest(tmp_path, {})
    assert parquet_files(tmp_path) == everything

    assert integrity.recover(warehouse, quiet) == []
    assert artifacts.published(warehouse) == sorted(published, key=lambda one: one.key)
    with pytest.raises(UsageError, match="nothing to recover"):
        integrity.recover(warehouse, quiet)


def test_recovery_leaves_out_what_is_damaged_and_says_so(tmp_path: Path) -> None:
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
    assert [note.partition(" as they are")[0] for note in notes] == [
        f"{damaged}: its content is not what was written",
        "openb_node_list_all_node.csv is left out of openb.node: ingest it again",
        f"{warehouse / 'datapackage.json.damaged'}: what was there before",
        "2 Parquet files are in no record that was taken up, and stay",
    ]
    assert (warehouse / "datapackage.json.damaged").read_text() == "{"
    assert [conversion.table for conversion in artifacts.published(warehouse)] == ["power"]


def test_recovery_without_records_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there are no records of conversions"):
        integrity.recover(tmp_path, quiet)
    assert list(tmp_path.iterdir()) == []


def test_the_data_package_lists_every_output_and_every_input(tmp_path: Path) -> None:
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
    assert {resource["path"] for resource in resources.values()} == parquet_files(tmp_path)
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
from tracehouse.ingest.store import artifacts
with artifacts.lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_there_is_one_writer_at_a_time(killed: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with (
            pytest.raises(UserError, match="another ingest or build is writing here"),
            artifacts.lock(tmp_path),
        ):
            pass
        if killed:
            other.kill()
    with artifacts.lock(tmp_path):
        pass
