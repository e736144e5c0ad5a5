"""Downloads from a server on loopback with the faults of real servers."""

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
from counting import non_empty
from few_files import zipped
from filelock import FileLock
from publisher import Publisher
from typer.testing import CliRunner

from tracehouse import cli
from tracehouse.core.errors import UsageError, UserError
from tracehouse.ingest.declarations import Trace, all_traces
from tracehouse.ingest.discovery.claims import find
from tracehouse.ingest.discovery.packing import form_of
from tracehouse.ingest.discovery.synthetic import MARKER_NAME
from tracehouse.ingest.downloads import fetch, locations
from tracehouse.ingest.downloads.download import OnBytes, download_file
from tracehouse.ingest.downloads.http import RetryPolicy, SourceError, open_client
from tracehouse.ingest.downloads.locations import Download
from tracehouse.ingest.downloads.plan import FetchRequest, plan_downloads

DOCS = Path(__file__).parents[3] / "docs"
TRACES = list(all_traces().values())
# Users download the others by hand.
FETCHED = [trace for trace in TRACES if locations.downloads(trace)]
QUICK = RetryPolicy(attempts=3, pause_s=0.001, longest_pause_s=2, silence_s=20)
CONTENT = b"job_id,submission_time,duration,num_gpu\n" + b"1,0,600,1\n" * 30_000
OTHER = b"job_id,submission_time,duration,num_gpu\n" + b"2,9,700,8\n" * 25_000
PATH, URL = "/data/cluster01.csv", "https://publisher.example/data/cluster01.csv"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HOSTS = (
    "github.com",
    "media.githubusercontent.com",
    "huggingface.co",
    "aliopentrace.oss-cn-beijing.aliyuncs.com",
    "tre-clusterdata.oss-cn-hangzhou.aliyuncs.com",
)


@pytest.fixture
def site() -> Iterator[Publisher]:
    with publisher.publishing() as running:
        running.files[PATH] = CONTENT
        yield running


def mirrors(site: Publisher) -> dict[str, str]:
    return {"publisher.example": site.url} | {host: f"{site.url}/{host}" for host in HOSTS}


def download(
    site: Publisher,
    path: Path,
    size: int | None = None,
    sha256: str = "",
    url: str = URL,
    policy: RetryPolicy = QUICK,
    on_bytes: OnBytes = lambda *_: None,
) -> None:
    with open_client(mirrors(site), policy) as client:
        download_file(client, url, path, size, sha256, on_bytes)


