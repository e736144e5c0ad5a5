"""HTTP connections with a time limit for each header, so that no server can keep a client waiting forever.

The timeout of Requests limits only a single read from the socket. It never expires if a server sends a header
byte by byte, or one header after another.
"""

import io
import time
from http.client import HTTPException, HTTPResponse
from socket import socket
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool

# The standard library allows a hundred headers of 64 KiB, and any number of headers before and after those.
_STEP_BYTES = 1 << 20
# GitHub and the Hugging Face Hub need three.
MOST_REDIRECTS = 8


class LimitedAdapter(HTTPAdapter):
    """An adapter of Requests whose connections return a `_LimitedResponse`."""

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        pool = super().get_connection_with_tls_context(*args, **kwargs)
        if getattr(pool.ConnectionCls, "response_class", None) is not _LimitedResponse:
            limited = {"response_class": _LimitedResponse}
            pool.ConnectionCls = type("LimitedConnection", (pool.ConnectionCls,), limited)
        return pool


class _LimitedResponse(HTTPResponse):
    """A response whose header, and each block of its body, must arrive within the timeout and 1 MiB."""

    def __init__(self, sock: socket, *args: Any, **kwargs: Any):
        super().__init__(sock, *args, **kwargs)
        self._steps = _Steps(self.fp.detach(), sock.gettimeout())
        self.fp = io.BufferedReader(self._steps)

    def read1(self, n: int = -1) -> bytes:
        self._steps.start()
        return super().read1(n)


class _Steps(io.RawIOBase):
    """The bytes from a socket. Each step, which begins with `start`, is limited in time and size."""

    def __init__(self, raw: io.RawIOBase, timeout_s: float | None):
        self._raw = raw
        self._timeout_s = timeout_s
        self.start()

    def start(self) -> None:
        self._since_s, self._received = time.monotonic(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        count = self._raw.readinto(buffer)
        self._received += count or 0
        if self._received > _STEP_BYTES:
            raise HTTPException("the headers exceed 1 MiB")
        if self._timeout_s is not None and time.monotonic() - self._since_s > self._timeout_s:
            raise TimeoutError("timed out")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
