"""The example in CONTRIBUTING.md works; files and commands in the documents for contributors exist."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import raw_frames
import suites
from non_empty import non_empty

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    "CONTRIBUTING.md",
    "README.md",
    "docs/architecture.md",
    "docs/development.md",
    "docs/fetch.md",
    "docs/reliability.md",
    "docs/versions.md",
]
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
DEVELOPMENT = (REPOSITORY / "docs" / "development.md").read_text(encoding="utf-8")
MOST_WORDS = 1_500
# The files of the example: a path in backticks and a colon, and the block below it.
FILES = dict(re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```$", CONTRIBUTING, re.S | re.M))
EXCERPTS = re.findall(r"From `(\S+)`:\n\n```\w+\n(.*?)```", DEVELOPMENT, re.S)
# What the example or its commands change in the tree; the rest of the tree are links.
CHANGED = ("ingest", "views", "sql", "tests", "README.md", "docs")


def test_the_page_is_short() -> None:
    assert len(CONTRIBUTING.split()) <= MOST_WORDS


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with the files of the example, whose package is called tracehouse, too."""
    folder = tmp_path_factory.mktemp("contributed") / "tracehouse"
    folder.mkdir()
    for path in REPOSITORY.iterdir():
        if path.name in CHANGED and path.is_dir():
            shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.name in CHANGED:
            shutil.copy(path, folder)
        elif path.name not in ("build", ".git"):
            (folder / path.name).symlink_to(path)
    for name, text in non_empty(FILES.items()):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run(tree: Path, command: str) -> str:
    """Run a command of the page in the tree, and return what it prints."""
    name, *arguments = shlex.split(command)
    programs = {
        "make": ["make", "-o", ".venv/ready"],
        "python": [sys.executable],
        "traces": [sys.executable, "-m", "tracehouse"],
    }
    program = programs[name]
    environment = {"PYTHONPATH": str(tree.parent), "XDG_CACHE_HOME": str(tree.parent / "cache")}
    done = subprocess.run(
        [*program, *arguments], cwd=tree, env=os.environ | environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@suites.of("docs")
def test_the_example_works(tree: Path) -> None:
    """The commands run in the order of the page. The reference result agrees with the view."""
    [release] = re.findall(
        r"^ {4}\.venv/bin/(python -m tracehouse\.definitions\.versions .*)$", CONTRIBUTING, re.M
    )
    # The tree has all files of the page from the start, and the query reads a view that must be released.
    run(tree, release)
    printed = {
        command: run(tree, command)
        for command in non_empty(re.findall(r"^ {4}\.venv/bin/(traces .*)$", CONTRIBUTING, re.M))
    }

    def output(start: str) -> str:
        return next(text for command, text in printed.items() if command.startswith(start))

    assert output("traces lint") == "No mistakes found\n"
    assert "reproduced" in output("traces verify")
    assert "failed" not in output("traces check") and "lab.raw_request.key,ok" in output("traces check")
    assert output("traces query").splitlines()[1] == "0.0,large,1,200"
    [module] = [name for name in FILES if name.startswith("tests/reference_results/")]
    spec = importlib.util.spec_from_file_location("of_the_page", tree / module)
    assert spec and spec.loader
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    with duckdb.connect(str(tree / "build/lab/traces.duckdb"), read_only=True) as connection:
        for view, (compute, keys) in non_empty(reference.VIEWS.items()):
            answer = connection.sql(f"from {view}").to_arrow_table()
            raw_frames.assert_same_rows(answer, compute(tree / "tests/fixture"), keys)


@suites.of("docs")
def test_the_tests_accept_the_example(tree: Path) -> None:
    """Run `make tables`, `make goldens` and `make test` of the page; without the publisher's files."""
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    for command in non_empty(re.findall(r"^ {4}(make (?:tables|goldens|test TRACE).*)$", CONTRIBUTING, re.M)):
        if "TRACES_TEST_DATA" not in command:
            run(tree, command)


@pytest.mark.each_trace
def test_lists_every_ledger_with_its_columns() -> None:
    for path in non_empty(sorted((REPOSITORY / "views").glob("*/*.csv"))):
        header = path.read_text(encoding="utf-8").splitlines()[0]
        [listed] = re.findall(rf"^\| `{path.name}` \| `(.*?)` \|$", DEVELOPMENT, re.M)
        optional = {"explained_value", "explained_tolerance", "needs_file"}
        assert set(listed.split(",")) - set(header.split(",")) <= optional, path
        assert [name for name in listed.split(",") if name in header.split(",")] == header.split(","), path


@pytest.mark.parametrize(("path", "example"), EXCERPTS)
def test_examples_are_excerpts(path: str, example: str) -> None:
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    for excerpt in non_empty(re.split(r"^ *\.\.\.\n", example, flags=re.M)):
        assert excerpt in text
        text = text[text.index(excerpt) :]


def test_links_files_and_make_targets_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    missing = [name for name in re.findall(r"\btests/[\w/.]+", makefile) if not (REPOSITORY / name).exists()]
    for page in PAGES:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        missing += [link for link in links if not ((REPOSITORY / page).parent / link).exists()]
        named = re.findall(r"`((?:ingest|samples|views|sql|engines|publish|tests|docs)/[\w./]+)`", text)
        # Paths in a warehouse match the same pattern. The example is not in the repository.
        others = ("/parquet/", "/lab")
        missing += [
            name
            for name in named
            if not (REPOSITORY / name).exists() and not any(other in name for other in others)
        ]
        missing += set(re.findall(r"(?:`|^    |&& )make ([\w-]+)", text, re.M)) - targets
    assert missing == []


def test_changelog_and_citation_have_the_current_version() -> None:
    version = re.search(
        r'^version = "(.*)"', (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"), re.M
    )
    assert version
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    released = changes.replace("# Changes\n\n## Unreleased\n", "# Changes\n")
    assert re.findall(r"^## (.*)$", released, re.M)[0] == version[1]
    assert f"version: {version[1]}\n" in (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
