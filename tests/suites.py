"""The suites that `make test` does not collect: tests that need more than Python, or that take long.

Each has a target of the Makefile. TRACEHOUSE_SUITES names those that a run collects, such as "docs site".
"""

import os

import pytest

REQUESTED = frozenset(os.environ.get("TRACEHOUSE_SUITES", "").split())


def of(suite: str) -> pytest.MarkDecorator:
    """Return the mark of the tests of a suite."""
    return pytest.mark.suite(suite)


def is_collected(item: pytest.Item) -> bool:
    """Whether this run requests all suites that a test belongs to."""
    return {mark.args[0] for mark in item.iter_markers("suite")} <= REQUESTED
