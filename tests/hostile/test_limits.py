"""Ingest refuses malformed raw files in less than 2 GB of memory, and statements stay within their limit."""

import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as pads
import pytest
import suites
from command_line import TIMEOUT_S, TRACES
from hostile.bombs import BOMBS, LARGE
from peak_memory import descendants, has_ended, watched

from tracehouse.ingest.store.layout import REJECTED_FOLDER
from tracehouse.publish.formats import OutputFormat

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports peak memory in kilobytes")

MOST_MB = 2000
MB = 1 << 20
# A small process starts the command, because peak memory includes that of the starting process.
MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(code)
"""
JOB = '[{"status":"Pass","vc":"v","jobid":"j","submitted_time":"2017-10-07 01:11:39","user":"u","attempts":['
ATTEMPT = '{"start_time":"2017-10-07 01:11:39","end_time":"2017-10-07 01:12:39","detail":[]}'
TIME = "2023-07-01 00:00:00+08:00"


def object_of(attempt: str, count: int) -> bytes:
    """Return a job log of one job with `count` equal attempts."""
    return f"{JOB}{','.join([attempt] * count)}]}}]".encode()


def gz_of(block: bytes, count: int) -> bytes:
    """Return a gzip file that unpacks to `count` equal blocks."""
    return gzip.compress(block, 1) * count


def tar_of(*headers: bytes) -> bytes:
    return gzip.compress(b"".join(headers) + bytes(2 * tarfile.BLOCKSIZE), 1)


def tar_of_many() -> bytes:
    return tar_of(*(tarfile.TarInfo(f"{n}.txt").tobuf() for n in range(20_001)))


def xz_with_large_dictionary() -> bytes:
    """Return a file that needs 3 GiB of memory to unpack. Bytes 12 to 19 are the header of its block."""
    packed = bytearray(lzma.compress(b"dataset\n"))
    assert packed[14:16] == b"\x21\x01"
    packed[16] = 39
    packed[20:24] = zlib.crc32(packed[12:20]).to_bytes(4, "little")
    return bytes(packed)


def tar_with_long_headers() -> bytes:
    comments = ({f"comment{n}": 15 * MB * "x"} for n in range(2))
    return tar_of(*map(tarfile.TarInfo.create_pax_global_header, comments))


def zip_of_many() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(20_001):
            archive.writestr(f"{number}.txt", b"")
    return packed.getvalue()


@dataclass(frozen=True)
class Malformed:
    """A raw file, and words of the error that refuses it."""

    name: str
    make: Callable[[], bytes]
    says: str


FILES = {
    "a million columns, wide": Malformed(
        "kalos/GPU_UTIL.csv",
        lambda: b"Time" + b",10.0.0.1-0" * 1_000_000 + b"\n" + TIME.encode() + b",7" * 1_000_000 + b"\n",
        "line 1: the line has 1,000,001 columns; at most 20,000 are allowed",
    ),
    "a million columns": Malformed(
        "summary_train.csv", lambda: b"c," * 999_999 + b"c\n", "line 1: the line has 1,000,000 columns"
    ),
    "one line": Malformed("summary_train.csv", lambda: b"x" * 100 * MB, "is longer than 16 MiB"),
    "a quote that never ends": Malformed(
        "pai_job_table.csv",
        lambda: b"j,i,u,Failed,1,2\n" * 1000 + b'"' + b"x" * 100 * MB,
        "line 1,001: the line does not end, or is longer than 16 MiB",
    ),
    "lines of one field": Malformed(
        "kalos/GPU_UTIL.csv",
        lambda: b"Time,10.0.0.1-0\n" + b"1\n" * 30 * MB,
        "do not fit, more than a tenth; the first: 1 columns; expected 2",
    ),
    "a large object": Malformed(
        "cluster_job_log",
        lambda: object_of(ATTEMPT, 1_000_000),
        "line 1: a value does not end, or is longer than 4 MiB",
    ),
    "an object with many bad attempts": Malformed(
        "cluster_job_log",
        lambda: object_of(ATTEMPT.replace("-10-", "-13-"), 40_000),
        "40,000 of the first 40,000 rows do not fit",
    ),
    "a long list in an object": Malformed(
        "cluster_job_log",
        lambda: b'[{"status":[' + b"1," * (2 * MB - 100) + b"1]}]",
        "object 1 of the list: no value for vc",
    ),
    "objects in objects": Malformed(
        "cluster_job_log", lambda: b"[" * 1_000_000, "line 1: JSON that is nested too deeply"
    ),
    "zeros in gzip": Malformed(
        "summary_train.csv.gz", lambda: gz_of(bytes(16 * MB), 640), "is longer than 16 MiB"
    ),
    "many files in a tar": Malformed(
        "raw-traces.tar.gz", tar_of_many, "it contains more than 20,000 files and folders"
    ),
    "many files in a zip": Malformed(
        "asi_opensource_network_hourly.zip", zip_of_many, "it contains more than 20,000 files and folders"
    ),
    "xz that takes much memory": Malformed(
        "summary_train.csv.xz", xz_with_large_dictionary, "Memory usage limit"
    ),
    "long headers in a tar": Malformed("raw-traces.tar.gz", tar_with_long_headers, "a header of"),
    "a million empty streams": Malformed(
        "summary_train.csv.gz", lambda: gzip.compress(b"") * 1_000_000, "the file is empty"
    ),
}
"""By default, the test tries the first two only. `make hostile` tries all."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "case",
    [name if n < 2 else pytest.param(name, marks=suites.of("hostile")) for n, name in enumerate(FILES)],
)
def test_refuses_malformed_file_in_little_memory(case: str, tmp_path: Path) -> None:
    file = FILES[case]
    path = tmp_path / "raw" / file.name
    path.parent.mkdir(parents=True)
    path.write_bytes(file.make())
    run = measure(tmp_path)
    assert run.returncode == 1
    assert file.says in run.stderr
    assert len(run.stderr) < 2000
    assert float(run.stdout) < MOST_MB


