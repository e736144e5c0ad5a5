"""Ingest randomly changed raw files. An error names the file, or every row is kept or rejected.

For every format and packing, ingest reads as many rows of an accepted file as an independent reader, and the
values of unchanged rows are the same.
"""

import faulthandler
import random
import resource
import time
from collections import Counter
from collections.abc import Iterable
from itertools import count as numbers_from
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counting import Count
from few_files import quiet
from hostile.expectations import fail_with
from hostile.mutated_archives import ARCHIVES
from hostile.mutated_file import TRACE, WIDE_TABLES, Mutated, Row, row_of
from hostile.mutated_parquet import PARQUETS
from hostile.mutated_texts import TEXTS
from random_seed import DEPTH, SEED

from tracehouse.ingest import pipeline
from tracehouse.ingest.convert import raw_file
from tracehouse.ingest.convert.incremental import run_task
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import records
from tracehouse.ingest.store.files import StagedFile
from tracehouse.ingest.store.records import Conversion

KINDS = TEXTS | PARQUETS | ARCHIVES
INPUTS = 1000 * DEPTH if DEPTH > 1 else 200
# Only one input in 40 is also written to Parquet files, because writing is slow.
WRITTEN = 40
# CPU time for a file of some kilobytes. Elapsed time would depend on other processes.
MOST_SECONDS = 2
MOST_KILOBYTES = 1 << 20
# After this time, the process prints the stacks of all threads and exits.
HANGS_AFTER_SECONDS = 600

Collected = dict[str, list[pa.Table]]


@pytest.fixture(autouse=True)
def only_mutated_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pipeline, "all_traces", lambda: {TRACE.name: TRACE})
    # The independent reader writes its file for DuckDB into the working directory.
    monkeypatch.chdir(tmp_path)


def collect_rows(collected: Collected, patch: pytest.MonkeyPatch, path: Path) -> None:
    """Patch conversions to collect their rows instead of sorting and writing them."""
    keys = numbers_from()

    def collect(batches: Iterable[pa.Table], *_: object) -> list[StagedFile]:
        tables = list(batches)
        key = f"{next(keys):016}"
        collected[key] = tables
        return [StagedFile(path, key, sum(table.num_rows for table in tables))]

    def collect_cells(batches: Iterable[pa.Table], *_: object) -> list[StagedFile]:
        [file] = collect(batches)
        cells = sum(table.num_rows * (table.num_columns - 1) for table in collected[file.sha256])
        return [StagedFile(path, file.sha256, cells)]

    patch.setattr(raw_file, "write_runs", collect)
    patch.setattr(raw_file, "write_partition", collect)
    patch.setattr(raw_file, "write_cells", collect_cells)
    patch.setattr(records, "add", quiet)


def rows_of(tables: Iterable[pa.Table]) -> Counter[Row]:
    return Counter(
        row_of(row)
        for table in tables
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    )


def find_faults(outcome: IngestResult, mutated: Mutated, kept: dict[str, Counter[Row]]) -> list[str]:
    """Return what is wrong with the outcome of an ingest of one raw file."""
    faults = [
        f"the error does not name the file: {problem}"
        for problem in outcome.problems
        if mutated.name not in str(problem)
    ]
    faults += [f"{problem}" for problem in outcome.problems if "unexpectedly" in str(problem)]
    read: Counter[str] = Counter()
    for conversion in outcome.conversions:
        sources = conversion.sources
        read[conversion.table] += sum(source.rows_read for source in sources)
        if any(source.rows_read != source.rows_kept + source.rows_rejected for source in sources):
            faults.append(f"{conversion.table}: rows read are not the sum of rows kept and rejected")
    if not (outcome.conversions or outcome.problems or outcome.unrecognised):
        faults.append("no message, and no rows")
    if faults or not outcome.conversions:
        return faults
    expected = mutated.expect()
    if expected is None:
        return ["accepted, but the independent reader fails"]
    if outcome.problems:
        # A partition may lack the hours that are damaged.
        return []
    for name, number in expected.counts.items():
        if read[name] != number:
            faults.append(f"{name}: {read[name]} rows read; {number} counted")
    for name, rows in expected.rows.items():
        missing = rows - kept[name]
        if name in WIDE_TABLES:
            # If two lines have the same time, ingest keeps the first.
            indexes = Counter(row[0] for row in kept[name].elements())
            if max(indexes.values(), default=0) > 1:
                faults.append(f"{name}: two lines with the same time are kept")
            missing = Counter({row: number for row, number in missing.items() if row[0] not in indexes})
        if missing:
            faults.append(f"{name}: {missing.total()} unchanged rows are missing: {list(missing)[:2]}")
        if expected.exactly and kept[name] - rows:
            faults.append(f"{name}: {(kept[name] - rows).total()} rows are new")
    return faults


