"""Folders and files of a warehouse, and the paths that a warehouse may have.

    <warehouse>/datapackage.json           the manifest of the published version (see `manifest`)
    <warehouse>/parquet/<trace>/<table>/   base tables, in files named by their content (see `journal`)
    <warehouse>/stored/<schema>/<view>/    materialized views, with checksums (see `view_store`)
    <warehouse>/records/                   one file per conversion, for the recovery of a lost manifest
    <warehouse>/.ingest/                   lock, journal, staging folder, what the database was built from

No file below `parquet` and `stored` changes once it has its name.
"""

import re
import shutil
from pathlib import Path

from tracehouse.core.errors import UserError
from tracehouse.core.text import escape_name

TABLES_FOLDER = "parquet"
VIEWS_FOLDER = "stored"
# Next to the Parquet folder: programs that read a folder of Parquet read every file in it.
RECORDS_FOLDER = "records"
WORK_FOLDER = ".ingest"
REJECTED_FOLDER = "_rejected"
# Text files that are being written (see `files.write_atomically`).
_HALF_WRITTEN = (
    "datapackage.json.half",
    f"{RECORDS_FOLDER}/*.half",
    f"{WORK_FOLDER}/**/*.half",
    f"{VIEWS_FOLDER}/*/*/*.half",
)

# DuckDB reads the first three as glob patterns, and then misplaces its log, and the fourth as a slash.
_DUCKDB_PATTERN = re.compile(r"[*?\[\\]")


def resolve_warehouse(warehouse: Path) -> Path:
    """Return a warehouse's absolute path, with links followed.

    Raises UserError where DuckDB cannot use the path or where it is a file.
    """
    try:
        absolute = warehouse.resolve()
    except (OSError, RuntimeError) as error:
        raise UserError(f"{warehouse}: not a usable path for a warehouse ({error})") from None
    shown = escape_name(str(absolute))
    if shown != str(absolute):
        raise UserError(
            f"{shown}: the path of a warehouse must be printable UTF-8 text. Choose another with --warehouse"
        )
    found = _DUCKDB_PATTERN.search(str(absolute))
    if found:
        raise UserError(
            f"{shown}: the path of a warehouse must not contain {found[0]}, which DuckDB reads as a pattern. "
            "Choose another with --warehouse"
        )
    if absolute.exists() and not absolute.is_dir():
        raise UserError(f"{shown}: this is a file. Name the warehouse's folder with --warehouse")
    return absolute


def staging_folder(warehouse: Path) -> Path:
    """Return the folder for unfinished files, created if missing. The next writer deletes its contents."""
    # Absolute: Arrow takes a relative path that begins with `s3:` for a URL.
    folder = warehouse.absolute() / WORK_FOLDER / "staging"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def remove_staging(warehouse: Path) -> None:
    """Remove the staging folder and its contents, and text files that a killed process did not finish."""
    shutil.rmtree(warehouse / WORK_FOLDER / "staging", ignore_errors=True)
    for half in [path for pattern in _HALF_WRITTEN for path in warehouse.glob(pattern)]:
        half.unlink(missing_ok=True)


def database_mark(warehouse: Path) -> Path:
    """Return the file that records the inputs of the database."""
    return warehouse / WORK_FOLDER / "database.json"
