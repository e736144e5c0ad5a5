"""The entry point of `traces`: installs the signal handlers before it imports the other modules.

By default Python raises an exception on SIGINT, which a running import may swallow.
"""

import os
from typing import NoReturn

from tracehouse.core import signals


def main() -> NoReturn:
    """Run the command line."""
    signals.end_at_once()
    # DuckDB's allocator reads this when it is loaded. It then unmaps free memory, which would count as used.
    os.environ.setdefault("DUCKDB_JE_MALLOC_CONF", "retain:false")
    from tracehouse import cli

    cli.main()


if __name__ == "__main__":
    main()
