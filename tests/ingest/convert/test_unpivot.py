"""Wide CSVs: each cell becomes one row, for any split into files, headers and order of lines."""

import io
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import suites
from few_files import ingest_raw
from hypothesis import given, settings
from hypothesis import strategies as st
from random_seed import DEPTH

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.convert import unpivot
from tracehouse.ingest.convert.unpivot import write_cells
from tracehouse.ingest.declare.column_types import TypeName
from tracehouse.ingest.declare.trace import Column, Table, Wide
from tracehouse.ingest.dump.readers import Batch, ReaderInput, wide
from tracehouse.ingest.dump.readers.wide import CHUNK_BYTES
from tracehouse.ingest.traces.acme.tables import GPU_METRIC, NODE_METRIC

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"

DEVICES = [
    "10.140.0.1-0",
    "10.140.0.1-1",
    "10.140.0.10-0",
    "10.140.0.2-7",
    "10.140.0.3",
    "pod-a-3",
    "10.140.0.1-0.1",
]
CELL = st.sampled_from(["", "", "0", "99", "100", "0.5", "1e3", "-1", "238.9"])


def at(second: int) -> str:
    return str(pd.Timestamp("2023-07-01 00:00:00+08:00") + pd.Timedelta(seconds=second))


def csv_of(devices: Sequence[str], lines: Sequence[tuple[int, Sequence[str]]]) -> bytes:
    text = [",".join(["Time", *devices]), *(",".join([at(second), *row]) for second, row in lines)]
    return "\n".join(text).encode() + b"\n"


@st.composite
def pieces(draw: st.DrawFn) -> list[tuple[list[str], list[tuple[int, list[str]]]]]:
    """Draw files of one metric. Each has its own devices, and times repeat within and between files."""
    files = []
    for _ in range(draw(st.integers(1, 3))):
        devices = draw(st.lists(st.sampled_from(DEVICES), min_size=1, unique=True))
        row = st.tuples(
            st.integers(0, 8).map(lambda n: 15 * n),
            st.lists(CELL, min_size=len(devices), max_size=len(devices)),
        )
        files.append((devices, draw(st.lists(row, min_size=1, max_size=8))))
    return files


def melt_with_pandas(files: Sequence[bytes]) -> tuple[pd.DataFrame, int]:
    """Return the cells of the first line of each time, computed by pandas, and the number of other lines."""
    seen: set[pd.Timestamp] = set()
    frames, repeated = [], 0
    for data in files:
        frame = pd.read_csv(io.BytesIO(data))
        frame["Time"] = pd.to_datetime(frame["Time"], utc=True)
        new = ~frame["Time"].duplicated() & ~frame["Time"].isin(seen)
        repeated += int((~new).sum())
        seen |= set(frame["Time"])
        frames.append(frame[new].melt("Time", var_name="device"))
    rows = pd.concat(frames, ignore_index=True)
    name = rows["device"].str.extract(r"^(?P<node>\d+\.\d+\.\d+\.\d+)(?:-(?P<gpu>\d))?$")
    return rows.assign(
        node=name["node"], gpu=name["gpu"].astype(float), value=rows["value"].astype(float)
    ), repeated


def read_wide(
    data: bytes, table: Table, seen: set[Hashable] | None = None, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Batch]:
    indexes = set() if seen is None else seen
    return wide.read(ReaderInput(io.BytesIO(data), table, "m.csv", indexes, chunk_bytes))


def write_files(
    files: Sequence[bytes], folder: Path, chunk_bytes: int = CHUNK_BYTES
) -> tuple[list[Path], int]:
    """Convert the files of a metric. Return the Parquet files and the number of rejected lines."""
    seen: set[Hashable] = set()
    rejected = 0

    def blocks() -> Iterator[pa.Table]:
        nonlocal rejected
        for data in files:
            for batch in read_wide(data, GPU_METRIC, seen, chunk_bytes):
                rejected += len(batch.rejects)
                yield batch.rows

    half = write_cells(blocks(), GPU_METRIC, folder, "m")
    assert [duckdb.read_parquet(str(file.path)).shape[0] for file in half] == [file.rows for file in half]
    return [file.path for file in half], rejected


def rows_of(paths: Sequence[Path]) -> pd.DataFrame:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.execute(
            "select node, gpu, device, time, value from read_parquet($files)",
            {"files": list(map(str, paths))},
        ).df()


def in_order(rows: pd.DataFrame) -> list[tuple]:
    columns = [rows[name] for name in ("device", "time", "node", "gpu", "value")]
    plain = [tuple(None if pd.isna(value) else value for value in row) for row in zip(*columns, strict=True)]
    return sorted(plain, key=repr)


