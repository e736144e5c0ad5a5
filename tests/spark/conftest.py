"""A Spark session for the tests: on this process, or with TRACEHOUSE_SPARK=all on a cluster on loopback."""

import os
import shutil
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
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
    if ALL:
        # With TRACEHOUSE_SPARK=all, a missing requirement is an error with advice instead of a skip.
        session.check_requirements()
    if find_spec("pyspark") is None:
        pytest.skip("Spark's Python package is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java, which Spark needs, is not installed")


@pytest.fixture(scope="session")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def spark(
    java: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SparkSession"]:
    """The only Spark session of this process. With TRACEHOUSE_SPARK=all, it uses the cluster."""
    master = request.getfixturevalue("cluster").url if ALL else "local[2]"
    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "2g"}
    if not ALL:
        # Optimized machine code does not pay off for a few short queries.
        settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with session.open_session(master, tmp_path_factory.mktemp("spark"), settings) as opened:
        yield opened
