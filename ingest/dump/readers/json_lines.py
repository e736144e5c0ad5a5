"""Read JSON lines: one object on each line, with a value or null for each column that is not optional."""

from collections.abc import Iterator
from itertools import chain

from tracehouse.ingest.dump.readers import Batch, Reader, ReaderInput, limit_rejects
from tracehouse.ingest.dump.readers.json import CHUNK_BYTES, Element, parse
from tracehouse.ingest.dump.readers.lines import Chunk, open_lines, records_of


def read(source: ReaderInput) -> Iterator[Batch]:
    """Yield the rows of a file in batches; at least one batch.

    Raises RawFileError if the file is empty, or if more than a tenth of the lines is rejected.
    """
    lines = open_lines(source.stream, source.name, source.chunk_bytes or CHUNK_BYTES)
    batches = (parse(_elements(chunk), source.table) for chunk in chain([lines.first], lines.others))
    yield from limit_rejects(batches, source.name)


def _elements(chunk: Chunk) -> Iterator[Element]:
    records = records_of(chunk)
    texts = (text.rstrip(b"\r\n") for text in records.texts.to_pylist())
    return (Element(line, text, "") for line, text in zip(records.lines.tolist(), texts, strict=True))


READER = Reader(read)
