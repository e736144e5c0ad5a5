"""The notebook runs, and every cell shows output."""

from pathlib import Path

import nbclient
import nbformat
import suites

TOUR = Path(__file__).parents[2] / "docs" / "tour.ipynb"


@suites.of("docs")
def test_notebook_runs(sample_warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "warehouse").symlink_to(sample_warehouse)
    notebook = nbformat.read(TOUR, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = ["".join(str(dict(output)) for output in cell.outputs) for cell in code]
    assert all(shown)
    [hours] = [text for cell, text in zip(code, shown, strict=True) if cell.source.startswith("hours = ")]
    assert "<svg" in hours
    assert "synthetic data" in hours
