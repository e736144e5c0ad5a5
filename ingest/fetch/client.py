"""HTTP requests through mirrors, with retries and errors that name the URL."""

import io
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from tracehouse.core.errors import UserError, check_installed
from tracehouse.core.text import escape_name

if TYPE_CHECKING:
    from requests import Response, Session
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

Result = TypeVar("Result")

_NOT_READY = (408, 425, 429, 500, 502, 503, 504)
_REFUSALS = {401: "it asks for a login", 403: "access is refused", 404: "not found", 410: "gone"}
_REFUSALS |= dict.fromkeys(_NOT_READY, "the server is not ready")
# Progress after which the attempts are counted from one again.
_PROGRESS_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 18
_CONNECT_S = 15.0
_LONGEST_PAUSE_S = 300
_LEAST_BYTES_PER_S = 1000
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})")


class SourceError(UserError):
    """A URL does not serve the requested file. The message gives the reason."""


class TransferError(Exception):
    """A response broke off or does not match the request; another attempt may succeed."""


@dataclass
class _Watch:
    """The time within which the header of a response, or the next block of its body, must be complete."""

    silence_s: float
    _ends_s: float = 0.0

    def restart(self) -> None:
        self._ends_s = time.monotonic() + self.silence_s

    def check(self) -> None:
        if time.monotonic() > self._ends_s:
            raise TimeoutError


class _WatchedBytes(io.RawIOBase):
    """The bytes of a response. The time limit of a socket alone starts again with each byte."""

    def __init__(self, source: io.RawIOBase, watch: _Watch):
        self._source = source
        self._watch = watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        self._watch.check()
        return self._source.readinto(buffer)

    def close(self) -> None:
        self._source.close()
        super().close()


@dataclass(frozen=True)
class Client:
    """Makes requests. `mirrors` maps a host to the URL that replaces scheme and host.

    A transfer fails if nothing arrives within `silence_s`, or less than 1,000 bytes a second over that time.
    """

    session: "Session"
    retries: "Retry"
    mirrors: Mapping[str, str]
    silence_s: float
    _watch: _Watch
    _unreachable_hosts: set[str] = field(default_factory=set)

    def resolve(self, url: str) -> str:
        """Return the URL to request for `url`: that of the mirror, if its host has one."""
        host = urlsplit(url).netloc
        mirror = self.mirrors.get(host)
        return url if mirror is None else mirror.rstrip("/") + url.partition(host)[2]

    def get(self, url: str, headers: Mapping[str, str]) -> "Response":
        """Return the response to a request, with status 200, 206 or 416 and its body unread.

        Raises SourceError if there is none after all retries. A host that accepts no connection is not tried
        again.
        """
        from requests import RequestException
        from urllib3.exceptions import ConnectTimeoutError, HTTPError, ProxyError

        url = self.resolve(url)
        try:
            host = urlsplit(url).netloc
            if host in self._unreachable_hosts:
                raise SourceError(f"{url}: no connection to {host}, as above")
            timeout_s = (min(_CONNECT_S, self.silence_s), self.silence_s)
            response = self.session.get(url, headers=headers, stream=True, timeout=timeout_s)
        except (RequestException, HTTPError, ValueError, OverflowError) as error:
            # Invalid URLs and headers raise ValueError and OverflowError.
            cause = error.args[0] if error.args else error
            reason = getattr(cause, "reason", cause)
            if isinstance(reason, ConnectTimeoutError):
                # A redirect may lead to another host.
                request = getattr(error, "request", None)
                host = urlsplit(request.url).netloc if request else host
                self._unreachable_hosts.add(host)
                what = f"no connection to {host} ({_message(reason)}). Check the network and the proxy"
            elif isinstance(reason, ProxyError):
                self._unreachable_hosts.add(host)
                what = (
                    f"no connection through the proxy ({_message(reason.original_error)}). Check HTTPS_PROXY"
                )
            else:
                what = f"no valid response ({_message(reason)})"
            raise SourceError(f"{url}: {what}") from error
        if response.status_code not in (200, 206, 416):
            response.close()
            what = _REFUSALS.get(response.status_code, "no file")
            raise SourceError(f"{url}: {what} ({response.status_code})")
        return response

    def read_blocks(self, response: "Response") -> Iterator[bytes]:
        """Yield the body as sent, block by block. Raises TransferError if it breaks off or is too slow."""
        from urllib3.exceptions import HTTPError

        since_s, received = time.monotonic(), 0
        try:
            while block := self._read_block(response):
                yield block
                received += len(block)
                waited_s = time.monotonic() - since_s
                if waited_s > self.silence_s:
                    if received < _LEAST_BYTES_PER_S * waited_s:
                        what = f"received only {received:,} bytes in {waited_s:.0f} s"
                        raise TransferError(f"{response.url}: {what}")
                    since_s, received = time.monotonic(), 0
        except HTTPError as error:
            what = f"the connection broke off ({_message(error.args[-1])})"
            raise TransferError(f"{response.url}: {what}") from error

    def read_body(self, response: "Response", most_bytes: int) -> bytes:
        """Return the body as sent. Raises as `read_blocks`, and SourceError if the body is longer."""
        body = bytearray()
        for block in self.read_blocks(response):
            body += block
            if len(body) > most_bytes:
                raise SourceError(f"{response.url}: the server sends more than {most_bytes:,} bytes")
        return bytes(body)

    def _read_block(self, response: "Response") -> bytes:
        self._watch.restart()
        return response.raw.read1(_BLOCK_BYTES, decode_content=False)

    def retry(self, attempt: Callable[[], Result], received: Callable[[], int] = lambda: 0) -> Result:
        """Call `attempt` until it raises no TransferError. Raises SourceError after the last attempt.

        `received` returns the bytes received so far. After each MiB, the attempts are counted again from one.
        """
        from urllib3.exceptions import MaxRetryError

        most, retries = received(), self.retries
        while True:
            try:
                return attempt()
            except TransferError as failure:
                if received() >= most + _PROGRESS_BYTES:
                    most, retries = received(), self.retries
                try:
                    retries = retries.increment(error=failure)
                except MaxRetryError:
                    raise SourceError(f"{failure}; tried {len(retries.history) + 1} times") from failure
                retries.sleep()


