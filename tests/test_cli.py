"""Tests of the command line, run as users run it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import command_line
import pytest
from command_line import TRACES, Run
from imported import ANSWERING, DUCKDB, READING, START, modules_of
from openpyxl import load_workbook
from terminal import end, plain, screen, terminal

from tracehouse import cli
from tracehouse.commands import export

COMMANDS = tuple(cli.traces.commands)
EXPORTS = tuple(f"export {name}" for name in export.export.commands)


def traces(*arguments: object, warehouse: Path | None = None, stdin: str = "") -> Run:
    environment = {"TRACES_WAREHOUSE": str(warehouse)} if warehouse else {}
    return command_line.server().run(*arguments, stdin=stdin, environment=environment)


def test_help_imports_few_modules(tmp_path: Path) -> None:
    assert modules_of("--help", folder=tmp_path) == ({"click"}, START)


@pytest.mark.parametrize(
    ("arguments", "ours"),
    [
        (["sql", "select 1"], ANSWERING),
        (["sql", "select count(*) from catalog.tables"], ANSWERING),
        (["query", "openb.phases", "-p", "gpu_only=false", "--limit", "3", "--format", "csv"], ANSWERING),
        (["query", "openb.pod", "--format", "csv", "--output", "pods.csv"], ANSWERING),
        (["list", "--json"], ANSWERING),
        (["list", "queries"], ANSWERING),
    ],
)
def test_queries_import_few_modules(
    arguments: list[str],
    ours: set[str],
    sample_warehouse: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    found = modules_of(*arguments, folder=tmp_path, TRACES_WAREHOUSE=sample_warehouse)
    assert found == ({"click"} | DUCKDB, ours)


def test_tables_import_rich_and_few_modules(sample_warehouse: Path, tmp_path: Path) -> None:
    described = READING | {"engines.duckdb.read.describe", "publish.description", "views", "views.sql_text"}
    tables = ANSWERING | {"publish.table"}
    for arguments, on_terminal, ours in (
        (["query", "openb.phases"], True, tables | {"publish.pager"}),
        (["list"], True, tables | {"publish.pager"}),
        (["query", "openb.pod", "--format", "table"], False, tables),
        (["describe", "openb.phases"], False, described),
    ):
        found = modules_of(
            *arguments,
            folder=tmp_path,
            on_terminal=on_terminal,
            TRACES_WAREHOUSE=sample_warehouse,
            PAGER="cat",
        )
        assert found == ({"click", "rich"} | DUCKDB, ours)


def test_help_lists_every_command() -> None:
    shown = traces("--help").stdout
    assert all(f"\n  {command} " in shown for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS + EXPORTS)
def test_help_has_example_and_fits_80_columns(command: str) -> None:
    run = traces(*command.split(), "--help")
    assert run.code == 0
    description = run.stdout.split("Options:")[0]
    assert f"Example: traces {command}" in description
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_guide_names_every_command() -> None:
    guide = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text()
    assert [command for command in COMMANDS if f"traces {command}" not in guide] == []


def test_missing_or_unknown_command_is_wrong_usage() -> None:
    assert traces().code == 2
    assert traces("fly").code == 2


def test_version() -> None:
    assert traces("--version").stdout.startswith("traces ")


def test_missing_warehouse_names_ingest(tmp_path: Path) -> None:
    for arguments in (
        ["list"],
        ["query", "itp.gpu_hours"],
        ["sql", "select 1"],
        ["check"],
        ["verify"],
        ["shell"],
    ):
        run = traces(*arguments, warehouse=tmp_path)
        assert (run.code, run.stdout) == (1, "")
        assert run.stderr.startswith("error: ") and "traces ingest" in run.stderr


def test_sample_ingest_query_and_check(tmp_path: Path) -> None:
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse"
    run = traces("sample", "itp", "zeus", "--out", raw, "--scale", "0.001", "--seed", "3")
    assert run.code == 0 and "synthetic" in run.stdout

    run = traces("ingest", "--raw", raw, "--warehouse", warehouse)
    assert run.code == 0 and "itp.raw_job: " in run.stdout and "synthetic rows" in run.stdout

    run = traces("ingest", "--raw", raw, "--warehouse", warehouse)
    assert run.code == 0 and "tables unchanged" in run.stdout

    listed = traces("list", "traces", warehouse=warehouse, stdin="").stdout.splitlines()
    assert [line.split(",")[2] for line in listed if line.startswith(("itp,", "pai,"))] == [
        "synthetic",
        "no data",
    ]

    run = traces("query", "itp.gpu_hours", "-p", "min_gpus=8", "--format", "json", warehouse=warehouse)
    assert {row["cluster"] for row in json.loads(run.stdout)} <= {f"cluster{n:02}" for n in range(1, 11)}
    assert "caveat synthetic data" in run.stderr and "caveat: itp.min_duration_600 (!)" in run.stderr

    run = traces("check", "itp", "--format", "csv", warehouse=warehouse)
    assert run.code == 0 and "itp.raw_job.row_count,ok,0" in run.stdout


def test_rejects_sample_too_large_for_disk(tmp_path: Path) -> None:
    run = traces("sample", "acme", "--out", tmp_path / "raw", "--scale", "1000")
    assert (run.code, run.stdout) == (1, "")
    assert run.stderr.startswith("error: The sample needs about ") and "smaller scale" in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "arguments", "has_total"),
    [
        ("itp.gpu_hours", ["--format", "table"], True),
        ("itp.gpu_hours", ["--format", "table", "-p", "with_total=false"], False),
        ("itp.gpu_hours", ["--format", "markdown", "-p", "with_total=true"], True),
        ("itp.gpu_hours", [], False),
        ("itp.simulated_capacity", ["--format", "table"], False),
    ],
)
def test_only_tables_have_totals_by_default(
    name: str, arguments: list[str], has_total: bool, sample_warehouse: Path
) -> None:
    run = traces("query", name, *arguments, warehouse=sample_warehouse)
    assert run.code == 0 and "cluster01" in run.stdout
    assert bool(re.search(r"^\W*all\b", run.stdout, re.M)) is has_total


def test_figures_of_real_files(real_warehouse: Path) -> None:
    def last_row(name: str) -> dict:
        run = traces("query", name, "-p", "with_total=true", "--format", "json", warehouse=real_warehouse)
        assert run.code == 0
        return json.loads(run.stdout)[-1]

    hours = last_row("itp.gpu_hours")
    assert (hours["cluster"], hours["jobs"], round(hours["gpu_h"], 1)) == ("all", 69_351, 1_632_719.7)
    assert last_row("openb.capacity_by_model")["gpus"] == 6_212
    assert last_row("zeus.train_coverage")["train_rows"] == 3_759
    machines = last_row("pai.machines")
    assert (machines["machines"], machines["gpus"]) == (1_897, 6_742)


@pytest.mark.parametrize("kind", ["traces", "tables", "views", "queries"])
def test_list(kind: str, sample_warehouse: Path) -> None:
    run = traces("list", kind, "--format", "json", warehouse=sample_warehouse)
    assert run.code == 0 and len(json.loads(run.stdout)) >= 5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "pai.task",
            ["base table", "one row per", "plan_gpu", "percent of one GPU", "measured", "CC BY 4.0"],
        ),
        (
            "itp.job",
            ["itp.job_v1", "version 1, released", "tightness", "synthetic", "create or replace view"],
        ),
        ("itp.job_v1", ["version 1", "itp.deadline_synthetic"]),
        ("zeus.cheapest", ["named query", "eta", "DOUBLE", "0 to 1"]),
        ("acme.states", ["named query", "on_cluster", "seren | kalos", "'seren'", "synthetic data"]),
        ("itp.gpu_hours", ["gpu_h", "GPU-h", "GPU-hours", "DOUBLE"]),
        ("itp", ["ElasticFlow", "Microsoft", "MIT", "cite: ", "itp.raw_job", "itp.collection", "energy"]),
        ("catalog.caveats", ["table of the catalog", "what_to_do", "What to do about it."]),
        ("catalog.checks", ["table of the catalog", "violations"]),
        ("catalog.caveats.what_to_do", ["column of the table catalog.caveats", "VARCHAR"]),
        ("itp.min_duration_600", ["caveat of itp", "what to do: Apply", "itp.raw_job.duration", "gpu_h"]),
        (
            "openb.O4_failed",
            ["published figure of openb", "1,870 GPU pods failed.", "Affinode", "select gpu_pods from"],
        ),
        ("itp.raw_job.duration", ["column of the table", "BIGINT", "unit: s", "itp.min_duration_600"]),
        ("itp.job.run_s", ["column of the view", "measured", "computed from: itp.raw_job.duration"]),
        ("itp.job_v1.run_s", ["column of the view itp.job_v1", "itp.min_duration_600"]),
        ("unified.jobs.run_s", ["itp.standard_job_v1.run_s", "base columns: ", "itp.raw_job.duration"]),
        ("itp.gpu_hours.gpu_h", ["column of the query", "DOUBLE", "GPU-h", "derived"]),
    ],
)
def test_describe(name: str, expected: list[str], sample_warehouse: Path) -> None:
    run = traces("describe", name, warehouse=sample_warehouse)
    assert run.code == 0
    assert [text for text in expected if text not in run.stdout] == []


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["query", "itp.gpu_hour"], 2, "Close matches: itp.gpu_hours"),
        (["query", "itp.gpu_hours", "-p", "min_gpus"], 2, "KEY=VALUE"),
        (["query", "itp.gpu_hours", "min_gpus=8"], 2, "Set a parameter with `-p min_gpus=8`"),
        (["query", "itp.gpu_hours", "-p", "min_gpus=x"], 2, "min_gpus INTEGER, default 1"),
        (["query", "zeus.cheapest", "-p", "eta=2"], 2, "eta must be of type DOUBLE from 0 to 1, not '2'"),
        (["query", "itp.gpu_hours", "--plot", "a.gif"], 2, "must end in .png, .svg or .pdf"),
        (
            ["query", "itp.gpu_hours", "--plot", "a.png", "--width", "0"],
            2,
            "--width must be 40 to 2000 millimetres",
        ),
        (
            ["query", "itp.gpu_hours", "--plot", "a.png", "--font-size", "0"],
            2,
            "--font-size must be 4 to 100 points",
        ),
        (["query", "itp.gpu_hours", "--plot", "--width", "85"], 2, "need --plot FILE"),
        (["query", "itp.gpu_hours", "--width", "85"], 2, "need --plot FILE"),
        (["query", "itp.gpu_hours", "--plot", "a.png", "--format", "csv"], 2, "--plot excludes"),
        (["describe", "pai.tasks"], 2, "Close matches: pai.task"),
        (["describe", "itp.min_duration_60"], 2, "Close matches: itp.min_duration_600"),
        (["describe", "itp.job.runs"], 2, "itp.job has no column runs. Close matches: run_s."),
        (["describe", "catalog.caveat"], 2, "Close matches: catalog.caveats"),
        (["query", "itp.gpu_hours", "--json", "--format", "csv"], 2, "Give only one of --format"),
        (["query", "itp.gpu_hours", "--json", "--records"], 2, "Give only one of --format"),
        (["query", "itp.gpu_hours", "-o", "a.docx"], 2, "unknown extension .docx. Known: .csv, "),
        (
            ["list", "queries", "itp", "--search", "wait"],
            1,
            'No queries of itp match "wait"',
        ),
        (["check", "mars"], 2, "no trace is called mars"),
        (["verify", "mars"], 2, "no trace is called mars"),
        (["list", "moons"], 2, "moons"),
        (["sql", "select 1", "--file", "x.sql"], 2, "not both"),
        (["sql", "--file", "no_such.sql"], 1, "no_such.sql"),
        (["sql", "create table t as select 1"], 1, "Only queries are allowed"),
        (["sql", "from no_such_table"], 1, "no_such_table"),
        (["ingest", "mars"], 2, "no trace is called mars"),
        (["ingest", "--raw", "no_such_folder"], 1, "no such folder"),
        (["build", "--warehouse", "no_such_folder"], 1, "no such folder"),
        (["sample", "mars"], 2, "no trace is called mars"),
        (["sample", "--scale", "0"], 2, "the scale of a sample must be a number above 0, not 0"),
        (["sample", "--scale", "-1"], 2, "the scale of a sample must be a number above 0, not -1"),
        (["sample", "--scale", "nan"], 2, "the scale of a sample must be a number above 0, not nan"),
        (["sample", "--seed", "-1"], 2, "the seed of a sample must be 0 or more, not -1"),
    ],
)
def test_errors_say_what_to_do(
    arguments: list[str], code: int, complaint: str, sample_warehouse: Path, tmp_path: Path
) -> None:
    if arguments[0] == "ingest" and "--raw" not in arguments:
        arguments = [*arguments, "--raw", str(tmp_path)]
    run = traces(*arguments, warehouse=sample_warehouse)
    assert run.code == code
    assert complaint in run.stderr
    assert "Traceback" not in run.stderr


def test_describes_as_json_object(sample_warehouse: Path) -> None:
    found = json.loads(traces("describe", "itp.gpu_hours", "--json", warehouse=sample_warehouse).stdout)
    assert (found["name"], found["kind"]) == ("itp.gpu_hours", "named query")
    assert found["parameters"][0]["parameter"] == "min_gpus"
    assert {"column": "gpu_h", "type": "DOUBLE"}.items() <= found["columns"][2].items()
    assert "itp.min_duration_600" in [note["name"] for note in found["notes"]]
    assert found["sql"].startswith("create or replace macro")


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "traces"),
        ("query", "itp.gpu_hours"),
        ("sql", "select 1 as a"),
        ("check", "itp"),
        ("verify", "itp"),
    ],
)
def test_json_option_is_format_json(arguments: tuple[str, ...], sample_warehouse: Path) -> None:
    short = traces(*arguments, "--json", warehouse=sample_warehouse)
    assert short.code == 0 and isinstance(json.loads(short.stdout), list)
    assert traces(*arguments, "--format", "json", warehouse=sample_warehouse).stdout == short.stdout


def test_warehouse_option_before_command(sample_warehouse: Path, tmp_path: Path) -> None:
    for before, behind, code in [
        (sample_warehouse, tmp_path, 1),
        (tmp_path, sample_warehouse, 0),
        (sample_warehouse, None, 0),
        (tmp_path, None, 1),
    ]:
        more = ["-w", behind] if behind else []
        run = traces("-w", before, "sql", "select 1", *more, warehouse=sample_warehouse)
        assert run.code == code, (before, behind, run.stderr)


def test_limit_applies_to_every_answer(sample_warehouse: Path) -> None:
    for arguments in (
        ["list", "queries", "--search", "gpu"],
        ["query", "itp.job"],
        ["sql", "from itp.job order by run_s desc -- longest"],
    ):
        whole = traces(*arguments, "--json", warehouse=sample_warehouse)
        few = traces(*arguments, "--json", "--limit", "3", warehouse=sample_warehouse)
        assert json.loads(few.stdout) == json.loads(whole.stdout)[:3] and len(json.loads(few.stdout)) == 3
    plan = traces("sql", "explain from itp.job", "--limit", "3", warehouse=sample_warehouse)
    assert plan.code == 0
    most = traces("query", "itp.gpu_hours", "-n", 2**31 - 2, warehouse=sample_warehouse)
    assert most.code == 0 and len(most.stdout.splitlines()) == 11
    for command in (["sql", "select 1"], ["query", "itp.job"], ["list"]):
        run = traces(*command, "--limit", 2**63 - 1, warehouse=sample_warehouse)
        assert run.code == 2 and "is not in the range 0<=x<=2147483646" in run.stderr


def test_writes_workbook_and_text_table(sample_warehouse: Path, tmp_path: Path) -> None:
    path = tmp_path / "machines.xlsx"
    run = traces("query", "pai.machines", "-o", path, warehouse=sample_warehouse)
    assert (run.code, run.stdout) == (0, "")
    names, *rows = load_workbook(path).active.values
    answer = json.loads(traces("query", "pai.machines", "--json", warehouse=sample_warehouse).stdout)
    assert len(rows) == len(answer) > 2
    for row, expected in zip(rows, answer, strict=True):
        assert list(expected) == list(names)
        for value, exact in zip(row, expected.values(), strict=True):
            # A cell of a workbook holds 16 significant digits.
            assert value == (float(f"{exact:.16g}") if isinstance(exact, float) else exact)
    assert traces("query", "itp.job", "-o", tmp_path / "jobs.txt", warehouse=sample_warehouse).code == 0
    lines = (tmp_path / "jobs.txt").read_text().splitlines()
    assert len(lines) > 250 and lines[0].split()[0] == "cluster" and lines[-1].endswith(" rows")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "itp.gpu_hours", "-o", "none/x.csv"],
        ["query", "itp.gpu_hours", "--plot", "none/x.svg"],
        ["sql", "select 1", "--output", "none/x.json"],
        ["list", "--output", "none/x.json"],
        ["report", "itp", "--out", "none/x.html"],
        ["publish", "--out", "none/x.duckdb"],
        ["publish", "--out", "x.duckdb", "--superset", "none/x.zip"],
    ],
    ids=lambda arguments: " ".join(arguments[:-1]),
)
def test_no_command_creates_folder_of_output_file(
    arguments: list[str], sample_warehouse: Path, tmp_path: Path
) -> None:
    environment = {"TRACES_WAREHOUSE": str(sample_warehouse)}
    run = command_line.server().run(*arguments, cwd=tmp_path, environment=environment)
    assert (run.code, run.stdout) == (1, "")
    assert run.stderr == "error: none: no such folder. Create it, or name another file\n"
    assert list(tmp_path.iterdir()) == []


def test_limit_reports_omitted_rows(sample_warehouse: Path, tmp_path: Path) -> None:
    def of_limit(*arguments: object) -> tuple[str, str]:
        """Return the line below the table, and the notes on omitted rows."""
        run = traces(*arguments, warehouse=sample_warehouse)
        assert run.code == 0, run.stderr
        notes = [line for line in run.stderr.splitlines() if line.startswith("note not all rows")]
        return run.stdout.splitlines()[-1] if run.stdout else "", " ".join(notes)

    table = ("query", "itp.gpu_hours", "--format", "table", "--limit")
    totals = " and counts total rows too"
    assert of_limit(*table, 3) == (f"3 rows; --limit 3 omits the other rows{totals}", "")
    assert of_limit(*table, 1, "-p", "with_total=false") == ("1 row; --limit 1 omits the other rows", "")
    # Ten clusters and the row of totals.
    assert of_limit(*table, 11) == ("11 rows", "")
    records = ("sql", "select range as n from range(300)", "--records", "-n")
    shown, _ = of_limit(*records, 250)
    assert shown == (
        "200 of 250 rows; get all with --format csv or --output FILE; --limit 250 omits the other rows"
    )
    for command in (["query", "itp.gpu_hours"], ["sql", "from itp.job"], ["list", "queries"]):
        assert of_limit(*command, "-n", 2)[1] == "note not all rows: --limit 2 omits the other rows"
        assert of_limit(*command)[1] == ""
    drawn = of_limit("query", "itp.gpu_hours", "-n", 2, "--plot", tmp_path / "few.svg")
    assert drawn[1] == "note not all rows: --limit 2 omits the other rows"
    assert "READ_PARQUET" in traces(
        "query", "itp.gpu_hours", "-n", 2, "--explain", warehouse=sample_warehouse
    ).stdout.upper().replace(" ", "_")


def test_empty_answer_says_why(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "pai_machine_spec.csv").write_text("a,V100,96,384,8\n")
    assert traces("ingest", "--raw", raw, "--warehouse", tmp_path).code == 0

    def note(*arguments: str) -> str:
        run = traces(*arguments, warehouse=tmp_path)
        assert run.code == 0 and run.stdout.count("\n") == 1
        return " ".join(line for line in run.stderr.splitlines() if line.startswith("note no rows"))

    for arguments in (["query", "pai.wait_cdf"], ["query", "pai.task"], ["sql", "from pai.wait_cdf()"]):
        # Caveats do not apply to missing data.
        assert "caveat" not in traces(*arguments, warehouse=tmp_path).stderr
    assert "caveats: pai." in traces("query", "pai.machine_spec", warehouse=tmp_path).stderr
    assert "pai.tasks_without_instances" in traces("describe", "pai.wait_cdf", warehouse=tmp_path).stdout
    of_query = note("query", "pai.wait_by_gpu_type", "-p", "min_gpus=2")
    assert "pai.instance, pai.task have no data; `traces describe pai`" in of_query
    assert "Parameters: min_gpus=2.0 (default 0.01)" in of_query
    assert "pai.task has no data" in note("query", "pai.task")
    assert "pai.instance, pai.task have no data" in note("sql", "select * from pai.wait_by_gpu_type()")
    assert "pai.task has no data" in note(
        "sql", "with t as (from pai.task) select (select count(*) from pai.machine_spec), 1 from t"
    )
    assert "the source tables have data: pai.machine_spec (1 rows)" in note(
        "sql", "select * from PAI.machine_spec where machine = 'b'"
    )
    assert note("sql", "select 1 where false") == ""
    run = traces("sql", "from pai.machine_spec", warehouse=tmp_path)
    assert run.stdout.count("\n") == 2 and "no data" not in run.stderr


def test_empty_answer_blames_the_filter_and_not_the_missing_archive(tmp_path: Path) -> None:
    """A query on jobs needs one of ITP's two archives only."""
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "cluster01.csv").write_text("job_id,submission_time,duration,num_gpu\na,0,600,1\nb,5,700,2\n")
    assert traces("ingest", "--raw", raw, "--warehouse", tmp_path).code == 0

    def note(*arguments: str) -> str:
        run = traces(*arguments, warehouse=tmp_path)
        assert run.code == 0
        return "".join(line for line in run.stderr.splitlines() if line.startswith("note no rows"))

    of_filter = note("query", "itp.gpu_hours", "-p", "min_gpus=9999")
    assert of_filter.startswith(
        "note no rows: the source tables have data: itp.raw_job (2 rows); not itp.elasticflow_job. "
        "The filter is the cause: min_gpus=9999 (default 1)"
    )
    assert note("query", "itp.gpu_hours", "-p", "min_gpus=2") == ""
    # Only the missing archive has deadlines: no value of a parameter gives rows.
    for arguments in (["itp.deadline_tightness", "-p", "bin_width=0.2"], ["itp.elasticflow_job"]):
        of_data = note("query", *arguments)
        assert "itp.elasticflow_job has no data" in of_data and "filter" not in of_data
    of_sql = note("sql", "from itp.gpu_hours() where cluster = 'z'")
    assert "Other source tables have data: itp.raw_job (2 rows)" in of_sql


