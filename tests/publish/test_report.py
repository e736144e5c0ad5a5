"""Tests of the report: it agrees with the catalog, and its pages are self-contained."""

import html
import itertools
import re
import sys
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import browser_tests
import command_line
import duckdb
import pytest
from duckdb import DuckDBPyConnection

from tracehouse.engines.duckdb.read import verify
from tracehouse.engines.duckdb.write import database
from tracehouse.publish import report
from tracehouse.publish.pages import inline_svg

VOID = {"meta", "br", "wbr"}


class Page(HTMLParser):
    """Elements of a page with attributes and texts, and tags that are closed in the wrong order."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[list[str]] = []
        self.wrong: list[str] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert not self._open and not self.wrong, self.wrong

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append([])
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append([])

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self.elements[self._open.pop()][0] != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        for place in self._open:
            self.texts[place].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Return attributes and text of each element with a tag."""
        return [
            (attributes, " ".join("".join(texts).split()))
            for (name, attributes), texts in zip(self.elements, self.texts, strict=True)
            if name == tag
        ]

    def rows_of(self, label: str) -> list[list[str]]:
        """Return the rows of the first table in a labelled region, with cells as texts."""
        start = next(
            i for i, (_, attributes) in enumerate(self.elements) if attributes.get("aria-label") == label
        )
        rows: list[list[str]] = []
        for (name, _), texts in zip(self.elements[start + 1 :], self.texts[start + 1 :], strict=True):
            if name == "div":
                break
            if name == "tr":
                rows.append([])
            elif name in ("th", "td"):
                rows[-1].append(" ".join("".join(texts).split()))
        return rows


def write_report(warehouse: Path, folder: Path, *traces: str) -> str:
    run = command_line.server().run("report", *traces, "--out", folder / "page.html", "-w", warehouse)
    assert run.code == 0, run.stderr
    return (folder / "page.html").read_text()


