"""Check that the directory of a zip describes all of its bytes.

A zip is read by the directory at its end. Bytes that the directory does not list, such as another zip in
front of it, would be skipped without a message, and a size that the directory invents would be believed.
"""

import io
import struct
import zipfile
from typing import BinaryIO

from tracehouse.core.text import escape_name

# Its mark, its flags, and the lengths of the name and of the extra fields.
_HEADER = struct.Struct("<4s2xH18xHH")
_HEADER_MARK = b"PK\3\4"
_END_MARK = b"PK\5\6"
_END_BYTES = 22
_LONGEST_COMMENT_BYTES = 0xFFFF
# The number of files in the end record if the real number does not fit into 16 bits.
_MANY_FILES = 0xFFFF
# A writer that did not know the sizes in advance repeats them after the file's data, in one of four forms.
_SIZES_FOLLOW = 0x8
_DESCRIPTOR_BYTES = (12, 16, 20, 24)
# The largest sizes, relative to the packed size. A block of a few bytes may unpack to 258.
_MOST_GROWTH = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}


def check_end(file: BinaryIO, files: int) -> None:
    """Raise BadZipFile unless a zip ends with its end record, which states this number of files."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT_BYTES))
    tail = file.read()
    end = tail[tail.rfind(_END_MARK) :]
    if int.from_bytes(end[10:12], "little") not in (files, _MANY_FILES):
        raise zipfile.BadZipFile("its directory does not list all files")
    if more := len(end) - _END_BYTES - int.from_bytes(end[20:22], "little"):
        raise zipfile.BadZipFile(f"{abs(more):,} bytes {'follow' if more > 0 else 'are missing at'} its end")


def check_layout(file: BinaryIO, archive: zipfile.ZipFile) -> None:
    """Raise BadZipFile unless the files follow each other from the first byte to the directory.

    Gaps, overlaps and sizes that exceed the archive are refused.
    """
    at, name = 0, "its start"
    may_follow: tuple[int, ...] = (0,)
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        _check_gap(info.header_offset - at, name, may_follow)
        name = escape_name(info.filename)
        if info.is_dir() and info.file_size:
            raise zipfile.BadZipFile(f"{name} is a folder with {info.file_size:,} bytes")
        check_sizes(info)
        data, flags = _read_header(file, info.header_offset, name)
        at = data + info.compress_size
        may_follow = (0, *_DESCRIPTOR_BYTES) if (flags | info.flag_bits) & _SIZES_FOLLOW else (0,)
    _check_gap(archive.start_dir - at, name, may_follow)


def check_sizes(info: zipfile.ZipInfo) -> None:
    """Raise BadZipFile if a file cannot unpack to the size that the directory states."""
    most = _MOST_GROWTH.get(info.compress_type)
    if most and info.file_size > most * info.compress_size:
        raise zipfile.BadZipFile(
            f"{escape_name(info.filename[:80])} has {info.compress_size:,} bytes in it, which cannot unpack "
            f"to {info.file_size:,}"
        )


def _check_gap(gap: int, name: str, may_follow: tuple[int, ...]) -> None:
    if gap < 0:
        raise zipfile.BadZipFile(f"what follows {name} overlaps with it: a size or an offset is wrong")
    if gap not in may_follow:
        raise zipfile.BadZipFile(f"{gap:,} bytes after {name} belong to no file that its directory lists")


def _read_header(file: BinaryIO, offset: int, name: str) -> tuple[int, int]:
    """Return where the data of a file begin, and the flags in its header."""
    file.seek(offset)
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_HEADER_MARK):
        raise zipfile.BadZipFile(f"{name} does not begin where the directory says")
    _, flags, name_bytes, extra_bytes = _HEADER.unpack(header)
    return offset + _HEADER.size + name_bytes + extra_bytes, flags
