"""The site holds everything that the catalog has, once, and every link of it resolves.

By itself this reads the pages before they become a site, which is quick; with TRACEHOUSE_DOCS=all (`make
docs-test`) it builds the site, reads it as a browser does, and searches it in Chromium.
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
from urllib.parse import unquote, urlsplit

import command_line
import pytest
from markdown_it import MarkdownIt

from tracehouse.docs import dictionary, site
from tracehouse.docs.house import House
from tracehouse.engines.duckdb.write.definitions import Definitions, definitions_over
from tracehouse.ingest.declarations import all_traces
from tracehouse.views.rules import all_rules
from tracehouse.views.sql_text import first_statement

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = [path for path in site.hand_written() if path.endswith(".md")]
in_full = pytest.mark.skipif(os.environ.get("TRACEHOUSE_DOCS") != "all", reason="`make docs-test` runs it")


@pytest.fixture(scope="module")
def definitions() -> Definitions:
    return definitions_over([])


@pytest.fixture(scope="module")
def pages(definitions: Definitions) -> dict[str, str]:
    return dictionary.pages(House(definitions))


@pytest.fixture(scope="module")
def everything(pages: dict[str, str]) -> str:
    return "\n".join(pages.values())


def rows(definitions: Definitions, table: str) -> list[dict]:
    return definitions.catalog[f"catalog.{table}"].to_pylist()


def labels(text: str) -> Counter[str]:
    return Counter(re.findall(r"^\((\S+)\)=$", text, re.M) + re.findall(r'\{id="(\S+?)"\}', text))


def shown(markdown: str) -> list[str]:
    """The lines of a cell or paragraph, as they are read."""
    [inline] = [token for token in MarkdownIt().parse(markdown) if token.type == "inline"]
    pieces = [
        "\n" if token.type == "html_inline" else token.content
        for token in inline.children or ()
        if token.type in ("html_inline", "text", "text_special", "code_inline", "softbreak")
    ]
    return "".join(pieces).split("\n")


def columns_of(page: str) -> Iterator[tuple[str, list[str]]]:
    """The label of each column that a page describes, and the further cells of its row."""
    for label, cells in re.findall(r'^\| \[`[^`]+`\]\{id="(\S+?)"\} \| (.*) \|$', page, re.M):
        yield label, re.split(r"(?<!\\) \| ", cells)


@pytest.fixture(scope="module")
def sections(pages: dict[str, str]) -> dict[str, str]:
    """What stands below each heading that has a label: of a table, a query, a version, a caveat."""
    parts = [part for page in pages.values() for part in re.split(r"^(?=\(\S+\)=$)", page, flags=re.M)]
    return {part[1 : part.index(")=\n")]: part for part in parts if part}


def test_every_column_is_there_once_with_type_unit_provenance_and_meaning(
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
        # A plain name has the columns of its newest version.
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


def test_every_column_of_the_catalog_itself_is_there(definitions: Definitions, pages: dict[str, str]) -> None:
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


def test_every_object_caveat_clock_and_figure_is_there_once(
    definitions: Definitions, everything: str
) -> None:
    names = [row["table_name"] for row in rows(definitions, "tables")]
    names += [name for name in definitions.relations if name.startswith("catalog.")]
    names += {row["view_name"] for row in rows(definitions, "views")}
    names += [row["versioned_name"] for row in rows(definitions, "views")]
    names += [row["query_name"] for row in rows(definitions, "queries")]
    names += [f"caveat.{row['caveat']}" for row in rows(definitions, "caveats")]
    names += [f"clock.{row['clock']}" for row in rows(definitions, "clocks")]
    names += [f"figure.{row['figure']}".lower() for row in rows(definitions, "published")]
    found = labels(everything)
    assert {name: found[name] for name in names} == dict.fromkeys(names, 1)
    assert [label for label, count in found.items() if count > 1] == []


def test_every_link_of_the_dictionary_resolves(pages: dict[str, str], everything: str) -> None:
    known = labels(everything)
    linked = set(re.findall(r"\]\((?!http)([^)\s]+)\)", everything))
    there = {label for label in linked if label.startswith("#") and label[1:] in known}
    there |= {path for path in linked if path.startswith("/") and path[1:] in DOCUMENTS}
    assert linked - there == set()
    for path, page in pages.items():
        for tree in re.findall(r"```\{toctree\}\n:hidden:\n\n(.*?)\n```", page, re.S):
            for entry in tree.splitlines():
                name = re.sub(r".*<(.*)>", r"\1", entry)
                assert f"{Path(path).parent}/{name}.md" in pages
    in_trees = re.findall(r"^[\w/-]+$|<[\w/-]+>$", everything, re.M)
    assert len(in_trees) >= len(pages) - 1


def test_a_caveat_and_what_it_touches_link_to_each_other(
    definitions: Definitions, pages: dict[str, str], sections: dict[str, str]
) -> None:
    columns = {label: " ".join(cells) for page in pages.values() for label, cells in columns_of(page)}
    newest = {
        row["view_name"]: row["versioned_name"]
        for row in sorted(rows(definitions, "views"), key=lambda row: row["version"])
    }
    for caveat in rows(definitions, "caveats"):
        about = sections[f"caveat.{caveat['caveat']}"]
        assert shown(about.split("\n\n")[1]) == [caveat["what_goes_wrong"]]
        for touched in caveat["objects"]:
            relation, _, column = touched.rpartition(".")
            name = f"{newest.get(relation, relation)}.{column}"
            assert f"(#{name.lower()})" in about
            there = columns.get(name.lower()) or sections[touched]
            assert f"(#caveat.{caveat['caveat']})" in there
    for row in rows(definitions, "columns"):
        if row["object_name"] not in newest:
            for caveat_name in row["caveats"]:
                label = f"{row['object_name']}.{row['column_name'].lower()}"
                assert f"(#caveat.{caveat_name})" in columns[label]
                assert f"(#{label})" in sections[f"caveat.{caveat_name}"]


def test_a_version_shows_its_status_hash_lineage_and_sql(
    definitions: Definitions, pages: dict[str, str], sections: dict[str, str]
) -> None:
    for row in rows(definitions, "views"):
        about = sections[row["versioned_name"]]
        assert f":Status: {row['status']}, SHA-256 `{row['sha256']}`\n" in about
        assert f"```sql\n{first_statement(row['sql']).strip()}\n```" in about
        assert all(f"(#{name})" in about for name in row["reads"])
    tightness = dict(columns_of(sections["itp.job_v1"]))["itp.job_v1.tightness"][3]
    assert "(#itp.elasticflow_job.deadline)" in tightness
    # A view that reads another by its plain name would have lineage without an anchor.
    assert "(#itp.job." not in "".join(pages.values())


def test_a_query_shows_its_parameters_hash_and_sql(
    definitions: Definitions, pages: dict[str, str], sections: dict[str, str]
) -> None:
    for row in rows(definitions, "queries"):
        about = sections[row["query_name"]]
        assert f":SHA-256: `{row['sha256']}`\n" in about
        assert f"```sql\n{first_statement(row['sql']).strip()}\n```" in about
    for row in rows(definitions, "query_parameters"):
        about = sections[row["query_name"]]
        [cells] = re.findall(rf"^\| `{row['parameter']}` \| (.*) \|$", about, re.M)
        assert cells.startswith(f"`{row['type']}` | `{row['default_value']}` | ")
        said = "\n".join(shown(cells.split(" | ", 2)[2]))
        assert all(choice in said for choice in row["choices"])
        assert row["at_least"] is None or f"From {row['at_least']} to {row['at_most']}" in said
        assert (row["values_of"] or "") in said


def test_every_metric_figure_and_rule_says_what_the_catalog_does(
    definitions: Definitions, pages: dict[str, str]
) -> None:
    said = {schema: "\n".join(lines_of(pages, schema)) for schema in pages_by_schema(pages)}
    for row in rows(definitions, "metrics"):
        answer = f" {row['answered_by']}" if row["answered_by"] else ""
        expected = f"| {row['metric']} | {row['exactness']} | {row['reason']}{answer} |"
        assert expected in said[row["trace"]]
        there = row["exactness"] if row["answered_by"] else "–"
        [line] = re.findall(rf"^\| {row['metric']} \| (.*) \|$", pages["dictionary/coverage.md"], re.M)
        assert there in line and (f"(#{row['answered_by']})" in line or not row["answered_by"])
    for row in rows(definitions, "published"):
        assert row["statement"] in said[row["trace"]]
        assert f"{row['value']:,.10g}" in said[row["trace"]]
        assert " ".join(row["measured_by"].split()) in said[row["trace"]]
    for rule in all_rules(all_traces().values()):
        assert f"- {rule.rule}" in said[rule.object_name.partition(".")[0]]


def pages_by_schema(pages: dict[str, str]) -> set[str]:
    return {path.split("/")[1] for path in pages if path.count("/") == 2}


def lines_of(pages: dict[str, str], schema: str) -> Iterator[str]:
    """What the pages of a schema say: without escapes, anchors, and where links go."""
    for path, page in pages.items():
        if path.startswith(f"dictionary/{schema}/"):
            plain = re.sub(r"\]\(#\S+?\)|(?<!\\)[\[`]", "", page)
            yield re.sub(r"\\(.)", r"\1", plain)


def test_any_guide_is_in_the_navigation() -> None:
    page = site.start(DOCUMENTS)
    names = [path.name.removesuffix(".md") for path in (REPOSITORY / "docs").glob("*.md")]
    assert len(names) > 6
    for name in [*(f"docs/{name}" for name in names), "CONTRIBUTING", "CHANGELOG", "bench/README"]:
        assert page.splitlines().count(name) == 1


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_of_a_document_resolves(document: str) -> None:
    place = REPOSITORY / document
    text = re.sub(r"^```.*?^```", "", place.read_text(), flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if "://" not in path:
            target = (place.parent / path).resolve() if path else place
            assert target.is_file(), link
            assert not anchor or anchor in headings(target), link


def headings(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub and the site give them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.S | re.M)
    found = re.findall(r"^#+ (.*)", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in found}


@pytest.mark.parametrize("document", ["docs/cite.md", "docs/caveats.md"])
def test_the_commands_of_a_guide_run(document: str, sample_warehouse: Path) -> None:
    commands = re.findall(r"^    (traces .*)$", (REPOSITORY / document).read_text(), re.M)
    for command in commands:
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
        run = command_line.server().run(*words[1:], "--warehouse", str(sample_warehouse))
        assert run.code == 0 and len(run.stdout.splitlines()) > 1, command
        if command.startswith(("traces query", 'traces sql "select median', 'traces sql "select count')):
            assert ("itp.min_duration_600" in run.stdout + run.stderr) == ("count(*)" not in command), command


class Anchors(HTMLParser):
    """What a page of the site links to, what it loads, and what in it can be linked to."""

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
def built(tmp_path_factory: pytest.TempPathFactory, pages: dict[str, str]) -> Path:
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    site.gather(pages, folder / "pages")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--jobs", "auto", "--nitpicky", "--fail-on-warning"]
    configured = ["-c", str(REPOSITORY / "docs"), str(folder / "pages"), str(folder / "site")]
    subprocess.run([*command, *configured], check=True)
    return folder / "site"


@in_full
def test_every_link_of_the_site_resolves_and_nothing_comes_from_elsewhere(built: Path) -> None:
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
def test_search_finds_a_column_without_a_server(built: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no Chromium")
    address = f"file://{built}/search.html?q=is_feasible_as_requested"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    page = subprocess.run([chromium, *options, address], check=True, capture_output=True, text=True).stdout
    assert 'href="dictionary/itp/job.html' in page
