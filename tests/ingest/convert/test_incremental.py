"""Ingest files one after another, in any order and with failures. Each row is stored once."""

import io
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path

import duckdb
import pytest
from few_files import list_unlisted, quiet

from tracehouse.core.errors import UserError
from tracehouse.ingest import pipeline
from tracehouse.ingest.convert import incremental
from tracehouse.ingest.convert.raw_input import RawInput
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import cleanup, lock, records

JANUARY, FEBRUARY, MARCH = (f"kalos/GPU_UTIL-2023-0{month}.csv" for month in (1, 2, 3))
JOB = "job_id,submission_time,duration,num_gpu\n"


def lines_of(first: int, last: int, value: int = 1) -> str:
    """Return a wide CSV with a line for each minute of a range."""
    lines = (f"2023-07-01 {n // 60:02}:{n % 60:02}:00+08:00,{value}\n" for n in range(first, last))
    return "Time,172.31.0.1-0\n" + "".join(lines)


def jobs(name: str, count: int) -> str:
    return JOB + "".join(f"{name}{number},1,600,1\n" for number in range(count))


def archive(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


class Store:
    """A warehouse, and a raw folder with the files of the last ingest."""

    def __init__(self, folder: Path):
        self.raw, self.warehouse = folder / "raw", folder / "warehouse"

    def put(self, files: dict[str, str | bytes]) -> None:
        for path in self.raw.rglob("*.*"):
            path.unlink()
        for name, content in files.items():
            path = self.raw / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def ingest(self, files: dict[str, str | bytes], *names: str, replacing: bool = False) -> IngestResult:
        self.put(files)
        with lock.acquire(self.warehouse):
            cleanup.remove_leftovers(self.warehouse)
            outcome = pipeline.convert([self.raw], self.warehouse, names, quiet, replacing)
            records.publish(self.warehouse, outcome.conversions)
        return outcome

    def rows(self, column: str) -> list:
        """Return the sorted values of a column of all published rows."""
        published = records.read_conversions(self.warehouse)
        files = [str(self.warehouse / stored.path) for c in published for stored in c.files]
        sql = f"select {column} from read_parquet($files, union_by_name = true) order by all"
        return [value for (value,) in duckdb.execute(sql, {"files": files}).fetchall()]

    def minutes(self) -> list[int]:
        return self.rows("date_diff('minute', timestamptz '2023-07-01 00:00:00+08:00', time)")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "raw").mkdir()
    return Store(tmp_path)


PARTS = {JANUARY: lines_of(0, 100), FEBRUARY: lines_of(50, 150), MARCH: lines_of(120, 200)}


@pytest.mark.parametrize("order", list(permutations(PARTS)), ids=lambda order: "-".join(n[-5] for n in order))
def test_shared_lines_of_parts_are_stored_once_in_any_order(order: Sequence[str], store: Store) -> None:
    for name in order:
        store.ingest({name: PARTS[name]})
    assert store.minutes() == list(range(200))
    # When all parts are ingested, each line comes from the same part as in a single ingest.
    assert not store.ingest(PARTS).problems
    assert store.minutes() == list(range(200))
    again = store.ingest(PARTS)
    assert again.converted == ()
    stored = {c.source: c.rows for c in again.conversions}
    assert stored == {"GPU_UTIL-2023-01.csv": 100, "GPU_UTIL-2023-02.csv": 50, "GPU_UTIL-2023-03.csv": 50}


