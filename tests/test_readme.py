"""The commands in the README and in the guides print the output that they show."""

import html
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import suites
from non_empty import non_empty
from shown_output import console, lines, run, write_shown_files

from tracehouse.definitions.query_files import query_files
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.publish.plot.texts import short_citation

DOCS = Path(__file__).parents[1] / "docs"
FIXTURE = Path(__file__).parent / "fixture"
README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
SQL, PYTHON_GUIDE, CHARTS, CENSORING = (
    (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("sql", "python", "charts", "censoring")
)
GUIDES = [(DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("ingest", "verification")]
CONSOLE = [found for page in (*GUIDES, README, SQL, CHARTS) for found in console(page)]
[DRAWING] = [found for found in CONSOLE if "--output run_cdf.svg" in found[0]]
PRINTING = [found for found in CONSOLE[1:] if found != DRAWING]
PICTURES = re.findall(r"!\[.*?\]\((.*?\.svg)\)", CHARTS)
# The example does not use the other traces.
IN_THE_EXAMPLE = ("acme", "itp", "openb", "pai", "zeus")
PYTHON = re.findall(r"```python\n(.*?)```", README + PYTHON_GUIDE, re.S)


@pytest.fixture(scope="module")
def ingested(real_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Ingest the real files with the first command of the guides. Return the folder and the output."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "raw").mkdir()
    for trace in IN_THE_EXAMPLE:
        (folder / "raw" / trace).symlink_to(real_raw / trace)
    return folder, run(f"{CONSOLE[0][0]} 2>&1 | cat", folder)


@pytest.fixture(scope="module")
def folder(ingested: tuple[Path, str]) -> Path:
    return ingested[0]


@suites.of("long")
def test_make_demo_runs(tmp_path: Path) -> None:
    """Uses the current virtual environment: make does not build it again."""
    (tmp_path / "installed").touch()
    variables = {
        "VENV": tmp_path,
        "BIN": sysconfig.get_path("scripts"),
        "DEMO": tmp_path / "demo",
        "RAW": FIXTURE,
    }
    command = ["make", "demo", *(f"{name}={value}" for name, value in variables.items())]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "cluster04" in done.stdout and "whole GPUs" in done.stdout


@pytest.mark.parametrize(("command", "shown"), PRINTING, ids=[command for command, _ in PRINTING])
def test_commands_print_the_shown_output(command: str, shown: str, folder: Path) -> None:
    # A pipe may print the rows after the summary on standard error.
    in_order = sorted if "|" in command else list
    assert in_order(lines(run(command, folder))) == in_order(lines(shown))


def test_ingest_prints_the_shown_output(ingested: tuple[Path, str]) -> None:
    command, shown = CONSOLE[0]
    assert command == "traces ingest"
    assert lines(ingested[1]) == lines(shown)


def test_command_draws_the_committed_chart(folder: Path) -> None:
    name = "run_cdf.svg"
    assert name in PICTURES
    command, printed = DRAWING
    assert lines(run(command, folder)) == lines(printed)
    shown = (DOCS / name).read_text(encoding="utf-8")
    assert len([mark for mark in marks(shown) if "trace: itp" in mark]) >= 9
    assert marks((folder / name).read_text(encoding="utf-8")) == marks(shown)
    assert len(shown) < 120_000


def test_pictures_have_the_titles_and_citations_of_today() -> None:
    """All but one are drawn from synthetic data, and say so."""
    queries = {query.full_name: query for query in query_files()}
    citations = {f"{name}: {short_citation(trace.citation)}" for name, trace in all_traces().items()}
    for path in non_empty(DOCS.glob("*.svg")):
        written = [
            html.unescape(text)
            for text in re.findall(r">([^<]+)</t(?:ext|span)>", path.read_text(encoding="utf-8"))
        ]
        assert ("synthetic data" in written) == (path.name != "run_cdf.svg"), path
        [footer] = [text for text in written if " · reads " in text]
        name, reads, *cited = footer.split(" · ")
        # A long footer has several lines.
        assert cited and set(cited[:-1]) <= citations, path
        assert any(citation.startswith(cited[-1]) for citation in citations), path
        if name.startswith("mine."):
            continue
        query = queries[name]
        # With in_trace, a title names the chosen traces in place of all.
        title = (query.chart.title if query.chart else "") or query.header.title
        assert any(text.startswith(title.partition("all traces")[0]) for text in written), path
        views = re.sub(r"_v\d+\b", "", reads.removeprefix("reads "))
        assert set(views.split(", ")) <= query.references, path


def marks(svg: str) -> list[str]:
    """Return the values of the marks of a chart and its texts. Positions depend on the fonts."""
    return re.findall(r'aria-label="([^"]*)"', svg) + re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_python_examples_run(folder: Path) -> None:
    """One process runs all examples, each in a namespace of its own."""
    printed = (
        "['itp.min_duration_600', 'itp.no_wait'",
        "  cluster  jobs\ncluster01    48\ncluster02   438\ncluster03  1912\n['itp.min_duration_600'",
        "Wrote 2 synthetic files to notebook/raw",
        "8152\n",
    )
    examples = PYTHON[: len(printed)]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"for text in {examples!r}:\n    exec(text, {{}})\n    print('end of example')",
        ],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    *shown, rest = done.stdout.split("end of example\n")
    assert rest == "" and len(shown) == len(printed)
    assert [text[: len(start)] for text, start in zip(shown, printed, strict=True)] == list(printed)


def test_builds_local_views_and_queries(folder: Path) -> None:
    files = [path for page in (SQL, CENSORING) for path in write_shown_files(page, folder)]
    assert len(files) == 3
    assert "error" not in run("traces build", folder)
    [command] = re.findall(r"`(traces query mine\..*?)`", SQL)
    assert "cluster03" in run(command, folder)


def test_readme_is_short_and_shows_a_chart_and_two_commands_first() -> None:
    # Each trace has a row in both generated tables.
    assert README.count("\n") - 2 * len(all_traces()) <= 120
    first_screen = "\n".join(README.splitlines()[:20])
    assert "](docs/run_cdf.svg)" in first_screen
    assert "    make demo\n    make test\n" in first_screen


def test_lists_every_trace() -> None:
    for trace in non_empty(all_traces().values()):
        assert f"| `{trace.name}`: " in README
