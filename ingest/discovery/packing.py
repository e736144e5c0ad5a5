"""Recognise from a file's name how it is packed: plain, compressed, archived, split into parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tracehouse.ingest.readers import all_readers

Form = str
"""How a file is packed: the extension of its format and of its compression (csv.gz, tar), or zip.

A tree of folders is an archive that was extracted, or never packed.
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
# Parts as `split` and other programs name them, by letters or digits. x.csv.1 is none, but a second download.
_PART = re.compile(
    r"(?P<whole>.+)\.(?P<number>(?P<word>part)(?:(?P<letters>[a-z]{2,4})|\d{1,4})|\d{3})", re.IGNORECASE
)


@dataclass(frozen=True)
class Part:
    """A part's name, parsed: the name of the whole file, the style of numbering, and the number."""

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
    """The name of the first part that is missing before or between these, which are in order, or None.

    Letters begin with aa, digits with 0 or 1. Parts missing at the end cannot be detected from names.
    """
    numbers = [part.number for name in names if (part := part_of(name))]
    first = 1 if numbers[0] > 0 and names[0][-1].isdigit() else 0
    for expected, (name, number) in enumerate(zip(names, numbers, strict=True), start=first):
        if number > expected:
            return _sibling(name, expected)
    return None


def _sibling(name: str, number: int) -> str:
    """The name of another part of the same file."""
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
    """A file's name, without the suffix of a part."""
    part = part_of(name)
    return part.whole if part else name


def form_of(whole: str) -> Form | None:
    """The packing of a whole file by its name; None if the name is not that of data or an archive."""
    return next((form for ending, form in all_forms().items() if whole.lower().endswith(ending)), None)


def stem_of(whole: str) -> str:
    """The name of a whole file without the ending that says how it is packed, if it has one."""
    return next((whole[: -len(ending)] for ending in all_forms() if whole.lower().endswith(ending)), whole)


@cache
def all_forms() -> dict[str, Form]:
    """The form of each file name extension."""
    formats = {name: reader.extensions[0] for reader in all_readers() for name in reader.extensions}
    forms = {
        f".{name}{compression}": f"{form}{compression}"
        for name, form in (formats | {"tar": "tar"}).items()
        for compression in _COMPRESSIONS
    }
    return forms | _SHORT_TAR_EXTENSIONS | {".zip": "zip"}


def is_archive(form: Form) -> bool:
    """Whether a file of this form holds other files, under names of their own."""
    return form.startswith(("tar", "zip", TREE))


def needs_seek(form: Form) -> bool:
    """Whether files of this form are uncompressed files of a format that is not read from start to end."""
    return any(reader.read_keys and form in reader.extensions for reader in all_readers())


def is_bare(name: str) -> bool:
    """Whether a name has no extension, so that it does not show the file's format."""
    return "." not in name


def plain_name(name: str) -> str | None:
    """The name of an unpacked data file, with the usual ending of its format; None for other files."""
    form = form_of(name)
    return f"{stem_of(name)}.{form}" if form and "." not in form and not is_archive(form) else None


def compression_of(form: Form) -> str:
    """The compression of files of this form, such as gz; empty if they are not compressed."""
    return form.partition(".")[2]
