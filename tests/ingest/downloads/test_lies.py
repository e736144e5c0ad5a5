"""Servers with invalid responses. The download fails with an error and its URL, other files succeed."""

import hashlib
import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import publisher
import pytest
from few_files import quiet
from publisher import Answer, Publisher, sends

from tracehouse.ingest.downloads import download, fetch, locations
from tracehouse.ingest.downloads.fetch import Outcome
from tracehouse.ingest.downloads.http import RetryPolicy, open_client
from tracehouse.ingest.downloads.locations import Download
from tracehouse.ingest.downloads.plan import FetchRequest, plan_downloads

# A response without end must not stop the whole test run.
pytestmark = pytest.mark.timeout(300)

CONTENT = b"job_id,submission_time,duration,num_gpu\n" + b"1,0,600,1\n" * 3_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HOST = "https://publisher.example"
OK = b"HTTP/1.1 200 OK\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: %s\r\n\r\n"
MOVED = b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(CONTENT), CONTENT)
REST = b"HTTP/1.1 206 Partial\r\nETag: %s\r\nContent-Range: bytes 5000-%d/%%s\r\n" % (
    publisher.etag(CONTENT).encode(),
    len(CONTENT) - 1,
)


def has_length(value: bytes) -> Answer:
    return sends(OK + b"Content-Length: " + value + b"\r\n\r\n" + CONTENT)


@dataclass(frozen=True)
class Case:
    """An invalid response and a text of the error. The first requests get the responses in `first`.

    `size` and `sha256` are what the ledger knows of the file.
    """

    name: str
    answer: Answer
    error: str
    size: int | None = None
    sha256: str = ""
    silence_s: float = 20.0
    first: Sequence[Answer] = ()


SLOW = 1.0
CASES = [
    Case("negative length", has_length(b"-5"), "the server does not send the length"),
    Case("length in words", has_length(b"many"), "the server does not send the length"),
    Case("length in superscript", has_length(b"\xb2"), "the server does not send the length"),
    Case("length of many digits", has_length(b"9" * 5000), "the server does not send the length"),
    Case("length of an exabyte", has_length(b"1" + b"0" * 17), "it does not fit on the disk (100,000,000"),
    Case("exabyte with checksum", has_length(b"1" + b"0" * 17), "it does not fit on the disk", sha256=SHA256),
    Case("two lengths", has_length(b"5\r\nContent-Length: 7"), "unmatching values"),
    Case("negative pause", sends(BUSY % b"-5"), "the server is not ready (503); tried 2 times"),
    Case("pause in words", sends(BUSY % b"soon"), "the server is not ready (503); tried 2 times"),
    Case("pause of many digits", sends(BUSY % (b"9" * 5000)), "is not ready (503); tried 2 times"),
    Case("pause of ages", sends(BUSY % b"99999999999"), "the server asks to wait"),
    Case("pause to a far date", sends(BUSY % b"Fri, 31 Dec 9999 23:59:59 GMT"), "the server asks to wait"),
    Case("pause to no date", sends(BUSY % b"Fri, 31 Dec 99999999999 23:59:59 GMT"), "tried 2 times"),
    Case("half an address", sends(MOVED % b"http://["), "an invalid address"),
    Case("address of empty labels", sends(MOVED % b"http://a..b/"), "an invalid address"),
    Case("address with a large port", sends(MOVED % b"http://a:99999/"), "an invalid address"),
    Case("address in Latin-1", sends(MOVED % b"http://\xff/"), "an invalid address"),
    Case("address of another scheme", sends(MOVED % b"ftp://a/b"), "an invalid address (No connection"),
    Case("redirects in a loop", sends(MOVED % b"/bad.csv"), "Exceeded 8 redirects"),
    Case("redirect with endless body", sends(b"HTTP/1.1 302 Found\r\nLocation: /none\r\n\r\n", b"x" * 9999),
        "not found (404)"),
    Case("no HTTP", sends(b"220 mail.example\r\n"), "no valid response (220 mail.example); tried 2 times"),
    Case("no HTTP without end", sends(b"\x1b\0" * 20_000 + b"\r\n"), "no valid response (\\x1b\\x00\\x1b"),
    Case("slow header", sends(OK + b"X: ", b"x", 0.02), "did not continue within 1 s", silence_s=SLOW),
    Case("slow status", sends(b"H", b"T", 0.02), "did not continue within 1 s", silence_s=SLOW),
    Case("endless interim answers", sends(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 999), "the headers exceed"),
    Case("chunks beyond the size", sends(CHUNKED, CHUNK), f"more than {len(CONTENT):,} bytes", len(CONTENT)),
    Case("chunks beyond the size, with checksum", sends(CHUNKED, CHUNK), f"more than {len(CONTENT):,} bytes",
        len(CONTENT), SHA256),
    Case("endless chunks", sends(CHUNKED, CHUNK), "more than 500,000 bytes"),
    Case("endless body", sends(OK + b"\r\n", CONTENT), f"more than {len(CONTENT):,} bytes", len(CONTENT)),
    Case("endless body with checksum", sends(OK + b"\r\n", CONTENT), "more than 500,000", sha256=SHA256),
    Case("endless body without size", sends(OK + b"\r\n", CONTENT), "does not send the length"),
    Case("slow end of a chunk", sends(CHUNKED + CHUNK + b"5;", b"x", 0.02), "within 1 s", silence_s=SLOW),
    Case("endless trailers", sends(CHUNKED + CHUNK + b"0\r\n", b"X: y\r\n" * 999), "the headers exceed"),
    Case("negative chunk", sends(CHUNKED + b"-5\r\n", CONTENT), "more than 500,000"),
    Case("rest longer than the file", sends(REST % b"%d" % len(CONTENT) + b"\r\n", CONTENT),
        f"more than {len(CONTENT):,} bytes", first=[publisher.cut(5000)]),
    Case("rest of many digits", sends(REST % (b"9" * 5000) + b"\r\n"), "another range than requested",
        first=[publisher.cut(5000)]),
]  # fmt: skip


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    monkeypatch.setattr(download, "_MOST_BYTES", 500_000)
    with publisher.publishing() as running:
        running.files |= {"/bad.csv": CONTENT, "/good.csv": CONTENT}
        yield running


