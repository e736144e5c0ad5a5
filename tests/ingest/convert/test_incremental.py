"""Ingest files one after another, in any order and with failures. Each row is stored once."""

from collections import Counter
from pathlib import Path

import duckdb
import pytest
from few_files import ingest_raw, list_unlisted, quiet, tar_gz

from tracehouse.ingest import pipeline
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import lock, records

JANUARY, FEBRUARY, MARCH = (f"kalos/GPU_UTIL-2023-0{month}.csv" for month in (1, 2, 3))
JOB = "job_id,submission_time,duration,num_gpu\n"


def lines_of(first: int, last: int, value: int = 1) -> str:
    """Return a wide CSV with a line for each minute of a range."""
    lines = (f"2023-07-01 {n // 60:02}:{n % 60:02}:00+08:00,{value}\n" for n in range(first, last))
    return "Time,172.31.0.1-0\n" + "".join(lines)


def jobs(name: str, count: int) -> str:
    return JOB + "".join(f"{name}{number},1,600,1\n" for number in range(count))


def archive(members: dict[str, str]) -> bytes:
    return tar_gz({name: text.encode() for name, text in members.items()})


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
        return ingest_raw(self.raw, self.warehouse, *names, replacing=replacing)

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


def test_lines_that_several_parts_have_are_stored_once(store: Store) -> None:
    (conversion,) = store.ingest(PARTS).converted
    assert store.minutes() == list(range(200))
    counts = [(source.member[9:16], source.rows_read, source.rows_kept) for source in conversion.sources]
    assert counts == [("2023-01", 100, 100), ("2023-02", 100, 50), ("2023-03", 80, 50)]
    assert store.ingest(PARTS).converted == ()
    # All parts are converted again if one is added, changed or removed.
    outcome = store.ingest({FEBRUARY: PARTS[FEBRUARY], MARCH: PARTS[MARCH]})
    assert "no longer contains GPU_UTIL-2023-01.csv: acme.gpu_metric loses its 100" in "".join(outcome.notes)
    assert store.minutes() == list(range(50, 200))
    store.ingest(PARTS)
    assert store.minutes() == list(range(200))


def test_refused_part_keeps_the_lines_of_all_parts(store: Store) -> None:
    both = {name: PARTS[name] for name in (JANUARY, FEBRUARY)}
    assert len(store.ingest(both | {FEBRUARY: "garbage\n"}).problems) == 1
    assert not records.read_conversions(store.warehouse)
    store.ingest(both)
    for bad in ("garbage\n", lines_of(0, 10)):
        changed = {JANUARY: bad, FEBRUARY: bad}
        (problem, *_) = store.ingest(changed).problems
        assert "GPU_UTIL-2023-0" in str(problem)
        assert store.minutes() == list(range(150))


def test_parts_of_one_metric_must_be_in_one_folder(store: Store) -> None:
    (problem,) = store.ingest({f"a/{JANUARY}": PARTS[JANUARY], f"b/{FEBRUARY}": PARTS[FEBRUARY]}).problems
    what = f"{store.raw / 'a' / JANUARY} are the same file or partition. Move one"
    assert what in str(problem)
    assert store.minutes() == list(range(100))


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


def test_skips_csvs_that_were_unpacked_next_to_their_archive(store: Store) -> None:
    members = {"cluster01.csv": jobs("a", 9), "cluster02.csv": jobs("b", 2)}
    unpacked = {f"x/{name}": content for name, content in members.items()}
    for _ in range(2):
        done = store.ingest({"raw-traces.tar.gz": archive(members), **unpacked})
        assert not done.problems
        assert [note for note in done.notes if "skipped" in note] == [
            "skipped x/cluster01.csv, x/cluster02.csv: read from raw-traces.tar.gz, which contains them too"
        ]
        assert Counter(store.rows("job_id[1]")) == {"a": 9, "b": 2}


def test_an_archive_of_a_csv_without_rows_hides_no_rows(store: Store) -> None:
    """A user found an empty archive of GenAI's LoRA requests: alibaba/clusterdata issue 242."""
    files = {"raw-traces.tar.gz": archive({"cluster01.csv": JOB}), "x/cluster01.csv": jobs("a", 9)}
    for _ in range(2):
        done = store.ingest(files)
        assert not done.problems
        assert not [note for note in done.notes if "skipped" in note]
        assert Counter(store.rows("job_id[1]")) == {"a": 9}


def test_refuses_a_csv_that_another_raw_file_has(store: Store) -> None:
    members = {"cluster01.csv": jobs("a", 9), "cluster02.csv": jobs("b", 2)}
    store.ingest({"raw-traces.tar.gz": archive(members)})
    (problem,) = store.ingest({"x/cluster01.csv": jobs("c", 9)}).problems
    what = "itp.raw_job already has cluster01.csv from raw-traces.tar.gz. Keep one"
    assert str(problem).startswith(f"{store.raw / 'x/cluster01.csv'}: {what}")
    assert Counter(store.rows("job_id[1]")) == {"a": 9, "b": 2}
    # The archive that shrinks is refused, so that its rows stay, and so is the CSV that moved out of it.
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
    assert "are the same file or partition. Move one of the two" in str(problem)
    assert Counter(store.rows("job_id[1]")) == {"a": 5}


def test_records_parts_of_raw_file(store: Store) -> None:
    packed = archive({"cluster01.csv": jobs("a", 5)})
    store.ingest({"raw-traces.tar.gz": packed})
    parts = {"raw-traces.tar.gz.partaa": packed[:50], "raw-traces.tar.gz.partab": packed[50:]}
    assert store.ingest(dict(parts)).converted == ()
    (conversion,) = records.read_conversions(store.warehouse)
    assert conversion.sources[0].parts == 2
