"""Counts what tests tried, and shows it in a table at the end of a run. No loop of a test may be empty."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

COUNTED = "tried"
T = TypeVar("T")

Count = Callable[[str, int], None]
"""Enters how much of a kind a test has tried."""


def non_empty(values: Iterable[T]) -> list[T]:
    """Return the values, of which there must be some: without any, a test of each would assert nothing."""
    found = list(values)
    assert found
    return found


def summarize(terminalreporter: pytest.TerminalReporter) -> None:
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for kind, number in (value for name, value in report.user_properties if name == COUNTED):
                tried[kind] += number
                failed[kind] += outcome == "failed"
    if not tried:
        return
    terminalreporter.section("tried")
    terminalreporter.write_line("| what | tried | tests that failed |")
    terminalreporter.write_line("| --- | ---: | ---: |")
    for kind, number in sorted(tried.items()):
        terminalreporter.write_line(f"| {kind} | {number:,} | {failed[kind]} |")
