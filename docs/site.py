"""Write the source pages of the documentation site to `build/pages`: `python -m tracehouse.docs.site`.

Documents, and the files that they link to, keep their relative paths, so that links still work.
"""

import os
import re
import shutil
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tracehouse.docs.dictionary import COVERAGE, Pages, dictionary
from tracehouse.docs.examples import examples_of_samples

REPOSITORY = Path(__file__).parents[1]
PAGES = REPOSITORY / "build" / "pages"
HOME = "docs/home.md"
INDEX = "index.md"
OUTSIDE = "---\norphan: true\n---\n"


def documents() -> list[str]:
    """Return the paths of the documents in the repository and of the files that they link to."""
    found = ["README.md"]
    for path in found:
        if path.endswith(".md"):
            found += dict.fromkeys(link for link in links(path) if link not in found)
    return found


def groups() -> dict[str, list[str]]:
    """Return the paths of the documents by the groups of the README's last section, without the home page."""
    section = (REPOSITORY / "README.md").read_text(encoding="utf-8").partition("## Documentation")[2]
    items = re.findall(r"^- (.+?): (.+?)(?=^- |\Z)", section, re.M | re.S)
    return {
        caption: [path for path in re.findall(r"\]\((.+?\.md)\)", listed) if path != HOME]
        for caption, listed in items
    }


def links(document: str) -> list[str]:
    """Return the paths of the files in the repository that a document links to."""
    path = REPOSITORY / document
    found = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    targets = [(path.parent / link).resolve() for link in found if "://" not in link]
    return [str(target.relative_to(REPOSITORY)) for target in targets if target.is_file()]


def index(coverage: str) -> str:
    """Return the home page: `docs/home.md`, the metrics that each trace supports, and the navigation."""
    home = (REPOSITORY / HOME).read_text(encoding="utf-8").rstrip()
    guides = {name: [path.removesuffix(".md") for path in paths] for name, paths in groups().items()}
    guides["Start"] = ["README", *guides["Start"], "dictionary/gallery", "dictionary/index"]
    return "\n\n".join(
        (
            re.sub(r"\]\((?!\w+:|#)", "](docs/", home),
            "## What each trace can tell",
            coverage,
            *(_toctree(caption, entries) for caption, entries in guides.items()),
            "",
        )
    )


def write_pages(dictionary_pages: Pages, folder: Path = PAGES) -> None:
    """Replace the content of a folder by the documents, the dictionary and the home page."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = {"README.md", *chain(*groups().values())}
    for path in documents():
        if path != HOME:
            _copy(path, folder, path in listed)
    coverage = dictionary_pages[COVERAGE].split("\n\n", 1)[1]
    for path, page in (dictionary_pages | {INDEX: index(coverage)}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page, encoding="utf-8")


def _copy(path: str, folder: Path, is_listed: bool) -> None:
    """Copy a file. In a document, links to `docs/home.md` become links to the home page.

    Sphinx warns of a document outside the navigation unless the document says so.
    """
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    if not path.endswith(".md"):
        shutil.copy(REPOSITORY / path, folder / path)
        return
    start = Path(path).parent
    home, written = (os.path.relpath(target, start) for target in (HOME, INDEX))
    text = (REPOSITORY / path).read_text(encoding="utf-8").replace(f"]({home}", f"]({written}")
    (folder / path).write_text(text if is_listed else f"{OUTSIDE}{text}", encoding="utf-8")


def _toctree(caption: str, entries: Iterable[str]) -> str:
    head = [f"## {caption}", "", "```{toctree}", f":caption: {caption}", ":maxdepth: 1", ""]
    return "\n".join([*head, *entries, "```"])


if __name__ == "__main__":
    write_pages(dictionary(examples_of_samples()))
    print(f"Wrote {PAGES}")
