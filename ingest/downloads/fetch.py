"""Fetches the raw files of traces: says what that takes, brings each file, and says what did not come."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from filelock import FileLock, Timeout
from rich.filesize import decimal

from tracehouse.core.errors import RawFileError, UsageError, UserError, check_traces
from tracehouse.ingest.declarations import Trace, all_traces
from tracehouse.ingest.discovery.synthetic import MARKER_NAME
from tracehouse.ingest.discovery.unpack import open_raw, sha256_of
from tracehouse.ingest.downloads import hub, ledger, transfer
from tracehouse.ingest.downloads.ledger import Download
from tracehouse.ingest.downloads.web import DEFAULT_PATIENCE, Patience, PlaceError, Web, open_web
from tracehouse.ingest.store.integrity import Progress

ALL = "all"
# What a file that is not the published one is called from then on.
_ASIDE = ".wrong"

Tell = Callable[[str], None]
"""Called with a line that says what has become of a file."""


@dataclass(frozen=True)
class Wish:
    """What is to be fetched, and where to: a folder for each trace below `out`.

    All traces if none is named. Telemetry comes only where `metrics` (or ``all``) or `clusters` ask for it.
    `mirrors` maps a host to the URL that stands in place of scheme and host. Where it `is_dry`, nothing is to
    be fetched: a list of telemetry is asked for once, and need not come.
    """

    out: Path
    traces: Sequence[str] = ()
    metrics: Sequence[str] = ()
    clusters: Sequence[str] = ()
    mirrors: Mapping[str, str] | None = None
    patience: Patience = DEFAULT_PATIENCE
    is_dry: bool = False


@dataclass(frozen=True)
class Plan:
    """The files of a trace that are to be fetched to `folder`, and whether telemetry is left out.

    `unlisted` are folders of telemetry whose files cannot be told, each with the reason.
    """

    trace: Trace
    folder: Path
    downloads: tuple[Download, ...]
    leaves_out_telemetry: bool
    unlisted: Mapping[Download, str] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[Download, ...]:
        """The files that are not there. The checksums of those that are there have not been compared yet."""
        return tuple(download for download in self.downloads if not _lies_there(download, self.folder))

    @property
    def missing_bytes(self) -> int:
        """How much is still to come, as far as sizes are known."""
        return sum(
            max(0, (download.bytes or 0) - transfer.come_bytes(self.folder / download.path))
            for download in self.missing
        )


@dataclass(frozen=True)
class Failure:
    """A file of a trace that did not come, and what went wrong at each place that was asked for it."""

    trace: Trace
    path: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return "\n    ".join([f"{self.trace.name}/{self.path} did not come", *self.problems])


@dataclass(frozen=True)
class Outcome:
    """How many files came and how many were there already, and the others."""

    fetched: int
    kept: int
    failures: tuple[Failure, ...]


class _NowhereError(UserError):
    """No place gave a file: what went wrong at each."""

    def __init__(self, problems: Sequence[str]):
        self.problems = tuple(problems)
        super().__init__("; ".join(problems))


@contextmanager
def opened(wish: Wish) -> Iterator[Web]:
    """What a wish's requests are made with. Raises UserError where the package for it is not installed."""
    patience = replace(wish.patience, tries=1) if wish.is_dry else wish.patience
    with open_web(wish.mirrors or {}, patience) as web:
        yield web


def planned(wish: Wish, web: Web) -> list[Plan]:
    """What a wish takes. Only for telemetry is anything asked of a server: which files there are.

    Raises UsageError where a trace, a metric or a cluster does not exist, PlaceError where the list of
    telemetry cannot be had and the wish is not dry, and UserError where a folder holds a synthetic sample.
    """
    known = all_traces()
    check_traces(wish.traces, known)
    chosen = [known[name] for name in dict.fromkeys(wish.traces)] or list(known.values())
    ledgers = {trace.name: ledger.downloads(trace) for trace in chosen}
    every = [download for rows in ledgers.values() for download in rows]
    telemetry, unlisted = _telemetry(wish, every, web)
    plans = []
    for trace in chosen:
        rows = ledgers[trace.name]
        files = [file for row in rows for file in (telemetry.get(row, []) if row.cluster else [row])]
        leaves_out = any(row.cluster for row in rows) and not (wish.metrics or wish.clusters)
        of_trace = {row: unlisted[row] for row in rows if row in unlisted}
        plans.append(Plan(trace, wish.out / trace.name, tuple(files), leaves_out, of_trace))
    _refuse_synthetic(wish.out, plans)
    return plans


