"""Raw files that come one after another, in any order and with accidents between, give each row once."""

import io
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path

import duckdb
import pytest
from few_files import quiet

from tracehouse.core.errors import UserError
from tracehouse.ingest import pipeline
from tracehouse.ingest.convert import incremental
from tracehouse.ingest.convert.raw_input import RawInput
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import cleanup, journal, lock, manifest

JANUARY, FEBRUARY, MARCH = (f"kalos/GPU_UTIL-2023-0{month}.csv" for month in (1, 2, 3))
JOB = "job_id,submission_time,duration,num_gpu\n"


def piece(first: int, last: int, value: int = 1) -> str:
    """A wide CSV with a line for each of some minutes."""
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


class House:
    """A warehouse, and a raw folder beside it that holds what was put there last."""

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
            journal.publish(self.warehouse, outcome.conversions)
        return outcome

    def rows(self, column: str) -> list:
        """A column of all that is published, sorted."""
        published = manifest.read_conversions(self.warehouse)
        files = [str(self.warehouse / stored.path) for c in published for stored in c.files]
        sql = f"select {column} from read_parquet($files, union_by_name = true) order by all"
        return [value for (value,) in duckdb.execute(sql, {"files": files}).fetchall()]

    def minutes(self) -> list[int]:
        return self.rows("date_diff('minute', timestamptz '2023-07-01 00:00:00+08:00', time)")


@pytest.fixture
def house(tmp_path: Path) -> House:
    (tmp_path / "raw").mkdir()
    return House(tmp_path)


PIECES = {JANUARY: piece(0, 100), FEBRUARY: piece(50, 150), MARCH: piece(120, 200)}


@pytest.mark.parametrize("order", permutations(PIECES), ids=lambda order: "-".join(n[-5] for n in order))
def test_pieces_that_share_lines_give_each_once_in_whatever_order_they_come(
    order: Sequence[str], house: House
) -> None:
    for name in order:
        house.ingest({name: PIECES[name]})
    assert house.minutes() == list(range(200))
    # And once all are here, which piece gives a line is what it would have been from the first.
    assert not house.ingest(PIECES).problems
    assert house.minutes() == list(range(200))
    again = house.ingest(PIECES)
    assert again.converted == ()
    stored = {c.source: c.rows for c in again.conversions}
    assert stored == {"GPU_UTIL-2023-01.csv": 100, "GPU_UTIL-2023-02.csv": 50, "GPU_UTIL-2023-03.csv": 50}


