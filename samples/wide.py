"""Write wide CSVs page by page, with a line per time and a column per device.

Every cell has one of at most 65,537 texts, so that a cell is a look-up and needs no formatting.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracehouse.samples.draw import Floats, Ints
from tracehouse.samples.files import OnBytes, atomic_file
from tracehouse.samples.smooth import PAGE_SLOTS, pages
from tracehouse.samples.traces.acme_times import stamps

Texts = NDArray[np.bytes_]


class Cells(Protocol):
    """The cells of some devices: the different texts, and the number of the text of each cell."""

    texts: Texts

    def page(self, number: int) -> NDArray[np.intp]:
        """Return the number of the text in each cell of a page: a row per slot, a column per device."""
        ...


def write_wide(
    path: Path, slots: Ints, names: Sequence[str], devices: Ints, cells: Cells, on_bytes: OnBytes
) -> Path:
    """Write the cells of some slots and devices as one CSV, and return its path.

    `slots` must be sorted. `names` are the names of all devices, `devices` the positions of those to write.
    The second column of a repeated device has the suffix `.1`.
    """
    _, first = np.unique(devices, return_index=True)
    repeated = np.isin(np.arange(len(devices)), first, invert=True)
    header = [
        names[device] + ".1" * again
        for device, again in zip(devices.tolist(), repeated.tolist(), strict=True)
    ]
    with atomic_file(path) as file:
        on_bytes(file.write(",".join(["Time", *header, ""])[:-1].encode() + b"\n"))
        for number, rows in pages(slots):
            which = _select_cells(cells.page(number), rows, devices)
            times = stamps(number * PAGE_SLOTS + rows)
            on_bytes(file.write(_lines(times, cells.texts, which)))
    return path


def cell_texts(values: Floats, decimals: int) -> Texts:
    """Return the text of each value, with at most `decimals` decimals, and the empty cell at the end.

    Each text begins with the comma that separates it from the previous cell.
    """
    scaled = np.rint(values * 10**decimals).astype(np.int64)
    distinct, position = np.unique(scaled, return_inverse=True)
    number = pl.Series(distinct)
    text = "," + (number // 10**decimals).cast(pl.String)
    if decimals:
        fraction = (number % 10**decimals).cast(pl.String).str.zfill(decimals).str.strip_chars_end("0")
        text = text + "." + fraction
        text = text.str.replace(r"\.$", ".0")
    cells = np.array([*text.to_list(), ","], dtype=np.bytes_)
    return cells[np.append(position, len(distinct))]


def _select_cells(which: NDArray[np.intp], rows: Ints, devices: Ints) -> NDArray[np.intp]:
    """Return some rows and columns of a page; all of them are returned without a copy."""
    if len(rows) < len(which):
        which = which[rows]
    if np.array_equal(devices, np.arange(which.shape[1])):
        return which
    return which[:, devices]


def _lines(times: NDArray[np.uint8], texts: Texts, which: NDArray[np.intp]) -> bytes:
    cells = texts.take(which).view(np.uint8).reshape(len(times), -1)
    width = times.shape[1]
    lines = np.empty((len(times), width + cells.shape[1] + 1), dtype=np.uint8)
    lines[:, :width] = times
    lines[:, width:-1] = cells
    lines[:, -1] = ord("\n")
    # Short texts are padded with zero bytes.
    return lines.tobytes().translate(None, b"\0")
