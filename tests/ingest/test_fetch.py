"""Downloads from a server on loopback that fails in every way that real ones do."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import command_line
import publisher
import pytest
import requests
from filelock import FileLock
from publisher import Publisher
from typer.testing import CliRunner

from tracehouse import cli
from tracehouse.core.errors import UsageError, UserError
from tracehouse.ingest.declarations import Trace, all_traces
from tracehouse.ingest.discovery.packing import form_of
from tracehouse.ingest.discovery.raw_files import find
from tracehouse.ingest.discovery.synthetic import MARKER_NAME
from tracehouse.ingest.downloads import fetch, ledger, transfer
from tracehouse.ingest.downloads.ledger import Download
from tracehouse.ingest.downloads.web import Patience, PlaceError, Web

TRACES = list(all_traces().values())
# The others come by hand.
FETCHED = [trace for trace in TRACES if ledger.downloads(trace)]
QUICK = Patience(tries=3, pause_s=0.001, longest_pause_s=2, silence_s=20)
CONTENT = b"job_id,submission_time,duration,num_gpu\n" + b"1,0,600,1\n" * 30_000
OTHER = b"job_id,submission_time,duration,num_gpu\n" + b"2,9,700,8\n" * 25_000
PATH, URL = "/data/cluster01.csv", "https://publisher.example/data/cluster01.csv"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HOSTS = (
    "github.com",
    "media.githubusercontent.com",
    "huggingface.co",
    "aliopentrace.oss-cn-beijing.aliyuncs.com",
)


@pytest.fixture
def site() -> Iterator[Publisher]:
    with publisher.publishing() as running:
        running.files[PATH] = CONTENT
        yield running


def mirrors(site: Publisher) -> dict[str, str]:
    return {"publisher.example": site.url} | {host: f"{site.url}/{host}" for host in HOSTS}


def bring(
    site: Publisher,
    path: Path,
    size: int | None = None,
    sha256: str = "",
    url: str = URL,
    patience: Patience = QUICK,
    on_bytes: transfer.OnBytes = lambda *_: None,
) -> None:
    with requests.Session() as session:
        session.headers["Accept-Encoding"] = "identity"
        transfer.bring(Web(session, mirrors(site), patience), url, path, size, sha256, on_bytes)


def refused(site: Publisher, path: Path, **known: object) -> str:
    """What is said of a file that does not come; nothing is left under its name."""
    with pytest.raises(PlaceError) as error:
        bring(site, path, **known)  # type: ignore[arg-type]
    assert not path.exists()
    return str(error.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "itp" / "cluster01.csv"


def left_beside(path: Path) -> set[str]:
    return {other.name for other in path.parent.iterdir()} - {path.name}


# Ledgers.


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_every_trace_says_where_its_files_are_or_why_they_come_by_hand(trace: Trace) -> None:
    assert ledger.downloads(trace) or "by hand" in trace.download


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_a_ledger_names_files_of_the_trace_s_tables(trace: Trace) -> None:
    downloads = ledger.downloads(trace)
    assert len({download.path for download in downloads}) == len(downloads)
    for download in downloads:
        name = download.path.rpartition("/")[2]
        for url in (*download.urls, *download.parts):
            assert re.fullmatch(r"https://[a-z.-]+/[\w./*-]+", url)
            assert url.rpartition("/")[2].startswith(name)
        if download.cluster:
            assert name == "*.csv"
            continue
        stem = name.removesuffix(".header").removesuffix(".xz").removesuffix(".csv").removesuffix(".tar.gz")
        assert any(
            table.key_values(f"{stem}.csv") is not None or re.fullmatch(table.archive_stem or "$", stem)
            for table in trace.tables
        )
        assert form_of(name) or name.endswith(".header")


def test_every_table_has_a_file() -> None:
    """But for those of telemetry, which the server lists, and of traces that are fetched by hand."""
    for trace in FETCHED:
        names = [download.path.rpartition("/")[2] for download in ledger.downloads(trace)]
        for table in trace.tables:
            if not any(download.cluster for download in ledger.downloads(trace)):
                ours = [n for n in names if table.key_values(n.removesuffix(".xz")) is not None]
                ours += [
                    n for n in names if table.archive_stem and re.fullmatch(table.archive_stem + r"\..*", n)
                ]
                assert ours, f"{trace.name}.{table.name}"


def test_checksums_that_publishers_printed_are_those_of_the_files() -> None:
    downloads = ledger.downloads(all_traces()["pai"])
    assert len(downloads) == 14
    assert all(len(download.sha256) == 64 for download in downloads)
    assert sum(len(download.parts) for download in downloads) == 2 + 2 + 23 + 7 + 13


def test_sizes_are_those_of_the_real_files(real_raw: Path) -> None:
    compared = 0
    for trace in TRACES:
        for download in ledger.downloads(trace):
            real = real_raw / trace.name / download.path
            if real.is_file():
                assert download.bytes == real.stat().st_size, real
                compared += 1
    assert compared >= 20


# One file from one place.


def test_a_file_comes_whole(site: Publisher, path: Path) -> None:
    told: list[tuple[int, int]] = []
    bring(site, path, on_bytes=lambda *counted: told.append(counted))
    assert path.read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert left_beside(path) == set()
    [headers] = site.asked_for(PATH)
    assert headers["Accept-Encoding"] == "identity"


def test_a_cut_connection_goes_on_where_it_was(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.cut(70_000)]
    bring(site, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, "bytes=50000-", "bytes=120000-"]
    assert left_beside(path) == set()


def test_the_next_run_goes_on_where_the_last_gave_up(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(500), publisher.status(502)]
    assert "tried 3 times" in refused(site, path)
    assert left_beside(path) == {f"{path.name}.part", f".{path.name}.part.json"}
    bring(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH)[-1] == "bytes=50000-"


def test_who_comes_far_each_time_is_not_at_the_end_of_his_tries(site: Publisher, path: Path) -> None:
    content = CONTENT * 20
    site.files[PATH] = content
    site.answers[PATH] = [publisher.cut(1_100_000)] * 5
    bring(site, path)
    assert path.read_bytes() == content
    assert len(site.asked) == 6


def test_who_never_comes_further_gives_up(site: Publisher, path: Path) -> None:
    """A server that ignores ranges, and always cuts, gives its first bytes again and again."""

    def cut_whole(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag=publisher.etag(content))
        handler.wfile.write(content[:1_500_000])

    site.files[PATH] = CONTENT * 20
    site.answers[PATH] = [cut_whole] * 20
    assert "the connection broke off" in refused(site, path)
    assert len(site.asked) < 8


def test_a_server_that_ignores_ranges_begins_anew(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.whole()]
    bring(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, "bytes=50000-"]


def test_a_file_that_changed_in_between_is_begun_anew(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(500), publisher.status(500)]
    refused(site, path)
    site.files[PATH] = OTHER
    bring(site, path)
    assert path.read_bytes() == OTHER
    assert site.asked_for(PATH)[-1]["If-Range"] == publisher.etag(CONTENT)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Range": f"bytes 0-{len(CONTENT) - 50_001}/{len(CONTENT)}"},
        {"Content_Range": f"bytes 50000-{len(OTHER) - 1}/{len(OTHER)}"},
        {"Content_Range": f"bytes 50000-{len(CONTENT) - 1}/{len(CONTENT)}", "ETag": '"of another version"'},
        {"Content_Range": "nonsense"},
        {},
    ],
    ids=["another start", "another length", "another version", "no numbers", "none"],
)
def test_a_range_that_does_not_fit_is_not_taken(
    site: Publisher, path: Path, headers: dict[str, object]
) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.says(OTHER[50_000:], 206, **headers)]
    bring(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, "bytes=50000-", None]


def test_a_range_that_there_is_no_more_is_begun_anew(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(416)]
    bring(site, path)
    assert path.read_bytes() == CONTENT


def test_without_a_version_nothing_is_gone_on_with(site: Publisher, path: Path) -> None:
    """A weak ETag does not say that the bytes are the same."""

    def cut_unversioned(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag='W/"1"')
        handler.wfile.write(content[:50_000])

    site.answers[PATH] = [cut_unversioned]
    bring(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, None]


def test_a_date_is_a_version_too(site: Publisher, path: Path) -> None:
    date = "Mon, 02 Nov 2020 10:00:00 GMT"

    def cut_dated(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), Last_Modified=date)
        handler.wfile.write(content[:50_000])

    site.answers[PATH] = [cut_dated]
    bring(site, path)
    assert path.read_bytes() == CONTENT
    assert site.asked_for(PATH)[1]["If-Range"] == date


def test_the_beginning_from_another_place_is_not_gone_on_with(site: Publisher, path: Path) -> None:
    """Two servers may call different bytes by one name."""
    backup = "/data/backup.csv"
    site.files[backup] = OTHER
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(403)]
    refused(site, path)
    bring(site, path, url=URL.replace("cluster01", "backup"))
    assert path.read_bytes() == OTHER
    assert site.ranges(backup) == [None]


def test_what_has_come_whole_is_not_asked_for_again(site: Publisher, path: Path) -> None:
    """A run that was killed before the file got its name."""
    path.parent.mkdir()
    path.with_name(f"{path.name}.part").write_bytes(CONTENT)
    note = {"url": site.url + PATH, "validator": '"1"', "bytes": len(CONTENT)}
    path.with_name(f".{path.name}.part.json").write_text(json.dumps(note))
    bring(site, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert site.asked == []


@pytest.mark.parametrize("note", ["", "{}", "[1]", '{"url": 1}'])
def test_a_damaged_note_begins_anew(site: Publisher, path: Path, note: str) -> None:
    path.parent.mkdir()
    path.with_name(f"{path.name}.part").write_bytes(OTHER[:1000])
    path.with_name(f".{path.name}.part.json").write_text(note)
    bring(site, path)
    assert path.read_bytes() == CONTENT


def test_a_beginning_that_was_damaged_is_fetched_once_more(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(500), publisher.status(500)]
    refused(site, path, sha256=SHA256)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(b"!" + part.read_bytes()[1:])
    bring(site, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH)[-2:] == ["bytes=50000-", None]


def test_a_wrong_checksum_is_refused_and_removed(site: Publisher, path: Path) -> None:
    said = refused(site, path, sha256="0" * 64)
    assert said == f"{site.url}{PATH}: what came does not have the published checksum, and was removed"
    assert left_beside(path) == set()
    assert len(site.asked) == 1


def test_a_wrong_size_is_refused_before_it_comes(site: Publisher, path: Path) -> None:
    said = refused(site, path, size=5)
    assert said == f"{site.url}{PATH}: it has {len(CONTENT):,} bytes, not the 5 that are known of it"
    assert left_beside(path) == set()


def test_a_checksum_decides_where_a_size_is_hearsay(site: Publisher, path: Path) -> None:
    bring(site, path, size=5, sha256=SHA256)
    assert path.read_bytes() == CONTENT


def chunked(handler: publisher.Handler, content: bytes, ends: bool = True) -> None:
    """The file without its length in the head."""
    handler.head(200, Transfer_Encoding="chunked")
    for start in range(0, len(content), 60_000):
        block = content[start : start + 60_000]
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
    handler.wfile.write(b"0\r\n\r\n" if ends else b"")


def test_chunks_come_whole_or_are_tried_again(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [lambda handler, content: chunked(handler, content, ends=False), chunked]
    bring(site, path)
    assert path.read_bytes() == CONTENT
    site.files[PATH] = OTHER
    site.answers[PATH] = [chunked]
    path.unlink()
    assert f"{len(OTHER):,} bytes came, not the {len(CONTENT):,}" in refused(site, path, size=len(CONTENT))
    assert left_beside(path) == set()


def test_a_file_of_which_nobody_knows_the_length_is_refused(site: Publisher, path: Path) -> None:
    def endless(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200)
        handler.wfile.write(content)

    site.answers[PATH] = [endless]
    assert "does not say how long the file is" in refused(site, path)
    for known in ({"size": len(CONTENT)}, {"sha256": SHA256}):
        site.answers[PATH] = [endless]
        bring(site, path, **known)  # type: ignore[arg-type]
        assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("code", "what"),
    [(404, "not found (404)"), (403, "access is refused (403)"), (401, "it asks for a login (401)"),
     (418, "no file (418)")],
)  # fmt: skip
def test_a_refusal_is_not_tried_again(site: Publisher, path: Path, code: int, what: str) -> None:
    site.answers[PATH] = [publisher.status(code)]
    assert refused(site, path) == f"{site.url}{PATH}: {what}"
    assert len(site.asked) == 1


def test_a_busy_server_is_asked_again_when_it_says(
    site: Publisher, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    site.answers[PATH] = [publisher.status(429, Retry_After=2), publisher.status(503, Retry_After="soon")]
    bring(site, path)
    assert path.read_bytes() == CONTENT
    assert pauses == [2, 2 * QUICK.pause_s]


def test_who_is_told_to_wait_too_long_does_not(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.status(429, Retry_After=3600)]
    assert refused(site, path).endswith("the server is not ready (429); it asks to come back in 3,600 s")


@pytest.mark.parametrize("answer", [publisher.trickles, publisher.falls_silent])
def test_a_server_that_is_too_slow_is_left(site: Publisher, path: Path, answer: publisher.Answer) -> None:
    site.answers[PATH] = [answer]
    bring(site, path, patience=replace(QUICK, silence_s=0.3))
    assert path.read_bytes() == CONTENT
    assert len(site.asked) == 2


def test_a_server_that_is_not_there_is_named(site: Publisher, path: Path) -> None:
    with publisher.publishing() as gone:
        pass
    said = refused(gone, path)
    assert said.startswith(f"{gone.url}{PATH}: no connection (")
    assert said.endswith("refused); tried 3 times")


PAGE = b"<!DOCTYPE html><html><body>Quota exceeded</body></html>"


@pytest.mark.parametrize(
    ("name", "answer", "what"),
    [
        ("cluster01.csv", publisher.says(PAGE), "this is a web page"),
        ("cluster01.csv", publisher.says(b"Sorry.", Content_Type="text/html; charset=utf-8"), "a web page"),
        ("pai_job_table.tar.gz", publisher.says(PAGE), "this is a web page"),
        ("pai_job_table.tar.gz", publisher.says(CONTENT), "not a gzip"),
        ("pai_job_table.tar.gz.partaa", publisher.says(CONTENT), "not a gzip"),
        ("cluster01.csv", publisher.says(b""), "the file is empty"),
        (
            "cluster01.csv",
            publisher.says(gzip.compress(CONTENT), Content_Encoding="gzip"),
            "packs the file with gzip though it was not asked to",
        ),
    ],
)
def test_what_is_not_the_file_is_refused(
    site: Publisher, tmp_path: Path, name: str, answer: publisher.Answer, what: str
) -> None:
    path = tmp_path / name
    site.answers[PATH] = [answer]
    assert what in refused(site, path)
    assert left_beside(path) == set()


def test_an_archive_that_is_labelled_as_packed_stays_as_it_is(site: Publisher, tmp_path: Path) -> None:
    """Object storage says of a .tar.gz that it is a tar that was packed on the way."""
    packed = gzip.compress(CONTENT)
    site.files[PATH] = packed
    site.answers[PATH] = [publisher.whole(Content_Encoding="gzip")]
    bring(site, tmp_path / "x.tar.gz")
    assert (tmp_path / "x.tar.gz").read_bytes() == packed


def test_a_later_part_may_begin_with_anything(site: Publisher, tmp_path: Path) -> None:
    bring(site, tmp_path / "pai_job_table.tar.gz.partab")
    assert (tmp_path / "pai_job_table.tar.gz.partab").read_bytes() == CONTENT


def pointer(content: bytes) -> bytes:
    sha256 = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(content)}\n".encode()


def test_a_git_lfs_pointer_is_followed(site: Publisher, path: Path) -> None:
    url = "https://github.com/owner/repository/raw/HEAD/data/cluster01.csv"
    media = "/media.githubusercontent.com/media/owner/repository/HEAD/data/cluster01.csv"
    site.files["/github.com/owner/repository/raw/HEAD/data/cluster01.csv"] = pointer(CONTENT)
    site.files[media] = OTHER
    assert "does not have the published checksum" in refused(site, path, url=url)
    site.files[media] = CONTENT
    bring(site, path, url=url)
    assert path.read_bytes() == CONTENT
    assert left_beside(path) == set()


def test_a_git_lfs_pointer_elsewhere_is_named(site: Publisher, path: Path) -> None:
    site.files[PATH] = pointer(CONTENT)
    assert "this is a Git LFS pointer, not the data" in refused(site, path)
    assert left_beside(path) == set()


def test_a_full_disk_is_said_before_the_file_comes(
    site: Publisher, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(path.anchor)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"no room for it \(300,040 bytes are to come, and 1,000 are free\)"):
        bring(site, path)
    assert left_beside(path) == set()


# All files of traces.


def place_of(url: str) -> str:
    """Where a file lies on the site that stands for all publishers."""
    return "/" + url.removeprefix("https://")


@pytest.fixture
def published(site: Publisher, sample_raw: Path, monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """A site that holds a synthetic dump where the publishers hold their files, those of PAI in parts only.

    The ledgers hold what is true of these files, instead of what is of the publishers'.
    """
    true_ledgers = {trace.name: ledger.downloads(trace) for trace in TRACES}
    ours: dict[str, list[Download]] = {}
    for trace in TRACES:
        folder = sample_raw / trace.name
        ours[trace.name] = []
        for download in true_ledgers[trace.name]:
            if download.cluster:
                ours[trace.name].append(download)
                _hold_telemetry(site, folder, download)
                continue
            content = joined(folder / download.path)
            if not content:
                continue
            sha256 = hashlib.sha256(content).hexdigest() if trace.name == "pai" else ""
            ours[trace.name].append(replace(download, bytes=len(content), sha256=sha256))
            site.files[place_of(download.urls[0])] = content
            if download.parts:
                del site.files[place_of(download.urls[0])]
                step = -(-len(content) // len(download.parts))
                for number, part in enumerate(download.parts):
                    site.files[place_of(part)] = content[number * step : (number + 1) * step]
    monkeypatch.setattr(ledger, "downloads", lambda trace: tuple(ours[trace.name]))
    return site


def joined(path: Path) -> bytes:
    paths = [path] if path.is_file() else sorted(path.parent.glob(f"{path.name}.part*"))
    return b"".join(part.read_bytes() for part in paths)


def _hold_telemetry(site: Publisher, folder: Path, download: Download) -> None:
    """The files of a folder, and the Hub's list of them on two pages, with other things in it."""
    place = download.urls[0].rpartition("/")[0]
    in_hub = download.path.rpartition("/")[0]
    entries: list[dict[str, object]] = [
        {"type": "directory", "path": f"{in_hub}/old.csv", "size": 0, "oid": "1"},
        {"type": "file", "path": f"{in_hub}/.DS_Store", "size": 1, "oid": "2"},
    ]
    for path in sorted((folder / in_hub).glob("*.csv")):
        content = path.read_bytes()
        lfs = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        entries.append(
            {"type": "file", "path": f"{in_hub}/{path.name}", "size": len(content), "oid": "3", "lfs": lfs}
        )
        site.files[place_of(f"{place}/{path.name}")] = content
    listing = place_of(f"https://huggingface.co/api/datasets/Qinghao/AcmeTrace/tree/main/{in_hub}")
    following = f"{listing}?cursor=2".removeprefix("/huggingface.co")
    link = f'<https://huggingface.co{following}>; rel="next"'
    site.answers[listing] = [publisher.says(json.dumps(entries[:5]).encode(), Link=link)] * 9
    site.files[f"{listing}?cursor=2"] = json.dumps(entries[5:]).encode()