def stopped_before(number: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Let an ingest be stopped before its n-th conversion, as a kill would."""
    convert, begun = incremental.convert, []

    def stopping(raw_input: RawInput, *rest: object) -> tuple:
        begun.append(raw_input.key)
        if len(begun) == number:
            raise KeyboardInterrupt
        return convert(raw_input, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(incremental, "convert", stopping)
    return lambda: len(begun)


@pytest.mark.parametrize("after", ["all", "the first", "another trace"])
def test_an_ingest_that_was_stopped_between_two_pieces_doubles_no_line(
    after: str, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {name: PIECES[name] for name in (JANUARY, FEBRUARY)}
    house.ingest({FEBRUARY: PIECES[FEBRUARY]})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        stopped_before(2, patch)
        house.ingest(both)
    assert [c.source for c in journal.read_finished(house.warehouse)] == ["GPU_UTIL-2023-01.csv"]
    if after == "another trace":
        house.ingest({"cluster01.csv": jobs("a", 1), **both}, "itp")
        assert len(house.rows("time")) == 101
        # What was finished is not lost by it.
        assert [c.source for c in journal.read_finished(house.warehouse)] == ["GPU_UTIL-2023-01.csv"]
    outcome = house.ingest(both if after != "the first" else {JANUARY: PIECES[JANUARY]}, "acme")
    assert not outcome.problems
    assert sorted(minute for minute in house.minutes() if minute is not None) == list(range(150))


def test_a_piece_that_is_damaged_keeps_its_lines_and_doubles_none(house: House) -> None:
    both = {name: PIECES[name] for name in (JANUARY, FEBRUARY)}
    house.ingest(both)
    for _ in range(2):
        assert len(house.ingest(both | {JANUARY: "garbage\n"}).problems) == 1
        assert house.minutes() == list(range(150))
    assert not house.ingest(both).problems
    assert house.minutes() == list(range(150))


def test_a_piece_that_has_shrunk_is_refused_and_doubles_no_line(house: House) -> None:
    both = {name: PIECES[name] for name in (JANUARY, FEBRUARY)}
    house.ingest(both)
    (problem,) = house.ingest(both | {JANUARY: piece(0, 30)}).problems
    assert "it has 30 rows for acme.gpu_metric; the version in the warehouse has 100" in str(problem)
    assert house.minutes() == list(range(150))


def test_lines_that_another_piece_takes_over_are_no_shrinking(house: House) -> None:
    house.ingest({FEBRUARY: piece(0, 100)})
    assert not house.ingest({JANUARY: piece(0, 80), FEBRUARY: piece(0, 100)}).problems
    assert house.minutes() == list(range(100))


def test_lines_that_a_later_piece_gives_up_come_back_from_the_earlier(house: House) -> None:
    house.ingest({FEBRUARY: PIECES[FEBRUARY]})
    house.ingest({JANUARY: PIECES[JANUARY]})
    assert house.minutes() == list(range(150))
    assert not house.ingest({JANUARY: PIECES[JANUARY], FEBRUARY: piece(80, 150)}).problems
    assert house.minutes() == list(range(150))


def test_replacing_gives_back_the_lines_that_were_left_to_what_leaves(house: House) -> None:
    house.ingest({name: PIECES[name] for name in (JANUARY, FEBRUARY)})
    outcome = house.ingest({FEBRUARY: PIECES[FEBRUARY]}, replacing=True)
    assert outcome.notes == ("kalos/GPU_UTIL-2023-01.csv: removed its 100 rows from acme.gpu_metric",)
    assert house.minutes() == list(range(50, 150))


def test_replacing_an_archive_by_what_was_in_it(house: House) -> None:
    members = {"cluster01.csv": jobs("a", 5), "cluster02.csv": jobs("b", 5)}
    house.ingest({"raw-traces.tar.gz": archive(members)})
    assert len(house.ingest(dict(members)).problems) == 2
    assert not house.ingest(dict(members), replacing=True).problems
    assert Counter(house.rows("job_id[1]")) == {"a": 5, "b": 5}
    assert {c.source for c in manifest.read_conversions(house.warehouse)} == {
        "cluster01.csv",
        "cluster02.csv",
    }


@pytest.mark.parametrize("bad", ["version https://git-lfs.github.com/spec/v1\n", JOB + "a,x,600,1\n"])
def test_replacing_replaces_nothing_of_a_table_that_cannot_be_read_in_full(bad: str, house: House) -> None:
    house.ingest({"cluster01.csv": jobs("a", 5), "cluster02.csv": jobs("b", 5)})
    outcome = house.ingest({"cluster02.csv": jobs("c", 9), "cluster03.csv": bad}, replacing=True)
    assert len(outcome.problems) == 1
    assert any("othing is replaced" in note for note in outcome.notes)
    assert Counter(house.rows("job_id[1]"))["a"] == 5
    assert journal.read_finished(house.warehouse) == []


def test_an_archive_that_is_damaged_keeps_its_rows_and_a_csv_of_it_doubles_none(house: House) -> None:
    members = {"cluster01.csv": jobs("a", 900), "cluster02.csv": jobs("b", 900)}
    packed = archive(members)
    house.ingest({"raw-traces.tar.gz": packed})
    files = {"raw-traces.tar.gz": packed[: len(packed) // 2], "cluster01.csv": members["cluster01.csv"]}
    for _ in range(2):
        assert len(house.ingest(files).problems) == 2
        assert Counter(house.rows("job_id[1]")) == {"a": 900, "b": 900}
    assert journal.read_finished(house.warehouse) == []
    assert cleanup.list_unlisted(house.warehouse) == []


def test_a_csv_that_moves_out_of_an_archive_that_is_then_refused_is_not_read_twice(house: House) -> None:
    members = {"cluster01.csv": jobs("a", 9), "cluster02.csv": jobs("b", 2)}
    house.ingest({"raw-traces.tar.gz": archive(members)})
    alone = {"raw-traces.tar.gz": archive({"cluster02.csv": jobs("b", 2)}), "cluster01.csv": jobs("a", 9)}
    assert len(house.ingest(alone).problems) == 2
    assert Counter(house.rows("job_id[1]")) == {"a": 9, "b": 2}
    assert not house.ingest(alone, replacing=True).problems
    assert Counter(house.rows("job_id[1]")) == {"a": 9, "b": 2}


def test_archives_of_one_name_that_share_no_csv_do_not_replace_each_other(house: House) -> None:
    first, second = archive({"cluster01.csv": jobs("a", 5)}), archive({"cluster02.csv": jobs("b", 5)})
    house.ingest({"a/raw-traces.tar.gz": first})
    (problem,) = house.ingest({"b/raw-traces.tar.gz": second}).problems
    assert "it contains none of the files that" in str(problem)
    (problem,) = house.ingest({"a/raw-traces.tar.gz": first, "b/raw-traces.tar.gz": second}).problems
    assert "have the same name, but contain different files" in str(problem)
    assert Counter(house.rows("job_id[1]")) == {"a": 5}


def test_what_is_damaged_and_not_here_is_said_before_anything_is_read(house: House) -> None:
    house.ingest({"cluster01.csv": jobs("a", 5)})
    (stored,) = manifest.read_conversions(house.warehouse)[0].files
    (house.warehouse / stored.path).write_bytes(b"short")
    with pytest.raises(UserError, match=r"5 bytes; .* were written"):
        house.ingest({JANUARY: PIECES[JANUARY]})
    assert journal.read_finished(house.warehouse) == []


def test_a_raw_file_found_in_parts_is_said_to_be(house: House) -> None:
    packed = archive({"cluster01.csv": jobs("a", 5)})
    house.ingest({"raw-traces.tar.gz": packed})
    parts = {"raw-traces.tar.gz.partaa": packed[:50], "raw-traces.tar.gz.partab": packed[50:]}
    assert house.ingest(dict(parts)).converted == ()
    (conversion,) = manifest.read_conversions(house.warehouse)
    assert conversion.sources[0].parts == 2
