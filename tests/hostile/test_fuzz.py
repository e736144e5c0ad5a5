"""Change raw files of each format at random: an error names the file, or every row is kept or rejected.

Packed files are changed before or after they are packed. The number of rows is counted by a reader that is
independent of ingest: lines with `re`, JSON with `json`, Parquet with Arrow, packed files with `gzip`,
`tarfile` and `zipfile`.
"""

import gzip
import io
import json
import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import few_files
import hypothesis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile.dumps import ARCHIVED, NARROW, WIDE, Place, gz, tar, zipped
from hypothesis import HealthCheck, strategies
from random_seed import DEPTH

# An edit: where (as a share of the file), how many bytes it replaces, and the new bytes.
Edit = tuple[float, int, bytes]
ROWS = 30
EXAMPLES = 25 * DEPTH
PIECES = strategies.one_of(
    strategies.sampled_from(
        [
            b'"',
            b",",
            b"\n",
            b"\r",
            b"\r\n",
            b"\0",
            b"\xff",
            b"\xef\xbb\xbf",
            b"x",
            b"[",
            b"}",
            b"null",
            b"1e9",
            b"",
        ]
    ),
    strategies.binary(max_size=6),
)
EDIT = strategies.tuples(strategies.floats(0, 1), strategies.integers(0, 40), PIECES)
TYPO = strategies.tuples(
    strategies.floats(0, 1), strategies.just(1), strategies.sampled_from([b"7", b"e", b" "])
)
# Formats such as Parquet and JSON seldom survive several edits, but often a typo.
EDITS = strategies.lists(EDIT, min_size=1, max_size=6) | strategies.lists(TYPO, min_size=1, max_size=2)


@dataclass(frozen=True)
class Format:
    """A raw file: its path, its content, its table, and a function that counts rows (None: damaged).

    `packings` turn the content into the bytes of the file, one after the other. `others` are valid files next
    to it, which are read as one with it.
    """

    path: str
    content: bytes
    table: str
    count: Callable[[bytes], int | None]
    packings: tuple[Callable[[bytes], bytes], ...] = ()
    others: Mapping[str, bytes] = field(default_factory=dict)


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines that are not empty. Only newlines and carriage returns end a line."""
    return [line for line in re.split(rb"[\r\n]", data.removeprefix(b"\xef\xbb\xbf")) if line]


def count_lines(data: bytes) -> int | None:
    lines = lines_of(data)
    return len(lines) - 1 if lines else None


def count_jobs(data: bytes) -> int | None:
    try:
        jobs = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return len(jobs) if isinstance(jobs, list) else None


def count_in_parquet(data: bytes) -> int | None:
    try:
        return pq.read_table(io.BytesIO(data)).num_rows
    except (pa.ArrowException, OSError, ValueError):
        return None


def count_in_gz(data: bytes) -> int | None:
    try:
        return count_lines(gzip.decompress(data))
    except (OSError, EOFError, zlib.error):
        return None


def count_in_tar_gz(data: bytes) -> int | None:
    """Count the rows of the CSVs in an archive, which have no header."""
    try:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data)), mode="r:") as archive:
            members = {info.name: archive.extractfile(info) for info in archive if info.isfile()}
            texts = [file.read() for name, file in members.items() if file and name.endswith(".csv")]
    except (OSError, EOFError, ValueError, zlib.error, tarfile.TarError):
        return None
    return sum(len(lines_of(text)) for text in texts)


def count_in_zip(data: bytes) -> int | None:
    """Count the rows of the Parquet files in an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            hours = [archive.read(name) for name in archive.namelist() if HOUR.search(name)]
    except (OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error, zipfile.BadZipFile):
        return None
    counts = list(map(count_in_parquet, hours))
    return None if None in counts else sum(filter(None, counts))


def csv(place: Place) -> Format:
    return Format(place.path(".csv"), place.text(place.rows("new", ROWS)), place.table, count_lines)


def jobs() -> bytes:
    attempt = {"start_time": "2017-10-07 01:11:39", "end_time": "2017-10-07 01:12:39", "detail": []}
    return json.dumps(
        [
            {"status": "Pass", "vc": "v", "jobid": f"application_{n}", "attempts": [attempt] * (n % 3)}
            | {"submitted_time": "2017-10-07 01:11:30", "user": f"u{n}"}
            for n in range(ROWS)
        ]
    ).encode()


def requests() -> bytes:
    lines = ({"timestamp": n, "input_length": n, "output_length": 1, "hash_ids": [n]} for n in range(ROWS))
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def count_json_lines(data: bytes) -> int | None:
    return len(lines_of(data)) or None


def servers(first: int = 0) -> bytes:
    values = pa.array([n / 4 for n in range(ROWS)])
    names = pa.array([f"server{first + n}" for n in range(ROWS)])
    table = pa.table({"server_id": names, "rx_gibps_avg": values, "tx_gibps_avg": values})
    packed = io.BytesIO()
    pq.write_table(table, packed)
    return packed.getvalue()


