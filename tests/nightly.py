"""Run the long tests as `make nightly` does: one part after the other, then a summary of one page.

A part is a target of the Makefile. Its output and its JUnit files are in `build/nightly/<part>`.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from random_seed import REPEAT

REPOSITORY = Path(__file__).parents[1]
PARTS = ("docs-test", "site-test", "spark-test", "bi-test", "hostile", "random-test")
MOST_NAMES = 30


@dataclass(frozen=True)
class Outcome:
    """The result of a part: exit code, duration, number of tests by result, and names of failed tests."""

    part: str
    exit_code: int
    seconds: float
    tests: Counter[str]
    failed: list[str]


def outcome(part: str, exit_code: int, seconds: float, folder: Path) -> Outcome:
    """Count the tests in the JUnit files of a folder."""
    tests: Counter[str] = Counter()
    failed = []
    for path in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            tags = {child.tag for child in case}
            result = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
            tests[result] += 1
            if result == "failed":
                failed.append(f"{case.get('classname')}.{case.get('name')}")
    return Outcome(part, exit_code, seconds, tests, failed)


def summary(outcomes: list[Outcome]) -> str:
    """Return a table of the parts, the names of tests that failed, and how to repeat the random tests."""
    lines = ["| part | passed | failed | skipped | seconds | exit code |", "|---|---:|---:|---:|---:|---:|"]
    for one in outcomes:
        counts = " | ".join(str(one.tests[result]) for result in ("passed", "failed", "skipped"))
        lines.append(f"| {one.part} | {counts} | {one.seconds:.0f} | {one.exit_code} |")
    names = [f"failed in {one.part}: {name}" for one in outcomes for name in one.failed]
    more = [f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return "\n".join([*lines, *names[:MOST_NAMES], *more, REPEAT])


def run(part: str, folder: Path) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.xml"):
        old.unlink()
    began = time.monotonic()
    with (folder / "output.txt").open("w") as output:
        variables = os.environ | {"TRACEHOUSE_JUNIT": str(folder)}
        command = ["make", "--directory", str(REPOSITORY), part]
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=variables).returncode
    return outcome(part, code, time.monotonic() - began, folder)


def main(parts: list[str]) -> int:
    outcomes = []
    for part in parts or PARTS:
        print(f"{part}: see build/nightly/{part}/output.txt", flush=True)
        outcomes.append(run(part, REPOSITORY / "build" / "nightly" / part))
    print(summary(outcomes))
    return int(any(one.exit_code for one in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
