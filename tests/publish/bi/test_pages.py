"""The pages on BI tools are correct: commands and code run, and the packages are compatible."""

import re
import subprocess
import sys
from pathlib import Path

import command_line
import pytest
import suites
from terminal import end, plain, terminal

REPOSITORY = Path(__file__).parents[3]
CLIENTS = (REPOSITORY / "docs" / "clients.md").read_text(encoding="utf-8")
CLIENTS_BIN = REPOSITORY / ".venv-clients" / "bin"
PAGES = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
COMMANDS = sorted(
    {
        line.strip().removeprefix("traces ")
        for page in PAGES
        for line in re.findall(r"^    traces publish .*", page.read_text(encoding="utf-8"), re.M)
        if "--to" not in line and "--site" not in line
    }
)


@suites.of("bi")
@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command: str, small_warehouse: Path, tmp_path: Path) -> None:
    """The commands `traces publish` of README.md, docs/clients.md and other pages run."""
    done = command_line.server().run(*command.split(), "--warehouse", small_warehouse, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert (tmp_path / "traces.duckdb").exists()


def test_page_installs_the_tested_superset() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    variables = dict(re.findall(r"^(\w+) := (.*)$", makefile, re.M))
    installed = variables["SUPERSET"].replace("$(OLDER_DUCKDB)", variables["OLDER_DUCKDB"])
    [printed] = re.findall(r"^    pip install (apache-superset.*)$", CLIENTS, re.M)
    assert printed == installed


def test_page_names_the_tested_clients() -> None:
    [installed] = re.findall(
        r"^CLIENTS := (.*)$", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.M
    )
    for package, tested in re.findall(r"(\w+)==([\d.]+)\.\*", installed):
        [section] = re.findall(rf"^## {package}\n(.*?)^## ", CLIENTS, re.S | re.M | re.I)
        assert re.findall(r"version ([\d.]+\d)", section) == [tested]
    [marimo] = re.findall(r"`pip install (marimo .*?)`", CLIENTS)
    assert set(marimo.split()) <= {word.partition("==")[0] for word in installed.split()}


@suites.of("tools")
def test_harlequin_shows_an_answer(small_published: Path, tmp_path: Path) -> None:
    """The command and the keys of docs/clients.md work."""
    [command] = re.findall(r"^    (harlequin .*)$", CLIENTS, re.M)
    key, statement = re.findall(r"`(ctrl\+\w)` runs a statement such as\s+`(.*?)`", CLIENTS)[0]
    program, *arguments = command.split()
    with terminal(
        CLIENTS_BIN / program, *arguments, rows=40, columns=150, folder=small_published.parent, HOME=tmp_path
    ) as opened:
        # Harlequin accepts input once its last panel is drawn.
        opened.expect_exact("History")
        opened.send(statement)
        opened.sendcontrol(key[-1])
        opened.expect_exact("query executed successfully", timeout=command_line.TIMEOUT_S)
        opened.sendcontrol("q")
        assert end(opened) == 0
        assert "Data Catalog" in plain(opened) and "cluster04" in plain(opened)


@suites.of("tools")
def test_marimo_shows_an_answer(small_published: Path, tmp_path: Path) -> None:
    """The notebook and the command of docs/clients.md work."""
    [notebook] = [text for text in re.findall(r"```python\n(.*?)```", CLIENTS, re.S) if "marimo" in text]
    [command] = re.findall(r"`marimo (export html .*?)`", CLIENTS)
    (tmp_path / "notebook.py").write_text(notebook, encoding="utf-8")
    (tmp_path / "traces.duckdb").symlink_to(small_published)
    done = subprocess.run(
        [CLIENTS_BIN / "marimo", *command.split()],
        cwd=tmp_path,
        env={"PATH": f"{CLIENTS_BIN}:/usr/bin:/bin", "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "cluster04" in (tmp_path / "notebook.html").read_text(encoding="utf-8")


@suites.of("long")
def test_adbc_reads_the_file(small_published: Path) -> None:
    [code] = [text for text in re.findall(r"```python\n(.*?)```", CLIENTS, re.S) if "adbc" in text]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=small_published.parent, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1
