"""Counts what tests tried, and shows it in a table at the end of a run."""

from collections import Counter
from collections.abc import Callable

import pytest

COUNTED = "tried"

Count = Callable[[str, int], None]
"""Enters how much of a kind a test has tried."""


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
