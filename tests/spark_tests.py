"""Skip the slow tests that need a Spark cluster, unless TRACEHOUSE_SPARK=all requests them."""

import os

import pytest

ALL = os.environ.get("TRACEHOUSE_SPARK") == "all"
in_full = pytest.mark.skipif(not ALL, reason="slow: run `make spark-test`")
