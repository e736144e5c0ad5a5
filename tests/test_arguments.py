"""What is taken as it is, is what Typer makes of it, and so is every complaint."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Optional

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from tracehouse.commands.arguments import PlainArguments


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


def answer_of(group: type[TyperGroup], *typed: str) -> tuple[int, str]:
    """How a command with one option of each kind ends that is called so, and what it says."""
    app = typer.Typer(cls=group, rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.callback()
    def before(verbose: bool = False) -> None:
        pass

    @app.command()
    def called(
        name: str = "x",
        names: Annotated[Optional[list[str]], typer.Option()] = None,  # noqa: UP045
        path: Annotated[Path, typer.Option(envvar="SOME_PATH")] = Path("here"),
        paths: Annotated[list[Path], typer.Option()] = [Path("a")],  # noqa: B006
        size: Size = Size.SMALL,
        maybe: Annotated[Optional[Size], typer.Option()] = None,  # noqa: UP045
        count: Annotated[Optional[int], typer.Option(min=0, max=9)] = None,  # noqa: UP045
        share: Annotated[float, typer.Option(min=0)] = 1,
        file: Annotated[Optional[Path], typer.Option(exists=True, dir_okay=False)] = None,  # noqa: UP045
        flag: bool = False,
    ) -> None:
        values: list[Any] = [name, names, path, paths, size, maybe, count, share, file, flag]
        print(*((type(value).__name__, value) for value in values))

    ended = CliRunner().invoke(app, ["called", *typed])
    return ended.exit_code, ended.output


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["--name", ""],
        ["--names", "a", "--names", "b=c"],
        ["--path", "/"],
        ["--path", "not/there", "--paths", "b", "--paths", "/"],
        ["--size", "large", "--maybe", "small"],
        ["--size", "LARGE"],
        ["--maybe", ""],
        *(["--count", count] for count in ("0", "9", "05", "10", "-1", "1.0", "1_0", " 1", "٣", "x", "")),
        ["--count", "1" + "0" * 5000],
        *(["--share", share] for share in ("0", "0.5", "-1", "nan", "1e3", "x")),
        ["--file", "not/there"],
        ["--file", "/"],
        ["--file", __file__],
        ["--flag"],
        ["--flag", "more"],
        ["--help"],
    ],
)
def test_as_typer_has_it(typed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answer_of(TyperGroup, *typed)
    assert answer_of(PlainArguments, *typed) == expected
    monkeypatch.setenv("SOME_PATH", "/tmp")
    assert answer_of(PlainArguments, *typed) == answer_of(TyperGroup, *typed)
