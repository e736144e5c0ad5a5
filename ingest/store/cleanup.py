"""Remove superseded files of base tables and materialized views, and unfinished files of a killed ingest.

Files that the warehouse never listed stay.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from tracehouse.ingest.store import records, view_store
from tracehouse.ingest.store.layout import invalidate_views, remove_staging
from tracehouse.ingest.store.records import Superseded

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


def vacuum(
    warehouse: Path, older_than_days: float, keep_versions: int, views_in_use: Collection[str] | None = None
) -> list[Superseded]:
    """Remove the files that were superseded at least `older_than_days` ago.

    Files of the `keep_versions` versions before the current one stay. `views_in_use` are the files of
    materialized views that the database reads; if it is None, no file of a view is removed. Returns the
    removed files: those of tables sorted by path, then those of views.
    """
    published = records.read(warehouse)
    views = [] if views_in_use is None else view_store.record_superseded(warehouse, views_in_use)
    needed = records.list_files(records.read_finished(warehouse))
    oldest_to_keep = published.version - keep_versions
    due = [
        old
        for old in (*sorted(published.superseded, key=lambda old: old.path), *views)
        if old.age_days >= older_than_days and old.version < oldest_to_keep and old.path not in needed
    ]
    if any(old not in views for old in due):
        # A removed file may have been damaged. Views that read it are not in use, and may be needed again.
        invalidate_views(warehouse, views_in_use or ())
    for old in due:
        if old in views:
            view_store.remove(warehouse, old.path)
        else:
            (warehouse / old.path).unlink(missing_ok=True)
    # The lists are written last. If the process is killed before, they still list the files to remove.
    kept = tuple(old for old in published.superseded if old not in due)
    if kept != published.superseded:
        records.write(warehouse, replace(published, superseded=kept))
    if any(old in due for old in views):
        view_store.write_superseded(warehouse, [old for old in views if old not in due])
    return due
