"""Write the source pages of the documentation site to `build/pages`: `python -m tracehouse.docs.site`.

Documents, and the files that they link to, keep their relative paths, so that links still work.
"""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tracehouse.docs.dictionary import COVERAGE, Pages, dictionary
from tracehouse.docs.examples import examples_of_samples

REPOSITORY = Path(__file__).parents[1]
PAGES = REPOSITORY / "build" / "pages"
ABOUT_THE_PROJECT = ("CONTRIBUTING.md", "CHANGELOG.md")
HOME = "docs/home.md"
FIRST_GUIDES = ("docs/tutorial.md", "docs/recipes.md")


def documents() -> list[str]:
    """Return the paths of the documents in the repository and of the files that they link to."""
    found = ["README.md", *ABOUT_THE_PROJECT, *guides()]
    for path in found:
        if path.endswith(".md"):
            found += dict.fromkeys(link for link in links(path) if link not in found)
    return found


def guides() -> list[str]:
    """Return the paths of the documents in `docs`, without the home page."""
    found = sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md"))
    return [*FIRST_GUIDES, *(path for path in found if path not in (*FIRST_GUIDES, HOME))]


def links(document: str) -> list[str]:
    """Return the paths of the files in the repository that a document links to."""
    path = REPOSITORY / document
    found = re.findall(r"\]\(([^)#\s]+)", path.read_text())
    targets = [(path.parent / link).resolve() for link in found if "://" not in link]
    return [str(target.relative_to(REPOSITORY)) for target in targets if target.is_file()]


def index(paths: Iterable[str], coverage: str) -> str:
    """Return the home page: `docs/home.md`, the metrics that each trace supports, and the navigation."""
    home = (REPOSITORY / HOME).read_text().rstrip()
    others = [path for path in paths if path.endswith(".md") and path not in ("README.md", *guides())]
    return "\n\n".join(
        (
            re.sub(r"\]\((?!\w+:|#)", "](docs/", home),
            "## What each trace can tell",
            coverage,
            _toctree("Start here", ["README"]),
            _toctree("Dictionary", ["dictionary/gallery", "dictionary/index"]),
            _toctree("Guides", [path.removesuffix(".md") for path in guides()]),
            _toctree("The project", [path.removesuffix(".md") for path in others]),
            "",
        )
    )


def write_pages(dictionary_pages: Pages, folder: Path = PAGES) -> None:
    """Replace the content of a folder by the documents, the dictionary and the home page."""
    shutil.rmtree(folder, ignore_errors=True)
    copied = documents()
    for path in copied:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / path, folder / path)
    coverage = dictionary_pages[COVERAGE].split("\n\n", 1)[1]
    for path, page in (dictionary_pages | {"index.md": index(copied, coverage)}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page)


def _toctree(caption: str, entries: Iterable[str]) -> str:
    head = [f"## {caption}", "", "```{toctree}", f":caption: {caption}", ":maxdepth: 1", ""]
    return "\n".join([*head, *entries, "```"])


if __name__ == "__main__":
    write_pages(dictionary(examples_of_samples()))
    print(f"Wrote {PAGES}")
