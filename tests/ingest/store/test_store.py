import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from few_files import ingest

from tracehouse.core.errors import UserError
from tracehouse.ingest.store import cleanup, files, layout, records, view_store
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.records import Conversion, Journal, Manifest, Source, StoredFile, Superseded

NODE = b"sn,cpu_milli,memory_mib,gpu,model\n"
POWER = b"dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"


def stage_file(warehouse: Path, content: bytes, rows: int = 1) -> StagedFile:
    half = layout.staging_folder(warehouse) / "rows.parquet"
    half.write_bytes(content)
    return files.stage(half, rows)


def conversion_of(*files: StoredFile) -> Conversion:
    source = Source("x.csv", "x.csv", "0" * 64, 10, 1, 3, 2, 1, 2, "none published", False)
    return Conversion("openb", "node", "", "x.csv", "f" * 64, "0" * 64, (source,), files)


def add(warehouse: Path, content: bytes, source: str = "x.csv") -> Conversion:
    """Add a conversion of one file to the store."""
    half = stage_file(warehouse, content)
    conversion = replace(conversion_of(records.describe_file("openb/node", half)), source=source)
    Journal(warehouse).add(conversion, [half])
    return conversion


def list_parquet(warehouse: Path) -> set[str]:
    return {path.relative_to(warehouse).as_posix() for path in warehouse.rglob("*.parquet")}


def list_paths(*conversions: Conversion) -> set[str]:
    return {stored.path for conversion in conversions for stored in conversion.all_files}


def test_records_and_manifest_round_trip_conversions(tmp_path: Path) -> None:
    conversion = add(tmp_path, b"content")
    in_partition = replace(
        conversion,
        partition="day=1/list=a",
        files=(),
        rejected=conversion.files,
    )
    assert records.read_conversions(tmp_path) == []
    Journal(tmp_path).add(in_partition, [stage_file(tmp_path, b"content")])
    assert sorted(records.read_finished(tmp_path), key=lambda one: one.key) == [conversion, in_partition]
    records.publish(tmp_path, [in_partition, conversion])
    assert records.read_finished(tmp_path) == []
    assert records.read_conversions(tmp_path) == [conversion, in_partition]
    # Every record is named by its content, and replaced ones are removed.
    records.publish(tmp_path, [replace(conversion, fingerprint="e" * 64)])
    (record,) = (tmp_path / "records").iterdir()
    assert record.name == f"{hashlib.sha256(record.read_bytes()).hexdigest()[:16]}.json"
    assert records.read_finished(tmp_path) == []


DAMAGED = ['{"trace": "openb"', '{"trace": "openb"}', "[]", "null", "\udcff", "", "[" * 100_000]


def test_damaged_manifest_or_record_is_an_error_with_advice_and_removes_nothing(tmp_path: Path) -> None:
    records.publish(tmp_path, [add(tmp_path, b"1")])
    before = list_parquet(tmp_path)
    (record,) = (tmp_path / "records").iterdir()
    for path in (tmp_path / "datapackage.json", record):
        intact = path.read_bytes()
        for damaged in (*DAMAGED, intact.decode().replace("openb", "openc")):
            path.write_bytes(damaged.encode(errors="surrogateescape"))
            for use in (records.read_conversions, cleanup.remove_leftovers):
                if path == record or "openc" not in damaged:
                    with pytest.raises(UserError, match="Restore it from a backup, or ingest the raw files"):
                        use(tmp_path)
        path.unlink()
        with pytest.raises(UserError, match="Restore it from a backup, or ingest the raw files"):
            cleanup.remove_leftovers(tmp_path)
        path.write_bytes(intact)
    assert list_parquet(tmp_path) == before


@pytest.mark.parametrize(
    "damage", [{"since": "2020-01-01T00:00:00"}, {"version": "1"}, {"bytes": None}, {"path": "../a.parquet"}]
)
def test_damaged_list_of_superseded_files_is_an_error_with_advice(
    damage: dict[str, Any], tmp_path: Path
) -> None:
    superseded = Superseded("parquet/openb/pod/0123456789abcdef.parquet", 1, 0, "2020-01-01T00:00:00+00:00")
    manifest = replace(Manifest(1), superseded=(replace(superseded, **damage),))
    records.write(tmp_path, manifest)
    with pytest.raises(UserError, match="Restore it from a backup, or ingest the raw files"):
        cleanup.vacuum(tmp_path, 0, 0)


def test_vacuum_keeps_a_file_that_the_published_version_lists(tmp_path: Path) -> None:
    published = add(tmp_path, b"1")
    records.publish(tmp_path, [published])
    [file] = published.files
    # Not in the future for `vacuum`, which finds this time after the clock was set back.
    listed = Superseded(file.path, file.bytes, 0, "2999-01-01T00:00:00+00:00")
    gone = replace(listed, path="parquet/openb/pod/0123456789abcdef.parquet")
    records.write(tmp_path, replace(records.read(tmp_path), superseded=(listed, gone)))
    assert cleanup.vacuum(tmp_path, 0, 0) == [gone]
    assert list_parquet(tmp_path) == list_paths(published)


def test_damaged_checksum_of_a_view_counts_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "stored" / "pai" / "task_v1" / "0123456789abcdef.sha256"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe\0")
    [(file, checksum)] = view_store.read_checksums(tmp_path, []).items()
    assert file == "stored/pai/task_v1/0123456789abcdef.parquet"
    assert len(checksum) < 64


