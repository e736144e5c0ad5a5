"""The tour of home.md, tutorial.md and recipes.md run. The tutorial shows the output of its commands."""

import re
from pathlib import Path

import pytest
import suites
from non_empty import non_empty
from shown_output import console, lines, run, write_shown_files

import tracehouse

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL, PUBLISHED = (
    (DOCS / "tutorial.md").read_text(encoding="utf-8").split("## The published files of openb")
)
HOME = (DOCS / "home.md").read_text(encoding="utf-8")
RECIPES = (DOCS / "recipes.md").read_text(encoding="utf-8")
SQL = r"^ *```sql\n(.*?)^ *```"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tutorial")
    assert len(write_shown_files(TUTORIAL, folder)) == 2
    return folder


@pytest.fixture(scope="module")
def warehouse(folder: Path) -> Path:
    """Run the commands of the tutorial in their order. The warehouse exists afterwards."""
    for command, shown in non_empty(console(TUTORIAL)):
        assert lines(run(f"{command} 2>&1 | cat" if "ingest" in command else command, folder)) == lines(shown)
    return folder / "warehouse"


@suites.of("docs")
def test_tutorial_prints_the_shown_output_and_draws_the_chart(warehouse: Path) -> None:
    drawn = (warehouse.parent / "sharing_waits.svg").read_text(encoding="utf-8")
    assert ">synthetic data<" in drawn
    assert re.findall(r"<text[^>]*>([^<]*)</text>", drawn) == re.findall(
        r"<text[^>]*>([^<]*)</text>", (DOCS / "sharing_waits.svg").read_text(encoding="utf-8")
    )


@suites.of("docs")
def test_other_statements_of_the_tutorial_have_rows(warehouse: Path) -> None:
    opened = tracehouse.open(warehouse)
    for statement in non_empty(re.findall(SQL, TUTORIAL, re.S | re.M)):
        if "create macro" not in statement:
            assert len(opened.sql(statement)) > 0


def test_tutorial_agrees_with_the_published_files(real_warehouse: Path, folder: Path) -> None:
    (folder / "published").mkdir()
    (folder / "published" / "warehouse").symlink_to(real_warehouse)
    write_shown_files(TUTORIAL.replace("`warehouse/", "`mine/"), folder / "published")
    [(command, shown)] = console(PUBLISHED)
    assert lines(run(command, folder / "published")) == lines(shown)
    never, of_one = (float(share) for share in re.findall(r"([\d.]+) %", PUBLISHED)[:2])
    shares = {
        row["size_band"]: row["never_started_pct"]
        for row in tracehouse.open(real_warehouse).query("unified.wait_cdf", in_trace="openb")
    }
    assert (round(shares["below 1"], 1), round(shares["1"], 1)) == (never, of_one)


@suites.of("docs")
def test_tour_of_the_home_page_runs(tmp_path: Path) -> None:
    for command in non_empty(re.findall(r"^ +(traces .*)$", HOME, re.M)):
        assert run(f"{command} 2>&1 | cat", tmp_path), command
    assert (tmp_path / "wait_cdf.svg").is_file()


def test_recipes_have_rows_of_several_traces(sample_warehouse: Path) -> None:
    opened = tracehouse.open(sample_warehouse)
    for statement in non_empty(re.findall(SQL, RECIPES, re.S | re.M)):
        assert len({row["trace"] for row in opened.sql(statement)}) > 3
