"""Members of a zip on a server are fetched by ranges, without the rest of it."""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import publisher
import pytest
from few_files import quiet, zipped
from publisher import Publisher

from tracehouse.core.errors import UsageError, UserError
from tracehouse.ingest.declarations import Column, Table, Trace
from tracehouse.ingest.downloads import fetch, locations, plan
from tracehouse.ingest.downloads.fetch import Outcome
from tracehouse.ingest.downloads.http import RetryPolicy, SourceError, open_client
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
# Incompressible, so that deflated members have some bytes too.
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


def run(site: Publisher, out: Path, *only: str) -> tuple[list[Plan], Outcome]:
    mirrors = {"publisher.example": site.url}
    policy = RetryPolicy(attempts=3, pause_s=0.001, longest_pause_s=2, silence_s=20)
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
    again = run(site, tmp_path, "day=9..10")[1]
    assert (again.fetched, again.kept) == (0, 4)


def test_asks_before_fetching_all(site: Publisher, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"352\.0 GB would be downloaded for probe. Add --yes .* --only day="
    ):
        run(site, tmp_path)
    assert site.asked == []


def test_refuses_a_server_without_ranges(site: Publisher, tmp_path: Path) -> None:
    site.answers[PATH] = [publisher.whole()]
    with pytest.raises(SourceError, match=r"sends whole files only.*without --only"):
        run(site, tmp_path, "day=9")
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


def test_a_later_run_fetches_what_an_interrupted_one_left(
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


def test_refuses_a_file_that_is_no_zip(site: Publisher, tmp_path: Path) -> None:
    site.files[PATH] = b"no zip" * 50
    with pytest.raises(UserError, match="its directory is damaged"):
        run(site, tmp_path, "day=9")
