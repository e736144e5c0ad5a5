"""The keys, files and commands in the documents for contributors exist."""

import re
from pathlib import Path

import pytest
from counting import non_empty

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    "CONTRIBUTING.md",
    "README.md",
    "docs/architecture.md",
    "docs/fetch.md",
    "docs/reliability.md",
    "docs/versions.md",
]
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text()
EXAMPLES = re.findall(r"From\s+`(\S+)`:\n\n```\w+\n(.*?)```", CONTRIBUTING, re.S)


@pytest.mark.each_trace
def test_lists_every_ledger_with_its_columns() -> None:
    ledgers = [path for path in sorted((REPOSITORY / "views").glob("*/*.csv")) if path.stem != "units"]
    for path in non_empty(ledgers):
        header = path.read_text().splitlines()[0]
        [listed] = re.findall(rf"^\| `{path.name}` \| `(.*?)` \|$", CONTRIBUTING, re.M)
        # The column needs_file is optional.
        assert header in (listed, listed.removesuffix(",needs_file")), path


@pytest.mark.parametrize(("path", "example"), EXAMPLES)
def test_examples_are_excerpts(path: str, example: str) -> None:
    text = (REPOSITORY / path).read_text()
    for excerpt in non_empty(re.split(r"^ *\.\.\.\n", example, flags=re.M)):
        assert excerpt in text
        text = text[text.index(excerpt) :]


def test_links_files_and_make_targets_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    missing = []
    for page in PAGES:
        text = (REPOSITORY / page).read_text()
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        missing += [link for link in links if not ((REPOSITORY / page).parent / link).exists()]
        named = re.findall(r"`((?:ingest|samples|views|sql|engines|publish|tests|docs)/[\w./]+)`", text)
        # Paths in a warehouse match the same pattern.
        missing += [name for name in named if not (REPOSITORY / name).exists() and "/parquet/" not in name]
        missing += set(re.findall(r"(?:`|^    |&& )make ([\w-]+)", text, re.M)) - targets
    assert missing == []


def test_changelog_and_citation_have_the_current_version() -> None:
    version = re.search(r'^version = "(.*)"', (REPOSITORY / "pyproject.toml").read_text(), re.M)
    assert version
    assert f"## {version[1]}\n" in (REPOSITORY / "CHANGELOG.md").read_text()
    assert f"version: {version[1]}\n" in (REPOSITORY / "CITATION.cff").read_text()
