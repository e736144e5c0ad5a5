"""Plan a download: the files of each trace, their URLs, sizes and licences.

The URLs are the `files` of each trace's declaration, the checksums that publishers printed those of its
tables.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, product
from pathlib import Path
from string import ascii_lowercase
from urllib.parse import quote

from rich.filesize import decimal

from tracehouse.core.errors import Option, UsageError, UserError, check_traces
from tracehouse.core.text import escape_name
from tracehouse.ingest.declare.metadata import PublishedFile
from tracehouse.ingest.declare.selection import Selection, parse_selection, selects
from tracehouse.ingest.declare.trace import Trace, all_traces
from tracehouse.ingest.dump.raw_files import MARKER_NAME
from tracehouse.ingest.fetch.client import Client, SourceError
from tracehouse.ingest.fetch.remote_zip import RemoteZip
from tracehouse.ingest.fetch.transfer import partial_size

ALL_METRICS = "all"

# A trace with more bytes than this is fetched only with --yes. All other traces together are smaller.
_ASK_BYTES = 200 * 10**9
_LONGEST_PATH_BYTES = 1000
# File systems allow 255, and partial downloads have longer names.
_LONGEST_NAME_BYTES = 240
# All published files together are smaller.
_MOST_FILE_BYTES = 10**12
_MOST_LIST_BYTES = 16 << 20
_PARTS = re.compile(r"\{(?P<first>[a-z]{2})\.\.(?P<last>[a-z]{2})\}")


@dataclass(frozen=True)
class Download:
    """A raw file: its path below the trace's folder and its URLs, the preferred one first.

    `parts` are the URLs of the file's parts, in order. They are used if no URL of `urls` has the whole file.
    `bytes` is None if the size is unknown; `sha256` is empty if the publisher printed no checksum. The size
    is compared only if there is no checksum. `cluster` names the cluster of a telemetry folder. If `archive`
    is set, the file is its `member`, which is fetched without the other members.
    """

    path: str
    urls: tuple[str, ...]
    parts: tuple[str, ...] = ()
    bytes: int | None = None
    sha256: str = ""
    cluster: str = ""
    archive: RemoteZip | None = None
    member: str = ""

    @property
    def part_paths(self) -> tuple[str, ...]:
        """Paths of the parts below the trace's folder."""
        folder = self.path.rpartition("/")[0]
        names = (url.rpartition("/")[2] for url in self.parts)
        return tuple(f"{folder}/{name}" if folder else name for name in names)

    def exists(self, folder: Path) -> bool:
        """Return whether the file or all its parts exist. Without a checksum, the size must be right too."""
        path = folder / self.path
        if path.is_file():
            return bool(self.sha256) or self.bytes in (None, path.stat().st_size)
        return bool(self.parts) and all((folder / part).is_file() for part in self.part_paths)


@dataclass(frozen=True)
class Plan:
    """The files of one trace to fetch to `folder`, and the errors of folders that are not listed."""

    trace: Trace
    folder: Path
    downloads: Sequence[Download]
    problems: Mapping[Download, str]
    omits_telemetry: bool

    @property
    def missing(self) -> list[Download]:
        """The files that do not exist yet. Checksums of existing files are compared later."""
        return [download for download in self.downloads if not download.exists(self.folder)]

    @property
    def missing_bytes(self) -> int:
        """The number of bytes still to receive, without files of unknown size."""
        return sum(
            max(0, (download.bytes or 0) - partial_size(self.folder / download.path))
            for download in self.missing
        )


def plan_downloads(
    client: Client,
    out: Path,
    traces: Sequence[str] = (),
    metrics: Sequence[str] = (),
    clusters: Sequence[str] = (),
    only: Sequence[str] = (),
) -> list[Plan]:
    """Return the plan of each requested trace, or of all traces.

    Each trace gets a folder below `out`. Telemetry is included only for the given `metrics` (``all`` for
    every metric) or `clusters`. `only` selects partitions (see `selection`): of a zip, only the members of
    these partitions are fetched, as files in folders. The network is needed only to list telemetry and
    members. Raises UsageError if a trace, metric or cluster does not exist, and UserError if a target folder
    contains a synthetic sample.
    """
    known = all_traces()
    check_traces(traces, known)
    chosen = [known[name] for name in dict.fromkeys(traces)] or list(known.values())
    rows_by_trace = {trace.name: read_downloads(trace) for trace in chosen}
    selection = parse_selection(only, chosen)
    folders = [row for rows in rows_by_trace.values() for row in rows if row.cluster]
    problems: dict[Download, str] = {}
    telemetry = _list_telemetry(client, folders, metrics, clusters, problems) if metrics or clusters else {}
    plans = []
    for trace in chosen:
        rows = rows_by_trace[trace.name]
        listed = [
            telemetry.get(row, []) if row.cluster else _list_members(client, row, trace, selection, problems)
            for row in rows
        ]
        unlisted = {row: problems[row] for row in rows if row in problems}
        omits_telemetry = any(row.cluster for row in rows) and not telemetry
        plans.append(Plan(trace, out / trace.name, list(chain(*listed)), unlisted, omits_telemetry))
    for folder in (out, *(plan.folder for plan in plans)):
        if (folder / MARKER_NAME).is_file():
            raise UserError(
                f"{folder} holds a synthetic sample, and every file in it is ingested as synthetic. "
                "Choose another folder with ",
                Option("out"),
                ", or remove the sample",
            )
    return plans


