"""The lock on released views, editorial changes and next versions."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from counting import non_empty

from tracehouse.engines.duckdb.read.describe import describe
from tracehouse.engines.duckdb.write import database
from tracehouse.engines.duckdb.write import views as write_views
from tracehouse.ingest.declarations import all_traces
from tracehouse.views import meanings, versions
from tracehouse.views.quantities import Quantity
from tracehouse.views.versions import (
    Lock,
    broken,
    declared,
    locked,
    lost,
    read_by,
    read_lock,
    record_editorial,
    relations_of,
    release,
)
from tracehouse.views.view_files import VIEWS, DefinitionError, view_files

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "versions.md").read_text()

VIEW = """-- What it holds.
-- grain: one row per job
create or replace view itp.thing_v1 as
select
    job_id, -- the key
    duration / 60 as minutes
from itp.raw_job
where cluster <> '--';

comment on view itp.thing_v1 is 'What it holds.';
comment on column itp.thing_v1.minutes is 'Run time in minutes; derived.';
"""
UPPER = "create or replace view itp.upper_v1 as select minutes from itp.thing_v1;"


def base_columns() -> dict[str, str]:
    return declared(all_traces().values())


def release_all(folder: Path, monkeypatch: pytest.MonkeyPatch, **texts: str) -> None:
    """Write view files of ITP to a folder with its own lock, and release them."""
    monkeypatch.setattr(versions, "LOCK", folder / "versions.lock")
    monkeypatch.setattr(versions, "view_files", lambda: view_files(folder))
    (folder / "itp").mkdir()
    for name, text in texts.items():
        write(folder, name, text)
    release([f"itp.{name}_v1" for name in texts])


def write(folder: Path, name: str, text: str) -> None:
    (folder / "itp" / f"{name}.v1.sql").write_text(text)


def find_broken(folder: Path, columns: dict[str, str] | None = None) -> list[str]:
    return broken(locked(), view_files(folder), base_columns() if columns is None else columns)


@pytest.mark.each_trace
def test_no_released_view_differs_from_the_lock() -> None:
    assert broken(locked(), view_files(), base_columns()) == []


def test_a_release_of_all_views_writes_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = versions.LOCK.read_text()
    monkeypatch.setattr(versions, "LOCK", tmp_path / "versions.lock")
    release(list(read_lock(text).views))
    newest_wording = re.sub(r"comments=\S+,", "comments=", text)
    assert versions.LOCK.read_text() == newest_wording


@pytest.mark.each_trace
def test_every_released_view_has_a_unique_statement_and_comments() -> None:
    meanings = locked().views.values()
    assert len(meanings) > 50
    for hashes in ([m.statement for m in meanings], [m.comments[-1] for m in meanings]):
        assert len(set(hashes)) == len(hashes) and "none" not in hashes
    assert all(meaning.labels != "none" for meaning in meanings)


@pytest.mark.parametrize(
    ("found", "instead", "complaint"),
    [
        ("What it holds.\n", "What it really holds.\n", ""),
        ("-- grain: one row per job", "-- grain: one row per job\n-- caveat: itp.no_wait", ""),
        (" -- the key", "", ""),
        ("select\n    job_id", "select   job_id", ""),
        ("duration / 60", "duration / 61", "its statement was changed"),
        ("'--'", "'-- '", "its statement was changed"),
        ("job_id, ", "num_gpu, ", "its statement was changed"),
        ("'Run time in minutes", "'Run time in hours", "its comments were changed"),
        ("view itp.thing_v1 is 'What it", "view itp.thing_v1 is 'All that it", "its comments were changed"),
    ],
)
def test_names_the_part_of_a_released_view_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str, instead: str, complaint: str
) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW)
    assert find_broken(tmp_path) == []
    assert found in VIEW
    write(tmp_path, "thing", VIEW.replace(found, instead))
    problems = find_broken(tmp_path)
    assert len(problems) == (1 if complaint else 0)
    for problem in problems:
        assert problem.startswith(f"itp.thing_v1 is released, and {complaint}: restore ")
        assert "its next version, thing.v2.sql" in problem
        with pytest.raises(SystemExit, match=complaint):
            release(["itp.thing_v1"])


def test_records_an_editorial_change_of_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW, upper=UPPER)
    before = locked()
    assert record_editorial([]) == [] and locked() == before
    write(tmp_path, "thing", VIEW.replace("Run time in minutes", "Minutes that the job ran"))
    # The other view inherits the comment.
    assert record_editorial([]) == ["itp.thing_v1", "itp.upper_v1"]
    assert find_broken(tmp_path) == []
    assert lost(before, locked()) == []
    assert locked().views["itp.thing_v1"].comments[:1] == before.views["itp.thing_v1"].comments
    assert record_editorial(["itp.thing_v1"]) == []


@pytest.mark.parametrize(
    ("found", "instead", "complaint"),
    [
        ("minutes; derived.", "minutes; measured.", "the unit or provenance of a column was changed"),
        ("duration / 60", "duration / 61", "its statement was changed"),
        (" as minutes", " as hours", "its statement was changed"),
    ],
)
def test_rejects_an_editorial_change_of_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str, instead: str, complaint: str
) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW)
    before = locked()
    assert found in VIEW
    write(tmp_path, "thing", VIEW.replace(found, instead))
    with pytest.raises(SystemExit, match=complaint):
        record_editorial([])
    with pytest.raises(SystemExit, match=r"itp\.other_v1 is not released"):
        record_editorial(["itp.other_v1"])
    assert locked() == before


def test_finds_a_changed_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW)
    monkeypatch.setattr(meanings, "quantities", lambda _: {"minutes": Quantity("minutes", "h", "")})
    [problem] = find_broken(tmp_path)
    assert "the unit or provenance of a column was changed" in problem


def test_locks_a_title_that_is_the_comment_on_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW)
    without = VIEW.replace("comment on view itp.thing_v1 is 'What it holds.';\n", "")
    write(tmp_path, "thing", without)
    assert find_broken(tmp_path) == []
    write(tmp_path, "thing", without.replace("What it holds.", "What it really holds."))
    [problem] = find_broken(tmp_path)
    assert problem.startswith("itp.thing_v1 is released, and its comments were changed")


def test_finds_a_released_view_without_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW)
    (tmp_path / "itp" / "thing.v1.sql").unlink()
    assert find_broken(tmp_path) == ["itp.thing_v1 is released, and its file is missing: restore it"]


@pytest.mark.parametrize(
    ("column", "words", "complaint"),
    [
        ("itp.raw_job.duration", "DOUBLE", 'was changed from BIGINT unit="s" to DOUBLE'),
        ("itp.raw_job.duration", None, "is gone"),
        ("itp.raw_job.minutes", "BIGINT", "is new, with a name that its SQL uses"),
        ("itp.raw_job.queue", "VARCHAR", ""),
        ("itp.raw_job.num_gpu", "VARCHAR", ""),
        ("itp.elasticflow_job.duration", "VARCHAR", ""),
    ],
)
def test_finds_a_changed_base_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, words: str | None, complaint: str
) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW, upper=UPPER)
    columns = base_columns() | {column: words or ""}
    if words is None:
        del columns[column]
    problems = find_broken(tmp_path, columns)
    assert len(problems) == (2 if complaint else 0)
    for problem, name in zip(problems, ("thing", "upper"), strict=False):
        assert problem.startswith(f"itp.{name}_v1 is released, and the base column {column}")
        assert complaint in problem


def test_locks_type_unit_and_missing_values_of_a_base_column() -> None:
    [table] = [table for table in all_traces()["itp"].tables if table.name == "raw_job"]
    [duration] = [column for column in table.columns if column.name == "duration"]

    def words(**changes: object) -> str:
        changed = replace(table, columns=(replace(duration, **changes),))
        trace = replace(all_traces()["itp"], tables=(changed,))
        return declared([trace])["itp.raw_job.duration"]

    assert words() == words(comment="Another one.") == base_columns()["itp.raw_job.duration"]
    different = [words(type="DOUBLE"), words(unit="h"), words(null_texts=("NA",)), words(required=True)]
    assert len({words(), *different}) == 5
    assert different[2] == 'BIGINT unit="s" null_texts=["NA"]'


def test_finds_an_edited_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW)
    text = versions.LOCK.read_text()
    versions.LOCK.write_text(text.replace("itp.raw_job.job_id VARCHAR", "itp.raw_job.job_id BIGINT"))
    [problem] = find_broken(tmp_path)
    assert "itp.raw_job.job_id that it reads was changed from BIGINT to VARCHAR" in problem
    versions.LOCK.write_text(text.replace(" columns=", " columns=0"))
    [problem] = find_broken(tmp_path)
    assert "the base columns that it reads were changed" in problem
    versions.LOCK.write_text(text + "<<<<<<< HEAD\n")
    with pytest.raises(DefinitionError, match=r"versions\.lock, line \d+: `<<<<<<< HEAD` locks neither"):
        find_broken(tmp_path)


def test_rejects_a_release_that_reads_a_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_all(tmp_path, monkeypatch)
    write(tmp_path, "thing", VIEW)
    write(tmp_path, "upper", UPPER)
    with pytest.raises(
        SystemExit, match=r"itp\.upper_v1 is released, and reads itp\.thing_v1, a draft: release that too"
    ):
        release(["itp.upper_v1"])
    assert locked().views == {}
    release(["itp.upper_v1", "itp.thing_v1"])
    assert find_broken(tmp_path) == []


def test_rejects_a_release_without_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_all(tmp_path, monkeypatch, thing=VIEW)
    with pytest.raises(SystemExit, match=r"no view is called itp\.thing: name a version, as itp\.job_v1"):
        release(["itp.thing"])


def test_a_new_trace_changes_no_uniting_view() -> None:
    views = {view.versioned: view for view in view_files()}
    without = {name: view for name, view in views.items() if name != "pai.standard_job_v1"}
    united = views["unified.jobs_v2"]
    assert read_by(united, views, base_columns()) == {}
    locks = [
        versions.meaning(united, some, base_columns(), relations_of(list(some.values())))
        for some in (views, without)
    ]
    assert locks[0] == locks[1] and locks[0].columns == "none"


def test_finds_drafts_that_a_released_view_unites() -> None:
    views = view_files()
    members = [view.versioned for view in views if view.versioned.endswith(".standard_job_v1")]
    by_name = {view.versioned: view for view in views}
    relations = relations_of(views)
    released = versions.meaning(by_name["unified.jobs_v2"], by_name, base_columns(), relations)
    lock = Lock({"unified.jobs_v2": released}, {})
    problems = broken(lock, views, base_columns())
    assert [problem.split(" reads ")[1].split(",")[0] for problem in problems] == members


def git(*arguments: str) -> str:
    """Run git in the repository. Skips the test if there is none."""
    try:
        done = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if done.returncode:
        pytest.skip(f"git cannot read the history: {done.stderr.strip()}")
    return done.stdout.strip()


def lost_since(earlier: str, now: str) -> list[str]:
    """Return the names of an earlier lock whose lines the present lock lacks or changes.

    A lock in an older format is compared by name only.
    """
    try:
        return lost(read_lock(earlier), read_lock(now))
    except DefinitionError:
        kept = {line.split(" ")[0] for line in now.splitlines()}
        return [
            name for line in earlier.splitlines() if (name := line.split(" ")[0]) not in kept and name != "#"
        ]


def test_the_lock_only_grows() -> None:
    if Path(git("rev-parse", "--show-toplevel")) != REPOSITORY.resolve():
        pytest.skip(f"the git history around {REPOSITORY} is not that of this project")
    path = "views/versions.lock"
    now = (REPOSITORY / path).read_text()
    # Follow both parents of every merge: one branch may have dropped a view that the other released.
    commits = git("rev-list", "--full-history", "HEAD", "--", path).split()
    entries = {git("ls-tree", commit, path): commit for commit in commits}
    problems = [
        f"{name} was released by {commit[:12]}, and its line is gone or changed: restore it"
        for entry, commit in entries.items()
        # git ls-tree prints nothing for a commit that removed the file.
        if entry
        for name in lost_since(git("cat-file", "blob", entry.split()[2]), now)
    ]
    assert problems == []
    if git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("the clone is shallow: older locks can be seen after `git fetch --unshallow`")


@pytest.mark.parametrize(
    ("found", "instead", "lost_name"),
    [
        ("itp.job_v1 statement=(.*)\n", "", "itp.job_v1"),
        ("(itp.job_v1 statement=)", r"\g<1>0", "itp.job_v1"),
        ("(itp.job_v1 .*comments=)", r"\g<1>0", "itp.job_v1"),
        ("(itp.job_v1 .*comments=)", r"\g<1>0,", "itp.job_v1"),
        ("(itp.job_v1 .*comments=[^ ]*)", r"\g<1>,0", ""),
        ("(itp.job_v1 .*labels=)", r"\g<1>0", "itp.job_v1"),
        ("(itp.job_v1 .*columns=)", r"\g<1>0", "itp.job_v1"),
        ("itp.raw_job.job_id VARCHAR\n", "", "itp.raw_job.job_id"),
        ("(itp.raw_job.job_id) VARCHAR", r"\g<1> BIGINT", "itp.raw_job.job_id"),
        (r"\Z", "pai.more_v1 statement=1 comments=2 labels=3 columns=4\n", ""),
    ],
)
def test_the_lock_may_only_gain_lines_and_wordings(found: str, instead: str, lost_name: str) -> None:
    before = versions.LOCK.read_text()
    now, times = re.subn(found, instead, before, count=1)
    assert times == 1
    assert lost_since(before, now) == ([lost_name] if lost_name else [])


def test_a_lock_of_an_earlier_format_is_compared() -> None:
    now = versions.LOCK.read_text()
    without_labels = re.sub(r" labels=\w+", "", now)
    assert lost_since(without_labels, now) == []
    changed = without_labels.replace("itp.job_v1 statement=", "itp.job_v1 statement=0")
    assert lost_since(changed, now) == ["itp.job_v1"]
    assert lost_since("# Hashes.\nitp.job_v1 0851\nitp.gone_v1 e3b0\n", now) == ["itp.gone_v1"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all views, and a next version of one, written by the command in docs/versions.md."""
    folder = tmp_path_factory.mktemp("repository")
    for view in view_files():
        path = folder / "views" / view.path.relative_to(VIEWS)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(view.text)
    [command] = re.findall(r"^ +(sed .*)$", PAGE, re.M)
    subprocess.run(command, shell=True, cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def second(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """A database with the views of `repository`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write_views, "view_files", lambda: view_files(repository / "views"))
        # Without a cache, the build cannot reuse a template that has the package's views.
        patch.setenv("XDG_CACHE_HOME", os.devnull)
        path = database.build(tmp_path_factory.mktemp("warehouse")).path
    return duckdb.connect(str(path), read_only=True)


def test_releases_a_next_version_with_one_line(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = versions.LOCK.read_text()
    (tmp_path / "versions.lock").write_text(before)
    monkeypatch.setattr(versions, "LOCK", tmp_path / "versions.lock")
    monkeypatch.setattr(versions, "view_files", lambda: view_files(repository / "views"))
    [names] = re.findall(r"^ +python -m tracehouse\.views\.versions (itp.*)$", PAGE, re.M)
    release(names.split())
    [more] = set(versions.LOCK.read_text().splitlines()) - set(before.splitlines())
    assert lost_since(before, versions.LOCK.read_text()) == []
    assert more.startswith("itp.job_v2 statement=")


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list:
    return connection.execute(sql).fetchall()


def test_views_keep_reading_the_version_that_they_name(second: duckdb.DuckDBPyConnection) -> None:
    reading = rows(
        second,
        "select versioned_name from catalog.views where list_contains(reads, 'itp.job_v1') order by all",
    )
    assert reading == [("itp.standard_job_v1",), ("unified.jobs_v1",)]
    assert rows(second, "from catalog.views where list_contains(reads, 'itp.job_v2')") == []


def test_plain_names_and_queries_follow_the_newest_version(second: duckdb.DuckDBPyConnection) -> None:
    [(comment,)] = rows(
        second, "select comment from duckdb_views() where schema_name = 'itp' and view_name = 'job'"
    )
    assert comment.endswith("This is itp.job_v2, the newest version.")
    queries = rows(second, "select reads, reads_versions from catalog.queries")
    following = [now for names, now in queries if "itp.job" in names]
    assert len(following) > 3
    assert all("itp.job_v2" in now and "itp.job_v1" not in now for now in following)


def test_queries_list_the_versions_that_they_read(second: duckdb.DuckDBPyConnection) -> None:
    stand_for = dict(
        rows(
            second,
            """
            select view_name, arg_max(versioned_name, version) from catalog.views group by view_name
            union all
            select versioned_name, versioned_name from catalog.views
            """,
        )
    )
    for names, now in non_empty(rows(second, "select reads, reads_versions from catalog.queries")):
        assert now == sorted(stand_for[name] for name in names if name in stand_for)


def test_describes_every_version(second: duckdb.DuckDBPyConnection) -> None:
    listed = "itp.job_v1 (released), itp.job_v2 (draft); itp.job is itp.job_v2, the newest"
    for name, kind in (
        ("itp.job", "view, version 2, draft"),
        ("itp.job_v2", "view, version 2, draft"),
        ("itp.job_v1", "view, version 1, released"),
    ):
        facts = describe(second, name).facts
        assert (facts["kind"], facts["versions"]) == (kind, listed)
    assert describe(second, "itp.gpu_hours").facts["in versions"] == "itp.job_v2"