@suites.of("long")
@settings(max_examples=40 * DEPTH)
@given(files=pieces(), chunk_bytes=st.integers(1, 400))
def test_cells_become_the_rows_of_pandas_melt(
    files: list, chunk_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = [csv_of(devices, lines) for devices, lines in files]
    expected, repeated = melt_with_pandas(data)
    paths, rejected = write_files(data, tmp_path_factory.mktemp("wide"), chunk_bytes)
    assert rejected == repeated
    assert in_order(rows_of(paths)) == in_order(expected.rename(columns={"Time": "time"}))


def test_keeps_hours_of_a_device_together_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpivot, "ROW_GROUP_ROWS", 200)
    devices = [f"10.140.0.{node}-{gpu}" for node in (1, 10, 2) for gpu in range(8)]
    lines = [(15 * (99 - n), [str(n + d) for d in range(24)]) for n in range(100)]
    (path,), _ = write_files([csv_of(devices, lines)], tmp_path)
    rows = rows_of([path])
    keys = list(zip(rows["device"], rows["time"], strict=True))
    assert keys == sorted(keys)
    groups = duckdb.sql(
        f"select distinct row_group_id, row_group_num_rows from parquet_metadata('{path}')"
    ).fetchall()
    assert sorted(groups) == [(number, 200) for number in range(12)]


def test_same_lines_give_same_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = [(15 * n, [str(value) for value in rng.integers(0, 100, 40)]) for n in range(2000)]
    data = [csv_of([f"10.140.0.{n // 8}-{n % 8}" for n in range(40)], lines)]
    folders = tmp_path / "one", tmp_path / "other"
    for folder in folders:
        folder.mkdir()
    one, other = ([path.read_bytes() for path in write_files(data, folder, 20_000)[0]] for folder in folders)
    assert one == other
    assert len(one) == unpivot.WRITERS


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"when,10.140.0.1-0\n", "the first line is when; expected the header Time"),
        (b"time,10.140.0.1-0\n", "the header has 'time' instead of 'Time'"),
        (b",Time,10.140.0.1-0\n", "the header has a column without a name, which looks like the index"),
        (b"Time;10.140.0.1-0\n", "its fields are separated by semicolons"),
        (b"Time\n2023-07-01 00:00:00+08:00\n", "the header is Time; expected distinct names after the first"),
        (b"Time,a,a\n", "the header is Time,a,a; expected distinct names after the first"),
        (b"\n\n", "the file is empty"),
    ],
)
def test_rejects_file_with_another_header(data: bytes, what: str) -> None:
    with pytest.raises(RawFileError) as refusal:
        list(read_wide(data, GPU_METRIC))
    assert refusal.value.what.startswith(what)


def test_rejects_file_with_too_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "MOST_LINES", 2)
    lines = csv_of(["10.140.0.1"], [(0, ["1"]), (15, ["2"])])
    assert sum(batch.rows.num_rows for batch in read_wide(lines, NODE_METRIC)) == 2
    with pytest.raises(RawFileError, match="line 2: together with the other files of its partition"):
        list(read_wide(csv_of(["10.140.0.1"], [(30, ["3"])]), NODE_METRIC, {0, 15}))


def job_table(index_type: TypeName, variable_type: TypeName = "BIGINT", header: str = "") -> Table:
    """Return a table of values by job and iteration, such as PAI's variation of mini-batch times."""
    return Table(
        name="variation",
        comment="",
        grain="",
        source="",
        file_name=r"variation\.csv",
        columns=(
            Column("job", index_type, ""),
            Column("iteration", variable_type, ""),
            Column("worker", "BIGINT", ""),
            Column("variation", "DOUBLE", ""),
        ),
        wide=Wide(
            index_header=header,
            variable_pattern=r"w(?P<worker>\d+)",
            index="job",
            variable="iteration",
            value="variation",
        ),
    )


def unpivot_rows(data: bytes, table: Table, folder: Path) -> list[tuple]:
    lines = (batch.rows for batch in read_wide(data, table))
    return [
        row
        for staged in write_cells(lines, table, folder, "m")
        for row in duckdb.sql(f"select job, iteration, variation from '{staged.path}'").fetchall()
    ]


def test_index_of_a_wide_table_can_be_a_text_without_header(tmp_path: Path) -> None:
    rows = unpivot_rows(b",0,10,9\njob_01,0.5,,0.7\njob_00,1,2,3\n", job_table("VARCHAR"), tmp_path)
    assert rows == [
        ("job_00", 0, 1),
        ("job_01", 0, 0.5),
        ("job_00", 9, 3),
        ("job_01", 9, 0.7),
        ("job_00", 10, 2),
        ("job_01", 10, None),
    ]


