"""HTTP requests through mirrors, with a retry policy and errors that name the URL."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from tracehouse.core.errors import UserError, not_installed

if TYPE_CHECKING:
    from requests import Response, Session

Result = TypeVar("Result")

_RETRYABLE_STATUS = (408, 425, 429, 500, 502, 503, 504)
_REFUSALS = {401: "it asks for a login", 403: "access is refused", 404: "not found", 410: "gone"}
# Progress after which the attempts are counted from one again.
_PROGRESS_BYTES = 1 << 20


@dataclass(frozen=True)
class RetryPolicy:
    """When to retry a request, and when to give up.

    A request is made up to `attempts` times. The pause is `pause_s` at first and doubles each time, or it is
    what the server asks for, up to `longest_pause_s`. The count starts again after each MiB received. A
    transfer fails where nothing arrives for `silence_s`, or fewer than `least_bytes_per_s` on average over
    that time.
    """

    attempts: int = 6
    pause_s: float = 1.0
    longest_pause_s: float = 300.0
    silence_s: float = 60.0
    least_bytes_per_s: int = 1000


DEFAULT_RETRY_POLICY = RetryPolicy()


class SourceError(UserError):
    """A URL that does not serve the requested file, and why."""


class RetryableError(Exception):
    """A failure that another attempt may not meet.

    `pause_s` is how long the server asks to wait, None where it does not. `reached` is False where the server
    did not answer.
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
    _unreachable_hosts: set[str] = field(default_factory=set)

    def resolve(self, url: str) -> str:
        """The URL to request instead of `url`: its mirror's, if it has one."""
        host = urlsplit(url).netloc
        mirror = self.mirrors.get(host)
        return url if mirror is None else mirror.rstrip("/") + url.partition(host)[2]

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str]) -> Iterator["Response"]:
        """Request `url` and yield the response with status 200, 206 or 416, its body unread.

        Raises SourceError for any other status, and RetryableError where another attempt may succeed; also
        while the body is read inside the block.
        """
        import requests
        import urllib3

        resolved = self.resolve(url)
        silence_s = self.policy.silence_s
        try:
            with self.session.get(resolved, headers=headers, stream=True, timeout=silence_s) as response:
                _check_status(response, resolved)
                yield response
        except (requests.exceptions.SSLError, urllib3.exceptions.SSLError) as error:
            raise SourceError(f"{resolved}: no secure connection ({_innermost(error)})") from error
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise RetryableError(f"{resolved}: no data for {silence_s:g} s", reached=False) from error
        except requests.ConnectionError as error:
            raise RetryableError(f"{resolved}: no connection ({_innermost(error)})", reached=False) from error
        except (urllib3.exceptions.HTTPError, requests.exceptions.ChunkedEncodingError) as error:
            raise RetryableError(f"{resolved}: the connection broke off ({_innermost(error)})") from error
        except requests.RequestException as error:
            raise SourceError(f"{resolved}: {_innermost(error)}") from error

    def retry(
        self, url: str, attempt: Callable[[], Result], received: Callable[[], int] = lambda: 0
    ) -> Result:
        """Call `attempt` until it returns, as the retry policy says. Raises SourceError when it gives up.

        `received` returns the bytes received so far. A host that could not be reached gets one attempt for
        each later file.
        """
        host = urlsplit(self.resolve(url)).netloc
        most, attempts = received(), 0
        while True:
            try:
                return attempt()
            except RetryableError as failure:
                if received() >= most + _PROGRESS_BYTES:
                    most, attempts = received(), 0
                attempts += 1
                if attempts >= self.policy.attempts or host in self._unreachable_hosts:
                    if not failure.reached:
                        self._unreachable_hosts.add(host)
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
    """Yield a client. Raises UserError where the package requests is not installed."""
    try:
        import requests
    except ModuleNotFoundError as error:
        raise not_installed("downloads need", str(error.name), "fetch") from None
    with requests.Session() as session:
        session.headers["User-Agent"] = f"tracehouse/{version('tracehouse')}"
        # A compressed response could not be resumed by a byte range.
        session.headers["Accept-Encoding"] = "identity"
        yield Client(session, mirrors, policy)


def content_range(response: "Response") -> tuple[int | None, int | None]:
    """The first byte of the range and the length of the whole file."""
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", "").strip())
    return (int(found[1]), int(found[2])) if found else (None, None)


def validator_of(response: "Response") -> str:
    """The ETag, or else the date of the last change, which identifies this version; empty without both."""
    etag = response.headers.get("ETag", "")
    return etag if etag.startswith('"') else response.headers.get("Last-Modified", "")


def _check_status(response: "Response", url: str) -> None:
    code = response.status_code
    if code in _RETRYABLE_STATUS:
        raise RetryableError(f"{url}: the server is not ready ({code})", _retry_after_s(response))
    if code not in (200, 206, 416):
        raise SourceError(f"{url}: {_REFUSALS.get(code, 'no file')} ({code})")


def _retry_after_s(response: "Response") -> float | None:
    """The seconds in the Retry-After header, which may give a date instead; None without a valid one."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return Retry().get_retry_after(response.raw)
    except InvalidHeader:
        return None


def _innermost(error: BaseException) -> str:
    """The message of the innermost wrapped error."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _innermost(inner) if isinstance(inner, BaseException) else str(error).rpartition(": ")[2]
