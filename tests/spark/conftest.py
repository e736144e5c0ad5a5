"""A Spark session for the tests: in this machine, or with `make spark-cluster-test` on a cluster."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
import suites
from spark_cluster import Cluster, running_cluster

from tracehouse.engines.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    # Plans of hundreds of views fill 2 GB, and then Java mostly collects garbage.
    "spark.driver.memory": "6g",
    "spark.sql.ui.retainedExecutions": "1",
}
# Compiling each plan takes most of the time of a query over a few rows. The cluster's session does compile.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if {"java", "cluster"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(suites.of("spark"))


@pytest.fixture(scope="session")
def java() -> None:
    """Require Java. A test that needs it starts Spark, so it belongs to the suite of Spark."""
    session.check_requirements()


@pytest.fixture(scope="session")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def spark(
    java: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SparkSession"]:
    """The only Spark session of this process: on the cluster if the run requests it, else in this machine."""
    is_cluster = "cluster" in suites.REQUESTED
    master = request.getfixturevalue("cluster").url if is_cluster else "local[2]"
    settings = SETTINGS if is_cluster else SETTINGS | INTERPRETED
    with session.open_session(master, tmp_path_factory.mktemp("spark"), settings) as opened:
        yield opened
