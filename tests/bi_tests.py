"""Which tests of BI tools are run: with TRACEHOUSE_BI=all those that need a PostgreSQL or Superset too."""

import os

import pytest

ALL = os.environ.get("TRACEHOUSE_BI") == "all"
in_full = pytest.mark.skipif(
    not ALL, reason="it needs other programs, and takes long: `make bi-test` does it"
)
