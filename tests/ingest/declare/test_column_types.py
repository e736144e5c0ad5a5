"""Each column type: the texts that it accepts, their values, and the texts that it rejects."""

import io
from datetime import UTC, datetime, timedelta

import pytest

from tracehouse.ingest.declare.column_types import TYPES, TypeName
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.readers import ReaderInput
from tracehouse.ingest.dump.readers import csv as csv_reader

NAIVE, AWARE = datetime(2020, 6, 9, 18, 41, 1), datetime(2022, 9, 11, 1, 12, tzinfo=UTC)

VALUES: dict[TypeName, list[tuple[str, object]]] = {
    "VARCHAR": [("a", "a"), (" 1 ", " 1 "), ("é", "é"), ('"', '"')],
    "BIGINT": [("1", 1), ("-1.0", -1), ("1e+05", 100_000), (" 7\t", 7), (str(2**63 - 1), 2**63 - 1)],
    "DOUBLE": [("1.5", 1.5), ("-1e-3", -0.001), (" 7", 7.0)],
    "BOOLEAN": [
        *((word, True) for word in ("true", "True", "TRUE", "1")),
        *((word, False) for word in ("false", "False", "FALSE", "0")),
    ],
    "TIMESTAMPTZ": [("2022-09-11 09:12:00+08:00", AWARE), ("2022-09-11T01:12:00Z", AWARE)],
    "TIMESTAMP": [
        ("2020-06-09 18:41:01", NAIVE),
        ("2020-06-09T18:41:01.000001", NAIVE + timedelta(microseconds=1)),
        ("2020-06-09 18:41:01.0000010", NAIVE + timedelta(microseconds=1)),
        ("2020-06-09 18:41", NAIVE.replace(second=0)),
        ("2020-06-09", NAIVE.replace(hour=0, minute=0, second=0)),
    ],
    "VARCHAR[]": [
        ("[]", []),
        ('["a", "b,c"]', ["a", "b,c"]),
        ("[null]", [None]),
    ],
    "BIGINT[]": [("[]", []), ("[1, -2]", [1, -2])],
}
FAULTS: dict[TypeName, list[str]] = {
    "VARCHAR": ["a\0b"],
    "BIGINT": ["1.5", "1_000", "0x10", str(2**63), "x", "Nan"],
    "DOUBLE": ["Nan", "inf", "1e400", "1,5", "0x1p3"],
    "BOOLEAN": ["yes", "t", "2", " true", "tRUE", "1.0"],
    "TIMESTAMPTZ": ["2022-09-11 01:12:00", "2100-01-01 00:00:00Z", "2022-02-30 00:00:00Z", "1662858720"],
    "TIMESTAMP": [
        "2020-06-09 18:41:01+08:00",
        "2020-06-09 18:41:01Z",
        "1969-12-31 23:59:59",
        "2100-01-01 00:00:00",
        "2020-02-30 00:00:00",
        "2020-06-09 18:41:01.0000001",
        "09/06/2020 18:41",
        "2020-06",
        "2020-06-31",
    ],
    "VARCHAR[]": [
        "[1]",
        "a",
        "{}",
        "('a',)",
        '["a"',
        '[["a"]]',
        "['a']",
        "__import__('os')",
        "[" * 100_000,
        "[\0]\0",
    ],
    "BIGINT[]": ["1", "[1.5]", "[null]", "[true]", f"[{2**63}]", '["1"]', "[" * 100_000],
}


def read(kind: TypeName, texts: list[str], may_be_utc: bool = False) -> tuple[list[object], list[str]]:
    """Return the values of a column with these texts, and the reasons of rejected texts."""
    lines = (f'"{text.replace(chr(34), chr(34) * 2)}",y\n' for text in texts)
    data = io.BytesIO(("x,y\n" + "".join(lines) + ',""\n' * 9 * len(texts)).encode())
    columns = (Column("x", kind, "", may_be_utc=may_be_utc), Column("y", "VARCHAR", ""))
    table = Table("t", "", "", "", r"t\.csv", columns)
    batches = list(csv_reader.read(ReaderInput(data, table, "t.csv")))
    values = [value for batch in batches for value in batch.rows["x"].to_pylist()]
    assert values[len(values) - 9 * len(texts) :] == [None] * 9 * len(texts)
    reasons = [reject.reason for batch in batches for reject in batch.rejects]
    return values[: len(values) - 9 * len(texts)], reasons


def test_every_type_has_valid_and_invalid_texts() -> None:
    assert TYPES.keys() == VALUES.keys() == FAULTS.keys()


@pytest.mark.parametrize(
    ("kind", "text", "value"), [(k, *pair) for k, all_ in VALUES.items() for pair in all_]
)
def test_reads_value_of_valid_text(kind: TypeName, text: str, value: object) -> None:
    assert read(kind, [text]) == ([value], [])


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FAULTS.items() for text in texts])
def test_rejects_invalid_text_with_reason(kind: TypeName, text: str) -> None:
    kept, reasons = read(kind, [text])
    assert kept == []
    assert len(reasons) == 1
    assert reasons[0].startswith(f"column x ({kind}): ")


@pytest.mark.parametrize("separator", [" ", "T"])
@pytest.mark.parametrize("decimals", ["", ".0", ".000000", ".000000000"])
@pytest.mark.parametrize("offset", ["", "Z", "+00:00", "-00:00", "+0000", "+00"])
def test_reads_times_that_may_be_utc(separator: str, decimals: str, offset: str) -> None:
    text = f"2020-06-09{separator}18:41:01{decimals}{offset}"
    assert read("TIMESTAMP", [text], may_be_utc=True) == ([NAIVE], [])


def test_rejects_another_offset_where_a_time_may_be_utc() -> None:
    kept, [reason] = read("TIMESTAMP", ["2020-06-09 18:41:01+08:00"], may_be_utc=True)
    assert kept == [] and "expected no UTC offset" in reason
