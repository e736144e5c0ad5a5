"""The lock on released views, and next versions."""

import os
import re
import subprocess
from collections.abc import Collection
from pathlib import Path

import duckdb
import goldens
import pytest
from counting import non_empty

from tracehouse.engines.duckdb.read.describe import describe
from tracehouse.engines.duckdb.write import database, template
from tracehouse.views import versions
from tracehouse.views.versions import broken, locked, read_lock, release, view_hash
from tracehouse.views.view_files import VIEWS, DefinitionError, ViewFile, view_files

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "versions.md").read_text()
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
    monkeypatch.setattr(versions, "LOCK", tmp_path / "versions.lock")
    monkeypatch.setattr(versions, "view_files", lambda: view_files(tmp_path))
    (tmp_path / "itp").mkdir()
    write(tmp_path, "thing", VIEW)
    assert release(["itp.thing_v1"]) == ["itp.thing_v1"]
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / "itp" / f"{name}.v1.sql").write_text(text)


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
        problems = broken(locked(), view_files(folder))
        assert len(problems) == is_locked, instead
        for problem in problems:
            assert problem.startswith("itp.thing_v1 is released, and its statement or comments were changed")
            assert "the next version, thing.v2.sql" in problem


def test_locks_the_macros_that_a_view_calls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = "create or replace view itp.sum_v1 as select stats.fsum(duration) as run_s from itp.raw_job;"
    write(folder, "sum", call)
    release(["itp.sum_v1"])
    monkeypatch.setattr(versions, "macros_sql", lambda: "create macro stats.fsum(number) as sum(number)")
    [problem] = broken(locked(), view_files(folder))
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
    assert broken(locked(), view_files(folder)) == []
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
    assert list(locked()) == ["itp.thing_v1"]
    release(["itp.top_v1", "itp.upper_v1"])


def test_finds_drafts_that_a_released_view_unites() -> None:
    views = view_files()
    members = [view.versioned for view in views if view.versioned.endswith(".standard_job_v1")]
    [uniting] = [view for view in views if view.versioned == "unified.jobs_v2"]
    problems = broken({"unified.jobs_v2": view_hash(uniting)}, views)
    assert [problem.split(" reads ")[1].split(",")[0] for problem in problems] == members


def test_rejects_an_edited_lock() -> None:
    with pytest.raises(DefinitionError, match=r"versions\.lock, line 2: `<<<<<<< HEAD` is not a view"):
        read_lock(f"{versions.FORMAT}\n<<<<<<< HEAD\n")


def git(*arguments: str) -> str:
    """Run git in the repository. Skips the test if there is none."""
    try:
        done = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, text=True)
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
    now = (REPOSITORY / path).read_text()
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


def test_finds_lost_names_and_changed_answers() -> None:
    before = f"{versions.FORMAT}\nitp.job_v1 1\nitp.load_v1 2\n"
    assert find_lost(before, before + "pai.task_v1 3\n", True) == []
    assert find_lost(before, before.replace("itp.load_v1 2\n", ""), False) == ["itp.load_v1"]
    changed = before.replace("load_v1 2", "load_v1 3")
    assert find_lost(before, changed, False) == []
    assert find_lost(before, changed, True) == ["itp.load_v1"]
    first = "# Hashes.\nitp.job_v1 statement=1 columns=2\nitp.gone_v1 statement=3\nitp.raw_job.id VARCHAR\n"
    assert find_lost(first, before, True) == ["itp.gone_v1"]


def test_a_next_version_is_followed_by_plain_names_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write and release a next version with the commands of docs/versions.md, and build with it."""
    for view in view_files():
        path = tmp_path / "views" / view.path.relative_to(VIEWS)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(view.text)
    [command] = re.findall(r"^ +(sed .*)$", PAGE, re.M)
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)

    def files(without: Collection[Path] = ()) -> list[ViewFile]:
        return view_files(tmp_path / "views", without)

    monkeypatch.setattr(template, "view_files", files)
    # The build must not reuse a template that has the package's views.
    monkeypatch.setattr(template, "hash_definitions", lambda: "another")
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    (tmp_path / "warehouse").mkdir()
    with duckdb.connect(str(database.build(tmp_path / "warehouse").path), read_only=True) as second:
        check_readers_of_the_next_version(second)
    before = versions.LOCK.read_text()
    (tmp_path / "versions.lock").write_text(before)
    monkeypatch.setattr(versions, "LOCK", tmp_path / "versions.lock")
    monkeypatch.setattr(versions, "view_files", files)
    [names] = re.findall(r"^ +python -m tracehouse\.views\.versions (itp.*)$", PAGE, re.M)
    assert release(names.split()) == ["itp.job_v2"]
    [line] = set(versions.LOCK.read_text().splitlines()) - set(before.splitlines())
    assert line.startswith("itp.job_v2 ")


def check_readers_of_the_next_version(second: duckdb.DuckDBPyConnection) -> None:
    reads = dict(second.execute("select versioned_name, reads from catalog.views").fetchall())
    assert {name for name, names in reads.items() if "itp.job_v1" in names} == {
        "itp.standard_job_v1",
        "unified.jobs_v1",
    }
    assert {name for name, names in reads.items() if "itp.job_v2" in names} == set()
    [(comment,)] = second.execute(
        "select comment from duckdb_views() where schema_name = 'itp' and view_name = 'job'"
    ).fetchall()
    assert comment.endswith("This is itp.job_v2, the newest version.")
    queries = second.execute("select reads, reads_versions from catalog.queries").fetchall()
    of_views = {name.rpartition("_v")[0] for name in reads} | reads.keys()
    for names, now in non_empty(queries):
        assert {name.rpartition("_v")[0] for name in now} == {
            re.sub(r"_v\d+$", "", name) for name in names if name in of_views
        }
    following = [now for names, now in queries if "itp.job" in names]
    assert len(following) > 3
    assert all("itp.job_v2" in now and "itp.job_v1" not in now for now in following)
    listed = "itp.job_v1 (released), itp.job_v2 (draft); itp.job is itp.job_v2, the newest"
    for name, kind in (
        ("itp.job", "view, version 2, draft"),
        ("itp.job_v2", "view, version 2, draft"),
        ("itp.job_v1", "view, version 1, released"),
    ):
        facts = describe(second, name).facts
        assert (facts["kind"], facts["versions"]) == (kind, listed)
    assert describe(second, "itp.gpu_hours").facts["in versions"] == "itp.job_v2"
