"""Where a PostgreSQL is, in a URL that may hold a password, which no message shows."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tracehouse.core.errors import UsageError

CONNECT_TIMEOUT_S = 10

_SCHEMES = ("postgresql", "postgres")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class Address:
    """A database of a server: the URL to connect with, how messages call it, and what they must not hold."""

    url: str = field(repr=False)
    shown: str
    secrets: tuple[str, ...] = field(repr=False)

    def without_secrets(self, text: str) -> str:
        """A text that any password of the address is blotted out of."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def read_address(text: str) -> Address:
    """Parse `postgresql://user@host:port/database`. Raises UsageError, without a quote of it, if it is none.

    It is parsed here before libpq sees it, as libpq prints parts of a URL that it cannot parse, and these may
    be parts of a password.
    """
    parts = urlsplit(text)
    if parts.scheme not in _SCHEMES:
        raise UsageError("--to takes a URL such as postgresql://user@host:5432/database")
    try:
        port = parts.port
    except ValueError:
        raise _wrongly_escaped() from None
    outside = parts.path + parts.query + parts.fragment
    if parts.netloc.count("@") > 1 or "@" in outside or parts.fragment or _BAD_PERCENT.search(text):
        raise _wrongly_escaped()
    options = parse_qs(parts.query)
    raw = [parts.password, *options.get("password", [])]
    secrets = {secret for given in raw if given for secret in (given, unquote(given))}
    user = f"{unquote(parts.username)}@" if parts.username else ""
    place = f"{parts.hostname or ''}{f':{port}' if port else ''}"
    # Given by libpq where it is not in the URL, and by default it waits for ever.
    has_timeout = "connect_timeout" in options
    more = "" if has_timeout else f"{'&' if parts.query else '?'}connect_timeout={CONNECT_TIMEOUT_S}"
    return Address(
        text + more,
        f"postgresql://{user}{place}{parts.path}",
        # The longest first: one may be part of another.
        tuple(sorted(secrets, key=len, reverse=True)),
    )


def _wrongly_escaped() -> UsageError:
    return UsageError(
        "the URL of --to cannot be read. In a user's name or password, @ is written %40, : is %3A, / is %2F, "
        "? is %3F, # is %23 and % is %25; or leave the password out, and set PGPASSWORD"
    )
