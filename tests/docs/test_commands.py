"""Runs every command in the documents, or checks that the file named in ELSEWHERE runs it."""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

import command_line
import pytest
import suites
import test_readme
from non_empty import non_empty

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for path in (
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md")),
        *(REPOSITORY / "docs").glob("*.md"),
    )
)
REAL_DATA = Path(os.environ.get("TRACES_TEST_DATA", REPOSITORY.parent / "shared" / "data"))
# These tests run the commands of console blocks on the real files, if there are any.
IN_README = {command for command, _ in test_readme.CONSOLE} if REAL_DATA.is_dir() else set()
PROGRAMS = r"(?:traces|pip|make|apt|superset|harlequin|create\w+|export|python|sed|\.venv/bin/\w+) "

RUN_HERE = r"(\.venv/bin/)?traces |duckdb |make |python -m tracehouse\.bench\."
# The file that runs a command, or the part of it that tests can run, by page and start of the command.
ELSEWHERE = {
    "CONTRIBUTING.md": {".venv/bin/": "tests/docs/test_contributing.py"},
    "README.md": {"pip install '.[all]'": "tests/docs/test_commands.py"},
    "docs/asi.md": {
        "traces ": "tests/ingest/fetch/test_fetch.py",
    },
    "docs/clients.md": {
        "traces publish": "tests/publish/bi/test_pages.py",
        "pip install apache-superset": "tests/publish/bi/test_pages.py",
        "export FLASK_APP": "tests/superset_server.py",
        "superset ": "tests/superset_server.py",
        "pip install harlequin": "Makefile",
        "harlequin ": "tests/publish/bi/test_pages.py",
    },
    "docs/fetch.md": {
        "traces fetch": "tests/ingest/fetch/test_fetch.py",
    },
    "docs/home.md": {
        "pip install": "tests/docs/test_commands.py",
        "traces ": "tests/docs/test_tutorial.py",
    },
    "docs/postgresql.md": {
        "createuser": "tests/publish/bi/test_postgresql.py",
        "createdb": "tests/publish/bi/test_postgresql.py",
        "traces publish --to": "tests/publish/bi/test_postgresql.py",
    },
    "docs/spark.md": {
        "apt install": "tests/spark/test_session.py",
        "traces query": "tests/spark/test_cli.py",
        "traces sql": "tests/spark/test_cli.py",
        "traces ingest": "tests/spark/test_killed_worker.py",
    },
    "docs/site.md": {"python -m http.server": "tests/site_server.py"},
    "docs/tutorial.md": {
        "traces fetch": "tests/ingest/fetch/test_fetch.py",
        "traces fetch asi": "tests/ingest/fetch/test_remote_zip.py",
        "traces sample": "tests/docs/test_tutorial.py",
        "traces ingest": "tests/docs/test_tutorial.py",
        "traces build": "tests/docs/test_tutorial.py",
        "traces sql -f": "tests/docs/test_tutorial.py",
        "traces query mine": "tests/docs/test_tutorial.py",
    },
    "docs/versions.md": {
        "sed ": "tests/definitions/test_versions.py",
        "traces build": "tests/definitions/test_versions.py",
        "traces describe itp.job_v2": "tests/definitions/test_versions.py",
        "python -m tracehouse.definitions.versions": "tests/definitions/test_versions.py",
    },
}


def commands(page: str) -> Iterator[str]:
    """Yield the commands in the code blocks of a page."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for block in re.findall(r"^ *```(?:console|sh|bash)\n(.*?)^ *```", text, re.S | re.M):
        yield from re.findall(r"^ *\$ (.*)$", block, re.M)
    without_fences = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    yield from re.findall(rf"^ {{4,}}({PROGRAMS}.*?)(?: +#.*)?$", without_fences, re.M)


def runner(page: str, command: str) -> str:
    """Return the entry of ELSEWHERE for a command, or an empty string."""
    starts = [start for start in ELSEWHERE.get(page, {}) if command.startswith(start)]
    return ELSEWHERE[page][max(starts, key=len)] if starts else ""


@pytest.fixture(scope="module")
def folder(sample_raw: Path, sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed")
    (folder / "raw").symlink_to(sample_raw)
    shutil.copytree(sample_warehouse, folder / "warehouse")
    return folder


# One of the pages publishes a site, which needs DuckDB-WASM of npm.
@suites.of("docs")
@pytest.mark.parametrize("page", [page for page in PAGES if [*commands(page)]])
def test_commands_of_the_page_run(page: str, folder: Path) -> None:
    """make gets --dry-run, because some of its targets run the tests."""
    programs = sysconfig.get_path("scripts")
    for command in non_empty(commands(page)):
        if runner(page, command) or command in IN_README:
            continue
        assert re.match(RUN_HERE, command), command
        typed = command.replace("make ", f"make --dry-run --directory {REPOSITORY} ")
        typed = typed.removeprefix(".venv/bin/")
        if typed.startswith("traces ") and not set("|&;<>$") & set(typed):
            run = command_line.server().run(*shlex.split(typed)[1:], cwd=folder)
        else:
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", typed],
                cwd=folder,
                env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
            )
            run = command_line.Run(done.returncode, done.stdout, done.stderr)
        assert run.code == 0 and run.stdout + run.stderr, f"{command}: {run.stderr}"


@pytest.mark.parametrize("page", ELSEWHERE)
def test_other_commands_are_in_the_file_that_runs_them(page: str) -> None:
    """The file reads the page, or contains the second word and the options of the command."""
    shown = [command for command in commands(page) if runner(page, command)]
    assert [start for start in ELSEWHERE[page] if not any(c.startswith(start) for c in shown)] == []
    for command in shown:
        text = (REPOSITORY / runner(page, command)).read_text(encoding="utf-8")
        words = [command.split()[1].split("=")[0], *re.findall(r" (--[\w-]+)", command)]
        missing = [word for word in words if word not in text]
        assert not missing or Path(page).name in text, (command, missing)


def test_ci_installs_every_extra() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]

    def included(names: list[str]) -> set[str]:
        found = set(names)
        for name in names:
            matches = [re.match(r"tracehouse\[(.*)\]", requirement) for requirement in extras[name]]
            found |= included([extra for match in matches if match for extra in match[1].split(",")])
        return found

    pages = "".join((REPOSITORY / page).read_text(encoding="utf-8") for page in PAGES)
    needed = included(re.findall(r"pip install '\.\[(\w+)\]'", pages)) - {"all"}
    assert needed <= included(["dev"])
    assert "$(call install,$(VENV),--editable '.[dev]')" in (REPOSITORY / "Makefile").read_text(
        encoding="utf-8"
    )
    assert "make --jobs 2 .venv/ready .venv-older/ready" in (REPOSITORY / ".ci" / "run").read_text(
        encoding="utf-8"
    )