def test_damaged_unpublished_record_loses_only_its_conversion(tmp_path: Path) -> None:
    for damaged in DAMAGED:
        add(tmp_path, b"1")
        (record,) = (tmp_path / "records").glob("*.json")
        intact = add(tmp_path, b"2", "y.csv")
        record.write_bytes(damaged.encode(errors="surrogateescape"))
        assert records.read_finished(tmp_path) == [intact]
        cleanup.remove_leftovers(tmp_path)
        assert records.read_finished(tmp_path) == [intact]
        assert not record.exists()
        records.discard(tmp_path, [intact.key])


@pytest.mark.parametrize("missing", [0, 1])
def test_conversion_without_one_of_its_files_is_not_finished(missing: int, tmp_path: Path) -> None:
    halves = [stage_file(tmp_path, b"1"), stage_file(tmp_path / "other", b"2")]
    conversion = conversion_of(*(records.describe_file("openb/node", half) for half in halves))
    Journal(tmp_path).add(conversion, halves)
    assert records.read_finished(tmp_path) == [conversion]
    (tmp_path / conversion.files[missing].path).unlink()
    assert records.read_finished(tmp_path) == []
    cleanup.remove_leftovers(tmp_path)
    assert list_parquet(tmp_path) == set()


def test_record_that_a_killed_publish_left_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = add(tmp_path, b"1")
    records.publish(tmp_path, [old])
    with monkeypatch.context() as patched:
        patched.setattr(records, "_remove", lambda *_: None)
        records.publish(tmp_path, [])
    assert records.read_finished(tmp_path) == [old]
    cleanup.remove_leftovers(tmp_path)
    assert records.read_finished(tmp_path) == []
    assert [*cleanup.vacuum(tmp_path, 0, 0)] and not list_parquet(tmp_path)


def test_removes_only_unfinished_files(tmp_path: Path) -> None:
    published = add(tmp_path, b"1")
    records.publish(tmp_path, [published])
    finished = add(tmp_path, b"2")
    unknown = tmp_path / "parquet" / "openb" / "node" / f"{'a' * 16}.parquet"
    unknown.write_bytes(b"3")
    stage_file(tmp_path, b"half")
    cleanup.remove_leftovers(tmp_path)
    name = unknown.relative_to(tmp_path).as_posix()
    assert list_parquet(tmp_path) == list_paths(published, finished) | {name}
    # A second version before the first was published leaves no file behind.
    again = add(tmp_path, b"4")
    assert list_parquet(tmp_path) == list_paths(published, again) | {name}


def test_keeps_superseded_files_for_days_and_versions(tmp_path: Path) -> None:
    versions = [add(tmp_path, b"%d" % number) for number in range(1)]
    records.publish(tmp_path, versions)
    for number in range(1, 6):
        versions.append(add(tmp_path, b"%d" % number))
        records.publish(tmp_path, versions[-1:])
    cleanup.remove_leftovers(tmp_path)
    assert list_parquet(tmp_path) == list_paths(*versions)
    assert cleanup.vacuum(tmp_path, 1, 0) == []

    # Files of the last versions stay regardless of their age.
    now = records.read(tmp_path)
    old = tuple(replace(file, since="2020-01-01T00:00:00+00:00") for file in now.superseded)
    records.write(tmp_path, replace(now, superseded=old))
    cleanup.remove_leftovers(tmp_path)
    assert list_parquet(tmp_path) == list_paths(*versions[2:])
    assert records.read(tmp_path).version == 6
    gone = cleanup.vacuum(tmp_path, 0, 0)
    assert {file.path for file in gone} == list_paths(*versions[2:5])
    assert list_parquet(tmp_path) == list_paths(versions[5])
    assert records.read(tmp_path).superseded == ()

    # A file that is used again is no longer superseded.
    records.publish(tmp_path, [add(tmp_path, b"0")])
    records.publish(tmp_path, [add(tmp_path, b"5")])
    records.publish(tmp_path, [add(tmp_path, b"0")])
    assert [file.path for file in records.read(tmp_path).superseded] == [*list_paths(versions[5])]


def test_data_package_lists_every_output_and_input(tmp_path: Path) -> None:
    ingest(
        tmp_path,
        {
            "openb_node_list_all_node.csv": NODE + b"n1,1,2,0,\n" * 9 + b"n2,x,2,0,\n",
            "openb_node_list_gpu_node.csv": NODE + b"n1,1,2,0,T4\n",
            "summary_power_a40.csv": POWER + b"d,n,8,adam,100,1.5,90.5\n",
        },
    )
    warehouse = tmp_path / "warehouse"
    package = json.loads((warehouse / "datapackage.json").read_text(encoding="utf-8"))
    assert package["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    resources = {resource["name"]: resource for resource in package["resources"]}
    assert sorted(resources) == [
        "openb.node.node_list-all_node.openb_node_list_all_node.csv",
        "openb.node.node_list-all_node.openb_node_list_all_node.csv.rejected",
        "openb.node.node_list-gpu_node.openb_node_list_gpu_node.csv",
        "zeus.power.gpu-a40.summary_power_a40.csv",
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
