"""Fetch members of a zip on a server by ranges, without the other members."""

import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import publisher
import pytest
from few_files import quiet, zipped
from publisher import Answer, Handler, Publisher, sends

from tracehouse.core.errors import UsageError
from tracehouse.ingest.declarations import Column, Table, Trace
from tracehouse.ingest.downloads import fetch, locations, plan
from tracehouse.ingest.downloads.fetch import Outcome
from tracehouse.ingest.downloads.http import RetryPolicy, open_client
from tracehouse.ingest.downloads.locations import Download
from tracehouse.ingest.downloads.plan import FetchRequest, Plan

PATH, URL = "/data/pods.zip", "https://publisher.example/data/pods.zip"
HOURLY = Table(
    name="pod",
    comment="",
    grain="",
    source="",
    file_name=r"part-\d+\.parquet",
    archive_stem="pods",
    folder=r"day=(?P<day>\d+)/hour=(?P<hour>\d+)",
    keys=(Column("day", "BIGINT", ""), Column("hour", "BIGINT", "")),
    columns=(Column("pod", "VARCHAR", ""),),
    partition_by=("day",),
    converts_partitions=True,
)
TRACE = Trace("probe", "", "", "", "", "", "", (HOURLY,))
# Random bytes, so that deflated members are not tiny.
MEMBERS = {
    f"pods/day={day}/hour=0{hour}/part-000.parquet": os.urandom(90_000)
    for day in range(30)
    for hour in (0, 7)
}
SELECTED = {name: data for name, data in MEMBERS.items() if name.startswith(("pods/day=9/", "pods/day=10/"))}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    monkeypatch.setattr(plan, "all_traces", lambda: {"probe": TRACE})
    whole = Download("pods.zip", (URL,), bytes=352 * 10**9)
    monkeypatch.setattr(locations, "downloads", lambda _: (whole,))
    with publisher.publishing() as running:
        running.files[PATH] = zipped(MEMBERS, zipfile.ZIP_STORED)
        yield running


def run(site: Publisher, out: Path, *only: str, silence_s: float = 20) -> tuple[list[Plan], Outcome]:
    mirrors = {"publisher.example": site.url}
    policy = RetryPolicy(attempts=3, pause_s=0.001, longest_pause_s=2, silence_s=silence_s)
    with open_client(mirrors, policy) as client:
        plans = plan.plan_downloads(
            FetchRequest(out, ["probe"], mirrors=mirrors, policy=policy, only=only), client
        )
        plan.check_is_wanted(plans)
        return plans, fetch.fetch(plans, out, client, quiet, lambda _: None)