def run(site: Publisher, out: Path, *traces: str, **wish: object) -> tuple[fetch.Outcome, list[str]]:
    said: list[str] = []
    wished = fetch.Wish(out, traces, mirrors=mirrors(site), patience=QUICK, **wish)  # type: ignore[arg-type]
    with fetch.opened(wished) as web:
        plans = fetch.planned(wished, web)
        return fetch.fetch(plans, out, web, lambda *_: None, said.append), said


def test_what_was_fetched_is_what_an_ingest_reads(published: Publisher, tmp_path: Path) -> None:
    outcome, _ = run(published, tmp_path / "raw", metrics=["all"])
    assert outcome.failures == ()
    found = find([tmp_path / "raw"], TRACES, TRACES)
    assert (found.problems, found.unrecognised, found.documents) == ((), (), ())
    tables = {(claim.trace.name, claim.table.name) for claim in found.claims}
    assert tables == {(trace.name, table.name) for trace in FETCHED for table in trace.tables}


def test_a_second_run_fetches_nothing(published: Publisher, tmp_path: Path) -> None:
    first, _ = run(published, tmp_path, "pai", "itp")
    asked = len(published.asked)
    second, said = run(published, tmp_path, "pai", "itp")
    assert (second.fetched, second.kept) == (0, first.fetched)
    assert said == []
    assert len(published.asked) == asked


