"""HTTP requests through mirrors, with a retry policy and errors that name the URL."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from tracehouse.core.errors import UserError, check_installed
from tracehouse.core.text import escape_name

if TYPE_CHECKING:
    from requests import ConnectionError as RequestConnectionError
    from requests import Response, Session

Result = TypeVar("Result")

_RETRYABLE_STATUS = (408, 425, 429, 500, 502, 503, 504)
_REFUSALS = {401: "it asks for a login", 403: "access is refused", 404: "not found", 410: "gone"}
# Progress after which the attempts are counted from one again.
_PROGRESS_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 18
_CONNECT_S = 15.0
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})")


@dataclass(frozen=True)
class RetryPolicy:
    """When to retry a request, and when to give up.

    A request is made up to `attempts` times. The pause before the second attempt is `pause_s`; it doubles
    each time, up to `longest_pause_s`, unless the server asks for another pause. If the server asks for more
    than `longest_pause_s`, the request fails. The count of attempts starts again after each MiB received. A
    transfer fails if nothing or only a part of the header arrives within `silence_s`, or fewer than
    `least_bytes_per_s` of the body on average over that time.
    """

    attempts: int = 6
    pause_s: float = 1.0
    longest_pause_s: float = 300.0
    silence_s: float = 60.0
    least_bytes_per_s: int = 1000


DEFAULT_RETRY_POLICY = RetryPolicy()


class SourceError(UserError):
    """A URL does not serve the requested file. The message gives the reason."""


class RetryableError(Exception):
    """A failure after which another attempt may succeed.

    `pause_s` is the pause that the server asks for, or None. `reached` is False if the server did not answer.
    """

    def __init__(self, message: str, pause_s: float | None = None, reached: bool = True):
        super().__init__(message)
        self.pause_s = pause_s
        self.reached = reached


@dataclass(frozen=True)
class Client:
    """Makes requests. `mirrors` maps a host to the URL that replaces scheme and host."""

    session: "Session"
    mirrors: Mapping[str, str] = field(default_factory=dict)
    policy: RetryPolicy = DEFAULT_RETRY_POLICY
    _reached_hosts: set[str] = field(default_factory=set)
    _lost_hosts: set[str] = field(default_factory=set)
    _unreachable_hosts: set[str] = field(default_factory=set)

    def resolve(self, url: str) -> str:
        """Return the URL to request for `url`: that of the mirror, if its host has one."""
        host = host_of(url)
        mirror = self.mirrors.get(host)
        return url if mirror is None else mirror.rstrip("/") + url.partition(host)[2]

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str]) -> Iterator["Response"]:
        """Request `url` and yield the response. Its status is 200, 206 or 416 and its body is unread.

        Raises SourceError for any other status, and RetryableError if another attempt may succeed. Errors
        while the body is read inside the block are translated in the same way.
        """
        import requests
        import urllib3

        resolved = self.resolve(url)
        try:
            with self._send(resolved, headers) as response:
                self._reached_hosts.update(host_of(each.url) for each in (*response.history, response))
                _check_status(response, resolved)
                yield response
        except (requests.exceptions.SSLError, urllib3.exceptions.SSLError) as error:
            raise SourceError(f"{resolved}: no secure connection ({_innermost(error)})") from error
        except requests.ConnectionError as error:
            raise self._explain_connection(resolved, error) from error
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            what = f"the server did not continue within {self.policy.silence_s:g} s"
            raise RetryableError(f"{resolved}: {what}", reached=False) from error
        except (urllib3.exceptions.HTTPError, requests.exceptions.ChunkedEncodingError) as error:
            raise RetryableError(f"{resolved}: the connection broke off ({_innermost(error)})") from error
        except requests.RequestException as error:
            raise SourceError(f"{resolved}: {_innermost(error)}") from error

    def _send(self, url: str, headers: Mapping[str, str]) -> "Response":
        import requests

        silence_s = self.policy.silence_s
        try:
            return self.session.get(
                url, headers=headers, stream=True, timeout=(min(_CONNECT_S, silence_s), silence_s)
            )
        except requests.exceptions.InvalidHeader:
            raise
        except ValueError as error:
            # Requests and the URL parsers that it uses raise ValueError for invalid URLs.
            what = f"it is, or redirects to, an invalid address ({_innermost(error)})"
            raise SourceError(f"{url}: {what}") from error

    def _explain_connection(self, url: str, error: "RequestConnectionError") -> SourceError | RetryableError:
        """Return the error of a request that got no response.

        After a timeout while connecting, only a host that has answered before gets another attempt.
        """
        from urllib3.exceptions import ConnectTimeoutError

        why = _innermost(error)
        if not any(isinstance(cause, ConnectTimeoutError) for cause in _causes(error)):
            return RetryableError(f"{url}: no valid response ({why})")
        host = host_of(getattr(error.request, "url", None) or url)
        if host in self._reached_hosts:
            return RetryableError(f"{url}: no connection ({why})", reached=False)
        self._unreachable_hosts.add(host)
        return SourceError(f"{url}: no connection to {host} ({why}). Check the network and the proxy")

    def read_blocks(self, response: "Response") -> Iterator[bytes]:
        """Yield the body as sent, block by block. Raises RetryableError if it arrives too slowly."""
        policy = self.policy
        since_s, received = time.monotonic(), 0
        while block := response.raw.read1(_BLOCK_BYTES, decode_content=False):
            yield block
            received += len(block)
            waited_s = time.monotonic() - since_s
            if waited_s > policy.silence_s:
                if received < policy.least_bytes_per_s * waited_s:
                    raise RetryableError(
                        f"{response.url}: received only {received:,} bytes in {waited_s:.0f} s"
                    )
                since_s, received = time.monotonic(), 0

    def read_at_most(self, response: "Response", limit: int) -> bytes:
        """Return the first `limit` bytes of the body, or the whole body if it is shorter."""
        body = bytearray()
        for block in self.read_blocks(response):
            body += block
            if len(body) >= limit:
                break
        return bytes(body[:limit])

    def retry(
        self, url: str, attempt: Callable[[], Result], received: Callable[[], int] = lambda: 0
    ) -> Result:
        """Call `attempt` until it returns, and return its result. Raises SourceError when it gives up.

        The retry policy limits the attempts. `received` returns the bytes received so far. A host that no
        longer answers gets one attempt for each later file. A host that never accepted a connection gets no
        more attempts.
        """
        resolved = self.resolve(url)
        host = host_of(resolved)
        if host in self._unreachable_hosts:
            raise SourceError(f"{resolved}: no connection to {host}, as above")
        most, attempts = received(), 0
        while True:
            try:
                return attempt()
            except RetryableError as failure:
                if received() >= most + _PROGRESS_BYTES:
                    most, attempts = received(), 0
                attempts += 1
                if attempts >= self.policy.attempts or host in self._lost_hosts:
                    if not failure.reached:
                        self._lost_hosts.add(host)
                    raise SourceError(f"{failure}; tried {attempts} time{'s' * (attempts != 1)}") from failure
                self._pause(failure, attempts)

    def _pause(self, failure: RetryableError, attempts: int) -> None:
        longest_s = self.policy.longest_pause_s
        pause_s = failure.pause_s
        if pause_s is None:
            pause_s = min(self.policy.pause_s * 2 ** (attempts - 1), longest_s)
        if pause_s > longest_s:
            raise SourceError(f"{failure}; the server asks to wait {pause_s:,.0f} s") from failure
        time.sleep(pause_s)


@contextmanager
def open_client(mirrors: Mapping[str, str], policy: RetryPolicy) -> Iterator[Client]:
    """Yield a client. Raises UserError if the package requests is not installed."""
    check_installed("downloads need", "fetch", "urllib3", "requests")
    import requests

    from tracehouse.ingest.downloads.connection import MOST_REDIRECTS, LimitedAdapter

    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, LimitedAdapter())
        session.max_redirects = MOST_REDIRECTS
        session.headers["User-Agent"] = f"tracehouse/{version('tracehouse')}"
        # A compressed response could not be resumed by a byte range.
        session.headers["Accept-Encoding"] = "identity"
        yield Client(session, mirrors, policy)


def host_of(url: str) -> str:
    """Return the host and port of a URL; empty if the URL is invalid."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def content_range(response: "Response") -> tuple[int | None, int | None]:
    """Return the first byte of a response's range and the length of the whole file, each None if unknown."""
    found = _RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    return (int(found[1]), int(found[2])) if found else (None, None)