def stop_before(number: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Stop an ingest before its n-th conversion, as a kill would."""
    convert, begun = incremental.convert, []

    def stopping(raw_input: RawInput, *rest: object) -> tuple:
        begun.append(raw_input.key)
        if len(begun) == number:
            raise KeyboardInterrupt
        return convert(raw_input, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(incremental, "convert", stopping)
    return lambda: len(begun)


@pytest.mark.parametrize("after", ["all", "the first", "another trace"])
def test_interruption_between_parts_duplicates_no_line(
    after: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {name: PARTS[name] for name in (JANUARY, FEBRUARY)}
    store.ingest({FEBRUARY: PARTS[FEBRUARY]})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        stop_before(2, patch)
        store.ingest(both)
    assert [c.source for c in records.read_finished(store.warehouse)] == ["GPU_UTIL-2023-01.csv"]
    if after == "another trace":
        store.ingest({"cluster01.csv": jobs("a", 1), **both}, "itp")
        assert len(store.rows("time")) == 101
        # Finished conversions are kept.
        assert [c.source for c in records.read_finished(store.warehouse)] == ["GPU_UTIL-2023-01.csv"]
    outcome = store.ingest(both if after != "the first" else {JANUARY: PARTS[JANUARY]}, "acme")
    assert not outcome.problems
    assert sorted(minute for minute in store.minutes() if minute is not None) == list(range(150))


def test_damaged_part_keeps_lines_without_duplicates(store: Store) -> None:
    both = {name: PARTS[name] for name in (JANUARY, FEBRUARY)}
    store.ingest(both)
    for _ in range(2):
        assert len(store.ingest(both | {JANUARY: "garbage\n"}).problems) == 1
        assert store.minutes() == list(range(150))
    assert not store.ingest(both).problems
    assert store.minutes() == list(range(150))


def test_rejects_shrunk_part_without_duplicates(store: Store) -> None:
    both = {name: PARTS[name] for name in (JANUARY, FEBRUARY)}
    store.ingest(both)
    (problem,) = store.ingest(both | {JANUARY: lines_of(0, 30)}).problems
    assert "it has 30 rows for acme.gpu_metric; the version in the warehouse has 100" in str(problem)
    assert store.minutes() == list(range(150))


def test_lines_moved_to_another_part_are_not_missing(store: Store) -> None:
    store.ingest({FEBRUARY: lines_of(0, 100)})
    assert not store.ingest({JANUARY: lines_of(0, 80), FEBRUARY: lines_of(0, 100)}).problems
    assert store.minutes() == list(range(100))


def test_lines_dropped_by_later_part_return_from_earlier(store: Store) -> None:
    store.ingest({FEBRUARY: PARTS[FEBRUARY]})
    store.ingest({JANUARY: PARTS[JANUARY]})
    assert store.minutes() == list(range(150))
    assert not store.ingest({JANUARY: PARTS[JANUARY], FEBRUARY: lines_of(80, 150)}).problems
    assert store.minutes() == list(range(150))


def test_replace_restores_lines_of_removed_lines_of(store: Store) -> None:
    store.ingest({name: PARTS[name] for name in (JANUARY, FEBRUARY)})
    outcome = store.ingest({FEBRUARY: PARTS[FEBRUARY]}, replacing=True)
    assert outcome.notes == ("kalos/GPU_UTIL-2023-01.csv: removed its 100 rows from acme.gpu_metric",)
    assert store.minutes() == list(range(50, 150))


def test_replaces_archive_by_its_members(store: Store) -> None:
    members = {"cluster01.csv": jobs("a", 5), "cluster02.csv": jobs("b", 5)}
    store.ingest({"raw-traces.tar.gz": archive(members)})
    assert len(store.ingest(dict(members)).problems) == 2
    assert not store.ingest(dict(members), replacing=True).problems
    assert Counter(store.rows("job_id[1]")) == {"a": 5, "b": 5}
    assert {c.source for c in records.read_conversions(store.warehouse)} == {
        "cluster01.csv",
        "cluster02.csv",
    }


@pytest.mark.parametrize("bad", ["version https://git-lfs.github.com/spec/v1\n", JOB + "a,x,600,1\n"])
def test_replace_keeps_table_with_unreadable_file(bad: str, store: Store) -> None:
    store.ingest({"cluster01.csv": jobs("a", 5), "cluster02.csv": jobs("b", 5)})
    outcome = store.ingest({"cluster02.csv": jobs("c", 9), "cluster03.csv": bad}, replacing=True)
    assert len(outcome.problems) == 1
    assert any("othing is replaced" in note for note in outcome.notes)
    assert Counter(store.rows("job_id[1]"))["a"] == 5
    assert records.read_finished(store.warehouse) == []


def test_replace_after_interrupted_ingest_publishes_none_of_its_files(store: Store) -> None:
    """The interrupted ingest finished both files. Then one has other rows, and the other is unreadable."""
    store.put({"cluster01.csv": jobs("a", 5), "cluster02.csv": jobs("b", 5)})
    with lock.acquire(store.warehouse):
        assert len(pipeline.convert([store.raw], store.warehouse, [], quiet).converted) == 2
    bad = JOB + "a,x,600,1\n"
    outcome = store.ingest({"cluster01.csv": jobs("a", 9), "cluster02.csv": bad}, replacing=True)
    assert len(outcome.problems) == 1
    assert outcome.conversions == ()
    assert not list_unlisted(store.warehouse)


def test_damaged_archive_keeps_rows_without_duplicates(store: Store) -> None:
    members = {"cluster01.csv": jobs("a", 900), "cluster02.csv": jobs("b", 900)}
    packed = archive(members)
    store.ingest({"raw-traces.tar.gz": packed})
    files = {"raw-traces.tar.gz": packed[: len(packed) // 2], "cluster01.csv": members["cluster01.csv"]}
    for _ in range(2):
        assert len(store.ingest(files).problems) == 2
        assert Counter(store.rows("job_id[1]")) == {"a": 900, "b": 900}
    assert records.read_finished(store.warehouse) == []
    assert not list_unlisted(store.warehouse)


def test_csv_moved_out_of_rejected_archive_is_not_read_twice(store: Store) -> None:
    members = {"cluster01.csv": jobs("a", 9), "cluster02.csv": jobs("b", 2)}
    store.ingest({"raw-traces.tar.gz": archive(members)})
    alone = {"raw-traces.tar.gz": archive({"cluster02.csv": jobs("b", 2)}), "cluster01.csv": jobs("a", 9)}
    assert len(store.ingest(alone).problems) == 2
    assert Counter(store.rows("job_id[1]")) == {"a": 9, "b": 2}
    assert not store.ingest(alone, replacing=True).problems
    assert Counter(store.rows("job_id[1]")) == {"a": 9, "b": 2}


def test_archives_of_one_name_without_common_csv_stay(store: Store) -> None:
    first, second = archive({"cluster01.csv": jobs("a", 5)}), archive({"cluster02.csv": jobs("b", 5)})
    store.ingest({"a/raw-traces.tar.gz": first})
    (problem,) = store.ingest({"b/raw-traces.tar.gz": second}).problems
    assert "it contains none of the files that" in str(problem)
    (problem,) = store.ingest({"a/raw-traces.tar.gz": first, "b/raw-traces.tar.gz": second}).problems
    assert "have the same name, but contain different files" in str(problem)
    assert Counter(store.rows("job_id[1]")) == {"a": 5}


def test_reports_unrestorable_damage_before_reading(store: Store) -> None:
    store.ingest({"cluster01.csv": jobs("a", 5)})
    (stored,) = records.read_conversions(store.warehouse)[0].files
    (store.warehouse / stored.path).write_bytes(b"short")
    with pytest.raises(UserError, match=r"5 bytes; .* were written"):
        store.ingest({JANUARY: PARTS[JANUARY]})
    assert records.read_finished(store.warehouse) == []


def test_records_parts_of_raw_file(store: Store) -> None:
    packed = archive({"cluster01.csv": jobs("a", 5)})
    store.ingest({"raw-traces.tar.gz": packed})
    parts = {"raw-traces.tar.gz.partaa": packed[:50], "raw-traces.tar.gz.partab": packed[50:]}
    assert store.ingest(dict(parts)).converted == ()
    (conversion,) = records.read_conversions(store.warehouse)
    assert conversion.sources[0].parts == 2
