import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tracehouse.ingest import pipeline, store
from tracehouse.ingest.errors import UserError
from tracehouse.ingest.store import Conversion, HalfFile, Source, StoredFile

NODE = "sn,cpu_milli,memory_mib,gpu,model\n"
POWER = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"


def quiet(*_: object) -> None:
    """Progress that nobody watches."""


def ingest(folder: Path, files: dict[str, str]) -> pipeline.Outcome:
    """All of an ingest but the database, from files that are written first."""
    raw, warehouse = folder / "raw", folder / "warehouse"
    raw.mkdir(exist_ok=True)
    for name, text in files.items():
        (raw / name).write_text(text)
    with store.lock(warehouse):
        store.clean(warehouse)
        outcome = pipeline.ingest([raw], warehouse, [], quiet)
        store.publish(warehouse, outcome.conversions)
    return outcome


def parquet_files(folder: Path) -> set[str]:
    warehouse = folder / "warehouse"
    return {path.relative_to(warehouse).as_posix() for path in warehouse.rglob("*.parquet")}


def half_file(warehouse: Path, content: bytes, rows: int = 1) -> HalfFile:
    half = store.half_written(warehouse) / "rows.parquet"
    half.write_bytes(content)
    return store.sealed(half, rows)


def conversion_of(*files: StoredFile) -> Conversion:
    source = Source("x.csv", "x.csv", "0" * 64, 10, 1, 3, 2, 1, 2, "none published", False)
    return Conversion("openb", "node", "", "f" * 64, ("0" * 64,), (source,), files, input_names=("x.csv",))


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    stored = store.adopt(tmp_path, "openb/node", half_file(tmp_path, b"content", 3))
    sha256 = hashlib.sha256(b"content").hexdigest()
    assert stored == StoredFile(f"parquet/openb/node/{sha256[:16]}.parquet", 7, sha256, 3)
    assert (tmp_path / stored.path).read_bytes() == b"content"
    assert not (store.half_written(tmp_path) / "rows.parquet").exists()
    assert store.adopt(tmp_path, "openb/node", half_file(tmp_path, b"content", 3)) == stored
    assert store.adopt(tmp_path, "openb/node", half_file(tmp_path, b"other", 3)).path != stored.path


def test_the_journal_and_the_manifest_give_back_what_they_were_given(tmp_path: Path) -> None:
    conversion = conversion_of(store.adopt(tmp_path, "openb/node", half_file(tmp_path, b"content", 3)))
    in_partition = replace(conversion, partition="day=1/list=a", rejected=conversion.files)
    assert store.finished(tmp_path) == store.published(tmp_path) == []
    for one in (conversion, in_partition):
        store.record_finished(tmp_path, one)
    assert sorted(store.finished(tmp_path), key=lambda one: one.key) == [conversion, in_partition]
    store.publish(tmp_path, [in_partition, conversion])
    assert store.finished(tmp_path) == []
    assert store.published(tmp_path) == [conversion, in_partition]


def test_what_a_kill_leaves_of_a_manifest_is_not_read(tmp_path: Path) -> None:
    conversion = conversion_of()
    store.publish(tmp_path, [conversion])
    (tmp_path / "datapackage.json.half").write_text('{"conversions": [')
    store.record_finished(tmp_path, conversion)
    (tmp_path / ".ingest" / "finished" / "openb.pod.json.half").write_text("{")
    assert store.published(tmp_path) == store.finished(tmp_path) == [conversion]


@pytest.mark.parametrize("damaged", ['{"trace": "openb"', '{"trace": "openb"}', "[]", "null", "\udcff"])
def test_a_damaged_journal_or_manifest_is_named_with_what_to_do(damaged: str, tmp_path: Path) -> None:
    store.record_finished(tmp_path, conversion_of())
    (journal,) = (tmp_path / ".ingest" / "finished").glob("*.json")
    for path, read in ((journal, store.finished), (tmp_path / "datapackage.json", store.published)):
        path.write_bytes(damaged.encode(errors="surrogateescape"))
        with pytest.raises(UserError, match=r"Move it away, and ingest the raw files again") as raised:
            read(tmp_path)
        assert str(raised.value).startswith(f"{path}: ")


def test_cleaning_removes_what_nothing_lists(tmp_path: Path) -> None:
    published, finished, superseded = (
        store.adopt(tmp_path, "openb/node", half_file(tmp_path, content)) for content in (b"1", b"2", b"3")
    )
    rejected = store.adopt(tmp_path, "openb/_rejected", half_file(tmp_path, b"4"))
    store.publish(tmp_path, [conversion_of(published)])
    store.record_finished(tmp_path, replace(conversion_of(finished), rejected=(rejected,)))
    half_file(tmp_path, b"half")
    store.clean(tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet")}
    assert left == {published.path, finished.path, rejected.path}
    assert superseded.path not in left


def test_cleaning_leaves_what_is_not_ours(tmp_path: Path) -> None:
    # Somebody names a folder as warehouse that has Parquet of its own.
    mine = tmp_path / "parquet" / "mine" / "results.parquet"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"my work")
    store.clean(tmp_path)
    assert mine.read_bytes() == b"my work"


def test_superseded_files_stay_until_the_ingest_after(tmp_path: Path) -> None:
    first = ingest(
        tmp_path, {"openb_node_list_all_node.csv": NODE + "n1,1,2,0,\n" * 9 + "n2,x,2,0,\n"}
    ).conversions[0]
    old = {file.path for file in (*first.files, *first.rejected)}
    assert parquet_files(tmp_path) == old
    second = ingest(tmp_path, {"openb_node_list_all_node.csv": NODE + "n1,1,2,0,\n"}).conversions[0]
    new = {file.path for file in second.files}
    assert parquet_files(tmp_path) == old | new
    assert second.rejected == ()
    ingest(tmp_path, {})
    assert parquet_files(tmp_path) == new


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
    assert sorted(resources) == ["openb.node", "openb.node.rejected", "zeus.power"]
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
from tracehouse.ingest import store
with store.lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_there_is_one_writer_at_a_time(killed: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match="another ingest or build is writing here"), store.lock(tmp_path):
            pass
        if killed:
            other.kill()
    with store.lock(tmp_path):
        pass
