"""Tests of the command line, run as users run it."""

import json
import os
import re
import resource
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import command_line
import duckdb
import pytest
import suites
from command_line import TRACES, Run
from imported import DUCKDB, TYPER, modules_of
from non_empty import non_empty
from terminal import end, plain, terminal

from tracehouse import cli

COMMANDS = [*(f.__name__.rstrip("_") for commands in cli.PANELS.values() for f in commands), "export"]
EXPORTS = [f"export {command.__name__}" for command in cli.EXPORTS]


def traces(
    *arguments: object, warehouse: Path | None = None, stdin: str = "", cwd: Path | None = None
) -> Run:
    environment = {"TRACES_WAREHOUSE": str(warehouse)} if warehouse else {}
    more = {"cwd": cwd} if cwd else {}
    return command_line.server().run(*arguments, stdin=stdin, environment=environment, **more)


def rows(*arguments: object, warehouse: Path) -> list[dict]:
    """Return the rows that a command writes as JSON."""
    run = traces(*arguments, "--json", warehouse=warehouse)
    assert run.code == 0, run.stderr
    return json.loads(run.stdout)


def ingested(folder: Path, **files: str) -> Path:
    """Ingest raw files with the given texts, and return the warehouse."""
    raw = folder / "raw"
    raw.mkdir()
    for name, text in files.items():
        (raw / f"{name}.csv").write_text(text, encoding="utf-8")
    assert traces("ingest", "--raw", raw, "--warehouse", folder).code == 0
    return folder


def test_commands_import_few_modules(sample_warehouse: Path, tmp_path: Path) -> None:
    different = []
    for line, to_terminal, packages in (
        ("--help", False, TYPER),
        ("sql select(1)", False, TYPER | DUCKDB),
        ("query openb.phases -p gpu_only=false --limit 3 --format csv", False, TYPER | DUCKDB),
        ("query openb.pod --format csv --output pods.csv", False, TYPER | DUCKDB),
        ("list queries", False, TYPER | DUCKDB),
        ("query openb.phases", True, TYPER | DUCKDB | {"rich"}),
        ("query openb.pod --format table", False, TYPER | DUCKDB | {"rich"}),
        ("describe openb.phases", False, TYPER | DUCKDB | {"rich"}),
    ):
        variables = {"TRACES_WAREHOUSE": sample_warehouse, "PAGER": "cat"}
        found = modules_of(*line.split(), folder=tmp_path, on_terminal=to_terminal, **variables)
        if found != (packages, set()):
            different.append((line, found[0] ^ packages, found[1]))
    assert different == []


def test_help_has_examples_and_fits_80_columns() -> None:
    shown = traces("--help").stdout
    guide = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"\n  {name} " not in shown or f"traces {name}" not in guide] == []
    wrong = []
    for command in COMMANDS + EXPORTS:
        lines = traces(*command.split(), "--help").stdout.splitlines()
        places = [place for place, line in enumerate(lines) if line.startswith("  Example: traces ")]
        complete = all(
            f"traces {command}" in lines[place] and not lines[place + 1].strip() for place in places
        )
        if not places or not complete or max(map(len, lines)) > 80:
            wrong.append(command)
    assert wrong == []


def test_help_on_a_terminal_has_panels() -> None:
    for arguments, panels in (
        ([], list(cli.PANELS)),
        (["query"], ["Arguments", "Options", "Parameters", "Chart", "Output", "Engine"]),
    ):
        with terminal(TRACES, *arguments, "--help") as opened:
            assert end(opened) == 0
        shown = plain(opened)
        assert [panel for panel in panels if f"─ {panel} ─" not in shown] == []
        assert max(map(len, shown.splitlines())) <= 80 and "`" not in shown


def test_sample_ingest_query_and_check(tmp_path: Path) -> None:
    assert traces("--version").stdout.startswith("traces ")
    raw, warehouse = tmp_path / "raw", tmp_path / "warehouse"
    run = traces("sample", "itp", "dlrm", "--out", raw, "--scale", "0.001", "--seed", "3")
    assert run.code == 0 and "synthetic" in run.stdout
    run = traces("ingest", "--raw", raw, "--warehouse", warehouse)
    assert run.code == 0 and "itp.raw_job: " in run.stdout and "synthetic rows" in run.stdout
    run = traces("ingest", "--raw", raw, "--warehouse", warehouse)
    assert run.code == 0 and "tables unchanged" in run.stdout
    data = {row["trace"]: row["data"] for row in rows("list", "traces", warehouse=warehouse)}
    assert (data["itp"], data["pai"]) == ("synthetic", "no data")
    run = traces("query", "itp.gpu_hours", "-p", "min_gpus=8", "--json", warehouse=warehouse)
    assert {row["cluster"] for row in json.loads(run.stdout)} <= {f"cluster{n:02}" for n in range(1, 11)}
    assert (
        "note: These numbers come from synthetic data (itp." in run.stderr
        and "caveats: itp.min_duration_600 (!), " in run.stderr
    )
    run = traces("check", "dlrm", "--format", "csv", warehouse=warehouse)
    assert run.code == 0 and "dlrm.instance.row_count,ok,0" in run.stdout

    listed = rows("list", "queries", warehouse=warehouse)
    assert {row["query_name"].partition(".")[0] for row in listed} == {"dlrm", "itp", "unified"}
    missing = len(rows("list", "queries", "--all", warehouse=warehouse)) - len(listed)
    note = traces("list", "queries", warehouse=warehouse).stderr
    assert f"note: {missing} more queries need data that you have not ingested." in note
    found = traces("list", "queries", "pai", "--search", "sharing", warehouse=warehouse)
    assert found.code == 1 and "List them: `traces list queries pai --all`" in found.stderr


