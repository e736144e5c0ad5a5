"""The lock on released views, and next versions."""

import os
import re
import subprocess
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import duckdb
import goldens
import pytest
import suites

from tracehouse.definitions import versions
from tracehouse.definitions import view_files as view_files_module
from tracehouse.definitions.lint.definitions import lint_versions
from tracehouse.definitions.lint.read import read as read_definitions
from tracehouse.definitions.released import VIEWS, read_lock
from tracehouse.definitions.versions import broken, lint_drafts, release
from tracehouse.definitions.view_files import (
    DRAFT,
    RELEASED,
    DefinitionError,
    ViewFile,
    parsed_view_file,
    plain_names,
    read_view_file,
    view_files,
)
from tracehouse.engines.duckdb.read.describe import describe
from tracehouse.engines.duckdb.write import database, template

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "versions.md").read_text(encoding="utf-8")
GOLDENS = "tests/goldens"

VIEW = """-- What it holds.
-- grain: one row per job
create or replace view itp.thing_v1 as
select
    job_id, -- the key
    duration / 60 as minutes
from itp.raw_job
where cluster <> '--';

comment on column itp.thing_v1.minutes is 'Run time in minutes; derived.';
"""
UPPER = "create or replace view itp.upper_v1 as select minutes from itp.thing_v1;"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of view files with its own lock, and one released view."""
    lock = tmp_path / "versions.lock"
    lock.touch()
    monkeypatch.setattr(versions, "LOCK", lock)
    monkeypatch.setattr(versions, "view_files", lambda: view_files(tmp_path))
    (tmp_path / "itp").mkdir()
    write(tmp_path, "thing", VIEW)
    assert release(["itp.thing_v1"]) == ["itp.thing_v1"]
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / "itp" / f"{name}.v1.sql").write_text(text, encoding="utf-8")


def locked(folder: Path) -> dict[str, str]:
    return read_lock(folder / "versions.lock")


def test_locks_the_statement_and_the_comments(folder: Path) -> None:
    for found, instead, is_locked in (
        ("-- grain: one row per job", "-- grain: one row per job\n-- caveat: itp.no_wait", False),
        (" -- the key", "", False),
        ("select\n    job_id", "select   job_id", False),
        ("duration / 60", "duration / 61", True),
        ("'--'", "'-- '", True),
        ("'Run time in minutes", "'Run time in hours", True),
        # The title is the comment on the view.
        ("What it holds.\n", "What it really holds.\n", True),
    ):
        assert found in VIEW
        write(folder, "thing", VIEW.replace(found, instead))
        problems = broken(locked(folder), view_files(folder))
        assert len(problems) == is_locked, instead
        for problem in problems:
            assert problem.startswith("itp.thing_v1 is released, and its statement or comments were changed")
            assert "the next version, thing.v2.sql" in problem


def test_locks_the_macros_that_a_view_calls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = "create or replace view itp.sum_v1 as select stats.fsum(duration) as run_s from itp.raw_job;"
    write(folder, "sum", call)
    release(["itp.sum_v1"])
    monkeypatch.setattr(versions, "macros_sql", lambda: "create macro stats.fsum(number) as sum(number)")
    [problem] = broken(locked(folder), view_files(folder))
    assert problem.startswith("itp.sum_v1 is released, and its statement or comments were changed")


def test_records_a_view_that_was_rewritten(folder: Path) -> None:
    assert release([]) == []
    write(folder, "thing", VIEW.replace("Run time in minutes", "Minutes that the job ran"))
    write(folder, "upper", UPPER)
    # A release of another view does not record the change.
    with pytest.raises(SystemExit, match=r"itp\.thing_v1 is released, and its statement or comments"):
        release(["itp.upper_v1"])
    assert release([]) == ["itp.thing_v1"]
    assert release(["itp.upper_v1"]) == ["itp.upper_v1"]
    assert broken(locked(folder), view_files(folder)) == []
    (folder / "itp" / "thing.v1.sql").unlink()
    with pytest.raises(SystemExit, match=r"itp\.thing_v1 is released, and its file is missing: restore it"):
        release([])


def test_rejects_a_release_that_reads_a_draft(folder: Path) -> None:
    write(folder, "upper", UPPER)
    write(folder, "top", UPPER.replace("thing", "upper").replace("upper_v1 as", "top_v1 as"))
    with pytest.raises(
        SystemExit, match=r"itp\.top_v1 is released, and reads itp\.upper_v1, a draft: release that too"
    ):
        release(["itp.top_v1"])
    with pytest.raises(SystemExit, match=r"no view is called itp\.top: name a version, as itp\.job_v1"):
        release(["itp.top"])
    assert list(locked(folder)) == ["itp.thing_v1"]
    release(["itp.top_v1", "itp.upper_v1"])


def test_a_superseded_version_is_in_its_own_folder(folder: Path) -> None:
    first, old = folder / "itp" / "thing.v1.sql", folder / "itp" / "old"
    (folder / "itp" / "thing.v2.sql").write_text(VIEW.replace("thing_v1", "thing_v2"), encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        release(["itp.thing_v2"])
    assert str(stopped.value) == f"itp.thing_v1 is superseded by itp.thing_v2: move {first} to {old}/"
    old.mkdir()
    first.rename(old / first.name)
    # A draft supersedes nothing.
    [problem] = broken(locked(folder), view_files(folder))
    assert problem == f"itp.thing_v1 is the newest released version: move {old / first.name} to {old.parent}/"
    assert release(["itp.thing_v2"]) == ["itp.thing_v2"]


def test_explains_how_to_release_a_draft_that_a_query_reads(folder: Path) -> None:
    [draft] = view_files(folder)
    command = "release it with `python -m tracehouse.definitions.versions itp.thing_v1`"
    for name in ("itp.thing_v1", "itp.thing"):
        reader = replace(draft, references=frozenset({"itp.raw_job", name}))
        [finding] = lint_drafts(reader, [draft])
        assert finding.message == f"reads {name}, a draft: {command}"
        assert [*lint_drafts(reader, [replace(draft, status=RELEASED)])] == []
    released = replace(draft, version=2, status=RELEASED)
    assert [*lint_drafts(reader, [draft, released])] == [], "the plain name means the released version"


def test_rejects_an_edited_lock(tmp_path: Path) -> None:
    lock = tmp_path / "versions.lock"
    lock.write_text(f"{versions.FORMAT}\n<<<<<<< HEAD\n", encoding="utf-8")
    with pytest.raises(DefinitionError, match=r"versions\.lock, line 2: `<<<<<<< HEAD` is not a view"):
        read_lock(lock)


def git(*arguments: str) -> str:
    """Run git in the repository. Skips the test if there is none."""
    try:
        done = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, encoding="utf-8")
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if done.returncode:
        pytest.skip(f"git cannot read the history: {done.stderr.strip()}")
    return done.stdout.strip()


def find_lost(earlier: str, now: str, answers_changed: bool) -> list[str]:
    """Return the names of an earlier lock that a later one lacks or, if answers changed too, changes.

    Hashes of another format are not compared.
    """
    names = {line.split(" ")[0]: line for line in now.splitlines()}
    same_format = answers_changed and earlier.startswith(versions.FORMAT) and now.startswith(versions.FORMAT)
    return [
        name
        for line in earlier.splitlines()
        # A lock of the first format also lists base columns, which have two dots.
        if (name := line.split(" ")[0]).count(".") == 1
        and (name not in names or (same_format and names[name] != line))
    ]


def are_answers_changed(before: str, after: str) -> bool:
    """Return whether a golden answer that two commits have differs."""
    for path in git("diff", "--name-only", "--diff-filter=M", before, after, "--", GOLDENS).splitlines():
        old, new = (goldens.answers(git("show", f"{commit}:{path}") + "\n") for commit in (before, after))
        if any(old[statement] != new[statement] for statement in old.keys() & new.keys()):
            return True
    return False


def test_a_released_view_keeps_its_name_and_its_answers() -> None:
    if Path(git("rev-parse", "--show-toplevel")) != REPOSITORY.resolve():
        pytest.skip(f"the git history around {REPOSITORY} is not that of this project")
    path = "views/versions.lock"
    now = (REPOSITORY / path).read_text(encoding="utf-8")
    problems = []
    # Follow both parents of every merge: one branch may have dropped a view that the other released.
    for line in git("log", "--full-history", "--format=%H %P", "--", path).splitlines():
        commit, *parents = line.split()
        if not git("ls-tree", commit, path):
            continue
        lock = git("show", f"{commit}:{path}")
        problems += [f"{name} was released by {commit[:12]}" for name in find_lost(lock, now, False)]
        if len(parents) == 1 and git("ls-tree", parents[0], path):
            answers_changed = are_answers_changed(parents[0], commit)
            before = git("show", f"{parents[0]}:{path}")
            problems += [
                f"{commit[:12]} changes {name}, a released view, and golden answers"
                for name in find_lost(before, lock, answers_changed)
            ]
    assert problems == []
    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("the clone is shallow: older locks can be seen after `git fetch --unshallow`")


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all views and the draft that the command of docs/versions.md writes, `itp.job_v2`."""
    for view in view_files():
        path = tmp_path / "views" / view.path.relative_to(VIEWS)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(view.text, encoding="utf-8")
    [command] = re.findall(r"^ +(sed .*)$", PAGE, re.M)
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)

    def files(folder: Path = VIEWS, without: Collection[Path] = ()) -> list[ViewFile]:
        return view_files(tmp_path / "views", without)

    monkeypatch.setattr(versions, "view_files", files)
    monkeypatch.setattr(template, "view_files", files)
    monkeypatch.setattr(template, "VIEWS", tmp_path / "views")
    # The build must not reuse a template that has the package's views, or those of another test.
    monkeypatch.setattr(template, "hash_definitions", lambda: tmp_path.name)
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    return tmp_path


