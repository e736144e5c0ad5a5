"""Download one file from a server on loopback with the faults of real servers."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import publisher
import pytest
from publisher import Answer, Publisher, sends

from tracehouse.core.errors import UserError
from tracehouse.ingest.fetch import transfer
from tracehouse.ingest.fetch.client import SourceError, open_client
from tracehouse.ingest.fetch.transfer import OnBytes, download_file

CONTENT = b"job_id,submission_time,duration,num_gpu\n" + b"1,0,600,1\n" * 30_000
OTHER = b"job_id,submission_time,duration,num_gpu\n" + b"2,9,700,8\n" * 25_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PATH, URL = "/data/cluster01.csv", "https://publisher.example/data/cluster01.csv"
PAGE = b"<!DOCTYPE html><html><body>Quota exceeded</body></html>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 9\n" % SHA256.encode()
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def site() -> Iterator[Publisher]:
    with publisher.publishing() as running:
        running.files[PATH] = CONTENT
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "itp" / "cluster01.csv"


def download(
    site: Publisher,
    path: Path,
    size: int | None = None,
    sha256: str = "",
    url: str = URL,
    silence_s: float = 20,
    on_bytes: OnBytes = lambda *_: None,
) -> None:
    with open_client({"publisher.example": site.url}, 3, 0.001, silence_s) as client:
        download_file(client, url, path, size, sha256, on_bytes)


def error_of(site: Publisher, path: Path, **known: object) -> str:
    """Return the error of a failing download, which must leave no file of this name."""
    with pytest.raises(SourceError) as error:
        download(site, path, **known)  # type: ignore[arg-type]
    assert not path.exists()
    return str(error.value)


def other_files(path: Path) -> set[str]:
    return {other.name for other in path.parent.iterdir()} - {path.name}


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


def interrupted(site: Publisher, path: Path, **known: object) -> None:
    """Make a download fail after 50,000 bytes."""
    path.unlink(missing_ok=True)
    site.answers[PATH] = [publisher.cut(50_000), publisher.status(404)]
    assert "not found (404)" in error_of(site, path, **known)
    assert other_files(path) == {f"{path.name}.part", f".{path.name}.part.json"}


def test_next_run_resumes_same_version_only(site: Publisher, path: Path) -> None:
    interrupted(site, path)
    download(site, path)
    assert path.read_bytes() == CONTENT
    assert site.ranges(PATH)[-1] == "bytes=50000-"

    interrupted(site, path)
    site.files[PATH] = OTHER
    download(site, path)
    assert path.read_bytes() == OTHER
    assert site.asked_for(PATH)[-1]["If-Range"] == publisher.etag(CONTENT)

    site.files |= {PATH: CONTENT, "/data/backup.csv": OTHER}
    interrupted(site, path)
    download(site, path, url=URL.replace("cluster01", "backup"))
    assert path.read_bytes() == OTHER
    assert site.ranges("/data/backup.csv") == [None]


def test_gives_up_without_progress(site: Publisher, path: Path) -> None:
    """A server that ignores ranges and cuts each response sends the first bytes of the file repeatedly."""

    def cut_whole(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag=publisher.etag(content))
        handler.wfile.write(content[:1_500_000])

    site.files[PATH] = CONTENT * 20
    site.answers[PATH] = [cut_whole] * 20
    assert error_of(site, path).endswith("; tried 3 times")
    assert len(site.asked) < 8


def test_restarts_after_another_range(site: Publisher, path: Path) -> None:
    start, length = 50_000, len(CONTENT)
    answers = [
        publisher.whole(),
        publisher.status(416),
        *(
            publisher.says(OTHER[start:], 206, **headers)
            for headers in (
                {"Content_Range": f"bytes 0-{length - start - 1}/{length}"},
                {"Content_Range": f"bytes {start}-{len(OTHER) - 1}/{len(OTHER)}"},
                {"Content_Range": "bytes 50000-50000/" + "9" * 5000},
                {"Content_Range": "nonsense"},
                {},
            )
        ),
    ]
    for answer in answers:
        site.answers[PATH] = [publisher.cut(start), answer]
        download(site, path)
        assert path.read_bytes() == CONTENT
    assert len(site.asked) == 2 + 3 * 6


def test_complete_partial_file_is_not_requested_again(site: Publisher, path: Path) -> None:
    """The previous run was killed before it renamed the file."""
    path.parent.mkdir()
    path.with_name(f"{path.name}.part").write_bytes(CONTENT)
    record = {"url": site.url + PATH, "validator": '"1"', "bytes": len(CONTENT)}
    path.with_name(f".{path.name}.part.json").write_text(json.dumps(record), encoding="utf-8")
    download(site, path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert site.asked == []


def test_damaged_partial_file_is_fetched_again(site: Publisher, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    interrupted(site, path, sha256=SHA256)
    part.write_bytes(b"!" + part.read_bytes()[1:])
    download(site, path, sha256=SHA256)
    assert site.ranges(PATH)[-2:] == ["bytes=50000-", None]
    odd_types = json.dumps({"url": site.url + PATH, "validator": [1], "bytes": "1"})
    for record in ("", "{}", "[1]", '{"url": 1}', "[" * 100_000, odd_types):
        part.write_bytes(OTHER[:1000])
        path.with_name(f".{path.name}.part.json").write_text(record, encoding="utf-8")
        download(site, path)
        assert path.read_bytes() == CONTENT


def test_checksum_or_else_size_must_be_right(site: Publisher, path: Path) -> None:
    wrong = error_of(site, path, sha256="0" * 64)
    assert (
        wrong == f"{site.url}{PATH}: the received file does not have the published checksum and was removed"
    )
    wrong = error_of(site, path, size=5)
    assert wrong == f"{site.url}{PATH}: it has {len(CONTENT):,} bytes instead of the expected 5"
    assert other_files(path) == set()
    download(site, path, size=5, sha256=SHA256)
    assert path.read_bytes() == CONTENT


def chunked(handler: publisher.Handler, content: bytes, ends: bool = True) -> None:
    """Send the file without Content-Length."""
    handler.head(200, Transfer_Encoding="chunked")
    for start in range(0, len(content), 60_000):
        block = content[start : start + 60_000]
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
    handler.wfile.write(b"0\r\n\r\n" if ends else b"")


def test_unknown_length(site: Publisher, path: Path) -> None:
    def until_closed(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200)
        handler.wfile.write(content)

    site.answers[PATH] = [lambda handler, content: chunked(handler, content, ends=False), chunked]
    download(site, path)
    assert path.read_bytes() == CONTENT
    path.unlink()
    site.answers[PATH] = [chunked] * 3
    assert "received 300,040 of 300,041 bytes; tried 3 times" in error_of(site, path, size=len(CONTENT) + 1)
    site.answers[PATH] = [until_closed]
    assert "the server does not send the length" in error_of(site, path)
    for known in ({"size": len(CONTENT)}, {"sha256": SHA256}):
        site.answers[PATH] = [until_closed]
        download(site, path, **known)  # type: ignore[arg-type]
        assert path.read_bytes() == CONTENT


def test_retries_slow_server(site: Publisher, path: Path) -> None:
    """The headers, each block of the body, and responses before it have a time limit."""
    start = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    answers = [
        publisher.trickles,
        publisher.falls_silent,
        sends(OK + b"X: ", b"a", 0.02),
        sends(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
        sends(b"HTTP/1.1 503 Busy\r\n\r\n", b"a", 0.02),
        sends(start, b"0", 0.02),
        sends(start + CHUNK + b"0\r\n", b"X: y\r\n", 0.001),
    ]
    for answer in answers:
        site.answers[PATH] = [answer]
        download(site, path, silence_s=0.3)
        assert path.read_bytes() == CONTENT
    assert len(site.asked) == 2 * len(answers)


def has_length(value: bytes) -> Answer:
    return sends(OK + b"Content-Length: " + value + b"\r\n\r\n" + CONTENT)


MOVED = b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: %s\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(CONTENT), CONTENT)
# Responses, what is known of the file, and a text of the error.
REFUSED: list[tuple[Answer, dict[str, object], str]] = [
    (publisher.status(404), {}, "not found (404)"),
    (publisher.status(403), {}, "access is refused (403)"),
    (publisher.status(401), {}, "it asks for a login (401)"),
    (publisher.status(418), {}, "no file (418)"),
    (publisher.status(503), {}, "the server is not ready (503)"),
    (publisher.says(PAGE), {}, "this is a web page"),
    (publisher.says(b"Sorry.", Content_Type="text/html; charset=utf-8"), {}, "a web page"),
    (publisher.says(POINTER), {}, "this is a Git LFS pointer, not the data"),
    (publisher.says(b""), {}, "the file is empty"),
    (
        publisher.says(gzip.compress(CONTENT), Content_Encoding="gzip"),
        {},
        "with gzip, which was not requested",
    ),
    (has_length(b"-5"), {}, "the server does not send the length"),
    (has_length(b"many"), {}, "the server does not send the length"),
    (has_length(b"\xb2"), {}, "the server does not send the length"),
    (has_length(b"9" * 5000), {}, "the server does not send the length"),
    (has_length(b"5\r\nContent-Length: 7"), {}, "no valid response"),
    (has_length(b"1" + b"0" * 17), {}, "the connection broke off (IncompleteRead("),
    (sends(BUSY % b"soon"), {}, "no valid response (soon)"),
    (sends(MOVED % b"http://["), {}, "no valid response"),
    (sends(MOVED % b"http://a..b/"), {}, "no valid response"),
    (sends(MOVED % b"http://a:99999/"), {}, "no valid response"),
    (sends(MOVED % b"ftp://a/b"), {}, "no valid response"),
    (sends(MOVED % PATH.encode()), {}, "Exceeded 30 redirects"),
    (
        sends(MOVED.replace(b"Content-Length: 0\r\n", b"") % PATH.encode(), CONTENT),
        {},
        "Exceeded 30 redirects",
    ),
    (sends(b"220 mail.example\r\n"), {}, "no valid response"),
    (sends(OK + b"\r\n", CONTENT), {"size": len(CONTENT)}, f"more than {len(CONTENT):,} bytes"),
    (sends(OK + b"\r\n", CONTENT), {"sha256": SHA256}, "more than 500,000 bytes"),
    (sends(OK + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK), {}, "more than 500,000 bytes"),
]


def test_refuses_wrong_responses(site: Publisher, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_MOST_BYTES", 500_000)
    failed = []
    for answer, known, expected in REFUSED:
        site.answers[PATH] = [answer] * 40
        error = error_of(site, path, **known)
        if not error.startswith(f"{site.url}{PATH}: ") or expected not in error or not error.isprintable():
            failed.append((expected, error))
        transfer.discard_partial(path)
    assert failed == []


def test_host_that_accepts_no_connection_is_tried_once(path: Path) -> None:
    with publisher.publishing() as gone:
        pass
    with open_client({"publisher.example": gone.url}, 3, 0.001) as client:
        errors = []
        for _ in range(2):
            with pytest.raises(UserError) as error:
                download_file(client, URL, path, None, "", lambda *_: None)
            errors.append(str(error.value))
    host = gone.url.removeprefix("http://")
    assert errors[0].startswith(f"{gone.url}{PATH}: no connection to {host} (")
    assert errors[0].endswith("refused). Check the network and the proxy")
    assert errors[1] == f"{gone.url}{PATH}: no connection to {host}, as above"


def test_redirect_to_a_host_that_accepts_no_connection(site: Publisher, path: Path) -> None:
    """The error names this host, and other files of the first host are fetched."""
    with publisher.publishing() as gone:
        pass
    site.answers[PATH] = [sends(MOVED % gone.url.encode())]
    with open_client({"publisher.example": site.url}, 3, 0.001) as client:
        with pytest.raises(UserError, match=rf"no connection to {gone.url.removeprefix('http://')} \("):
            download_file(client, URL, path, None, "", lambda *_: None)
        download_file(client, URL, path, None, "", lambda *_: None)
    assert path.read_bytes() == CONTENT


def test_error_names_a_proxy_that_does_not_answer(
    site: Publisher, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with publisher.publishing() as gone:
        pass
    monkeypatch.setenv("HTTP_PROXY", gone.url)
    monkeypatch.setenv("http_proxy", gone.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")
    error = error_of(site, path)
    assert f"{site.url}{PATH}: no connection through the proxy (" in error
    assert error.endswith("refused). Check HTTPS_PROXY")
