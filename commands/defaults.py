"""Where commands look for raw files and the warehouse, unless they are told."""

from pathlib import Path

DEFAULT_WAREHOUSE = Path("warehouse")
DEFAULT_RAW = [Path("raw")]