@pytest.fixture(scope="module")
def two_synthetic(sample_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic warehouse: two traces with jobs, and PAI's machines. All traces would take a minute."""
    folder = tmp_path_factory.mktemp("two") / "warehouse"
    (folder.parent / "raw").mkdir()
    for path in (*sample_raw.rglob("pai_machine_spec*"), *sample_raw.rglob("SYNTHETIC.txt")):
        (folder.parent / "raw" / path.name).write_bytes(path.read_bytes())
    assert not database.ingest([folder.parent / "raw"], folder, ["pai"], lambda *_: None).problems
    assert not database.ingest([sample_raw], folder, ["dlrm", "itp"], lambda *_: None).problems
    return folder


@pytest.fixture(scope="module")
def several(two_synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages of a report on three traces, by file name."""
    folder = tmp_path_factory.mktemp("report")
    write_report(two_synthetic, folder)
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def synthetic_text(several: dict[str, str]) -> str:
    """The page that compares the three traces."""
    return several["page.html"]


@pytest.fixture(scope="module")
def dlrm_text(several: dict[str, str]) -> str:
    return several["page-dlrm.html"]


@pytest.fixture(scope="module")
def synthetic(two_synthetic: Path) -> Iterator[DuckDBPyConnection]:
    with duckdb.connect(str(two_synthetic / database.NAME), read_only=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def itp_text(real_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(real_warehouse, tmp_path_factory.mktemp("report"), "itp")


@pytest.fixture(scope="module")
def empty_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("nothing")
    assert command_line.server().run("build", "-w", folder).code == 0
    return write_report(folder, folder)


def test_each_of_several_traces_has_a_page(
    several: dict[str, str], two_synthetic: Path, tmp_path: Path
) -> None:
    of_traces = {trace: f"page-{trace}.html" for trace in ("dlrm", "itp", "pai")}
    assert several.keys() == {"page.html", *of_traces.values()}
    links = {attributes.get("href") for attributes, _ in Page(several["page.html"]).all("a")}
    assert links >= {*of_traces.values()}
    for name in of_traces.values():
        loaded = [row[0] for row in Page(several[name]).rows_of("What is loaded")[1:]]
        assert [of_traces[trace] for trace in loaded] == [name]
    for link in links:
        name, _, anchor = str(link).partition("#")
        if name in several and anchor:
            assert f'id="{anchor}"' in several[name]
    run = command_line.server().run("report", "itp", "pai", "-o", tmp_path / "two.html", "-w", two_synthetic)
    assert run.stderr.splitlines() == [
        f"itp: writing {tmp_path}/two-itp.html",
        f"pai: writing {tmp_path}/two-pai.html",
        f"comparison: writing {tmp_path}/two.html",
    ]


def test_lists_loaded_tables(
    synthetic_text: str, several: dict[str, str], synthetic: DuckDBPyConnection
) -> None:
    page = Page(synthetic_text)
    loaded = {row[0]: row for row in page.rows_of("What is loaded")[1:]}
    counts = synthetic.execute("select trace, sum(row_count) from catalog.tables group by trace").fetchall()
    assert {trace: row[3] for trace, row in loaded.items()} == {trace: f"{rows:,}" for trace, rows in counts}
    for trace, rows in counts:
        assert loaded[trace][1] == ("synthetic" if rows else "no data")
    for file, sha256 in synthetic.execute("select file, sha256 from catalog.sources").fetchall():
        assert any(file in page and sha256 in page for page in several.values())


def test_lists_supported_metrics(synthetic_text: str, synthetic: DuckDBPyConnection) -> None:
    [head, *rows] = Page(synthetic_text).rows_of("Supported metrics")
    shown = {(trace, row[0]): cell for row in rows for trace, cell in zip(head[1:], row[1:], strict=True)}
    known = synthetic.execute("select trace, metric, exactness from catalog.metrics").fetchall()
    assert shown == {(trace, metric): exactness for trace, metric, exactness in known}
    assert {"exact", "approximate", "impossible"} == set(shown.values())


def test_labels_synthetic_data_at_the_top(synthetic_text: str, dlrm_text: str, itp_text: str) -> None:
    above = synthetic_text[: synthetic_text.index("What is loaded")]
    assert "Synthetic data." in above and "dlrm, itp, pai" in above
    assert "Generated, not measured: dlrm.instance" in dlrm_text
    assert "Synthetic data" not in itp_text
    assert "reproduced" not in {row[1] for row in Page(synthetic_text).rows_of("Published figures")[1:]}


def test_synthetic_data_reproduces_no_figure(synthetic_text: str) -> None:
    [head, *rows] = Page(synthetic_text).rows_of("Published figures")
    counts = [dict(zip(head, row, strict=True)) for row in rows]
    assert {row["reproduced"] for row in counts} == {"0"}
    assert sum(int(row["synthetic data"]) for row in counts) > 20


def test_comparison_equals_pandas(itp_text: str, real: DuckDBPyConnection) -> None:
    [head, *rows] = Page(itp_text).rows_of("Comparison of traces")
    frame = real.execute("select source_file, num_gpu, duration from itp.raw_job").df()
    frame["cluster"] = frame["source_file"].str.removesuffix(".csv")
    jobs = frame.groupby("cluster").size()
    gpu_h = (frame["num_gpu"] * frame["duration"] / 3600).groupby(frame["cluster"]).sum()
    assert [row[:3] for row in rows] == [["itp", name, f"{count:,}"] for name, count in jobs.items()]
    for row in rows:
        assert float(row[3].replace(",", "")) == pytest.approx(gpu_h[row[1]], rel=1e-5)
    # Waits that are not recorded are shown as missing, not as 0.
    place = next(i for i, name in enumerate(head) if name.startswith("median_ wait") or "wait" in name)
    assert {row[place] for row in rows} == {"–"}


def test_compares_published_and_measured_figures(itp_text: str, real: DuckDBPyConnection) -> None:
    page = Page(itp_text)
    results = verify.figures(real, ["itp"])
    [head, [trace, *counts]] = page.rows_of("Published figures")
    assert trace == "itp"
    verdicts = Counter(str(result.verdict) for result in results)
    assert dict(zip(head[1:], map(int, counts), strict=True)) == {v: verdicts[v] for v in verify.Verdict}
    shown = {row[0]: row for row in page.rows_of("Published figures of itp")[1:]}
    for result in results:
        if result.verdict is verify.Verdict.EXPLAINED:
            [row] = [row for text, row in shown.items() if text.startswith(result.statement)]
            assert row[5] == "differs as explained"
            assert result.explanation in row[0]
    [total] = [row for text, row in shown.items() if "GPU-hours" in text and "1,632,719.7" in row[1]]
    assert (total[2], total[5]) == ("1,632,719.7", "reproduced")


def test_lists_each_caveat_once_with_its_objects(itp_text: str, real: DuckDBPyConnection) -> None:
    plain = html.unescape(itp_text)
    caveats = real.execute(
        "select caveat, what_goes_wrong, objects from catalog.caveats where trace = 'itp'"
    ).fetchall()
    assert len(caveats) > 10
    for caveat, text, objects in caveats:
        assert plain.count(text) == 1
        below = plain[plain.index(f'<h4 id="{caveat}">') :].split('<div class="caveat">')[0]
        assert all(f"<code>{name}</code>" in below for name in objects)


def test_draws_charts_of_trace_and_lists_others(itp_text: str, real: DuckDBPyConnection) -> None:
    page = Page(itp_text)
    drawn = [
        text.rpartition("traces query ")[2].split(" Caveats")[0].strip() for _, text in page.all("figcaption")
    ]
    assert len(drawn) == report.MOST_CHARTS == len(page.all("svg"))
    with_chart = real.execute(
        "select query_name from catalog.queries where trace = 'itp' and chart <> ''"
    ).fetchall()
    rest = {name for (name,) in with_chart} - set(drawn)
    assert f"{len(rest)} more queries have a chart" in itp_text
    assert all(f"<code>{name}</code>" in itp_text for name in rest)
    reads = dict(real.execute("select query_name, reads from catalog.queries").fetchall())
    assert len({tuple(reads[name]) for name in drawn}) > 1


def test_lists_versions_and_hashes_of_definitions(itp_text: str, real: DuckDBPyConnection) -> None:
    used = {row[0]: row[2] for row in Page(itp_text).rows_of("Versions of views and queries")[1:]}
    assert "unified.traces" in used and "unified.jobs_v2" in used and "itp.standard_job_v1" in used
    known = dict(
        real.execute(
            """
            select query_name, sha256 from catalog.queries
            union all
            select versioned_name, sha256 from catalog.views
            """
        ).fetchall()
    )
    assert used == {name: known[name] for name in used}


def test_draws_charts_across_traces(synthetic_text: str, itp_text: str) -> None:
    drawn = synthetic_text.partition("Charts over all traces")[2].partition('<h2 id="figures">')[0]
    assert drawn.count("<svg") == report.MOST_CHARTS
    assert "traces query unified.run_cdf" in drawn
    # PAI has no jobs here, so the charts omit it.
    assert 'href="page-dlrm.html#dlrm.services_not_jobs"' in drawn and 'href="page-pai.html#pai.' not in drawn
    # A report on one trace has no charts across traces.
    assert "Charts over all traces" not in itp_text


def test_report_on_one_trace_contains_no_other(itp_text: str) -> None:
    page = Page(itp_text)
    assert [row[0] for row in page.rows_of("What is loaded")[1:]] == ["itp"]
    assert "openb" not in itp_text.replace("openb.", "")
    assert "ElasticFlow: An Elastic Serverless Training Platform" in itp_text
    # Its section lists the metrics.
    assert 'id="coverage"' not in itp_text


def test_reports_empty_warehouse(empty_text: str) -> None:
    page = Page(empty_text)
    assert "No data." in empty_text[: empty_text.index("What is loaded")]
    assert {row[1] for row in page.rows_of("What is loaded")[1:]} == {"no data"}
    assert page.all("svg") == []
    assert "How to cite" in empty_text


@pytest.mark.parametrize("fixture", ["synthetic_text", "dlrm_text", "itp_text", "empty_text"])
def test_page_is_self_contained_and_accessible(fixture: str, request: pytest.FixtureRequest) -> None:
    text = request.getfixturevalue(fixture)
    page = Page(text)
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    # No scripts, no external resources, and no broken internal links.
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "image", "use"}
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        target = attributes.get("href") or ""
        assert not target.startswith("#") or target[1:] in ids
    assert all(attributes.get("scope") in ("col", "row") for attributes, _ in page.all("th"))
    assert all(
        attributes["role"] == "img" and set(attributes["aria-labelledby"].split()) <= set(ids)
        for attributes, _ in page.all("svg")
    )
    assert not re.search(r"url\((?!['\"]?#)", text)


def test_escapes_markup_in_data(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    name = "<b>&amp;.csv"
    (tmp_path / "raw" / name).mkdir()
    source = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,2,<script>\n"
    (tmp_path / "raw" / name / "openb_node_list_all_node.csv").write_text(source)
    assert command_line.server().run("ingest", "-r", tmp_path / "raw", "-w", tmp_path / "warehouse").code == 0
    text = write_report(tmp_path / "warehouse", tmp_path)
    Page(text)
    assert "<b>" not in text and "<script" not in text
    assert "&lt;b&gt;&amp;amp;.csv" in text


def test_charts_on_one_page_have_distinct_ids() -> None:
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" height="9">'
        '<defs><clipPath id="clip0"/></defs>'
        '<g role="graphics-object" aria-label="a" clip-path="url(#clip0)"/>'
        '<use xlink:href="#clip0"/></svg>'
    )
    root = ET.fromstring(inline_svg(drawn, "one", "How <long>?", "It & more"))
    svg = "{http://www.w3.org/2000/svg}"
    [group] = root.findall(f"{svg}g")
    assert group.attrib == {"clip-path": "url(#one-clip0)"}
    [use] = root.findall(f"{svg}use")
    assert list(use.attrib.values()) == ["#one-clip0"]
    assert [element.get("id") for element in root.iter() if element.get("id")] == [
        "one-title",
        "one-description",
        "one-clip0",
    ]
    assert (root.findtext(f"{svg}title"), root.findtext(f"{svg}desc")) == ("How <long>?", "It & more")


def test_unknown_trace_keeps_old_page(two_synthetic: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("old")
    run = command_line.server().run("report", "ipt", "-o", tmp_path / "page.html", "-w", two_synthetic)
    assert run.code == 2 and "itp" in run.stderr
    assert (tmp_path / "page.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_reports_missing_extra(two_synthetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    from tracehouse.core.errors import UserError
    from tracehouse.engines.duckdb.read.sandbox import Limits
    from tracehouse.publish import answers

    with pytest.raises(UserError, match=r"jinja2, which is not installed.* pip install '\.\[report\]'"):
        [*answers.write_report([], two_synthetic, Limits(), tmp_path / "page.html")]
    assert list(tmp_path.iterdir()) == []


@browser_tests.in_browser
def test_in_a_browser_and_on_paper(synthetic_text: str, itp_text: str, tmp_path: Path) -> None:
    import pypdf

    with browser_tests.browser() as opened:
        source = "https://github.com/microsoft/elasticflow-traces"
        for name, text, shown in (("synthetic", synthetic_text, "Syntheticdata"), ("itp", itp_text, source)):
            path = tmp_path / f"{name}.html"
            path.write_text(text)
            page = opened.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
            messages: list[str] = []
            requests: list[str] = []
            page.on("console", lambda message, messages=messages: messages.append(message.text))
            page.on("pageerror", lambda error, messages=messages: messages.append(str(error)))
            page.on("request", lambda request, requests=requests: requests.append(request.url))
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == 360
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
            page.set_viewport_size({"width": 1200, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == 1200
            page.pdf(path=tmp_path / f"{name}.pdf", prefer_css_page_size=True)
            assert messages == []
            assert requests == [path.as_uri()]
            sheets = pypdf.PdfReader(tmp_path / f"{name}.pdf").pages
            assert len(sheets) > 5
            # A4 is 210 mm by 297 mm.
            assert [round(float(side)) for side in sheets[0].mediabox[2:]] == [595, 842]
            # The font has one glyph for f and l together.
            printed = unicodedata.normalize("NFKC", "".join(sheet.extract_text() for sheet in sheets))
            assert shown in "".join(printed.split())
            page.close()
