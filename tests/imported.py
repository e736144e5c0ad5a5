"""Which modules a run of `traces` has imported when it ends, and which ones it may."""

import os
import subprocess
import sys
from pathlib import Path

from terminal import end, terminal

# What Typer and DuckDB are made of, each with what it cannot do without.
TYPER = {"typer", "annotated_doc", "shellingham"}
DUCKDB = {"duckdb", "_duckdb"}

# What stands before the first command, and so all that `traces --help` and the shell's completion may import.
BEGINNING = {
    "__main__",
    *("cli", "commands"),
    *(
        f"commands.{name}"
        for name in ("arguments", "completion", "console", "defaults", "export", "maintain")
    ),
    *(f"commands.{name}" for name in ("options", "publish", "query")),
    *("core", "core.errors", "core.names", "core.process", "core.signals", "core.terminal"),
    *("engines", "engines.names"),
    *("ingest", "ingest.traces"),
    *("publish", "publish.formats"),
    *("sql", "sql.lists", "sql.names"),
}
# What opens a database and puts an answer where it belongs.
READING = BEGINNING | {
    *("engines.duckdb", "engines.duckdb.attach", "engines.duckdb.names", "engines.duckdb.read"),
    *(f"engines.duckdb.read.{name}" for name in ("answer", "landlock", "sandbox", "schema_mismatch")),
    *(f"engines.duckdb.read.{name}" for name in ("guard", "search")),
    *("ingest.store", "ingest.store.layout", "publish.output"),
}
ANSWERING = READING | {"publish.answers", "publish.columns", "publish.export"}

# The command line ends by `os._exit`, wherever it is.
_CODE = """
import os, sys
leave = os._exit
def told(code):
    with open(os.environ["TOLD"], "w") as file:
        print(*sys.modules, file=file)
    leave(code)
os._exit = told
sys.argv[0] = "traces"
from tracehouse.__main__ import main
main()
"""


def modules_of(
    *arguments: object, folder: Path, on_terminal: bool = False, **environment: object
) -> tuple[set[str], set[str]]:
    """The packages that a run imports, but for Python's own; and our modules, by their names among ours."""
    told = folder / "modules"
    command = [sys.executable, "-c", _CODE, *map(str, arguments)]
    variables = {name: str(value) for name, value in environment.items()} | {"TOLD": str(told)}
    if on_terminal:
        with terminal(*command, **variables) as opened:
            assert end(opened) == 0
    else:
        subprocess.run(command, env=os.environ | variables, capture_output=True, check=True)
    names = told.read_text().split()
    packages = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    # What finds packages that are installed from their sources.
    packages = {name for name in packages if name != "_distutils_hack" and not name.startswith("__")}
    return packages - {"tracehouse"}, {name.partition(".")[2] for name in names if "tracehouse." in name}
