"""List the files of a data set's folder on the Hugging Face Hub.

Each page is one request to ``/api/datasets/<name>/tree/<revision>/<folder>``. The package huggingface_hub
offers the same, but would install a dozen packages for this one request.
"""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from tracehouse.core.text import escape_name, join_names
from tracehouse.ingest.downloads.http import Client, SourceError
from tracehouse.ingest.downloads.locations import Download, Listing, is_plausible

# A page of the Hub lists a thousand files in 400 KiB.
_MOST_PAGES = 20
_MOST_PAGE_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


def list_files(client: Client, folder: Download) -> Listing:
    """List the files that a download with a ``*`` in its name stands for."""
    [url] = folder.urls
    base_url = url.rpartition("/")[0]
    listing = base_url.replace("/datasets/", "/api/datasets/").replace("/resolve/", "/tree/")
    pattern = folder.path.rpartition("/")[2]
    found, invalid, problems = {}, [], []
    try:
        for entry in _list_entries(client, listing):
            name = _name(entry)
            if name and not fnmatchcase(name, pattern):
                continue
            try:
                size, sha256 = _parse_entry(name, entry)
            except (ValueError, TypeError, LookupError, AttributeError):
                invalid.append(escape_name(name[:40]) or "one without a name")
                continue
            path = folder.path.replace(pattern, name)
            place = f"{base_url}/{quote(name)}"
            found[name] = Download(path, (place,), (), size, sha256, folder.cluster)
    except SourceError as error:
        problems.append(str(error))
    if invalid:
        what = f"entries without a valid name, size or checksum: {join_names(invalid, 3)}"
        problems.append(f"{client.resolve(listing)}: {what}")
    if not found and not problems:
        problems.append(f"{client.resolve(listing)}: it lists no {pattern}")
    return Listing(tuple(found.values()), tuple(problems))


def _list_entries(client: Client, listing: str) -> Iterator[Any]:
    """Yield the entries of all pages of the list, except folders."""
    page = listing
    for _ in range(_MOST_PAGES):
        entries, link = client.retry(page, lambda page=page: _read_page(client, page))  # type: ignore[misc]
        yield from (each for each in entries if not isinstance(each, dict) or each.get("type") == "file")
        if not link:
            return
        page = _next_page(client, page, link)
    raise SourceError(f"{client.resolve(listing)}: its list of files has more than {_MOST_PAGES} pages")


def _read_page(client: Client, page: str) -> tuple[list[Any], str]:
    """Return the entries of one page and its link to the next page, which is empty on the last page."""
    with client.get(page, {}) as response:
        body = client.read_at_most(response, _MOST_PAGE_BYTES)
        link = response.links.get("next", {}).get("url", "")
    try:
        entries = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{client.resolve(page)}: it is not a list of files ({error})") from None
    if not isinstance(entries, list):
        raise SourceError(f"{client.resolve(page)}: it is not a list of files")
    return entries, link


def _next_page(client: Client, page: str, link: str) -> str:
    """Return the URL that a page links to. Raises SourceError if it is on another server."""
    resolved = client.resolve(page)
    try:
        following = urljoin(page, link)
        if urlsplit(following)[:2] in (urlsplit(page)[:2], urlsplit(resolved)[:2]):
            return following
    except ValueError:
        pass
    raise SourceError(f"{resolved}: its next page is not on this server: {link[:200]}")


def _name(entry: Any) -> str:
    """Return the name of a listed file; empty if the entry has none."""
    path = entry.get("path") if isinstance(entry, dict) else None
    return path.rpartition("/")[2] if isinstance(path, str) else ""


def _parse_entry(name: str, entry: dict[str, Any]) -> tuple[int, str]:
    """Return the size in bytes and the SHA-256 of a file, which is empty if the entry has none.

    Raises ValueError, TypeError or LookupError if one of them is invalid.
    """
    # Only entries of files in Git LFS have a SHA-256: their object id.
    sha256 = entry["lfs"]["oid"] if entry.get("lfs") else ""
    if not is_plausible(name, entry["size"]) or (sha256 and not _SHA256.fullmatch(sha256)):
        raise ValueError
    return entry["size"], sha256
