"""Gathers the pages of the documentation's site below `build/pages`: `python -m tracehouse.docs.site`.

Documents keep their places in the repository, and what they link to is laid beside them: their links hold.
"""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tracehouse.docs.dictionary import Pages, dictionary

REPOSITORY = Path(__file__).parents[1]
PAGES = REPOSITORY / "build" / "pages"
ABOUT_THE_PROJECT = ("CONTRIBUTING.md", "CHANGELOG.md")


def hand_written() -> list[str]:
    """The documents and the other files of the repository that the site holds, by their paths in it."""
    found = ["README.md", *ABOUT_THE_PROJECT, *guides()]
    for path in found:
        if path.endswith(".md"):
            found += dict.fromkeys(link for link in links(path) if link not in found)
    return found


def guides() -> list[str]:
    """The documents in `docs`."""
    return sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md"))


def links(document: str) -> list[str]:
    """The files of the repository that a document links to, by their paths in it."""
    place = REPOSITORY / document
    written = re.findall(r"\]\(([^)#\s]+)", place.read_text())
    targets = [(place.parent / link).resolve() for link in written if "://" not in link]
    return [str(target.relative_to(REPOSITORY)) for target in targets if target.is_file()]


def start(documents: Iterable[str]) -> str:
    """The page that the site opens with: what this is, and where to go."""
    readme = (REPOSITORY / "README.md").read_text()
    title, first, second = readme.split("\n\n")[:3]
    others = [path for path in documents if path.endswith(".md") and path not in ("README.md", *guides())]
    said = re.sub(r"\]\(#", "](README.md#", f"{first}\n\n{second}")
    return "\n\n".join(
        (
            title,
            said,
            _toctree("Start here", ["Read me <README>"]),
            _toctree("What each number means", ["dictionary/index"]),
            _toctree("Guides", [path.removesuffix(".md") for path in guides()]),
            _toctree("The project", [path.removesuffix(".md") for path in others]),
            "",
        )
    )


def gather(written: Pages, folder: Path = PAGES) -> None:
    """Lay all pages below a folder, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    documents = hand_written()
    for path in documents:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / path, folder / path)
    for path, page in (written | {"index.md": start(documents)}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page)


def _toctree(caption: str, entries: Iterable[str]) -> str:
    head = [f"## {caption}", "", "```{toctree}", f":caption: {caption}", ":maxdepth: 1", ""]
    return "\n".join([*head, *entries, "```"])


if __name__ == "__main__":
    gather(dictionary())
    print(f"Wrote {PAGES}")
