"""The documentation site contains every entry of the catalog once, and all of its links work.

By default the tests read the source pages. With TRACEHOUSE_DOCS=all (`make docs-test`) they also build the
site, check its HTML and search it in Chromium.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from counting import non_empty
from markdown_it import MarkdownIt

from tracehouse.docs import dictionary, examples, site
from tracehouse.docs.catalog import Catalog
from tracehouse.engines.duckdb.write.definitions import Definitions, definitions_over
from tracehouse.ingest.declarations import all_traces
from tracehouse.views.rules import all_rules
from tracehouse.views.sql_text import first_statement

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = [*(path for path in site.documents() if path.endswith(".md")), site.HOME]
in_full = pytest.mark.skipif(os.environ.get("TRACEHOUSE_DOCS") != "all", reason="`make docs-test` runs it")


@pytest.fixture(scope="module")
def definitions() -> Definitions:
    return definitions_over([])


# The pages of these queries have examples. `make docs` adds examples to the pages of all queries.
WITH_EXAMPLE = ("itp.gpu_hours", "pai.machines")


@pytest.fixture(scope="module")
def rendered(definitions: Definitions, sample_warehouse: Path) -> dict[str, str]:
    names = () if os.environ.get("TRACEHOUSE_DOCS") == "all" else WITH_EXAMPLE
    return dictionary.render(Catalog(definitions), examples.examples(sample_warehouse, names))


@pytest.fixture(scope="module")
def pages(rendered: dict[str, str]) -> dict[str, str]:
    return {path: page for path, page in rendered.items() if path.endswith(".md")}


@pytest.fixture(scope="module")
def text(pages: dict[str, str]) -> str:
    return "\n".join(pages.values())


def rows(definitions: Definitions, table: str) -> list[dict]:
    return definitions.catalog[f"catalog.{table}"].to_pylist()


def labels(text: str) -> Counter[str]:
    return Counter(re.findall(r"^\((\S+)\)=$", text, re.M) + re.findall(r'\{id="(\S+?)"\}', text))


def shown(markdown: str) -> list[str]:
    """Return the lines of a cell or paragraph without markup."""
    [inline] = [token for token in MarkdownIt().parse(markdown) if token.type == "inline"]
    pieces = [
        "\n" if token.type == "html_inline" else token.content
        for token in inline.children or ()
        if token.type in ("html_inline", "text", "text_special", "code_inline", "softbreak")
    ]
    return "".join(pieces).split("\n")


def columns_of(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the label of each column on a page and the other cells of its row."""
    for label, cells in re.findall(r'^\| \[`[^`]+`\]\{id="(\S+?)"\} \| (.*) \|$', page, re.M):
        yield label, re.split(r"(?<!\\) \| ", cells)


@pytest.fixture(scope="module")
def sections(pages: dict[str, str]) -> dict[str, str]:
    """The section of each label: of a table, a query, a version or a caveat."""
    parts = [part for page in pages.values() for part in re.split(r"^(?=\(\S+\)=$)", page, flags=re.M)]
    return {part[1 : part.index(")=\n")]: part for part in parts if part}


def test_lists_every_column_once_with_type_unit_provenance_and_meaning(
    definitions: Definitions, pages: dict[str, str]
) -> None:
    views = {row["view_name"] for row in rows(definitions, "views")}
    kinds = {**definitions.relations, **definitions.queries}
    expected = Counter(
        (
            f"{row['object_name']}.{row['column_name'].lower()}",
            kinds[row["object_name"]].columns[row["column_name"]][0],
            row["unit"],
            row["provenance"],
            row["meaning"],
        )
        for row in rows(definitions, "columns")
        # The plain name of a view has the columns of its newest version.
        if row["object_name"] not in views
    )
    found = Counter(
        (label, shown(cells[0])[0], cells[1].strip(), cells[2], shown(cells[3])[0])
        for page in pages.values()
        for label, cells in columns_of(page)
        if len(cells) == 4
    )
    assert len(expected) > 2000
    assert found == expected


