"""Write the source pages of the documentation site to `build/pages`: `python -m tracehouse.docs.site`.

Documents and the files that they link to keep their paths, so that relative links still work.
"""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tracehouse.docs.dictionary import Pages, dictionary

REPOSITORY = Path(__file__).parents[1]
PAGES = REPOSITORY / "build" / "pages"
ABOUT_THE_PROJECT = ("CONTRIBUTING.md", "CHANGELOG.md")


def documents() -> list[str]:
    """Return the paths of the documents in the repository and of the files that they link to."""
    found = ["README.md", *ABOUT_THE_PROJECT, *guides()]
    for path in found:
        if path.endswith(".md"):
            found += dict.fromkeys(link for link in links(path) if link not in found)
    return found


def guides() -> list[str]:
    """Return the paths of the documents in `docs`."""
    return sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md"))


def links(document: str) -> list[str]:
    """Return the paths of the files in the repository that a document links to."""
    path = REPOSITORY / document
    found = re.findall(r"\]\(([^)#\s]+)", path.read_text())
    targets = [(path.parent / link).resolve() for link in found if "://" not in link]
    return [str(target.relative_to(REPOSITORY)) for target in targets if target.is_file()]


def index(paths: Iterable[str]) -> str:
    """Return the first page of the site: the introduction of the README and the navigation."""
    readme = (REPOSITORY / "README.md").read_text()
    title, first, second = readme.split("\n\n")[:3]
    others = [path for path in paths if path.endswith(".md") and path not in ("README.md", *guides())]
    introduction = re.sub(r"\]\(#", "](README.md#", f"{first}\n\n{second}")
    return "\n\n".join(
        (
            title,
            introduction,
            _toctree("Start here", ["README"]),
            _toctree("Dictionary", ["dictionary/index"]),
            _toctree("Guides", [path.removesuffix(".md") for path in guides()]),
            _toctree("The project", [path.removesuffix(".md") for path in others]),
            "",
        )
    )


def write_pages(dictionary_pages: Pages, folder: Path = PAGES) -> None:
    """Replace a folder by the documents, the dictionary and the index."""
    shutil.rmtree(folder, ignore_errors=True)
    copied = documents()
    for path in copied:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / path, folder / path)
    for path, page in (dictionary_pages | {"index.md": index(copied)}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page)


def _toctree(caption: str, entries: Iterable[str]) -> str:
    head = [f"## {caption}", "", "```{toctree}", f":caption: {caption}", ":maxdepth: 1", ""]
    return "\n".join([*head, *entries, "```"])


if __name__ == "__main__":
    write_pages(dictionary())
    print(f"Wrote {PAGES}")
