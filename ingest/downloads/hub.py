"""What the Hugging Face Hub says that a folder of a data set holds.

Asks its HTTP interface, ``/api/datasets/<name>/tree/<revision>/<folder>``, as the package huggingface_hub
does, which would bring a dozen others for one request.
"""

from fnmatch import fnmatchcase
from urllib.parse import urljoin

from tracehouse.ingest.downloads.ledger import Download
from tracehouse.ingest.downloads.web import PlaceError, Web


def files(web: Web, folder: Download) -> list[Download]:
    """The files that a download with a ``*`` in its name stands for. Raises PlaceError if there are none."""
    [url] = folder.urls
    place = url.rpartition("/")[0]
    listing = place.replace("/datasets/", "/api/datasets/").replace("/resolve/", "/tree/")
    pattern = folder.path.rpartition("/")[2]
    found = []
    for entry in _entries(web, listing):
        name = str(entry["path"]).rpartition("/")[2]
        if entry["type"] == "file" and fnmatchcase(name, pattern):
            found.append(
                Download(
                    path=folder.path.replace(pattern, name),
                    urls=(f"{place}/{name}",),
                    bytes=int(entry["size"]),
                    sha256=str((entry.get("lfs") or {}).get("oid", "")),
                    cluster=folder.cluster,
                )
            )
    if not found:
        raise PlaceError(f"{web.place(listing)}: it lists no {pattern}")
    return found


def _entries(web: Web, listing: str) -> list[dict]:
    """All that a folder holds, however many pages that takes."""
    entries: list[dict] = []
    page = listing
    while page:
        some, page = web.persist(page, lambda page=page: _page(web, page))  # type: ignore[misc]
        entries += some
    return entries


def _page(web: Web, page: str) -> tuple[list[dict], str]:
    """Some of what a folder holds, and where there is more, empty where there is none."""
    with web.answer(page, {}) as response:
        try:
            entries = response.json()
            following = response.links.get("next", {}).get("url", "")
            return [dict(entry) for entry in entries], urljoin(page, following) if following else ""
        except (ValueError, TypeError) as error:
            raise PlaceError(f"{web.place(page)}: it is no listing of a folder ({error})") from None
