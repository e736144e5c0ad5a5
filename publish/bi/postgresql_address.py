"""Parse the URL of a PostgreSQL database, and keep its password out of messages."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tracehouse.core.errors import UsageError

CONNECT_TIMEOUT_S = 10

_SCHEMES = ("postgresql", "postgres")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class Address:
    """A database: its URL, the URL shown in messages, and the secrets that messages must not contain."""

    url: str = field(repr=False)
    shown: str
    secrets: tuple[str, ...] = field(repr=False)

    def without_secrets(self, text: str) -> str:
        """The text with every secret replaced by ***."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def read_address(text: str) -> Address:
    """Parse `postgresql://user@host:port/database`. Raises UsageError, without the URL, if it is invalid.

    The URL is parsed before libpq gets it, because libpq prints parts of an invalid URL, such as a password.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _invalid_url() from None
    if parts.scheme not in _SCHEMES:
        raise UsageError("--to takes a URL such as postgresql://user@host:5432/database")
    outside = parts.path + parts.query + parts.fragment
    if parts.netloc.count("@") > 1 or "@" in outside or parts.fragment or _BAD_PERCENT.search(text):
        raise _invalid_url()
    options = parse_qs(parts.query)
    raw = [parts.password, *options.get("password", [])]
    secrets = {secret for given in raw if given for secret in (given, unquote(given))}
    user = f"{unquote(parts.username)}@" if parts.username else ""
    host = f"{parts.hostname or ''}{f':{port}' if port else ''}"
    # Without this option libpq waits forever.
    has_timeout = "connect_timeout" in options
    more = "" if has_timeout else f"{'&' if parts.query else '?'}connect_timeout={CONNECT_TIMEOUT_S}"
    return Address(
        text + more,
        f"postgresql://{user}{host}{parts.path}",
        # Longest first, because one secret may be part of another.
        tuple(sorted(secrets, key=len, reverse=True)),
    )


def _invalid_url() -> UsageError:
    return UsageError(
        "the URL of --to is invalid. In a user name or password write %40 for @, %3A for :, %2F for /, "
        "%3F for ?, %23 for # and %25 for %; or leave the password out and set PGPASSWORD"
    )
