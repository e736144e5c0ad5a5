"""The tables of the documentation are those that the code makes."""

import pytest

from tracehouse.docs.tables import MADE, Made


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.name)
def test_a_table_is_as_it_is_made(made: Made) -> None:
    assert made.anew() == made.path.read_text(), "`make tables` writes it anew"