def error_of(site: Publisher, path: Path, **known: object) -> str:
    """Return the error of a failing download, which must leave no file of this name."""
    with pytest.raises(SourceError) as error:
        download(site, path, **known)  # type: ignore[arg-type]
    assert not path.exists()
    return str(error.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "itp" / "cluster01.csv"


def other_files(path: Path) -> set[str]:
    return {other.name for other in path.parent.iterdir()} - {path.name}


# Ledgers.


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_every_trace_has_download_locations_or_instructions(trace: Trace) -> None:
    assert locations.downloads(trace) or "by hand" in trace.download


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_locations_name_files_of_the_tables(trace: Trace) -> None:
    downloads = locations.downloads(trace)
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
        stem = stem.removesuffix(".zip")
        assert any(
            table.key_values(f"{stem}.csv") is not None or re.fullmatch(table.archive_stem or "$", stem)
            for table in trace.tables
        )
        assert form_of(name) or name.endswith(".header")


def test_every_table_has_a_location() -> None:
    """Telemetry is an exception, because the server lists its files; so are traces that users download."""
    for trace in non_empty(FETCHED):
        names = [download.path.rpartition("/")[2] for download in locations.downloads(trace)]
        for table in non_empty(trace.tables):
            if not any(download.cluster for download in locations.downloads(trace)):
                ours = [n for n in names if table.key_values(n.removesuffix(".xz")) is not None]
                ours += [
                    n for n in names if table.archive_stem and re.fullmatch(table.archive_stem + r"\..*", n)
                ]
                assert ours, f"{trace.name}.{table.name}"


def test_published_checksums_reach_downloads() -> None:
    downloads = locations.downloads(all_traces()["pai"])
    assert len(downloads) == 14
    assert all(len(download.sha256) == 64 for download in downloads)
    assert sum(len(download.parts) for download in downloads) == 2 + 2 + 23 + 7 + 13


def test_sizes_match_real_files(real_raw: Path) -> None:
    compared = 0
    for trace in TRACES:
        for download in locations.downloads(trace):
            real = real_raw / trace.name / download.path
            if real.is_file():
                assert download.bytes == real.stat().st_size, real
                compared += 1
    assert compared >= 20


# One file from one place.


def test_downloads_file_atomically(site: Publisher, path: Path) -> None:
    reported: list[tuple[int, int]] = []
    download(site, path, on_bytes=lambda *counted: reported.append(counted))
    assert path.read_bytes() == CONTENT
    assert reported[-1] == (len(CONTENT), len(CONTENT))
    assert other_files(path) == set()
    [headers] = site.asked_for(PATH)
    assert headers["Accept-Encoding"] == "identity"


def test_resumes_after_cut_connection(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.cut(70_000)]
    download(site, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, "bytes=50000-", "bytes=120000-"]
    assert other_files(path) == set()


def test_next_run_resumes(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(500), publisher.status(502)]
    assert "tried 3 times" in error_of(site, path)
    assert other_files(path) == {f"{path.name}.part", f".{path.name}.part.json"}
    download(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH)[-1] == "bytes=50000-"


def test_progress_resets_attempts(site: Publisher, path: Path) -> None:
    content = CONTENT * 20
    site.files[PATH] = content
    site.answers[PATH] = [publisher.cut(1_100_000)] * 5
    download(site, path)
    assert path.read_bytes() == content
    assert len(site.asked) == 6


def test_gives_up_without_progress(site: Publisher, path: Path) -> None:
    """A server that ignores ranges and cuts each response sends the first bytes of the file repeatedly."""

    def cut_whole(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag=publisher.etag(content))
        handler.wfile.write(content[:1_500_000])

    site.files[PATH] = CONTENT * 20
    site.answers[PATH] = [cut_whole] * 20
    assert "the connection broke off" in error_of(site, path)
    assert len(site.asked) < 8


def test_restarts_when_server_ignores_range(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.whole()]
    download(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, "bytes=50000-"]


def test_restarts_when_file_changed(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(500), publisher.status(500)]
    error_of(site, path)
    site.files[PATH] = OTHER
    download(site, path)
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
def test_rejects_wrong_range(site: Publisher, path: Path, headers: dict[str, object]) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.says(OTHER[50_000:], 206, **headers)]
    download(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, "bytes=50000-", None]


def test_restarts_when_range_is_not_satisfiable(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(416)]
    download(site, path)
    assert path.read_bytes() == CONTENT


def test_weak_etag_is_not_resumed(site: Publisher, path: Path) -> None:
    """A weak ETag does not guarantee equal bytes."""

    def cut_unversioned(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag='W/"1"')
        handler.wfile.write(content[:50_000])

    site.answers[PATH] = [cut_unversioned]
    download(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH) == [None, None]


def test_last_modified_is_resumed(site: Publisher, path: Path) -> None:
    date = "Mon, 02 Nov 2020 10:00:00 GMT"

    def cut_dated(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), Last_Modified=date)
        handler.wfile.write(content[:50_000])

    site.answers[PATH] = [cut_dated]
    download(site, path)
    assert path.read_bytes() == CONTENT
    assert site.asked_for(PATH)[1]["If-Range"] == date


def test_partial_file_of_another_url_is_not_resumed(site: Publisher, path: Path) -> None:
    """Two servers may have different files with the same name."""
    backup = "/data/backup.csv"
    site.files[backup] = OTHER
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(403)]
    error_of(site, path)
    download(site, path, url=URL.replace("cluster01", "backup"))
    assert path.read_bytes() == OTHER
    assert site.ranges(backup) == [None]


