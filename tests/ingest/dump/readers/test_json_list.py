"""A JSON list of objects becomes the rows of several tables; rejects have line and reason."""

import io
import json
from datetime import datetime

import pytest

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declare.trace import Column, JsonList, Table
from tracehouse.ingest.dump.readers import ReaderInput, Reject
from tracehouse.ingest.dump.readers import json as json_reader
from tracehouse.ingest.dump.readers.json import Element, split_list

JOB_ID = Column("id", "VARCHAR", "", required=True)
COMMON = {"comment": "", "grain": "", "source": "", "file_name": "log"}
JOB = Table(
    name="job",
    columns=(JOB_ID, Column("at", "TIMESTAMP", "", null_texts=("", "None"))),
    json_list=JsonList(other_lists=("tries",)),
    **COMMON,
)
TRY = Table(
    name="try",
    columns=(JOB_ID, Column("number", "BIGINT", ""), Column("end", "TIMESTAMP", "", null_texts=("", "None"))),
    json_list=JsonList(path=("tries",), positions=("number",), outer=("id",), other_lists=("on",)),
    **COMMON,
)
MACHINE = Table(
    name="machine",
    columns=(
        JOB_ID,
        Column("number", "BIGINT", ""),
        Column("place", "BIGINT", ""),
        Column("ip", "VARCHAR", ""),
        Column("gpus", "VARCHAR[]", ""),
    ),
    json_list=JsonList(path=("tries", "on"), positions=("number", "place"), outer=("id",)),
    **COMMON,
)
FIRST = {
    "at": "2017-10-07 01:11:39",
    "id": "é",
    "tries": [
        {"end": "2017-10-07 01:13:23", "on": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": []}]},
        {"end": None, "on": []},
        {"end": "None", "on": [{"ip": "m3", "gpus": ["gpu1", "gpu2"]}]},
    ],
}
AT, END = datetime(2017, 10, 7, 1, 11, 39), datetime(2017, 10, 7, 1, 13, 23)
ROWS = {
    "job": [("é", AT)],
    "try": [("é", 1, END), ("é", 2, None), ("é", 3, None)],
    "machine": [("é", 1, 1, "m1", ["gpu0"]), ("é", 1, 2, "m2", []), ("é", 3, 1, "m3", ["gpu1", "gpu2"])],
}


def read(table: Table, data: str | bytes, chunk_bytes: int = 1 << 20) -> tuple[list[tuple], list[Reject]]:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    batches = list(json_reader.read(ReaderInput(stream, table, "log", chunk_bytes=chunk_bytes)))
    rows = [tuple(row.values()) for batch in batches for row in batch.rows.to_pylist()]
    return rows, [reject for batch in batches for reject in batch.rejects]


def test_each_table_has_its_objects() -> None:
    jobs = [FIRST, {"id": "b", "at": "", "tries": []}, FIRST]
    for table in (JOB, TRY, MACHINE):
        without = [("b", None)] if table is JOB else []
        expected = [*ROWS[table.name], *without, *ROWS[table.name]]
        for start, indent in (("", None), ("\ufeff", 4), (" \n\t", 4)):
            text = f"{start}{json.dumps(jobs, indent=indent, ensure_ascii=False)}\n"
            for chunk_bytes in (1, 7, 1 << 20):
                assert read(table, text, chunk_bytes) == (expected, [])
        assert read(table, " [ ]\n") == ([], [])


def test_elements_have_their_lines_and_texts() -> None:
    text = b'\n[\n {"a": 1.50,\n "b": "\\u00e9]\xc3\xa9"} ,\n\n[2] , 17,"x"\n]'
    for chunk_bytes in (1, 2, 3, 1000):
        found = [each for part in split_list(io.BytesIO(text), "log", chunk_bytes) for each in part]
        assert found == [
            Element(3, b'{"a": 1.50,\n "b": "\\u00e9]\xc3\xa9"}', "object 1 of the list: "),
            Element(6, b"[2]", "object 2 of the list: "),
            Element(6, b"17", "object 3 of the list: "),
            Element(6, b'"x"', "object 4 of the list: "),
        ]


def changed(**values: object) -> dict[str, object]:
    return {name: value for name, value in (FIRST | values).items() if value is not ...}


BAD = "2017-13-07 01:11:39"
BAD_TRIES = [FIRST["tries"][0], {"end": BAD, "on": [{"ip": "m1", "gpus": "gpu0"}]}]


@pytest.mark.parametrize(
    ("table", "wrong", "reasons", "kept"),
    [
        (JOB, changed(at=BAD), [f"column at (TIMESTAMP): invalid value '{BAD}'"], 0),
        (JOB, changed(at=...), ["no value for at"], 0),
        (JOB, changed(mood=1), ["the key mood, which the publisher's file lacks"], 0),
        (JOB, changed(at=[1]), ["column at (TIMESTAMP): a list or an object"], 0),
        (JOB, changed(at=1507338699), ["column at (TIMESTAMP): invalid value '1507338699'"], 0),
        (JOB, changed(id=None), ["column id (VARCHAR): it is empty"], 0),
        (JOB, changed(id="\0"), ["column id (VARCHAR): a zero byte"], 0),
        (JOB, 17, ["not a JSON object"], 0),
        (TRY, changed(at=BAD, mood=1), [], 3),
        (TRY, changed(tries=...), ["no list tries"], 0),
        (TRY, changed(tries=None), ["no list tries"], 0),
        (TRY, changed(tries=[5]), ["tries 1: not a JSON object"], 0),
        (TRY, changed(tries=[{"on": []}]), ["tries 1: no value for end"], 0),
        (
            TRY,
            changed(tries=BAD_TRIES),
            [
                f"tries 2: column end (TIMESTAMP): invalid value '{BAD}'",
                f"tries 1: rejected with its object: tries 2: column end (TIMESTAMP): invalid value '{BAD}'",
            ],
            0,
        ),
        (
            TRY,
            changed(id=...),
            [f"tries {number}: column id (VARCHAR): it is empty" for number in (1, 2, 3)],
            0,
        ),
        (MACHINE, changed(tries=...), ["no list tries"], 0),
        (MACHINE, changed(tries=[{"end": None}]), ["tries 1: no list on"], 0),
        (MACHINE, changed(tries=[5]), ["tries 1: not a JSON object"], 0),
        (MACHINE, changed(tries=[{"on": [[]]}]), ["tries 1: on 1: not a JSON object"], 0),
        (
            MACHINE,
            changed(tries=BAD_TRIES),
            [
                "tries 2: on 1: column gpus (VARCHAR[]): not a JSON list of texts",
                *(
                    f"tries 1: on {number}: rejected with its object: tries 2: on 1: "
                    "column gpus (VARCHAR[]): not a JSON list of texts"
                    for number in (1, 2)
                ),
            ],
            0,
        ),
    ],
)
def test_rejects_invalid_value_with_reason(
    table: Table, wrong: object, reasons: list[str], kept: int
) -> None:
    good = json.dumps(FIRST)
    text = "[" + ",\n".join([good, json.dumps(wrong), *[good] * 40]) + "]"
    rows, rejects = read(table, text)
    assert len(rows) == 41 * len(ROWS[table.name]) + kept
    assert [reject.reason for reject in rejects] == [f"object 2 of the list: {reason}" for reason in reasons]
    assert {(reject.line, reject.raw_text) for reject in rejects} <= {(2, json.dumps(wrong))}


@pytest.mark.parametrize("gpus", ['["a"]', [1], [1.5], [True], [["a"]], {"a": 1}, 1, True])
def test_rejects_what_is_not_a_list_of_texts(gpus: object) -> None:
    wrong = changed(tries=[FIRST["tries"][0] | {"on": [{"ip": "m1", "gpus": gpus}]}])
    rows, [reject] = read(MACHINE, json.dumps([wrong, *[FIRST] * 40]))
    assert rows == 40 * ROWS["machine"]
    assert reject.reason.endswith("column gpus (VARCHAR[]): not a JSON list of texts")


def test_keeps_every_text_in_a_list() -> None:
    gpus = ["", "1, 2", "3", '"]', None, "é"]
    odd = changed(tries=[FIRST["tries"][0] | {"on": [{"ip": "m1", "gpus": gpus}]}])
    [*_, last], [] = read(MACHINE, json.dumps([FIRST, odd]))
    assert gpus in last


def test_keeps_or_rejects_all_rows_of_an_object_in_all_tables() -> None:
    wrong = [changed(mood=1), changed(tries=BAD_TRIES), changed(tries=...), 17]
    text = json.dumps([FIRST, *wrong, *[FIRST] * 60])
    tables = (JOB, TRY, MACHINE)
    jobs: dict[str, int] = {}
    for table in tables:
        others = tuple(other for other in tables if other is not table)
        stream = io.BytesIO(text.encode())
        source = ReaderInput(stream, table, "log", chunk_bytes=500, tables_of_file=others)
        batches = list(json_reader.read(source))
        assert sum(batch.rows.num_rows for batch in batches) == 61 * len(ROWS[table.name])
        jobs[table.name] = sum(len(batch.rejects) for batch in batches)
    # Each object gives at least one reject. Two have 3 and 2 tries, with 3 machines each.
    assert jobs == {"job": 4, "try": 3 + 2 + 1 + 1, "machine": 3 + 3 + 1 + 1}


def test_names_a_fault_of_all_objects_without_calling_the_file_damaged() -> None:
    text = json.dumps([changed(mood=1, image="x")] * 30)
    with pytest.raises(RawFileError, match="the keys image, mood, which the publisher's file lacks") as error:
        read(JOB, text)
    assert "etch" not in str(error.value) and "damaged" not in str(error.value)


GOOD = json.dumps(FIRST, indent=1)
CUT = "the file ends before its list does: it is truncated"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (" ", 1, CUT),
        ("[", 1, CUT),
        ("[\n1\n", 3, CUT),
        ("[\n1,\n", 3, CUT),
        (f"[{GOOD}", GOOD.count("\n") + 1, CUT),
        (f"[{GOOD[:30]}", 2, CUT),
        (f"[{GOOD[:15]}", 2, CUT),
        (f"[{GOOD[:-1]}", GOOD.count("\n") + 1, CUT),
        (
            f"[{GOOD}\n{GOOD}]",
            GOOD.count("\n") + 2,
            "not JSON: a comma, or the closing bracket of the list, is missing",
        ),
        (f"[{GOOD},\n]", GOOD.count("\n") + 2, "not JSON: Expecting value"),
        (
            f'[{GOOD},\n{{"id":\n "a" "b"}}, {GOOD}]',
            GOOD.count("\n") + 3,
            "not JSON: Expecting ',' delimiter",
        ),
        (
            f'[{GOOD},\n{{"id": "a\n}}, {GOOD}]',
            GOOD.count("\n") + 2,
            "not JSON: Invalid control character at",
        ),
        (f"[{GOOD}]\n[]", GOOD.count("\n") + 2, "there is text after the end of the list"),
        (GOOD, 1, "the file is not a JSON list: it does not begin with a bracket"),
        ("[" * 100_000, 1, "JSON that is nested too deeply"),
    ],
)
def test_rejects_file_without_list(text: str, line: int, what: str) -> None:
    with pytest.raises(RawFileError) as error:
        read(JOB, text)
    before = 1 if len(text) > len(GOOD) and text[1:].startswith(GOOD) else int(text[2:3] == "1")
    after = f", after object {before} of the list" if before else ""
    assert (error.value.line, error.value.what) == (line, f"{what}{after}")


def test_refuses_lists_and_values_over_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "LONGEST_OBJECT_BYTES", 1000)
    good = json.dumps(FIRST)
    assert len(read(JOB, "[" + ",".join([good] * 50) + "]")[0]) == 50
    with pytest.raises(RawFileError, match=r"log, line 2: a value does not end, or is longer"):
        read(JOB, f'[{good},\n"' + 100_000 * "x")
    monkeypatch.setattr(json_reader, "LONGEST_LIST_BYTES", 1000)
    with pytest.raises(RawFileError, match=r"log: the JSON list is longer than 0 MiB"):
        read(JOB, '[\n"' + 1000 * "x", 100)


def test_rejects_other_file_of_that_name() -> None:
    with pytest.raises(
        RawFileError,
        match=r"1 of its 1 rows do not fit, more than a tenth; the first: object 1 of the list: no value for",
    ):
        read(JOB, '[{"id": "a"}]')