@suites.of("long")
def test_a_draft_has_its_own_name_only(next_version: Path) -> None:
    reader = next_version / "views" / "itp" / "standard_job.v1.sql"
    reader.write_text(
        reader.read_text(encoding="utf-8").replace("itp.job_v1", "itp.job_v2"), encoding="utf-8"
    )
    (next_version / "warehouse").mkdir()
    database.build(next_version / "warehouse")
    with duckdb.connect(str(next_version / "warehouse" / database.DATABASE), read_only=True) as built:
        assert built.execute("from itp.job_v2").fetchall() == []
        sql = "select version, status, is_current from catalog.views where view_name = 'itp.job' order by all"
        assert built.execute(sql).fetchall() == [(1, RELEASED, True), (2, DRAFT, False)]
        listed = "itp.job_v1 (released), itp.job_v2 (draft); itp.job is itp.job_v1"
        for name, kind in (
            ("itp.job", "view, version 1, released"),
            ("itp.job_v2", "view, version 2, draft"),
        ):
            facts = describe(built, name).facts
            assert (facts["kind"], facts["versions"]) == (kind, listed)
        assert describe(built, "itp.gpu_hours").facts["in versions"] == "itp.job_v1"
        [(error,)] = built.execute(
            "select error from catalog.not_built where object_name = 'itp.standard_job'"
        ).fetchall()
        assert error.startswith(f"{reader}: reads itp.job_v2, a draft: release it with `python -m ")


