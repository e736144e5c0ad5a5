"""Pages and pictures show values and names from raw files that look like markup as plain text."""

import csv
import io
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

import browser_tests
import command_line
import pytest
import suites
from explore_server import interrupt, start

from tracehouse.engines.duckdb.write import database

HOSTILE = (
    '<hostile onhostile="1">',
    "'><hostile onhostile='1",
    '"><svg onhostile="1"/>',
    "</text></svg></script></style></title><hostile>",
    "]]><hostile>",
    "<!--hostile",
    "&lt;hostile&gt;",
    "javascript:hostile()",
    "{{ 'hostile' * 2 }}",
)
FOLDER = "<hostile onhostile=1>"
QUERY = """-- Pods by quality of service
-- chart: bar x=qos y=pods
create or replace macro mine.by_qos(
    -- quality of service [openb.pod.qos]
    of_qos varchar := null
) as table
select qos, count(*) as pods from openb.pod where of_qos is null or qos = of_qos group by qos order by qos;
"""
NODE = "sn,cpu_milli,memory_mib,gpu,model"
POD = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time"
)


def as_csv(header: str, rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header.split(","), *rows])
    return text.getvalue()


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of files whose folder, names, models and classes look like markup."""
    folder = tmp_path_factory.mktemp("hostile")
    raw, local = folder / "raw" / FOLDER, folder / "warehouse" / "local" / "sql" / "mine"
    raw.mkdir(parents=True)
    local.mkdir(parents=True)
    (local / "by_qos.sql").write_text(QUERY, encoding="utf-8")
    numbered = list(enumerate(HOSTILE))
    nodes = as_csv(NODE, ([f"n{n}", 8000, 1024, 2, text] for n, text in numbered))
    pods = as_csv(
        POD, ([text, 4000, 1024, 1, 1000, "", text, text, 0, 900 + n, 10 + n] for n, text in numbered)
    )
    (raw / "openb_node_list_gpu_node.csv").write_text(nodes, encoding="utf-8")
    (raw / "openb_pod_list_default.csv").write_text(pods, encoding="utf-8")
    outcome = database.ingest([folder / "raw"], folder / "warehouse", ["openb"], lambda *_: None)
    assert not outcome.problems
    return folder / "warehouse"


class Parsed(HTMLParser):
    """The names of tags and attributes of a page, its comments and its links."""

    def __init__(self, page: str):
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names += [tag, *(name for name, _ in attrs)]
        linking = ("href", "src", "style")
        self.links += [value or "" for name, value in attrs if name.rpartition(":")[2] in linking]

    def handle_comment(self, data: str) -> None:
        self.names.append(data)


def find_markup(page: str) -> list[str]:
    """Find tags, attributes, links and comments that come from data."""
    parsed = Parsed(page)
    return [
        *(name for name in parsed.names if "hostile" in name or name.startswith("on") or name == "script"),
        *(link for link in parsed.links if link.startswith("javascript:") or "<" in link),
    ]


ALL_SHOWN = """values => {
    const shown = [...document.querySelectorAll("main td")].map(cell => cell.innerText).join("\\n")
    return values.every(value => shown.includes(value))
}"""


@suites.of("site")
def test_browser_shows_hostile_values_as_texts(warehouse: Path, tmp_path: Path) -> None:
    started = start(warehouse, tmp_path)
    with browser_tests.browser() as opened:
        page = opened.new_page()
        page.goto(started.address)
        for name in ("mine.by_qos", "openb.capacity_by_model"):
            page.evaluate("hash => { location.hash = hash }", f"#/query/{name}")
            # The figure of the previous page may still be there.
            browser_tests.wait_until(page, ALL_SHOWN, list(HOSTILE))
            page.locator("figure svg").wait_for()
            assert find_markup(page.locator("main").inner_html()) == []
    interrupt(started)


def test_picture_shows_hostile_values_as_texts(warehouse: Path, tmp_path: Path) -> None:
    for query in ("openb.capacity_by_model", "openb.phases_by_qos"):
        path = tmp_path / "chart.svg"
        run = command_line.server().run("query", query, "--output", path, "-w", warehouse)
        assert run.code == 0, run.stderr
        assert find_markup(path.read_text(encoding="utf-8")) == []
        elements = list(ET.fromstring(path.read_text(encoding="utf-8")).iter())
        assert {element.tag.rpartition("}")[0] for element in elements} == {"{http://www.w3.org/2000/svg"}
        shown = "\n".join("".join(element.itertext()) for element in elements)
        assert [value for value in HOSTILE if value[:10] not in shown] == []
