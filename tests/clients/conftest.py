"""Fixtures for tests with other programs: the programs, and the queries to run."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import command_line
import duckdb
import pytest
from command_line import TRACES
from filelock import FileLock
from random_seed import some
from sharing import shared

from tracehouse.engines.duckdb.write import database
from tracehouse.ingest.declarations import all_traces
from tracehouse.sql.query_files import query_files
from tracehouse.views.view_files import newest, view_files

REPOSITORY = Path(__file__).parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))
# A folder without these files, so that a relative path would not resolve.
ELSEWHERE = Path(REPOSITORY.anchor)

Run = Callable[..., subprocess.CompletedProcess[str]]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def run() -> Run:
    """A function that runs a program outside the repository. It must succeed, unless `check=False`."""

    def run_program(
        command: Sequence[str | Path], text: str = "", check: bool = True, folder: Path = ELSEWHERE
    ) -> subprocess.CompletedProcess[str]:
        if command[0] == TRACES:
            ended = command_line.server().run(*command[1:], stdin=text, cwd=folder)
            done = subprocess.CompletedProcess(command, ended.code or 0, ended.stdout, ended.stderr)
        else:
            done = subprocess.run(
                [str(part) for part in command], cwd=folder, input=text, capture_output=True, text=True
            )
        assert not check or done.returncode == 0, f"{command}\n{text}\n{done.stderr}"
        return done

    return run_program


@pytest.fixture(scope="session")
def shell() -> Path:
    """The path of the DuckDB shell that `duckdb-cli` installs."""
    return SCRIPTS / "duckdb"


@pytest.fixture(scope="session")
def traces() -> Path:
    """The path of the installed command `traces`."""
    return TRACES


@pytest.fixture(scope="session")
def query_everything(run: Run) -> Ask:
    """A function that runs query_everything.py on a database, in a separate process."""

    def ask(path: Path, *options: str, python: Path = Path(sys.executable)) -> dict[str, Any]:
        script = Path(__file__).with_name("query_everything.py")
        return json.loads(run([python, script, path, *options]).stdout)

    return ask


@pytest.fixture(scope="session")
def sample_answers(
    query_everything: Ask, sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The answers of all tables, views and queries of the sample's database, which is opened directly."""

    def write(folder: Path) -> None:
        folder.mkdir()
        answers = query_everything(sample_warehouse / database.DATABASE)
        (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")

    folder = shared(tmp_path_factory, "sample_answers", write)
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    assert answers["errors"] == {}
    return approximately(answers)


@pytest.fixture(scope="session")
def some_schemas() -> list[str]:
    """The schemas that slow tests query: `unified`, which reads all others, and two others."""
    return ["unified", *some(sorted(all_traces()), 2)]


@pytest.fixture(scope="session")
def some_sample_answers(sample_answers: dict, some_schemas: list[str]) -> dict[str, Any]:
    """The answers of `some_schemas` in the sample's database."""
    return {
        kind: {name: about for name, about in found.items() if name.split(".")[0] in some_schemas}
        for kind, found in sample_answers.items()
    }


def approximately(value: Any) -> Any:
    """Make floats of a value compare approximately. Threads add floats in varying order."""
    if isinstance(value, dict):
        return {key: approximately(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [approximately(inner) for inner in value]
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


@pytest.fixture(scope="session")
def objects() -> dict[str, list[str]]:
    """The names of all tables, views and queries by kind, from the declarations and the SQL files."""
    views = view_files()
    tables_sql = (REPOSITORY / "views" / "catalog" / "tables.sql").read_text()
    return {
        "views": [*(view.versioned for view in views), *newest(views)],
        "base tables": [
            f"{trace.name}.{table.name}" for trace in all_traces().values() for table in trace.tables
        ],
        "catalog": [
            *re.findall(r"create table (catalog\.\w+)", tables_sql),
            "catalog.checks",
            "catalog.rejected_rows",
        ],
        "queries": [query.full_name for query in query_files()],
    }


@pytest.fixture(scope="session")
def moved_warehouse(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that was moved after its database was built."""
    folder = tmp_path_factory.mktemp("moved")
    shutil.copytree(sample_warehouse, folder / "before")
    database.build(folder / "before")
    return Path(shutil.move(folder / "before", folder / "it's after"))


@pytest.fixture(scope="session")
def python_with() -> Callable[[str], Path]:
    """A function that returns a Python with a version of DuckDB. Its virtual environments are kept."""

    def find_or_make(version: str) -> Path:
        if version == duckdb.__version__:
            return Path(sys.executable)
        folder = REPOSITORY / f".venv-duckdb-{version}"
        folder.mkdir(exist_ok=True)
        python, ready = folder / "bin" / "python", folder / "ready"
        with FileLock(folder / "lock"):
            if not ready.exists():
                subprocess.run([sys.executable, "-m", "venv", folder], check=True)
                pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", f"duckdb=={version}"]
                subprocess.run(pip, check=True)
                ready.touch()
        return python

    return find_or_make