def test_complete_partial_file_is_not_requested_again(site: Publisher, path: Path) -> None:
    """The previous run was killed before it renamed the file."""
    path.parent.mkdir()
    path.with_name(f"{path.name}.part").write_bytes(CONTENT)
    note = {"url": site.url + PATH, "validator": '"1"', "bytes": len(CONTENT)}
    path.with_name(f".{path.name}.part.json").write_text(json.dumps(note))
    download(site, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert site.asked == []


@pytest.mark.parametrize("note", ["", "{}", "[1]", '{"url": 1}'])
def test_damaged_version_record_restarts(site: Publisher, path: Path, note: str) -> None:
    path.parent.mkdir()
    path.with_name(f"{path.name}.part").write_bytes(OTHER[:1000])
    path.with_name(f".{path.name}.part.json").write_text(note)
    download(site, path)
    assert path.read_bytes() == CONTENT


def test_damaged_partial_file_is_fetched_again(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(500), publisher.status(500)]
    error_of(site, path, sha256=SHA256)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(b"!" + part.read_bytes()[1:])
    download(site, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH)[-2:] == ["bytes=50000-", None]


def test_wrong_checksum_is_removed(site: Publisher, path: Path) -> None:
    error = error_of(site, path, sha256="0" * 64)
    assert (
        error == f"{site.url}{PATH}: the received file does not have the published checksum and was removed"
    )
    assert other_files(path) == set()
    assert len(site.asked) == 1


def test_wrong_size_is_refused_before_transfer(site: Publisher, path: Path) -> None:
    error = error_of(site, path, size=5)
    assert error == f"{site.url}{PATH}: it has {len(CONTENT):,} bytes instead of the expected 5"
    assert other_files(path) == set()


def test_checksum_overrides_size(site: Publisher, path: Path) -> None:
    download(site, path, size=5, sha256=SHA256)
    assert path.read_bytes() == CONTENT


def chunked(handler: publisher.Handler, content: bytes, ends: bool = True) -> None:
    """Send the file without Content-Length."""
    handler.head(200, Transfer_Encoding="chunked")
    for start in range(0, len(content), 60_000):
        block = content[start : start + 60_000]
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
    handler.wfile.write(b"0\r\n\r\n" if ends else b"")


def test_incomplete_chunked_response_is_retried(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [lambda handler, content: chunked(handler, content, ends=False), chunked]
    download(site, path)
    assert path.read_bytes() == CONTENT
    site.files[PATH] = OTHER
    site.answers[PATH] = [chunked]
    path.unlink()
    assert f"received {len(OTHER):,} bytes instead of the expected {len(CONTENT):,}" in error_of(
        site, path, size=len(CONTENT)
    )
    assert other_files(path) == set()


def test_rejects_unknown_length(site: Publisher, path: Path) -> None:
    def endless(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200)
        handler.wfile.write(content)

    site.answers[PATH] = [endless]
    assert "the server does not send the length" in error_of(site, path)
    for known in ({"size": len(CONTENT)}, {"sha256": SHA256}):
        site.answers[PATH] = [endless]
        download(site, path, **known)  # type: ignore[arg-type]
        assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("code", "what"),
    [(404, "not found (404)"), (403, "access is refused (403)"), (401, "it asks for a login (401)"),
     (418, "no file (418)")],
)  # fmt: skip
def test_refusal_is_not_retried(site: Publisher, path: Path, code: int, what: str) -> None:
    site.answers[PATH] = [publisher.status(code)]
    assert error_of(site, path) == f"{site.url}{PATH}: {what}"
    assert len(site.asked) == 1


def test_honours_retry_after(site: Publisher, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    site.answers[PATH] = [publisher.status(429, Retry_After=2), publisher.status(503, Retry_After="soon")]
    download(site, path)
    assert path.read_bytes() == CONTENT
    assert pauses == [2, 2 * QUICK.pause_s]


def test_gives_up_on_long_retry_after(site: Publisher, path: Path) -> None:
    site.answers[PATH] = [publisher.status(429, Retry_After=3600)]
    assert error_of(site, path).endswith("the server is not ready (429); the server asks to wait 3,600 s")


@pytest.mark.parametrize("answer", [publisher.trickles, publisher.falls_silent])
def test_retries_slow_server(site: Publisher, path: Path, answer: publisher.Answer) -> None:
    site.answers[PATH] = [answer]
    download(site, path, policy=replace(QUICK, silence_s=0.3))
    assert path.read_bytes() == CONTENT
    assert len(site.asked) == 2


def test_names_unreachable_server(site: Publisher, path: Path) -> None:
    with publisher.publishing() as gone:
        pass
    error = error_of(gone, path)
    assert error.startswith(f"{gone.url}{PATH}: no connection to 127.0.0.1:")
    assert error.endswith("refused). Check the network and the proxy")


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
            "compresses the file with gzip, which was not requested",
        ),
    ],
)
def test_refuses_other_content(
    site: Publisher, tmp_path: Path, name: str, answer: publisher.Answer, what: str
) -> None:
    path = tmp_path / name
    site.answers[PATH] = [answer]
    assert what in error_of(site, path)
    assert other_files(path) == set()


