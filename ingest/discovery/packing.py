"""Recognise from a file's name how the file is packed: plain, compressed, archived or split into parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tracehouse.ingest.readers import all_readers

Form = str
"""How a file is packed: the extensions of its format and its compression, such as csv.gz, tar or zip.

The form `TREE` is a tree of folders, such as an extracted archive.
"""

TREE: Form = "tree"

_COMPRESSIONS = ("", ".gz", ".bz2", ".xz", ".zst")
_SHORT_TAR_EXTENSIONS = {
    ".tgz": "tar.gz",
    ".tbz": "tar.bz2",
    ".tbz2": "tar.bz2",
    ".txz": "tar.xz",
    ".tzst": "tar.zst",
}
# The names that `split` and other programs give to parts, with letters or digits. x.csv.1 is not a part: some
# programs give this name to a second download.
_PART = re.compile(
    r"(?P<whole>.+)\.(?P<number>(?P<word>part)(?:(?P<letters>[a-z]{2,4})|\d{1,4})|\d{3})", re.IGNORECASE
)


@dataclass(frozen=True)
class Part:
    """The parsed name of a part: the name of the whole file, the style of numbering, and the number."""

    whole: str
    style: str
    number: int


def part_of(name: str) -> Part | None:
    """Parse the name of a part. Returns None for the name of a whole file."""
    found = _PART.fullmatch(name)
    if not found or form_of(found["whole"]) is None:
        return None
    if found["letters"]:
        letters = found["letters"].lower()
        return Part(found["whole"], f"{len(letters)} letters", _number_of(letters))
    word = (found["word"] or "").lower()
    return Part(found["whole"], f"{word} and digits".strip(), int(found["number"][len(word) :]))


def missing_part(names: Sequence[str]) -> str | None:
    """Return the name of the first missing part before or between parts, or None if no part is missing.

    `names` are in order. Letters begin with aa, digits with 0 or 1. Names do not show whether parts are
    missing at the end.
    """
    numbers = [part.number for name in names if (part := part_of(name))]
    first = 1 if numbers[0] > 0 and names[0][-1].isdigit() else 0
    for expected, (name, number) in enumerate(zip(names, numbers, strict=True), start=first):
        if number > expected:
            return sibling(name, expected)
    return None


def sibling(name: str, number: int) -> str:
    """Return the name of part `number` of the file that the part `name` belongs to."""
    suffix = name.rpartition(".")[2]
    text = suffix[4:] if suffix.lower().startswith("part") else suffix
    if text[0].isdigit():
        other = str(number).zfill(len(text) if text[0] == "0" or text is suffix else 1)
    else:
        other = "".join(chr(ord("a") + number // 26**place % 26) for place in reversed(range(len(text))))
    return name[: -len(text)] + other


def _number_of(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("a")
    return number


def whole_name(name: str) -> str:
    """Return a file's name without the suffix of a part."""
    part = part_of(name)
    return part.whole if part else name


def form_of(whole: str) -> Form | None:
    """Return the form of a whole file by its name; None if it is neither a data file nor an archive."""
    return next((form for ending, form in all_forms().items() if whole.lower().endswith(ending)), None)


def stem_of(whole: str) -> str:
    """Return the name of a whole file without the extensions of its format and packing."""
    return next((whole[: -len(ending)] for ending in all_forms() if whole.lower().endswith(ending)), whole)


@cache
def all_forms() -> dict[str, Form]:
    """Return the form of each known file name extension."""
    formats = {name: reader.extensions[0] for reader in all_readers() for name in reader.extensions}
    forms = {
        f".{name}{compression}": f"{form}{compression}"
        for name, form in (formats | {"tar": "tar"}).items()
        for compression in _COMPRESSIONS
    }
    return forms | _SHORT_TAR_EXTENSIONS | {".zip": "zip"}


def is_archive(form: Form) -> bool:
    """Return whether a file of this form contains other files with their own names."""
    return form.startswith(("tar", "zip", TREE))


def needs_seek(form: Form) -> bool:
    """Return whether files of this form are uncompressed and their reader needs to seek."""
    return any(reader.read_keys and form in reader.extensions for reader in all_readers())


def is_bare(name: str) -> bool:
    """Return whether a name has no extension and therefore does not show the file's format."""
    return "." not in name


def plain_name(name: str) -> str | None:
    """Return the name of an uncompressed data file with the usual extension of its format.

    Returns None for any other file.
    """
    form = form_of(name)
    return f"{stem_of(name)}.{form}" if form and "." not in form and not is_archive(form) else None


def compression_of(form: Form) -> str:
    """Return the compression of files of this form, such as gz; empty if they are not compressed."""
    return form.partition(".")[2]
