"""Databases with few definitions, for tests of the build that need no contents."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tracehouse.engines.duckdb.write import build, catalog, views
from tracehouse.views.view_files import view_files


@contextmanager
def few_definitions(*schemas: str) -> Iterator[None]:
    """Let databases that this process builds have the views of some schemas, no queries, figures or checks.

    It takes a fifth of the time.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(views, "view_files", lambda: [v for v in view_files() if v.schema in schemas])
        patched.setattr(build, "query_files", lambda: [])
        for filled in ("fill_figures", "fill_metrics", "create_checks"):
            patched.setattr(catalog, filled, lambda *_: None)
        yield
