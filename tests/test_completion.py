"""Tests of shell completion, which opens no database and imports few modules."""

import os
import shutil
from pathlib import Path

import command_line
import duckdb
import pytest
from imported import TYPER, modules_of
from non_empty import non_empty
from terminal import terminal

from tracehouse.definitions import names
from tracehouse.definitions.query_files import query_files
from tracehouse.engines.duckdb.write import user_definitions
from tracehouse.ingest.traces import trace_names


def completed(typed: str) -> list[str]:
    """Return the completions of the last word of a line in bash."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    run = command_line.server().run(environment={"_TRACES_COMPLETE": "complete_bash", **words})
    assert (run.code, run.stderr) == (0, "")
    return [line for line in run.stdout.splitlines() if line]


def differences(cases: dict[str, list[str]]) -> list[tuple]:
    found = {typed: completed(f"traces {typed}") for typed in cases}
    return [(typed, found[typed], expected) for typed, expected in cases.items() if found[typed] != expected]


def test_completes_names_and_parameters() -> None:
    cases = {
        "query itp.gpu_h": ["itp.gpu_hours"],
        "query itp.raw": ["itp.raw_job"],
        "query itp.gpu_hours -p min_": ["min_gpus=1"],
        "query acme.states -p on_cluster=kalos -p by_": ["by_outcome=false", "by_outcome=true"],
        "query -n 3 acme.states -p on_": ["on_cluster=seren", "on_cluster=kalos"],
        "query acme.fleet_hour -p from": ["from_time="],
        "query no.such_query -p ": [],
        # Bash splits `key=value` into three words, and completes only the last of them.
        "query acme.states -p on_cluster = k": ["kalos"],
        "-w elsewhere describe itp.min_d": ["itp.min_duration_600"],
        "describe itp.job.run": [],
        "list qu": ["queries"],
        "list queries u": ["unified"],
        "ingest ope": ["openb"],
        "check z": ["zeus"],
        "export sw": ["swf"],
        "query itp.gpu_hours --pl": ["--plot"],
    }
    assert differences(cases) == []


def test_completes_own_queries_next_to_a_pipe(tmp_path: Path) -> None:
    folder = tmp_path / "local" / "sql" / "mine"
    folder.mkdir(parents=True)
    (folder / "one.sql").write_text("-- One\n", encoding="utf-8")
    # Opening a pipe blocks, so the test would time out.
    os.mkfifo(folder / "pipe.sql")
    assert ("mine.one", "One") in names.query_names(tmp_path)
    assert not any(name == "mine.pipe" for name, _ in names.query_names(tmp_path))


def test_completes_values_and_columns_of_a_warehouse(sample_warehouse: Path) -> None:
    query, describe = f"query -w {sample_warehouse}", f"describe -w {sample_warehouse}"
    cases = {
        f"{query} openb.phases -p in_variant=d": ["in_variant=default"],
        f"{query} openb.phases -p in_variant = d": ["default"],
        f"{query} unified.wait_cdf -p in_trace=itp,o": ["in_trace=itp,openb"],
        f"{describe} itp.job.run": ["itp.job.run_s"],
        f"{describe} itp.gpu_hours.m": [
            f"itp.gpu_hours.{name}" for name in ("mean_gpus", "max_gpus", "median_run_s")
        ],
    }
    assert differences(cases) == []


def test_completes_objects_of_the_user(tmp_path: Path) -> None:
    query = tmp_path / "local" / "sql" / "mine" / "big_jobs.sql"
    view = tmp_path / "local" / "views" / "mine" / "big_job.v1.sql"
    for path, text in (
        (
            query,
            "-- Big jobs\n"
            "create macro mine.big_jobs(\n    -- what is big [1 to 64]\n    min_gpus integer := 8\n)"
            " as table select 1 as a;\n",
        ),
        (view, "-- Big jobs\ncreate view mine.big_job_v1 as select 1 as a;\n"),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    cases = {
        f"query -w {tmp_path} mine": ["mine.big_jobs", "mine.big_job"],
        f"-w {tmp_path} query mine.big_jobs": ["mine.big_jobs"],
        f"-w elsewhere describe -w {tmp_path} mine.big_jobs": ["mine.big_jobs"],
        f"-w {tmp_path} query mine.big_jobs -p m": ["min_gpus=8"],
        "query -w elsewhere mine": [],
    }
    assert differences(cases) == []


def test_names_equal_those_of_the_catalog(synthetic: duckdb.DuckDBPyConnection) -> None:
    assert names.OWN == user_definitions.FOLDER
    for found, sql in (
        (names.query_names(), "select query_name, title from catalog.queries"),
        (names.view_names(), "select view_name from catalog.views"),
        (names.table_names(), "select table_name from catalog.tables"),
        (names.caveat_names(), "select caveat from catalog.caveats"),
        (zip(trace_names(), strict=True), "select trace from catalog.traces"),
    ):
        known = set(synthetic.execute(sql).fetchall())
        assert {item[: len(next(iter(known)))] for item in found} == known, sql


def test_parameters_equal_those_of_query_files() -> None:
    for query in non_empty(query_files()):
        found = list(names.query_parameters(query.full_name))
        assert [name for name, _, _ in found] == [parameter.name for parameter in query.parameters]
        for (_, meaning, values), parameter in zip(found, query.parameters, strict=True):
            assert meaning == parameter.meaning
            default = parameter.default.strip("'")
            assert values[:1] == ([] if default in ("null", "") else [default])
            assert set(parameter.choices) <= set(values)


def test_completion_imports_few_modules(tmp_path: Path) -> None:
    for typed in ("traces query p", "traces query itp.gpu_hours -p m", "traces list "):
        words = {"COMP_WORDS": typed, "COMP_CWORD": len(typed.split(" ")) - 1}
        packages, slow = modules_of(folder=tmp_path, _TRACES_COMPLETE="complete_bash", **words)
        # Names of base tables come from the declarations.
        assert packages == TYPER and slow <= {"ingest.declare.trace"}, typed


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completes_in_real_shell(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    options = ["--norc", "-i"] if shell == "bash" else ["-f", "-i"]
    with terminal(shell, *options, HOME=tmp_path, PS1="ready> ") as opened:
        opened.expect_exact("ready> ")
        if shell == "zsh":
            opened.send("autoload -Uz compinit; compinit -u -D\n")
        opened.send('eval "$(traces --show-completion)"; echo lo""aded\n')
        opened.expect_exact("loaded")
        opened.send("traces query itp.gpu_h\t")
        opened.expect_exact("traces query itp.gpu_hours")
        opened.send("-p min_\t")
        opened.expect_exact("min_gpus=1")
        opened.send("\x15traces query acme.states -p on_cluster=ka\t")
        opened.expect_exact("on_cluster=kalos")