def test_reads_sql_from_argument_file_or_stdin(sample_warehouse: Path, tmp_path: Path) -> None:
    statement = "select count(*) as jobs from itp.raw_job"
    (tmp_path / "q.sql").write_text(statement)
    answers = {
        traces("sql", statement, warehouse=sample_warehouse).stdout,
        traces("sql", "-f", tmp_path / "q.sql", warehouse=sample_warehouse).stdout,
        traces("sql", "-", warehouse=sample_warehouse, stdin=statement).stdout,
        traces("sql", warehouse=sample_warehouse, stdin=statement).stdout,
    }
    assert len(answers) == 1 and answers.pop().startswith("jobs\n")


def test_explain_prints_plan(sample_warehouse: Path) -> None:
    for arguments in (["query", "itp.gpu_hours", "--explain"], ["sql", "--explain", "from itp.job"]):
        run = traces(*arguments, warehouse=sample_warehouse)
        assert run.code == 0 and "READ_PARQUET" in run.stdout.upper().replace(" ", "_")


def test_output_option_writes_only_file(sample_warehouse: Path, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    run = traces("query", "pai.machines", "--output", path, warehouse=sample_warehouse)
    assert (run.code, run.stdout) == (0, "")
    assert json.loads(path.read_text())[0]["gpu_type"] == "CPU"


def by_shell(line: str, warehouse: Path) -> subprocess.CompletedProcess:
    environment = os.environ | {"TRACES_WAREHOUSE": str(warehouse), "traces": str(TRACES)}
    return subprocess.run(["bash", "-c", line], env=environment, capture_output=True)


@pytest.mark.parametrize(
    ("line", "code", "complaint"),
    [
        ("$traces list > /dev/full", 1, b"No space left"),
        ("$traces query $'\\xff'", 2, b"\\xff is not valid UTF-8"),
        ("$traces query itp.gpu_hours -p $'min_gpus=\\xff'", 2, b"\\xff is not valid UTF-8"),
        ("printf 'select 1,\\n\\xff' | $traces sql", 2, b"standard input, line 2: not valid UTF-8"),
        ("$traces list -w $'\\e[2J\\xff'", 1, b"\\x1b[2J\\xff"),
        ("$traces query $'a\\e[2J'", 2, b'named "a\\x1b[2J"'),
        ("$traces sql 'from range(1000000000000)' --timeout 0.5", 1, b"No answer within 0.5 s"),
        ("$traces sql 'select 1' --timeout nan", 2, b"a number of seconds above 0"),
        ("$traces sql 'select 1' --memory-limit lots", 2, b"a size such as 500MB"),
        ("$traces sql 'select list(range) from range(9999999)' --memory-limit 40MB", 1, b"--memory-limit"),
        ("$traces sql 'with x as (select 1) from x' -o /dev/full", 1, b"No space left"),
    ],
)
def test_unusual_input_gets_clear_error(
    line: str, code: int, complaint: bytes, sample_warehouse: Path
) -> None:
    run = by_shell(line, sample_warehouse)
    assert run.returncode == code, run.stderr
    assert complaint in run.stderr
    assert b"Traceback" not in run.stderr and b"\x1b" not in run.stderr


def test_writes_to_dev_stdout(sample_warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    run = by_shell(f"$traces sql 'select 1 as a' -o /dev/stdout >> '{tmp_path}/log'", sample_warehouse)
    assert (run.returncode, (tmp_path / "log").read_text()) == (0, "before\na\n1\n")
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="the test reads a pseudo-terminal of Linux")
@pytest.mark.parametrize("form", ["table", "csv", "markdown", "json"])
def test_escapes_control_characters_on_terminal(form: str, sample_warehouse: Path) -> None:
    sql = "select chr(27) || '[2J' || chr(155) || 'x' as a"
    with terminal("sql", sql, "--format", form, warehouse=sample_warehouse) as opened:
        assert end(opened) == 0
    assert "[2J" in screen(opened)
    assert "\x1b[2J" not in screen(opened) and "\x9b" not in screen(opened)


def test_closed_pipe_is_no_error(sample_warehouse: Path) -> None:
    command = f"'{TRACES}' sql 'from itp.raw_job cross join range(1000)' -w '{sample_warehouse}' | head -n 1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert run.stdout.startswith("source_file,") and run.stderr == ""


def test_failed_rule_exits_with_1(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "openb_node_list_gpu_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\na,1000,1024,1,T4\n"
    )
    assert traces("ingest", "--raw", raw, "--warehouse", tmp_path).code == 0
    run = traces("check", "openb", warehouse=tmp_path)
    assert run.code == 1 and "failed" in run.stdout and "rules and expected counts failed" in run.stderr


def test_different_figure_exits_with_1(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "pai_machine_spec.csv").write_text("a,V100,96,384,8\nb,CPU,96,512,0\n")
    assert traces("ingest", "--raw", raw, "--warehouse", tmp_path).code == 0
    run = traces("verify", "pai", "--format", "json", warehouse=tmp_path)
    rows = {row["figure"]: row for row in json.loads(run.stdout)}
    gpus = rows["pai.P1_gpus"]
    assert (gpus["published"], gpus["measured"], gpus["difference"]) == (6_742, 8, -6_734)
    assert (gpus["unit"], gpus["verdict"]) == ("GPUs", "differs")
    assert rows["pai.P3_cpus_of_v100"]["verdict"] == "reproduced"
    assert rows["pai.P4_cpu_used_more"]["verdict"] == "no data"
    assert rows["pai.P4_cpu_used_more"]["measured"] is None
    assert run.code == 1 and "figures differ" in run.stderr


def test_verify_succeeds_on_real_and_synthetic_data(real_warehouse: Path, sample_warehouse: Path) -> None:
    cases = ((real_warehouse, 10, "reproduced"), (sample_warehouse, 16, "synthetic data"))
    for warehouse, papers, verdict in cases:
        run = traces("verify", "pai", warehouse=warehouse)
        assert run.code == 0 and f"trust paper: {papers} {verdict}" in run.stderr
        assert run.stdout.startswith(
            "figure,statement,published,measured,difference,unit,verdict,trust,printed_in\n"
        )
        assert f"GPUs,{verdict},paper," in run.stdout
    markdown = traces("verify", "itp", "--format", "markdown", warehouse=real_warehouse)
    assert markdown.code == 0 and markdown.stdout.startswith("| figure | statement |")


def test_explained_difference_is_no_failure(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "pai_task_table.csv").write_text("j,worker,1.0,Terminated,100.0,400.0,600.0,29.3,100.0,V100\n")
    (raw / "pai_instance_table.csv").write_text("j,worker,i,w,n,Terminated,150.0,400.0,m\n")
    assert traces("ingest", "--raw", raw, "--warehouse", tmp_path).code == 0
    run = traces("verify", "pai", warehouse=tmp_path)
    assert "113.0,50.0,-63.0,s,differs as explained,slides," in run.stdout
    explained = run.stdout.count(",differs as explained,")
    note, *by_trust, failed = run.stderr.splitlines()
    assert [line.partition(": ")[0] for line in by_trust] == [
        "trust publisher",
        "trust paper",
        "trust read off a figure",
        "trust slides",
        "trust third party",
    ]
    assert note == f"note explained: {explained} figures differ for known reasons, see catalog.published"
    assert failed.startswith("error: ") and failed.endswith(" figures differ")
    with terminal("verify", "pai", "--no-pager", warehouse=tmp_path) as opened:
        assert end(opened) == 1
    assert re.search(r"explained pai.P17_v100_median: .*The\s+slides\s+do\s+not", plain(opened), re.S)


def test_prints_full_texts_of_caveats_on_request(sample_warehouse: Path) -> None:
    summary = traces("query", "zeus.pareto_front", warehouse=sample_warehouse).stderr.splitlines()
    complete = traces(
        "query", "zeus.pareto_front", "--caveats", warehouse=sample_warehouse
    ).stderr.splitlines()
    [line] = [line for line in summary if line.endswith("; show with --caveats")]
    assert " caveats: zeus." in line and "zeus.target_decides_optimum (!)" in line
    assert any(text.startswith("(!) The best batch size and power limit depend") for text in summary)
    assert sum(map(len, summary)) < sum(map(len, complete)) / 3
    names = re.findall(r"zeus\.\w+", line)
    assert len(names) > 2
    assert [name for name in names if f"caveat {name}: " not in "\n".join(complete)] == []


def test_plots_to_file(sample_warehouse: Path, tmp_path: Path) -> None:
    path = tmp_path / "hours.svg"
    run = traces("query", "itp.gpu_hours", "--plot", path, warehouse=sample_warehouse)
    assert (run.code, run.stdout) == (0, f"Drew {path}\n")
    assert "1 caveat: itp.min_duration_600 (!); show with --caveats" in run.stderr
    assert "GPU-hours" in path.read_text()
    narrow = tmp_path / "narrow.svg"
    size = ("--width", 85, "--font-size", 7)
    assert traces("query", "itp.gpu_hours", "--plot", narrow, *size, warehouse=sample_warehouse).code == 0
    assert len(narrow.read_text()) > 1000 and 'font-size="7px"' in narrow.read_text()


@pytest.mark.parametrize("bare", [["--plot"], ["--plot", "-p", "min_gpus=2"], ["--plot", "-"]])
def test_plots_in_terminal_without_file(bare: list[str], sample_warehouse: Path) -> None:
    run = traces("query", "itp.gpu_hours", *bare, warehouse=sample_warehouse)
    assert run.code == 0
    assert "cluster04 ██" in run.stdout
    assert f"min_gpus = {2 if '-p' in bare else 1}" in run.stdout
    assert "1 caveat: itp.min_duration_600 (!); show with --caveats" in run.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["select range, hash(range) as h from range(3000000)"],
        ["select hash(range) as h from range(30000000) order by h", "--memory-limit", "200MB"],
    ],
    ids=["answer", "spilled data"],
)
def test_full_temporary_folder_gets_clear_error(
    options: list[str], sample_warehouse: Path, tmp_path: Path
) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        environment = {"TMPDIR": str(tmp_path), "TRACES_WAREHOUSE": str(sample_warehouse)}
        run = command_line.server().run("sql", *options, environment=environment)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert (run.code, run.stdout) == (1, "")
    assert run.stderr.startswith("error: No space left for the answer, or for data that does not fit memory")
    assert "Traceback" not in run.stderr