def test_lists_columns_of_the_catalog(definitions: Definitions, pages: dict[str, str]) -> None:
    expected = {
        f"{name}.{column}": comment
        for name, defined in definitions.relations.items()
        if name.startswith("catalog.")
        for column, (_, comment) in defined.columns.items()
    }
    found = {
        label: shown(cells[1])[0]
        for page in pages.values()
        for label, cells in columns_of(page)
        if label.startswith("catalog.")
    }
    assert found == expected


def test_labels_every_object_caveat_clock_and_figure_once(definitions: Definitions, text: str) -> None:
    names = [row["table_name"] for row in rows(definitions, "tables")]
    names += [name for name in definitions.relations if name.startswith("catalog.")]
    names += {row["view_name"] for row in rows(definitions, "views")}
    names += [row["versioned_name"] for row in rows(definitions, "views")]
    names += [row["query_name"] for row in rows(definitions, "queries")]
    names += [f"caveat.{row['caveat']}" for row in rows(definitions, "caveats")]
    names += [f"clock.{row['clock']}" for row in rows(definitions, "clocks")]
    names += [f"figure.{row['figure']}".lower() for row in figure_rows(definitions)]
    found = labels(text)
    assert {name: found[name] for name in names} == dict.fromkeys(names, 1)
    assert [label for label, count in found.items() if count > 1] == []


def test_links_of_the_dictionary_work(pages: dict[str, str], rendered: dict[str, str], text: str) -> None:
    known = labels(text)
    linked = {link for link in re.findall(r"\]\((?!http)([^)\s]+)\)", text) if not link.endswith(".svg")}
    there = {label for label in linked if label.startswith("#") and label[1:] in known}
    there |= {path for path in linked if path.startswith("/") and path[1:] in DOCUMENTS}
    assert linked - there == set()
    for path, page in pages.items():
        for picture in re.findall(r"!\[[^\]]*\]\((.*?)\)", page):
            assert f"{Path(path).parent}/{picture}" in rendered
        for tree in re.findall(r"```\{toctree\}\n:hidden:\n\n(.*?)\n```", page, re.S):
            for entry in tree.splitlines():
                name = re.sub(r".*<(.*)>", r"\1", entry)
                assert f"{Path(path).parent}/{name}.md" in pages
    in_trees = re.findall(r"^[\w/-]+$|<[\w/-]+>$", text, re.M)
    assert len(in_trees) >= len(pages) - 1


def test_caveats_and_their_objects_link_to_each_other(
    definitions: Definitions, pages: dict[str, str], sections: dict[str, str]
) -> None:
    columns = {label: " ".join(cells) for page in pages.values() for label, cells in columns_of(page)}
    newest = {
        row["view_name"]: row["versioned_name"]
        for row in sorted(rows(definitions, "views"), key=lambda row: row["version"])
    }
    for caveat in non_empty(rows(definitions, "caveats")):
        about = sections[f"caveat.{caveat['caveat']}"]
        assert shown(about.split("\n\n")[1]) == [caveat["what_goes_wrong"]]
        for touched in caveat["objects"]:
            relation, _, column = touched.rpartition(".")
            name = f"{newest.get(relation, relation)}.{column}"
            assert f"(#{name.lower()})" in about
            there = columns.get(name.lower()) or sections[touched]
            assert f"(#caveat.{caveat['caveat']})" in there
    for row in non_empty(rows(definitions, "columns")):
        if row["object_name"] not in newest:
            for caveat_name in row["caveats"]:
                label = f"{row['object_name']}.{row['column_name'].lower()}"
                assert f"(#caveat.{caveat_name})" in columns[label]
                assert f"(#{label})" in sections[f"caveat.{caveat_name}"]


def test_versions_show_status_hash_lineage_and_sql(
    definitions: Definitions, pages: dict[str, str], sections: dict[str, str]
) -> None:
    for row in rows(definitions, "views"):
        about = sections[row["versioned_name"]]
        assert f":Status: {row['status']}, SHA-256 `{row['sha256']}`\n" in about
        assert f"```sql\n{first_statement(row['sql']).strip()}\n```" in about
        assert all(f"(#{name})" in about for name in row["reads"])
    tightness = dict(columns_of(sections["itp.job_v1"]))["itp.job_v1.tightness"][3]
    assert "(#itp.elasticflow_job.deadline)" in tightness
    # Lineage links to versions, because the columns of a plain name have no labels.
    assert "(#itp.job." not in "".join(pages.values())


