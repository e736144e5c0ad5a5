"""Remove superseded files of base tables and materialized views, and unfinished files of a killed ingest.

Files that the warehouse never listed stay.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tracehouse.ingest.store import records, view_store
from tracehouse.ingest.store.layout import invalidate_views, remove_staging
from tracehouse.ingest.store.records import Manifest, Superseded

# Superseded files are kept for readers of older versions until both limits are exceeded.
KEEP_SUPERSEDED_DAYS = 7.0
KEEP_SUPERSEDED_VERSIONS = 3


def remove_leftovers(warehouse: Path, views_in_use: Collection[str] | None = None) -> None:
    """Remove unfinished files of a killed ingest, and superseded files that exceed the limits.

    If the manifest is missing or damaged, raises UserError and removes nothing. For `views_in_use` see
    `vacuum`.
    """
    records.discard_incomplete(warehouse)
    remove_staging(warehouse)
    vacuum(warehouse, KEEP_SUPERSEDED_DAYS, KEEP_SUPERSEDED_VERSIONS, views_in_use)


def record_superseded(warehouse: Path, views_in_use: Collection[str]) -> Manifest:
    """Record which files of views the newest database does not read, and return the manifest."""
    published = records.read(warehouse)
    unused = {p: size for p, size in view_store.list_files(warehouse).items() if p not in views_in_use}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    # The previous version may still have read these files. The current version is the first that does not.
    files = {path: Superseded(path, size, published.version - 1, now) for path, size in unused.items()}
    files |= {old.path: old for old in published.superseded if not old.is_view or old.path in unused}
    after = replace(published, superseded=tuple(files[path] for path in sorted(files)))
    if after != published:
        records.write(warehouse, after)
    return after


def vacuum(
    warehouse: Path, older_than_days: float, keep_versions: int, views_in_use: Collection[str] | None = None
) -> list[Superseded]:
    """Remove the files that were superseded at least `older_than_days` ago.

    Files of the `keep_versions` versions before the current one stay. `views_in_use` are the files of
    materialized views that the database reads; if it is None, no file of a view is removed. Returns the
    removed files, sorted by path.
    """
    if views_in_use is None:
        published = records.read(warehouse)
    else:
        published = record_superseded(warehouse, views_in_use)
    oldest_to_keep = published.version - keep_versions
    due = [
        old
        for old in sorted(published.superseded, key=lambda old: old.path)
        if old.age_days >= older_than_days and old.version < oldest_to_keep
        if views_in_use is not None or not old.is_view
    ]
    if due:
        needed = records.list_files([*published.conversions, *records.read_finished(warehouse)])
        due = [old for old in due if old.path not in needed]
    if not all(old.is_view for old in due):
        # A removed file may have been damaged. Views that read it are not in use, and may be needed again.
        invalidate_views(warehouse, views_in_use or ())
    for old in due:
        view_store.remove(warehouse, old.path)
    # The list is written last. If the process is killed before, it still lists the files to remove.
    if due:
        kept = tuple(old for old in published.superseded if old not in due)
        records.write(warehouse, replace(published, superseded=kept))
    return due
