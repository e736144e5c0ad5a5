"""Every command in the documents is run by a test, a make target or `.ci/run`.

`python tests/docs/test_commands.py` lists the commands.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in (
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md")),
        *(REPOSITORY / "docs").glob("*.md"),
    )
)
PROGRAMS = r"(?:traces|pip|make|apt|superset|harlequin|create\w+|export|python|sed|\.venv/bin/\w+) "

# For each page and start of a command: the file that runs it and, after a colon, a remark.
RUN_BY = {
    "CONTRIBUTING.md": {
        "make test": ".ci/run",
        "make lint": ".ci/run",
        "make docs": "tests/docs/test_site.py: builds the same site in `make docs-test`",
        "make tables": "tests/docs/test_tables.py: renders the same tables",
        ".venv/bin/pytest": "tests/docs/test_commands.py",
        ".venv/bin/traces": "tests/docs/test_contributing.py",
    },
    "README.md": {
        "make demo": "tests/test_readme.py: over a sample, in the current environment",
        "make test": ".ci/run",
        "pip install .": "tests/test_packaging.py: builds a wheel and installs it",
        "traces ": "tests/test_readme.py",
    },
    "docs/bi.md": {"traces publish": "tests/publish/bi/test_pages.py"},
    "docs/charts.md": {"traces ": "tests/test_readme.py"},
    "docs/ingest.md": {"traces ingest": "tests/test_readme.py"},
    "docs/sql.md": {"duckdb ": "tests/test_readme.py"},
    "docs/verification.md": {"traces ": "tests/test_readme.py"},
    "docs/caveats.md": {"traces ": "tests/docs/test_site.py"},
    "docs/cite.md": {"traces ": "tests/docs/test_site.py"},
    "docs/clients.md": {
        "pip install harlequin": "Makefile: in a separate environment",
        "harlequin ": "tests/publish/bi/test_pages.py",
    },
    "docs/fetch.md": {
        "pip install '.[fetch]'": "Makefile",
        "traces fetch": "tests/ingest/downloads/test_fetch.py: from a local server",
        "traces ingest": "tests/ingest/downloads/test_fetch.py",
    },
    "docs/postgresql.md": {
        "createuser": "tests/publish/bi/test_postgresql.py",
        "createdb": "tests/publish/bi/test_postgresql.py",
        "traces publish --to": "tests/publish/bi/test_postgresql.py",
    },
    "docs/simulators.md": {"traces export": "tests/publish/test_simulators.py"},
    "docs/spark.md": {
        "pip install '.[spark]'": "Makefile",
        "apt install": "tests/spark/test_session.py: the test uses the installed Java",
        "traces query": "tests/spark/test_cli.py: on a local cluster in `make spark-test`",
        "traces sql": "tests/spark/test_cli.py",
        "traces ingest": "tests/spark/test_conversions.py: on a local cluster",
    },
    "docs/superset.md": {
        "traces publish": "tests/publish/bi/test_pages.py",
        "pip install apache-superset": "tests/publish/bi/test_pages.py: compares it with the Makefile",
        "export FLASK_APP": "tests/superset_server.py",
        "superset ": "tests/superset_server.py: with the answers to the prompts as options",
    },
    "docs/versions.md": {
        "sed ": "tests/views/test_versions.py",
        "traces ": "tests/views/test_versions.py",
        "python -m tracehouse.views.versions": "tests/views/test_versions.py",
    },
}


def commands(page: str) -> Iterator[str]:
    """Yield the commands in the code blocks of a page."""
    text = (REPOSITORY / page).read_text()
    for block in re.findall(r"^ *```(?:console|sh|bash)\n(.*?)^ *```", text, re.S | re.M):
        yield from re.findall(r"^ *\$ (.*)$", block, re.M)
    without_fences = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    yield from re.findall(rf"^ {{4,}}({PROGRAMS}.*?)(?: +#.*)?$", without_fences, re.M)


def runner(page: str, command: str) -> str:
    """Return the entry of RUN_BY for a command, or an empty string."""
    starts = [start for start in RUN_BY.get(page, {}) if command.startswith(start)]
    return RUN_BY[page][max(starts, key=len)] if starts else ""


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_run(page: str) -> None:
    shown = list(commands(page))
    assert [command for command in shown if not runner(page, command)] == []
    unused = [start for start in RUN_BY.get(page, {}) if not any(c.startswith(start) for c in shown)]
    assert unused == []
    for command in shown:
        assert (REPOSITORY / runner(page, command).partition(":")[0]).is_file(), command


def test_ci_installs_every_extra() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed, unread = set(), ["dev"]
    while unread:
        installed.add(name := unread.pop())
        included = [re.match(r"tracehouse\[(.*)\]", requirement) for requirement in extras[name]]
        unread += [extra for match in included if match for extra in match[1].split(",")]
    pages = "".join((REPOSITORY / page).read_text() for page in PAGES)
    assert set(re.findall(r"pip install '\.\[(\w+)\]'", pages)) <= installed
    assert "EXTRAS := --editable '.[dev]'" in (REPOSITORY / "Makefile").read_text()
    assert "make --jobs 2 venvs" in (REPOSITORY / ".ci" / "run").read_text()


def test_pytest_command_of_contributing_selects_tests() -> None:
    [(path, words)] = re.findall(
        r"^    \.venv/bin/pytest (\S+) -k (\w+)$", (REPOSITORY / "CONTRIBUTING.md").read_text(), re.M
    )
    assert re.search(rf"^def test_\w*{words}", (REPOSITORY / path).read_text(), re.M)


if __name__ == "__main__":
    for page in PAGES:
        for command in commands(page):
            print(f"{page}: {command}\n    {runner(page, command) or 'NOT RUN'}")
