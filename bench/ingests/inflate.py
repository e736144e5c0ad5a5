"""A floor of every ingest: inflate each archive with isal, and throw the bytes away.

python -m tracehouse.bench.ingests.inflate RAW
"""

import sys
from pathlib import Path

from isal import igzip

from tracehouse.bench.ingests.archives import archives, opened

READ_BYTES = 1 << 20


def main() -> None:
    """Inflate all archives below the folder, one after another."""
    for paths in archives(Path(sys.argv[1])).values():
        with opened(paths) as compressed, igzip.IGzipFile(fileobj=compressed) as inflated:
            while inflated.read(READ_BYTES):
                pass


if __name__ == "__main__":
    main()
