"""What people do today: read every CSV from its archive with pandas, and write it as Parquet.

    python -m tracehouse.bench.ingests.pandas_parquet RAW OUT

Types are guessed, rows are not sorted, nothing is checked.
"""

import sys
import tarfile
from pathlib import Path

import pandas as pd

from tracehouse.bench.ingests.archives import archives, opened


def main() -> None:
    """Convert all archives below the folder, one after another."""
    raw, out = Path(sys.argv[1]), Path(sys.argv[2])
    for stem, paths in archives(raw).items():
        header = paths[0].with_name(f"{stem}.header")
        names = header.read_text().strip().split(",") if header.exists() else None
        with tarfile.open(fileobj=opened(paths), mode="r|gz") as tar:
            for member in tar:
                name = Path(member.name).name
                if name.endswith(".csv") and not name.startswith("._"):
                    frame = pd.read_csv(tar.extractfile(member), names=names)
                    frame.to_parquet(out / f"{stem}.parquet", compression="zstd")


if __name__ == "__main__":
    main()
