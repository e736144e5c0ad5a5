"""The generated tables in the documents are up to date."""

import pytest

from tracehouse.docs.tables import TABLES, GeneratedTable


@pytest.mark.each_trace
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_generated_table_is_current(table: GeneratedTable) -> None:
    assert table.updated_document() == table.path.read_text(encoding="utf-8"), "run `make tables`"
