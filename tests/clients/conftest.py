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
# Where none of the files is that a relative path could mean.
ELSEWHERE = Path(REPOSITORY.anchor)

Run = Callable[..., subprocess.CompletedProcess[str]]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs a program, away from the repository; it must succeed, unless `check=False`."""

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
    """The DuckDB shell, as `duckdb-cli` installs it."""
    return SCRIPTS / "duckdb"


@pytest.fixture(scope="session")
def traces() -> Path:
    """The command line of this project."""
    return TRACES


@pytest.fixture(scope="session")
def query_everything(run: Run) -> Ask:
    """Run query_everything.py on a database, in a separate process."""

    def ask(path: Path, *options: str, python: Path = Path(sys.executable)) -> dict[str, Any]:
        script = Path(__file__).with_name("query_everything.py")
        return json.loads(run([python, script, path, *options]).stdout)

    return ask


@pytest.fixture(scope="session")
def sample_answers(
    query_everything: Ask, sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The results of all queries on the sample's database, at its own path and under its own name."""

    def write(folder: Path) -> None:
        folder.mkdir()
        answers = query_everything(sample_warehouse / database.NAME)
        (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")

    folder = shared(tmp_path_factory, "sample_answers", write)
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    assert answers["errors"] == {}
    return approximately(answers)


@pytest.fixture(scope="session")
def some_schemas() -> list[str]:
    """The schemas to query where the answers are known: one that reads all others, and two of these."""
    return ["unified", *some(sorted(all_traces()), 2)]


@pytest.fixture(scope="session")
def some_sample_answers(sample_answers: dict, some_schemas: list[str]) -> dict[str, Any]:
    """The results for `some_schemas` on the sample's database."""
    return {
        kind: {name: about for name, about in found.items() if name.split(".")[0] in some_schemas}
        for kind, found in sample_answers.items()
    }


def approximately(value: Any) -> Any:
    """The same for comparison: threads add up floats in an order of their own, so the last digits differ."""
    if isinstance(value, dict):
        return {key: approximately(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [approximately(inner) for inner in value]
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


@pytest.fixture(scope="session")
def objects() -> dict[str, list[str]]:
    """The names of all that can be asked, by kind, from the declarations and the files."""
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
    """A Python that has a given version of DuckDB: this one, or a virtual environment that is kept."""

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
