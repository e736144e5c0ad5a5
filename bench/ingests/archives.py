"""The archives below a folder, each in one piece or cut into parts, as plain streams of bytes."""

import io
from pathlib import Path
from typing import BinaryIO, cast


class _Joined(io.RawIOBase):
    def __init__(self, paths: list[Path]):
        self._paths = list(paths)
        self._file: io.FileIO | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def,override]
        while self._file or self._paths:
            self._file = self._file or io.FileIO(self._paths.pop(0))
            count = self._file.readinto(buffer)
            if count:
                return count
            self._file = None
        return 0


def archives(folder: Path) -> dict[str, list[Path]]:
    """The paths of each archive's parts, by its name without `.tar.gz`."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.tar.gz*")):
        found.setdefault(path.name.split(".tar.gz")[0], []).append(path)
    return found


def opened(paths: list[Path]) -> BinaryIO:
    """An archive's bytes, its parts joined."""
    return cast(BinaryIO, io.BufferedReader(_Joined(paths), 1 << 20))
