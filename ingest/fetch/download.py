"""Fetch planned files: keep valid files, download the others and report failures."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path

from filelock import FileLock, Timeout
from rich.filesize import decimal

from tracehouse.core.errors import Option, RawFileError, UserError
from tracehouse.core.progress import Progress
from tracehouse.ingest.declare.trace import Trace
from tracehouse.ingest.dump.open import check_raw, sha256_of
from tracehouse.ingest.fetch.client import Client, SourceError
from tracehouse.ingest.fetch.plan import Download, Plan, free_bytes
from tracehouse.ingest.fetch.transfer import OnBytes, discard_partial, download_file

# The suffix given to an existing file that differs from the published one.
_WRONG_SUFFIX = ".wrong"

Report = Callable[[str], None]
"""Called with a line of text about each file."""


@dataclass(frozen=True)
class Failure:
    """A file that could not be fetched, with the error of each URL."""

    trace: Trace
    path: str
    problems: Sequence[str]

    def __str__(self) -> str:
        return "\n    ".join([f"{self.trace.name}/{self.path} could not be fetched", *self.problems])


@dataclass(frozen=True)
class DownloadResult:
    """The number of fetched files, the number of files that existed already (`kept`), and the failures."""

    fetched: int
    kept: int
    failures: tuple[Failure, ...]

    def describe_failures(self) -> str:
        """Return a message that counts the failed files and names the publishers' pages."""
        total = self.fetched + self.kept + len(self.failures)
        homepages = {failure.trace.name: failure.trace.homepage for failure in self.failures}
        links = "".join(f"\n    {name}: {homepage}" for name, homepage in homepages.items())
        return (
            f"{len(self.failures)} of {total} files were not fetched. Run the command again to resume, or "
            f"download them by hand:{links}"
        )


def fetch_files(
    plans: Sequence[Plan], out: Path, client: Client, progress: Progress, report: Report
) -> DownloadResult:
    """Fetch the planned files one by one. If a file fails, the next one is fetched nevertheless.

    Raises UserError before it fetches anything if the disk is too small or another process is fetching to
    the same folder.
    """
    needed, free = sum(plan.missing_bytes for plan in plans), free_bytes(out)
    if needed > free:
        raise UserError(
            f"{decimal(needed)} to fetch, but {out} has {decimal(free)} free: nothing was fetched. "
            "Choose fewer traces, or another disk with ",
            Option("out"),
        )
    out.mkdir(parents=True, exist_ok=True)
    fetched, kept = 0, 0
    failures = [
        Failure(plan.trace, row.path, [problem]) for plan in plans for row, problem in plan.problems.items()
    ]
    lock = FileLock(out / ".fetch.lock", timeout=0)
    try:
        held = lock.acquire()
    except Timeout:
        raise UserError(f"another `traces fetch` is writing to {out}: wait until it has finished") from None
    with held:
        for plan, download in [(each, file) for each in plans for file in each.downloads]:
            name = f"{plan.trace.name}/{download.path}"
            try:
                if _keep(download, plan.folder, progress, report):
                    kept += 1
                    continue
                size, problems = _download(client, download, plan.folder, progress)
            except (UserError, OSError) as error:
                size, problems = 0, [str(error)]
            if problems:
                failures.append(Failure(plan.trace, download.path, problems))
                report(f"{name}: failed")
            else:
                fetched += 1
                report(f"{name}: {decimal(size)}")
    return DownloadResult(fetched, kept, tuple(failures))


def _keep(download: Download, folder: Path, progress: Progress, report: Report) -> bool:
    """Return whether the published file exists already, by checksum, or otherwise by first bytes and size.

    Renames and reports a different file of its name. Raises UserError if the name is not that of a file.
    """
    whole = folder / download.path
    if not whole.is_file() and os.path.lexists(whole):
        raise UserError(f"{whole} is a folder, a broken link or a pipe, not a file. Move it, and fetch again")
    parts = [folder / part for part in download.part_paths]
    paths = [whole] if whole.is_file() else parts if all(part.is_file() for part in parts) else []
    if not paths:
        return False
    if download.sha256:
        is_published = _checksum(paths, progress) == download.sha256
    else:
        is_published = download.bytes in (None, sum(path.stat().st_size for path in paths))
        try:
            check_raw(paths)
        except RawFileError:
            is_published = False
    for path in () if is_published else paths:
        renamed = _unused_name(path)
        path.replace(renamed)
        report(f"{path} is not the published file: renamed to {renamed.name}, and fetched again")
    for path in (whole, *paths) if is_published else ():
        # A run that was killed after it had renamed a complete download has left this.
        discard_partial(path)
    return is_published


def _unused_name(path: Path) -> Path:
    """Return `<name>.wrong`, or with a number if this exists."""
    wrong = path.with_name(path.name + _WRONG_SUFFIX)
    numbered = (wrong.with_name(f"{wrong.name}{number}") for number in count(2))
    return next(other for other in chain([wrong], numbered) if not os.path.lexists(other))


def _download(client: Client, download: Download, folder: Path, progress: Progress) -> tuple[int, list[str]]:
    """Download a file from the first URL that serves it.

    Returns the file's size in bytes, and the error of each URL if all fail.
    """
    path = folder / download.path
    attempts: list[Callable[[OnBytes], None]] = [
        partial(download_file, client, url, path, download.bytes, download.sha256) for url in download.urls
    ]
    if download.archive:
        attempts = [partial(download.archive.download, download.member, path)]
    problems = []
    for attempt in attempts:
        try:
            attempt(_byte_reporter(progress, path))
            return path.stat().st_size, []
        except SourceError as error:
            problems.append(str(error))
    if download.parts:
        try:
            return _download_parts(client, download, folder, progress), []
        except SourceError as error:
            problems.append(str(error))
    return 0, problems


def _download_parts(client: Client, download: Download, folder: Path, progress: Progress) -> int:
    paths = [folder / part for part in download.part_paths]
    for url, path in zip(download.parts, paths, strict=True):
        if not path.is_file():
            download_file(client, url, path, None, "", _byte_reporter(progress, path))
    if download.sha256 and _checksum(paths, progress) != download.sha256:
        for path in paths:
            path.unlink()
        url = client.resolve(download.parts[0])
        raise SourceError(f"{url}: the joined parts do not have the published checksum and were removed")
    discard_partial(folder / download.path)
    return sum(path.stat().st_size for path in paths)


def _byte_reporter(progress: Progress, path: Path) -> OnBytes:
    """Return a function that reports the bytes received since its last call to `progress`."""
    reported = 0

    def on_bytes(have: int, total: int) -> None:
        nonlocal reported
        progress(path.name, have - reported, total)
        reported = have

    return on_bytes


def _checksum(paths: Sequence[Path], progress: Progress) -> str:
    total = sum(path.stat().st_size for path in paths)
    return sha256_of(paths, lambda more: progress(f"checksum of {paths[0].name}", more, total))