def test_folders_after_raw_are_not_traces(tmp_path: Path) -> None:
    for name, job in (("first", "itp"), ("second", "zeus")):
        assert traces("sample", job, "--out", tmp_path / name, "--scale", "0.001").code == 0
    arguments = ("ingest", "--warehouse", tmp_path, "--raw", tmp_path / "first", tmp_path / "second")
    run = traces(*arguments)
    assert run.code == 0 and "itp.raw_job: " in run.stdout and "zeus.train: " in run.stdout
    assert "no trace is called" in traces(*arguments, tmp_path / "third").stderr


def test_only_tables_have_totals_by_default(sample_warehouse: Path) -> None:
    for name, arguments, has_total in (
        ("itp.gpu_hours", ["--format", "table"], True),
        ("itp.gpu_hours", ["--format", "table", "-p", "with_total=false"], False),
        ("itp.gpu_hours", ["--format", "markdown", "-p", "with_total=true"], True),
        ("itp.gpu_hours", [], False),
        ("itp.simulated_capacity", ["--format", "table"], False),
    ):
        run = traces("query", name, *arguments, warehouse=sample_warehouse)
        assert run.code == 0 and "cluster01" in run.stdout
        assert bool(re.search(r"^\W*all\b", run.stdout, re.M)) is has_total, arguments


DESCRIBED = {
    "pai.task": ["base table", "one row per", "plan_gpu", "percent of one GPU", "measured", "CC BY 4.0"],
    "itp.job": ["itp.job_v1", "version 1, released", "tightness", "synthetic", "create or replace view"],
    "zeus.cheapest": ["named query", "eta", "DOUBLE", "0 to 1"],
    "acme.states": ["named query", "on_cluster", "seren | kalos", "'seren'", "synthetic data"],
    "itp": ["ElasticFlow", "Microsoft", "MIT", "cite: ", "itp.raw_job", "itp.collection", "energy"],
    "catalog.caveats": ["table of the catalog", "what_to_do", "What to do about it."],
    "catalog.caveats.what_to_do": ["column of the table catalog.caveats", "VARCHAR"],
    "itp.min_duration_600": ["caveat of itp", "what to do: Apply", "itp.raw_job.duration", "gpu_h"],
    "openb.O4_failed": [
        "published figure of openb",
        "1,870 GPU pods failed.",
        "1,869 within 0",
        "select gpu_pods from",
    ],
    "philly.gpu_h": ["published: 1,915,199.3 GPU-h", "tolerance: 0.05"],
    "itp.raw_job.duration": ["column of the table", "BIGINT", "unit: s", "itp.min_duration_600"],
    "itp.job_v1.run_s": ["column of the view itp.job_v1", "computed from: itp.raw_job.duration"],
    "unified.jobs.run_s": ["itp.standard_job_v1.run_s", "base columns: ", "itp.raw_job.duration"],
    "itp.gpu_hours.gpu_h": ["column of the query", "DOUBLE", "GPU-h", "derived"],
}


@suites.of("long")
def test_describes_every_kind_of_object(sample_warehouse: Path) -> None:
    missing = {}
    for name, expected in DESCRIBED.items():
        shown = traces("describe", name, warehouse=sample_warehouse).stdout
        missing[name] = [text for text in expected if text not in shown]
    assert not any(missing.values()), missing
    found = json.loads(traces("describe", "itp.gpu_hours", "--json", warehouse=sample_warehouse).stdout)
    assert (found["name"], found["kind"]) == ("itp.gpu_hours", "named query")
    assert found["parameters"][0]["parameter"] == "min_gpus"
    assert {"column": "gpu_h", "type": "DOUBLE"}.items() <= found["columns"][2].items()
    assert "itp.min_duration_600" in [note["name"] for note in found["notes"]]


def test_describe_fits_screen_unless_full(sample_warehouse: Path) -> None:
    shown = {}
    for option in ((), ("--full",)):
        with terminal("describe", "pai.waste", "--no-pager", *option, warehouse=sample_warehouse) as opened:
            assert end(opened) == 0
        shown[option] = plain(opened).splitlines()
    short, full = shown.values()
    assert len(short) <= 30 < len(full) and max(map(len, short)) <= 80
    assert not any("create or replace" in line or "provenance " in line for line in short)