def test_parts_come_where_the_whole_does_not(published: Publisher, tmp_path: Path) -> None:
    folder = tmp_path / "pai" / "data"
    folder.mkdir(parents=True)
    (folder / "pai_instance_table.tar.gz.part").write_bytes(b"of the whole, when it was there")
    [instance] = [d for d in ledger.downloads(all_traces()["pai"]) if "instance_table.tar" in d.path]
    published.answers[place_of(instance.parts[20])] = [publisher.status(404)]
    outcome, _ = run(published, tmp_path, "pai")
    assert len(outcome.failures) == 1
    outcome, _ = run(published, tmp_path, "pai")
    assert len(published.asked_for(place_of(instance.parts[0]))) == 1
    assert not (folder / "pai_instance_table.tar.gz.part").exists()
    assert all(headers["Accept-Encoding"] == "identity" for _, headers in published.asked)
    assert len(list(folder.glob("pai_instance_table.tar.gz.part*"))) == 23
    assert not (folder / "pai_instance_table.tar.gz").exists()
    assert (folder / "pai_task_table.tar.gz").is_file()


def test_parts_that_together_are_not_the_file_are_removed(published: Publisher, tmp_path: Path) -> None:
    [job] = [d for d in ledger.downloads(all_traces()["pai"]) if "job_table.tar" in d.path]
    published.files[place_of(job.parts[1])] += b"!"
    outcome, _ = run(published, tmp_path, "pai")
    [failure] = outcome.failures
    assert (failure.trace.name, failure.path) == ("pai", "data/pai_job_table.tar.gz")
    whole, parts = failure.problems
    assert "not found (404)" in whole
    assert "the parts together do not have the published checksum" in parts
    assert not list((tmp_path / "pai" / "data").glob("pai_job_table.tar*"))


