"""The word list finds phrases in text, comments and names, but not inside longer words."""

import pytest

from tracehouse.docs import wording


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("It is built anew.", [(1, "anew")]),
        ("one\nANEW", [(2, "ANEW")]),
        ("# files that none\n# of ours reads", [(2, "of ours")]),
        ("-- computed whole\n-- or not at all", [(1, "whole -- or not at all")]),
        ("def said_of_leaving(): ...", [(1, "said")]),
        ("It tells two files apart.", [(1, "tells two files apart")]),
        ("besides, aside from tracehouse, it stands for untold warehouses", []),
    ],
)
def test_finds_phrases_with_their_lines(text: str, phrases: list[tuple[int, str]]) -> None:
    assert [(line, phrase) for line, phrase, _ in wording.findings(text)] == phrases


def test_reports_file_line_phrase_and_replacement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wording, "EXCLUDED", ())
    assert wording.main(["tests/docs/test_wording.py"]) == 1
    assert 'tests/docs/test_wording.py:11: "anew": write again' in capsys.readouterr().out


def test_accepts_phrases_that_a_file_requires() -> None:
    assert [phrase for phrases in wording.REQUIRED.values() for phrase in phrases]
    assert wording.main(list(wording.REQUIRED)) == 0
    for name, phrases in wording.REQUIRED.items():
        text = (wording.REPOSITORY / name).read_text()
        assert phrases == {phrase for _, phrase, _ in wording.findings(text)}
