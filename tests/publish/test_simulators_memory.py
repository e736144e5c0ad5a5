"""Exports are streamed: ten times as many rows need no more memory."""

import subprocess
import sys
from pathlib import Path

import pytest
import raw_dumps
from hostile_tests import in_full

from tracehouse.publish.simulators.format_spec import Layout

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is in kilobytes there")

# `python -c` looks interactive to DuckDB, which then draws progress bars. The number gets its own line.
PEAK = "import resource; print(); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
# DuckDB sorts any number of rows within this limit, so a larger peak is memory outside DuckDB.
LIMITED = "Limits(memory='200MB', most_threads=2)"
WRITING = """
import sys
from pathlib import Path
import duckdb
from tracehouse.publish.simulators import files
from tracehouse.publish.simulators.format_spec import Field, File, Layout
config = {{"memory_limit": "64MB", "threads": 1, "temp_directory": "{folder}/spill"}}
connection = duckdb.connect(config=config)
fields = [Field("number", "bigint", "range"), Field("text", "varchar", "repeat('x', 100)")]
file = File("rows", Layout.{layout}, fields, "range({rows})", "range")
files.write_file(connection, file, Path("{folder}/rows"))
"""
EXPORTING = """
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish.simulators import export as exporting
exporting.LIMITS = {limits}
from tracehouse.cli import traces
traces({arguments}, standalone_mode=False)
"""


def peak_mb(code: str) -> float:
    run = subprocess.run([sys.executable, "-c", code + PEAK], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return float(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("layout", Layout)
def test_a_long_file_takes_no_more_memory_than_a_short_one(layout: Layout, tmp_path: Path) -> None:
    def peak_of(rows: int) -> float:
        return peak_mb(WRITING.format(folder=tmp_path, layout=layout.name, rows=rows))

    # 1.5 million rows are over 160 MB.
    assert peak_of(1_500_000) < peak_of(150_000) + 100


@in_full
def test_a_long_export_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    def peak_of(jobs: int) -> float:
        folder = tmp_path / str(jobs)
        raw = folder / "raw" / "itp" / "raw_job"
        raw.mkdir(parents=True)
        lines = (f"application_{number},{number},64,1000" for number in range(jobs))
        (raw / "cluster01.csv").write_text("\n".join(["job_id,submission_time,num_gpu,duration", *lines]))
        raw_dumps.ingested(folder / "raw", folder / "warehouse").close()
        arguments = ["export", "openb", "itp", "--out", str(folder / "out"), "--gpus-per-node", "1"]
        arguments += ["--default-cpu-milli", "1000", "--default-memory-mib", "1024"]
        arguments += ["--warehouse", str(folder / "warehouse")]
        peak = peak_mb(EXPORTING.format(limits=LIMITED, arguments=arguments))
        with (folder / "out" / "openb_pod_list_itp.csv").open() as pods:
            assert sum(1 for _ in pods) == 1 + 64 * jobs
        return peak

    # A job becomes 64 pods: 2.5 million pods are 200 MB.
    assert peak_of(40_000) < peak_of(4_000) + 100
