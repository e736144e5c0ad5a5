"""Tests of errors: their place, and what to install."""

import pickle
from pathlib import Path

import pytest

from tracehouse.core.errors import DefinitionError, UserError, check_installed


def test_the_place_of_an_invalid_definition_may_contain_a_colon() -> None:
    error = pickle.loads(pickle.dumps(DefinitionError("my: views/job.v1.sql, line 3", "reads: nothing")))
    assert str(error) == "my: views/job.v1.sql, line 3: reads: nothing"
    assert (error.path, error.message) == (Path("my: views/job.v1.sql"), "reads: nothing")


def test_names_the_missing_module_of_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "charts_of_a_test.py").write_text("import dependency_of_a_test\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    advice = r"It comes with the extra plot: pip install '\.\[plot\]' in the clone of Tracehouse"
    with pytest.raises(
        UserError, match=f"charts need dependency_of_a_test, which is not installed. {advice}"
    ):
        check_installed("charts need", "plot", "charts_of_a_test")
    with pytest.raises(UserError, match=f"charts need missing_in_a_test, which is not installed. {advice}"):
        check_installed("charts need", "plot", "missing_in_a_test")