def test_queries_show_parameters_hash_and_sql(
    definitions: Definitions, pages: dict[str, str], sections: dict[str, str]
) -> None:
    for row in non_empty(rows(definitions, "queries")):
        about = sections[row["query_name"]]
        assert f":SHA-256: `{row['sha256']}`\n" in about
        assert f"```sql\n{first_statement(row['sql']).strip()}\n```" in about
    for row in non_empty(rows(definitions, "query_parameters")):
        about = sections[row["query_name"]]
        [cells] = re.findall(rf"^\| `{row['parameter']}` \| (.*) \|$", about, re.M)
        assert cells.startswith(f"`{row['type']}` | `{row['default_value']}` | ")
        meaning = "\n".join(shown(cells.split(" | ", 2)[2]))
        assert all(choice in meaning for choice in row["choices"])
        assert row["at_least"] is None or f"From {row['at_least']} to {row['at_most']}" in meaning
        assert (row["values_of"] or "") in meaning


def test_shows_every_metric_figure_and_rule_of_the_catalog(
    definitions: Definitions, pages: dict[str, str]
) -> None:
    texts = {schema: "\n".join(lines_of(pages, schema)) for schema in pages_by_schema(pages)}
    for row in non_empty(rows(definitions, "metrics")):
        answer = f" {row['answered_by']}" if row["answered_by"] else ""
        expected = f"| {row['metric']} | {row['exactness']} | {row['reason']}{answer} |"
        assert expected in texts[row["trace"]]
        there = row["exactness"] if row["answered_by"] else "–"
        [line] = re.findall(rf"^\| {row['metric']} \| (.*) \|$", pages["dictionary/coverage.md"], re.M)
        assert there in line and (f"(#{row['answered_by']})" in line or not row["answered_by"])
    for row in non_empty(figure_rows(definitions)):
        assert row["statement"] in texts[row["trace"]]
        assert f"{row['value']:,.10g}" in texts[row["trace"]]
        assert " ".join(row["measured_by"].split()) in texts[row["trace"]]
    for rule in non_empty(all_rules(all_traces().values())):
        assert f"- {rule.rule}" in texts[rule.object_name.partition(".")[0]]


def figure_rows(definitions: Definitions) -> list[dict]:
    return [*rows(definitions, "published"), *rows(definitions, "expected")]


def pages_by_schema(pages: dict[str, str]) -> set[str]:
    return {path.split("/")[1] for path in pages if path.count("/") == 2}


def lines_of(pages: dict[str, str], schema: str) -> Iterator[str]:
    """Yield the pages of a schema without escapes, labels and link targets."""
    for path, page in pages.items():
        if path.startswith(f"dictionary/{schema}/"):
            plain = re.sub(r"\]\(#\S+?\)|(?<!\\)[\[`]", "", page)
            yield re.sub(r"\\(.)", r"\1", plain)


def test_query_page_shows_rows_and_chart_of_synthetic_data(rendered: dict[str, str]) -> None:
    for name in WITH_EXAMPLE:
        path = f"dictionary/{name.replace('.', '/')}"
        page, chart = rendered[f"{path}.md"], rendered[f"{path}.svg"]
        assert "synthetic data" in page and ">synthetic data<" in chart
        [block] = re.findall(rf"```console\n\$ traces query {name}\n(.*?)\n```", page, re.S)
        heading, _, *rows = block.splitlines()
        shown_columns = {label.rpartition(".")[2] for label, _ in columns_of(page)}
        assert set(heading.split()) == shown_columns
        assert 1 < len(rows) <= examples.MOST_ROWS
        assert f"]({name.partition('.')[2]}.svg)" in page


