"""Change Parquet files at random: pages, footer, columns and options of the format."""

import base64
import io
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from hostile.mutated_file import PARQUET, Expected, Make, Mutated, Row, row_of
from hostile.mutated_texts import ROWS, START
from hostile.mutations import damage, exchange, flip_bits, one_of, overwrite, zero

GROUP_ROWS = 8
TYPES = (
    *(pa.int8(), pa.int32(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.null()),
    *(pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("us"), pa.duration("us"), pa.decimal128(20, 3)),
    *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("ns"), pa.timestamp("us", "UTC")),
    *(pa.timestamp("ms", "Asia/Shanghai"), pa.list_(pa.string()), pa.list_(pa.int64())),
    *(pa.large_list(pa.string()), pa.list_(pa.large_string()), pa.list_view(pa.string())),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64())),
)


def _retype(column: pa.ChunkedArray, chance: random.Random) -> pa.ChunkedArray:
    """Cast a column to another type, or nest it."""
    kind = chance.choice(TYPES)
    try:
        return column.cast(kind, safe=chance.random() < 0.5)
    except (pa.ArrowException, NotImplementedError):
        pass
    values = column.combine_chunks()
    offsets = pa.array(range(len(column) + 1), pa.int32())
    match chance.randrange(4):
        case 0:
            nested = pa.nulls(len(column), kind)
        case 1:
            nested = pa.StructArray.from_arrays([values], ["x"])
        case 2:
            nested = pa.ListArray.from_arrays(offsets, values)
        case _:
            nested = pa.MapArray.from_arrays(offsets, pa.array(map(str, range(len(column)))), values)
    return pa.chunked_array([nested])


def _change_columns(rows: pa.Table, chance: random.Random) -> pa.Table:
    number = chance.randrange(rows.num_columns)
    name, column = rows.column_names[number], rows.column(number)
    match chance.randrange(9):
        case 4:
            return rows.remove_column(number)
        case 5:
            return rows.append_column(chance.choice((name, "more", "", "a.b", "é\0")), column)
        case 6:
            return rows.select(chance.sample(range(rows.num_columns), rows.num_columns))
        case 7:
            return rows.slice(0, chance.choice((0, 1)))
        case 8:
            return rows.set_column(number, name, pa.nulls(rows.num_rows, column.type))
        case _:
            return rows.set_column(number, name, _retype(column, chance))


def _rewrite(data: bytes, chance: random.Random) -> bytes:
    """Rewrite the file with other columns and other options of the format."""
    rows = pq.read_table(io.BytesIO(data))
    for _ in range(chance.choice((0, 1, 1, 2))):
        rows = _change_columns(rows, chance) if rows.num_columns else rows
    if chance.random() < 0.1:
        schema = chance.choice((rows.schema.serialize().to_pybytes(), chance.randbytes(90)))
        rows = rows.replace_schema_metadata({"ARROW:schema": base64.b64encode(schema), "pandas": "{"})
    switches = (
        "use_dictionary",
        "write_statistics",
        "write_page_index",
        "write_page_checksum",
        "store_schema",
    )
    try:
        return pack(
            rows,
            row_group_size=chance.choice((1, 7, 16, 1000)),
            version=chance.choice(("1.0", "2.4", "2.6")),
            data_page_version=chance.choice(("1.0", "2.0")),
            compression=chance.choice(("none", "snappy", "gzip", "brotli", "lz4", "zstd")),
            use_deprecated_int96_timestamps=chance.choice((True, False, None)),
            dictionary_pagesize_limit=chance.choice((1, 1 << 20)),
            data_page_size=chance.choice((1, 1 << 20)),
            **{switch: chance.random() < 0.5 for switch in switches},
        )
    except (pa.ArrowException, NotImplementedError):
        # pyarrow cannot write every type.
        return data


def pack(rows: pa.Table, **options: object) -> bytes:
    packed = io.BytesIO()
    pq.write_table(rows, packed, **options)  # type: ignore[arg-type]
    return packed.getvalue()