@suites.of("long")
def test_says_that_a_view_of_all_traces_leaves_out_a_draft(next_version: Path) -> None:
    draft = next_version / "views" / "burstgpt" / "standard_job.v1.sql"
    draft.write_text(
        "create or replace view burstgpt.standard_job_v1 as select 1 as job_id;", encoding="utf-8"
    )
    (next_version / "warehouse").mkdir()
    advice = "release it with `python -m tracehouse.definitions.versions burstgpt.standard_job_v1`"
    left_out = f"unified.jobs leaves out burstgpt, because burstgpt.standard_job_v1 is a draft: {advice}"
    assert database.build(next_version / "warehouse").notes == [left_out]
    raw = next_version / "raw" / "openb_node_list_gpu_node.csv"
    raw.parent.mkdir()
    raw.write_text("sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\n", encoding="utf-8")
    assert left_out in database.ingest([raw.parent], next_version / "warehouse", [], lambda *_: None).notes
    definitions, _ = read_definitions()
    changed = replace(definitions, views=[*definitions.views, read_view_file(draft)])
    findings = [(finding.place, finding.message) for finding in lint_versions(changed)]
    assert findings == [(str(draft), left_out)]


def test_only_plain_names_follow_a_next_version(next_version: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Release a next version with the commands of docs/versions.md."""
    before = versions.LOCK.read_text(encoding="utf-8")
    (next_version / "versions.lock").write_text(before, encoding="utf-8")
    monkeypatch.setattr(versions, "LOCK", next_version / "versions.lock")
    [command] = re.findall(r"^ +(mkdir .*)$", PAGE, re.M)
    subprocess.run(command.replace("git mv", "mv"), shell=True, cwd=next_version, check=True)
    [names] = re.findall(r"^ +python -m tracehouse\.definitions\.versions (itp.*)$", PAGE, re.M)
    assert release(names.split()) == ["itp.job_v2"]
    [line] = set(versions.LOCK.read_text(encoding="utf-8").splitlines()) - set(before.splitlines())
    assert line.startswith("itp.job_v2 ")
    monkeypatch.setattr(view_files_module, "released", lambda: locked(next_version))
    parsed_view_file.cache_clear()
    views = versions.view_files()
    assert plain_names(views)["itp.job"].versioned == "itp.job_v2"
    readers = {view.versioned for view in views if "itp.job_v1" in view.references}
    assert readers == {"itp.standard_job_v1", "unified.jobs_v1"}
    assert not [view.versioned for view in views if "itp.job_v2" in view.references]