# Arguments, the exit code, and a part of the message.
ERRORS = [
    ("", 2, "Usage: traces"),
    ("fly", 2, "No such command 'fly'"),
    ("qurey itp.gpu_hours", 2, "Did you mean 'query'?"),
    ("query itp.gpu_hours --limt 3", 2, "(Possible options: --limit"),
    ("query itp.gpu_hours --min-gpus 8", 2, "No such option: --min-gpus"),
    ("query itp.gpu_hours --min-gpus 8", 2, "{NAME} [-p KEY=VALUE]..."),
    ("query itp.gpu_hours min_gpus=8", 2, "Set a parameter with `-p min_gpus=8`"),
    ("query itp.gpu_hour", 2, "Close matches: itp.gpu_hours"),
    ("query itp.gpu_hours -p min_gpus", 2, "KEY=VALUE"),
    ("query itp.gpu_hours -p min_gpus=1 -p min_gpus=8", 2, "min_gpus was given twice"),
    (
        "query itp.gpu_hours -p min_gpus=x",
        2,
        "must be of type INTEGER from 0 to 10000, not 'x'. Its default is 1",
    ),
    ("query zeus.cheapest -p eta=2", 2, "eta must be of type DOUBLE from 0 to 1, not '2'"),
    ("query itp.gpu_hours --limit 9223372036854775807", 2, "a number of rows from 0 to 2147483646"),
    ("query itp.gpu_hours --plot --output a.gif", 2, "must end in .png or .svg or .pdf"),
    ("query itp.gpu_hours -o a.png --width 0", 2, "--width must be 40 to 2000 millimetres"),
    ("query itp.gpu_hours -o a.png --font-size 0", 2, "--font-size must be 4 to 100 points"),
    ("query itp.gpu_hours --plot --width 85", 2, "need a chart's file"),
    ("query itp.gpu_hours -o a.png --format csv", 2, "A chart excludes --format"),
    ("sql from\u00a0itp.job --kind pie", 2, "--kind must be one of bar, "),
    ("sql from\u00a0itp.job --x runs", 2, "--x must be one of cluster, "),
    ("sql select(1) --plot", 2, "A chart needs two columns"),
    ("sql select(1) --log y --json", 2, "A chart excludes --format"),
    ("query itp.gpu_hours --json --format csv", 2, "Give only one of --format"),
    ("query itp.gpu_hours --json --records", 2, "Give only one of --format"),
    ("query itp.gpu_hours -o a.docx", 2, "unknown extension .docx. Known: .csv, "),
    ("describe pai.tasks", 2, "Close matches: pai.task"),
    ("describe itp.min_duration_60", 2, "Close matches: itp.min_duration_600"),
    ("describe itp.job.runs", 2, "itp.job has no column runs. Close matches: run_s."),
    ("describe catalog.caveat", 2, "Close matches: catalog.caveats"),
    ("list queries itp --search wait", 1, 'No queries of itp match "wait"'),
    ("list query mars", 2, "No queries of mars."),
    ("list moons", 2, "'moons' is not one of 'traces', 'tables', 'views', 'queries'"),
    ("check mars", 2, "no trace is called mars"),
    ("verify mars", 2, "no trace is called mars"),
    ("verify ipt", 2, "no trace is called ipt. Did you mean itp? Known: "),
    ("sql from(t) --file x.sql", 2, "not both"),
    ("sql --file no_such.sql", 1, "no_such.sql"),
    ("sql drop(t)", 1, "drop"),
    ("sql from\u00a0no_such_table", 1, "no_such_table"),
    ("ingest mars --raw .", 2, "no trace is called mars"),
    ("ingest --raw no_such_folder", 1, "no such folder"),
    ("build --warehouse no_such_folder", 1, "no such folder"),
    ("vacuum --older-than-days nan", 2, "nan is not a number"),
    ("sample mars", 2, "no trace is called mars"),
    ("sample --scale -1", 2, "the scale of a sample must be above 0, at most 1,000,000, not -1"),
    ("sample --scale nan", 2, "the scale of a sample must be above 0, at most 1,000,000, not nan"),
    ("sample --scale 1e308", 2, "the scale of a sample must be above 0, at most 1,000,000, not 1e+308"),
    ("sample --seed -1", 2, "the seed of a sample must be 0 or more, not -1"),
    ("sample acme --scale 1000", 1, "smaller scale"),
    # An output file's folder must exist.
    ("query itp.gpu_hours -o none/x.csv", 1, "none: no such folder. Create it, or name another file"),
    ("query itp.gpu_hours -o none/x.svg", 1, "none: no such folder. Create it, or name another file"),
    ("sql select(1) -o none/x.json", 1, "none: no such folder. Create it, or name another file"),
    ("publish", 2, "name a target: --out FILE.duckdb"),
    ("publish --site x --base-url lab.example", 2, "--base-url must begin with http"),
    ("publish --out none/x.duckdb", 1, "none: no such folder. Create it, or name another file"),
]


def test_errors_say_what_to_do(sample_warehouse: Path, tmp_path: Path) -> None:
    wrong = []
    for line, code, message in ERRORS:
        run = traces(*line.split(" ") if line else [], warehouse=sample_warehouse, cwd=tmp_path)
        if run.code != code or message not in run.stderr or run.stdout or "Traceback" in run.stderr:
            wrong.append((line, run))
    assert wrong == []
    assert list(tmp_path.iterdir()) == []


