"""Folders and files of a warehouse, and checks of a warehouse's path.

    <warehouse>/datapackage.json           the published version (see `records`)
    <warehouse>/records/                   one file per conversion
    <warehouse>/parquet/<trace>/<table>/   base tables, in files named by their content
    <warehouse>/stored/<schema>/<view>/    materialized views, with checksums (see `view_store`)
    <warehouse>/.ingest/                   lock, staging folder, inputs of the database, and caches:
                                           checksums, notes on files of no table (see `noted_files`)

Files below `parquet` and `stored` never change after they get their final name.
"""

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from tracehouse.core.errors import Option, UserError
from tracehouse.core.text import escape_name

TABLES_FOLDER = "parquet"
VIEWS_FOLDER = "stored"
# Not inside the Parquet folder, because some programs read every file in a folder of Parquet.
RECORDS_FOLDER = "records"
WORK_FOLDER = ".ingest"
REJECTED_FOLDER = "_rejected"
CHECKSUM_SUFFIX = ".sha256"
# Text files that are being written (see `files.write_atomically`).
_UNFINISHED_FILES = (
    "datapackage.json.half",
    f"{RECORDS_FOLDER}/*.half",
    f"{WORK_FOLDER}/**/*.half",
    f"{VIEWS_FOLDER}/*/*/*.half",
)

# DuckDB treats the first three as glob patterns, and would write its log to a wrong path. It treats the
# fourth as a slash.
_DUCKDB_PATTERN = re.compile(r"[*?\[\\]")


def resolve_warehouse(warehouse: Path) -> Path:
    """Return a warehouse's absolute path with links resolved.

    Raises UserError if DuckDB cannot use the path or it is a file.
    """
    try:
        absolute = warehouse.resolve()
        is_other = absolute.exists() and not absolute.is_dir()
    except (OSError, RuntimeError) as error:
        raise UserError(f"{escape_name(warehouse)}: not a usable path for a warehouse ({error})") from None
    shown = escape_name(str(absolute))
    if shown != str(absolute):
        raise UserError(
            f"{shown}: the path of a warehouse must be printable UTF-8 text. Choose another with ",
            Option("warehouse"),
        )
    found = _DUCKDB_PATTERN.search(str(absolute))
    if found:
        raise UserError(
            f"{shown}: the path of a warehouse must not contain {found[0]}, which DuckDB reads as a pattern. "
            "Choose another with ",
            Option("warehouse"),
        )
    if is_other:
        raise UserError(f"{shown}: this is a file. Name the warehouse's folder with ", Option("warehouse"))
    return absolute


def staging_folder(warehouse: Path) -> Path:
    """Return the folder for unfinished files, created if missing. The next writer deletes its contents."""
    # The path is absolute because Arrow treats a relative path that begins with `s3:` as a URL.
    folder = warehouse.absolute() / WORK_FOLDER / "staging"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def remove_staging(warehouse: Path) -> None:
    """Remove the staging folder and its contents, and text files that a killed process did not finish."""
    shutil.rmtree(warehouse / WORK_FOLDER / "staging", ignore_errors=True)
    for unfinished in [path for pattern in _UNFINISHED_FILES for path in warehouse.glob(pattern)]:
        unfinished.unlink(missing_ok=True)


def build_info_file(warehouse: Path) -> Path:
    """Return the file that records the inputs of the database."""
    return warehouse / WORK_FOLDER / "database.json"


def failed_build_file(warehouse: Path) -> Path:
    """Return the file with the error of the last build, which exists if it failed."""
    return warehouse / WORK_FOLDER / "failed_build.txt"


def invalidate_views(warehouse: Path, valid: Collection[str] = ()) -> None:
    """Mark the other files of views as incomplete by removing their checksums: a base file was damaged."""
    for path in (warehouse / VIEWS_FOLDER).glob(f"*/*/*{CHECKSUM_SUFFIX}"):
        if path.with_suffix(".parquet").relative_to(warehouse).as_posix() not in valid:
            path.unlink(missing_ok=True)
