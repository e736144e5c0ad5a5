"""The notebook runs, and every cell shows output."""

import ast
import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
import suites

TOUR = Path(__file__).parents[2] / "docs" / "tour.ipynb"


def test_notebook_runs(sample_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel in `make docs-test`, otherwise in this process."""
    (tmp_path / "warehouse").symlink_to(sample_warehouse)
    notebook = nbformat.read(TOUR, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if "docs" in suites.REQUESTED:
        nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
        shown = ["".join(str(dict(output)) for output in cell.outputs) for cell in code]
    else:
        monkeypatch.chdir(tmp_path)
        names: dict[str, Any] = {}
        shown = [run_cell(cell.source, names) for cell in code]
    assert all(shown)
    [hours] = [text for cell, text in zip(code, shown, strict=True) if cell.source.startswith("hours = ")]
    assert "<svg" in hours
    assert "synthetic data" in hours


def run_cell(source: str, names: dict[str, Any]) -> str:
    """Run a cell, and return what it prints and the HTML of its last expression."""
    *before, last = ast.parse(source).body
    value = None
    with redirect_stdout(io.StringIO()) as printed:
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(before, []), str(TOUR), "exec"), names)
            value = eval(compile(ast.Expression(last.value), str(TOUR), "eval"), names)
        else:
            exec(compile(ast.Module([*before, last], []), str(TOUR), "exec"), names)
    return printed.getvalue() + ("" if value is None else value._repr_html_())