HOUR = re.compile(r"(?:^|/)day=[0-9]+/hour=[0-9]+/part-[0-9]+\.parquet$")
NETWORK = "asi_opensource_network_hourly"
FORMATS = {
    "csv": csv(NARROW[1]),
    "wide csv": csv(WIDE[0]),
    "json list": Format("cluster_job_log", jobs(), "philly.job", count_jobs),
    "json lines": Format(
        "mooncake/conversation_trace.jsonl", requests(), "mooncake.raw_request", count_json_lines
    ),
    "parquet": Format(
        f"asi/{NETWORK}/day=109/hour=03/part-000.parquet", servers(), "asi.network_hourly", count_in_parquet
    ),
    "tree of parquet": Format(
        f"asi/{NETWORK}/day=109/hour=03/part-000.parquet",
        servers(),
        "asi.network_hourly",
        count_in_parquet,
        others={
            f"asi/{NETWORK}/day=109/hour=03/part-001.parquet": servers(ROWS),
            f"asi/{NETWORK}/day=109/hour=04/part-000.parquet": servers(),
        },
    ),
    "csv.gz": Format(
        NARROW[1].path(".csv.gz"), csv(NARROW[1]).content, NARROW[1].table, count_in_gz, packings=(gz,)
    ),
    "tar.gz": Format(
        ARCHIVED[0].path(".tar.gz"),
        csv(ARCHIVED[0]).content,
        ARCHIVED[0].table,
        count_in_tar_gz,
        packings=(lambda text: tar([(ARCHIVED[0].path(".csv"), text)]), gz),
    ),
    "zip of parquet": Format(
        f"asi/{NETWORK}.zip",
        servers(),
        "asi.network_hourly",
        count_in_zip,
        packings=(
            lambda hour: zipped(
                [
                    (f"{NETWORK}/day=109/hour=03/part-000.parquet", hour),
                    (f"{NETWORK}/day=109/hour=04/part-000.parquet", servers()),
                ]
            ),
        ),
    ),
}


def packed(form: Format, edits: list[Edit], layer: int) -> bytes:
    """Return the bytes of a file that is changed before the packing number `layer`, or at last."""
    data = form.content
    for number, pack in enumerate(form.packings):
        data = pack(changed(data, edits) if number == layer else data)
    return changed(data, edits) if layer == len(form.packings) else data


def changed(data: bytes, edits: list[Edit]) -> bytes:
    for place, length, new in edits:
        at = int(place * len(data))
        data = data[:at] + new + data[at + length :]
    return data


def outcome_of(form: Format, data: bytes, folder: Path) -> tuple[str, str]:
    """Ingest a changed file. Returns what happened, and what is wrong with it."""
    (folder / "raw").mkdir()
    (folder / "raw" / "SYNTHETIC.txt").write_text("Made up for a test.\n", encoding="utf-8")
    outcome = few_files.ingest(folder, {form.path: data, **form.others})
    name = PurePosixPath(form.path).name
    notes = [*map(str, outcome.problems), *outcome.unrecognised, *outcome.notes]
    found = [one for one in outcome.conversions if one.table_name == form.table]
    if not found:
        is_named = any(name in line or "hour=" in line for line in notes)
        return "refused", "" if is_named else f"lost in silence: {notes}"
    in_others = [form.count(other) for other in form.others.values()]
    counts = [form.count(data), *in_others]
    # One partition of a zip may be kept and another refused.
    is_refused_in_part = form.path.endswith(".zip") and any(name in str(one) for one in outcome.problems)
    if None in counts and not is_refused_in_part:
        return "kept", "accepted although damaged"
    sources = [source for one in found for source in one.sources]
    read = sum(source.rows_read for source in sources)
    kept = sum(one.rows for one in found)
    rejected = sum(source.rows_rejected for source in sources)
    expected = sum(filter(None, counts))
    what = "kept with rejected rows" if rejected else "kept"
    if is_refused_in_part:
        what = "refused in part"
    elif read != expected:
        return what, f"{read} rows read; {expected} counted"
    return what, "" if read == kept + rejected else f"{read} read, {kept} kept, {rejected} rejected"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.timeout(900 * DEPTH)
def test_every_row_is_accounted_for(name: str, tmp_path: Path) -> None:
    form = FORMATS[name]

    @hypothesis.settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @hypothesis.given(EDITS, strategies.integers(0, len(form.packings)))
    def check(edits: list[Edit], layer: int) -> None:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        data = packed(form, edits, layer)
        _, fault = outcome_of(form, data, folder)
        assert fault == "", data
        shutil.rmtree(folder)

    (tmp_path / "unchanged").mkdir()
    unchanged = packed(form, [], 0)
    assert outcome_of(form, unchanged, tmp_path / "unchanged") == ("kept", "")
    assert (form.count(unchanged) or 0) % ROWS == 0
    assert (tmp_path / "unchanged" / "warehouse" / "parquet" / form.table.replace(".", "/")).is_dir()
    check()