def measure(folder: Path) -> subprocess.CompletedProcess[str]:
    """Ingest the raw files of a folder. The last line of the output is the peak memory in MB."""
    command = [TRACES, "ingest", "--raw", folder / "raw", "--warehouse", folder / "warehouse"]
    return subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, encoding="utf-8")


@suites.of("hostile")
@pytest.mark.timeout(1800)
def test_stores_many_rejected_rows_in_little_memory(tmp_path: Path) -> None:
    """Rejects a million texts of 1,000 characters, which are less than a tenth of the rows."""
    block = ("j,i,u,Failed,1,2\n" * 10 + f"{'x' * 1000},i\n") * 10_000
    path = tmp_path / "raw" / "pai_job_table.csv.gz"
    path.parent.mkdir()
    path.write_bytes(gz_of(block.encode(), 100))
    run = measure(tmp_path)
    assert run.returncode == 0
    assert float(run.stdout.split()[-1]) < MOST_MB
    stored = pads.dataset(tmp_path / "warehouse" / "parquet" / "pai" / REJECTED_FOLDER)
    assert stored.count_rows() == 1_000_000


LIMIT_MB, MORE_MB = 300, 300
TOO_LARGE = (
    "error: The answer needs more than the memory limit of 300MB. Request less data, or raise --memory"
)


def run_statement(statement: str, warehouse: Path, folder: Path, *options: str) -> tuple[str, float]:
    """Run a statement with a memory limit. Returns the errors, and the largest peak of a process in MB."""
    file = folder / "statement.sql"
    file.write_text(statement, encoding="utf-8")
    running = subprocess.Popen(
        [TRACES, "sql", "--file", file, "-w", warehouse, "--memory-limit", f"{LIMIT_MB}MB", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"TMPDIR": str(folder)},
    )
    with watched(running.pid) as peaks:
        _, errors = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode in (0, 1), errors
    assert (running.returncode == 1) == ("error: " in errors), errors
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == [file]
    return errors, max(peaks.values())


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize(
    "case",
    [name if n < 2 else pytest.param(name, marks=suites.of("hostile")) for n, name in enumerate(BOMBS)],
)
def test_statement_stays_within_its_memory_limit(case: str, sample_warehouse: Path, tmp_path: Path) -> None:
    errors, peak_mb = run_statement(BOMBS[case], sample_warehouse, tmp_path, "--timeout", "120")
    assert peak_mb < LIMIT_MB + MORE_MB
    assert case in ALLOWED or errors.startswith((TOO_LARGE, "error: No answer within")), errors


# These succeed, or the parser refuses them.
ALLOWED = {*list(BOMBS)[-9:]}