def validator_of(response: "Response") -> str:
    """Return what identifies the version of a file: its strong ETag, otherwise Last-Modified, or empty."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def _check_status(response: "Response", url: str) -> None:
    code = response.status_code
    if code in _RETRYABLE_STATUS:
        raise RetryableError(f"{url}: the server is not ready ({code})", _retry_after_s(response))
    if code not in (200, 206, 416):
        raise SourceError(f"{url}: {_REFUSALS.get(code, 'no file')} ({code})")


def _retry_after_s(response: "Response") -> float | None:
    """Return the seconds to wait by the Retry-After header, which may contain a date, or None."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        pause_s = Retry().get_retry_after(response.raw)
        return None if pause_s is None else float(pause_s)
    except (InvalidHeader, ValueError, OverflowError):
        return None


def _innermost(error: BaseException) -> str:
    """Return the message of the innermost wrapped error. It is escaped because it may quote the server."""
    *_, innermost = _causes(error)
    return escape_name(str(innermost).rpartition(": ")[2].strip()[:200])


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the errors that it wraps, outermost first."""
    yield error
    wrapped = (getattr(error, "reason", None), *error.args)
    inner = next((each for each in wrapped if isinstance(each, BaseException)), None)
    if inner is not None:
        yield from _causes(inner)
