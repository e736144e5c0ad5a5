"""Change CSV, wide CSV, JSON lines and a JSON list at random."""

import csv
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from hostile.mutated_file import JOB_LOG, TYPED, Expected, Make, Mutated, Row, row_of
from hostile.mutations import Mutate, damage, insert, one_of

ROWS = 24
START = datetime(2023, 3, 1, tzinfo=UTC)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Values to insert.

NUMBERS = (
    *b"nan -inf 1e999 1e-400 0x1F - +5 .5 5. 1_000 1e5 1.5 -0 00012 9007199254740993".split(),
    *b"9223372036854775807 9223372036854775808 -9223372036854775809".split(),
    *(b"9" * 5000, b"0." + b"3" * 5000, b"1e" + b"9" * 400, b" 7 ", "１２".encode()),
)
_TIMES = """
9999-12-31 23:59:59|0000-00-00 00:00:00|2023-02-30 00:00:00+00:00|1969-12-31 23:59:59Z|2023-03-01T00:00:00Z
2023-03-01 24:00:00+00:00|2023-03-01 00:00:00+99:99|2023-03-01|2023-03-01 00:00:60Z|2100-01-01 00:00:00
2023-03-01 00:00:00.1234567Z|4102444800|1e18|253402300800000|-1|2017-10-07 01:11:39 PDT
"""
TIMES = tuple(re.split(rb"[|\n]", _TIMES.strip().encode()))
SIGNS = (
    *(b'"', b'""', b'"\n', b'\n"', b'","', b"\r", b"\r\n", b"\n\n", b"\n", b",", b",,,,", b";", b"\t", b"'"),
    *(b"\0", b"\xff", BYTE_ORDER_MARK, b"\xc3", b"\xed\xa0\x80", b"\x1a", b"\\", b" ", b"\x85", b"\x0b"),
    *("\u2028".encode(), b"\x1f\x8b", b"x\x9c", b"\x28\xb5\x2f\xfd", b"a" * 140_000, b"#", b"=1+1"),
)
LISTS = (b"[]", b"[1, null]", b"['a']", b'["a"', b"[[1]]", b"[NaN]", b"[1e999]", b"[" * 5000, b"{1}", b"()")


# CSV.