def announcement(plans: Sequence[Plan], out: Path, with_files: bool = False) -> Iterator[str]:
    """Lines that say what will be fetched, under which licence, and how it is to be cited."""
    for plan in plans:
        trace = plan.trace
        yield f"{trace.name}: {trace.title}, from {trace.homepage}"
        if not plan.downloads:
            yield f"  not fetched: {trace.download}"
            continue
        yield f"  {_amount(plan.downloads)}"
        there = len(plan.downloads) - len(plan.missing)
        if there:
            yield f"  {_count(there)} of them there already"
        if plan.leaves_out_telemetry:
            yield "  without its telemetry, which --metric and --cluster ask for; --metric all for all of it"
        yield f"  licence: {trace.licence}"
        yield f"  cite: {trace.citation}"
        for folder, reason in plan.unlisted.items():
            yield f"  {folder.path}, not listed now: {folder.urls[0]}"
            yield f"    {reason}"
        for download in plan.downloads if with_files else ():
            yield f"  {download.path}, {_shown_size(download)}: {' or '.join(_places(download))}"
    missing = [download for plan in plans for download in plan.missing]
    yield f"To fetch to {out}: {_amount(missing)}. Free there: {decimal(_free_bytes(out))}"


def fetch(plans: Sequence[Plan], out: Path, web: Web, progress: Progress, tell: Tell) -> Outcome:
    """Fetch what is planned, one file after another; one that fails stops none of the others.

    Raises UserError, with nothing fetched, where the disk has no room for all of it, or where another process
    fetches to the same folder.
    """
    _refuse_without_room(plans, out)
    out.mkdir(parents=True, exist_ok=True)
    fetched, kept, failures = 0, 0, []
    with _alone(out):
        for plan in plans:
            for download in plan.downloads:
                name = f"{plan.trace.name}/{download.path}"
                try:
                    if _is_kept(download, plan.folder, progress, tell):
                        kept += 1
                        continue
                    bytes_ = _bring(web, download, plan.folder, progress)
                except UserError as error:
                    problems = error.problems if isinstance(error, _NowhereError) else (str(error),)
                    failures.append(Failure(plan.trace, download.path, problems))
                    tell(f"{name}: failed")
                else:
                    fetched += 1
                    tell(f"{name}: {decimal(bytes_)}")
    return Outcome(fetched, kept, tuple(failures))


def said_of_failures(outcome: Outcome) -> str:
    """A sentence on what did not come, and where to find it."""
    in_all = outcome.fetched + outcome.kept + len(outcome.failures)
    traces = {failure.trace.name: failure.trace.homepage for failure in outcome.failures}
    places = "".join(f"\n    {name}: {homepage}" for name, homepage in traces.items())
    return (
        f"{len(outcome.failures)} of {in_all} files were not fetched. Run it again to go on, or fetch them "
        f"by hand:{places}"
    )


def _telemetry(
    wish: Wish, rows: Sequence[Download], web: Web
) -> tuple[dict[Download, list[Download]], dict[Download, str]]:
    """The wished files of each folder of telemetry, none where it is not wished; and why some are unknown."""
    folders = [row for row in rows if row.cluster]
    clusters = sorted({folder.cluster for folder in folders})
    if not (wish.metrics or wish.clusters):
        return {}, {}
    if not folders:
        raise UsageError("none of these traces has telemetry: --metric and --cluster choose among it")
    for cluster in wish.clusters:
        if cluster not in clusters:
            raise UsageError(f"no cluster with telemetry is called {cluster}. Known: {', '.join(clusters)}")
    chosen = [folder for folder in folders if not wish.clusters or folder.cluster in wish.clusters]
    found, unlisted = {}, {}
    for folder in chosen:
        try:
            found[folder] = hub.files(web, folder)
        except PlaceError as error:
            if not wish.is_dry:
                raise
            unlisted[folder] = str(error)
    metrics = sorted({_metric(file) for files in found.values() for file in files})
    for metric in wish.metrics:
        # Of what is not listed, nobody can tell.
        if metric not in (*metrics, ALL) and not unlisted:
            raise UsageError(f"no telemetry is called {metric}. Known: {', '.join(metrics)}, {ALL}")
    if wish.metrics and ALL not in wish.metrics:
        found = {
            folder: [file for file in files if _metric(file) in wish.metrics]
            for folder, files in found.items()
        }
    return found, unlisted


def _metric(file: Download) -> str:
    """The metric of a file of telemetry, which may be a piece: GPU_TEMP of GPU_TEMP-2023-07.csv."""
    return file.path.rpartition("/")[2].partition(".")[0].partition("-")[0]


def _lies_there(download: Download, folder: Path) -> bool:
    """Whether a file is there, or all its parts, with the size that is known."""
    path = folder / download.path
    if path.is_file():
        return bool(download.sha256) or download.bytes in (None, path.stat().st_size)
    return bool(download.parts) and all((folder / part).is_file() for part in download.part_paths)