def test_archive_with_content_encoding_is_kept_as_sent(site: Publisher, tmp_path: Path) -> None:
    """Object storage sends a .tar.gz as a tar with the content encoding gzip."""
    packed = gzip.compress(CONTENT)
    site.files[PATH] = packed
    site.answers[PATH] = [publisher.whole(Content_Encoding="gzip")]
    download(site, tmp_path / "x.tar.gz")
    assert (tmp_path / "x.tar.gz").read_bytes() == packed


def test_later_part_may_start_with_any_bytes(site: Publisher, tmp_path: Path) -> None:
    download(site, tmp_path / "pai_job_table.tar.gz.partab")
    assert (tmp_path / "pai_job_table.tar.gz.partab").read_bytes() == CONTENT


def pointer(content: bytes) -> bytes:
    sha256 = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(content)}\n".encode()


def test_follows_git_lfs_pointer(site: Publisher, path: Path) -> None:
    url = "https://github.com/owner/repository/raw/HEAD/data/cluster01.csv"
    media = "/media.githubusercontent.com/media/owner/repository/HEAD/data/cluster01.csv"
    site.files["/github.com/owner/repository/raw/HEAD/data/cluster01.csv"] = pointer(CONTENT)
    site.files[media] = OTHER
    assert "does not have the published checksum" in error_of(site, path, url=url)
    site.files[media] = CONTENT
    download(site, path, url=url)
    assert path.read_bytes() == CONTENT
    assert other_files(path) == set()


def test_refuses_git_lfs_pointer_outside_github(site: Publisher, path: Path) -> None:
    site.files[PATH] = pointer(CONTENT)
    assert "this is a Git LFS pointer, not the data" in error_of(site, path)
    assert other_files(path) == set()


def test_reports_full_disk_before_transfer(
    site: Publisher, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(path.anchor)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"does not fit on the disk \(300,040 bytes needed, 1,000 free\)"):
        download(site, path)
    assert other_files(path) == set()


