"""The keys, files and commands in the documents for contributors exist."""

import re
from pathlib import Path

import pytest

from tracehouse.ingest.column_types import TYPES
from tracehouse.sql.query_files import QUERY_KEYS
from tracehouse.views.ledgers import CHECK_KEYS
from tracehouse.views.view_files import VIEW_KEYS

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


def keys_of(section: str) -> dict[str, str]:
    """Return the table of keys or types in the section whose heading has this start."""
    [text] = re.findall(rf"^## {section}.*?\n(.*?)(?=^## |\Z)", CONTRIBUTING, re.S | re.M)
    return dict(re.findall(r"^\| `([\w[\]]+)` \| (.*?) \|$", text, re.M))


def test_lists_every_header_key_with_its_meaning() -> None:
    assert keys_of("Add a view") == VIEW_KEYS
    shared = {"caveat", "engine"}
    assert keys_of("Add a named query") == {k: m for k, m in QUERY_KEYS.items() if k not in shared}
    assert shared <= set(QUERY_KEYS)
    assert keys_of("Add a figure") == CHECK_KEYS


def test_lists_every_column_type_with_its_notation() -> None:
    assert keys_of("Add a trace") == {kind.name: kind.written for kind in TYPES.values()}
    stored_as_another = {kind.name: kind.stored for kind in TYPES.values() if kind.stored != kind.name}
    assert stored_as_another == {"UNIX_S": "TIMESTAMPTZ", "UNIX_MS": "TIMESTAMPTZ", "JSON": "VARCHAR"}


def test_lists_every_ledger_with_its_columns() -> None:
    for path in sorted((REPOSITORY / "views").glob("*/*.csv")):
        header = path.read_text().splitlines()[0]
        [listed] = re.findall(rf"^\| `views/<trace>/{path.name}` \| .*: `(.*?)` \|$", CONTRIBUTING, re.M)
        # The column is optional.
        assert header in (listed, listed.removesuffix(",needs_file")), path


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_exist(page: str) -> None:
    text = (REPOSITORY / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    missing = [link for link in links if not ((REPOSITORY / page).parent / link).exists()]
    named = re.findall(r"`((?:ingest|samples|views|sql|engines|publish|tests|docs)/[\w./]+)`", text)
    # Paths in a warehouse have the same form.
    missing += [name for name in named if not (REPOSITORY / name).exists() and "/parquet/" not in name]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    text = (REPOSITORY / page).read_text()
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    named = set(re.findall(r"(?:`|^    |&& )make ([\w-]+)", text, re.M))
    assert named <= targets


def test_changelog_and_citation_have_the_current_version() -> None:
    version = re.search(r'^version = "(.*)"', (REPOSITORY / "pyproject.toml").read_text(), re.M)
    assert version
    assert f"## {version[1]}\n" in (REPOSITORY / "CHANGELOG.md").read_text()
    assert f"version: {version[1]}\n" in (REPOSITORY / "CITATION.cff").read_text()
