"""The documentation site contains every entry of the catalog once, and all of its links work.

By default the tests read the source pages. With TRACEHOUSE_DOCS=all (`make docs-test`) they also build the
site, and check its links.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import suites
from non_empty import non_empty

from tracehouse.definitions.rules import all_rules
from tracehouse.definitions.sql_text import first_statement
from tracehouse.docs import examples, site
from tracehouse.docs.dictionary import COVERAGE, Dictionary
from tracehouse.engines.duckdb.write.database_objects import DatabaseObjects, objects_over
from tracehouse.ingest.declare.trace import all_traces

pytestmark = suites.of("docs")

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = [*(path for path in site.documents() if path.endswith(".md")), site.HOME]
# Pages that other pages link to, and that the navigation leaves out.
LINKED_ONLY = ("performance-notes", "verified")
# The pages of these queries have examples. `make docs` adds examples to the pages of all queries.
WITH_EXAMPLE = ("itp.gpu_hours", "pai.machines")


@pytest.fixture(scope="module")
def definitions() -> DatabaseObjects:
    return objects_over([])


@pytest.fixture(scope="module")
def rendered(definitions: DatabaseObjects, sample_warehouse: Path) -> dict[str, str]:
    names = () if "docs" in suites.REQUESTED else WITH_EXAMPLE
    return Dictionary(definitions, examples.examples(sample_warehouse, names)).pages()


@pytest.fixture(scope="module")
def pages(rendered: dict[str, str]) -> dict[str, str]:
    return {path: page for path, page in rendered.items() if path.endswith(".md")}


@pytest.fixture(scope="module")
def sections(pages: dict[str, str]) -> dict[str, str]:
    """The section of each label: of a table, a query, a version, a clock or a caveat."""
    parts = [part for page in pages.values() for part in re.split(r"^(?=\(\S+\)=$)", page, flags=re.M)]
    return {part[1 : part.index(")=\n")]: part for part in parts if part}


def rows(definitions: DatabaseObjects, table: str) -> list[dict]:
    return non_empty(definitions.catalog[f"catalog.{table}"].to_pylist())


def unescaped(markdown: str) -> str:
    """Return Markdown without escapes, and without the brackets around links."""
    return re.sub(r"\\(.)", r"\1", re.sub(r"(?<=[\s(])<(?=http)|(?<=\S)>(?=[\s,;).]|$)", "", markdown))


def columns_of(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the label of each column on a page and the other cells of its row."""
    for label, cells in re.findall(r'^\| \[`[^`]+`\]\{id="(\S+?)"\} \| (.*) \|$', page, re.M):
        yield label, re.split(r"(?<!\\) \| ", cells)


def test_lists_every_column_once_with_type_unit_provenance_and_caveats(
    definitions: DatabaseObjects, pages: dict[str, str]
) -> None:
    views = {row["view_name"] for row in rows(definitions, "views")}
    defined = {**definitions.relations, **definitions.queries}
    expected = {
        f"{row['object_name']}.{row['column_name']}".lower().replace(" ", "-"): (
            defined[row["object_name"]].columns[row["column_name"]][0],
            row["unit"],
            row["provenance"],
        )
        for row in rows(definitions, "columns")
        # The plain name of a view has the columns of its newest version.
        if row["object_name"] not in views
    }
    found = {
        label: (cells[0].strip("`"), unescaped(cells[1]).strip(), cells[2].strip())
        for page in pages.values()
        for label, cells in columns_of(page)
        if len(cells) == 4
    }
    missing = {
        label: (about, found.get(label)) for label, about in expected.items() if found.get(label) != about
    }
    assert missing == {}
    others = found.keys() - expected.keys()
    assert others and all(label.startswith("catalog.") for label in others)


def test_labels_every_entry_of_the_catalog_once(definitions: DatabaseObjects, pages: dict[str, str]) -> None:
    text = "\n".join(pages.values())
    names = [row["table_name"] for row in rows(definitions, "tables")]
    names += [name for name in definitions.relations if name.startswith("catalog.")]
    names += {row["view_name"] for row in rows(definitions, "views")}
    names += [row["versioned_name"] for row in rows(definitions, "views")]
    names += [row["query_name"] for row in rows(definitions, "queries")]
    names += [f"caveat.{row['caveat']}".lower() for row in rows(definitions, "caveats")]
    names += [f"clock.{row['clock']}".lower() for row in rows(definitions, "clocks")]
    for table in ("published", "expected"):
        names += [f"figure.{row['figure']}".lower() for row in rows(definitions, table)]
    found = Counter(re.findall(r"^\((\S+)\)=$", text, re.M) + re.findall(r'\{id="(\S+?)"\}', text))
    assert {name: found[name] for name in names} == dict.fromkeys(names, 1)
    assert [label for label, count in found.items() if count > 1] == []
    linked = {link for link in re.findall(r"\]\((?!http)([^)\s]+)\)", text) if not link.endswith(".svg")}
    documents = {link for link in linked if link[1:].partition("#")[0] in DOCUMENTS}
    working = documents | {link for link in linked if link.removeprefix("#") in found}
    assert linked - working <= {"all-caveats.md", "all-figures.md"}


def test_navigation_and_charts_of_the_dictionary_exist(
    pages: dict[str, str], rendered: dict[str, str]
) -> None:
    for path, page in pages.items():
        for picture in re.findall(r"!\[[^\]]*\]\((.*?)\)", page):
            assert f"{Path(path).parent}/{picture}" in rendered
        for tree in re.findall(r"```\{toctree\}\n:hidden:\n\n(.*?)\n```", page, re.S):
            for entry in tree.splitlines():
                name = re.sub(r".*<(.*)>", r"\1", entry)
                assert f"{Path(path).parent}/{name}.md" in pages
    gallery = rendered["dictionary/gallery.md"]
    charts = [path.removesuffix(".svg").split("/") for path in rendered if path.endswith(".svg")]
    for _, schema, name in non_empty(charts):
        assert f"[![]({schema}/{name}.svg)](#{schema}.{name})" in gallery