def test_file_of_unknown_size_leaves_half_of_the_disk(
    site: Publisher, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(path.anchor)._replace(free=200_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    site.answers[PATH] = [chunked]
    assert "the server sends more than 100,000 bytes" in error_of(site, path)
    assert other_files(path) == set()


# All files of traces.


def path_of(url: str) -> str:
    """Return the path of a publisher's file on the local server."""
    return "/" + url.removeprefix("https://")


@pytest.fixture
def published(site: Publisher, sample_raw: Path, monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """A server with a synthetic dump at the publishers' paths. PAI's files exist in parts only.

    The ledgers contain sizes and checksums of these files instead of the published ones.
    """
    true_locations = {trace.name: locations.downloads(trace) for trace in TRACES}
    ours: dict[str, list[Download]] = {}
    for trace in TRACES:
        folder = sample_raw / trace.name
        ours[trace.name] = []
        for download in true_locations[trace.name]:
            if download.cluster:
                ours[trace.name].append(download)
                _add_telemetry(site, folder, download)
                continue
            content = joined(folder / download.path)
            if not content:
                continue
            sha256 = hashlib.sha256(content).hexdigest() if trace.name == "pai" else ""
            ours[trace.name].append(replace(download, bytes=len(content), sha256=sha256))
            site.files[path_of(download.urls[0])] = content
            if download.parts:
                del site.files[path_of(download.urls[0])]
                step = -(-len(content) // len(download.parts))
                for number, part in enumerate(download.parts):
                    site.files[path_of(part)] = content[number * step : (number + 1) * step]
    monkeypatch.setattr(locations, "downloads", lambda trace: tuple(ours[trace.name]))
    return site


def joined(path: Path) -> bytes:
    """Return the bytes of a file, of its joined parts, or of a zip of a folder."""
    if path.suffix == ".zip":
        folder = path.with_suffix("")
        members = [file for file in sorted(folder.rglob("*")) if file.is_file()]
        return zipped({file.relative_to(path.parent).as_posix(): file.read_bytes() for file in members})
    paths = [path] if path.is_file() else sorted(path.parent.glob(f"{path.name}.part*"))
    return b"".join(part.read_bytes() for part in paths)


def _add_telemetry(site: Publisher, folder: Path, download: Download) -> None:
    """Add the files of a folder, and a listing of them on two pages as the Hub has it, with other entries."""
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
        site.files[path_of(f"{place}/{path.name}")] = content
    listing = path_of(f"https://huggingface.co/api/datasets/Qinghao/AcmeTrace/tree/main/{in_hub}")
    following = f"{listing}?cursor=2".removeprefix("/huggingface.co")
    link = f'<https://huggingface.co{following}>; rel="next"'
    site.answers[listing] = [publisher.says(json.dumps(entries[:5]).encode(), Link=link)] * 9
    site.files[f"{listing}?cursor=2"] = json.dumps(entries[5:]).encode()


def run(site: Publisher, out: Path, *traces: str, **options: object) -> tuple[fetch.Outcome, list[str]]:
    lines: list[str] = []
    request = FetchRequest(out, traces, mirrors=mirrors(site), policy=QUICK, **options)  # type: ignore[arg-type]
    with open_client(request.mirrors, request.retry_policy) as client:
        plans = plan_downloads(request, client)
        return fetch.fetch(plans, out, client, lambda *_: None, lines.append), lines


def test_discovery_finds_fetched_files(published: Publisher, tmp_path: Path) -> None:
    outcome, _ = run(published, tmp_path / "raw", metrics=["all"])
    assert outcome.failures == ()
    found = find([tmp_path / "raw"], TRACES, TRACES)
    assert (found.problems, found.unrecognised, found.documents) == ((), (), ())
    tables = {(claim.trace.name, claim.table.name) for claim in found.claims}
    assert tables == {(trace.name, table.name) for trace in FETCHED for table in trace.tables}


def test_second_run_fetches_nothing(published: Publisher, tmp_path: Path) -> None:
    first, _ = run(published, tmp_path, "pai", "itp")
    asked = len(published.asked)
    second, messages = run(published, tmp_path, "pai", "itp")
    assert (second.fetched, second.kept) == (0, first.fetched)
    assert messages == []
    assert len(published.asked) == asked


def test_fetches_parts_when_whole_file_is_missing(published: Publisher, tmp_path: Path) -> None:
    folder = tmp_path / "pai" / "data"
    folder.mkdir(parents=True)
    (folder / "pai_instance_table.tar.gz.part").write_bytes(b"of the whole, when it was there")
    [instance] = [d for d in locations.downloads(all_traces()["pai"]) if "instance_table.tar" in d.path]
    published.answers[path_of(instance.parts[20])] = [publisher.status(404)]
    outcome, _ = run(published, tmp_path, "pai")
    assert len(outcome.failures) == 1
    outcome, _ = run(published, tmp_path, "pai")
    assert len(published.asked_for(path_of(instance.parts[0]))) == 1
    assert not (folder / "pai_instance_table.tar.gz.part").exists()
    assert all(headers["Accept-Encoding"] == "identity" for _, headers in published.asked)
    assert len(list(folder.glob("pai_instance_table.tar.gz.part*"))) == 23
    assert not (folder / "pai_instance_table.tar.gz").exists()
    assert (folder / "pai_task_table.tar.gz").is_file()


def test_removes_parts_with_wrong_checksum(published: Publisher, tmp_path: Path) -> None:
    [job] = [d for d in locations.downloads(all_traces()["pai"]) if "job_table.tar" in d.path]
    published.files[path_of(job.parts[1])] += b"!"
    outcome, _ = run(published, tmp_path, "pai")
    [failure] = outcome.failures
    assert (failure.trace.name, failure.path) == ("pai", "data/pai_job_table.tar.gz")
    whole, parts = failure.problems
    assert "not found (404)" in whole
    assert "the joined parts do not have the published checksum" in parts
    assert not list((tmp_path / "pai" / "data").glob("pai_job_table.tar*"))


def test_renames_file_that_differs_from_published(published: Publisher, tmp_path: Path) -> None:
    run(published, tmp_path, "pai", "itp")
    sized = tmp_path / "itp" / "data" / "raw-traces.tar.gz"
    summed = tmp_path / "pai" / "data" / "pai_job_table.header"
    true = [sized.read_bytes(), summed.read_bytes()]
    sized.write_bytes(b"cut")
    summed.write_bytes(b"!" + true[1][1:])
    outcome, messages = run(published, tmp_path, "pai", "itp")
    assert outcome.fetched == 2
    assert [sized.read_bytes(), summed.read_bytes()] == true
    assert sized.with_name("raw-traces.tar.gz.wrong").read_bytes() == b"cut"
    assert len([line for line in messages if "is not the published file" in line]) == 2


def test_replaces_existing_lfs_pointer(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone without Git LFS has a pointer; the size of the real file is unknown."""
    downloads = [replace(d, bytes=None) for d in locations.downloads(all_traces()["acme"]) if not d.cluster]
    monkeypatch.setattr(locations, "downloads", lambda _: tuple(downloads))
    path = tmp_path / "acme" / downloads[-1].path
    path.parent.mkdir(parents=True)
    path.write_bytes(pointer(CONTENT))
    outcome, messages = run(published, tmp_path, "acme")
    assert (outcome.fetched, outcome.kept) == (3, 0)
    assert "is not the published file: renamed to trace_seren.csv.wrong" in "".join(messages)
    assert run(published, tmp_path, "acme")[0].kept == 3


def test_failure_does_not_stop_other_files(published: Publisher, tmp_path: Path) -> None:
    first, second = locations.downloads(all_traces()["itp"])
    published.answers[path_of(first.urls[0])] = [publisher.status(403)]
    outcome, messages = run(published, tmp_path, "itp")
    assert (outcome.fetched, len(outcome.failures)) == (1, 1)
    assert messages[0] == f"itp/{first.path}: failed"
    assert messages[1].startswith(f"itp/{second.path}: ")
    place = f"{published.url}{path_of(first.urls[0])}"
    assert list(map(str, outcome.failures)) == [
        f"itp/{first.path} could not be fetched\n    {place}: access is refused (403)"
    ]


def test_falls_back_to_second_url(published: Publisher, tmp_path: Path) -> None:
    downloads = locations.downloads(all_traces()["acme"])
    [summary] = [download for download in downloads if "summary" in download.path]
    content = published.files.pop(path_of(summary.urls[0]))
    published.files[path_of(summary.urls[1])] = content
    outcome, _ = run(published, tmp_path, "acme")
    assert outcome.failures == ()
    assert (tmp_path / "acme" / summary.path).read_bytes() == content


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")}


def test_fetches_telemetry_only_on_request(published: Publisher, tmp_path: Path) -> None:
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
    ("traces", "options", "what"),
    [
        (["nope"], {}, "no trace is called nope"),
        (["acme"], {"metrics": ["NOPE"]}, "no telemetry is called NOPE. Known: CPU_D_Power, DRAM_ACTIVE"),
        (["acme"], {"clusters": ["nope"]}, "no cluster with telemetry is called nope. Known: kalos, seren"),
        (["itp"], {"metrics": ["GPU_UTIL"]}, "none of these traces has telemetry"),
    ],
)
def test_unknown_names_are_usage_errors(
    published: Publisher, tmp_path: Path, traces: list[str], options: dict, what: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(what)):
        run(published, tmp_path, *traces, **options)


@pytest.mark.parametrize(
    "listing", [b"[]", b"{}", b'["x"]', b'[{"type": "file"}]', b"<html>", b'{"error": "gone"}']
)
def test_refuses_invalid_telemetry_listing(site: Publisher, tmp_path: Path, listing: bytes) -> None:
    site.files["/huggingface.co/api/datasets/Qinghao/AcmeTrace/tree/main/data/utilization/kalos"] = listing
    outcome, _ = run(site, tmp_path, "acme", clusters=["kalos"])
    [folder] = [failure for failure in outcome.failures if "*" in failure.path]
    assert re.search(r"api/datasets.*: (it lists no \*\.csv|it is not a list|entries without)", str(folder))


def test_checks_disk_space_first(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"to fetch, but .* has 10 bytes free: nothing was fetched"):
        run(published, tmp_path / "raw", "itp")
    assert not (tmp_path / "raw").exists()


def test_received_bytes_need_no_space(published: Publisher, tmp_path: Path) -> None:
    def needed() -> int:
        request = FetchRequest(tmp_path, ["itp"], mirrors=mirrors(published), policy=QUICK)
        with open_client(request.mirrors, QUICK) as client:
            return plan_downloads(request, client)[0].missing_bytes

    first, second = locations.downloads(all_traces()["itp"])
    before = needed()
    assert before == (first.bytes or 0) + (second.bytes or 0)
    published.answers[path_of(first.urls[0])] = [publisher.cut(2000)] + [publisher.status(500)] * 2
    published.answers[path_of(second.urls[0])] = [publisher.status(404)]
    run(published, tmp_path, "itp")
    assert needed() == before - 2000


def test_refuses_folder_of_synthetic_sample(published: Publisher, tmp_path: Path) -> None:
    (tmp_path / "itp").mkdir()
    (tmp_path / "itp" / MARKER_NAME).touch()
    with pytest.raises(
        UserError, match="holds a synthetic sample, and every file in it is ingested as synthetic"
    ):
        run(published, tmp_path, "itp")


def test_one_fetch_per_folder(published: Publisher, tmp_path: Path) -> None:
    with FileLock(tmp_path / ".fetch.lock"), pytest.raises(UserError, match="another `traces fetch`"):
        run(published, tmp_path, "itp")


def test_lost_host_is_retried_for_one_file_only(published: Publisher, tmp_path: Path) -> None:
    """The server disappears after it has sent the first of three files."""

    def last(handler: publisher.Handler, content: bytes) -> None:
        handler.server.shutdown()
        handler.server.server_close()
        publisher.well(handler, content)

    first, _ = locations.downloads(all_traces()["itp"])
    published.answers[path_of(first.urls[0])] = [last]
    outcome, _ = run(published, tmp_path, "itp", "dlrm")
    assert [re.findall(r"tried (\d)", str(failure)) for failure in outcome.failures] == [["3"], ["1"]]


def test_page_states_total_size() -> None:
    downloads = [
        download for trace in TRACES for download in locations.downloads(trace) if not download.cluster
    ]
    known = sum(download.bytes or 0 for download in downloads) / 1e9
    unknown = len([download for download in downloads if download.bytes is None])
    page = (DOCS / "fetch.md").read_text()
    assert f"{known:.1f} GB of known size and {unknown} files of unknown size" in page


# The command.


def options(site: Publisher) -> list[str]:
    return [f"--mirror={host}={url}" for host, url in mirrors(site).items()]


@pytest.fixture
def real_site(site: Publisher, real_raw: Path) -> Publisher:
    for name in ("itp", "dlrm"):
        for download in locations.downloads(all_traces()[name]):
            site.files[path_of(download.urls[0])] = (real_raw / name / download.path).read_bytes()
    return site


def test_command_fetches_and_ingest_reads(real_site: Publisher, tmp_path: Path) -> None:
    fetched = command_line.server().run("fetch", "itp", "dlrm", *options(real_site), cwd=tmp_path)
    assert fetched.faults() == []
    lines = fetched.stdout.splitlines()
    assert "itp: ElasticFlow traces of Microsoft's ITP clusters (2021), from https://github.com/" in lines[0]
    assert "  2 files, 4.5 MB" in lines
    assert "  licence: MIT" in lines
    assert any(line.startswith("  cite: Diandian Gu") for line in lines)
    assert "itp/data/raw-traces.tar.gz: 1.9 MB" in lines
    assert lines[-1] == "3 fetched, 0 already downloaded. Next: traces ingest --raw raw"
    again = command_line.server().run("fetch", "itp", "dlrm", *options(real_site), cwd=tmp_path)
    assert again.stdout.splitlines()[-1].startswith("0 fetched, 3 already downloaded.")
    ingested = command_line.server().run("ingest", "--raw", "raw", cwd=tmp_path)
    assert "itp.raw_job: 69,351 rows from 1 file" in ingested.stdout
    assert "dlrm.instance: 23,871 rows from 1 file" in ingested.stdout


@pytest.fixture
def run_commands(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """A function that runs the commands of a page in this process, with ledgers of the server's files."""

    def run_all(page: str) -> None:
        monkeypatch.chdir(tmp_path)
        for command in non_empty(re.findall(r"^    traces (.*)$", (DOCS / page).read_text(), re.M)):
            name, *words = command.split()
            more = options(published) if name == "fetch" else []
            done = CliRunner().invoke(cli.app, [name, *words, *more])
            assert done.exit_code == 0, (command, done.output, done.exception)

    return run_all


def test_commands_of_page_work(run_commands: Callable[[str], None], tmp_path: Path) -> None:
    run_commands("fetch.md")
    assert {path.name for path in (tmp_path / "raw").iterdir() if path.is_dir()} == {
        "acme",
        "asi",
        "itp",
        "zeus",
    }
    telemetry = {path.name.partition(".")[0] for path in (tmp_path / "raw").rglob("utilization/kalos/*.csv")}
    assert {"POWER_USAGE", "GPU_UTIL"} < telemetry
    assert (tmp_path / "warehouse" / "traces.duckdb").is_file()


def test_days_of_asi_lead_to_the_charts_of_its_page(
    run_commands: Callable[[str], None], tmp_path: Path
) -> None:
    run_commands("asi.md")
    pictures = re.findall(r"!\[.*, synthetic data\]\((\w+\.svg)\)", (DOCS / "asi.md").read_text())
    assert len(pictures) == 3
    for drawn in (folder / name for folder in (tmp_path, DOCS) for name in pictures):
        assert ">synthetic data<" in drawn.read_text()


def test_command_lists_failures(site: Publisher, tmp_path: Path) -> None:
    ended = command_line.server().run("fetch", "itp", *options(site), cwd=tmp_path)
    assert ended.code == 1
    assert len(ended.errors) == 3
    homepage = all_traces()["itp"].homepage
    first, second = (download.urls[0] for download in locations.downloads(all_traces()["itp"]))
    assert ended.stderr.splitlines() == [
        "error: itp/data/raw-traces.tar.gz could not be fetched",
        f"    {site.url}{path_of(first)}: not found (404)",
        "error: itp/data/elasticflow-traces.tar.gz could not be fetched",
        f"    {site.url}{path_of(second)}: not found (404)",
        "error: 2 of 2 files were not fetched. Run the command again to resume, or download them by hand:",
        f"    itp: {homepage}",
    ]


def test_dry_run_makes_no_requests(site: Publisher, tmp_path: Path) -> None:
    ended = command_line.server().run("fetch", "--dry-run", *options(site), cwd=tmp_path)
    assert ended.faults([0]) == []
    assert site.asked == []
    assert list(tmp_path.iterdir()) == []
    assert "  without telemetry; select it with --metric" in ended.stdout
    for trace in TRACES:
        assert f"{trace.name}: {trace.title}, from {trace.homepage}\n" in ended.stdout
        if trace not in FETCHED:
            assert f"  not fetched: {trace.download}\n" in ended.stdout
            continue
        assert f"  licence: {trace.licence}\n  cite: {trace.citation}\n" in ended.stdout
        for download in locations.downloads(trace):
            assert download.cluster or download.urls[0] in ended.stdout


def test_dry_run_without_network(tmp_path: Path) -> None:
    with publisher.publishing() as gone:
        pass
    arguments = ("fetch", "acme", "--metric", "POWER_USAGE", "--cluster", "kalos", *options(gone))
    ended = command_line.server().run(*arguments, "--dry-run", cwd=tmp_path)
    assert ended.faults([0]) == []
    acme = all_traces()["acme"]
    for download in locations.downloads(acme):
        assert (download.urls[0] in ended.stdout) is (download.cluster in ("", "kalos"))
    assert f"  licence: {acme.licence}\n" in ended.stdout
    assert (
        "data/utilization/kalos/*.csv, could not be listed completely: https://huggingface.co/"
        in ended.stdout
    )
    assert ended.stdout.count("no connection") == 1
    assert list(tmp_path.iterdir()) == []
    wished = command_line.server().run("fetch", "acme", "--cluster", "none", "--dry-run", cwd=tmp_path)
    assert wished.code == 2


def test_mirror_without_host_is_usage_error(tmp_path: Path) -> None:
    ended = command_line.server().run("fetch", "--mirror", "http://here", cwd=tmp_path)
    assert ended.code == 2
    assert ended.errors == ["error: A mirror must be HOST=URL, not 'http://here'"]


def test_ctrl_c_keeps_received_bytes(real_site: Publisher, tmp_path: Path) -> None:
    first, _ = locations.downloads(all_traces()["itp"])
    place = path_of(first.urls[0])

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
    """Wait until a condition holds, while the process runs."""
    while not holds():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)


def test_full_disk_keeps_received_bytes(real_site: Publisher, tmp_path: Path) -> None:
    arguments = ["fetch", "itp", *options(real_site)]
    ended = command_line.server().run(*arguments, cwd=tmp_path, largest_file_bytes=2_000_000)
    assert ended.faults() == []
    assert len(ended.errors) == 2
    part = "raw/itp/data/elasticflow-traces.tar.gz.part"
    assert f"the disk is full (File too large). Received bytes are kept in {part}" in ended.stderr
    assert (tmp_path / part).stat().st_size == 2_000_000
    assert command_line.server().run(*arguments, cwd=tmp_path).faults([0]) == []
    _, second = locations.downloads(all_traces()["itp"])
    assert real_site.ranges(path_of(second.urls[0])) == [None, "bytes=2000000-"]


def test_missing_package_names_extra(tmp_path: Path) -> None:
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
