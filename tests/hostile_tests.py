"""What breaks things on purpose and takes long is left out, unless all of it is asked for."""

import os

import pytest

TRY_ALL = os.environ.get("TRACEHOUSE_HOSTILE") == "all"
in_full = pytest.mark.skipif(not TRY_ALL, reason="it takes long: `make hostile` does it")