def test_missing_warehouse_names_ingest(tmp_path: Path) -> None:
    for line in ("list", "query itp.gpu_hours", "sql select(1)", "check", "verify", "shell"):
        run = traces(*line.split(), warehouse=tmp_path)
        assert (run.code, run.stdout) == (1, ""), line
        assert run.stderr.startswith("error: ") and "traces ingest" in run.stderr


def test_errors_on_a_terminal_are_wrapped_between_words(sample_warehouse: Path) -> None:
    with terminal("query", "itp.gpu_hour", warehouse=sample_warehouse, columns=50) as opened:
        assert end(opened) == 2
    assert plain(opened).splitlines() == [
        "error: No query, view or table named",
        '"itp.gpu_hour". Close matches: itp.gpu_hours.',
        "List: `traces list queries`",
    ]
    # A command is not wrapped.
    statement = "select duration from itp.job"
    with terminal("sql", statement, warehouse=sample_warehouse, columns=80) as opened:
        assert end(opened) == 1
    assert plain(opened).splitlines()[:2] == [
        'error: No column "duration" in itp.job. Close matches: run_s. List all:',
        "`traces describe itp.job`",
    ]


def test_sql_error_marks_place_in_statement(sample_warehouse: Path, tmp_path: Path) -> None:
    table, csv, parquet = ["--format", "table"], ["--format", "csv"], ["--output", tmp_path / "a.parquet"]
    for statement, outputs, line, marked in (
        ("select nope from itp.job", [table, csv, parquet], "LINE 1: select nope from itp.job", "nope"),
        ("/* a comment */\n\nselect run_s,\n    nope\nfrom itp.job", [csv], "LINE 4:     nope", "nope"),
        (
            *("select cast(job_id as int) from itp.job", [table, csv, parquet]),
            *("LINE 1: select cast(", "cast(job_id as int)"),
        ),
        ("selec 1", [csv], "LINE 1: selec 1", "selec"),
    ):
        for output in non_empty(outputs):
            run = traces("sql", statement, *output, warehouse=sample_warehouse)
            *_, shown, marks = run.stderr.rstrip().splitlines()
            assert run.code == 1 and shown.startswith(line)
            assert shown[marks.index("^") : len(marks)] == marked


@suites.of("long")
def test_errors_show_no_sql_of_tracehouse(sample_warehouse: Path) -> None:
    """DuckDB does not know the place of a name in the argument of `query_table`."""
    for name in ("/etc/passwd", "nope", "select 1"):
        for option in ([], ["--limit", "3"], ["--explain"], ["--format", "table"], ["--plot"]):
            run = traces("sql", f"from query_table('{name}')", *option, warehouse=sample_warehouse)
            assert run.code == 1 and name in run.stderr, option
            assert not {"LINE", "^", "copy", "create", "explain"} & set(run.stderr.split()), option


# Lines for bash, and arguments.
UNUSUAL: list[tuple[str | list[object], int, str]] = [
    ("$traces list > /dev/full", 1, "No space left"),
    ("$traces query itp.gpu_hours -o /dev/null 2>&-", 0, ""),
    ("$traces query itp.gpu_hours 2>&- >&-", 1, ""),
    ("$traces sql <&-", 2, "--file"),
    ("$traces query $'\\xff'", 2, "\\xff is not valid UTF-8"),
    (
        "cd $(mktemp -d) && rmdir $PWD && $traces query itp.gpu_hours -o a.csv",
        1,
        "current folder was removed",
    ),
    (["query", "itp.gpu_hours", "-p", b"min_gpus=\xff"], 2, "\\xff is not valid UTF-8"),
    ("printf 'select 1,\\n\\xff' | $traces sql", 2, "standard input, line 2: not valid UTF-8"),
    (["fetch", "itp", "--out", ".", "--mirror", "a.example=https://me:secret@b.example"], 2, "use ~/.netrc"),
    (["list", "-w", b"\x1b[2J\xff"], 1, "\\x1b[2J\\xff"),
    (["query", "a\x1b[2J"], 2, 'named "a\\x1b[2J"'),
    (["sql", "from range(1000000000000)", "--timeout", 0.5], 1, "No answer within 0.5 s"),
    (["sql", "select 1", "--timeout", "nan"], 2, "a number of seconds above 0"),
    (["sql", "select 1", "--timeout", "1e308"], 2, "below 9.22337e+09, not 1e+308"),
    (["sql", "select 1", "--memory-limit", "lots"], 2, "a size such as 500MB"),
    (["sql", "select list(range) from range(9999999)", "--memory-limit", "40MB"], 1, "--memory-limit"),
    (["sql", "with x as (select 1) from x", "-o", "/dev/full"], 1, "No space left"),
    ("$traces sql 'from itp.raw_job cross join range(1000)' | head -n 1", 0, ""),
]


