"""The entry point of `traces`: installs the signal handlers before it imports the other modules.

By default Python raises an exception on SIGINT, which a running import may swallow.
"""

from typing import NoReturn

from tracehouse.core import signals


def main() -> NoReturn:
    """Run the command line."""
    signals.end_at_once()
    from tracehouse import cli

    cli.main()


if __name__ == "__main__":
    main()
