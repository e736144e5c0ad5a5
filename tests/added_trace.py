"""Add a trace to the package for the duration of a test."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracehouse.ingest import traces
from tracehouse.ingest.declare.trace import all_traces

SHORTEST = """
from tracehouse.ingest.declare.trace import Column, Table, Trace

JOB = Table(
    "job",
    "Jobs.",
    grain="one row per id",
    source="README",
    file_name=r"jobs\\.csv",
    columns=(Column("id", "VARCHAR", "Job", required=True), Column("steps", "BIGINT", "Steps", least=0)),
    key=("id",),
    order_by=("id",),
)
TRACE = Trace("shortest", "Jobs", "Nobody", "https://example.org", "By hand.", "CC0", "None.", (JOB,))
"""
"""The shortest declaration that lint accepts, with a required column."""


@contextmanager
def added_trace(folder: Path, name: str, text: str) -> Iterator[None]:
    """Add the trace that a module of this name and text declares. The module is written to a folder."""
    modules = folder / "modules"
    modules.mkdir()
    (modules / f"{name}.py").write_text(text, encoding="utf-8")
    traces.__path__.append(str(modules))
    importlib.invalidate_caches()
    all_traces.cache_clear()
    try:
        yield
    finally:
        traces.__path__.remove(str(modules))
        sys.modules.pop(f"{traces.__name__}.{name}", None)
        all_traces.cache_clear()
