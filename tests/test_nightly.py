"""The summary of `make nightly`."""

import re
from pathlib import Path

import nightly
from counting import non_empty
from random_seed import SEED

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.views" name="one" time="1.5"/>
<testcase classname="tests.views" name="two"><failure message="no"/></testcase>
<testcase classname="tests.views" name="three"><skipped message="no"/></testcase>
</testsuite></testsuites>"""
BROKEN = '<testsuite><testcase classname="tests.spark" name="four"><error/></testcase></testsuite>'


def test_summary_has_every_part_and_failure(tmp_path: Path) -> None:
    for name, text in (("1.xml", JUNIT), ("2.xml", BROKEN)):
        (tmp_path / name).write_text(text)
    outcomes = [
        nightly.outcome("hostile", 2, 61.4, tmp_path),
        nightly.outcome("docs", 1, 0.2, tmp_path / "x"),
    ]
    table, _, end = nightly.summary(outcomes).partition("\nfailed")
    assert table.splitlines()[2:] == ["| hostile | 1 | 2 | 1 | 61 | 2 |", "| docs | 0 | 0 | 0 | 0 | 1 |"]
    assert end.startswith(" in hostile: tests.views.two\nfailed in hostile: tests.spark.four\nrandom tests")
    assert f"TRACEHOUSE_SEED={SEED}" in end


def test_a_part_that_fails_does_not_end_the_run(capfd) -> None:
    assert nightly.main(["no-such-part", "no-other-part"]) == 1
    assert "| no-such-part | 0 | 0 | 0 | 0 | 2 |\n| no-other-part | 0 |" in capfd.readouterr().out


def test_makefile_names_tests_that_exist() -> None:
    makefile = (nightly.REPOSITORY / "Makefile").read_text()
    for path in non_empty(re.findall(r"\btests/[\w/.]+", makefile)):
        assert (nightly.REPOSITORY / path).exists(), path
