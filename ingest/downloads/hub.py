"""What the Hugging Face Hub says that a folder of a data set holds.

Asks its HTTP interface, ``/api/datasets/<name>/tree/<revision>/<folder>``, as the package huggingface_hub
does, which would bring a dozen others for one request.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urljoin

from tracehouse.ingest.downloads.ledger import Download
from tracehouse.ingest.downloads.web import PlaceError, Web


@dataclass(frozen=True)
class _Entry:
    """A file in the list: its path in the data set, and what is known of its content."""

    path: str
    bytes: int
    sha256: str


def files(web: Web, folder: Download) -> list[Download]:
    """The files that a download with a ``*`` in its name stands for. Raises PlaceError if there are none."""
    [url] = folder.urls
    place = url.rpartition("/")[0]
    listing = place.replace("/datasets/", "/api/datasets/").replace("/resolve/", "/tree/")
    pattern = folder.path.rpartition("/")[2]
    found = []
    for entry in _entries(web, listing):
        name = entry.path.rpartition("/")[2]
        if fnmatchcase(name, pattern):
            found.append(
                Download(
                    path=folder.path.replace(pattern, name),
                    urls=(f"{place}/{name}",),
                    bytes=entry.bytes,
                    sha256=entry.sha256,
                    cluster=folder.cluster,
                )
            )
    if not found:
        raise PlaceError(f"{web.place(listing)}: it lists no {pattern}")
    return found


def _entries(web: Web, listing: str) -> list[_Entry]:
    """The files that a folder holds, however many pages their list takes."""
    entries: list[_Entry] = []
    page = listing
    while page:
        some, page = web.persist(page, lambda page=page: _page(web, page))  # type: ignore[misc]
        entries += some
    return entries


def _page(web: Web, page: str) -> tuple[list[_Entry], str]:
    """Some of the files in a folder, and where the list goes on, empty at its end."""
    with web.answer(page, {}) as response:
        try:
            entries = [_entry(entry) for entry in response.json() if entry["type"] == "file"]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise PlaceError(f"{web.place(page)}: it is no list of files ({error!r})") from None
        following = response.links.get("next", {}).get("url", "")
        return entries, urljoin(page, following) if following else ""


def _entry(listed: dict) -> _Entry:
    # What is kept in Git LFS is named by its checksum.
    return _Entry(listed["path"], int(listed["size"]), listed["lfs"]["oid"] if "lfs" in listed else "")