def test_gallery_links_each_chart_to_its_query(rendered: dict[str, str]) -> None:
    gallery = rendered["dictionary/gallery.md"]
    charts = [path for path in rendered if path.endswith(".svg")]
    assert len(re.findall(r"^\[!\[\]", gallery, re.M)) == len(charts)
    for path in non_empty(charts):
        _, schema, name = path.removesuffix(".svg").split("/")
        assert f"[![]({schema}/{name}.svg)](#{schema}.{name})" in gallery


def test_home_page_shows_a_picture_a_tour_and_the_metrics_of_each_trace(pages: dict[str, str]) -> None:
    page = site.index(DOCUMENTS, pages[dictionary.COVERAGE])
    assert "](docs/run_cdf.svg)" in page
    assert "pip install" in page and "traces ingest" in page
    listed = page.split("## What each trace can tell")[1]
    assert all(f"[{trace}](#schema.{trace})" in listed for trace in all_traces())


def test_navigation_contains_every_document() -> None:
    page = site.index(DOCUMENTS, "")
    names = [path.name.removesuffix(".md") for path in (REPOSITORY / "docs").glob("*.md")]
    names.remove("home")
    assert len(names) > 6
    for name in [*(f"docs/{name}" for name in names), "CONTRIBUTING", "CHANGELOG", "bench/README"]:
        assert page.splitlines().count(name) == 1


def links(document: str) -> list[tuple[Path, str]]:
    path = REPOSITORY / document
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    return [(path, link) for link in re.findall(r"\]\(([^)\s]+)\)", text)]


def test_links_of_documents_work() -> None:
    for path, link in non_empty(found for document in DOCUMENTS for found in links(document)):
        name, _, anchor = link.partition("#")
        if "://" not in name:
            target = (path.parent / name).resolve() if name else path
            assert target.is_file(), link
            assert not anchor or anchor in headings(target), link


def headings(document: Path) -> set[str]:
    """Return the anchors that GitHub and the site derive from the headings."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.S | re.M)
    found = re.findall(r"^#+ (.*)", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in found}


class Anchors(HTMLParser):
    """The links of an HTML page, the files it loads, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.ids.add(named.get("id", ""))
        if tag == "a":
            self.links.append(named.get("href", ""))
        else:
            self.loads += [named[name] for name in ("src", "href", "srcset", "data") if name in named]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, rendered: dict[str, str]) -> Path:
    """Build the site like `make docs`."""
    folder = tmp_path_factory.mktemp("site")
    site.write_pages(rendered, folder / "pages")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--jobs", "auto", "--nitpicky", "--fail-on-warning"]
    configured = ["-c", str(REPOSITORY / "docs"), str(folder / "pages"), str(folder / "site")]
    subprocess.run([*command, *configured], check=True)
    return folder / "site"


@in_full
def test_links_of_the_site_work_and_load_nothing_external(built: Path) -> None:
    found = {page: Anchors(page) for page in built.rglob("*.html")}
    assert len(found) > 250
    for page, anchors in found.items():
        assert [url for url in anchors.loads if urlsplit(url).scheme not in ("", "data")] == []
        for link in filter(None, anchors.links):
            parts = urlsplit(link)
            if not parts.scheme:
                target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
                assert target.is_file(), f"{page}: {link}"
                anchor = unquote(parts.fragment)
                assert not anchor or target not in found or anchor in found[target].ids, f"{page}: {link}"
    for style in built.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//\S*", style.read_text()) == []


@in_full
def test_gallery_shows_thumbnails_that_link_to_queries(built: Path) -> None:
    page = (built / "dictionary" / "gallery.html").read_text()
    assert 'class="gallery docutils container"' in page
    thumbnails = re.findall(r'href="(\w+/\w+)\.html#[^"]*"><span class="[^"]*"><img ', page)
    assert len(thumbnails) > 100


@in_full
@pytest.mark.parametrize(
    ("words", "page"),
    [("is_feasible_as_requested", "dictionary/itp/job"), ("queueing delay", "dictionary/pai/wait_cdf")],
)
def test_search_finds_page_without_server(built: Path, words: str, page: str) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    address = f"file://{built}/search.html?q={quote(words)}"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    found = subprocess.run([chromium, *options, address], check=True, capture_output=True, text=True).stdout
    assert f'href="{page}.html' in found
