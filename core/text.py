"""Escape, quote and join names and texts, for display and storage.

File names and values of traces may contain control sequences that a terminal would obey. They are escaped.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath

LISTED_AT_MOST = 20
LONGEST_TEXT = 1000

# Control characters except tab and newline; characters that reverse or hide text; bytes that are not UTF-8.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def escape_text(text: str) -> str:
    r"""Return a text with its control characters escaped, such as `\x1b`, so that a terminal shows them."""
    return _UNPRINTABLE.sub(lambda found: _escape_character(found[0]), text)


def escape_name(name: str | PurePath) -> str:
    r"""Return a file's name as UTF-8 on one line, with other bytes and control characters as ``\xff``.

    Escaping twice changes nothing more.
    """
    text = str(name)
    return text if text.isprintable() else "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    if character.isprintable():
        return character
    # Python represents each byte of a file's name that is not UTF-8 as a surrogate.
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def join_names(names: Sequence[str], at_most: int = LISTED_AT_MOST) -> str:
    """Join names with commas. After the first `at_most` names, only the number of the others follows."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more:,} more" if more > 0 else "")


def quoted(text: str) -> str:
    """Return a text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return the name of a column or schema as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def decode_text(text: bytes) -> str:
    """Decode UTF-8 and escape invalid bytes. The result is cut after `LONGEST_TEXT` characters."""
    # A character has at most four bytes, so this slice splits none of the first LONGEST_TEXT characters.
    start = text[: 4 * LONGEST_TEXT + 4].decode("utf-8", errors="backslashreplace")
    return start if len(start) <= LONGEST_TEXT else start[:LONGEST_TEXT] + "…"
