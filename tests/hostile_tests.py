"""Skip long tests that damage files or kill processes, unless TRACEHOUSE_HOSTILE requests them."""

import os

import pytest

TRY_ALL = os.environ.get("TRACEHOUSE_HOSTILE") == "all"
in_full = pytest.mark.skipif(not TRY_ALL, reason="slow: run `make hostile`")
