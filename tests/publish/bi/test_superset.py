"""Superset reads the published file over the connection of docs/clients.md."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import suites
import superset_server
from superset_server import Superset

PAGE = (Path(__file__).parents[3] / "docs" / "clients.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def superset() -> Iterator[Superset]:
    with superset_server.started() as started:
        yield started


# The first test that needs Superset sets it up, which takes minutes.
@pytest.mark.timeout(1200)
@suites.of("tools")
def test_superset_reads_the_file(superset: Superset, small_published: Path) -> None:
    """The connection and the SQL of the page work; the value of a dashboard filter reaches the query."""
    [uri] = re.findall(r"`(duckdb:////\S+)`", PAGE)
    [parameters] = re.findall(r"`(\{.*read_only.*\})`", PAGE)
    [sql] = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
    created = {
        "database_name": "traces",
        "sqlalchemy_uri": uri.replace("/srv/traces.duckdb", str(small_published)),
        "extra": f'{{"engine_params": {parameters}}}',
    }
    database = superset.call("/database/", created)["id"]
    answered = superset.call(f"/database/{database}/tables/?q=(schema_name:itp)")
    assert {"job", "gpu_hours"} <= {found["value"] for found in answered["result"]}
    dataset = {"database": database, "schema": "itp", "table_name": "itp_gpu_hours_from", "sql": sql}
    source = {"id": superset.call("/dataset/", dataset)["id"], "type": "table"}
    with duckdb.connect(str(small_published), read_only=True) as connection:
        for chosen, min_gpus in (([], 1), ([{"col": "min_gpus", "op": "IN", "val": [8]}], 8)):
            query = {"columns": ["cluster", "jobs"], "filters": chosen, "row_limit": 100}
            asked = {"datasource": source, "queries": [query], "result_format": "json"}
            [answer] = superset.call("/chart/data", asked)["result"]
            expected = connection.execute(
                f"select cluster, jobs from itp.gpu_hours(min_gpus := {min_gpus}) order by all"
            ).fetchall()
            assert sorted((row["cluster"], row["jobs"]) for row in answer["data"]) == expected
