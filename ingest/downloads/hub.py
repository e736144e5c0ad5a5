"""List the files of a data set's folder on the Hugging Face Hub.

One request to ``/api/datasets/<name>/tree/<revision>/<folder>`` per page. The package huggingface_hub offers
the same, and would bring a dozen packages for this one request.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urljoin

from tracehouse.ingest.downloads.http import Client, SourceError
from tracehouse.ingest.downloads.locations import Download


def list_files(client: Client, folder: Download) -> list[Download]:
    """The files that a download with a ``*`` in its name stands for. Raises SourceError if there are none."""
    [url] = folder.urls
    base_url = url.rpartition("/")[0]
    listing = base_url.replace("/datasets/", "/api/datasets/").replace("/resolve/", "/tree/")
    pattern = folder.path.rpartition("/")[2]
    found = []
    for path, size, sha256 in _list_entries(client, listing):
        name = path.rpartition("/")[2]
        if fnmatchcase(name, pattern):
            path = folder.path.replace(pattern, name)
            found.append(Download(path, (f"{base_url}/{name}",), (), size, sha256, folder.cluster))
    if not found:
        raise SourceError(f"{client.resolve(listing)}: it lists no {pattern}")
    return found


def _list_entries(client: Client, listing: str) -> Iterator[tuple[str, int, str]]:
    """Path, size and checksum of each file in the folder, over all pages of the list."""
    page = listing
    while page:
        entries, page = client.retry(page, lambda page=page: _read_page(client, page))  # type: ignore[misc]
        yield from entries


def _read_page(client: Client, page: str) -> tuple[list[tuple[str, int, str]], str]:
    """The files on one page and the URL of the next page, empty after the last one."""
    with client.get(page, {}) as response:
        try:
            entries = [_parse_entry(entry) for entry in response.json() if entry["type"] == "file"]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise SourceError(f"{client.resolve(page)}: it is no list of files ({error!r})") from None
        following = response.links.get("next", {}).get("url", "")
        return entries, urljoin(page, following) if following else ""


def _parse_entry(entry: dict[str, Any]) -> tuple[str, int, str]:
    # Only files in Git LFS have a sha256: it is their object id.
    return entry["path"], int(entry["size"]), entry["lfs"]["oid"] if "lfs" in entry else ""
