"""Units have one spelling, and every column of a query has a meaning."""

import duckdb
import pytest
import suites
from non_empty import non_empty

from tracehouse.definitions.query_columns import describe_columns
from tracehouse.definitions.query_files import query_files
from tracehouse.definitions.units import describe_name, is_number, spell_unit, unit_in
from tracehouse.definitions.view_files import view_files
from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.views import describe_views


def test_statistics_have_the_unit_and_meaning_of_what_they_are_of() -> None:
    stated = {
        "slowdown": ("Slowdown", "ratio"),
        "gpu_pct": ("GPU utilisation", None),
        "max_gpu_pct": ("Own text", None),
    }
    for name, described in {
        "p95_slowdown": ("95th percentile of the slowdown", "ratio"),
        "mean_wait_s": ("Mean queueing delay", None),
        "median_gpu_pct": ("Median GPU utilisation", None),
        "max_gpu_pct": ("Own text", None),
        "jobs_pct": ("Share of the jobs", None),
        "p42_slowdown": ("", None),
        "p95_latency_s": ("", None),
    }.items():
        assert describe_name(name, stated) == described


def test_other_names_have_the_unit_that_they_end_in() -> None:
    names = ["free_gpus", "idle_gpu_h", "gpu_h_pct", "wait_h", "s", "cost_per_s", "gpus_left", "class"]
    assert [unit_in(name) for name in names] == ["GPUs", "GPU-h", "percent", "h", "s", None, None, None]


@pytest.mark.each_trace
def test_the_catalog_has_one_spelling_of_each_unit(synthetic: duckdb.DuckDBPyConnection) -> None:
    units = synthetic.execute("select distinct unit from catalog.columns").fetchall()
    assert [unit for (unit,) in units if spell_unit(unit) != unit] == []
    assert ("CPU cores",) in units


@pytest.mark.each_trace
def test_every_number_of_a_view_has_a_unit(synthetic: duckdb.DuckDBPyConnection) -> None:
    """End a name in its unit, such as run_s, or write `[unit]` in its comment: for a label `[no unit]`."""
    types = catalog.column_types(synthetic)
    docs = describe_views(view_files()).docs
    numbers = [
        (name, column)
        for name in docs.keys() & types.keys()
        for column, (kind, _) in types[name].items()
        if is_number(kind) and not name.startswith("catalog.")
    ]
    assert [f"{name}.{column}" for name, column in numbers if docs[name][column].unit is None] == []


@suites.of("long")
@pytest.mark.each_trace
def test_every_number_of_a_query_has_a_unit(synthetic: duckdb.DuckDBPyConnection) -> None:
    """Lint infers the types from the SQL. DuckDB knows those of all columns."""
    described = synthetic.execute(
        "select object_name, list(column_name order by position) from catalog.columns group by object_name"
    ).fetchall()
    columns = dict(described)
    docs = describe_views(view_files()).docs
    missing: list[str] = []
    for query in non_empty(query_files()):
        answer = synthetic.execute(f"describe from {query.full_name}()").fetchall()
        assert columns[query.full_name] == [column for column, *_ in answer], query.full_name
        types = {column: kind for column, kind, *_ in answer}
        missing += [
            f"{query.path}: {column.name}"
            for column in describe_columns(query, columns[query.full_name], docs)
            if is_number(types[column.name]) and column.unit is None and not column.origin
        ]
    assert missing == []


def test_a_passed_through_column_keeps_the_meaning_in_the_view(synthetic: duckdb.DuckDBPyConnection) -> None:
    [(meaning, provenance, lineage)] = synthetic.execute(
        """
        select meaning, provenance, lineage from catalog.columns
        where object_name = 'unified.run_by_size' and column_name = 'size_band'
        """
    ).fetchall()
    assert meaning.startswith("Band of requested_gpus")
    assert (provenance, lineage) == ("derived", ["unified.jobs.size_band"])
