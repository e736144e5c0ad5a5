"""Rows are decoded in large batches, or in small ones if a few bytes may decode to long texts."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracehouse.ingest.readers.parquet_pages import Pages

MOST = 32_768
NAMES = [f"{number % 999:032d}" for number in range(40_000)]
COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
OPTIONS = {
    "with a dictionary": {},
    "without one": {"use_dictionary": False},
    "with part of one": {"dictionary_pagesize_limit": 1000},
    "with lengths before texts": {
        "use_dictionary": False,
        "column_encoding": {"name": "DELTA_LENGTH_BYTE_ARRAY"},
    },
    "with large page headers": {"write_statistics": True, "write_page_checksum": True},
}


def batch_rows(rows: pa.Table, **options: Any) -> int:
    data = io.BytesIO()
    pq.write_table(rows, data, **options)
    pages = Pages(data, pq.ParquetFile(data).schema, "x.parquet")
    return pages.find_batch_rows(0, rows.column_names, MOST)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("options", OPTIONS)
def test_decodes_many_short_rows_at_once(version: str, options: str) -> None:
    rows = pa.table({"name": NAMES, "number": range(len(NAMES))})
    settings: dict = {"data_page_size": 10_000, "data_page_version": version}
    assert batch_rows(rows, **settings, **OPTIONS[options]) == MOST


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_decodes_fewer_rows_at_once_if_one_text_of_a_dictionary_is_long(
    compression: str, version: str
) -> None:
    rows = pa.table({"name": [*NAMES, "x" * 100_000], "number": [*range(len(NAMES)), None]})
    found = batch_rows(rows, compression=compression, data_page_version=version)
    assert 1000 < found < 1400
