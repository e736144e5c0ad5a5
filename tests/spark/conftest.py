"""A Spark session for the tests of `make spark-test`, on a cluster on loopback."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
from spark_cluster import Cluster, running_cluster
from spark_tests import ALL, in_full

from tracehouse.engines.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(in_full)


@pytest.fixture(scope="session")
def java() -> None:
    """Skip tests that start Spark in `make test`. In `make spark-test`, a missing requirement is an error."""
    if not ALL:
        pytest.skip("starts Spark: run `make spark-test`")
    session.check_requirements()


@pytest.fixture(scope="session")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def spark(
    java: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SparkSession"]:
    """The only Spark session of this process."""
    master = request.getfixturevalue("cluster").url
    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "2g"}
    with session.open_session(master, tmp_path_factory.mktemp("spark"), settings) as opened:
        yield opened
