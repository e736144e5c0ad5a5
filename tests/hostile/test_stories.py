"""Run stories of changing raw files and damaged warehouses."""

import shutil
from pathlib import Path

import pytest
from command_line import Server
from counting import Count
from hostile.dumps import stored, wanted
from hostile.expectations import fail_with, opened, unsound
from hostile.stories import ACCUMULATING, IN_PART, STORIES, Change, Command, ExpectedRows, Story
from hostile_tests import TRY_ALL


@pytest.mark.parametrize("story", [s for s in STORIES if TRY_ALL or s.name in IN_PART], ids=lambda s: s.name)
def test_story(
    story: Story, server: Server, tmp_path: Path, count: Count, request: pytest.FixtureRequest
) -> None:
    count("stories of sources" if story in ACCUMULATING else "damaged warehouses", 1)
    if not story.over_none:
        shutil.copytree(request.getfixturevalue("old_warehouse"), tmp_path / "warehouse")
    found = {}
    for number, step in enumerate(story.steps, 1):
        if faults := run_step(step, server, tmp_path):
            found[f"step {number}, {step}"[:300]] = faults
    fail_with(found)


def run_step(step: Command | Change | ExpectedRows, server: Server, folder: Path) -> list[str]:
    """Run a step, and return its faults."""
    if isinstance(step, Change):
        try:
            step.change(folder)
        except (AssertionError, FileNotFoundError) as failure:
            return [str(failure)]
        return []
    if isinstance(step, ExpectedRows):
        return compare_rows(step, folder / "warehouse")
    places = {"folder": folder, "raw": folder / "raw", "warehouse": folder / "warehouse"}
    run = server.run(*(part.format(**places) for part in step.arguments.split()))
    printed = run.stdout + run.stderr
    return run.faults(step.codes) + [
        f"the output lacks {text!r}: {printed}" for text in step.says if text not in printed
    ]


def compare_rows(step: ExpectedRows, warehouse: Path) -> list[str]:
    found = []
    if not (warehouse / "traces.duckdb").is_file():
        return ["no such database"]
    with opened(warehouse) as connection:
        for place, rows in step.rows.items():
            found_rows = stored(connection, place)
            if found_rows != wanted(rows):
                found.append(f"{place.stem}: {len(found_rows)} rows, not {len(rows)}, or others")
        return found + unsound(connection, warehouse)
