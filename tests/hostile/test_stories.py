"""Stories of raw files that come and go, and of warehouses that were damaged."""

import shutil
from pathlib import Path

import pytest
from command_line import Server
from counting import Count
from hostile.dumps import stored, wanted
from hostile.expectations import fail_with, opened, unsound
from hostile.stories import ACCUMULATING, IN_PART, STORIES, Ask, Do, Holds, Story
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
        if faults := taken(step, server, tmp_path):
            found[f"step {number}, {step}"[:300]] = faults
    fail_with(found)


def taken(step: Ask | Do | Holds, server: Server, folder: Path) -> list[str]:
    """The faults of a step."""
    if isinstance(step, Do):
        try:
            step.change(folder)
        except (AssertionError, FileNotFoundError) as failure:
            return [str(failure)]
        return []
    if isinstance(step, Holds):
        return held(step, folder / "warehouse")
    places = {"folder": folder, "raw": folder / "raw", "warehouse": folder / "warehouse"}
    run = server.run(*(part.format(**places) for part in step.arguments.split()))
    printed = run.stdout + run.stderr
    return run.faults(step.codes) + [
        f"it does not say {text!r}: {printed}" for text in step.says if text not in printed
    ]


def held(step: Holds, warehouse: Path) -> list[str]:
    found = []
    if not (warehouse / "traces.duckdb").is_file():
        return ["no such database"]
    with opened(warehouse) as connection:
        for place, rows in step.rows.items():
            is_there = stored(connection, place)
            if is_there != wanted(rows):
                found.append(f"{place.stem}: {len(is_there)} rows, not {len(rows)}, or others")
        return found + unsound(connection, warehouse)
