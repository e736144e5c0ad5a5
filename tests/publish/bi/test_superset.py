"""The bundle has the keys that Superset expects. With TRACEHOUSE_BI=all, Superset imports and draws it."""

import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import superset_server
import yaml
from bi_tests import in_full
from browser_tests import in_browser
from superset_server import Superset

from tracehouse.publish.bi.superset import build_bundle
from tracehouse.publish.bi.superset_charts import Answer, build_chart
from tracehouse.sql.query_files import CHART_KINDS

REPOSITORY = Path(__file__).parents[3]

# Required and optional keys of Superset 6.1, which rejects other keys.
SCHEMAS = {
    "databases": (
        {"database_name", "sqlalchemy_uri", "uuid", "version"},
        {"expose_in_sqllab", "allow_run_async", "allow_ctas", "allow_cvas", "allow_dml", "extra"},
    ),
    "datasets": (
        {"table_name", "uuid", "version", "database_uuid"},
        {"main_dttm_col", "description", "schema", "sql", "filter_select_enabled", "columns", "metrics"},
    ),
    "charts": (
        {"slice_name", "viz_type", "uuid", "version", "dataset_uuid"},
        {"description", "params"},
    ),
    "dashboards": (
        {"dashboard_title", "uuid", "version"},
        {"description", "slug", "position", "metadata", "published"},
    ),
}
COLUMN_KEYS = {"column_name", "is_dttm", "is_active", "type", "groupby", "filterable", "description"}
COLUMN_KEYS |= {"verbose_name"}


