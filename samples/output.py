"""Write raw files in the publishers' formats: CSV, CSV in xz, Parquet, and gzip-compressed tars, also split.

Files are written under a temporary name. The name in every gzip header, and the metadata of every Parquet
file, mark the file as synthetic. Gzip headers contain no time, so that equal content gives equal bytes.
"""

import io
import json
import lzma
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import polars as pl
from isal import igzip

from tracehouse.ingest.declare.sample_distributions import Names
from tracehouse.ingest.declare.sample_files import name_of
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.raw_files import GZIP_MARK, PARQUET_MARK, part_name
from tracehouse.samples import draw

OnBytes = Callable[[int], None]

BLOCK_ROWS = 200_000
COPY_BYTES = 1 << 20


class Output:
    """The raw files of one trace, below a folder. `seed` determines the identifiers."""

    def __init__(self, folder: Path, seed: int, on_bytes: OnBytes) -> None:
        self._folder, self._seed, self._on_bytes = folder, seed, on_bytes
        # Open files by their path; for the members of archives, a temporary path next to the archive.
        self._open: dict[Path, IO[bytes]] = {}
        self._members: dict[Path, dict[str, Path]] = {}
        self.written: list[Path] = []

    def add(
        self,
        table: Table,
        rows: pl.DataFrame,
        folder: str = "",
        packing: str = "",
        suffix: str = "",
        in_archive: str = "",
        name: str = "",
        **keys: str,
    ) -> None:
        """Append rows to the file of a table that has these `keys` in its name.

        Columns have numbers, which are written as the declaration says, or texts. A wide table has the
        columns of the file. `name` replaces the name of the file, `suffix` is added to it, `packing` is `.xz`
        or empty, and `in_archive` is the folder of the file in its archive.
        """
        below = "/".join(filter(None, (folder, name_of(table.folder, keys))))
        name = name or name_of(table.file_name, keys)
        if suffix:
            name = name.replace(".csv", f"{suffix}.csv")
        if name.endswith(".parquet"):
            path = self._folder / below / name
            path.parent.mkdir(parents=True, exist_ok=True)
            typed = rows if table.wide else self._typed(table, rows)
            temporary = _unfinished(path)
            typed.write_parquet(temporary, metadata={PARQUET_MARK: "true"})
            temporary.replace(path)
            self._on_bytes(path.stat().st_size)
            self.written.append(path)
            return
        for block in rows.iter_slices(BLOCK_ROWS):
            frame = block if table.wide else self._typed(table, block)
            self._append_csv(table, frame, below, in_archive, name + packing)
        header = "/".join(filter(None, (below, f"{name.removesuffix('.csv')}.header")))
        if not table.has_header and self._folder / header not in self._open:
            names = ",".join(column.name_in_file for column in table.columns)
            self.write(header, f"{names}\n".encode())

    def write(self, name: str, content: bytes, archive: str = "") -> None:
        """Append bytes to a file, or to a member of an archive, which is a path without `.tar.gz`."""
        path = self._folder / name
        if archive:
            packed = self._folder / f"{archive}.tar.gz"
            path = packed.with_name(f"{packed.name}.{name.replace('/', '.')}.tmp")
            self._members.setdefault(packed, {})[name] = path
        if path not in self._open:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path if archive else _unfinished(path)
            opened = lzma.open if path.suffix == ".xz" else open
            self._open[path] = opened(temporary, "wb")
        self._open[path].write(content)
        self._on_bytes(len(content))

    def close(self, in_parts: Mapping[str, int] = {}) -> list[Path]:
        """Finish all files and return their paths. `in_parts` maps names of archives to numbers of parts."""
        members = {path for found in self._members.values() for path in found.values()}
        for path, file in self._open.items():
            file.close()
            if path not in members:
                _unfinished(path).replace(path)
                self.written.append(path)
        for packed, found in self._members.items():
            parts = in_parts.get(packed.name.removesuffix(".tar.gz"), 1)
            self.written += _split(_tar_gz(packed, found), parts)
            for path in found.values():
                path.unlink()
        return self.written

    def _append_csv(self, table: Table, frame: pl.DataFrame, below: str, in_archive: str, name: str) -> None:
        member = "/".join(filter(None, (in_archive if table.archive_stem else below, name)))
        archive = "/".join(filter(None, (below, table.archive_stem)))
        path = self._folder / member
        if table.archive_stem:
            path = self._members.get(self._folder / f"{archive}.tar.gz", {}).get(member, path)
        is_new = path not in self._open
        buffer = io.BytesIO()
        if name.endswith(".jsonl"):
            _write_json_lines(frame, table, buffer)
        else:
            frame.write_csv(buffer, include_header=False)
        text = buffer.getvalue()
        if table.ends_in_comma:
            text = text.replace(b"\n", b",\n")
        if is_new and table.has_header and not name.endswith(".jsonl"):
            text = ",".join(frame.columns).encode() + b"\n" + text
        if not table.ends_in_newline:
            text = (b"" if is_new else b"\n") + text.removesuffix(b"\n")
        self.write(member, text, archive if table.archive_stem else "")

    def _typed(self, table: Table, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the columns in the publisher's order and notation."""
        found = {
            column.name_in_file: _formatted(column, rows[column.name], self._seed)
            for column in table.columns
            if column.name in rows.columns
        }
        return pl.DataFrame(found)


def _formatted(column: Column, values: pl.Series, seed: int) -> pl.Series:
    if isinstance(column.sample, Names) and values.dtype != pl.String:
        values = column.sample.prefix + draw.hex_ids(values, seed, column.sample.kind, column.sample.digits)
    elif values.dtype in (pl.String, pl.Boolean):
        pass
    elif column.type.startswith("TIMESTAMP"):
        values = draw.local_times(values.to_numpy())
    elif column.type == "DOUBLE":
        values = values.cast(pl.Float64).fill_nan(None)
    elif values.dtype.is_float():
        values = values.fill_nan(None).cast(pl.Int64)
    if column.null_texts and values.null_count():
        values = values.cast(pl.String).fill_null(column.null_texts[-1])
    return values


def _unfinished(path: Path) -> Path:
    """The name of a file while it is written. The same command replaces what a killed one left."""
    return path.with_name(f"{path.name}.tmp")


def _write_json_lines(frame: pl.DataFrame, table: Table, file: io.BytesIO) -> None:
    """Write one JSON object per row. Texts of numbers and lists become numbers and lists."""
    texts = [column.name_in_file for column in table.columns if column.type in ("VARCHAR", "TIMESTAMP")]
    for row in frame.iter_rows(named=True):
        values = {
            name: json.loads(value) if isinstance(value, str) and name not in texts else value
            for name, value in row.items()
        }
        file.write(json.dumps(values).encode() + b"\n")


def _tar_gz(path: Path, members: Mapping[str, Path]) -> Path:
    """Write files as a gzip-compressed tar, by their names in it, and return its path."""
    temporary = _unfinished(path)
    with (
        temporary.open("wb") as file,
        # The name in the gzip header marks the file as synthetic.
        igzip.IGzipFile(GZIP_MARK, "wb", compresslevel=2, fileobj=file, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.GNU_FORMAT, bufsize=COPY_BYTES) as tar,
    ):
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = content.stat().st_size
            with content.open("rb") as opened:
                tar.addfile(entry, opened)
    return temporary.replace(path)


def _split(path: Path, parts: int) -> list[Path]:
    """Split a file into ``.partaa``, ``.partab``, … and remove it. Return the parts, or the only one."""
    if parts == 1:
        return [path]
    size = -(-path.stat().st_size // parts)
    written = []
    with path.open("rb") as file:
        for number in range(parts):
            part = path.with_name(part_name(path.name, number))
            _unfinished(part).write_bytes(file.read(size))
            written.append(_unfinished(part).replace(part))
    path.unlink()
    return written