def files_in(out: Path) -> dict[str, bytes]:
    folder = out / "probe"
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_fetches_only_the_selected_members(
    method: int, site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.ingest.downloads.remote_zip._BLOCK_BYTES", 20_000)
    site.files[PATH] = zipped(MEMBERS, method)
    plans, outcome = run(site, tmp_path, "day=9..10")
    assert (outcome.fetched, outcome.failures) == (4, ())
    assert files_in(tmp_path) == SELECTED
    assert plans[0].missing_bytes == 0
    ranges = [(text or "").removeprefix("bytes=").split("-") for text in site.ranges(PATH)]
    received = sum(int(last) - int(first) + 1 for first, last in ranges)
    assert 360_000 < received < 600_000
    assert len(ranges) < 30
    again = run(site, tmp_path, "day=9..10")[1]
    assert (again.fetched, again.kept) == (0, 4)


def test_fetching_all_requires_yes(site: Publisher, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"352\.0 GB would be downloaded for probe. Add --yes .* --only day="
    ):
        run(site, tmp_path)
    assert site.asked == []


def test_refuses_a_server_without_ranges(site: Publisher, tmp_path: Path) -> None:
    site.answers[PATH] = [publisher.whole()]
    [failure] = run(site, tmp_path, "day=9")[1].failures
    assert re.search(r"sends whole files only.*without --only", str(failure))
    assert files_in(tmp_path) == {}


def test_continues_after_dropped_connections(site: Publisher, tmp_path: Path) -> None:
    site.answers[PATH] = [
        publisher.cut(0),
        publisher.well,
        publisher.cut(5),
        publisher.well,
        publisher.cut(7000),
    ]
    assert run(site, tmp_path, "day=9..10")[1].failures == ()
    assert files_in(tmp_path) == SELECTED


def test_next_run_fetches_the_missing_members(
    site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.ingest.downloads.remote_zip._BLOCK_BYTES", 20_000)
    site.answers[PATH] = [publisher.well] * 12 + [publisher.cut(10)] * 3
    [failure] = run(site, tmp_path, "day=9..10")[1].failures
    assert "received 10 of" in str(failure) or "broke off" in str(failure)
    assert len(files_in(tmp_path)) == 3
    second = run(site, tmp_path, "day=9..10")[1]
    assert (second.fetched, second.kept) == (1, 3)
    assert files_in(tmp_path) == SELECTED


def test_refuses_a_damaged_member(site: Publisher, tmp_path: Path) -> None:
    packed = bytearray(site.files[PATH])
    packed[packed.index(MEMBERS["pods/day=9/hour=07/part-000.parquet"]) + 5] ^= 1
    site.files[PATH] = bytes(packed)
    outcome = run(site, tmp_path, "day=9")[1]
    assert (outcome.fetched, len(outcome.failures)) == (1, 1)
    assert "Bad CRC-32" in str(outcome.failures[0])
    assert list(files_in(tmp_path)) == ["pods/day=9/hour=00/part-000.parquet"]


BAD, GOOD = (f"pods/day=9/hour=0{hour}/part-000.parquet" for hour in (7, 0))
# The offsets of the fields in an entry of the directory.
FIELDS = {"version": 6, "flags": 8, "method": 10, "packed": 20, "size": 24, "at": 42, "name": 46}


def set_fields(**fields: bytes) -> Callable[[], bytes]:
    """Return a function that makes a zip with other values in the directory entry of the bad member."""

    def damaged() -> bytes:
        packed = bytearray(zipped(MEMBERS, zipfile.ZIP_STORED))
        start = packed.rindex(BAD.encode()) - FIELDS["name"]
        for field, value in fields.items():
            at = start + FIELDS[field]
            packed[at : at + len(value)] = value
        return bytes(packed)

    return damaged


def change_data(method: int) -> Callable[[], bytes]:
    """Return a function that makes a zip with an invalid first byte in the data of the bad member."""

    def damaged() -> bytes:
        packed = bytearray(zipped(MEMBERS, method))
        packed[packed.index(BAD.encode()) + len(BAD)] = 7
        return bytes(packed)

    return damaged


def change_count() -> bytes:
    """Make a zip whose end record has a wrong number of entries."""
    packed = bytearray(zipped(MEMBERS, zipfile.ZIP_STORED))
    packed[-12] += 1
    return bytes(packed)


def renamed(name: str) -> Callable[[], bytes]:
    return lambda: zipped({name: b"x", GOOD: MEMBERS[GOOD]})


def part(headers: bytes, body: bytes = b"", every_s: float = 0.0) -> Answer:
    return sends(b"HTTP/1.1 206 Partial\r\n" + headers, body, every_s)


def in_range(span: bytes) -> Answer:
    return part(b"Content-Range: bytes " + span + b"\r\n\r\n", b"x")


def slow_end(handler: Handler, content: bytes) -> None:
    """Send the end of the zip byte by byte."""
    span = f"bytes {len(content) - 22}-{len(content) - 1}/{len(content)}"
    headers = f"ETag: {publisher.etag(content)}\r\nContent-Range: {span}\r\n\r\n"
    part(headers.encode(), b"x", 0.2)(handler, content)


@dataclass(frozen=True)
class Case:
    """A damaged zip or invalid responses (the last one is repeated), the file that fails, and its error."""

    name: str
    error: str
    packed: Callable[[], bytes] = lambda: zipped(MEMBERS, zipfile.ZIP_STORED)
    answers: Sequence[Answer] = ()
    failed: str = "pods.zip"
    silence_s: float = 20
    others: Sequence[str] = ()


MANY_DIGITS = b"0-0/" + b"9" * 5000
CASES = [
    Case("no zip", "its directory is damaged (File is not a zip file)", lambda: b"no zip" * 50),
    Case("later version", "zip file version 9.9", set_fields(version=b"\x63")),
    Case("name not UTF-8", "its directory is damaged", set_fields(flags=b"\0\x08", name=b"\xff")),
    Case("entry too many", "its directory does not list all files", change_count),
    Case("encrypted", "is encrypted", set_fields(flags=b"\1"), (), BAD, others=[GOOD]),
    Case("other method", "method is not supported", set_fields(method=b"\x63"), (), BAD, others=[GOOD]),
    Case("larger", "bytes packed, 90,000 unpacked", set_fields(packed=b"\0\0\0\x7f"), (), BAD, others=[GOOD]),
    Case("smaller", "Bad CRC-32", set_fields(size=b"\5"), (), BAD, others=[GOOD]),
    Case("larger than the disk", "does not fit", set_fields(size=b"\0\0\0\x7f"), (), BAD, others=[GOOD]),
    Case("elsewhere", "damaged", set_fields(at=b"\0\0\0\x7f"), (), BAD, others=[GOOD]),
    Case("not deflated", "invalid block", change_data(zipfile.ZIP_DEFLATED), (), BAD, others=[GOOD]),
    Case("not bzip2", "Invalid data stream", change_data(zipfile.ZIP_BZIP2), (), BAD, others=[GOOD]),
    Case("no name", "path or size: one without a name", set_fields(name=b"\0"), others=[GOOD]),
    Case("long name", "without a valid path", renamed(f"{'x' * 300}/{BAD}"), others=[GOOD]),
    Case("long path", "without a valid path", renamed(f"{'x/' * 3000}{BAD}"), others=[GOOD]),
    Case("path outside", "without a valid path", renamed(f"../{BAD}"), others=[GOOD]),
    Case("range of many digits", "another range", answers=[in_range(MANY_DIGITS)]),
    Case("range without size", "another range", answers=[in_range(b"0-0/*")]),
    Case("range elsewhere", "another range", answers=[in_range(b"5-5/9")]),
    Case("empty range", "received 0 of 1", answers=[part(b"Content-Range: bytes 0-0/9\r\n\r\n")]),
    Case("slow header", "did not continue within 1 s", answers=[part(b"X: ", b"x", 0.02)], silence_s=1),
    Case("slow range", "received only", answers=[publisher.well, slow_end], silence_s=1),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_damaged_zip_fails_one_file(
    case: Case, site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file is fetched in any case, and other members if the directory can be read."""
    other = Download("other.csv", (URL.replace("pods.zip", "other.csv"),))
    whole = locations.downloads(TRACE)
    usage = shutil.disk_usage(tmp_path)._replace(free=10**9)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    monkeypatch.setattr(locations, "downloads", lambda _: (*whole, other))
    site.files |= {PATH: case.packed(), "/data/other.csv": b"a,b\n1,2\n"}
    site.answers[PATH] = [*case.answers, *case.answers[-1:] * 20]
    [failure] = run(site, tmp_path, "day=9", silence_s=case.silence_s)[1].failures
    [problem] = failure.problems
    assert failure.path == case.failed
    assert problem.startswith(f"{site.url}{PATH}: ") and case.error in problem
    assert set(files_in(tmp_path)) == {"other.csv", *case.others}


def test_refuses_a_huge_directory(site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.ingest.downloads.remote_zip._MOST_DIRECTORY_BYTES", 1000)
    [failure] = run(site, tmp_path, "day=9")[1].failures
    assert re.search(r"its directory is damaged \(it has [\d,]+ bytes\)", str(failure))
