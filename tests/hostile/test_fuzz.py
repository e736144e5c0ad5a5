"""Change raw files of each format at random: an error names the file, or every row is kept or rejected.

The number of rows is counted by a reader that is independent of ingest: lines with `re`, JSON with `json`,
Parquet with Arrow.
"""

import io
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import few_files
import hypothesis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile.dumps import NARROW, WIDE, Place
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
EDITS = strategies.lists(
    strategies.tuples(strategies.floats(0, 1), strategies.integers(0, 40), PIECES), min_size=1, max_size=6
)


@dataclass(frozen=True)
class Format:
    """A raw file: its path, its content, its table, and a function that counts rows (None: damaged)."""

    path: str
    content: bytes
    table: str
    count: Callable[[bytes], int | None]


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines that are not blank. Only newlines and carriage returns end a line."""
    return [line for line in re.split(rb"[\r\n]", data.removeprefix(b"\xef\xbb\xbf")) if line.strip(b" \t")]


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


def servers() -> bytes:
    values = pa.array([n / 4 for n in range(ROWS)])
    names = pa.array([f"server{n}" for n in range(ROWS)])
    table = pa.table({"server_id": names, "rx_gibps_avg": values, "tx_gibps_avg": values})
    packed = io.BytesIO()
    pq.write_table(table, packed)
    return packed.getvalue()


FORMATS = {
    "csv": csv(NARROW[1]),
    "wide csv": csv(WIDE[0]),
    "json list": Format("cluster_job_log", jobs(), "philly.job", count_jobs),
    "json lines": Format(
        "mooncake/conversation_trace.jsonl", requests(), "mooncake.raw_request", count_json_lines
    ),
    "parquet": Format(
        "asi/asi_opensource_network_hourly/day=109/hour=03/part-000.parquet",
        servers(),
        "asi.network_hourly",
        count_in_parquet,
    ),
}


def changed(data: bytes, edits: list[Edit]) -> bytes:
    for place, length, new in edits:
        at = int(place * len(data))
        data = data[:at] + new + data[at + length :]
    return data


def faults_of(form: Format, data: bytes, folder: Path) -> str:
    """Ingest a changed file, and return what is wrong with the outcome."""
    (folder / "raw").mkdir()
    (folder / "raw" / "SYNTHETIC.txt").write_text("Made up for a test.\n")
    outcome = few_files.ingest(folder, {form.path: data})
    name = form.path.rpartition("/")[2]
    notes = [*map(str, outcome.problems), *outcome.unrecognised, *outcome.notes]
    found = [one for one in outcome.conversions if one.table_name == form.table]
    if not found:
        return "" if any(name in line or "hour=" in line for line in notes) else f"lost in silence: {notes}"
    expected = form.count(data)
    if expected is None:
        return "accepted although damaged"
    sources = [source for one in found for source in one.sources]
    read = sum(source.rows_read for source in sources)
    kept = sum(one.rows for one in found)
    rejected = sum(source.rows_rejected for source in sources)
    if read != expected:
        return f"{read} rows read; {expected} counted"
    return "" if read == kept + rejected else f"{read} read, {kept} kept, {rejected} rejected"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.timeout(900 * DEPTH)
def test_every_row_is_accounted_for(name: str, tmp_path: Path) -> None:
    @hypothesis.settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @hypothesis.given(EDITS)
    def check(edits: list[Edit]) -> None:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        data = changed(FORMATS[name].content, edits)
        assert faults_of(FORMATS[name], data, folder) == "", data
        shutil.rmtree(folder)

    (tmp_path / "unchanged").mkdir()
    form = FORMATS[name]
    assert faults_of(form, form.content, tmp_path / "unchanged") == ""
    assert form.count(form.content) == ROWS
    assert (tmp_path / "unchanged" / "warehouse" / "parquet" / form.table.replace(".", "/")).is_dir()
    check()
