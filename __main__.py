"""The entry point of `traces`: takes signals before anything else is imported.

Python's own way is an exception, which an import that is under way may swallow.
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