def _replace_fields(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(chance.randint(1, 3)):
        line = chance.randrange(len(lines))
        fields = lines[line].split(b",")
        fields[chance.randrange(len(fields))] = chance.choice((*NUMBERS, *TIMES, *SIGNS, *LISTS, b""))
        lines[line] = b",".join(fields)
    return b"\n".join(lines)


def _rearrange_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            lines[one], lines[two] = lines[two], lines[one]
        case 1:
            lines.insert(one, lines[two])
        case 2:
            del lines[one]
        case 3:
            lines[one : one + 2] = [b"".join(lines[one : one + 2])]
        case 4:
            lines[one] = lines[one][: chance.randrange(len(lines[one]) + 1)]
    return b"\n".join(lines)


def _recode(data: bytes, chance: random.Random) -> bytes:
    """Change the line ends, the quotes or the header of a file, or the encoding of the file or of a line."""
    lines = data.split(b"\n")
    match chance.randrange(7):
        case 0:
            return data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n", b"\n\r", b" \n", b",\n")))
        case 1:
            return chance.choice((BYTE_ORDER_MARK, BYTE_ORDER_MARK * 2, b"\n\r\n", b"\xff\xfe", b" ")) + data
        case 2:
            return data.decode().encode(chance.choice(("utf-16", "utf-16-le", "utf-32", "utf-7")))
        case 3:
            lines[-2] = lines[-2].decode().encode(chance.choice(("utf-16-le", "latin-1", "utf-7")))
        case 4:
            header = lines[0].split(b",")
            chance.shuffle(header)
            lines[0] = b",".join(header[: chance.choice((None, None, 1, -1))])
        case 5:
            return data.rstrip(b"\r\n")
        case 6:
            lines = [b",".join(b'"%b"' % field for field in line.split(b",")) for line in lines]
    return b"\n".join(lines)


mutate_csv = one_of(
    *(damage, insert((*SIGNS, *NUMBERS)), _replace_fields, _replace_fields, _rearrange_lines, _recode)
)


@dataclass(frozen=True)
class Lines:
    """A file with one line per row. `rows` maps each line to its row.

    With `may_lack_header`, the file has no header, but ingest accepts one. With `ends_in_newline`, ingest
    rejects a last line without a newline.
    """

    table: str
    rows: Mapping[bytes, Row]
    header: bytes = b""
    may_lack_header: bool = False
    ends_in_newline: bool = True

    @property
    def text(self) -> bytes:
        """The content of the file before it is changed."""
        header = [] if self.may_lack_header or not self.header else [self.header]
        return b"".join(line + b"\n" for line in (*header, *self.rows))

    def expect(self, data: bytes) -> Expected:
        """Expect a row for each line that is not blank, and the rows of unchanged lines."""
        lines = [line for line in re.split(rb"[\r\n]+", data.removeprefix(BYTE_ORDER_MARK)) if line]
        is_header = bool(self.header) and not self.may_lack_header
        if self.may_lack_header:
            is_header = _fields(lines[0]) == _fields(self.header)
        rows = lines[1:] if is_header else lines
        has_end = data.endswith((b"\n", b"\r")) or not self.ends_in_newline
        # With another header, the same line has other values.
        is_as_before = not is_header or lines[0] == self.header
        kept = [self.rows[line] for line in rows[: None if has_end else -1] if line in self.rows]
        return Expected({self.table: len(rows)}, {self.table: Counter(kept if is_as_before else [])})


def _fields(line: bytes) -> set[str]:
    try:
        return set(next(csv.reader([line.decode("utf-8", "replace")]), []))
    except csv.Error:
        return set()


def _typed_row(number: int) -> tuple[dict[str, object], Row]:
    """Return the texts or JSON values of a row with all types, and the values that ingest must store."""
    at, local = START + timedelta(seconds=15 * number), datetime(2020, 6, 9, 18, 41, number)
    seconds = 1_662_858_720 + number
    written = {
        "id": f"job {number}",
        "count": 1000 + number,
        "share": number + 0.25,
        "ok": number % 2 == 0,
        "at": f"{at.replace(tzinfo=None)}+00:00",
        "day": str(local) if number % 3 else "None",
        "seconds": seconds,
        "millis": 1000 * seconds + number,
        "text": [number, "x"],
        "names": [f"gpu{number}", "é"],
        "sizes": [number, -number],
        "shares": [number + 0.5],
    }
    unix = datetime.fromtimestamp(seconds, UTC)
    converted = {
        "at": at,
        "day": local if number % 3 else None,
        "seconds": unix,
        "millis": unix + timedelta(milliseconds=number),
        "text": json.dumps(written["text"]),
    }
    return written, row_of([*(written | converted).values(), "+00:00"])


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if "," in text else text


def plain_lines(part: int | None = None) -> Lines:
    """Return a file of the table `plain`, or the file of the table `part` with this number as its key."""
    key = () if part is None else (part,)
    rows = {f"p{part}é{n},{n},{n}.5".encode(): (*key, f"p{part}é{n}", n, n + 0.5) for n in range(ROWS)}
    return Lines("plain" if part is None else "part", rows, b"id,count,share")


def _wide_row(number: int) -> tuple[bytes, Row]:
    at = START + timedelta(seconds=15 * number)
    cells = (number + 0.5, None if number % 4 == 0 else float(number), 3.25)
    text = ",".join("" if cell is None else str(cell) for cell in cells)
    return f"{at.replace(tzinfo=None)}+00:00,{text}".encode(), (at, *cells)


TYPED_ROWS = [_typed_row(number) for number in range(ROWS)]
_MIDNIGHT = START + timedelta(hours=8)
CSVS = (
    plain_lines(),
    Lines(
        "typed",
        {",".join(map(_cell, written.values())).encode(): row for written, row in TYPED_ROWS},
        ",".join(column.name for column in TYPED).encode(),
    ),
    Lines(
        "bare",
        {
            b"b%d,%d,2023-03-01 00:00:%02d PST," % (n, n, n): (f"b{n}", n, _MIDNIGHT + timedelta(seconds=n))
            for n in range(ROWS)
        },
        b"id,count,at",
        may_lack_header=True,
        ends_in_newline=False,
    ),
    Lines("single", {b"s%d" % n: (f"s{n}",) for n in range(ROWS)}, b"id"),
)
WIDE_CSVS = (
    Lines("wide", dict(map(_wide_row, range(ROWS))), b"Time,n1-0,n1-1,n2-0"),
    Lines("steps", {b"%d,%d.5,7" % (n, n): (n, n + 0.5, 7.0) for n in range(ROWS)}, b",a,b"),
)
JSON_LINES = Lines(
    "lines",
    {json.dumps(written, ensure_ascii=False).encode(): row for written, row in TYPED_ROWS},
    ends_in_newline=False,
)


def _make_lines(found: Sequence[Lines], mutate: Mutate, ending: str = "csv") -> Make:
    def make(chance: random.Random) -> Mutated:
        lines = chance.choice(found)
        data = mutate(lines.text, chance)
        return Mutated(f"{lines.table}.{ending}", data, partial(lines.expect, data))

    return make


# JSON.

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[][{},:]')
VALUES = (
    *b"null true {} [] 0 -0 1E5 1e400 -1e400 1.50 01 NaN -Infinity undefined /**/ 'a' [1e999]".split(),
    *(b'""', b'"None"', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\u0000"', b'"a\nb"', b'"\xff"', b'"\\x"'),
    *(b'"\xed\xa0\x80"', b'"' + b"a" * 140_000 + b'"', b'{"a": 1, "a": 2}', b'{"": {}}', BYTE_ORDER_MARK),
    *(b"9" * 5000, b"1" * 4301, b"18446744073709551616", b"[[[[]]]]", b"[" * 400 + b"]" * 400),
    *(b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 3000 + b"1" + b"}" * 3000),
    *(b'["a", 1]', b"[null]", b'["\\ud800"]', b'"[1, 2]"', b'"2017-13-07 01:11:39"'),
)


def _replace_tokens(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        tokens = [found.span() for found in _TOKEN.finditer(data)]
        if not tokens:
            break
        start, end = chance.choice(tokens)
        other = data[slice(*chance.choice(tokens))]
        value = chance.choice(VALUES)
        new = chance.choice((value, value, other, data[start:end] * 2, b""))
        data = data[:start] + new + data[end:]
    return data


def _change_names(data: bytes, chance: random.Random) -> bytes:
    """Add a name to an object, or rename or repeat one."""
    names = list(re.finditer(rb'"[a-z_]+": ', data))
    found = chance.choice(names)
    name = found[0]
    new = chance.choice((name + b"1, " + name, b'"more": 1, ' + name, b'"other": ', b'"\\u0069d": '))
    return data[: found.start()] + new + data[found.end() :]


mutate_json = one_of(
    *(damage, insert(SIGNS), _replace_tokens, _replace_tokens, _replace_tokens, _change_names)
)

# The job log of Philly.
JOBS = [
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": f"application_{number}",
        "attempts": [
            {
                "start_time": "2017-10-07 01:12:09",
                "end_time": "2017-10-07 01:13:23" if number % 3 else None,
                "detail": [{"ip": f"m{n}", "gpus": ["gpu0", f"gpu{n}"]} for n in range(attempt)],
            }
            for attempt in range(number % 4)
        ],
        "submitted_time": "2017-10-07 01:11:39",
        "user": f"user {number}",
    }
    for number in range(ROWS)
]


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _rows_of_job(job: dict) -> dict[str, list[Row]]:
    attempts = list(enumerate(job["attempts"], 1))
    columns = JOB_LOG[0].columns
    return {
        "job": [tuple(_time(job[c.name]) if c.type == "TIMESTAMP" else job[c.name] for c in columns)],
        "attempt": [
            (job["jobid"], number, _time(attempt["start_time"]), _time(attempt["end_time"]))
            for number, attempt in attempts
        ],
        "attempt_machine": [
            (job["jobid"], number, place, machine["ip"], tuple(machine["gpus"]))
            for number, attempt in attempts
            for place, machine in enumerate(attempt["detail"], 1)
        ],
    }


# Replaces a value that is not strict JSON. Ingest rejects the object with such a value as one row.
_UNFIT = "\udc80"


def _strict_object(pairs: list[tuple[str, object]]) -> object:
    return dict(pairs) if len(dict(pairs)) == len(pairs) else _UNFIT


def _count_objects(value: object, path: Sequence[str]) -> int:
    """Count the rows of a value: the objects at the end of the path, or one for a missing list."""
    if not path:
        return 1
    listed = value.get(path[0]) if isinstance(value, dict) else None
    return sum(_count_objects(each, path[1:]) for each in listed) if isinstance(listed, list) else 1


def _expect_jobs(data: bytes) -> Expected | None:
    # Ingest rejects only the object whose bytes are not UTF-8, not the list.
    text = data.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    number = "number {}".format
    options = {"parse_int": number, "parse_float": number, "parse_constant": lambda _: _UNFIT}
    try:
        found = json.loads(text, object_pairs_hook=_strict_object, **options)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    counts = dict.fromkeys((table.name for table in JOB_LOG), 0)
    rows: dict[str, Counter[Row]] = {name: Counter() for name in counts}
    for job in found:
        is_fit = re.search("[\udc80-\udcff]", json.dumps(job, ensure_ascii=False)) is None
        for table in JOB_LOG:
            assert table.json_list
            counts[table.name] += _count_objects(job, table.json_list.path) if is_fit else 1
        for name, own in _rows_of_job(job).items() if job in JOBS else ():
            rows[name].update(own)
    return Expected(counts, rows)


def _make_job_log(chance: random.Random) -> Mutated:
    data = mutate_json(json.dumps(JOBS, indent=chance.choice((None, 1)), ensure_ascii=False).encode(), chance)
    return Mutated("cluster_job_log", data, partial(_expect_jobs, data))


TEXTS: dict[str, Make] = {
    "CSV": _make_lines(CSVS, mutate_csv),
    "wide CSV": _make_lines(WIDE_CSVS, mutate_csv),
    "JSON lines": _make_lines((JSON_LINES,), one_of(mutate_json, mutate_json, _rearrange_lines), "jsonl"),
    "JSON list": _make_job_log,
}
