"""Change CSV bytes and tar headers at random, and compare with independent counts of rows.

For any change: ingest keeps or rejects each line of an accepted file, keeps unchanged lines, and reads all
rows of an archive that Python's tarfile finds.
"""

import io
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

import duckdb
import hypothesis
import pytest
from command_line import Server
from counting import Count
from hostile.dumps import ARCHIVED, FORMS, NARROW, UNTOUCHED, Place, gz, raw_folder, stored, tar, wanted
from hostile.expectations import fail_with, opened, unsound
from hostile.stories import CLUSTERS
from hypothesis import HealthCheck, Phase, strategies
from random_seed import DEPTH

# One example changes and ingests all files and archives, which takes seconds.
EXAMPLES = 12 * DEPTH
ROWS_A_FILE = 500
ROWS_A_MEMBER = 500

STRUCTURE = (b'"', b'""', b'"\n', b'\n"', b'","', b"\r", b"\r\n", b"\n\n", b"\n", b",", b",,,,")
BYTES = (b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3", b"\x1a", b"\t", b"\\", b"'", b" ", b"a" * 70_000)
NUMBERS = (b"nan", b"1e999", b"0x1F", b"-", "１２".encode())
snippets = strategies.one_of(
    strategies.binary(max_size=20), strategies.sampled_from((*STRUCTURE, *BYTES, *NUMBERS))
)
edits = strategies.lists(
    strategies.tuples(
        strategies.floats(0, 1, exclude_max=True),
        strategies.integers(0, 30),
        snippets,
    ),
    max_size=8,
)
header_edits = strategies.lists(
    strategies.tuples(strategies.integers(0, 511), strategies.binary(min_size=1, max_size=12)), max_size=2
)
header_damage = strategies.tuples(strategies.integers(0, 2), header_edits, strategies.booleans())


def apply_changes(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    """Apply changes: each removes bytes at a relative position, and inserts others there."""
    for where, left_out, put_in in changes:
        start = int(where * len(data))
        data = data[:start] + put_in + data[start + left_out :]
    return data


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines that are not blank. Only newlines and carriage returns end a line."""
    return [line for line in re.split(rb"[\r\n]", data.removeprefix(b"\xef\xbb\xbf")) if line]


def archive_with(
    place_members: list[tuple[str, bytes]], damage: tuple[int, list[tuple[int, bytes]], bool]
) -> bytes:
    """Return a tar with a changed header. `damage`: member, changes, and whether to correct the checksum."""
    member, changes, with_checksum = damage
    data = bytearray(tar(place_members))
    start = 0
    for _, content in place_members[: member % len(place_members)]:
        start += 512 + -(-len(content) // 512) * 512
    for offset, new in changes:
        end = min(start + offset + len(new), start + 512)
        data[start + offset : end] = new[: end - start - offset]
    if with_checksum:
        data[start + 148 : start + 156] = b" " * 8
        data[start + 148 : start + 156] = b"%06o\0 " % sum(data[start : start + 512])
    return bytes(data)


def count_rows_with_tarfile(archive: bytes, name: str) -> int | None:
    """Count the lines of an archive's CSVs with Python's tarfile. Return None if the archive is damaged."""
    counted = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as found:
            for member in found:
                file = found.extractfile(member) if member.isreg() else None
                if file and re.fullmatch(name, Path(member.name).name):
                    counted += len(lines_of(file.read()))
            rest = archive[found.offset :]
    except (tarfile.TarError, ValueError, OSError, EOFError, OverflowError, MemoryError):
        return None
    return None if rest.strip(b"\0") else counted


@pytest.mark.timeout(900 * DEPTH)
def test_keeps_or_rejects_each_line_of_changed_files(server: Server, tmp_path: Path, count: Count) -> None:
    rows_read = []

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(
        strategies.lists(edits, min_size=len(NARROW), max_size=len(NARROW)),
        strategies.lists(header_damage, min_size=len(ARCHIVED) + 1, max_size=len(ARCHIVED) + 1),
    )
    def check(texts: list[list[tuple[float, int, bytes]]], headers: list[tuple[int, list, bool]]) -> None:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        rows_read.append(ingest_changed_files(folder, texts, headers, server))
        shutil.rmtree(folder)

    check()
    count("rows in fuzzed files", sum(rows_read))


def ingest_changed_files(
    folder: Path,
    texts: list[list[tuple[float, int, bytes]]],
    headers: list[tuple[int, list, bool]],
    server: Server,
) -> int:
    """Change and write all files, ingest them, and return the number of their lines."""
    raw, warehouse = raw_folder(folder / "raw"), folder / "warehouse"
    FORMS["csv"].write(UNTOUCHED, UNTOUCHED.text(UNTOUCHED.rows("new")), raw)
    expected: dict[str, tuple[Place, int | None, list[bytes] | None]] = {}
    for place, changes in zip(NARROW, texts, strict=True):
        data = apply_changes(place.text(place.rows("new", ROWS_A_FILE)), changes)
        (raw / f"{place.stem}.csv").write_bytes(data)
        lines = lines_of(data)
        # Ingest may reject a last line without a line end as incomplete.
        ended = lines[1:] if data.endswith((b"\n", b"\r")) else lines[1:-1]
        expected[f"{place.stem}.csv"] = (place, len(lines) - 1, ended)
    for place, damage in zip(ARCHIVED, headers, strict=False):
        members = [
            (f"{place.stem}.csv", place.text(place.rows("new", ROWS_A_MEMBER))),
            ("README", b"x"),
            ("LICENSE", b"y"),
        ]
        archive = archive_with(members, damage)
        (raw / f"{place.stem}.tar.gz").write_bytes(gz(archive))
        expected[f"{place.stem}.tar.gz"] = (
            place,
            count_rows_with_tarfile(archive, rf"{place.stem}\.csv"),
            None,
        )
    members = [(f"{place.stem}.csv", place.text(place.rows("new", ROWS_A_MEMBER))) for place in CLUSTERS]
    archive = archive_with(members, headers[-1])
    (raw / "raw-traces.tar.gz").write_bytes(gz(archive))
    counted = count_rows_with_tarfile(archive, r"cluster\d+\.csv")
    expected["raw-traces.tar.gz"] = (CLUSTERS[0], counted, None)
    run = server.run("ingest", "--raw", raw, "--warehouse", warehouse)
    found = {"the ingest": faults} if (faults := run.faults()) else {}
    if not found:
        with opened(warehouse) as connection:
            if faults := unsound(connection, warehouse):
                found["the warehouse"] = faults
            if stored(connection, UNTOUCHED) != wanted(UNTOUCHED.rows("new")):
                found["the other table"] = ["other rows"]
            for name, (place, lines, untouched) in expected.items():
                if faults := find_faults(connection, name, place, lines, untouched, run.errors):
                    found[name] = faults
    fail_with(found)
    return sum(lines or 0 for _, lines, _ in expected.values())


def find_faults(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    place: Place,
    lines: int | None,
    untouched: list[bytes] | None,
    errors: list[str],
) -> list[str]:
    """Return errors in the rows and counts of a file."""
    if any(name in error for error in errors):
        return []
    if lines is None:
        return ["damaged but accepted"]
    sources = connection.execute(
        "select coalesce(sum(rows_read), 0), count(*) from catalog.sources where file = $file", {"file": name}
    ).fetchall()
    [(read, members)] = sources
    if name == "raw-traces.tar.gz":
        lines -= members
    if read != lines:
        return [f"{read} rows read; {lines} lines counted"]
    if untouched is None:
        return []
    rows = place.rows("new", ROWS_A_FILE)
    texts = {place.text_of(key, number).encode(): (key, number) for key, number in rows.items()}
    must = {texts[line] for line in untouched if line in texts}
    lost = must - set(stored(connection, place))
    return [f"{len(lost)} unchanged rows are missing: {sorted(lost)[:3]}"] if lost else []