def read_downloads(trace: Trace) -> tuple[Download, ...]:
    """Return the raw files of a trace, in the order of their declaration."""
    checksums = {name: sha256 for table in trace.tables for name, sha256 in table.published_sha256.items()}
    return tuple(_declared_download(file, checksums) for file in trace.files)


def _declared_download(file: PublishedFile, checksums: Mapping[str, str]) -> Download:
    parts = tuple(_expand_parts(file.backup))
    return Download(
        path=file.path,
        urls=(file.url, file.backup) if file.backup and not parts else (file.url,),
        parts=parts,
        bytes=file.bytes,
        sha256=checksums.get(file.path.rpartition("/")[2], ""),
        cluster=file.cluster,
    )


def _expand_parts(url: str) -> Iterator[str]:
    found = _PARTS.search(url)
    if found:
        for letters in map("".join, product(ascii_lowercase, repeat=2)):
            if found["first"] <= letters <= found["last"]:
                yield url[: found.start()] + letters + url[found.end() :]


def _list_telemetry(
    client: Client,
    folders: Sequence[Download],
    metrics: Sequence[str],
    clusters: Sequence[str],
    problems: dict[Download, str],
) -> dict[Download, list[Download]]:
    """List the requested files of each telemetry folder, and add the errors to `problems`."""
    if not folders:
        raise UsageError(
            "none of these traces has telemetry, so ",
            *(Option("metric"), " and ", Option("cluster")),
            " do not apply",
        )
    known_clusters = sorted({folder.cluster for folder in folders})
    for cluster in clusters:
        if cluster not in known_clusters:
            listed = ", ".join(known_clusters)
            raise UsageError(f"no cluster with telemetry is called {cluster}. Known: {listed}")
    chosen = [folder for folder in folders if not clusters or folder.cluster in clusters]
    found = {folder: _list_folder(client, folder, problems) for folder in chosen}
    known = sorted({_metric_name(file) for files in found.values() for file in files})
    for metric in metrics:
        # A metric may exist in a folder that could not be listed.
        if metric not in (*known, ALL_METRICS) and not problems:
            raise UsageError(f"no telemetry is called {metric}. Known: {', '.join(known)}, {ALL_METRICS}")
    if not metrics or ALL_METRICS in metrics:
        return found
    return {
        folder: [file for file in files if _metric_name(file) in metrics] for folder, files in found.items()
    }


def _metric_name(file: Download) -> str:
    """Return the metric of a telemetry file. GPU_TEMP-2023-07.csv is one of several files of GPU_TEMP."""
    return file.path.rpartition("/")[2].partition(".")[0].partition("-")[0]


def _list_folder(client: Client, folder: Download, problems: dict[Download, str]) -> list[Download]:
    """List the files of a data set's folder on the Hugging Face Hub that match a row with a ``*``.

    The package huggingface_hub offers the same, but would install a dozen packages for this one request.
    """
    base_url, _, pattern = folder.urls[0].rpartition("/")
    listing = base_url.replace("/datasets/", "/api/datasets/").replace("/resolve/", "/tree/")
    resolved = client.resolve(listing)
    files = []
    names: set[str] = set()
    try:
        body, has_more = client.retry(lambda: _read_page(client, listing))
        for entry in json.loads(body):
            name = entry["path"].rpartition("/")[2]
            if entry["type"] == "file" and fnmatchcase(name, pattern):
                # Only entries of files in Git LFS have a SHA-256: their object id.
                sha256 = entry["lfs"]["oid"] if entry.get("lfs") else ""
                if not _is_plausible(name, entry["size"]) or not re.fullmatch("(?:[0-9a-f]{64})?", sha256):
                    raise ValueError(f"a file without a valid name, size or checksum: {name[:80]!r}")
                if name in names:
                    raise ValueError(f"{name} is listed twice")
                names.add(name)
                path, url = folder.path.replace(pattern, name), f"{base_url}/{quote(name)}"
                files.append(Download(path, (url,), (), entry["size"], sha256, folder.cluster))
    except SourceError as error:
        problems[folder] = str(error)
        return []
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        problems[folder] = f"{resolved}: it is not a list of files ({escape_name(str(error))})"
        return []
    if has_more or not files:
        what = "its list of files has several pages" if has_more else f"it lists no {pattern}"
        problems[folder] = f"{resolved}: {what}"
    return files


