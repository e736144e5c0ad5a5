"""Makes text safe to show: what would move a terminal's cursor, or hide or reverse text, is escaped.

Names of files and values of traces come from elsewhere, and a terminal obeys control sequences in them.
"""

import re

# All control characters but tab and newline; what reverses or hides text; bytes that are not UTF-8.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def shown(text: str) -> str:
    r"""A text with its control characters as `\x1b`, so that it can be seen and does nothing."""
    return _UNSHOWN.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    # How Python holds a byte of a file's name that is no UTF-8.
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
