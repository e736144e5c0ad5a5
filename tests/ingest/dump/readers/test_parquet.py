"""Parquet: ingest converts physical types without loss of values, and refuses all others."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declare.column_types import TypeName
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.readers import Batch, ReaderInput, parquet

AT = datetime(2026, 3, 1, 8, 30)
# Enough valid rows that a file with one invalid row is not refused.
MANY = 20


def packed(rows: pa.Table, row_group_size: int = 8) -> bytes:
    data = io.BytesIO()
    pq.write_table(rows, data, row_group_size=row_group_size)
    return data.getvalue()


def read_packed(
    kind: TypeName, data: bytes, names: Sequence[str] = ("a",), required: bool = False
) -> list[Batch]:
    table = Table(
        name="t",
        comment="",
        grain="",
        source="",
        file_name=r"x\.parquet",
        columns=tuple(Column(name, kind, "", required=required) for name in names),
    )
    return list(parquet.read(ReaderInput(io.BytesIO(data), table, "x.parquet")))


def read(kind: TypeName, values: pa.Array, required: bool = False) -> list[Batch]:
    return read_packed(kind, packed(pa.table({"a": values})), required=required)


def values_of(batches: Sequence[Batch]) -> list[object]:
    return [value for batch in batches for value in batch.rows.column("a").to_pylist()]


EXACT = {
    "BIGINT for DOUBLE": ("DOUBLE", pa.array([1, None, -(2**53)]), [1.0, None, -float(2**53)]),
    "FLOAT for DOUBLE": ("DOUBLE", pa.array([0.5, None], pa.float32()), [0.5, None]),
    "INT32 for BIGINT": ("BIGINT", pa.array([1, None], pa.int32()), [1, None]),
    "UINT64 for BIGINT": ("BIGINT", pa.array([1, 2**63 - 1], pa.uint64()), [1, 2**63 - 1]),
    "DOUBLE for BIGINT": ("BIGINT", pa.array([1.0, None, -3.0]), [1, None, -3]),
    "large_string": ("VARCHAR", pa.array(["é", None, ""], pa.large_string()), ["é", None, ""]),
    "dictionary": ("VARCHAR", pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
    "dictionary of numbers": ("DOUBLE", pa.array([1, 2, 1]).dictionary_encode(), [1.0, 2.0, 1.0]),
    "only NULLs": ("DOUBLE", pa.nulls(2), [None, None]),
    "booleans": ("BOOLEAN", pa.array([True, None, False]), [True, None, False]),
    "microseconds": ("TIMESTAMP", pa.array([AT, None], pa.timestamp("us")), [AT, None]),
    "NaN for a missing number": ("DOUBLE", pa.array([float("nan"), 2.0]), [None, 2.0]),
    "NaN for a missing integer": ("BIGINT", pa.array([float("nan"), 2.0]), [None, 2]),
    "lists": ("VARCHAR[]", pa.array([["a"], None]), [["a"], None]),
}


@pytest.mark.parametrize("case", EXACT)
def test_converts_types_that_hold_the_same_values(case: str) -> None:
    kind, values, expected = EXACT[case]
    batches = read(kind, values)
    assert values_of(batches) == expected
    assert [batch.rejects for batch in batches] == [()]


INEXACT = {
    "a fraction": ("BIGINT", pa.array([1.5] + [2.0] * MANY), "no exact conversion from double"),
    "a large integer": ("DOUBLE", pa.array([2**53 + 1] + [2] * MANY), "no exact conversion from int64"),
    "beyond 64 bits": (
        "BIGINT",
        pa.array([2**63] + [2] * MANY, pa.uint64()),
        "no exact conversion from uint64",
    ),
    "infinity": ("DOUBLE", pa.array([float("inf")] + [2.0] * MANY), "not a finite number"),
    "a year": (
        "TIMESTAMP",
        pa.array([datetime(1969, 1, 1)] + [AT] * MANY, pa.timestamp("us")),
        "a time that is out of range",
    ),
}


@pytest.mark.parametrize("case", INEXACT)
def test_rejects_rows_without_an_exact_value(case: str) -> None:
    kind, values, reason = INEXACT[case]
    first, *others = read(kind, values)
    [reject] = first.rejects
    assert (reject.line, reject.reason) == (1, f"row group 0: column a ({kind}): {reason}")
    assert len(values_of([first, *others])) == MANY
    assert not any(batch.rejects for batch in others)


def varint(number: int) -> bytes:
    """Encode a number as the footer does: zigzag, in groups of seven bits."""
    groups = []
    left = number << 1
    while left > 127:
        groups.append(left & 127 | 128)
        left >>= 7
    return bytes([*groups, left])


def test_reads_as_many_rows_as_the_footer_lists_or_refuses_the_file() -> None:
    """The footer states the number of rows for the file, for the row group and for each column."""
    rows = pa.table({"a": range(12_345), "b": range(12_345)})
    data = packed(rows, 20_000)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    places = [at for at in range(start, len(data)) if data.startswith(varint(12_345), at)]
    assert len(places) > 3
    outcomes = []
    for at in places:
        changed = data[:at] + varint(12_000) + data[at + len(varint(12_345)) :]
        try:
            outcomes.append(sum(batch.rows.num_rows for batch in read_packed("BIGINT", changed, ("a", "b"))))
        except RawFileError as refusal:
            outcomes.append("its footer lists" in str(refusal))
    assert set(outcomes) <= {12_345, True}


def test_rejects_a_missing_required_value_with_its_row() -> None:
    batches = read("VARCHAR", pa.array(["x"] * MANY + [None]), required=True)
    [reject] = batches[-1].rejects
    assert (reject.line, reject.reason) == (MANY + 1, "row group 2: column a (VARCHAR): it is empty")
    assert reject.raw_text == '{"a": null}'


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DOUBLE", pa.array(["1"])),
        ("VARCHAR", pa.array([1])),
        ("VARCHAR", pa.array([b"x"])),
        ("BOOLEAN", pa.array([1])),
        ("BIGINT", pa.array([True])),
        ("TIMESTAMP", pa.array([AT.replace(tzinfo=UTC)])),
        ("TIMESTAMPTZ", pa.array([AT])),
        ("TIMESTAMP", pa.array([AT], pa.timestamp("ns"))),
        ("DOUBLE", pa.array([[1.0]])),
    ],
    ids=lambda value: str(value.type if isinstance(value, pa.Array) else value),
)
def test_names_column_file_and_both_types(kind: TypeName, values: pa.Array) -> None:
    with pytest.raises(RawFileError, match=rf"x\.parquet: column a is .*; expected {kind}"):
        read(kind, values)
