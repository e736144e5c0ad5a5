"""A sample from declarations: the reader must accept every row, and keys must be unique."""

import io
import tarfile
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from non_empty import non_empty

from tracehouse.ingest.declare.column_types import TypeName
from tracehouse.ingest.declare.sample_distributions import LogNormal
from tracehouse.ingest.declare.sample_files import missing_samples
from tracehouse.ingest.declare.trace import Column, JsonList, Table, Trace, Wide
from tracehouse.ingest.dump.readers import ReaderInput
from tracehouse.ingest.dump.readers import csv as csv_reader
from tracehouse.ingest.dump.readers import wide as wide_reader
from tracehouse.samples import from_declaration
from tracehouse.samples.output import Output

ROWS = 2_000


def trace(*tables: Table) -> Trace:
    return Trace("probe", "", "", "", "", "", "", tables)


def table(name: str, *columns: Column, **more: Any) -> Table:
    return Table(name, "", "", "", rf"{name}(?:_v2)?\.csv", columns, about_rows=ROWS, **more)


def row_count(folder: Path, *tables: Table, scale: float = 1.0) -> dict[str, pl.DataFrame]:
    """Write a sample of these tables, and return the rows by table. The reader must reject none."""
    paths = written(folder, *tables, scale=scale)
    assert len(paths) == len(tables)
    return {table.name: read(path, table) for path, table in zip(paths, tables, strict=True)}


def written(folder: Path, *tables: Table, scale: float = 1.0) -> list[Path]:
    """Write a sample of these tables, and return the paths of the files."""
    assert missing_samples(trace(*tables)) == []
    out = Output(folder, 1, lambda _: None)
    from_declaration.write(trace(*tables), out, scale, np.random.default_rng(1))
    return out.close()


def content(path: Path) -> bytes:
    """Return the content of a CSV, or of the only CSV in an archive."""
    if not path.name.endswith(".tar.gz"):
        return path.read_bytes()
    with tarfile.open(path) as archive:
        [member] = archive.getmembers()
        packed = archive.extractfile(member)
        assert packed
        return packed.read()


def read(path: Path, table: Table) -> pl.DataFrame:
    batches = list(csv_reader.read(ReaderInput(io.BytesIO(content(path)), table, path.name)))
    assert [reject for batch in batches for reject in batch.rejects] == []
    frame = pl.from_arrow(pa.concat_tables([pa.table(batch.rows) for batch in batches]))
    assert isinstance(frame, pl.DataFrame)
    return frame


def test_reader_accepts_every_type(tmp_path: Path) -> None:
    for kind in non_empty(get_args(TypeName)):
        wanted = table("t", Column("x", kind, ""), Column("y", "VARCHAR", ""))
        [frame] = row_count(tmp_path / kind, wanted).values()
        assert len(frame) == ROWS, kind
        assert 0 < frame["x"].null_count() < ROWS / 5, kind


def test_keys_are_unique_and_required_columns_have_values(tmp_path: Path) -> None:
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
    [frame] = row_count(tmp_path, metric).values()
    assert frame.select("at", "kind", "node").is_duplicated().sum() == 0
    assert [frame[name].null_count() for name in frame.columns] == [0] * 5
    assert set(frame["kind"]) == {"a", "b"}
    assert frame["at"].unique().sort().to_list() == list(range(1000, 1000 + 57 * frame["at"].n_unique(), 57))
    assert frame["value"].is_between(0, 100).all()


