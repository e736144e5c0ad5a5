"""Units are declared once per name, in one spelling, and every column of a query has a meaning."""

from collections import defaultdict
from pathlib import Path

import duckdb
import pytest

from tracehouse.engines.duckdb.write import catalog
from tracehouse.engines.duckdb.write.views import describe_views
from tracehouse.sql.query_files import query_files
from tracehouse.views.columns import PROVENANCES, is_number
from tracehouse.views.units import Quantity, read_quantities, read_units, spell_unit, unit_in
from tracehouse.views.view_files import VIEWS

HEADER = "quantity,unit,meaning\n"


def write(folder: Path, **texts: str) -> Path:
    """Write a units.csv per schema, and the shared one from `shared`. Return the folder."""
    for schema, text in texts.items():
        path = folder / ("units.csv" if schema == "shared" else f"{schema}/units.csv")
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEADER + text)
    return folder


def test_a_schema_has_its_own_names_and_the_shared_ones(tmp_path: Path) -> None:
    folder = write(tmp_path, shared="jobs,jobs,Jobs\n", mars="sols,sols,Days\n", venus="clouds,clouds,\n")
    assert read_units("mars", folder)["jobs"].unit == "jobs"
    assert read_units("mars", folder)["sols"].unit == "sols"
    assert "clouds" not in read_units("mars", folder) and "sols" not in read_units("unknown", folder)


def test_statistics_inherit_unit_and_meaning(tmp_path: Path) -> None:
    shared = "wait_s,s,Queueing delay\ngpu_pct,percent,GPU utilisation\nmax_gpu_pct,percent,Own text\n"
    found = read_units("mars", write(tmp_path, shared=shared))
    assert found["p95_wait_s"] == Quantity("p95_wait_s", "s", "95th percentile of the queueing delay")
    assert found["mean_wait_s"] == Quantity("mean_wait_s", "s", "Mean queueing delay")
    assert found["median_gpu_pct"] == Quantity("median_gpu_pct", "percent", "Median GPU utilisation")
    assert found["max_gpu_pct"].meaning == "Own text"
    assert "p42_wait_s" not in found


def test_other_names_have_the_unit_that_they_end_in() -> None:
    names = ["free_gpus", "idle_gpu_h", "gpu_h_pct", "wait_h", "s", "cost_per_s", "gpus_left", "class"]
    assert [unit_in(name) for name in names] == ["GPUs", "GPU-h", "percent", "h", "s", None, None, None]


@pytest.mark.each_trace
def test_a_name_has_one_unit_in_the_spelling_of_the_project() -> None:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(VIEWS.rglob("units.csv")):
        quantities = read_quantities(path)
        assert len({quantity.name for quantity in quantities}) == len(quantities), path
        for quantity in quantities:
            assert spell_unit(quantity.unit) == quantity.unit, (path, quantity)
            found[quantity.name][path.parent.name] = quantity.unit
    assert len(found) > 100
    assert {name: units for name, units in found.items() if len(set(units.values())) > 1} == {}
    assert {name: units for name, units in found.items() if "views" in units and len(units) > 1} == {}


@pytest.mark.each_trace
def test_the_catalog_has_one_spelling_of_each_unit(synthetic: duckdb.DuckDBPyConnection) -> None:
    units = synthetic.execute("select distinct unit from catalog.columns").fetchall()
    assert [unit for (unit,) in units if spell_unit(unit) != unit] == []
    assert ("CPU cores",) in units


@pytest.mark.each_trace
def test_every_number_of_a_view_has_a_unit(synthetic: duckdb.DuckDBPyConnection) -> None:
    """End a name in its unit, such as run_s, or add it to units.csv, with an empty unit for a label."""
    types = catalog.column_types(synthetic)
    docs = describe_views().docs
    numbers = [
        (name, column)
        for name in docs.keys() & types.keys()
        for column, (kind, _) in types[name].items()
        if is_number(kind) and not name.startswith("catalog.")
    ]
    assert [f"{name}.{column}" for name, column in numbers if docs[name][column].unit is None] == []


@pytest.mark.each_trace
def test_every_column_of_every_query_is_described(synthetic: duckdb.DuckDBPyConnection) -> None:
    described = synthetic.execute(
        "select object_name, list(column_name order by position) from catalog.columns group by object_name"
    ).fetchall()
    columns = dict(described)
    for query in query_files():
        assert set(query.column_docs) <= set(columns[query.full_name]), query.path
        for parameter in query.parameters:
            table, _, column = parameter.values_of.rpartition(".")
            assert not table or column in columns[table], (query.path, parameter.values_of)
        answer = synthetic.execute(f"describe from {query.full_name}()").fetchall()
        assert columns[query.full_name] == [column for column, *_ in answer], query.full_name
        for column, kind, *_ in answer:
            if is_number(kind):
                has_unit = column in read_units(query.schema) or unit_in(column) is not None
                assert has_unit, f"{query.path}: no unit of {column} is known"
    rows = synthetic.execute(
        """
        select object_name || '.' || column_name, provenance, meaning from catalog.columns
        where object_name in (select query_name from catalog.queries)
        """
    ).fetchall()
    assert [name for name, provenance, meaning in rows if provenance not in PROVENANCES or not meaning] == []


def test_a_passed_through_column_keeps_the_meaning_in_the_view(synthetic: duckdb.DuckDBPyConnection) -> None:
    [(meaning, provenance, lineage)] = synthetic.execute(
        """
        select meaning, provenance, lineage from catalog.columns
        where object_name = 'unified.run_by_size' and column_name = 'size_band'
        """
    ).fetchall()
    assert meaning.startswith("Band of requested_gpus")
    assert (provenance, lineage) == ("derived", ["unified.jobs.size_band"])