def run(
    site: Publisher,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: Sequence[Download],
    policy: RetryPolicy,
    trace: str = "itp",
    **options: object,
) -> Outcome:
    """Fetch files and then `good.csv`, which must be fetched in any case."""
    good = Download("good.csv", (f"{HOST}/good.csv",))
    monkeypatch.setattr(locations, "downloads", lambda _: (*files, good))
    mirrors = {
        "publisher.example": site.url,
        "huggingface.co": f"{site.url}/hub",
        "gone.example": "http://gone.invalid",
        "mistyped.example": "http://[",
    }
    request = FetchRequest(out, [trace], mirrors=mirrors, policy=policy, **options)  # type: ignore[arg-type]
    with open_client(mirrors, policy) as client:
        outcome = fetch.fetch(plan_downloads(request, client), out, client, quiet, lambda _: None)
    assert (out / trace / "good.csv").read_bytes() == CONTENT
    return outcome


@pytest.mark.parametrize("response", CASES, ids=lambda response: response.name)
def test_invalid_response_fails_one_file(
    response: Case, site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/bad.csv"] = [*response.first, *[response.answer] * 20]
    policy = RetryPolicy(attempts=2, pause_s=0.001, longest_pause_s=2, silence_s=response.silence_s)
    bad = Download("bad.csv", (f"{HOST}/bad.csv",), bytes=response.size, sha256=response.sha256)
    outcome = run(site, tmp_path, monkeypatch, [bad], policy)
    [failure] = outcome.failures
    [problem] = failure.problems
    assert problem.startswith(f"{site.url}/bad.csv: ") and response.error in problem
    assert problem.isprintable() and len(problem) < 1000
    assert sum(path.stat().st_size for path in tmp_path.rglob("bad.csv*")) <= len(CONTENT)


QUICK = RetryPolicy(attempts=2, pause_s=0.001, longest_pause_s=2, silence_s=20)
FOLDER = Download(
    "data/kalos/*.csv", ("https://huggingface.co/datasets/o/n/resolve/main/kalos/*.csv",), cluster="kalos"
)
LISTING = "/hub/api/datasets/o/n/tree/main/kalos"
GOOD = "/hub/datasets/o/n/resolve/main/kalos/a%20%23.csv"
ENTRY = f'{{"type": "file", "path": "kalos/a #.csv", "size": {len(CONTENT)}, "lfs": {{"oid": "{SHA256}"}}}}'


def entry(**changed: str) -> str:
    """Return an entry of a listing with other JSON for some values."""
    values = {"type": '"file"', "path": '"kalos/BAD.csv"', "size": "5"} | changed
    return "{" + ", ".join(f'"{key}": {value}' for key, value in values.items()) + "}"


@pytest.mark.parametrize(
    "bad",
    [
        *(entry(size=size) for size in ("1e999", "NaN", "-1", '"12"', "1.5", "true", "null", "1" + "0" * 30)),
        *(entry(path=path) for path in ("5", "null", '"a\\u0000.csv"', '"\\ud800.csv"', '"\\u001b.csv"')),
        entry(path=json.dumps("x" * 300 + ".csv")),
        *(entry(lfs=lfs) for lfs in ('{"oid": 5}', '{"oid": "x"}', "[1]", '"x"')),
        *('{"type": "file"}', '"x"', "5", "[]"),
    ],
)  # fmt: skip
def test_invalid_entry_stops_no_other_file(
    bad: str, site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.files[LISTING] = f"[{bad}, {ENTRY}]".encode()
    site.files[GOOD] = CONTENT
    outcome = run(site, tmp_path, monkeypatch, [FOLDER], QUICK, "acme", clusters=["kalos"])
    [failure] = outcome.failures
    [problem] = failure.problems
    assert problem.startswith(f"{site.url}{LISTING}: entries without a valid name, size or checksum")
    assert (tmp_path / "acme" / "data" / "kalos" / "a #.csv").read_bytes() == CONTENT


def test_wrong_listed_size_is_ignored_if_the_checksum_matches(
    site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checksum decides whether the file is correct."""
    site.files[LISTING] = f"[{ENTRY}]".replace(str(len(CONTENT)), "9" * 13).encode()
    site.files[GOOD] = CONTENT
    outcome = run(site, tmp_path, monkeypatch, [FOLDER], QUICK, "acme", clusters=["kalos"])
    assert (outcome.fetched, outcome.failures) == (2, ())


def links_to(address: str) -> Answer:
    return publisher.says(f"[{ENTRY}]".encode(), Link=f'<{address}>; rel="next"')


def links_on(handler: publisher.Handler, _: bytes) -> None:
    links_to(f"{handler.path}x".removeprefix("/hub"))(handler, b"")


@pytest.mark.parametrize(
    ("answer", "files", "error"),
    [
        (publisher.says(b"[" * 200_000), 1, "it is not a list of files"),
        (publisher.says(f"[{'9' * 5000}]".encode()), 1, "it is not a list of files"),
        (sends(OK + b"\r\n", b"[1]," * 9999), 1, "it is not a list of files"),
        (links_to(LISTING.removeprefix("/hub")), 2, "more than 20 pages"),
        (links_on, 2, "more than 20 pages"),
        (links_to("https://elsewhere.example/list"), 2, "is not on this server: https://elsewhere.example"),
        (links_to("file:///etc/passwd"), 2, "is not on this server: file:///etc/passwd"),
        (links_to("http://["), 2, "is not on this server: http://["),
    ],
    ids=["nested", "digits", "endless", "itself", "more and more", "other host", "file", "no address"],
)
def test_invalid_list_stops_no_other_file(
    answer: Answer, files: int, error: str, site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers |= {LISTING + "x" * pages: [answer] * 30 for pages in range(30)}
    site.files[GOOD] = CONTENT
    outcome = run(site, tmp_path, monkeypatch, [FOLDER], QUICK, "acme", clusters=["kalos"])
    [failure] = outcome.failures
    assert outcome.fetched == files
    assert failure.problems[0].startswith(f"{site.url}{LISTING}") and error in failure.problems[0]


def test_host_without_address_is_looked_up_once(
    site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network, the command fails without further attempts."""
    looked_up, find = [], socket.getaddrinfo

    def find_others(host: str, *rest: Any, **named: Any) -> Any:
        if host != "gone.invalid":
            return find(host, *rest, **named)
        looked_up.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", find_others)
    files = [Download(f"{n}.csv", (f"https://gone.example/{n}.csv",)) for n in range(3)]
    outcome = run(site, tmp_path, monkeypatch, files, QUICK)
    assert len(looked_up) == 1
    assert [problem for failure in outcome.failures for problem in failure.problems] == [
        "http://gone.invalid/0.csv: no connection to gone.invalid (Failed to resolve 'gone.invalid' "
        "([Errno -2] Name or service not known)). Check the network and the proxy",
        "http://gone.invalid/1.csv: no connection to gone.invalid, as above",
        "http://gone.invalid/2.csv: no connection to gone.invalid, as above",
    ]


def test_a_mirror_without_address_fails_one_file(
    site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Download("bad.csv", ("https://mistyped.example/bad.csv",))
    [failure] = run(site, tmp_path, monkeypatch, [bad], QUICK).failures
    assert "it is, or redirects to, an invalid address" in str(failure)


def test_an_error_of_the_disk_fails_one_file(
    site: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "itp").mkdir()
    (tmp_path / "itp" / "data").write_bytes(b"a file in place of the folder")
    bad = Download("data/bad.csv", (f"{HOST}/bad.csv",))
    [failure] = run(site, tmp_path, monkeypatch, [bad], QUICK).failures
    assert "File exists" in str(failure)