def test_values_are_within_limits(tmp_path: Path) -> None:
    march = {"least": "2023-03-01 00:00:00+08:00", "below": "2023-04-01 00:00:00+08:00"}
    job = table(
        "job",
        Column("id", "BIGINT", "", least=1, required=True),
        Column("state", "VARCHAR", "", choices=("ended", "lost")),
        Column("size", "BIGINT", "", choices=(1, 2, 4)),
        Column("run", "DOUBLE", "", least=600, most=620),
        Column("share", "DOUBLE", "", above=0, below=2),
        Column("at", "TIMESTAMPTZ", "", **march),
        key=("id",),
    )
    frame = row_count(tmp_path, job)["job"].drop_nulls()
    assert sorted(frame["id"].to_list()) == frame["id"].to_list() and frame["id"].min() >= 1
    assert set(frame["state"]) == {"ended", "lost"} and set(frame["size"]) == {1, 2, 4}
    assert (frame["run"].min(), frame["run"].max()) == (601, 620)
    assert set(frame["share"]) == {1}
    texts = frame["at"].dt.strftime("%Y-%m-%d %H:%M")
    assert texts.min() >= "2023-02-28 16:00" and texts.max() < "2023-03-31 16:00"


def test_tables_can_be_joined_and_times_are_in_order(tmp_path: Path) -> None:
    job = table(
        "job",
        Column("job_id", "VARCHAR", ""),
        Column("submit", "TIMESTAMPTZ", "", required=True),
        Column("start", "TIMESTAMPTZ", "", required=True),
        Column("end", "TIMESTAMPTZ", ""),
        key=("job_id",),
    )
    task = table("task", Column("job_id", "VARCHAR", "", required=True), Column("gpus", "BIGINT", ""))
    frames = row_count(tmp_path, job, task)
    assert frames["job"]["job_id"].n_unique() == ROWS
    assert frames["task"].join(frames["job"], on="job_id", how="anti").is_empty()
    late = frames["job"].filter(~(pl.col("submit") < pl.col("start")) | ~(pl.col("start") < pl.col("end")))
    assert late.is_empty()


def test_writes_a_file_for_each_key_value(tmp_path: Path) -> None:
    keys = (Column("cluster", "VARCHAR", ""), Column("part", "VARCHAR", "", examples=("a", "b")))
    names = {"folder": "(?P<cluster>seren|kalos)", "file_name": r"job_(?P<part>\w+)\.csv"}
    columns = (Column("x", "BIGINT", "", required=True),)
    jobs = Table("job", "", "", "", columns=columns, keys=keys, about_rows=ROWS, **names)
    paths = written(tmp_path, jobs)
    found = {path.relative_to(tmp_path).as_posix() for path in paths}
    assert found == {f"{cluster}/job_{part}.csv" for cluster in ("seren", "kalos") for part in "ab"}
    assert sum(len(read(path, jobs)) for path in paths) == ROWS


def cells(folder: Path, variable_pattern: str, *more: Column, **given: Any) -> pl.DataFrame:
    """Write the sample of a wide table of jobs and iterations, and return its lines. None is rejected."""
    columns = (
        given.get("index", Column("job", "VARCHAR", "", pattern=r"job_\d\d")),
        given.get("variable", Column("iteration", "VARCHAR", "")),
        given.get("value", Column("cov", "DOUBLE", "", least=0, most=1, null_texts=("NA",))),
        *more,
    )
    wide = Wide("", variable_pattern, index=columns[0].name, variable="iteration", value="cov")
    [path] = written(folder, Table("variation", "", "", "", r"cov\.csv", columns, wide=wide, about_rows=ROWS))
    source = ReaderInput(
        io.BytesIO(path.read_bytes()), Table("v", "", "", "", "", columns, wide=wide), path.name
    )
    batches = list(wide_reader.read(source))
    assert [reject for batch in batches for reject in batch.rejects] == []
    frame = pl.from_arrow(pa.concat_tables([pa.table(batch.rows) for batch in batches]))
    assert isinstance(frame, pl.DataFrame)
    return frame


GPU = Column("gpu", "BIGINT", "", examples=("0", "1"))
NODE = Column("node", "VARCHAR", "")