def _read_page(client: Client, listing: str) -> tuple[bytes, bool]:
    """Return the first page of a list (up to a thousand files), and whether there is another page."""
    with client.get(listing, {}) as response:
        return client.read_body(response, _MOST_LIST_BYTES), "next" in response.links


def _list_members(
    client: Client, row: Download, trace: Trace, selection: Selection, problems: dict[Download, str]
) -> list[Download]:
    """List the selected members if the file is the zip of a partitioned table, otherwise the file itself."""
    stem, _, extension = row.path.rpartition("/")[2].rpartition(".")
    tables = (each for each in trace.tables if each.converts_partitions)
    table = next((each for each in tables if re.fullmatch(each.archive_stem, stem)), None)
    if not selection or table is None or extension != "zip":
        return [row]
    archive = RemoteZip(client, row.urls[0])
    files = []
    try:
        for info in archive.members():
            path = info.filename.lstrip("/")
            if not _is_plausible(path, info.file_size):
                what = f"a member without a valid path: {escape_name(path[:80])}"
                raise SourceError(f"{client.resolve(row.urls[0])}: {what}")
            folder, _, name = path.rpartition("/")
            partition = table.partition_of(table.key_values(name, folder) or {})
            if partition and selects(selection, partition):
                files.append(
                    Download(path, row.urls, bytes=info.file_size, archive=archive, member=info.filename)
                )
    except SourceError as error:
        problems[row] = str(error)
        return []
    return files


def _is_plausible(path: str, size: object) -> bool:
    """Return whether a path and a size that a server lists can belong to a file."""
    names = path.split("/")
    is_path = path.isprintable() and not {"", ".", ".."} & set(names)
    is_short = len(path.encode()) <= _LONGEST_PATH_BYTES
    is_short = is_short and max(len(name.encode()) for name in names) <= _LONGEST_NAME_BYTES
    return is_path and is_short and isinstance(size, int) and 0 <= size <= _MOST_FILE_BYTES


def describe_plans(plans: Sequence[Plan], out: Path, with_files: bool = False) -> Iterator[str]:
    """Yield lines for the user: files, sizes, licence and citation of each trace, and the total."""
    for plan in plans:
        trace, downloads = plan.trace, plan.downloads
        yield f"{trace.name}: {trace.title}, from {trace.homepage}"
        if not downloads and not plan.problems:
            yield f"  not fetched: {trace.download}"
            continue
        yield f"  {_format_amount(downloads)}"
        existing = len(downloads) - len(plan.missing)
        if existing:
            yield f"  {_format_count(existing)} already downloaded"
        if plan.omits_telemetry:
            yield "  without telemetry; select it with --metric (all for every metric) or --cluster"
        yield f"  licence: {trace.licence}"
        yield f"  cite: {trace.citation}"
        for row, problem in plan.problems.items():
            yield f"  {row.path}, could not be listed: {row.urls[0]}"
            yield f"    {problem}"
        for download in downloads if with_files else ():
            size = "size unknown" if download.bytes is None else decimal(download.bytes)
            parts = [f"{part} and {len(download.parts) - 1} more" for part in download.parts[:1]]
            yield f"  {download.path}, {size}: {' or '.join([*download.urls, *parts])}"
    missing = [download for plan in plans for download in plan.missing]
    yield f"To fetch to {out}: {_format_amount(missing)}. Free space: {decimal(free_bytes(out))}"


def check_is_wanted(plans: Sequence[Plan]) -> None:
    """Raise UsageError if the download of a trace is so large that it needs the option --yes."""
    for plan in plans:
        if plan.missing_bytes > _ASK_BYTES:
            keys = sorted({key for table in plan.trace.tables for key in table.partition_by})
            select = (", or select partitions with ", Option("only"), f" {keys[0]}=…") if keys else ()
            raise UsageError(
                f"{decimal(plan.missing_bytes)} would be downloaded for {plan.trace.name}. Add ",
                Option("yes"),
                " to do so",
                *select,
            )


def free_bytes(out: Path) -> int:
    """Return the free disk space in bytes where a folder is or will be created."""
    existing = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    return shutil.disk_usage(existing).free


def _format_amount(downloads: Sequence[Download]) -> str:
    """Return the number of files and their total size, such as `3 files, 1.3 kB and 2 of unknown size`."""
    known = [download.bytes for download in downloads if download.bytes is not None]
    unknown = len(downloads) - len(known)
    amounts = [decimal(sum(known))] * bool(known) + [f"{unknown} of unknown size"] * bool(unknown)
    return ", ".join([_format_count(len(downloads)), *([" and ".join(amounts)] if amounts else [])])


def _format_count(files: int) -> str:
    return f"{files} file{'s' * (files != 1)}"
