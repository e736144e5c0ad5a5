"""The macro of a query rejects values outside its choices or range, in any client."""

import datetime as dt
from collections.abc import Iterator

import duckdb
import pytest
from non_empty import non_empty
from random_seed import some

from tracehouse.definitions.parameters import Parameter
from tracehouse.definitions.query_files import query_files

LIMITED = {
    f"{query.full_name}({parameter.name}": (query, parameter)
    for query in query_files()
    for parameter in query.parameters
    if parameter.choices or parameter.range
}


def invalid_values(parameter: Parameter) -> Iterator[str]:
    """Yield invalid values of a parameter, as SQL."""
    if parameter.choices:
        yield "'no such choice'" if parameter.type == "VARCHAR" else "-77"
        return
    assert parameter.range
    for bound, beyond in ((parameter.range.at_least, -1), (parameter.range.at_most, 1)):
        if parameter.type.startswith(("DATE", "TIMESTAMP")):
            yield f"date '{dt.date.fromisoformat(bound) + dt.timedelta(days=beyond)}'"
        else:
            yield str(float(bound) + beyond if parameter.type == "DOUBLE" else int(bound) + beyond)


def test_macro_rejects_invalid_value(synthetic: duckdb.DuckDBPyConnection) -> None:
    accepted = []
    for query, parameter in [LIMITED[name] for name in some([*LIMITED], 30)]:
        for value in non_empty(invalid_values(parameter)):
            call = f"{query.full_name}({parameter.name} := {value})"
            try:
                synthetic.execute(f"from {call}").fetchall()
                accepted.append(call)
            except duckdb.InvalidInputException as error:
                assert f"{query.full_name}: {parameter.name} is " in str(error)
    assert accepted == []


def test_null_is_rejected_by_choices_and_accepted_by_ranges(synthetic: duckdb.DuckDBPyConnection) -> None:
    for query, parameter in [LIMITED[name] for name in some([*LIMITED], 20)]:
        call = f"from {query.full_name}({parameter.name} := null) limit 1"
        if parameter.range:
            synthetic.execute(call).fetchall()
        else:
            with pytest.raises(duckdb.InvalidInputException, match="not NULL"):
                synthetic.execute(call).fetchall()


def test_invalid_value_is_rejected_even_if_no_row_matches(synthetic: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"on_cluster is cluster01 or .*, not cluster99"):
        synthetic.execute("select count(*) from itp.load_by_day('cluster99')").fetchall()
