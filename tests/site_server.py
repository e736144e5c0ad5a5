"""A web server for static sites in tests, with HTTP ranges and a count of the bytes it sent."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Served:
    """The URL of a site, the bytes that its server sent, by path, and whether it stopped answering."""

    address: str
    sent: Counter[str]
    is_down: threading.Event


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and content are sent separately: the client would wait for 40 ms.
    disable_nagle_algorithm = True

    def __init__(
        self, sent: Counter[str], is_down: threading.Event, has_ranges: bool, *arguments: Any, **options: Any
    ):
        self.sent, self.is_down, self.has_ranges = sent, is_down, has_ranges
        super().__init__(*arguments, **options)

    def parse_request(self) -> bool:
        self.close_connection = self.is_down.is_set()
        return not self.is_down.is_set() and super().parse_request()

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not (asked and self.has_ranges and path.is_file()):
            self.sent[path.name] += path.stat().st_size if path.is_file() else 0
            super().do_GET()
            return
        size = path.stat().st_size
        first, last = int(asked[1]), min(int(asked[2] or size), size - 1)
        self.sent[path.name] += last - first + 1
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        with path.open("rb") as file:
            file.seek(first)
            self.wfile.write(file.read(last - first + 1))

    def end_headers(self) -> None:
        if self.has_ranges:
            self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serve(folder: Path, has_ranges: bool = True) -> Iterator[Served]:
    """Serve a folder on localhost. Without ranges, as `python -m http.server --directory FOLDER` does."""
    sent: Counter[str] = Counter()
    is_down = threading.Event()
    handler = partial(_Handler, sent, is_down, has_ranges, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Served(f"http://127.0.0.1:{server.server_address[1]}", sent, is_down)
        server.shutdown()
        thread.join()
