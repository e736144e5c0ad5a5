"""Plan a download: the files of each trace, their sizes and their licences."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.filesize import decimal

from tracehouse.core.errors import UsageError, UserError, check_traces
from tracehouse.core.text import escape_name, join_names
from tracehouse.ingest.declarations import Trace, all_traces
from tracehouse.ingest.discovery.synthetic import MARKER_NAME
from tracehouse.ingest.downloads import hub, locations
from tracehouse.ingest.downloads.download import partial_size
from tracehouse.ingest.downloads.http import DEFAULT_RETRY_POLICY, Client, RetryPolicy, SourceError
from tracehouse.ingest.downloads.locations import Download, Listing, is_plausible
from tracehouse.ingest.downloads.remote_zip import RemoteZip
from tracehouse.ingest.selection import Selection, parse_selection, selects

ALL_METRICS = "all"

# A trace with more bytes than this is fetched only with --yes. All other traces together are smaller.
_ASK_BYTES = 200 * 10**9


@dataclass(frozen=True)
class FetchRequest:
    """The files to fetch, to one folder per trace below `out`. If `traces` is empty, all traces are fetched.

    Telemetry is fetched only for the given `metrics` (``all`` for every metric) or `clusters`. `mirrors` maps
    a host to the URL that replaces scheme and host. `only` selects partitions (see `selection`): only the
    zip's members of these partitions are fetched, as files in folders. A dry run makes a single attempt to
    list telemetry.
    """

    out: Path
    traces: Sequence[str] = ()
    metrics: Sequence[str] = ()
    clusters: Sequence[str] = ()
    mirrors: Mapping[str, str] = field(default_factory=dict)
    policy: RetryPolicy = DEFAULT_RETRY_POLICY
    is_dry_run: bool = False
    only: Sequence[str] = ()

    @property
    def retry_policy(self) -> RetryPolicy:
        """The retry policy to use. A dry run makes one attempt."""
        return replace(self.policy, attempts=1) if self.is_dry_run else self.policy

    @property
    def wants_telemetry(self) -> bool:
        """Whether the request includes telemetry."""
        return bool(self.metrics or self.clusters)


@dataclass(frozen=True)
class Plan:
    """The files of one trace to fetch to `folder`.

    `unlisted` maps a telemetry folder or zip to errors if some of its files could not be listed.
    """

    trace: Trace
    folder: Path
    downloads: tuple[Download, ...]
    omits_telemetry: bool
    unlisted: Mapping[Download, Sequence[str]] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[Download, ...]:
        """The files that do not exist yet. Checksums of existing files are compared later."""
        return tuple(download for download in self.downloads if not _exists(download, self.folder))

    @property
    def missing_bytes(self) -> int:
        """The number of bytes still to receive, without files of unknown size."""
        return sum(
            max(0, (download.bytes or 0) - partial_size(self.folder / download.path))
            for download in self.missing
        )


def plan_downloads(request: FetchRequest, client: Client) -> list[Plan]:
    """Return the plan of each requested trace.

    It needs the network only to list telemetry and the members of a zip. Raises UsageError if a trace, metric
    or cluster does not exist, and UserError if a target folder contains a synthetic sample.
    """
    known = all_traces()
    check_traces(request.traces, known)
    chosen = [known[name] for name in dict.fromkeys(request.traces)] or list(known.values())
    rows_by_trace = {trace.name: locations.downloads(trace) for trace in chosen}
    telemetry = _list_telemetry(request, [row for rows in rows_by_trace.values() for row in rows], client)
    plans = []
    selection = parse_selection(request.only, chosen)
    for trace in chosen:
        rows = rows_by_trace[trace.name]
        listings = {
            row: telemetry.get(row, Listing()) if row.cluster else _select(row, trace, selection, client)
            for row in rows
        }
        files = tuple(file for listing in listings.values() for file in listing.files)
        omits_telemetry = any(row.cluster for row in rows) and not request.wants_telemetry
        unlisted = {row: listing.problems for row, listing in listings.items() if listing.problems}
        plans.append(Plan(trace, request.out / trace.name, files, omits_telemetry, unlisted))
    _refuse_synthetic_folders(request.out, plans)
    return plans


def _select(file: Download, trace: Trace, selection: Selection, client: Client) -> Listing:
    """List the selected members if the file is the zip of a partitioned table, otherwise the file itself."""
    stem, _, extension = file.path.rpartition("/")[2].rpartition(".")
    table = next(
        (t for t in trace.tables if t.converts_partitions and re.fullmatch(t.archive_stem, stem)), None
    )
    if not selection or table is None or extension != "zip":
        return Listing((file,))
    archive = RemoteZip(client, file.urls[0])
    found, invalid, problems = [], [], []
    try:
        for info in archive.members():
            path, size = info.filename.lstrip("/"), info.file_size
            folder, _, name = path.rpartition("/")
            partition = table.partition_of(table.key_values(name, folder) or {})
            if not is_plausible(path, size):
                invalid.append(escape_name(path[:80]) or "one without a name")
            elif partition and selects(selection, partition):
                found.append(Download(path, file.urls, bytes=size, archive=archive, member=info.filename))
    except SourceError as error:
        problems.append(str(error))
    if invalid:
        what = f"members without a valid path or size: {join_names(invalid, 3)}"
        problems.append(f"{client.resolve(file.urls[0])}: {what}")
    return Listing(tuple(found), tuple(problems))


def describe_plans(plans: Sequence[Plan], out: Path, with_files: bool = False) -> Iterator[str]:
    """Yield lines for the user: files, sizes, licence and citation of each trace, and the total."""
    for plan in plans:
        trace = plan.trace
        yield f"{trace.name}: {trace.title}, from {trace.homepage}"
        if not plan.downloads and not plan.unlisted:
            yield f"  not fetched: {trace.download}"
            continue
        yield f"  {_format_amount(plan.downloads)}"
        existing = len(plan.downloads) - len(plan.missing)
        if existing:
            yield f"  {_format_count(existing)} already downloaded"
        if plan.omits_telemetry:
            yield "  without telemetry; select it with --metric (all for every metric) or --cluster"
        yield f"  licence: {trace.licence}"
        yield f"  cite: {trace.citation}"
        for row, problems in plan.unlisted.items():
            yield f"  {row.path}, could not be listed completely: {row.urls[0]}"
            yield from (f"    {problem}" for problem in problems)
        for download in plan.downloads if with_files else ():
            yield f"  {download.path}, {_format_size(download)}: {' or '.join(_format_urls(download))}"
    missing = [download for plan in plans for download in plan.missing]
    yield f"To fetch to {out}: {_format_amount(missing)}. Free space: {decimal(free_bytes(out))}"


def check_is_wanted(plans: Sequence[Plan]) -> None:
    """Raise UsageError if the download of a trace is so large that it needs the option --yes."""
    for plan in plans:
        if plan.missing_bytes > _ASK_BYTES:
            keys = sorted({key for table in plan.trace.tables for key in table.partition_by})
            select = f", or select partitions with --only {keys[0]}=…" if keys else ""
            raise UsageError(
                f"{decimal(plan.missing_bytes)} would be downloaded for {plan.trace.name}. Add --yes to do so"
                f"{select}"
            )


def free_bytes(out: Path) -> int:
    """Return the free disk space in bytes where a folder is or will be created."""
    existing = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    return shutil.disk_usage(existing).free


def _list_telemetry(
    request: FetchRequest, rows: Sequence[Download], client: Client
) -> dict[Download, Listing]:
    """List the requested files of each telemetry folder."""
    if not request.wants_telemetry:
        return {}
    folders = [row for row in rows if row.cluster]
    clusters = sorted({folder.cluster for folder in folders})
    if not folders:
        raise UsageError("none of these traces has telemetry, so --metric and --cluster do not apply")
    for cluster in request.clusters:
        if cluster not in clusters:
            raise UsageError(f"no cluster with telemetry is called {cluster}. Known: {', '.join(clusters)}")
    chosen = [folder for folder in folders if not request.clusters or folder.cluster in request.clusters]
    listings = {folder: hub.list_files(client, folder) for folder in chosen}
    metrics = sorted({_metric_name(file) for listing in listings.values() for file in listing.files})
    is_complete = not any(listing.problems for listing in listings.values())
    for metric in request.metrics:
        # A metric may exist in a folder that could not be listed.
        if metric not in (*metrics, ALL_METRICS) and is_complete:
            raise UsageError(f"no telemetry is called {metric}. Known: {', '.join(metrics)}, {ALL_METRICS}")
    if request.metrics and ALL_METRICS not in request.metrics:
        for folder, listing in listings.items():
            files = tuple(file for file in listing.files if _metric_name(file) in request.metrics)
            listings[folder] = replace(listing, files=files)
    return listings


def _metric_name(file: Download) -> str:
    """Return the metric of a telemetry file. GPU_TEMP-2023-07.csv is one of several files of GPU_TEMP."""
    return file.path.rpartition("/")[2].partition(".")[0].partition("-")[0]


def _exists(download: Download, folder: Path) -> bool:
    """Return whether a file or all its parts exist. Without a checksum, the size must be right too."""
    path = folder / download.path
    if path.is_file():
        return bool(download.sha256) or download.bytes in (None, path.stat().st_size)
    return bool(download.parts) and all((folder / part).is_file() for part in download.part_paths)


def _refuse_synthetic_folders(out: Path, plans: Sequence[Plan]) -> None:
    """Raise UserError if a folder contains a synthetic sample: real files in it would count as synthetic."""
    for folder in (out, *(plan.folder for plan in plans)):
        if (folder / MARKER_NAME).is_file():
            raise UserError(
                f"{folder} holds a synthetic sample, and every file in it is ingested as synthetic. "
                "Choose another folder with --out, or remove the sample"
            )


def _format_urls(download: Download) -> list[str]:
    first = download.parts[:1]
    return [*download.urls, *(f"{part} and {len(download.parts) - 1} more" for part in first)]


def _format_size(download: Download) -> str:
    return "size unknown" if download.bytes is None else decimal(download.bytes)


def _format_amount(downloads: Sequence[Download]) -> str:
    """Return the number of files and their total size, such as `3 files, 1.3 kB and 2 of unknown size`."""
    known = [download.bytes for download in downloads if download.bytes is not None]
    unknown = len(downloads) - len(known)
    amounts = [decimal(sum(known))] * bool(known) + [f"{unknown} of unknown size"] * bool(unknown)
    return ", ".join([_format_count(len(downloads)), *([" and ".join(amounts)] if amounts else [])])


def _format_count(files: int) -> str:
    return f"{files} file{'s' * (files != 1)}"