def _split_footer(data: bytes) -> tuple[bytes, bytes]:
    """Return the pages, and the footer without its length."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return data[:start], data[start:-8]


def _damage_footer(data: bytes, chance: random.Random) -> bytes:
    pages, footer = _split_footer(data)
    changed = damage(footer, chance)
    stated = chance.choice((len(changed), len(changed), len(footer), 0, 2**31, 2**32 - 1))
    return pages + changed + stated.to_bytes(4, "little") + b"PAR1"


def _set_footer_number(data: bytes, chance: random.Random) -> bytes:
    """Change bytes of the footer, which encode counts, offsets and types, to near or extreme values."""
    pages, footer = _split_footer(data)
    changed = bytearray(footer)
    for _ in range(chance.choice((1, 1, 3))):
        at = chance.randrange(len(changed))
        near = (changed[at] + chance.choice((2, -2))) % 256
        changed[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, near, near))
    return pages + changed + data[-8:]


def _damage_pages(data: bytes, chance: random.Random) -> bytes:
    pages, _ = _split_footer(data)
    if len(pages) < 6:
        # The file has no rows.
        return damage(data, chance)
    mutation = chance.choice((flip_bits, flip_bits, overwrite, zero, exchange))
    return data[:4] + mutation(pages[4:], chance) + data[len(pages) :]


_damage_part = one_of(
    *(damage, _damage_footer, _set_footer_number, _set_footer_number, _damage_pages, _damage_pages)
)


def mutate_parquet(data: bytes, chance: random.Random) -> bytes:
    """Write a file with other columns and options, damage it, or both."""
    return chance.choice((_damage_part, _damage_part, _rewrite, _rewrite_and_damage))(data, chance)


def _rewrite_and_damage(data: bytes, chance: random.Random) -> bytes:
    return _damage_part(_rewrite(data, chance), chance)


# The original files, and DuckDB as an independent reader.


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file of a table. `columns` are the columns to compare, in the order of the table."""

    table: str
    rows: pa.Table
    columns: tuple[str, ...]

    @cached_property
    def values(self) -> list[Row]:
        columns = (self.rows.column(name).to_pylist() for name in self.columns)
        return [row_of(row) for row in zip(*columns, strict=True)]

    def expect(self, before: bytes, data: bytes) -> Expected:
        """Expect the rows that DuckDB finds. Rows of unchanged row groups must be kept."""
        as_before: Counter[Row] = Counter()
        spans = _spans(before)
        if data[spans[-1][1] :] == before[spans[-1][1] :]:
            for number, (start, end) in enumerate(spans):
                if data[start:end] == before[start:end]:
                    as_before.update(self.values[GROUP_ROWS * number : GROUP_ROWS * (number + 1)])
        found = _read_with_duckdb(data, self.columns)
        if found is None:
            return Expected(rows={self.table: as_before})
        return Expected(
            {self.table: len(found)}, {self.table: as_before | Counter(found) & Counter(self.values)}
        )


def _spans(data: bytes) -> list[tuple[int, int]]:
    """Return the first and last byte position of each row group."""
    metadata = pq.read_metadata(io.BytesIO(data))
    spans = []
    for group in range(metadata.num_row_groups):
        columns = [metadata.row_group(group).column(number) for number in range(metadata.num_columns)]
        starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
        ends = [at + column.total_compressed_size for at, column in zip(starts, columns, strict=True)]
        spans.append((min(starts), max(ends)))
    return spans


def _read_with_duckdb(data: bytes, columns: Sequence[str]) -> list[Row] | None:
    path = Path("other code.parquet")
    path.write_bytes(data)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("set timezone = 'UTC'")
        try:
            relation = connection.read_parquet(str(path))
            named = [f'"{name}"' if name in relation.columns else "null" for name in columns]
            if any(kind.id in ("struct", "map") for kind in relation.types):
                # Dictionaries cannot be counted, and ingest refuses such columns.
                named = ["null"]
            return [row_of(row) for row in relation.project(", ".join(named)).fetchall()]
        except (duckdb.Error, ValueError, OverflowError):
            return None


NUMBERS = range(ROWS)
COLUMNS = ParquetFile(
    "columns",
    pa.table(
        {
            "id": [f"job {n // 2}" if n % 3 else f"é{n}" for n in NUMBERS],
            "count": pa.array([n * 1000 if n % 7 else None for n in NUMBERS], pa.int64()),
            "share": [n + 0.25 for n in NUMBERS],
            "ok": [n % 2 == 0 for n in NUMBERS],
            "at": pa.array([START + timedelta(seconds=n) for n in NUMBERS], pa.timestamp("us", "UTC")),
            "day": pa.array([datetime(2020, 6, 9, 18, n) for n in NUMBERS], pa.timestamp("us")),
            "names": [[f"gpu{n}", None, "x"][: n % 4] for n in NUMBERS],
        }
    ),
    tuple(column.name for column in PARQUET),
)
HOURS = ParquetFile(
    "hourly",
    pa.table(
        {
            "id": [f"pod {n}" for n in NUMBERS],
            "count": NUMBERS,
            "day": [n // 12 for n in NUMBERS],
            "hour": [n // 6 for n in NUMBERS],
        }
    ),
    ("day", "hour", "id", "count"),
)


def _make_parquet(chance: random.Random) -> Mutated:
    one = chance.choice((COLUMNS, COLUMNS, HOURS))
    before = pack(one.rows, row_group_size=GROUP_ROWS, write_page_checksum=chance.random() < 0.3)
    data = mutate_parquet(before, chance)
    return Mutated(f"{one.table}.parquet", data, partial(one.expect, before, data))


PARQUETS: dict[str, Make] = {"Parquet": _make_parquet}