def kept_by_table(conversions: Iterable[Conversion], collected: Collected) -> dict[str, Counter[Row]]:
    kept: dict[str, Counter[Row]] = {table.name: Counter() for table in TRACE.tables}
    for conversion in conversions:
        for file in conversion.files:
            kept[conversion.table] += rows_of(collected[file.sha256])
    return kept


def compare_written(
    raw: Path, outcome: IngestResult, kept: dict[str, Counter[Row]], warehouse: Path
) -> list[str]:
    """Convert a raw file with all writes, and return how the rows differ from those without writes."""
    written = convert(raw, warehouse)
    if [str(problem) for problem in written.problems] != [str(problem) for problem in outcome.problems]:
        return [f"with writes, {written.problems}"]
    files = [(c.table, warehouse / file.path) for c in written.conversions for file in c.files]
    for name, rows in kept.items():
        stored = [pq.read_table(path) for table, path in files if table == name]
        if name in WIDE_TABLES:
            same = sum(table.num_rows for table in stored) == sum(len(row) - 1 for row in rows.elements())
        else:
            same = rows_of(stored) == rows
        if not same:
            return [f"{name}: other rows are written"]
    return []


def convert(raw: Path, warehouse: Path) -> IngestResult:
    """Convert the files of a folder as an ingest does, but in this thread."""
    return pipeline.convert(
        [raw], warehouse, [], quiet, run_tasks=lambda tasks, *_: list(map(run_task, tasks))
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.timeout(900 + 120 * DEPTH)
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(kind: str, tmp_path: Path, count: Count) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse"
    raw.mkdir()
    found: dict[str, list[str]] = {}
    accepted = 0
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(INPUTS):
        mutated = KINDS[kind](random.Random(f"{SEED} {kind} {number}"))
        path = raw / mutated.name
        # If the process crashes or hangs, the file remains for inspection.
        path.write_bytes(mutated.data)
        faulthandler.dump_traceback_later(HANGS_AFTER_SECONDS, exit=True)
        began = time.process_time()
        collected: Collected = {}
        with pytest.MonkeyPatch.context() as patch:
            collect_rows(collected, patch, path)
            outcome = convert(raw, warehouse)
        seconds = time.process_time() - began
        kept = kept_by_table(outcome.conversions, collected)
        faults = find_faults(outcome, mutated, kept)
        if not faults and number % WRITTEN == 0:
            faults = compare_written(raw, outcome, kept, tmp_path / f"warehouse {number}")
        faulthandler.cancel_dump_traceback_later()
        if seconds > MOST_SECONDS:
            faults.append(f"{seconds:.0f} s of CPU time")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        if grown > MOST_KILOBYTES:
            faults.append(f"{grown:,} KB of memory")
        memory += grown
        accepted += bool(outcome.conversions)
        if faults:
            saved = path.rename(tmp_path / f"{number} {mutated.name}")
            found[str(saved)] = faults
        else:
            path.unlink()
    count(f"changed files: {kind}", INPUTS)
    fail_with(found)
    # Some files must be accepted, and some refused.
    assert 0 < accepted < INPUTS
