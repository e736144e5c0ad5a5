"""Fetch members of a zip on a server by ranges, without the other members."""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import publisher
import pytest
from few_files import quiet, zipped
from non_empty import non_empty
from publisher import Publisher

from tracehouse.core.errors import UsageError
from tracehouse.ingest.declare.trace import Column, Table, Trace
from tracehouse.ingest.fetch import plan
from tracehouse.ingest.fetch.client import open_client
from tracehouse.ingest.fetch.download import DownloadResult, fetch_files
from tracehouse.ingest.fetch.plan import Download, Plan

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
BAD, GOOD = (f"pods/day=9/hour=0{hour}/part-000.parquet" for hour in (7, 0))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    monkeypatch.setattr(plan, "all_traces", lambda: {"probe": TRACE})
    whole = Download("pods.zip", (URL,), bytes=352 * 10**9)
    other = Download("other.csv", (URL.replace("pods.zip", "other.csv"),))
    monkeypatch.setattr(plan, "read_downloads", lambda _: (whole, other))
    monkeypatch.setattr("tracehouse.ingest.fetch.remote_zip._BLOCK_BYTES", 20_000)
    with publisher.publishing() as running:
        running.files |= {PATH: zipped(MEMBERS, zipfile.ZIP_STORED), "/data/other.csv": b"a,b\n1,2\n"}
        yield running


def run(site: Publisher, out: Path, *only: str) -> tuple[list[Plan], DownloadResult]:
    with open_client({"publisher.example": site.url}, 3, 0.001) as client:
        plans = plan.plan_downloads(client, out, ["probe"], only=only)
        plan.check_is_wanted(plans)
        return plans, fetch_files(plans, out, client, quiet, lambda _: None)


def members_in(out: Path) -> dict[str, bytes]:
    folder = out / "probe"
    assert (folder / "other.csv").read_bytes() == b"a,b\n1,2\n"
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "other.csv")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_fetches_only_the_selected_members(method: int, site: Publisher, tmp_path: Path) -> None:
    site.files[PATH] = zipped(MEMBERS, method)
    plans, outcome = run(site, tmp_path, "day=9..10")
    assert (outcome.fetched, outcome.failures) == (5, ())
    assert members_in(tmp_path) == SELECTED
    assert plans[0].missing_bytes == 0
    ranges = [(text or "").removeprefix("bytes=").split("-") for text in site.ranges(PATH)]
    assert 360_000 < sum(int(last) - int(first) + 1 for first, last in ranges) < 600_000
    assert len(ranges) < 40
    again = run(site, tmp_path, "day=9..10")[1]
    assert (again.fetched, again.kept) == (0, 5)


def test_fetching_all_requires_yes(site: Publisher, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"352\.0 GB would be downloaded for probe. Add --yes .* --only day="
    ):
        run(site, tmp_path)
    assert site.asked == []


def test_continues_after_dropped_connections(site: Publisher, tmp_path: Path) -> None:
    site.answers[PATH] = [
        publisher.cut(0),
        publisher.well,
        publisher.cut(5),
        publisher.well,
        publisher.cut(7000),
    ]
    assert run(site, tmp_path, "day=9..10")[1].failures == ()
    assert members_in(tmp_path) == SELECTED


def damaged(packing: int = zipfile.ZIP_STORED, **fields: bytes) -> bytes:
    """Return a zip with other values in the directory entry of BAD, or another first byte in its data."""
    offsets = {"version": 6, "flags": 8, "method": 10, "packed": 20, "size": 24, "at": 42}
    packed = bytearray(zipped(MEMBERS, packing))
    start = packed.rindex(BAD.encode()) - 46
    for field, value in fields.items():
        at = start + offsets[field]
        packed[at : at + len(value)] = value
    if not fields:
        packed[packed.index(BAD.encode()) + len(BAD)] = 7
    return bytes(packed)


def test_a_damaged_zip_stops_no_other_file(site: Publisher, tmp_path: Path) -> None:
    """Other members are fetched too if the directory can be read."""
    member = [BAD], [GOOD]
    archive = ["pods.zip"], []
    cases: dict[str, tuple[bytes, tuple[list[str], list[str]]]] = {
        "File is not a zip file": (b"no zip" * 50, archive),
        "zip file version 9.9": (damaged(version=b"\x63"), archive),
        "is encrypted": (damaged(flags=b"\1"), member),
        "method is not supported": (damaged(method=b"\x63"), member),
        "Bad CRC-32": (damaged(size=b"\5"), member),
        "Truncated file header": (damaged(at=b"\0\0\0\x7f"), member),
        "invalid block type": (damaged(zipfile.ZIP_DEFLATED), member),
        f"{BAD} has 90,000 bytes in it, which cannot unpack to 2,147,483,647": (
            damaged(size=b"\xff\xff\xff\x7f"),
            archive,
        ),
        f"size of {BAD} is impossible": (damaged(packed=b"\xff\xff\xff\x7f", size=b"\0"), archive),
        "a member without a valid path": (zipped({f"{'x' * 250}/{BAD}": b"x", GOOD: b"y"}), archive),
        f"it lists {BAD} twice": (zipped({f"/{BAD}": b"x", BAD: b"y"}), archive),
        "without a valid path": (zipped({f"../{BAD}": b"x", GOOD: b"y"}), archive),
    }
    failed = []
    for number, (what, (packed, expected)) in enumerate(cases.items()):
        site.files[PATH] = packed
        out = tmp_path / str(number)
        failures = run(site, out, "day=9")[1].failures
        is_named = all(what in str(each) and f"{site.url}{PATH}: " in str(each) for each in failures)
        if not is_named or ([each.path for each in failures], list(members_in(out))) != expected:
            failed.append((what, list(map(str, failures)), list(members_in(out))))
    assert failed == []


def test_refuses_wrong_ranges(site: Publisher, tmp_path: Path) -> None:
    def in_range(text: str) -> publisher.Answer:
        return publisher.says(b"x", 206, Content_Range=f"bytes {text}")

    cases = {
        "sends whole files only, so its members cannot be fetched alone": [publisher.whole()],
        "another range": [in_range("0-0/*"), in_range("5-5/9"), in_range("0-0/" + "9" * 5000)],
        "changed while it was fetched": [publisher.well, in_range(f"{len(site.files[PATH]) - 22}-9/99")],
        "the server sends more than 1 bytes": [
            publisher.sends(b"HTTP/1.1 206 Part\r\nContent-Range: bytes 0-0/9\r\n\r\n", b"x" * 100_000)
        ],
        "received 0 of 1": [publisher.says(b"", 206, Content_Range="bytes 0-0/9")] * 3,
    }
    for what, answers in non_empty(cases.items()):
        site.answers[PATH] = [*answers]
        [failure] = run(site, tmp_path, "day=9")[1].failures
        assert what in str(failure)
        assert members_in(tmp_path) == {}


def test_directory_has_a_limit(site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is a claim of the server."""
    monkeypatch.setattr("tracehouse.ingest.fetch.remote_zip._MOST_DIRECTORY_BYTES", 3000)
    [failure] = run(site, tmp_path, "day=9")[1].failures
    assert "its directory cannot be read (it has more than 3,000 bytes)" in str(failure)
    assert members_in(tmp_path) == {}
