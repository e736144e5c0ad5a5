"""Tests of shell completion, which opens no database and imports few modules."""

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest
from command_line import TRACES
from counting import non_empty
from imported import START, modules_of
from terminal import terminal

from tracehouse.engines.duckdb.write import local
from tracehouse.sql import names
from tracehouse.sql.query_files import query_files


def completed(typed: str) -> list[str]:
    """Return the completions of the last word of a line in bash."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    environment = os.environ | words | {"_TRACES_COMPLETE": "bash_complete"}
    run = subprocess.run([str(TRACES)], env=environment, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    return [line.partition(",")[2] for line in run.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("traces query itp.gpu_h", ["itp.gpu_hours"]),
        ("traces query pai.task_w", ["pai.task_wait"]),
        ("traces query itp.raw", ["itp.raw_job"]),
        ("traces query itp.gpu_hours -p min_", ["min_gpus=1"]),
        ("traces query acme.states -p on_cluster=kalos -p by_", ["by_outcome=false", "by_outcome=true"]),
        ("traces query -n 3 acme.states -p on_", ["on_cluster=seren", "on_cluster=kalos"]),
        ("traces query acme.fleet_hour -p from", ["from_time="]),
        ("traces query no.such_query -p ", []),
        ("traces -w elsewhere describe itp.min_d", ["itp.min_duration_600"]),
        ("traces describe ope", ["openb"]),
        ("traces list qu", ["queries"]),
        ("traces list queries u", ["unified"]),
        ("traces ingest ope", ["openb"]),
        ("traces check z", ["zeus"]),
    ],
)
def test_completes_names_and_parameters(typed: str, expected: list[str]) -> None:
    found = completed(typed)
    if typed == "traces describe ope":
        found = [name for name in found if "." not in name]
    assert found == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("openb.phases -p in_variant=d", ["in_variant=default"]),
        ("openb.phases -p in_variant = d", ["default"]),
        ("acme.states -p on_cluster = k", ["kalos"]),
    ],
)
def test_completes_values(typed: str, expected: list[str], sample_warehouse: Path) -> None:
    """Bash splits `key=value` into words, and completes only the last of them."""
    assert completed(f"traces query -w {sample_warehouse} {typed}") == expected


def test_completes_columns(sample_warehouse: Path) -> None:
    typed = f"traces describe -w {sample_warehouse}"
    assert completed(f"{typed} itp.job.run") == ["itp.job.run_s"]
    assert completed(f"{typed} itp.gpu_hours.m") == [
        *("itp.gpu_hours.mean_gpus", "itp.gpu_hours.max_gpus", "itp.gpu_hours.median_run_s")
    ]
    assert completed("traces describe -w elsewhere itp.job.run") == []


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A warehouse with a query and a view that the user defined."""
    query = tmp_path / "local" / "sql" / "mine" / "big_jobs.sql"
    view = tmp_path / "local" / "views" / "mine" / "big_job.v1.sql"
    for path, text in (
        (
            query,
            "-- How many jobs are big?\n-- param: min_gpus: what is big\n-- range: min_gpus: 1 to 64\n"
            "create macro mine.big_jobs(min_gpus integer := 8) as table select 1 as a;\n",
        ),
        (view, "-- Big jobs\ncreate view mine.big_job_v1 as select 1 as a;\n"),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("traces query -w {own} mine", ["mine.big_jobs", "mine.big_job"]),
        ("traces -w {own} query mine.big_jobs", ["mine.big_jobs"]),
        ("traces -w elsewhere describe -w {own} mine.big_jobs", ["mine.big_jobs"]),
        ("traces -w {own} query mine.big_jobs -p m", ["min_gpus=8"]),
        ("traces query -w elsewhere mine", []),
        ("traces query mine", []),
    ],
)
def test_completes_objects_of_the_user(typed: str, expected: list[str], own: Path) -> None:
    assert completed(typed.format(own=own)) == expected


def test_names_equal_those_of_the_catalog(synthetic: duckdb.DuckDBPyConnection) -> None:
    assert names.OWN == local.FOLDER

    def known(sql: str) -> set[str]:
        return {row[0] for row in synthetic.execute(sql).fetchall()}

    assert {name for name, _ in names.query_names()} == known("select query_name from catalog.queries")
    assert {name for name, _ in names.view_names()} == known("select view_name from catalog.views")
    assert {name for name, _ in names.table_names()} == known("select table_name from catalog.tables")
    assert {name for name, _ in names.caveat_names()} == known("select caveat from catalog.caveats")
    assert set(names.trace_names()) == known("select trace from catalog.traces")
    titles = dict(synthetic.execute("select query_name, title from catalog.queries").fetchall())
    assert dict(names.query_names()) == titles


def test_parameters_equal_those_of_query_files() -> None:
    for query in non_empty(query_files()):
        found = list(names.query_parameters(query.full_name))
        assert [name for name, _, _ in found] == [parameter.name for parameter in query.parameters]
        for (_, meaning, values), parameter in zip(found, query.parameters, strict=True):
            assert meaning == parameter.meaning
            default = parameter.default.strip("'")
            assert values[:1] == ([] if default in ("null", "") else [default])
            assert set(parameter.choices) <= set(values)


@pytest.mark.parametrize("typed", ["traces query p", "traces query itp.gpu_hours -p m", "traces list "])
def test_completion_imports_few_modules(typed: str, tmp_path: Path) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": len(typed.split(" ")) - 1}
    packages, ours = modules_of(folder=tmp_path, _TRACES_COMPLETE="bash_complete", **words)
    tables = {"ingest.declarations", "ingest.column_types"} | {
        f"ingest.traces.{name}" for name in names.trace_names()
    }
    assert packages == {"click"} and ours <= START | tables


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completes_in_real_shell(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    options = ["--norc", "-i"] if shell == "bash" else ["-f", "-i"]
    with terminal(shell, *options, HOME=tmp_path, PS1="ready> ") as opened:
        opened.expect_exact("ready> ")
        if shell == "zsh":
            opened.send("autoload -Uz compinit; compinit -u -D\n")
        opened.send(f'eval "$(_TRACES_COMPLETE={shell}_source traces)"; echo lo""aded\n')
        opened.expect_exact("loaded")
        opened.send("traces query itp.gpu_h\t")
        opened.expect_exact("traces query itp.gpu_hours")
        opened.send("-p min_\t")
        opened.expect_exact("min_gpus=1")
        opened.send("\x15traces query acme.states -p on_cluster=ka\t")
        opened.expect_exact("on_cluster=kalos")


@pytest.mark.parametrize(("shell", "file"), [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_install_adds_one_line_to_startup_file(shell: str, file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text("alias ll='ls -l'")
    environment = os.environ | {"HOME": str(tmp_path), "SHELL": f"/bin/{shell}"}
    for _ in range(2):
        subprocess.run([str(TRACES), "--install-completion"], env=environment, check=True)
    first, *added = (tmp_path / file).read_text().splitlines()
    assert first == "alias ll='ls -l'" and len(added) == 1 and f"_TRACES_COMPLETE={shell}_source" in added[0]
    shown = subprocess.run(
        [str(TRACES), "--show-completion"], env=environment, check=True, capture_output=True, text=True
    )
    assert f"_TRACES_COMPLETE={shell}_complete" in shown.stdout
