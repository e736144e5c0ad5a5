"""Which tests of Spark are run: with TRACEHOUSE_SPARK=all those of a cluster too, which take long."""

import os

import pytest

ALL = os.environ.get("TRACEHOUSE_SPARK") == "all"
in_full = pytest.mark.skipif(not ALL, reason="it takes long: `make spark-test` does it")
