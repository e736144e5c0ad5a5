"""The comment on a view in the database is that of its file, or else its title."""

from pathlib import Path

import duckdb
import pytest

from tracehouse.engines.duckdb.write.views import create_view
from tracehouse.views.view_files import read_view_file

VIEW = """-- What the publisher's file
-- holds.
-- grain: one row
create or replace view itp.thing_v1 as
select half as one
from (select 0.5::double as half) as halves;

comment on column itp.thing_v1.one is 'Its column; derived.';
"""


@pytest.mark.parametrize(
    ("more", "comment"),
    [
        ("", "What the publisher's file holds."),
        ("comment on view itp.thing_v1 is 'More than that.'", "More than that."),
    ],
)
def test_a_view_has_its_own_comment_or_else_its_title(tmp_path: Path, more: str, comment: str) -> None:
    path = tmp_path / "itp" / "thing.v1.sql"
    path.parent.mkdir()
    path.write_text(VIEW + more)
    with duckdb.connect() as connection:
        connection.execute("create schema itp")
        create_view(connection, read_view_file(path))
        of_view = connection.execute("select comment from duckdb_views() where schema_name = 'itp'")
        assert of_view.fetchall() == [(comment,)]
        of_column = connection.execute("select comment from duckdb_columns() where schema_name = 'itp'")
        assert of_column.fetchall() == [("Its column; derived.",)]
        assert connection.execute("from itp.thing_v1").fetchall() == [(0.5,)]
