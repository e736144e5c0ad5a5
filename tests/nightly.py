"""Run the long tests as `make nightly` does: one part after the other, then a summary of one page.

A part is a target of the Makefile. Its output and its JUnit files are in `build/nightly/<part>`. Which suites
passed, and at which commit, is entered in docs/reliability.md.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import promises
from counting import PART
from random_seed import SEED

REPOSITORY = Path(__file__).parents[1]
PARTS = (
    *("test", "docs-test", "site-test", "bi-test", "hostile", "random-test"),
    *("spark-cluster-test", "tools-test", "depth"),
)
MOST_NAMES = 30


@dataclass(frozen=True)
class Outcome:
    """The result of a part: exit code, duration, number of tests by result, and names of failed tests.

    `tried` is how many cases of each kind its tests have entered.
    """

    part: str
    exit_code: int
    seconds: float
    tests: Counter[str]
    failed: list[str]
    tried: Counter[str]


def outcome(part: str, exit_code: int, seconds: float, folder: Path) -> Outcome:
    """Count the tests in the JUnit files of a folder."""
    tests: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    failed = []
    for path in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            tags = {child.tag for child in case}
            result = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
            tests[result] += 1
            tried += promises.entered(case) + promises.entered(case, PART)
            if result == "failed":
                failed.append(f"{case.get('classname')}.{case.get('name')}")
    return Outcome(part, exit_code, seconds, tests, failed, tried)


def summary(outcomes: list[Outcome]) -> str:
    """Return tables of what the parts tried and of the parts, names of failed tests, and the seed."""
    tried = sum((one.tried for one in outcomes), Counter[str]())
    kinds = [f"| {kind} | {number:,} |" for kind, number in sorted(tried.items())]
    table = ["| tried | number |", "|---|---:|", *kinds, ""] if kinds else []
    lines = ["| part | passed | failed | skipped | seconds | exit code |", "|---|---:|---:|---:|---:|---:|"]
    for one in outcomes:
        counts = " | ".join(str(one.tests[result]) for result in ("passed", "failed", "skipped"))
        lines.append(f"| {one.part} | {counts} | {one.seconds:.0f} | {one.exit_code} |")
    names = [f"failed in {one.part}: {name}" for one in outcomes for name in one.failed]
    more = [f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    repeat = f"Random tests: repeat a part with `make nightly PARTS=<part> TRACEHOUSE_SEED={SEED}`"
    return "\n".join([*table, *lines, *names[:MOST_NAMES], *more, repeat])


def with_passed(document: str, outcomes: list[Outcome], commit: str, date: str) -> str:
    """Return docs/reliability.md with the commit and the date of the parts that passed as a whole."""
    for one in outcomes:
        if not one.exit_code:
            row = re.compile(rf"^(\| `make {one.part}` \| [^|]+) \| [^|]* \| [^|]* \|$", re.M)
            document = row.sub(rf"\1 | {commit} | {date} |", document)
    return document


def find_commit() -> str:
    """Return the commit of the work tree; empty if the tree has changes or git does not know it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(REPOSITORY), *arguments]
        return subprocess.run(command, capture_output=True, encoding="utf-8").stdout.strip()

    is_changed = git("status", "--porcelain", "--untracked-files=no")
    return "" if is_changed else git("rev-parse", "--short=8", "HEAD")


def run(part: str, folder: Path) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.xml"):
        old.unlink()
    began = time.monotonic()
    with (folder / "output.txt").open("w", encoding="utf-8") as output:
        variables = os.environ | {"TRACEHOUSE_JUNIT": str(folder)}
        command = ["make", "--directory", str(REPOSITORY), part]
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=variables).returncode
    return outcome(part, code, time.monotonic() - began, folder)


def main(parts: list[str]) -> int:
    outcomes = []
    commit, date = find_commit(), f"{datetime.now(UTC):%Y-%m-%d}"
    for part in parts or PARTS:
        print(f"{part}: see build/nightly/{part}/output.txt", flush=True)
        outcomes.append(run(part, promises.JUNIT / part))
    print(summary(outcomes))
    if commit:
        passed = with_passed(promises.DOCUMENT.read_text(encoding="utf-8"), outcomes, commit, date)
        promises.DOCUMENT.write_text(passed, encoding="utf-8")
    else:
        print("The work tree has changes, so docs/reliability.md stays as it is")
    fewer = [] if parts else promises.find_fewer(promises.count_run(promises.JUNIT))
    # Tests without the publishers' files, Java or a browser are skipped, so this is no failure.
    print("\n".join(["Fewer cases than docs/reliability.md says:", *fewer] if fewer else []))
    return int(any(one.exit_code for one in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
