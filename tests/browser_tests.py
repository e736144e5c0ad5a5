"""Chromium for the tests of HTML pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = shutil.which("chromium") or ""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium (`playwright.sync_api.Browser`)."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


def wait_until(page: Any, condition: str, argument: object = None) -> None:
    """Wait until a JavaScript expression or function returns a true value. The time limit is the test's.

    Playwright's `wait_for_function` repeats its condition with `eval`, which the policy of the pages refuses.
    """
    while not page.evaluate(condition, argument):
        page.wait_for_timeout(50)