IN_PYTHON = """
import json, sys, tracehouse
folder, limit, *statements = json.load(sys.stdin)
opened = tracehouse.open(folder, memory_limit=limit, timeout_s=60)
for statement in statements:
    try:
        print(len(opened.sql(statement)))
    except tracehouse.UserError as error:
        print(error)
"""
IN_MCP = """
import asyncio, json, mcp, sys
folder, limit, *statements = json.load(sys.stdin)
options = ["mcp", "-w", folder, "--memory-limit", limit, "--timeout", "60"]
async def run():
    server = mcp.StdioServerParameters(command=sys.argv[1], args=options)
    async with mcp.Client(server, read_timeout_seconds=600) as client:
        for statement in statements:
            result = await client.call_tool("sql", {"statement": statement})
            print(json.dumps(result.content[0].text if result.is_error else "1"))
asyncio.run(run())
"""
IN_EXPLORE = """
import http.client, json, subprocess, sys, urllib.parse
folder, limit, *statements = json.load(sys.stdin)
options = ["-w", folder, "--memory-limit", limit, "--timeout", "60", "--no-browser"]
with subprocess.Popen([sys.argv[1], "explore", *options], stdout=subprocess.PIPE, text=True) as server:
    address = urllib.parse.urlsplit(server.stdout.readline().split()[1])
    def get(path, **headers):
        client = http.client.HTTPConnection(address.netloc, timeout=600)
        client.request("GET", path, headers=headers)
        reply = client.getresponse()
        return reply.headers, reply.read()
    cookie = get(f"/?{address.query}")[0]["set-cookie"].partition(";")[0]
    for statement in statements:
        query = urllib.parse.quote(json.dumps({"statement": statement}))
        try:
            print(get(f"/api/run?query={query}", Cookie=cookie)[1][:80])
        except ConnectionError as error:
            # The server does not read an address of hundreds of kilobytes.
            print(f"error: {error}")
    server.terminate()
"""


@suites.of("hostile")
@pytest.mark.timeout(6 * TIMEOUT_S)
@pytest.mark.parametrize("client", [IN_PYTHON, IN_MCP, IN_EXPLORE], ids=["Python", "MCP", "explore"])
def test_other_interfaces_stay_within_the_memory_limit(client: str, sample_warehouse: Path) -> None:
    """One process runs all statements, and answers another afterwards."""
    statements = [*BOMBS.values(), "select 1"]
    running = subprocess.Popen(
        [sys.executable, "-c", client, TRACES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with watched(running.pid) as peaks:
        printed, _ = running.communicate(json.dumps([str(sample_warehouse), f"{LIMIT_MB}MB", *statements]))
    lines = printed.splitlines()
    assert running.returncode == 0 and len(lines) == len(statements), printed
    assert "1" in lines[-1] and "error" not in lines[-1], lines[-1]
    assert max(peaks.values()) < LIMIT_MB + MORE_MB


@suites.of("hostile")
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize("form", OutputFormat)
def test_large_answer_stays_within_the_memory_limit(
    form: OutputFormat, sample_warehouse: Path, tmp_path: Path
) -> None:
    errors, peak_mb = run_statement(LARGE, sample_warehouse, tmp_path, "--format", form, "--timeout", "120")
    assert peak_mb < LIMIT_MB + MORE_MB
    assert not errors or errors.startswith((TOO_LARGE, "error: No answer within")), errors


def test_default_limit_holds(sample_warehouse: Path) -> None:
    command = [TRACES, "sql", "select len(range(3000000000))", "-w", sample_warehouse]
    run = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert "needs more than the memory limit, half of this machine's memory." in run.stderr


def test_killed_command_leaves_no_child(sample_warehouse: Path, tmp_path: Path) -> None:
    slow = "select count(*) from range(10000000) a, range(10000000) b where a.range > b.range"
    running = subprocess.Popen(
        [TRACES, "sql", slow, "-w", sample_warehouse], env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    end_s = time.monotonic() + TIMEOUT_S
    while len(descendants(running.pid)) < 2:
        assert time.monotonic() < end_s and running.poll() is None
        time.sleep(0.01)
    _, child = descendants(running.pid)
    running.send_signal(signal.SIGKILL)
    running.wait()
    while not has_ended(child):
        assert time.monotonic() < end_s
        time.sleep(0.01)
