"""Raw folders with special files, unreadable files and odd names.

All of them are in one folder. If its ingest fails, the test tries them one by one.
"""

import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import Server
from hostile.dumps import FORMS, UNTOUCHED, WIDE, Place, raw_folder, stored, wanted
from hostile.expectations import fail_with, opened, unsound


@dataclass(frozen=True)
class Odd:
    """An odd file or folder below the raw folder, words of the messages about it, and its rows."""

    name: str
    make: Callable[[Path], object]
    says: tuple[str, ...] = ()
    place: Place | None = None
    needs_root: bool = False


def good(place: Place, name: str | None = None, folder: str | None = None) -> Callable[[Path], None]:
    """Return a function that writes a valid file of a place, optionally with another name or folder."""

    def make(raw: Path) -> None:
        where = raw / (place.folder if folder is None else folder)
        where.mkdir(parents=True, exist_ok=True)
        (where / (name or f"{place.stem}.csv")).write_bytes(place.text(place.rows("new")))

    return make


def a_socket(path: Path) -> None:
    here = Path.cwd()
    # The path of a socket is limited to about 100 characters, so use a relative one.
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


def hour(number: int) -> str:
    """Return the path of an hour in a tree of partitions, below a folder that is made for it."""
    return f"asi_opensource_network_hourly/day={number}/hour=00/part-000.parquet"


def below(raw: Path, name: str) -> Path:
    """Return a path below the raw folder, and create its folder."""
    path = raw / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def loop(raw: Path) -> None:
    (raw / "loop").mkdir()
    (raw / "loop" / "again").symlink_to(raw / "loop")
    (raw / "loop" / "me").symlink_to("me")


def linked(raw: Path) -> None:
    good(WIDE[4], folder="elsewhere/seren")(raw.parent)
    (raw / "linked").symlink_to(raw.parent / "elsewhere")