def test_a_file_that_is_not_the_published_one_is_set_aside(published: Publisher, tmp_path: Path) -> None:
    run(published, tmp_path, "pai", "itp")
    sized = tmp_path / "itp" / "data" / "raw-traces.tar.gz"
    summed = tmp_path / "pai" / "data" / "pai_job_table.header"
    true = [sized.read_bytes(), summed.read_bytes()]
    sized.write_bytes(b"cut")
    summed.write_bytes(b"!" + true[1][1:])
    outcome, said = run(published, tmp_path, "pai", "itp")
    assert outcome.fetched == 2
    assert [sized.read_bytes(), summed.read_bytes()] == true
    assert sized.with_name("raw-traces.tar.gz.wrong").read_bytes() == b"cut"
    assert len([line for line in said if "is not the published file" in line]) == 2


def test_a_pointer_that_lies_there_is_not_the_file(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a clone without Git LFS leaves it, of a file whose size is not known."""
    downloads = [replace(d, bytes=None) for d in ledger.downloads(all_traces()["acme"]) if not d.cluster]
    monkeypatch.setattr(ledger, "downloads", lambda _: tuple(downloads))
    path = tmp_path / "acme" / downloads[-1].path
    path.parent.mkdir(parents=True)
    path.write_bytes(pointer(CONTENT))
    outcome, said = run(published, tmp_path, "acme")
    assert (outcome.fetched, outcome.kept) == (3, 0)
    assert "is not the published file: it is trace_seren.csv.wrong now" in "".join(said)
    assert run(published, tmp_path, "acme")[0].kept == 3


def test_one_that_fails_stops_none_of_the_others(published: Publisher, tmp_path: Path) -> None:
    first, second = ledger.downloads(all_traces()["itp"])
    published.answers[place_of(first.urls[0])] = [publisher.status(403)]
    outcome, said = run(published, tmp_path, "itp")
    assert (outcome.fetched, len(outcome.failures)) == (1, 1)
    assert said[0] == f"itp/{first.path}: failed"
    assert said[1].startswith(f"itp/{second.path}: ")
    place = f"{published.url}{place_of(first.urls[0])}"
    assert list(map(str, outcome.failures)) == [
        f"itp/{first.path} did not come\n    {place}: access is refused (403)"
    ]


def test_the_backup_is_asked_where_the_first_place_fails(published: Publisher, tmp_path: Path) -> None:
    downloads = ledger.downloads(all_traces()["acme"])
    [summary] = [download for download in downloads if "summary" in download.path]
    content = published.files.pop(place_of(summary.urls[0]))
    published.files[place_of(summary.urls[1])] = content
    outcome, _ = run(published, tmp_path, "acme")
    assert outcome.failures == ()
    assert (tmp_path / "acme" / summary.path).read_bytes() == content


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")}


def test_telemetry_comes_only_when_asked_for(published: Publisher, tmp_path: Path) -> None:
    jobs = {"data/cluster_summary.csv", "data/job_trace/trace_kalos.csv", "data/job_trace/trace_seren.csv"}
    run(published, tmp_path / "none", "acme")
    assert files_in(tmp_path / "none" / "acme") == jobs
    assert not [path for path, _ in published.asked if "/api/" in path]

    run(published, tmp_path / "some", "acme", metrics=["GPU_TEMP", "CPU_D_Power"])
    assert files_in(tmp_path / "some" / "acme") - jobs == {
        "data/utilization/ipmi/CPU_D_Power.csv",
        "data/utilization/kalos/GPU_TEMP-2023-07.csv",
        "data/utilization/kalos/GPU_TEMP-2023-08.csv",
        "data/utilization/seren/GPU_TEMP.csv",
    }
    run(published, tmp_path / "kalos", "acme", metrics=["GPU_UTIL"], clusters=["kalos"])
    assert files_in(tmp_path / "kalos" / "acme") - jobs == {"data/utilization/kalos/GPU_UTIL.csv"}

    run(published, tmp_path / "cluster", "acme", clusters=["kalos"])
    folders = {Path(name).parent.name for name in files_in(tmp_path / "cluster" / "acme") - jobs}
    assert folders == {"kalos"}


@pytest.mark.parametrize(
    ("traces", "wish", "what"),
    [
        (["nope"], {}, "no trace is called nope"),
        (["acme"], {"metrics": ["NOPE"]}, "no telemetry is called NOPE. Known: CPU_D_Power, DRAM_ACTIVE"),
        (["acme"], {"clusters": ["nope"]}, "no cluster with telemetry is called nope. Known: kalos, seren"),
        (["itp"], {"metrics": ["GPU_UTIL"]}, "none of these traces has telemetry"),
    ],
)
def test_what_there_is_not_cannot_be_wished(
    published: Publisher, tmp_path: Path, traces: list[str], wish: dict, what: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(what)):
        run(published, tmp_path, *traces, **wish)


@pytest.mark.parametrize(
    "listing", [b"[]", b"{}", b'["x"]', b'[{"type": "file"}]', b"<html>", b'{"error": "gone"}']
)
def test_a_list_of_telemetry_that_is_none_is_refused(site: Publisher, tmp_path: Path, listing: bytes) -> None:
    site.files["/huggingface.co/api/datasets/Qinghao/AcmeTrace/tree/main/data/utilization/kalos"] = listing
    with pytest.raises(PlaceError, match=r"api/datasets.*: (it lists no \*\.csv|it is no list)"):
        run(site, tmp_path, "acme", clusters=["kalos"])


def test_nothing_is_fetched_where_there_is_no_room(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"to be fetched, and .* has room for 10 bytes: nothing was fetched"):
        run(published, tmp_path / "raw", "itp")
    assert not (tmp_path / "raw").exists()


def test_what_has_come_needs_no_room(published: Publisher, tmp_path: Path) -> None:
    def needed() -> int:
        wish = fetch.Wish(tmp_path, ["itp"], mirrors=mirrors(published), patience=QUICK)
        with fetch.opened(wish) as web:
            return fetch.planned(wish, web)[0].missing_bytes

    first, second = ledger.downloads(all_traces()["itp"])
    before = needed()
    assert before == (first.bytes or 0) + (second.bytes or 0)
    published.answers[place_of(first.urls[0])] = [publisher.cut(2000)] + [publisher.status(500)] * 2
    published.answers[place_of(second.urls[0])] = [publisher.status(404)]
    run(published, tmp_path, "itp")
    assert needed() == before - 2000


def test_a_synthetic_sample_is_not_mixed_with_the_real_thing(published: Publisher, tmp_path: Path) -> None:
    (tmp_path / "itp").mkdir()
    (tmp_path / "itp" / MARKER_NAME).touch()
    with pytest.raises(UserError, match="is a synthetic sample, and what lies in it counts as synthetic"):
        run(published, tmp_path, "itp")


def test_two_do_not_fetch_to_one_folder(published: Publisher, tmp_path: Path) -> None:
    with FileLock(tmp_path / ".fetch.lock"), pytest.raises(UserError, match="another `traces fetch`"):
        run(published, tmp_path, "itp")


def test_a_host_that_is_not_reached_costs_patience_once(tmp_path: Path) -> None:
    with publisher.publishing() as gone:
        pass
    outcome, _ = run(gone, tmp_path, "itp", "dlrm")
    assert [re.findall(r"tried (\d)", str(failure)) for failure in outcome.failures] == [["3"], ["1"], ["1"]]


def test_the_page_says_how_much_there_is() -> None:
    downloads = [download for trace in TRACES for download in ledger.downloads(trace) if not download.cluster]
    known = sum(download.bytes or 0 for download in downloads) / 1e9
    unknown = len([download for download in downloads if download.bytes is None])
    page = (Path(__file__).parents[2] / "docs" / "fetch.md").read_text()
    assert f"{known:.1f} GB of known size and {unknown} files of unknown size" in page


# The command.


def options(site: Publisher) -> list[str]:
    return [f"--mirror={host}={url}" for host, url in mirrors(site).items()]


@pytest.fixture
def real_site(site: Publisher, real_raw: Path) -> Publisher:
    for name in ("itp", "dlrm"):
        for download in ledger.downloads(all_traces()[name]):
            site.files[place_of(download.urls[0])] = (real_raw / name / download.path).read_bytes()
    return site


def test_the_command_fetches_what_an_ingest_then_reads(real_site: Publisher, tmp_path: Path) -> None:
    fetched = command_line.server().run("fetch", "itp", "dlrm", *options(real_site), cwd=tmp_path)
    assert fetched.faults() == []
    lines = fetched.stdout.splitlines()
    assert "itp: ElasticFlow traces of Microsoft's ITP clusters (2021), from https://github.com/" in lines[0]
    assert "  2 files, 4.5 MB" in lines
    assert "  licence: MIT" in lines
    assert any(line.startswith("  cite: Diandian Gu") for line in lines)
    assert "itp/data/raw-traces.tar.gz: 1.9 MB" in lines
    assert lines[-1] == "3 fetched, 0 there already. Read them with: traces ingest --raw raw"
    again = command_line.server().run("fetch", "itp", "dlrm", *options(real_site), cwd=tmp_path)
    assert again.stdout.splitlines()[-1].startswith("0 fetched, 3 there already.")
    ingested = command_line.server().run("ingest", "--raw", "raw", cwd=tmp_path)
    assert "itp.raw_job: 69,351 rows from 1 file" in ingested.stdout
    assert "dlrm.instance: 23,871 rows from 1 file" in ingested.stdout


def test_the_pages_commands_fetch_what_they_say(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of docs/fetch.md, in this process: the ledgers are those of what the site holds."""
    page = (Path(__file__).parents[2] / "docs" / "fetch.md").read_text()
    monkeypatch.chdir(tmp_path)
    for command in re.findall(r"^    traces (.*)$", page, re.M):
        name, *words = command.split()
        more = options(published) if name == "fetch" else []
        done = CliRunner().invoke(cli.app, [name, *words, *more])
        assert done.exit_code == 0, (command, done.output, done.exception)
    assert {path.name for path in (tmp_path / "raw").iterdir() if path.is_dir()} == {"acme", "itp", "zeus"}
    telemetry = {path.name.partition(".")[0] for path in (tmp_path / "raw").rglob("utilization/kalos/*.csv")}
    assert {"POWER_USAGE", "GPU_UTIL"} < telemetry
    assert (tmp_path / "warehouse" / "traces.duckdb").is_file()


def test_the_command_says_what_failed(site: Publisher, tmp_path: Path) -> None:
    ended = command_line.server().run("fetch", "itp", *options(site), cwd=tmp_path)
    assert ended.code == 1
    assert len(ended.errors) == 3
    homepage = all_traces()["itp"].homepage
    first, second = (download.urls[0] for download in ledger.downloads(all_traces()["itp"]))
    assert ended.stderr.splitlines() == [
        "error: itp/data/raw-traces.tar.gz did not come",
        f"    {site.url}{place_of(first)}: not found (404)",
        "error: itp/data/elasticflow-traces.tar.gz did not come",
        f"    {site.url}{place_of(second)}: not found (404)",
        "error: 2 of 2 files were not fetched. Run it again to go on, or fetch them by hand:",
        f"    itp: {homepage}",
    ]


def test_a_dry_run_asks_nobody_and_writes_nothing(site: Publisher, tmp_path: Path) -> None:
    ended = command_line.server().run("fetch", "--dry-run", *options(site), cwd=tmp_path)
    assert ended.faults([0]) == []
    assert site.asked == []
    assert list(tmp_path.iterdir()) == []
    assert "  without its telemetry, which --metric and --cluster ask for" in ended.stdout
    for trace in TRACES:
        assert f"{trace.name}: {trace.title}, from {trace.homepage}\n" in ended.stdout
        if trace not in FETCHED:
            assert f"  not fetched: {trace.download}\n" in ended.stdout
            continue
        assert f"  licence: {trace.licence}\n  cite: {trace.citation}\n" in ended.stdout
        for download in ledger.downloads(trace):
            assert download.cluster or download.urls[0] in ended.stdout


def test_a_dry_run_without_a_network_says_what_is_known(tmp_path: Path) -> None:
    with publisher.publishing() as gone:
        pass
    wish = ("fetch", "acme", "--metric", "POWER_USAGE", "--cluster", "kalos", *options(gone))
    ended = command_line.server().run(*wish, "--dry-run", cwd=tmp_path)
    assert ended.faults([0]) == []
    acme = all_traces()["acme"]
    for download in ledger.downloads(acme):
        assert (download.urls[0] in ended.stdout) is (download.cluster in ("", "kalos"))
    assert f"  licence: {acme.licence}\n" in ended.stdout
    assert "data/utilization/kalos/*.csv, not listed now: https://huggingface.co/" in ended.stdout
    assert ended.stdout.count("no connection") == 1 and "tried 1 time\n" in ended.stdout
    assert list(tmp_path.iterdir()) == []
    wished = command_line.server().run("fetch", "acme", "--cluster", "none", "--dry-run", cwd=tmp_path)
    assert wished.code == 2


def test_a_mirror_without_a_host_is_wrong_usage(tmp_path: Path) -> None:
    ended = command_line.server().run("fetch", "--mirror", "http://here", cwd=tmp_path)
    assert ended.code == 2
    assert ended.errors == ["error: a mirror is written HOST=URL, not 'http://here'"]


def test_ctrl_c_leaves_what_has_come_for_the_next_time(real_site: Publisher, tmp_path: Path) -> None:
    first, _ = ledger.downloads(all_traces()["itp"])
    place = place_of(first.urls[0])

    def until_interrupted(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag=publisher.etag(content))
        handler.wfile.write(content[:500_000])
        handler.publisher.closing.wait(60)

    real_site.answers[place] = [until_interrupted]
    arguments = ["fetch", "itp", *options(real_site)]
    part = tmp_path / "raw" / "itp" / f"{first.path}.part"
    with subprocess.Popen([command_line.TRACES, *arguments], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        wait_until(lambda: part.exists() and part.stat().st_size == 500_000, process)
        process.send_signal(2)
        assert process.wait() == 130
    ended = command_line.server().run(*arguments, cwd=tmp_path)
    assert ended.faults([0]) == []
    assert real_site.ranges(place) == [None, "bytes=500000-"]


def wait_until(holds: Callable[[], bool], process: subprocess.Popen) -> None:
    """Wait until something holds, as long as the process runs."""
    while not holds():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)


def test_a_disk_that_fills_up_is_named_and_keeps_what_came(real_site: Publisher, tmp_path: Path) -> None:
    arguments = ["fetch", "itp", *options(real_site)]
    ended = command_line.server().run(*arguments, cwd=tmp_path, largest_file_bytes=2_000_000)
    assert ended.faults() == []
    assert len(ended.errors) == 2
    part = "raw/itp/data/elasticflow-traces.tar.gz.part"
    assert f"the disk has no room for it (File too large). What came stays in {part}" in ended.stderr
    assert (tmp_path / part).stat().st_size == 2_000_000
    assert command_line.server().run(*arguments, cwd=tmp_path).faults([0]) == []
    _, second = ledger.downloads(all_traces()["itp"])
    assert real_site.ranges(place_of(second.urls[0])) == [None, "bytes=2000000-"]


def test_without_its_package_it_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['requests'] = None; sys.argv = ['traces', 'fetch', '--dry-run'];"
        "from tracehouse.cli import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr == (
        "error: downloads need requests, which is not installed. It comes with the extra fetch: "
        "pip install '.[fetch]' in the clone of Tracehouse\n"
    )