def _is_kept(download: Download, folder: Path, progress: Progress, tell: Tell) -> bool:
    """Whether a file is there as it was published. One that is not gets another name, and `tell` says so."""
    whole = folder / download.path
    parts = [folder / part for part in download.part_paths]
    paths = [whole] if whole.is_file() else parts if all(part.is_file() for part in parts) else []
    if not paths:
        return False
    is_it = _is_published(paths, download, progress)
    if not is_it:
        for path in paths:
            aside = path.with_name(path.name + _ASIDE)
            path.replace(aside)
            tell(f"{path} is not the published file: it is {aside.name} now, and fetched anew")
    return is_it


def _is_published(paths: Sequence[Path], download: Download, progress: Progress) -> bool:
    """Whether a file that is there, or its parts, can be what was published, as far as that can be known."""
    if download.sha256:
        return _checksum(paths, progress) == download.sha256
    try:
        open_raw(paths).close()
    except RawFileError:
        return False
    return download.bytes in (None, sum(path.stat().st_size for path in paths))


def _bring(web: Web, download: Download, folder: Path, progress: Progress) -> int:
    """Bring a file from the first place that gives it, whole or in parts, and return its size in bytes."""
    path = folder / download.path
    bar = _bar(progress, path)
    problems = []
    for url in download.urls:
        try:
            transfer.bring(web, url, path, download.bytes, download.sha256, bar)
            return path.stat().st_size
        except PlaceError as error:
            problems.append(str(error))
    if download.parts:
        try:
            return _bring_parts(web, download, folder, progress)
        except PlaceError as error:
            problems.append(str(error))
    raise _NowhereError(problems)


def _bring_parts(web: Web, download: Download, folder: Path, progress: Progress) -> int:
    paths = [folder / part for part in download.part_paths]
    for url, path in zip(download.parts, paths, strict=True):
        if not path.is_file():
            transfer.bring(web, url, path, None, "", _bar(progress, path))
    if download.sha256 and _checksum(paths, progress) != download.sha256:
        for path in paths:
            path.unlink()
        place = web.place(download.parts[0])
        raise PlaceError(f"{place}: the parts together do not have the published checksum: removed")
    transfer.forget(folder / download.path)
    return sum(path.stat().st_size for path in paths)


def _bar(progress: Progress, path: Path) -> transfer.OnBytes:
    """Tell the progress how many bytes came, rather than how many there are."""
    told = 0

    def on_bytes(have: int, total: int) -> None:
        nonlocal told
        progress(path.name, have - told, total)
        told = have

    return on_bytes


def _checksum(paths: Sequence[Path], progress: Progress) -> str:
    total = sum(path.stat().st_size for path in paths)
    return sha256_of(paths, lambda more: progress(f"checksum of {paths[0].name}", more, total))


def _refuse_synthetic(out: Path, plans: Sequence[Plan]) -> None:
    """What lay below the mark of a sample would count as synthetic."""
    for folder in (out, *(plan.folder for plan in plans)):
        if (folder / MARKER_NAME).is_file():
            raise UserError(
                f"{folder} is a synthetic sample, and what lies in it counts as synthetic. "
                "Choose another folder with --out, or remove the sample"
            )


def _refuse_without_room(plans: Sequence[Plan], out: Path) -> None:
    needed, free = sum(plan.missing_bytes for plan in plans), _free_bytes(out)
    if needed > free:
        raise UserError(
            f"{decimal(needed)} are to be fetched, and {out} has room for {decimal(free)}: nothing was "
            "fetched. Choose fewer traces, or another disk with --out"
        )


def _free_bytes(out: Path) -> int:
    existing = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    return shutil.disk_usage(existing).free


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep other processes from fetching to the same folder."""
    try:
        with FileLock(out / ".fetch.lock", timeout=0):
            yield
    except Timeout:
        raise UserError(f"another `traces fetch` is writing to {out}: wait until it has ended") from None


def _places(download: Download) -> list[str]:
    first = download.parts[:1]
    return [*download.urls, *(f"{part} and {len(download.parts) - 1} more" for part in first)]


def _shown_size(download: Download) -> str:
    return "size unknown" if download.bytes is None else decimal(download.bytes)


def _amount(downloads: Sequence[Download]) -> str:
    """How many files, and how large: 3 files, 1.3 kB and 2 of unknown size."""
    sizes = [download.bytes for download in downloads]
    known = [size for size in sizes if size is not None]
    unknown = len(sizes) - len(known)
    amounts = [decimal(sum(known))] * bool(known) + [f"{unknown} of unknown size"] * bool(unknown)
    return ", ".join([_count(len(sizes)), " and ".join(amounts)] if amounts else [_count(0)])


def _count(files: int) -> str:
    return f"{files} file{'s' * (files != 1)}"
