"""Requests over HTTP: through which mirror, how long to wait for an answer, and what is tried again."""

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

# Too many requests, and what servers say that will soon be well again.
_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_REFUSALS = {401: "it asks for a login", 403: "access is refused", 404: "not found", 410: "gone"}
# Who got so much more is not at the end of his tries.
_MUCH_BYTES = 1 << 20


@dataclass(frozen=True)
class Patience:
    """When to try again, and when to give up.

    A place that fails is tried `tries` times, after pauses of `pause_s` and each time twice as long, or as
    long as the server asks for, up to `longest_pause_s`; tries count anew after each MiB that came.
    `silence_s` is how long nothing may come, or fewer than `least_bytes_per_s` on average.
    """

    tries: int = 6
    pause_s: float = 1.0
    longest_pause_s: float = 300.0
    silence_s: float = 60.0
    least_bytes_per_s: int = 1000


DEFAULT_PATIENCE = Patience()


class PlaceError(UserError):
    """A place that does not give what is asked of it: the URL, and why."""


class TryAgainError(Exception):
    """A failure that may be over soon. `reached` is whether the server answered at all.

    `pause_s` is how long the server asks to wait, None where it does not.
    """

    def __init__(self, what: str, pause_s: float | None = None, reached: bool = True):
        super().__init__(what)
        self.pause_s = pause_s
        self.reached = reached


@dataclass(frozen=True)
class Web:
    """What requests are made with. `mirrors` maps a host to the URL that stands for scheme and host."""

    session: "Session"
    mirrors: Mapping[str, str] = field(default_factory=dict)
    patience: Patience = DEFAULT_PATIENCE
    _unreachable: set[str] = field(default_factory=set)

    def place(self, url: str) -> str:
        """The URL to ask for `url`."""
        host = urlsplit(url).netloc
        mirror = self.mirrors.get(host)
        return url if mirror is None else mirror.rstrip("/") + url.partition(host)[2]

    @contextmanager
    def answer(self, url: str, headers: Mapping[str, str]) -> Iterator["Response"]:
        """The answer to a request of `url`, its body unread: 200, 206 or 416.

        Raises PlaceError for any other, and TryAgainError where another try may help: inside the block too.
        """
        import requests
        import urllib3

        place = self.place(url)
        silence_s = self.patience.silence_s
        try:
            with self.session.get(place, headers=headers, stream=True, timeout=silence_s) as response:
                _check_status(response, place)
                yield response
        except (requests.exceptions.SSLError, urllib3.exceptions.SSLError) as error:
            raise PlaceError(f"{place}: no secure connection ({_innermost(error)})") from error
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise TryAgainError(f"{place}: nothing came for {silence_s:g} s", reached=False) from error
        except requests.ConnectionError as error:
            raise TryAgainError(f"{place}: no connection ({_innermost(error)})", reached=False) from error
        except (urllib3.exceptions.HTTPError, requests.exceptions.ChunkedEncodingError) as error:
            raise TryAgainError(f"{place}: the connection broke off ({_innermost(error)})") from error
        except requests.RequestException as error:
            raise PlaceError(f"{place}: {_innermost(error)}") from error

    def persist(self, url: str, attempt: Callable[[], Result], have: Callable[[], int] = lambda: 0) -> Result:
        """What `attempt` returns, tried again while it raises TryAgainError; PlaceError if that was in vain.

        `have` is how many bytes have come so far. A host that was not reached is tried once from then on.
        """
        host = urlsplit(self.place(url)).netloc
        most, tried = have(), 0
        while True:
            try:
                return attempt()
            except TryAgainError as failure:
                if have() >= most + _MUCH_BYTES:
                    most, tried = have(), 0
                tried += 1
                if tried >= self.patience.tries or host in self._unreachable:
                    if not failure.reached:
                        self._unreachable.add(host)
                    raise PlaceError(f"{failure}; tried {tried} time{'s' * (tried != 1)}") from failure
                self._pause(failure, tried)

    def _pause(self, failure: TryAgainError, tried: int) -> None:
        longest_s = self.patience.longest_pause_s
        pause_s = failure.pause_s
        if pause_s is None:
            pause_s = min(self.patience.pause_s * 2 ** (tried - 1), longest_s)
        if pause_s > longest_s:
            raise PlaceError(f"{failure}; it asks to come back in {pause_s:,.0f} s") from failure
        time.sleep(pause_s)


@contextmanager
def open_web(mirrors: Mapping[str, str], patience: Patience) -> Iterator[Web]:
    """What requests are made with. Raises UserError where the package that makes them is not installed."""
    try:
        import requests
    except ModuleNotFoundError as error:
        raise not_installed("downloads need", str(error.name), "fetch") from None
    with requests.Session() as session:
        session.headers["User-Agent"] = f"tracehouse/{version('tracehouse')}"
        # Or a file would come compressed, and part of it could not be asked for.
        session.headers["Accept-Encoding"] = "identity"
        yield Web(session, mirrors, patience)


def _check_status(response: "Response", place: str) -> None:
    code = response.status_code
    if code in _TRY_AGAIN:
        raise TryAgainError(f"{place}: the server is not ready ({code})", _retry_after_s(response))
    if code not in (200, 206, 416):
        raise PlaceError(f"{place}: {_REFUSALS.get(code, 'no file')} ({code})")


def _retry_after_s(response: "Response") -> float | None:
    """How long the server asks to wait, in seconds; it may name a moment instead."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    try:
        return Retry().get_retry_after(response.raw)
    except InvalidHeader:
        return None


def _innermost(error: BaseException) -> str:
    """What an error says, without what it is wrapped in."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _innermost(inner) if isinstance(inner, BaseException) else str(error).rpartition(": ")[2]