def test_rejects_each_invalid_line_with_its_reason() -> None:
    data = (
        b"Time,10.140.0.1-0,10.140.0.1-1\n"
        b"2023-07-01 00:00:00+08:00,1,2\n"
        b"2023-07-01 00:00:15+08:00,1,x\n"
        b"2023-07-01 00:00:30+08:00,1\n"
        b",1,2\n"
        b"2023-07-01 00:00:45,1,2\n"
        b"2023-06-30 16:00:00Z,3,4\n"
        b'"2023-07-01 00:01:00+08:00",,"5"\n'
        b"2023-07-01 00:01:15+08:00,inf,1\n"
        b"2023-07-01 00:01:30+08:00,1,1e400\n"
        b"0001-07-01 00:01:45+08:00,1,1\n"
    ) + b"".join(f"{at(120 + second)},7,7\n".encode() for second in range(100))
    data += f"{at(300)},7".encode()
    blocks = list(read_wide(data, GPU_METRIC))
    assert [(reject.line, reject.reason) for lines in blocks for reject in lines.rejects] == [
        (3, "column 10.140.0.1-1 (DOUBLE): invalid value 'x'"),
        (4, "2 columns; expected 3"),
        (5, "column Time (TIMESTAMPTZ): it is empty"),
        (6, "column Time (TIMESTAMPTZ): expected a UTC offset in '2023-07-01 00:00:45'"),
        (7, "its Time occurred before, in an earlier line or file"),
        (9, "column 10.140.0.1-0 (DOUBLE): not a finite number: 'inf'"),
        (10, "column 10.140.0.1-1 (DOUBLE): not a finite number: '1e400'"),
        (11, "column Time (TIMESTAMPTZ): not a time from 1970 to 2099: '0001-07-01 00:01:45+08:00'"),
        (112, "2 columns; expected 3; the file ends here without a newline: it may be truncated"),
    ]
    assert [column.to_pylist() for column in blocks[0].rows.columns[1:]] == [
        [1, None, *[7] * 100],
        [2, 5, *[7] * 100],
    ]


def metric_file(raw: Path, name: str, *devices: str) -> Path:
    path = raw / "utilization" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(csv_of(devices, [(15 * n, ["7"] * len(devices)) for n in range(4)]))
    return path


def test_lfs_pointer_stops_only_its_partition(tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "w"
    metric_file(raw, "seren/GPU_UTIL.csv", "10.140.0.1-0")
    metric_file(raw, "kalos/GPU_UTIL-2023-07.csv", "172.31.0.1-0")
    metric_file(raw, "kalos/GPU_TEMP.csv", "172.31.0.1-0", "172.31.0.1-1")
    metric_file(raw, "kalos/NODE_IB_SEND.csv", "172.31.0.1-mlx5_0")
    metric_file(raw, "elsewhere/GPU_UTIL.csv", "172.31.0.1-0")
    (raw / "utilization/kalos/GPU_UTIL-2023-08.csv").write_bytes(LFS_POINTER)
    outcome = ingest_raw(raw, warehouse)
    assert {conversion.key for conversion in outcome.converted} == {
        ("acme", "gpu_metric", "cluster=seren/metric=GPU_UTIL", "gpu_metric"),
        ("acme", "gpu_metric", "cluster=kalos/metric=GPU_TEMP", "gpu_metric"),
        ("acme", "node_metric", "cluster=kalos/metric=NODE_IB_SEND", "node_metric"),
    }
    (problem,) = outcome.problems
    assert "GPU_UTIL-2023-08.csv: this is a Git LFS pointer" in str(problem)
    assert outcome.unrecognised == ("utilization/elsewhere/GPU_UTIL.csv",)
    folders = {stored.path.rpartition("/")[0] for c in outcome.converted for stored in c.files}
    assert "parquet/acme/gpu_metric/cluster=kalos/metric=GPU_TEMP" in folders
    (stored,) = next(c for c in outcome.converted if "GPU_TEMP" in c.partition).files
    assert stored.rows == 8

    metric_file(raw, "kalos/GPU_UTIL-2023-08.csv", "172.31.0.2-0")
    outcome = ingest_raw(raw, warehouse)
    assert [conversion.partition for conversion in outcome.converted] == ["cluster=kalos/metric=GPU_UTIL"]
    assert len(outcome.unchanged) == 3
    (_, august) = outcome.converted[0].sources
    # The new file repeats four times. Ingest rejects their lines, although the device is new.
    assert (august.rows_read, august.rows_rejected, august.rows_stored) == (4, 4, 0)


def test_file_without_lines_gives_no_rows(tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "w"
    path = metric_file(raw, "kalos/DRAM_ACTIVE.csv", "172.31.0.1-0")
    path.write_bytes(b"Time,172.31.0.1-0\n")
    (conversion,) = ingest_raw(raw, warehouse).converted
    assert conversion.files == ()
    assert conversion.sources[0].rows_read == 0