def test_parameter_given_as_option_shows_usage(sample_warehouse: Path) -> None:
    environment = {"TRACES_WAREHOUSE": str(sample_warehouse)}
    run = command_line.server().run("query", "itp.gpu_hours", "--min-gpus", "8", environment=environment)
    assert run.code == 2
    assert "-p KEY=VALUE" in run.stderr and "No such option '--min-gpus'" in run.stderr


def test_folders_after_raw_are_not_traces(tmp_path: Path) -> None:
    for name, job in (("first", "itp"), ("second", "zeus")):
        assert traces("sample", job, "--out", tmp_path / name, "--scale", "0.001").code == 0
    arguments = ("ingest", "--warehouse", tmp_path, "--raw", tmp_path / "first", tmp_path / "second")
    run = traces(*arguments)
    assert run.code == 0 and "itp.raw_job: " in run.stdout and "zeus.train: " in run.stdout
    assert "no trace is called" in traces(*arguments, tmp_path / "third").stderr


@pytest.mark.parametrize("form", ["table", "csv", "parquet"])
@pytest.mark.parametrize(
    ("statement", "line", "marked"),
    [
        ("select nope from itp.job", "LINE 1: select nope from itp.job", "nope"),
        ("/* a comment */\n\nselect run_s,\n    nope\nfrom itp.job", "LINE 4:     nope", "nope"),
        ("select cast(job_id as int) from itp.job", "LINE 1: select cast(", "cast(job_id as int)"),
        ("selec 1", "LINE 1: selec 1", "selec"),
    ],
)
def test_sql_error_marks_place_in_statement(
    form: str, statement: str, line: str, marked: str, sample_warehouse: Path, tmp_path: Path
) -> None:
    output = ["--output", tmp_path / "a.parquet"] if form == "parquet" else ["--format", form]
    run = traces("sql", statement, *output, warehouse=sample_warehouse)
    *_, shown, marks = run.stderr.rstrip().splitlines()
    assert run.code == 1 and shown.startswith(line)
    assert shown[marks.index("^") : len(marks)] == marked


