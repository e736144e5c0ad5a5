"""The pages on BI tools say what is so: commands run, code runs, packages fit each other."""

import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import command_line
import pytest
from bi_tests import in_full
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[3]
PAGES = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
COMMANDS = sorted(
    {
        line.strip().removeprefix("traces ")
        for page in PAGES
        for line in re.findall(r"^    traces publish .*", page.read_text(), re.M)
        if "--to" not in line
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(command: str, small_warehouse: Path, tmp_path: Path) -> None:
    done = command_line.server().run(*command.split(), "--warehouse", small_warehouse, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert (tmp_path / "traces.duckdb").exists()


def test_adbc_reads_the_file(small_published: Path) -> None:
    page = (REPOSITORY / "docs" / "clients.md").read_text()
    [code] = [text for text in re.findall(r"```python\n(.*?)```", page, re.S) if "adbc" in text]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=small_published.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1


def test_what_the_extra_bi_brings_leaves_duckdb_as_it_is() -> None:
    wanted = [Requirement(text) for text in requires("duckdb-sqlalchemy") or []]
    [duckdb] = [found for found in wanted if found.name == "duckdb" and found.marker is None]
    assert duckdb.specifier.contains("2.0.0") and duckdb.specifier.contains(version("duckdb"))


@in_full
def test_pip_keeps_the_duckdb_that_is_there(tmp_path: Path) -> None:
    """Without what this environment has: pip finds a set of packages by itself."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    pip = [tmp_path / "bin" / "pip", "install", "--disable-pip-version-check"]
    subprocess.run([*pip, "--quiet", "duckdb==2.0.0"], check=True)
    done = subprocess.run(
        [*pip, "--dry-run", f"{REPOSITORY}[bi,test]"], capture_output=True, text=True, check=True
    )
    [line] = [line for line in done.stdout.splitlines() if line.startswith("Would install ")]
    assert re.search(r" duckdb-sqlalchemy-", line) and not re.search(r" duckdb-\d", line)
    assert re.search(r" pytz-", line)
