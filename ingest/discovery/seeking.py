"""Make a stream seekable for readers that need to seek."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from tracehouse.ingest.discovery.archives import READ_BYTES

# Larger streams are copied to the disk.
_MOST_BYTES_IN_MEMORY = 64 << 20


@contextmanager
def seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Yield the stream itself if it is a file or in memory, otherwise a copy in memory or on the disk.

    A member of a zip is always copied: seeking in it is slow, and reading it to its end verifies its CRC-32.
    """
    if stream.seekable() and not isinstance(stream, zipfile.ZipExtFile):
        yield stream
    else:
        with tempfile.SpooledTemporaryFile(_MOST_BYTES_IN_MEMORY) as copy:
            shutil.copyfileobj(stream, copy, READ_BYTES)
            copy.seek(0)
            yield cast(BinaryIO, copy)
