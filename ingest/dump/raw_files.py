"""Name raw files: how a file is packed, which parts it consists of, and what its path says."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from tracehouse.core.text import escape_name

EXTENSIONS = ("csv", "jsonl", "parquet")
"""The extensions of data files. A JSON list has none."""

Form = str
"""How a file is packed: the extensions of its format and its compression, such as csv.gz, tar.gz or zip.

The form `TREE` is a tree of folders, such as an extracted archive.
"""

TREE: Form = "tree"

# The marks of synthetic raw files: a file in one of their folders, a name in a gzip header, a key in the
# metadata of Parquet.
MARKER_NAME = "SYNTHETIC.txt"
GZIP_MARK = b"synthetic: tracehouse sample"
PARQUET_MARK = "synthetic"

_FORMS = (*(f"{name}{packing}" for name in (*EXTENSIONS, "tar") for packing in ("", ".gz", ".xz")), "zip")
_EXTENSIONS = tuple(f".{form}" for form in _FORMS)
# PAI's archives are cut with `split`.
_PART = re.compile(r"(?P<whole>.+)\.part(?P<letters>[a-z]{2})")
_LETTERS = 26


def part_of(name: str) -> tuple[str, int] | None:
    """Return the name of the whole file and the number of the part, from 0; None if it is not a part."""
    found = _PART.fullmatch(name)
    if not found or form_of(found["whole"]) is None:
        return None
    first, second = (ord(letter) - ord("a") for letter in found["letters"])
    return found["whole"], first * _LETTERS + second


def part_name(whole: str, number: int) -> str:
    """Return the name of part `number` of a file."""
    first, second = divmod(number, _LETTERS)
    return f"{whole}.part{chr(ord('a') + first)}{chr(ord('a') + second)}"


def whole_name(name: str) -> str:
    """Return a file's name without the suffix of a part."""
    part = part_of(name)
    return part[0] if part else name


def whole_path(path: Path) -> Path:
    """Return a file's path without the suffix of a part."""
    name = whole_name(path.name)
    return path if name == path.name else path.with_name(name)


def form_of(whole: str) -> Form | None:
    """Return the form of a whole file by its name; None if it is neither a data file nor an archive."""
    name = whole.lower()
    if not name.endswith(_EXTENSIONS):
        return None
    return next(form for form in _FORMS if name.endswith(f".{form}"))


def stem_of(whole: str) -> str:
    """Return the name of a whole file without the extensions of its format and packing."""
    form = form_of(whole)
    return whole[: -len(form) - 1] if form else whole


def compression_of(form: Form) -> str:
    """Return the compression of files of this form, such as gz; empty if they are not compressed."""
    return form.partition(".")[2]


def is_bare(name: str) -> bool:
    """Return whether a name has no extension and therefore does not show the file's format."""
    return "." not in name


def data_file_name(name: str) -> str | None:
    """Return the name of an uncompressed data file with the usual extension of its format; otherwise None."""
    return unpacked_name(name) if form_of(name) in EXTENSIONS else None


def unpacked_name(name: str) -> str:
    """Return the name of a plain or compressed data file after decompression; other names stay."""
    extension = (form_of(name) or "").partition(".")[0]
    return f"{stem_of(name)}.{extension}" if extension in EXTENSIONS else name


@dataclass(frozen=True)
class RawFile:
    """A raw file: its path, or the paths of its parts in order, and its raw folder `root`.

    `bytes` is the total size when the file was found. Names are escaped for messages and storage.
    With a `partition`, the object stands for the rows of this partition only, in a file, an archive or a tree
    of folders. `members` are the paths of its data files in the archive or tree. `checksum` is set for a
    partition in a zip: the directory of the zip has it.
    """

    paths: tuple[Path, ...]
    form: Form
    root: Path
    bytes: int
    partition: str = ""
    members: tuple[str, ...] = ()
    checksum: str = ""

    @cached_property
    def whole_path(self) -> Path:
        """The path of the file, of the joined file if it is split, or of the top folder of a tree."""
        if self.form == TREE:
            # The raw folder may be given as a relative path inside the tree.
            return self.paths[0].absolute().parents[self.members[0].count("/")]
        return whole_path(self.paths[0])

    @cached_property
    def name(self) -> str:
        """The file's name; for a split archive, without the part's suffix."""
        return escape_name(self.whole_path.name)

    @cached_property
    def stem(self) -> str:
        """The name without the extensions of its format and packing."""
        return stem_of(self.name)

    @cached_property
    def source_name(self) -> str:
        """The name without the packing. Newer versions of the file have the same name."""
        return self.stem if self.is_archive else self.file_name

    @cached_property
    def file_name(self) -> str:
        """The name of a plain or compressed file after decompression."""
        return unpacked_name(self.name)

    @cached_property
    def is_archive(self) -> bool:
        """Whether the raw file contains data files with their own names."""
        return self.form.startswith(("tar", "zip", TREE))

    @cached_property
    def folder(self) -> str:
        """The path of the file's folder."""
        return escape_name(self.paths[0].absolute().parent.as_posix())

    @cached_property
    def relative_name(self) -> str:
        """The path below the raw folder, with forward slashes, and the partition."""
        root, path = self.root.absolute(), self.whole_path.absolute()
        # The raw folder may be inside the tree.
        below = path_below(root, path) if path.is_relative_to(root) else self.name
        return PurePosixPath(below, self.partition).as_posix() if self.partition else below

    def list_files(self) -> list["RawFile"]:
        """Return the files in a tree of folders as raw files of their own."""
        forms = [form_of(path.name) or "csv" for path in self.paths]
        return [
            RawFile((path,), form, self.root, self.bytes // len(self.paths))
            for path, form in zip(self.paths, forms, strict=True)
        ]


def path_below(root: Path, path: Path) -> str:
    """Return a file's path below its raw folder, with forward slashes."""
    return escape_name(path.relative_to(root).as_posix())