@pytest.fixture(scope="module")
def published(small_warehouse: Path, publish, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a published file and its bundle."""
    folder = tmp_path_factory.mktemp("it's for superset")
    run = publish(small_warehouse, "--out", folder / "traces.duckdb", "--superset", folder / "dashboards.zip")
    assert f"Wrote {folder / 'dashboards.zip'}. Import it: superset import-dashboards" in run.stdout
    return folder


@pytest.fixture(scope="module")
def files(published: Path) -> dict[str, Any]:
    with zipfile.ZipFile(published / "dashboards.zip") as packed:
        return {
            name.removeprefix("tracehouse/"): yaml.safe_load(packed.read(name)) for name in packed.namelist()
        }


def of(files: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: content for name, content in files.items() if name.startswith(f"{kind}/")}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_files_have_keys_of_superset(kind: str, files: dict[str, Any]) -> None:
    needed, others = SCHEMAS[kind]
    contents = of(files, kind)
    assert contents
    for name, content in contents.items():
        assert needed <= content.keys() <= needed | others, name
        assert content["version"] == "1.0.0"
    for content in of(files, "datasets").values():
        assert all(column.keys() == COLUMN_KEYS for column in content["columns"])


def test_references_resolve(files: dict[str, Any], published: Path) -> None:
    [base] = of(files, "databases").values()
    assert base["sqlalchemy_uri"] == f"duckdb:///{published / 'traces.duckdb'}"
    datasets = {content["uuid"]: content for content in of(files, "datasets").values()}
    charts = {content["uuid"]: content for content in of(files, "charts").values()}
    assert len(datasets) == len({content["table_name"] for content in datasets.values()})
    assert {content["database_uuid"] for content in datasets.values()} == {base["uuid"]}
    assert {content["dataset_uuid"] for content in charts.values()} <= datasets.keys()
    shown = {
        block["meta"]["uuid"]
        for content in of(files, "dashboards").values()
        for block in content["position"].values()
        if isinstance(block, dict) and block["type"] == "CHART"
    }
    assert shown == charts.keys()
    for content in of(files, "dashboards").values():
        blocks = {name: block for name, block in content["position"].items() if isinstance(block, dict)}
        assert all(child in blocks for block in blocks.values() for child in block.get("children", ()))


def test_datasets_are_views_and_charted_answers_with_comments(files: dict[str, Any], published: Path) -> None:
    charts = {name.removeprefix("charts/") for name in of(files, "charts")}
    with duckdb.connect(str(published / "traces.duckdb"), read_only=True) as connection:
        contents = [
            (name, comment)
            for name, kind, comment in connection.execute(
                "select name, kind, comment from catalog.contents where same_as = ''"
            ).fetchall()
            if f"{name.replace('.', '_', 1)}.yaml" in charts
            or (kind == "view" and not re.search(r"_v\d+$", name))
        ]
        for name, comment in contents:
            dataset = files[f"datasets/tracehouse/{name.replace('.', '_', 1)}.yaml"]
            assert dataset["description"] == comment
            found = connection.execute(dataset["sql"]).description
            assert [column["column_name"] for column in dataset["columns"]] == [c[0] for c in found]
            assert all(column["description"] for column in dataset["columns"])
            charted = of(files, "charts").get(f"charts/{name.replace('.', '_', 1)}.yaml")
            if charted and charted["viz_type"] != "table":
                names = {column["column_name"] for column in dataset["columns"]}
                params = charted["params"]
                drawn = {params["x_axis"], params["metrics"][0]["column"]["column_name"], *params["groupby"]}
                assert drawn <= names
    assert len(of(files, "datasets")) == len(contents)


def test_dashboard_has_caveats(files: dict[str, Any]) -> None:
    text = files["dashboards/itp.yaml"]["position"]["MARKDOWN-caveats"]["meta"]["code"]
    assert "**itp.min_duration_600**" in text and "**synthetic data**" in text
    assert set(of(files, "dashboards")) == {f"dashboards/{name}.yaml" for name in ("dlrm", "itp", "unified")}


def test_bundle_is_reproducible(published: Path) -> None:
    content, _ = build_bundle(published / "traces.duckdb")
    assert content == (published / "dashboards.zip").read_bytes()


@pytest.mark.parametrize("line", [*(f"{kind} x=a y=b color=c" for kind in CHART_KINDS), "cloud z=a", "map a"])
def test_chart_of_any_kind_is_drawn_or_a_table(line: str) -> None:
    columns = {"a": "VARCHAR", "b": "DOUBLE", "c": "VARCHAR"}

    def measured(aggregate: str) -> int:
        rows = [("x", 1.0, "p"), ("x", 2.0, "q"), ("y", 3.0, "p"), ("y", None, "q")]
        with duckdb.connect() as connection:
            values = ", ".join(str(row).replace("None", "null") for row in rows)
            [(value,)] = connection.execute(
                f"select {aggregate} from (values {values}) as t(a, b, c)"
            ).fetchall()
        return value

    kind, params = build_chart(Answer("a.b", "A?", "It is.", line, 4, columns, measured))
    if line.split()[0] in ("bar", "stack", "line", "point", "step"):
        assert kind.startswith("echarts_timeseries_") and params["x_axis"] == "a"
        assert params["groupby"] == ["c"] and ("stack" in params) is line.startswith("stack")
    else:
        assert kind == "table" and params["all_columns"] == ["a", "b", "c"]


def test_distribution_is_a_line_over_percentages() -> None:
    """Lines have different values at the same percentages, so Superset would interrupt a step chart."""
    rows = [
        (value, pct, name)
        for name, times in (("p", 1), ("q", 3))
        for value, pct in ((times, 50), (9 * times, 90))
    ]
    with duckdb.connect() as connection:
        connection.execute("create table t (wait_s double, percentile integer, gpu_type varchar)")
        connection.executemany("insert into t values (?, ?, ?)", rows)

        def measured(aggregate: str) -> int:
            [(value,)] = connection.execute(f"select {aggregate} from t").fetchall()
            return value

        columns = {"wait_s": "DOUBLE", "percentile": "INTEGER", "gpu_type": "VARCHAR"}
        line = "step x=wait_s:log y=percentile color=gpu_type"
        kind, params = build_chart(Answer("a.b", "A", "", line, 4, columns, measured))
    assert kind == "echarts_timeseries_line" and params["x_axis"] == "percentile"
    assert params["logAxis"] and params["y_axis_title"] == params["metrics"][0]["label"] == "wait (s)"


def values_of(dataset: dict[str, Any], column: str, published: Path) -> list[str]:
    """Return the distinct values of a column of a data set, sorted as texts."""
    with duckdb.connect(str(published / "traces.duckdb"), read_only=True) as connection:
        found = connection.sql(dataset["sql"]).project(f'"{column}"').distinct().fetchall()
    return sorted(value for (value,) in found)


def test_names_on_the_axis_sort_in_the_order_of_the_answer(files: dict[str, Any], published: Path) -> None:
    params = files["charts/unified_run_by_size.yaml"]["params"]
    assert params["x_axis_title"] == "size band"
    names = values_of(files["datasets/tracehouse/unified_run_by_size.yaml"], params["x_axis"], published)
    shown = [name.lstrip("\u200b") for name in names]
    bands = ["below 1", "1", "2 to 7", "8", "9 to 63", "64 to 511", "512 and more"]
    assert len(shown) > 2 and shown == [band for band in bands if band in shown]


def test_null_has_a_name(files: dict[str, Any], published: Path) -> None:
    dataset = files["datasets/tracehouse/unified_failure_share.yaml"]
    assert "not stated" in values_of(dataset, "cluster", published)


def test_ambiguous_rows_are_shown_as_table() -> None:
    answer = Answer("a.b", "A?", "", "bar x=a y=b", 4, {"a": "VARCHAR", "b": "DOUBLE"}, lambda _: 2)
    assert build_chart(answer)[0] == "table"


@pytest.fixture(scope="module")
def superset() -> Iterator[Superset]:
    with superset_server.started() as started:
        yield started


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest, publish, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a published file and its bundle, of the publishers' files if available."""
    if not os.environ.get("TRACES_TEST_DATA"):
        return request.getfixturevalue("published")
    folder = tmp_path_factory.mktemp("real")
    warehouse = request.getfixturevalue("real_warehouse")
    publish(warehouse, "--out", folder / "traces.duckdb", "--superset", folder / "dashboards.zip")
    return folder


@pytest.fixture(scope="module")
def imported(superset: Superset, shown: Path) -> Superset:
    superset.run("import-dashboards", "--path", shown / "dashboards.zip", "--username", "admin")
    return superset


# The first test that needs Superset sets it up, which takes minutes.
@pytest.mark.timeout(1200)
@in_full
def test_superset_imports_bundle(imported: Superset, shown: Path) -> None:
    with zipfile.ZipFile(shown / "dashboards.zip") as packed:
        names = packed.namelist()
    for kind, path in (("datasets", "dataset"), ("charts", "chart"), ("dashboards", "dashboard")):
        in_bundle = [name for name in names if f"/{kind}/" in name]
        assert imported.call(f"/{path}/")["count"] == len(in_bundle) > 2
    # The second import finds the objects of the first.
    before = imported.call("/chart/")["count"]
    imported.run("import-dashboards", "--path", shown / "dashboards.zip", "--username", "admin")
    assert imported.call("/chart/")["count"] == before


@in_full
@in_browser
def test_superset_draws_every_chart(imported: Superset, shown: Path, tmp_path: Path) -> None:
    """Draws in headless Chromium. Screenshots are copied to the folder in TRACEHOUSE_PICTURES."""
    with zipfile.ZipFile(shown / "dashboards.zip") as packed:
        dashboards = {
            content["slug"]: content
            for content in (yaml.safe_load(packed.read(n)) for n in packed.namelist() if "/dashboards/" in n)
        }
    script = Path(__file__).with_name("superset_pages.py")
    done = subprocess.run(
        [superset_server.SCRIPTS / "python", script, imported.url, tmp_path, *dashboards],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for slug, found in json.loads(done.stdout).items():
        charts = sum("CHART-" in name for name in dashboards[slug]["position"])
        assert found["errors"] == []
        assert found["charts"] == charts and found["drawn"] >= charts, slug
        assert len(found["statuses"]) >= charts and set(found["statuses"]) == {200}, slug
        assert "Read before you cite" in found["text"]
        assert "No data" not in found["text"] and "No results" not in found["text"], slug
        # TRACEHOUSE_PICTURES=all makes other tests draw all charts; it is not a folder.
        if (folder := os.environ.get("TRACEHOUSE_PICTURES", "")) and Path(folder).is_dir():
            shutil.copy(tmp_path / f"{slug}.png", folder)
            shutil.copy(tmp_path / f"{slug}-whole.png", folder)


@in_full
def test_named_query_takes_value_of_dashboard(imported: Superset, shown: Path) -> None:
    """The SQL of docs/superset.md works."""
    page = (REPOSITORY / "docs" / "superset.md").read_text()
    [sql] = re.findall(r"```sql\n(.*?)```", page, re.S)
    [base] = imported.call("/database/")["result"]
    made = {"database": base["id"], "schema": "itp", "table_name": "itp_gpu_hours_from", "sql": sql}
    dataset = {"id": imported.call("/dataset/", made)["id"], "type": "table"}
    with duckdb.connect(str(shown / "traces.duckdb"), read_only=True) as connection:
        for chosen, min_gpus in (([], 1), ([{"col": "min_gpus", "op": "IN", "val": [8]}], 8)):
            query = {"columns": ["cluster", "jobs"], "filters": chosen, "row_limit": 100}
            asked = {"datasource": dataset, "queries": [query], "result_format": "json"}
            [answer] = imported.call("/chart/data", asked)["result"]
            expected = connection.execute(
                f"select cluster, jobs from itp.gpu_hours(min_gpus := {min_gpus}) order by all"
            ).fetchall()
            assert sorted((row["cluster"], row["jobs"]) for row in answer["data"]) == expected
