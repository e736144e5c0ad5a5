"""Skip the slow tests of the documentation, unless TRACEHOUSE_DOCS=all requests them."""

import os

import pytest

ALL = os.environ.get("TRACEHOUSE_DOCS") == "all"
in_full = pytest.mark.skipif(not ALL, reason="slow: run `make docs-test`")