def test_list_omits_queries_without_data(tmp_path: Path) -> None:
    assert traces("sample", "itp", "--out", tmp_path / "raw", "--scale", "0.001").code == 0
    assert traces("ingest", "--raw", tmp_path / "raw", "--warehouse", tmp_path).code == 0
    listed = traces("list", "queries", warehouse=tmp_path)
    names = [line.partition(",")[0] for line in listed.stdout.splitlines()[1:]]
    every = len(traces("list", "queries", "--all", warehouse=tmp_path).stdout.splitlines()) - 1
    assert {name.partition(".")[0] for name in names} == {"itp", "unified"}
    assert f"note not listed: {every - len(names)} queries need tables" in listed.stderr
    found = traces("list", "queries", "pai", "--search", "sharing", warehouse=tmp_path)
    assert found.code == 1 and "List them: `traces list queries pai --all`" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["query", "itp.job"], ["cluster", "job_id", "submit_s", "run_s", "requested_gpus"]),
        (["query", "unified.jobs"], ["trace", "cluster", "job_id", "submit_s", "wait_s"]),
        (["query", "unified.wait_cdf"], ["trace", "size_band", "percentile", "wait_s"]),
        (["query", "zeus.pareto_front"], ["batch_size", "power_limit_w", "energy_to_accuracy_j"]),
        (["query", "pai.wait_by_gpu_type"], ["gpu_type", "median_wait_s"]),
        (["verify", "itp"], ["statement", "published", "measured", "verdict"]),
    ],
)
def test_narrow_table_keeps_keys_and_measures(
    arguments: list[str], kept: list[str], sample_warehouse: Path
) -> None:
    with terminal(*arguments, "--no-pager", warehouse=sample_warehouse) as opened:
        assert end(opened) == 0
    heading, line, *_ = plain(opened).splitlines()
    assert set(kept) <= set(heading.split()) and len(line) <= 80


@pytest.mark.parametrize("name", ["itp.gpu_hours", "pai.waste", "openb.node"])
def test_describe_fits_screen_unless_full(name: str, sample_warehouse: Path) -> None:
    shown = {}
    for option in ((), ("--full",)):
        with terminal("describe", name, "--no-pager", *option, warehouse=sample_warehouse) as opened:
            assert end(opened) == 0
        shown[option] = plain(opened).splitlines()
    short, full = shown.values()
    assert len(short) <= 30 < len(full) and max(map(len, short)) <= 80
    assert not any("create or replace" in line or "provenance " in line for line in short)


@pytest.mark.parametrize("command", COMMANDS + EXPORTS)
def test_examples_are_on_one_line(command: str) -> None:
    lines = traces(*command.split(), "--help").stdout.splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith("  Example: ")]
    assert places and all(not lines[place + 1].strip() for place in places)


def test_report_is_html(sample_warehouse: Path, tmp_path: Path) -> None:
    run = traces("report", "-w", str(sample_warehouse), "--out", str(tmp_path / "report.pdf"))
    assert (run.code, run.stderr.count("ends in .html")) == (2, 1)