def unreadable(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(WIDE[6].text(WIDE[6].rows("new")))
    path.chmod(0)


def unreadable_folder(raw: Path) -> None:
    good(WIDE[8], folder="locked/seren")(raw)
    (raw / "locked").chmod(0)


LATIN = os.fsdecode(b"caf\xe9")
ODD = (
    Odd(
        "a FIFO under a table's name",
        lambda raw: os.mkfifo(raw / "summary_train.csv"),
        ("summary_train.csv",),
    ),
    Odd("a FIFO of another name", lambda raw: os.mkfifo(raw / "pipe")),
    Odd("a FIFO for a header", lambda raw: os.mkfifo(raw / "pai_job_table.header")),
    Odd("a socket", lambda raw: a_socket(raw / "summary_power_v100.csv"), ("summary_power_v100.csv",)),
    Odd(
        "a device",
        lambda raw: os.mknod(raw / "alibaba_groups.csv", 0o020666, os.makedev(1, 5)),
        ("alibaba_groups.csv",),
        needs_root=True,
    ),
    Odd(
        "a link to a device",
        lambda raw: (raw / "trace_kalos.csv").symlink_to("/dev/zero"),
        ("trace_kalos.csv",),
    ),
    Odd("a FIFO in a partition", lambda raw: os.mkfifo(below(raw, hour(109))), (hour(109),)),
    Odd("a socket in a partition", lambda raw: a_socket(below(raw, hour(110))), (hour(110),)),
    Odd(
        "a link to a device in a partition",
        lambda raw: below(raw, hour(111)).symlink_to("/dev/zero"),
        (hour(111),),
    ),
    Odd(
        "a link to nothing in a partition", lambda raw: below(raw, hour(112)).symlink_to("gone"), (hour(112),)
    ),
    Odd(
        "a FIFO as a zip of partitions",
        lambda raw: os.mkfifo(raw / "asi_opensource_server_hourly.zip"),
        ("asi_opensource_server_hourly.zip",),
    ),
    Odd(
        "a FIFO as a merged file of partitions",
        lambda raw: os.mkfifo(raw / "asi_opensource_network_hourly_day1.parquet"),
        ("asi_opensource_network_hourly_day1.parquet",),
    ),
    Odd(
        "a FIFO for metrics in several files",
        lambda raw: os.mkfifo(below(raw, "kalos/GPU_TEMP-2023-08.csv")),
        ("GPU_TEMP-2023-08.csv",),
    ),
    Odd("a link to nothing", lambda raw: (raw / "trace_seren.csv").symlink_to("gone"), ("trace_seren.csv",)),
    Odd("links in circles", loop),
    Odd("a link to a folder with files", linked, place=WIDE[4]),
    Odd("a link to the raw folder", lambda raw: (raw / "self").symlink_to(raw)),
    Odd("a link to the folder above", lambda raw: (raw / "up").symlink_to("..")),
    Odd("a folder that is called as a CSV", lambda raw: (raw / "cluster_summary.csv").mkdir()),
    Odd(
        "a file that may not be read",
        lambda raw: unreadable(raw / "seren" / f"{WIDE[6].stem}.csv"),
        (f"{WIDE[6].stem}.csv",),
    ),
    Odd("a folder that may not be read", unreadable_folder, ("locked",)),
    Odd("a folder with odd bytes", good(WIDE[10], folder=f"{LATIN}/seren"), place=WIDE[10]),
    Odd("a file with odd bytes", lambda raw: (raw / f"{LATIN}.csv").write_bytes(b"a\n1\n"), ("caf",)),
    Odd(
        "a list with odd bytes",
        lambda raw: (raw / f"openb_pod_list_{LATIN}.csv").write_bytes(b"a\n1\n"),
        ("openb_pod_list_caf",),
    ),
    Odd("a folder with the end of a line", good(WIDE[12], folder="new\nline/seren"), place=WIDE[12]),
    Odd(
        "a file that clears the screen",
        lambda raw: (raw / "a\x1b[2Jb.csv").write_bytes(b"a\n1\n"),
        ("2Jb.csv",),
    ),
    Odd("a folder with a quote", good(WIDE[14], folder="it's {a} [b] */seren"), place=WIDE[14]),
    Odd("a folder like a partition", good(WIDE[16], folder="cluster=kalos/metric=X/seren"), place=WIDE[16]),
    Odd(
        "a deep folder",
        good(WIDE[18], folder="/".join("d" * 60 for _ in range(40)) + "/seren"),
        place=WIDE[18],
    ),
    Odd("a long name", lambda raw: (raw / ("n" * 251 + ".csv")).write_bytes(b"a\n1\n"), ("nnnn",)),
    Odd("a hidden file", lambda raw: (raw / ".summary_train.csv").write_bytes(b"half a download")),
    Odd("a file of macOS", lambda raw: (raw / "._summary_train.csv").write_bytes(b"\0\5\x16\7")),
    Odd("an empty file of another name", lambda raw: (raw / "other.csv").write_bytes(b""), ("other.csv",)),
    Odd(
        "an unknown archive",
        lambda raw: (raw / "backup.tar.gz").write_bytes(b"\x1f\x8bno"),
        ("backup.tar.gz",),
    ),
    Odd(
        "a half download",
        lambda raw: (raw / "summary_train.csv.crdownload").write_bytes(b"d"),
        ("crdownload",),
    ),
    Odd(
        "a 7z archive",
        lambda raw: (raw / "pai_job_table.7z").write_bytes(b"7z\xbc\xaf"),
        ("pai_job_table.7z",),
    ),
    Odd(
        "a spreadsheet",
        lambda raw: (raw / "summary_train.xlsx").write_bytes(b"PK\3\4"),
        ("summary_train.xlsx",),
    ),
    Odd(
        "Parquet",
        lambda raw: (raw / "summary_train.parquet").write_bytes(b"PAR1"),
        ("summary_train.parquet",),
    ),
    Odd("LZ4", lambda raw: (raw / "summary_train.csv.lz4").write_bytes(b"\4\x22\x4d\x18"), ("csv.lz4",)),
)


@pytest.mark.timeout(900)
def test_odd_files_are_read_or_reported(server: Server, tmp_path: Path) -> None:
    # Only root can create a device. All other cases work for any user.
    odds = tuple(odd for odd in ODD if not (odd.needs_root and os.geteuid()))
    found, failed_whole = ingest_odds(odds, server, tmp_path / "all")
    if failed_whole:
        alone = {}
        for number, odd in enumerate(odds):
            one, whole = ingest_odds((odd,), server, tmp_path / str(number))
            if one or whole:
                alone[odd.name] = one.get(odd.name, []) + whole
        found = {"all together": failed_whole} | alone
    fail_with(found)


def ingest_odds(
    odds: tuple[Odd, ...], server: Server, folder: Path
) -> tuple[dict[str, list[str]], list[str]]:
    folder.mkdir()
    raw, warehouse = raw_folder(folder / "raw"), folder / "warehouse"
    FORMS["csv"].write(UNTOUCHED, UNTOUCHED.text(UNTOUCHED.rows("new")), raw)
    for odd in odds:
        odd.make(raw)
    run = server.run(
        *("ingest", "--raw", raw, "--warehouse", warehouse),
        unprivileged=True,
        cwd=folder,
    )
    whole = run.faults()
    if not whole and not (warehouse / "traces.duckdb").exists():
        whole.append(f"no database: {run.stderr}")
    found: dict[str, list[str]] = {}
    if not whole:
        if any(ord(c) < 32 and c not in "\n\t" for c in run.stderr):
            whole.append(f"control characters reach the terminal: {run.stderr!r}")
        with opened(warehouse) as connection:
            whole += unsound(connection, warehouse)
            for name, place in (("the other table", UNTOUCHED), *((odd.name, odd.place) for odd in odds)):
                if place and stored(connection, place) != wanted(place.rows("new")):
                    found[name] = [f"{len(stored(connection, place))} rows, not 60, or others"]
        for odd in odds:
            if missing := [word for word in odd.says if word not in run.stderr]:
                found[odd.name] = [*found.get(odd.name, []), f"no message contains {missing}"]
        again = server.run(
            "ingest",
            "--raw",
            raw,
            "--warehouse",
            warehouse,
            unprivileged=True,
            cwd=folder,
        )
        whole += [f"the next ingest: {fault}" for fault in again.faults()]
    if (raw / "locked").exists():
        (raw / "locked").chmod(0o777)
    shutil.rmtree(folder)
    return found, whole
