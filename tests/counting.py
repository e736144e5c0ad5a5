"""Count the cases that tests try, and print a table of them at the end. Reject empty loops of a test."""

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar

import pytest

COUNTED = "tried"
# What belongs to cases that another kind counts, such as the commands of a sequence.
PART = "part of tried"
T = TypeVar("T")


class Count(Protocol):
    """Records how many cases of a kind a test has tried, or parts of cases if `name` is PART."""

    def __call__(self, kind: str, number: int, name: str = COUNTED) -> None: ...


def non_empty(values: Iterable[T]) -> list[T]:
    """Return the values, and fail if there are none: a loop over them would assert nothing."""
    found = list(values)
    assert found
    return found


def summarize(terminalreporter: pytest.TerminalReporter) -> None:
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for kind, number in (value for name, value in report.user_properties if name in (COUNTED, PART)):
                tried[kind] += number
                failed[kind] += outcome == "failed"
    if not tried:
        return
    terminalreporter.section("tried")
    terminalreporter.write_line("| what | tried | tests that failed |")
    terminalreporter.write_line("| --- | ---: | ---: |")
    for kind, number in sorted(tried.items()):
        terminalreporter.write_line(f"| {kind} | {number:,} | {failed[kind]} |")
