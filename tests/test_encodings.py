"""Text is read and written as UTF-8, and not in the encoding of the user's locale.

Ruff's rule PLW1514 requires an encoding only where it knows that an object is a path.
"""

import ast
import os
import shutil
import subprocess
from pathlib import Path

import command_line
import suites
from terminal import end, plain, screen, terminal

REPOSITORY = Path(__file__).parents[1]
# The arguments before the encoding, or before the mode of `open`.
ARGUMENTS = {"read_text": 0, "write_text": 1, "open": 0}
# A locale whose encoding is ASCII. Python would use UTF-8 in it by default.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
# Objects with another method `open`.
OTHERS = {"_archive", "_opener", "archive", "opener", "os", "tarfile", "tracehouse", "visitor", "webbrowser"}


def find_calls(source: str) -> list[int]:
    """Return the lines that read or write text in the encoding of the locale."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if uses_locale(call)]


def uses_locale(call: ast.Call) -> bool:
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if "encoding" in given:
        return False
    if given.get("text") == "True" or given.get("universal_newlines") == "True":
        return True
    name = getattr(call.func, "attr", "")
    if name not in ARGUMENTS or name_of(getattr(call.func, "value", None)) in OTHERS:
        return False
    if name != "open":
        return len(call.args) <= ARGUMENTS[name]
    mode = ast.unparse(call.args[0]) if call.args else given.get("mode", "'r'")
    return "b" not in mode


def name_of(node: ast.AST | None) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def test_every_text_has_an_encoding() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=REPOSITORY, capture_output=True, check=True)
    paths = [REPOSITORY / name for name in listed.stdout.decode().split()]
    assert len(paths) > 400
    places = [
        f"{path.relative_to(REPOSITORY)}, line {line}"
        for path in paths
        for line in find_calls(path.read_text(encoding="utf-8"))
    ]
    assert places == []


@suites.of("long")
def test_commands_in_another_locale(sample_warehouse: Path, tmp_path: Path) -> None:
    environment = os.environ | ASCII | {"TRACES_WAREHOUSE": str(sample_warehouse)}
    for line in (
        "query itp.gpu_hours --plot",
        "query itp.gpu_hours --explain",
        "verify itp --all",
        "lint itp",
    ):
        run = command_line.by_itself(*line.split(), env=environment)
        assert run.faults(codes=[0]) == [], line
    # The cache is another one, so that the template is made from the package's own files.
    copy = shutil.copytree(sample_warehouse, tmp_path / "copy")
    run = command_line.by_itself(
        "build", "-w", copy, env=environment | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    )
    assert run.faults(codes=[0]) == []
    reference = command_line.by_itself("list", "views", "--format", "csv", "-w", sample_warehouse)
    assert command_line.by_itself("list", "views", "--format", "csv", "-w", copy).stdout == reference.stdout


def test_terminal_shows_other_characters_as_question_marks(sample_warehouse: Path) -> None:
    for line in ("query itp.gpu_hours --plot", "query itp.gpu_hours --explain"):
        with terminal(*line.split(), warehouse=sample_warehouse, PAGER="cat", **ASCII) as opened:
            assert end(opened) == 0, line
        assert "?" in plain(opened) and screen(opened).isascii(), line
