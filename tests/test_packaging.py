"""The wheel contains the package `tracehouse` with all of its files, and nothing else."""

import ast
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
import suites
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tracehouse
from tracehouse.definitions.view_files import newest, view_files
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.publish.site import folder

REPOSITORY = Path(__file__).parents[1]
LAYERS = ("core", "ingest", "samples", "definitions", "views", "sql", "engines", "publish", "commands")
LITTER = (".*", "build", "dist", "*.egg-info", "__pycache__", "node_modules", "raw", "warehouse", "demo")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(REPOSITORY, folder / "source", ignore=shutil.ignore_patterns(*LITTER))
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", folder / "source"]
    done = subprocess.run(build, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    [path] = (folder / "dist").iterdir()
    return path


@pytest.fixture(scope="module")
def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel in a virtual environment. Its dependencies come from the current one."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", python, "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, wheel], check=True)
    return folder


def test_documented_extras_exist() -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    extras = set(declared)
    sources = [
        path.read_text(encoding="utf-8") for layer in LAYERS for path in (REPOSITORY / layer).rglob("*.py")
    ]
    named = {extra for text in sources for extra in re.findall(r'check_installed\(.*?, "(\w+)"', text)}
    assert {"bi", "fetch", "mcp", "plot", "spark", "xlsx"} <= named <= extras
    pages = [
        path.read_text(encoding="utf-8")
        for path in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md"))
    ]
    documented = {extra for text in pages for extra in re.findall(r"pip install '\.\[(\w+)\]'", text)}
    assert documented <= extras
    [included] = [requirement for requirement in declared["all"] if requirement.startswith("tracehouse[")]
    assert named <= set(included.removeprefix("tracehouse[").removesuffix("]").split(","))
    # No package registry has the package, so documents must not install it by its name alone.
    assert [text for text in (*sources, *pages) if "install 'tracehouse" in text] == []


def test_dev_extra_requires_every_import_of_tests() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    required = {canonicalize_name(Requirement(text).name) for text in requirements}
    modules = {
        name.partition(".")[0]
        for folder in ("tests", "bench", "docs")
        for path in (REPOSITORY / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imports(node)
    }
    distributions = packages_distributions()
    missing = {
        module
        for module in modules & set(distributions)
        if not required & {canonicalize_name(name) for name in distributions[module]}
    }
    assert {"pandas", "pexpect", "playwright"} <= modules
    assert missing == set()


def imports(node: ast.AST) -> list[str]:
    """Return the names of the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def site_packages(environment: Path) -> Path:
    [folder] = environment.glob("lib/python*/site-packages")
    return folder


def run(environment: Path, *command: str | Path, folder: Path, **variables: str) -> str:
    """Run a program of the environment."""
    program = [environment / "bin" / command[0], *command[1:]]
    environment_variables = {"PATH": "/usr/bin:/bin", **variables}
    done = subprocess.run(
        program, cwd=folder, env=environment_variables, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_tree(root: Path) -> set[str]:
    """Return the files of the package in a repository or an installation."""
    in_layers = (path for layer in LAYERS for path in (root / layer).rglob("*"))
    kept = (
        path
        for path in (*root.glob("*.py"), root / "py.typed", *in_layers)
        if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(root).as_posix() for path in kept if not path.name.startswith(".")}


@suites.of("long")
def test_wheel_contains_one_package(files: set[str]) -> None:
    tops = {name.split("/")[0] for name in files}
    assert len(tops) == 2
    assert "tracehouse" in tops
    assert all(
        top == "tracehouse" or (top.startswith("tracehouse-") and top.endswith(".dist-info")) for top in tops
    )
    assert {name for name in files if name.count("/") == 1 and name.startswith("tracehouse/")} == {
        "tracehouse/__init__.py",
        "tracehouse/__main__.py",
        "tracehouse/cli.py",
        "tracehouse/py.typed",
        "tracehouse/python.py",
        "tracehouse/spark.py",
    }
    assert {
        name.split("/")[1] for name in files if name.count("/") > 1 and name.startswith("tracehouse/")
    } == set(LAYERS)
    tests = ("test_", "tests", "conftest")
    assert [name for name in files if any(part.startswith(tests) for part in name.split("/"))] == []


@suites.of("long")
def test_wheel_contains_license(wheel: Path, files: set[str]) -> None:
    [license_file] = [name for name in files if name.endswith(".dist-info/licenses/LICENSE")]
    [metadata] = [name for name in files if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(license_file) == (REPOSITORY / "LICENSE").read_bytes()
        assert "License-Expression: Apache-2.0\n" in archive.read(metadata).decode()


@suites.of("long")
def test_wheel_contains_every_file_of_the_layers(files: set[str]) -> None:
    packaged = {name.removeprefix("tracehouse/") for name in files if name.startswith("tracehouse/")}
    assert packaged == in_tree(REPOSITORY)
    assert "views/versions.lock" in packaged
    for layer, ending in (("views", "sql"), ("views", "csv"), ("sql", "sql")):
        assert any(name.startswith(f"{layer}/") and name.endswith(f".{ending}") for name in packaged)


@suites.of("long")
def test_editable_install_has_the_same_files(files: set[str]) -> None:
    packaged = {name.removeprefix("tracehouse/") for name in files if name.startswith("tracehouse/")}
    folder = Path(tracehouse.__file__).parent
    assert packaged <= in_tree(folder)
    assert {name for name in packaged if not (folder / name).is_file()} == set()


@suites.of("long")
def test_installs_no_other_top_level_name(environment: Path) -> None:
    found = {path.name for path in site_packages(environment).iterdir()}
    assert "tracehouse" in found
    assert [name for name in found if not name.startswith("tracehouse")] == []


@suites.of("long")
def test_installed_command_runs(environment: Path, tmp_path: Path) -> None:
    # With this variable Python ignores .pth files, and so the editable install.
    run_command = partial(run, environment, folder=tmp_path, PYTHONPATH=sysconfig.get_path("purelib"))
    path = Path(run_command("python", "-c", "import tracehouse; print(tracehouse.__file__)").strip())
    assert path.is_relative_to(site_packages(environment))
    answer_first_query(run_command)
    # The database has every view and table.
    listed = run_command("traces", "list", "views", "--all")
    assert {line.split(",")[0] for line in listed.splitlines()[1:]} == set(newest(view_files()))
    listed = run_command("traces", "list", "tables", "--all")
    expected = {f"{trace.name}.{table.name}" for trace in all_traces().values() for table in trace.tables}
    assert {line.split(",")[0] for line in listed.splitlines()[1:]} == expected


def answer_first_query(run_command: Callable[..., str]) -> None:
    """Run a new user's first commands."""
    run_command("traces", "sample", "itp", "--scale", "0.0005")
    run_command("traces", "ingest")
    rows = run_command("traces", "query", "itp.gpu_hours").splitlines()
    assert rows[0].startswith("cluster,jobs,")
    assert any(row.startswith("cluster04,") for row in rows)


@suites.of("site")
def test_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Its dependencies come from the package index, and DuckDB-WASM from npm's."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", wheel], check=True)
    run_command = partial(run, environment, folder=tmp_path)
    answer_first_query(run_command)
    subprocess.run(folder.FETCH.split(), cwd=tmp_path, check=True, capture_output=True)
    run_command("traces", "publish", "--site", "site", "--duckdb-wasm", folder.PACKAGE)
    assert (tmp_path / "site" / "index.html").is_file()
    assert (tmp_path / "site" / "duckdb" / "duckdb-eh.bin").is_file()
