"""View files: names, headers, references, order and errors."""

import re
from pathlib import Path

import pytest

from tracehouse.definitions.dependencies import sort_views
from tracehouse.definitions.view_files import (
    VIEW_KEYS,
    DefinitionError,
    newest,
    read_header,
    read_view_file,
    view_files,
)

VIEW = """-- What it holds,
-- in two lines.
-- grain: one row per job; a line with a semicolon
-- caveat: itp.no_wait
-- caveat: itp.min_duration_600
create or replace view itp.{name}_v{version} as
with mine as (select job_id from {reads})

select mine.job_id from mine;
"""


def write_view(
    folder: Path, name: str = "thing", version: int = 1, reads: str = "itp.raw_job", text: str = VIEW
) -> Path:
    path = folder / "itp" / f"{name}.v{version}.sql"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.format(name=name, version=version, reads=reads), encoding="utf-8")
    return path


def test_reads_header_and_references(tmp_path: Path) -> None:
    view = read_view_file(write_view(tmp_path))
    assert (view.versioned, view.alias, view.version) == ("itp.thing_v1", "itp.thing", 1)
    assert view.header.title == "What it holds, in two lines."
    assert view.header.one("grain") == "one row per job; a line with a semicolon"
    assert view.header.all("caveat") == ("itp.no_wait", "itp.min_duration_600")
    assert view.references == {"itp.raw_job"}


@pytest.mark.parametrize(
    ("more", "comments"),
    [
        ("", ["comment on view itp.thing_v1 is 'What it ''holds'', in two lines.'"]),
        (
            "comment on column itp.thing_v1.job_id is 'comment on view itp.thing_v1 is ';",
            [
                "comment on view itp.thing_v1 is 'What it ''holds'', in two lines.'",
                "comment on column itp.thing_v1.job_id is 'comment on view itp.thing_v1 is '",
            ],
        ),
        ("Comment on  view itp.thing_v1\nis 'More.';", ["Comment on  view itp.thing_v1\nis 'More.'"]),
    ],
)
def test_the_title_is_the_default_comment_on_a_view(tmp_path: Path, more: str, comments: list[str]) -> None:
    text = VIEW.replace("it holds", "it 'holds'") + more
    assert read_view_file(write_view(tmp_path, text=text)).comments == comments


def test_without_a_title_there_is_no_comment(tmp_path: Path) -> None:
    view = read_view_file(write_view(tmp_path, text=VIEW.split("lines.\n")[1]))
    assert (view.header.title, view.comments) == ("", [])


def test_rejects_invalid_files_with_their_name(tmp_path: Path) -> None:
    for text, complaint in (
        (VIEW.replace("{name}", "other"), "creates itp.other_v1, but its name says itp.thing_v1"),
        (VIEW.replace("{reads}", "raw_job"), "add the schema to raw_job"),
        ("create or replace view itp.thing_v1 as select from where", "line 1: "),
        *((text, "the first statement must begin with") for text in ("", "-- Nothing.\n", ";\n")),
    ):
        with pytest.raises(DefinitionError, match=rf"thing\.v1\.sql.*{re.escape(complaint)}"):
            read_view_file(write_view(tmp_path, text=text))


def test_sorts_views_after_their_sources(tmp_path: Path) -> None:
    write_view(tmp_path, "a", reads="itp.b_v2")
    write_view(tmp_path, "b", 1, reads="itp.c_v1")
    write_view(tmp_path, "b", 2, reads="itp.b_v1")
    write_view(tmp_path, "c")
    ordered = [view.versioned for view in sort_views(view_files(tmp_path))]
    assert ordered == ["itp.c_v1", "itp.b_v1", "itp.b_v2", "itp.a_v1"]
    assert newest(view_files(tmp_path))["itp.b"].version == 2


def test_header_stops_at_the_sql() -> None:
    header = read_header("-- Title.\n-- grain: a\nselect 1 -- caveat: no\n", VIEW_KEYS, "here")
    assert (header.title, header.fields) == ("Title.", {"grain": ("a",)})


def test_rejects_an_unknown_header_key() -> None:
    with pytest.raises(
        DefinitionError, match=r"here: `-- caveats: a`: the keys of its header are answers, caveat, "
    ):
        read_header("-- Title.\n-- caveats: a\nselect 1\n", VIEW_KEYS, "here")
