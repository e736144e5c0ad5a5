"""Skip the tests that need PostgreSQL or Superset, unless TRACEHOUSE_BI=all requests them."""

import os

import pytest

ALL = os.environ.get("TRACEHOUSE_BI") == "all"
in_full = pytest.mark.skipif(not ALL, reason="slow, and needs PostgreSQL and Superset: run `make bi-test`")