def test_pages_show_what_the_catalog_says(
    definitions: DatabaseObjects, pages: dict[str, str], sections: dict[str, str]
) -> None:
    text = unescaped("\n".join(pages.values()))
    for row in rows(definitions, "caveats"):
        about = sections[f"caveat.{row['caveat']}".lower()]
        assert row["severity"] in about and all(f"`{name}`" in about for name in row["objects"])
    for row in [*rows(definitions, "views"), *rows(definitions, "queries")]:
        about = sections[row.get("versioned_name") or row["query_name"]]
        assert f"SHA-256 {row['sha256']}" in about
        assert f"```sql\n{first_statement(row['sql']).strip()}\n```" in about
        assert all(f"(#{name})" in about for name in row["reads"])
    for row in rows(definitions, "query_parameters"):
        about = sections[row["query_name"]]
        [cells] = re.findall(rf"^\| `{row['parameter']}` \| (.*) \|$", about, re.M)
        assert cells.startswith(f"`{row['type']}` | `{row['default_value']}` | ")
        assert all(choice in cells for choice in row["choices"])
    for row in rows(definitions, "metrics"):
        assert f"| {row['metric']} | {row['exactness']} | {row['reason']}" in text
        assert not row["answered_by"] or f"(#{row['answered_by']})" in pages[COVERAGE]
    for row in [*rows(definitions, "published"), *rows(definitions, "expected")]:
        assert f"{row['value']:,.10g}" in text and row["statement"] in text
    for rule in non_empty(all_rules(all_traces().values())):
        assert f"- {rule.rule}" in text
    tightness = dict(columns_of(sections["itp.job_v1"]))["itp.job_v1.tightness"][3]
    assert "(#itp.elasticflow_job.deadline)" in tightness


def test_query_page_shows_rows_and_chart_of_synthetic_data(rendered: dict[str, str]) -> None:
    for name in WITH_EXAMPLE:
        path = f"dictionary/{name.replace('.', '/')}"
        page, chart = rendered[f"{path}.md"], rendered[f"{path}.svg"]
        assert "synthetic data" in page and ">synthetic data<" in chart
        [block] = re.findall(rf"```console\n\$ traces query {name}\n(.*?)\n```", page, re.S)
        heading, _, *lines = block.splitlines()
        assert set(heading.split()) == {label.rpartition(".")[2] for label, _ in columns_of(page)}
        assert 1 < len(lines) <= examples.MOST_ROWS


def test_home_page_and_navigation_contain_every_document_and_trace(pages: dict[str, str]) -> None:
    page = site.index(pages[COVERAGE])
    assert "](docs/run_cdf.svg)" in page and "pip install" in page and "traces ingest" in page
    assert all(f"[{trace}](#schema.{trace})" in page for trace in all_traces())
    names = [
        path.stem for path in (REPOSITORY / "docs").glob("*.md") if path.stem not in ("home", *LINKED_ONLY)
    ]
    for name in [*(f"docs/{name}" for name in non_empty(names)), "CONTRIBUTING", "CHANGELOG", "bench/README"]:
        assert page.splitlines().count(name) == 1


def test_every_page_is_in_the_navigation(rendered: dict[str, str], tmp_path: Path) -> None:
    """Sphinx warns of one that is not, unless the page says so; the warning fails the build."""
    site.write_pages(rendered, tmp_path)
    written = {
        path.relative_to(tmp_path).as_posix(): path.read_text(encoding="utf-8")
        for path in tmp_path.rglob("*.md")
    }
    listed = {site.INDEX}
    for path, text in non_empty(written.items()):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)\n```", text, re.S | re.M):
            entries = re.findall(r"^(?!:)(?:.*<)?([\w/.-]+)>?$", tree, re.M)
            listed |= {(Path(path).parent / f"{entry}.md").as_posix() for entry in entries}
    assert written.keys() - listed == {f"docs/{name}.md" for name in LINKED_ONLY}
    assert all(written[f"docs/{name}.md"].startswith(site.OUTSIDE) for name in LINKED_ONLY)


def headings(document: Path) -> set[str]:
    """Return the anchors that GitHub and the site derive from the headings."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.S | re.M)
    found = re.findall(r"^#+ (.*)", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in found}


def test_links_of_documents_work() -> None:
    broken = []
    for document in DOCUMENTS:
        path = REPOSITORY / document
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if "://" not in name and not (target.is_file() and (not anchor or anchor in headings(target))):
                broken.append((document, link))
    assert broken == []


def test_site_is_built_without_warnings_and_loads_nothing_external(
    tmp_path: Path, rendered: dict[str, str]
) -> None:
    """Sphinx warns of a link without a target."""
    site.write_pages(rendered, tmp_path / "pages")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--jobs", "auto", "--nitpicky", "--fail-on-warning"]
    configured = ["-c", str(REPOSITORY / "docs"), str(tmp_path / "pages"), str(tmp_path / "site")]
    subprocess.run([*command, *configured], check=True)
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 250
    loads = r"<(?:link|script|img|iframe|object)\b[^>]*?(?:src|href|data)=[\"'](?:https?:)?//"
    assert [page for page in pages if re.search(loads, page.read_text(encoding="utf-8"))] == []
    for style in (tmp_path / "site").rglob("*.css"):
        assert (
            re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//\S*", style.read_text(encoding="utf-8"))
            == []
        )
