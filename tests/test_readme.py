"""The README's commands, typed as it says, give what it shows."""

import html
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from terminal import end, screen, terminal

from tracehouse.ingest.declarations import all_traces
from tracehouse.sql.query_files import query_files

README = (Path(__file__).parents[1] / "README.md").read_text()
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README, re.S)
PICTURES = re.findall(r"!\[.*?\]\(docs/(.*?\.svg)\)", README)
# Whatever other traces there are by now.
IN_THE_EXAMPLE = ("acme", "itp", "openb", "pai", "zeus")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.fixture(scope="module")
def ingested(real_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the publishers' files in `raw` after the README's first command, and what that showed."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "raw").mkdir()
    for trace in IN_THE_EXAMPLE:
        (folder / "raw" / trace).symlink_to(real_raw / trace)
    return folder, typed(f"{CONSOLE[0][0]} 2>&1 | cat", folder)


@pytest.fixture(scope="module")
def folder(ingested: tuple[Path, str]) -> Path:
    return ingested[0]


def typed(command: str, folder: Path) -> str:
    """Run a command in a terminal of 90 columns, and return what it shows.

    Nobody types there: DuckDB's shell waits for an answer of the terminal whose input it may read.
    """
    alone = ("setsid", "--wait", "sh", "-c", f"exec < /dev/null; {command}")
    with terminal(*alone, rows=200, columns=90, folder=folder, HOME=folder) as opened:
        assert end(opened) == 0
    return screen(opened)


def lines(text: str) -> list[str]:
    """What is to be read in a text: no colours, no bar, no spaces at the end."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n").split("\r")[-1]
    return [line.rstrip() for line in plain.strip().splitlines()]


@pytest.mark.parametrize(("command", "shown"), CONSOLE[1:], ids=[command for command, _ in CONSOLE[1:]])
def test_commands_show_what_it_says(command: str, shown: str, folder: Path) -> None:
    assert lines(typed(command, folder)) == lines(shown)


def test_ingest_shows_what_it_says(ingested: tuple[Path, str]) -> None:
    command, shown = CONSOLE[0]
    assert command == "traces ingest"
    assert lines(ingested[1]) == lines(shown)


def test_the_picture_is_the_one_that_its_command_draws(folder: Path) -> None:
    name = "run_cdf.svg"
    assert name in PICTURES
    [command] = [command for command, _ in CONSOLE if f"--plot {name}" in command]
    typed(command, folder)
    shown = (Path(__file__).parents[1] / "docs" / name).read_text()
    assert len([mark for mark in marks(shown) if "trace: itp" in mark]) >= 9
    assert marks((folder / name).read_text()) == marks(shown)
    assert len(shown) < 60_000


def test_the_picture_of_synthetic_data_says_so_and_is_of_its_query() -> None:
    [name] = [name for name in PICTURES if name != "run_cdf.svg"]
    [query] = [query for query in query_files() if query.full_name == f"pai.{Path(name).stem}"]
    shown = html.unescape((Path(__file__).parents[1] / "docs" / name).read_text())
    assert ">synthetic data<" in shown
    assert f">{query.header.title}<" in shown


def marks(svg: str) -> list[str]:
    """What a picture says: the values of its marks, and its texts. Fonts decide where exactly they stand."""
    return re.findall(r'aria-label="([^"]*)"', svg) + re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize(
    ("place", "printed"),
    [
        (0, "  cluster  jobs\ncluster01    48\ncluster02   438\ncluster03  1912\n['itp.min_duration_600'"),
        (1, "8152\n"),
    ],
)
def test_python_runs(place: int, printed: str, folder: Path) -> None:
    done = subprocess.run(
        [str(Path(sysconfig.get_path("scripts")) / "python"), "-c", PYTHON[place]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(printed)


def test_a_users_own_views_and_queries_are_built(folder: Path) -> None:
    files = re.findall(r"`warehouse/local/(\S+)`:\n\n```sql\n(.*?)```", README, re.S)
    for name, text in files:
        path = folder / "warehouse" / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert len(files) == 2
    typed("traces build", folder)
    [command] = re.findall(r"`(traces query mine\..*?)`", README)
    assert "cluster03" in typed(command, folder)


def test_it_names_every_trace() -> None:
    for trace in all_traces().values():
        assert f"| `{trace.name}`: " in README