@pytest.mark.parametrize(
    ("pattern", "more", "names"),
    [
        (r"\d+", [], [str(number) for number in range(10)]),
        (r"gpu\d{3}(?:_old)?", [], [f"gpu{number:03}" for number in range(10)]),
        (r"(?P<node>a|b)-(?P<gpu>\d)", [NODE, GPU], ["a-0", "a-1", "b-0", "b-1"]),
        (r"(?P<node>n\d+)/idle", [NODE], [f"n{number}/idle" for number in range(10)]),
        ("cpu|memory", [], ["cpu", "memory"]),
    ],
)
def test_names_of_cells_follow_from_the_pattern(
    tmp_path: Path, pattern: str, more: list[Column], names: list[str]
) -> None:
    assert cells(tmp_path, pattern, *more).columns == ["job", *names]


def test_writes_the_cells_of_a_wide_table(tmp_path: Path) -> None:
    numbers = Column("iteration", "BIGINT", "", least=1)
    frame = cells(tmp_path, r"\d+", variable=numbers)
    assert frame.columns == ["job", *(str(number) for number in range(1, 11))]
    # The pattern allows 99 jobs from 1.
    assert frame["job"].to_list() == [f"job_{number:02}" for number in range(1, 100)]
    assert frame["1"].max() == 1 and 0 < frame["1"].null_count() < 30
    given = cells(tmp_path / "given", ".*", variable=Column("iteration", "VARCHAR", "", examples=("x", "y")))
    assert given.columns == ["job", "x", "y"]


@pytest.mark.parametrize("pattern", ["u.*", r"a\w", "[ab]", r"\d\d", "a|b", r"(?P<a>\d)"])
def test_other_patterns_give_invented_texts(tmp_path: Path, pattern: str) -> None:
    [frame] = row_count(
        tmp_path, table("t", Column("x", "VARCHAR", "", pattern=pattern), key=("x",))
    ).values()
    assert frame["x"].n_unique() == ROWS and frame["x"][-1] == f"x_{ROWS - 1}"


def test_values_of_cells_and_times_of_lines(tmp_path: Path) -> None:
    time = Column("time", "BIGINT", "", "s", examples=("100", "115"))
    value = Column("cov", "DOUBLE", "", required=True, sample=LogNormal(5, 1.0, most=7))
    frame = cells(tmp_path, r"\d+", index=time, value=value)
    assert frame["time"].to_list() == list(range(100, 100 + 15 * (ROWS // 10), 15))
    assert frame["3"].null_count() == 0 and frame["3"].max() == 7 and frame["3"].n_unique() > 50
    few = cells(
        tmp_path / "few", r"\d+", index=Column("job", "VARCHAR", "", examples=("a", "b")), value=value
    )
    assert few["job"].to_list() == ["a", "b"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"file_name": r"t_\d+\.csv"}, "has a pattern outside its named groups: name the group"),
        (
            {"file_name": r"t_(?P<day>\d+)\.csv", "keys": (Column("day", "VARCHAR", ""),)},
            "day, a key in its file names, has no `examples`: declare them, or write samples/traces/probe.py",
        ),
        (
            {"file_name": r"t_(?P<day>\d+)\.csv", "keys": (Column("day", "VARCHAR", "", examples=("x",)),)},
            r"the example x of day does not match \d+: correct it",
        ),
        ({"file_name": r"t\.parquet"}, "does not end in .csv or .jsonl: write samples/traces/probe.py"),
        (
            {"file_name": r"t\.json", "json_list": JsonList()},
            "is one JSON list: write samples/",
        ),
        (
            {"wide": Wide("time", ".*", index="x", variable="x", value="x")},
            "the names of its cells do not follow from .*: declare `examples` of x",
        ),
    ],
)
def test_says_why_no_sample_can_be_drawn(more: dict[str, Any], message: str) -> None:
    given = {"name": "t", "comment": "", "grain": "", "source": "", "file_name": r"t\.csv"} | more
    declared = trace(Table(columns=(Column("x", "BIGINT", ""),), **given))
    [(_, found)] = missing_samples(declared)
    assert message in found