def forbid_files() -> None:
    """Let this process write no file. It can then use no folder for temporary files."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_no_folder_for_temporary_files(sample_warehouse: Path, tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": "/nowhere", "XDG_CACHE_HOME": os.devnull}
    for line in ("query itp.gpu_hours", "query itp.gpu_hours --output a.csv", "build", "describe itp"):
        run = command_line.by_itself(
            *(*line.split(), "--warehouse", sample_warehouse),
            preexec_fn=forbid_files,
            env=environment,
            cwd=tmp_path,
        )
        assert run.code == 1, line
        [error] = run.errors
        assert "/nowhere" in error and "/tmp" in error and str(tmp_path) in error, line
        assert "Set the variable TMPDIR" in error and "read permission" not in error, line


@suites.of("long")
def test_unusual_input_and_output(sample_warehouse: Path) -> None:
    environment = os.environ | {"TRACES_WAREHOUSE": str(sample_warehouse), "traces": str(TRACES)}
    wrong = []
    for line, code, message in UNUSUAL:
        if isinstance(line, str):
            done = subprocess.run(
                ["bash", "-c", line], env=environment, capture_output=True, encoding="utf-8"
            )
            run = Run(done.returncode, done.stdout, done.stderr)
        else:
            run = traces(*line, warehouse=sample_warehouse)
        is_clean = "Traceback" not in run.stderr and "\x1b" not in run.stderr
        if run.code != code or message not in run.stderr or not is_clean or (not code and run.stderr):
            wrong.append((line, run))
    assert wrong == []


def test_full_temporary_folder_gets_clear_error(sample_warehouse: Path, tmp_path: Path) -> None:
    environment = {"TMPDIR": str(tmp_path), "TRACES_WAREHOUSE": str(sample_warehouse)}
    for line in (
        ["select range, hash(range) as h from range(3000000)"],
        ["select hash(range) as h from range(30000000) order by h", "--memory-limit", "200MB"],
    ):
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)]
        if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("only root can mount a small disk")
        try:
            run = command_line.server().run("sql", *line, environment=environment)
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)
        assert (run.code, run.stdout) == (1, "")
        assert run.stderr.startswith("error: No space left for the answer, or for data that does not fit")


def test_json_option_is_format_json(sample_warehouse: Path) -> None:
    for line in ("list traces", "query itp.gpu_hours", "sql select(1)", "check dlrm", "verify dlrm"):
        short = traces(*line.split(), "--json", warehouse=sample_warehouse)
        assert short.code == 0 and isinstance(json.loads(short.stdout), list), line
        assert traces(*line.split(), "--format", "json", warehouse=sample_warehouse).stdout == short.stdout


def test_warehouse_option_before_command(sample_warehouse: Path, tmp_path: Path) -> None:
    for before, behind, code in (
        (sample_warehouse, tmp_path, 1),
        (tmp_path, sample_warehouse, 0),
        (sample_warehouse, None, 0),
        (tmp_path, None, 1),
    ):
        more = ["-w", behind] if behind else []
        run = traces("-w", before, "sql", "select 1", *more, warehouse=sample_warehouse)
        assert run.code == code, (before, behind, run.stderr)


@suites.of("long")
def test_limit_returns_first_rows_and_reports_omitted_ones(sample_warehouse: Path, tmp_path: Path) -> None:
    for arguments in (
        ["query", "itp.job"],
        ["sql", "from itp.job order by run_s desc -- longest"],
    ):
        few = rows(*arguments, "--limit", 3, warehouse=sample_warehouse)
        assert few == rows(*arguments, warehouse=sample_warehouse)[:3] and len(few) == 3

    def of_limit(*arguments: object) -> tuple[str, str]:
        """Return the line below the table, and the notes on omitted rows."""
        run = traces(*arguments, warehouse=sample_warehouse)
        assert run.code == 0, run.stderr
        notes = [line for line in run.stderr.splitlines() if line.startswith("note: the answer has")]
        return run.stdout.splitlines()[-1] if run.stdout else "", " ".join(notes)

    table = ("query", "itp.gpu_hours", "--format", "table", "--limit")
    more = "the answer has more rows"
    assert of_limit(*table, 3) == (f"3 rows; {more} and totals (--limit 3)", "")
    assert of_limit(*table, 1, "-p", "with_total=false") == (f"1 row; {more} (--limit 1)", "")
    # Ten clusters and the row of totals.
    assert of_limit(*table, 11) == ("11 rows", "")
    for command in (["query", "itp.gpu_hours"], ["sql", "from itp.job"], ["list", "queries"]):
        assert of_limit(*command, "-n", 2)[1] == f"note: {more} (--limit 2)"
        assert of_limit(*command)[1] == ""
    drawn = of_limit("query", "itp.gpu_hours", "-n", 2, "-o", tmp_path / "few.svg")
    assert drawn[1] == f"note: {more} (--limit 2)"


def test_empty_answer_says_why(tmp_path: Path) -> None:
    warehouse = ingested(
        tmp_path,
        pai_machine_spec="a,V100,96,384,8\n",
        cluster01="job_id,submission_time,duration,num_gpu\na,0,600,1\nb,5,700,2\n",
    )
    wrong = []
    for arguments, part in (
        (
            ["query", "pai.wait_by_gpu_type", "-p", "min_gpus=2"],
            "pai.instance, pai.task have no data; `traces",
        ),
        (["query", "pai.wait_by_gpu_type", "-p", "min_gpus=2"], "Parameters: min_gpus=2 (default 0.01)"),
        (["query", "pai.task"], "pai.task has no data"),
        (["sql", "select * from pai.wait_by_gpu_type()"], "pai.instance, pai.task have no data"),
        (
            ["sql", "select * from PAI.machine_spec where machine = 'b'"],
            "the source tables have data: pai.machine_spec (1 rows)",
        ),
        (["sql", "select 1 where false"], ""),
        (["sql", "from pai.machine_spec"], ""),
        # A query on jobs needs one of ITP's two archives only.
        (
            ["query", "itp.gpu_hours", "-p", "min_gpus=9999"],
            "note: no rows, but the source tables have data: itp.raw_job (2 rows); not itp.elasticflow_job. "
            "The filter is the cause: min_gpus=9999 (default 1)",
        ),
        (["query", "itp.gpu_hours", "-p", "min_gpus=2"], ""),
        # Only the missing archive has deadlines: no value of a parameter gives rows.
        (["query", "itp.deadline_tightness", "-p", "bin_width=0.2"], "itp.elasticflow_job has no data"),
    ):
        run = traces(*arguments, warehouse=warehouse)
        notes = " ".join(line for line in run.stderr.splitlines() if re.match("note: (?!not in this)", line))
        # Caveats do not apply to missing data.
        has_caveats = "pai.task" in arguments and "caveat" in run.stderr
        if run.code or has_caveats or (part not in notes if part else notes):
            wrong.append((arguments, part, run))
    assert wrong == []


def test_reads_sql_from_argument_file_or_stdin(sample_warehouse: Path, tmp_path: Path) -> None:
    statement = "select count(*) as jobs from itp.raw_job"
    (tmp_path / "q.sql").write_text(statement, encoding="utf-8")
    answers = {
        traces("sql", *arguments, warehouse=sample_warehouse, stdin=stdin).stdout
        for arguments, stdin in (
            ([statement], ""),
            (["-f", tmp_path / "q.sql"], ""),
            (["-"], statement),
            ([], statement),
        )
    }
    assert len(answers) == 1 and answers.pop().startswith("jobs\n")


def test_explain_prints_plan(sample_warehouse: Path) -> None:
    for arguments in (["query", "itp.gpu_hours", "-n", 2], ["sql", "from itp.job"]):
        run = traces(*arguments, "--explain", warehouse=sample_warehouse)
        assert run.code == 0 and "READ_PARQUET" in run.stdout.upper().replace(" ", "_")


def test_narrow_table_keeps_keys_and_measures(sample_warehouse: Path) -> None:
    for line, kept in (
        ("query itp.job", ["cluster", "job_id", "submit_s", "run_s", "requested_gpus"]),
        ("query unified.wait_cdf", ["trace", "size_band", "percentile", "wait_s"]),
        ("query zeus.pareto_front", ["batch_size", "power_limit_w", "energy_to_accuracy_j"]),
    ):
        with terminal(*line.split(), "--no-pager", warehouse=sample_warehouse) as opened:
            assert end(opened) == 0
        heading, rule, *_ = plain(opened).splitlines()
        assert set(kept) <= set(heading.split()) and len(rule) <= 80, line


def test_only_marked_files_count_as_synthetic(tmp_path: Path) -> None:
    nodes = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{n},1000,1024,1,T4\n" for n in range(3))
    for folder, name in (("made", "gpu_node"), ("real", "all_node")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"openb_node_list_{name}.csv").write_text(nodes, encoding="utf-8")
    (tmp_path / "made" / "SYNTHETIC.txt").touch()
    warehouse = tmp_path / "warehouse"
    folders = ("--raw", tmp_path / "made", "--raw", tmp_path / "real")
    run = traces("ingest", *folders, "--warehouse", warehouse)
    assert "openb.node: 6 rows from 2 files, 3 of them synthetic\n" in run.stdout
    note = "note: These numbers come partly from synthetic data (openb.node: 1 of 2 files), those in caveats"
    for command, text in (
        ("query", "openb.node"),
        ("query", "openb.capacity_by_model"),
        ("sql", "from openb.node"),
    ):
        assert note in traces(command, text, warehouse=warehouse).stderr, text
    for kind, column, name in (("traces", "trace", "openb"), ("tables", "table_name", "openb.node")):
        listed = {row[column]: row["data"] for row in rows("list", kind, warehouse=warehouse)}
        assert listed[name] == "partly synthetic"
    for name in ("openb", "openb.node"):
        assert "partly synthetic" in traces("describe", name, warehouse=warehouse).stdout


def test_failed_rule_exits_with_1(tmp_path: Path) -> None:
    nodes = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\na,1000,1024,1,T4\n"
    run = traces("check", "openb", warehouse=ingested(tmp_path, openb_node_list_gpu_node=nodes))
    assert run.code == 1 and "failed" in run.stdout and "rules and expected counts failed" in run.stderr


def test_check_prints_failures_and_a_summary(tmp_path: Path) -> None:
    nodes = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\na,1000,1024,1,T4\n"
    warehouse = ingested(tmp_path, openb_node_list_gpu_node=nodes)
    short, complete = (
        traces("check", "openb", "--format", "table", *more, warehouse=warehouse) for more in ([], ["--all"])
    )
    listed = [line.split()[:2] for line in short.stdout.splitlines() if line.startswith(" openb.")]
    assert ["openb.node.key", "failed"] in listed and {status for _, status in listed} == {"failed"}
    assert "openb.node.row_count" not in short.stdout and "openb.node.row_count" in complete.stdout
    [summary] = re.findall(r"^([\d,]+) rules and expected counts: .*(\d+) failed.*--all$", short.stderr, re.M)
    assert summary[0] == str(len([*re.finditer(r"^ openb\.", complete.stdout, re.M)]))
    # What passes is not printed, and programs get all rows.
    clean = traces("check", "dlrm", "--format", "table", warehouse=warehouse)
    assert (clean.code, clean.stdout) == (0, "") and "no data. Show all of them with --all" in clean.stderr
    assert "row_count" in traces("check", "dlrm", "--format", "csv", warehouse=warehouse).stdout
    with terminal("describe", "unified.capacity", "--no-pager", warehouse=warehouse) as opened:
        assert end(opened) == 0
    # Tables without rows are no caveat.
    assert re.search(r"\nNot counted: .*\(not in this warehouse\)", plain(opened))
    # The caveats of a view over all traces are those of traces with rows. Acme's and ITP's are in views' SQL.
    described = json.loads(traces("describe", "unified.capacity", "--json", warehouse=warehouse).stdout)
    named = {note["name"].partition(".")[0] for note in described["notes"]}
    assert named == {"not counted", "acme", "itp", "openb"}


def test_check_explains_what_known_means(real_warehouse: Path) -> None:
    run = traces("check", "zeus", "--format", "table", warehouse=real_warehouse)
    assert re.search(r" [1-9]\d* known \(the published files break them; --all says why\)", run.stderr)


@suites.of("long")
def test_different_figure_exits_with_1(tmp_path: Path) -> None:
    warehouse = ingested(
        tmp_path,
        pai_machine_spec="a,V100,96,384,8\nb,CPU,96,512,0\n",
        pai_task_table="j,worker,1.0,Terminated,100.0,400.0,600.0,29.3,100.0,V100\n",
        pai_instance_table="j,worker,i,w,n,Terminated,150.0,400.0,m\n",
    )
    # As if the publisher's files had these rows alone.
    with duckdb.connect(str(warehouse / "traces.duckdb")) as connection:
        connection.execute("update catalog.tables set incomplete = null")
    run = traces("verify", "pai", "--json", "--all", warehouse=warehouse)
    found = {row["figure"]: row for row in json.loads(run.stdout)}
    gpus = found["pai.P1_gpus"]
    assert (gpus["published"], gpus["measured"], gpus["difference"]) == (6_742, 8, -6_734)
    assert (gpus["unit"], gpus["verdict"]) == ("GPUs", "differs")
    assert found["pai.P3_cpus_of_v100"]["verdict"] == "reproduced"
    assert found["pai.P17_v100_median"]["verdict"] == "differs, reason unconfirmed"
    verdicts = Counter(row["verdict"] for row in found.values())
    unconfirmed = verdicts["differs, reason unconfirmed"]
    note = f"note: figures that differ for a reason that nobody has confirmed: {unconfirmed}, see"
    assert note in run.stderr
    assert "differs as explained" not in verdicts
    own = [row for row in found.values() if row["trust"] != "third party"]
    count = sum(row["verdict"] in ("differs", "differs, reason unconfirmed") for row in own)
    assert 0 < len(own) < len(found)
    summary = f"{count} of {len(own)} figures of the publisher and of papers differ without a"
    assert run.code == 1 and f"{summary} confirmed reason" in run.stderr.splitlines()[-1]
    # A pipe gets the figures that were measured, and the number of the others.
    piped = traces("verify", "pai", "--json", warehouse=warehouse)
    measured = [row for row in found.values() if row["verdict"] not in ("no data", "not measurable")]
    assert json.loads(piped.stdout) == measured and len(measured) < len(found)
    assert re.search(rf"^{len(found)} figures: .* {verdicts['no data']} no data.*--all$", piped.stderr, re.M)
    with terminal("verify", "pai", "--no-pager", warehouse=warehouse) as opened:
        assert end(opened) == 1
    shown = plain(opened)
    assert re.search(r"unconfirmed: .*The\s+slides\s+do\s+not.*pai.P17_v100_median: published", shown, re.S)
    assert "  pai.P1_gpus: published 6,742, measured 8 GPUs" in shown.splitlines()
    # A reason is printed once, above all figures that share it; figures of others come after these.
    of_authors, _, of_others = shown.partition("\nPrinted by others:\n")
    assert of_others.count(": published ") > 0
    paragraphs = [re.sub(r"\s+", " ", one) for one in of_authors.split("\n\n") if one.startswith("differs")]
    headings = [one.partition(" pai.")[0] for one in paragraphs]
    assert len(headings) == len({*headings}) < of_authors.count(": published ")
    assert "reproduced" not in shown.partition(f"{len(found)} figures")[0]
    assert re.search(rf"{len(found)} figures: .* differ, .*--all", shown, re.S)


@suites.of("long")
def test_part_of_a_trace_is_no_failure(tmp_path: Path) -> None:
    """Totals of the complete trace are not compared with a part of it."""
    warehouse = ingested(
        tmp_path,
        openb_node_list_gpu_node="sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\n",
        pai_machine_spec="a,V100,96,384,8\nb,CPU,96,512,0\n",
    )
    run = traces("check", "--json", warehouse=warehouse)
    assert run.code == 0, run.stderr
    rows = {row["check_name"]: row for row in json.loads(run.stdout)}
    nodes = rows["openb.rows_gpu_node"]
    assert (nodes["status"], nodes["violations"]) == ("not comparable", None)
    assert nodes["rule"] == (
        "1,213 nodes have GPUs. The warehouse has 1 of 1,213 rows of openb_node_list_gpu_node.csv."
    )
    run = traces("verify", "--json", warehouse=warehouse)
    assert run.code == 0, run.stderr
    found = {row["figure"]: row["verdict"] for row in json.loads(run.stdout)}
    assert found["pai.P1_gpus"] == found["openb.O1_gpus"] == "not comparable"
    # One of the values is by chance that of the complete trace.
    assert found["pai.P3_cpus_of_v100"] == "not comparable"
    assert "The warehouse has 2 of 1,897 rows of pai.machine_spec." in run.stderr


def test_verify_says_to_build_if_only_the_files_have_figures(sample_warehouse: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_warehouse, tmp_path / "wh")
    with duckdb.connect(str(tmp_path / "wh" / "traces.duckdb")) as connection:
        connection.execute("delete from catalog.published")
    run = traces("verify", "dlrm", warehouse=tmp_path / "wh")
    assert "lacks the published figures of these traces: run `traces build`" in run.stderr


def test_verify_succeeds_on_synthetic_data(sample_warehouse: Path) -> None:
    run = traces("verify", "dlrm", warehouse=sample_warehouse)
    assert run.code == 0 and run.stderr == "4 figures: 4 synthetic data. Show all of them with --all\n"
    assert run.stdout.count(",synthetic data,publisher,") == 4


def test_prints_full_texts_of_caveats_on_request(sample_warehouse: Path) -> None:
    arguments = ("query", "zeus.pareto_front")
    summary = traces(*arguments, warehouse=sample_warehouse).stderr.splitlines()
    complete = traces(*arguments, "--caveats", warehouse=sample_warehouse).stderr
    [line] = [line for line in summary if line.endswith("; show with --caveats")]
    assert " caveats: zeus." in line and "zeus.target_decides_optimum (!)" in line
    assert any(text.startswith("(!) The best batch size and power limit depend") for text in summary)
    names = re.findall(r"zeus\.\w+", line)
    assert len(names) > 2 and [name for name in names if f"caveat {name}: " not in complete] == []


@suites.of("long")
def test_plots_in_terminal_or_to_file(sample_warehouse: Path, tmp_path: Path) -> None:
    caveat = " caveats: itp.min_duration_600 (!), "
    run = traces("query", "itp.gpu_hours", "--plot", "-p", "min_gpus=2", warehouse=sample_warehouse)
    assert run.code == 0 and "cluster04 ██" in run.stdout and "min_gpus = 2" in run.stdout
    assert caveat in run.stderr
    path = tmp_path / "hours.svg"
    for more in ([], ["--width", 85, "--font-size", 7]):
        run = traces("query", "itp.gpu_hours", *more, "--output", path, warehouse=sample_warehouse)
        assert (run.code, run.stdout) == (0, f"Drew {path}\n") and caveat in run.stderr
        assert "GPU-hours" in path.read_text(encoding="utf-8") and (
            'font-size="7px"' in path.read_text(encoding="utf-8")
        ) is bool(more)
    # An option of a chart is enough. A chart without texts keeps the label of synthetic data.
    line = ("query", "itp.gpu_hours", "--y", "jobs", "--no-title", "--no-footer")
    run = traces(*line, warehouse=sample_warehouse)
    assert (
        run.stdout.splitlines()[:3] == ["synthetic data", "", "cluster: jobs"]
        and "Gu et al" not in run.stdout
    )


def test_plots_statements(sample_warehouse: Path, tmp_path: Path) -> None:
    statement = "select cluster, count(*) as jobs from itp.job group by cluster"
    run = traces("sql", statement, "--plot", warehouse=sample_warehouse)
    assert run.code == 0 and "cluster: jobs" in run.stdout and "Gu et al" in run.stdout
    path = tmp_path / "jobs.svg"
    run = traces("sql", statement, "--kind", "point", "--log", "y", "-o", path, warehouse=sample_warehouse)
    assert (run.code, run.stdout) == (0, f"Drew {path}\n") and "cluster04" in path.read_text(encoding="utf-8")
    run = traces("sql", f"explain {statement}", "-o", tmp_path / "plan.svg", warehouse=sample_warehouse)
    assert run.code == 2 and "EXPLAIN" in run.stderr and not (tmp_path / "plan.svg").exists()
