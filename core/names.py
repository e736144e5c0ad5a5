"""Names and texts that come from outside, as they are shown and stored."""

from collections.abc import Sequence
from pathlib import PurePath

LISTED_AT_MOST = 20


def shown_name(name: str | PurePath) -> str:
    r"""A file's name as UTF-8 and on one line: other bytes and control characters are escaped, as ``\xff``.

    What has been escaped stays as it is.
    """
    return "".join(c if c.isprintable() else _escaped(c) for c in str(name))


def _escaped(character: str) -> str:
    # Python represents each byte of a name that is not UTF-8 as one of these surrogates.
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def listed(names: Sequence[str], at_most: int = LISTED_AT_MOST) -> str:
    """The names side by side; of a long list the first ones, and how many more there are."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more:,} more" if more > 0 else "")


def printable(text: bytes) -> str:
    """Bytes as text; those that are no UTF-8 are escaped."""
    return text.decode("utf-8", errors="backslashreplace")
