"""Each line is a JSON object; a line that is not, or that does not fit, is rejected with its number."""

import io

import pytest

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.readers import ReaderInput, Reject
from tracehouse.ingest.dump.readers import json_lines as json_lines_reader

TABLE = Table(
    name="request",
    comment="",
    grain="",
    source="",
    file_name=r"requests\.jsonl",
    columns=(Column("at", "DOUBLE", "", "s"), Column("kind", "VARCHAR", ""), Column("ids", "BIGINT[]", "")),
    optional=frozenset({"kind"}),
)
SOUND = b'{"at": 1.5, "kind": "a", "ids": [9007199254740993, 2]}\n'
REJECTED = {
    b'{"at": 1, "kind": "a", "ids": [1, ': "not JSON: Expecting value, at character 35",
    b'{"at": 1, "ids": [1]} x': "not JSON: Extra data, at character 23",
    b"[1]": "not a JSON object",
    b'{"at": 1}': "no value for ids",
    b'{"at": 1, "ids": [1], "b": 2}': "the key b, which the publisher's file lacks",
    b'{"at": 1, "ids": [1], "at": 2}': "an object that has a name twice",
    b'{"at": NaN, "ids": []}': "not JSON: NaN is not JSON",
    b'{"at": "x", "ids": []}': "column at (DOUBLE)",
    b'{"at": 1, "ids": [1.5]}': "column ids (BIGINT[])",
    b'{"at": 1, "ids": [[1]]}': "column ids (BIGINT[])",
    b'{"at": 1, "ids": ["a"]}': "column ids (BIGINT[])",
    b'{"at": 1, "ids": 1}': "column ids (BIGINT[])",
    b'{"at": 1, "ids": ["1, 2", 3]}': "column ids (BIGINT[]): not a JSON list of whole numbers",
    b'{"at": 1, "ids": ["1"]}': "column ids (BIGINT[]): not a JSON list of whole numbers",
    b'{"at": 1, "ids": [""]}': "column ids (BIGINT[]): not a JSON list of whole numbers",
    b'{"at": 1, "ids": [null]}': "column ids (BIGINT[]): not a JSON list of whole numbers",
    b'{"at": 1, "ids": [true]}': "column ids (BIGINT[]): not a JSON list of whole numbers",
    b'{"at": 1, "ids": "[1, 2]"}': "column ids (BIGINT[]): not a JSON list of whole numbers",
    b'{"at": 1, "kind": "\xff", "ids": []}': "invalid UTF-8",
    b'{"at": ' + b"[" * 100_000: "nested too deeply",
}


def read(data: bytes, chunk_bytes: int = 1 << 20) -> tuple[list[tuple], list[Reject]]:
    source = ReaderInput(io.BytesIO(data), TABLE, "requests.jsonl", chunk_bytes=chunk_bytes)
    batches = list(json_lines_reader.read(source))
    rows = [tuple(row.values()) for batch in batches for row in batch.rows.to_pylist()]
    return rows, [reject for batch in batches for reject in batch.rejects]


@pytest.mark.parametrize("chunk_bytes", [1, 100, 1 << 20])
def test_reads_lines_with_any_ends(chunk_bytes: int) -> None:
    lines = b'\xef\xbb\xbf{"ids": [], "at": null}\r\n\n' + SOUND + b'{"at": 2, "ids": null}'
    assert read(lines, chunk_bytes) == (
        [(None, None, []), (1.5, "a", [9007199254740993, 2]), (2, None, None)],
        [],
    )


@pytest.mark.parametrize("line", REJECTED)
def test_rejects_a_line_with_its_number(line: bytes) -> None:
    rows, [reject] = read(SOUND * 20 + line + b"\n" + SOUND)
    assert len(rows) == 21
    assert reject.line == 21
    assert REJECTED[line] in reject.reason
    assert line.decode(errors="replace")[:20] == reject.raw_text[:20] or b"\xff" in line


def test_a_file_of_other_content_is_an_error() -> None:
    with pytest.raises(RawFileError, match="the file is empty"):
        read(b"\n\n")
    with pytest.raises(RawFileError, match=r"2 of its 2 rows do not fit.*not JSON"):
        read(b"at,ids\n1,2\n")
