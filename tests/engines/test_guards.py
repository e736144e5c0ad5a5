"""A query's macro fails by itself on what its choices and ranges forbid, in whatever client it is asked."""

import datetime as dt
from collections.abc import Iterator

import duckdb
import pytest
from counting import non_empty

from tracehouse.sql.query_files import Parameter, QueryFile, query_files

LIMITED = [
    (query, parameter)
    for query in query_files()
    for parameter in query.parameters
    if parameter.choices or parameter.range
]


def forbidden(parameter: Parameter) -> Iterator[str]:
    """Values that a parameter may not have, as SQL."""
    if parameter.choices:
        yield "'no such choice'" if parameter.type == "VARCHAR" else "-77"
        return
    assert parameter.range
    for bound, beyond in ((parameter.range.at_least, -1), (parameter.range.at_most, 1)):
        if parameter.type.startswith(("DATE", "TIMESTAMP")):
            yield f"date '{dt.date.fromisoformat(bound) + dt.timedelta(days=beyond)}'"
        else:
            yield str(float(bound) + beyond if parameter.type == "DOUBLE" else int(bound) + beyond)


@pytest.mark.parametrize(
    ("query", "parameter"),
    LIMITED,
    ids=[f"{query.full_name} {parameter.name}" for query, parameter in LIMITED],
)
def test_what_is_forbidden_fails(
    query: QueryFile, parameter: Parameter, synthetic: duckdb.DuckDBPyConnection
) -> None:
    for value in non_empty(forbidden(parameter)):
        with pytest.raises(duckdb.InvalidInputException, match=f"{query.full_name}: {parameter.name} is "):
            synthetic.execute(f"from {query.full_name}({parameter.name} := {value})").fetchall()


def test_null_is_no_choice_and_out_of_no_range(synthetic: duckdb.DuckDBPyConnection) -> None:
    for query, parameter in non_empty(LIMITED):
        call = f"from {query.full_name}({parameter.name} := null) limit 1"
        if parameter.range:
            synthetic.execute(call).fetchall()
        else:
            with pytest.raises(duckdb.InvalidInputException, match="not NULL"):
                synthetic.execute(call).fetchall()


def test_an_answer_without_rows_is_an_error_too(synthetic: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"on_cluster is cluster01 or .*, not cluster99"):
        synthetic.execute("select count(*) from itp.load_by_day('cluster99')").fetchall()
