"""A dump from the declaration alone: what the reader takes without a rejected row, keys that are keys."""

import io
import tarfile
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tracehouse.ingest.column_types import TypeName
from tracehouse.ingest.declarations import Column, Table, Trace
from tracehouse.ingest.readers import Content
from tracehouse.ingest.readers.formats import plain_csv
from tracehouse.samples.from_declaration import LEAST_ROWS, sampler_of

ROWS = 2_000


def trace(*tables: Table) -> Trace:
    return Trace("probe", "", "", "", "", "", "", tables)


def table(name: str, *columns: Column, **more: Any) -> Table:
    return Table(name, "", "", "", rf"{name}(?:_v2)?\.csv", columns, about_rows=ROWS, **more)


def rows_of(folder: Path, *tables: Table, scale: float = 1.0) -> dict[str, pl.DataFrame]:
    """What the reader makes of a dump of these tables; it rejects nothing."""
    sampler = sampler_of(trace(*tables))
    assert sampler
    told: list[int] = []
    paths = sampler.write(folder, scale, np.random.default_rng(1), told.append)
    assert len(told) == len(paths) == len(tables)
    assert sum(told) == sum(len(content(path)) for path in paths)
    return {table.name: read(path, table) for path, table in zip(paths, tables, strict=True)}


def content(path: Path) -> bytes:
    """The CSV, out of its archive where it is in one."""
    if not path.name.endswith(".tar.gz"):
        return path.read_bytes()
    with tarfile.open(path) as archive:
        [member] = archive.getmembers()
        packed = archive.extractfile(member)
        assert packed
        return packed.read()


def read(path: Path, table: Table) -> pl.DataFrame:
    batches = list(plain_csv.read(Content(io.BytesIO(content(path)), table, path.name)))
    assert [reject for batch in batches for reject in batch.rejects] == []
    frame = pl.from_arrow(pa.concat_tables([pa.table(batch.rows) for batch in batches]))
    assert isinstance(frame, pl.DataFrame)
    return frame


@pytest.mark.parametrize("kind", get_args(TypeName))
def test_every_type_is_written_as_its_reader_wants_it(kind: TypeName, tmp_path: Path) -> None:
    [frame] = rows_of(tmp_path, table("t", Column("x", kind, ""), Column("y", "VARCHAR", ""))).values()
    assert len(frame) == ROWS
    assert 0 < frame["x"].null_count() < ROWS / 5


def test_no_two_rows_have_one_key_and_what_is_never_empty_is_not(tmp_path: Path) -> None:
    metric = table(
        "metric",
        Column("at", "BIGINT", "", "s", examples=("1000.0", "1057.0")),
        Column("kind", "VARCHAR", "", examples=("a", "b")),
        Column("node", "VARCHAR", ""),
        Column("value", "DOUBLE", "", "percent"),
        Column("load", "DOUBLE", "", required=True),
        key=("at", "kind", "node"),
        never_empty=("value",),
        archive_stem="metric",
    )
    [frame] = rows_of(tmp_path, metric).values()
    assert frame.select("at", "kind", "node").is_duplicated().sum() == 0
    assert [frame[name].null_count() for name in frame.columns] == [0] * 5
    assert set(frame["kind"]) == {"a", "b"}
    assert frame["at"].unique().sort().to_list() == list(range(1000, 1000 + 57 * frame["at"].n_unique(), 57))
    assert frame["value"].is_between(0, 100).all()


def test_a_job_is_the_same_in_two_tables_and_its_times_follow_each_other(tmp_path: Path) -> None:
    job = table(
        "job",
        Column("job_id", "VARCHAR", ""),
        Column("submit", "TIMESTAMPTZ", "", required=True),
        Column("start", "TIMESTAMPTZ", "", required=True),
        Column("end", "TIMESTAMPTZ", ""),
        key=("job_id",),
    )
    task = table("task", Column("job_id", "VARCHAR", "", required=True), Column("gpus", "BIGINT", ""))
    frames = rows_of(tmp_path, job, task)
    assert frames["job"]["job_id"].n_unique() == ROWS
    assert frames["task"].join(frames["job"], on="job_id", how="anti").is_empty()
    late = frames["job"].filter(~(pl.col("submit") < pl.col("start")) | ~(pl.col("start") < pl.col("end")))
    assert late.is_empty()


def test_a_key_of_examples_ends_with_them_and_a_missing_text_is_the_publishers(tmp_path: Path) -> None:
    kind = Column("kind", "VARCHAR", "", examples=("a", "b", "c"))
    node = Column("node", "VARCHAR", "", null_texts=("None",))
    [frame] = rows_of(tmp_path, table("kind", kind, node, key=("kind",))).values()
    assert frame["kind"].to_list() == ["a", "b", "c"]
    rows_of(tmp_path, table("more", node, Column("x", "BIGINT", "")))
    assert "None," in (tmp_path / "more.csv").read_text()


def test_the_size_goes_by_the_scale(tmp_path: Path) -> None:
    wanted = table("t", Column("x", "BIGINT", "", required=True), Column("y", "VARCHAR", "", required=True))
    for scale, rows in ((0.001, LEAST_ROWS), (0.5, ROWS // 2)):
        [frame] = rows_of(tmp_path, wanted, scale=scale).values()
        assert len(frame) == rows
        sampler = sampler_of(trace(wanted))
        assert sampler
        [path] = tmp_path.iterdir()
        assert path.stat().st_size / sampler.expected_bytes(scale) == pytest.approx(1, rel=0.7)


@pytest.mark.parametrize(
    "more",
    [
        {"folder": "2023"},
        {"has_header": False},
        {"keys": (Column("day", "VARCHAR", ""),)},
        {"file_name": r"t_\d+\.csv"},
        {"file_name": r"t\.jsonl"},
    ],
)
def test_files_that_the_declaration_does_not_describe_need_a_sampler_of_their_own(
    more: dict[str, Any],
) -> None:
    given = {"name": "t", "comment": "", "grain": "", "source": "", "file_name": r"t\.csv"} | more
    assert sampler_of(trace(Table(columns=(Column("x", "BIGINT", ""),), **given))) is None