@contextmanager
def open_client(
    mirrors: Mapping[str, str], attempts: int = 6, pause_s: float = 1.0, silence_s: float = 60.0
) -> Iterator[Client]:
    """Yield a client. Raises UserError if the package requests is not installed.

    It makes up to `attempts` requests for each response, three while no connection is accepted. The second
    follows at once, the third after twice `pause_s`, and the pause doubles each time, unless the server asks
    for another pause; it is at most five minutes.
    """
    check_installed("downloads need", "fetch", "urllib3", "requests")
    # It would print each retry.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    import requests
    from urllib3.util import Retry

    retries = Retry(
        total=attempts - 1,
        connect=min(2, attempts - 1),
        status_forcelist=_NOT_READY,
        raise_on_status=False,
        backoff_factor=pause_s,
        retry_after_max=_LONGEST_PAUSE_S,
    )
    watch = _Watch(silence_s)
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, _watched_adapter(watch, retries))
        session.hooks["response"].append(_close_redirect)
        session.headers["User-Agent"] = f"tracehouse/{version('tracehouse')}"
        # A compressed response could not be resumed by a byte range.
        session.headers["Accept-Encoding"] = "identity"
        yield Client(session, retries, mirrors, silence_s, watch)


def _watched_adapter(watch: _Watch, retries: "Retry") -> "HTTPAdapter":
    """Return an adapter whose connections limit the time of a response."""
    from requests.adapters import HTTPAdapter

    class WatchedResponse(HTTPResponse):
        def __init__(self, *arguments: Any, **options: Any):
            super().__init__(*arguments, **options)
            source = cast(io.BufferedReader, self.fp).detach()
            self.fp = io.BufferedReader(_WatchedBytes(source, watch))
            watch.restart()

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
            pool = super().get_connection_with_tls_context(*arguments, **options)
            watched = {"response_class": WatchedResponse}
            pool.ConnectionCls = type("WatchedConnection", (type(pool).ConnectionCls,), watched)
            return pool

    return Adapter(max_retries=retries)


def _close_redirect(response: "Response", **_: object) -> None:
    """Close a redirect, whose body Requests would otherwise read and decompress to its end."""
    if response.is_redirect:
        response.raw.close()


def content_range(response: "Response") -> tuple[int | None, int | None]:
    """Return the first byte of a response's range and the length of the whole file, each None if unknown."""
    found = _RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    return (int(found[1]), int(found[2])) if found else (None, None)


def validator_of(response: "Response") -> str:
    """Return what identifies the version of a file: its strong ETag, otherwise Last-Modified, or empty."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def _message(error: object) -> str:
    """Return the last part of an error's message. It is escaped because it may quote the server."""
    return escape_name(str(error).rpartition(": ")[2].strip()[:200])
