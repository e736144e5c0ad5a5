"""The summary of `make nightly`."""

import re
from pathlib import Path

import nightly
import promises
from counting import non_empty
from random_seed import SEED

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.views" name="one" time="1.5" file="tests/views/test_one.py"/>
<testcase classname="tests.views" name="0" file="tests/views/test_one.py"><properties>
<property name="tried" value="('files', 7)"/><property name="part of tried" value="('lines: cut', 70)"/>
</properties></testcase>
<testcase classname="tests.views" name="two"><failure message="no"/></testcase>
<testcase classname="tests.views" name="three"><skipped message="no"/></testcase>
</testsuite></testsuites>"""
BROKEN = '<testsuite><testcase classname="tests.spark" name="four"><error/></testcase></testsuite>'


def test_summary_has_every_part_and_failure(tmp_path: Path) -> None:
    for name, text in (("1.xml", JUNIT), ("2.xml", BROKEN)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    outcomes = [
        nightly.outcome("hostile", 2, 61.4, tmp_path),
        nightly.outcome("docs", 1, 0.2, tmp_path / "x"),
    ]
    table, _, end = nightly.summary(outcomes).partition("\nfailed")
    assert table.splitlines()[2:4] == ["| files | 7 |", "| lines: cut | 70 |"]
    assert table.splitlines()[7:] == ["| hostile | 2 | 2 | 1 | 61 | 2 |", "| docs | 0 | 0 | 0 | 0 | 1 |"]
    assert end.startswith(" in hostile: tests.views.two\nfailed in hostile: tests.spark.four\nRandom tests")
    assert f"TRACEHOUSE_SEED={SEED}" in end


def test_a_part_that_fails_does_not_end_the_run(capfd) -> None:
    assert nightly.main(["no-such-part", "no-other-part"]) == 1
    assert "| no-such-part | 0 | 0 | 0 | 0 | 2 |\n| no-other-part | 0 |" in capfd.readouterr().out


def test_document_has_a_row_for_each_suite_outside_of_the_gate() -> None:
    gate = (nightly.REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    outside = [part for part in nightly.PARTS if part not in re.findall(r"[\w-]+", gate)]
    rows = re.findall(r"^\| `make ([\w-]+)` \|", promises.DOCUMENT.read_text(encoding="utf-8"), re.M)
    assert rows == outside


def test_parts_that_pass_are_entered_with_commit_and_date(tmp_path: Path) -> None:
    document = promises.DOCUMENT.read_text(encoding="utf-8")
    outcomes = [
        nightly.outcome("hostile", 0, 61.4, tmp_path / "x"),
        nightly.outcome("depth", 1, 61.4, tmp_path / "x"),
    ]
    changed = nightly.with_passed(document, outcomes, "0a1b2c3d", "2031-05-06")
    lines = [line for line in changed.splitlines() if line not in document.splitlines()]
    assert [line.split("|")[1:5:2] for line in lines] == [[" `make hostile` ", " 0a1b2c3d "]]
    assert lines[0].endswith("| 0a1b2c3d | 2031-05-06 |")


def test_makefile_names_tests_that_exist() -> None:
    makefile = (nightly.REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for path in non_empty(re.findall(r"\btests/[\w/.]+", makefile)):
        assert (nightly.REPOSITORY / path).exists(), path


def test_document_has_the_recorded_numbers_of_cases() -> None:
    cases = promises.read_cases()
    # Without the publishers' files or a browser, some tests are skipped.
    recorded = {file for file, (_, number) in cases.items() if number}
    for link in non_empty(promises.links()) if cases else ():
        assert any(file == link or file.startswith(f"{link}/") for file in recorded), link
    assert promises.updated_document(cases) == promises.DOCUMENT.read_text(encoding="utf-8"), (
        "run `make cases`"
    )


def test_cases_are_what_tests_enter_or_else_one_each(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "hostile").mkdir()
    (tmp_path / "test" / "1.xml").write_text(JUNIT, encoding="utf-8")
    (tmp_path / "hostile" / "1.xml").write_text(JUNIT.replace("7)", "30)"), encoding="utf-8")
    assert promises.count_run(tmp_path) == {"tests/views/test_one.py": (8, 31)}
    (tmp_path / "hostile").rename(tmp_path / "depth")
    assert promises.depth_table(tmp_path).splitlines()[2:] == ["| files | 30 |  |", "| lines | 70 | 70 cut |"]
