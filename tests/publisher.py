"""A publisher's server on loopback with the faults of real ones: cut connections, ignored ranges, errors."""

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[["Handler", bytes], None]
"""Writes the answer to one request for a file of this content."""


@dataclass
class Publisher:
    """The files of a server by path, and the responses to requests for them.

    The first requests for a path get its `answers` in their order, later requests get the file. `asked` lists
    the path and the headers of each request so far.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def asked_for(self, path: str) -> list[dict[str, str]]:
        """Return the headers of each request for a file."""
        return [headers for asked, headers in self.asked if asked == path]

    def ranges(self, path: str) -> list[str | None]:
        """Return the requested range of each request for a file."""
        return [headers.get("Range") for headers in self.asked_for(path)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, publisher: Publisher, *rest: object):
        self.publisher = publisher
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        publisher = self.publisher
        publisher.asked.append((self.path, dict(self.headers)))
        self.close_connection = True
        content = publisher.files.get(self.path)
        waiting = publisher.answers[self.path]
        if waiting:
            waiting.pop(0)(self, content or b"")
        elif content is None:
            status(404)(self, b"")
        else:
            well(self, content)

    def head(self, code: int, **headers: object) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def etag(content: bytes) -> str:
    return f'"{hash(content):x}"'


def well(handler: Handler, content: bytes) -> None:
    """Answer as a correct server does: send the requested range if the client's version is current."""
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range", ""))
    if found and handler.headers.get("If-Range", etag(content)) == etag(content):
        start, last = int(found[1]), int(found[2] or len(content) - 1)
        span = f"bytes {start}-{last}/{len(content)}"
        rest = content[start : last + 1]
        handler.head(206, Content_Length=len(rest), Content_Range=span, ETag=etag(content))
        handler.wfile.write(rest)
    else:
        whole()(handler, content)


def whole(**headers: object) -> Answer:
    """Send the whole file and ignore the requested range."""

    def answer(handler: Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag=etag(content), **headers)
        handler.wfile.write(content)

    return answer


def cut(after: int) -> Answer:
    """Answer correctly, but close the connection after this many bytes of the body."""

    def answer(handler: Handler, content: bytes) -> None:
        handler.wfile = _TruncatedBody(handler.wfile, after)  # type: ignore[assignment]
        well(handler, content)

    return answer


class _TruncatedBody:
    """A file that writes the response headers and at most `left` bytes of the body."""

    def __init__(self, file: object, left: int):
        self.file, self.left, self.in_body = file, left, False

    def write(self, data: bytes) -> None:
        if self.in_body:
            data = data[: self.left]
        self.in_body = True
        self.file.write(data)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


def says(body: bytes, code: int = 200, **headers: object) -> Answer:
    """Send this body instead of the file."""

    def answer(handler: Handler, _: bytes) -> None:
        handler.head(code, Content_Length=len(body), **headers)
        handler.wfile.write(body)

    return answer


def status(code: int, **headers: object) -> Answer:
    """Refuse with a status code."""
    return says(b"no\n", code, **headers)


def sends(start: bytes, then: bytes = b"", every_s: float = 0.0) -> Answer:
    """Send raw bytes once, then other bytes repeatedly until the client disconnects."""

    def answer(handler: Handler, _: bytes) -> None:
        with suppress(OSError):
            handler.wfile.write(start)
            while then and not handler.publisher.closing.wait(every_s):
                handler.wfile.write(then)

    return answer


def trickles(handler: Handler, content: bytes) -> None:
    """Send the file one byte at a time until the client disconnects."""
    handler.head(200, Content_Length=len(content), ETag=etag(content))
    for byte in content:
        try:
            handler.wfile.write(bytes([byte]))
        except OSError:
            return
        if handler.publisher.closing.wait(0.02):
            return


def falls_silent(handler: Handler, content: bytes) -> None:
    """Send the first 2,000 bytes of the file, then nothing, and keep the connection open."""
    handler.head(200, Content_Length=len(content), ETag=etag(content))
    handler.wfile.write(content[:2000])
    handler.publisher.closing.wait()


@contextmanager
def publishing() -> Iterator[Publisher]:
    """Run a server until the block ends."""
    publisher = Publisher()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, publisher)) as server:
        publisher.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield publisher
        finally:
            publisher.closing.set()
            server.shutdown()
            thread.join()
