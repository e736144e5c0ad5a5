"""Open dashboards of a Superset in headless Chromium, and print their contents as JSON.

    superset_pages.py URL FOLDER SLUG…

Logs in as admin with the password admin, waits until all charts of each dashboard have data, and saves a
screenshot of the top as FOLDER/SLUG.png and of the complete dashboard as FOLDER/SLUG-whole.png. Run it with a
Python that has playwright.
"""

import json
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
TIMEOUT_MS = 120_000
QUIET = "() => !document.querySelector('[data-test=loading-indicator], .loading')"


def capture_dashboard(page: Page, url: str, slug: str, folder: Path) -> dict[str, object]:
    asked: list[int] = []

    def remember(response) -> None:
        if "/api/v1/chart/data" in response.url:
            asked.append(response.status)

    page.on("response", remember)
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.goto(f"{url}/superset/dashboard/{slug}/?standalone=2")
    page.wait_for_selector(".grid-container")
    charts = page.locator("[data-test=chart-container], .chart-container")
    page.wait_for_function(QUIET)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=folder / f"{slug}.png")
    # Superset draws visible charts only, so the window gets the height of the dashboard.
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": 1400, "height": height + 50})
    page.wait_for_load_state("networkidle")
    page.wait_for_function(QUIET)
    page.screenshot(path=folder / f"{slug}-whole.png")
    page.remove_listener("response", remember)
    return {
        "charts": charts.count(),
        "drawn": page.locator("canvas, table, .ant-table").count(),
        "statuses": asked,
        "errors": page.locator("[role=alert]").all_inner_texts(),
        "text": page.locator(".grid-container").inner_text(),
    }


def main() -> None:
    url, folder, *slugs = sys.argv[1:]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(f"{url}/login/")
        page.fill("#username", "admin")
        page.fill("#password", "admin")
        page.keyboard.press("Enter")
        page.wait_for_url("**/superset/welcome/**")
        print(json.dumps({slug: capture_dashboard(page, url, slug, Path(folder)) for slug in slugs}))
        browser.close()


main()
