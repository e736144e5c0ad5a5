"""List the modules that a run of `traces` imports, and those that it may import."""

import os
import subprocess
import sys
from pathlib import Path

from terminal import end, terminal

DUCKDB = {"duckdb", "_duckdb"}
TYPER = {"typer", "annotated_doc", "shellingham"}

# The modules that `traces --help` and shell completion may import.
START = {
    "__main__",
    *("cli", "commands"),
    *(f"commands.{name}" for name in ("completion", "console", "data", "export")),
    *(f"commands.{name}" for name in ("maintain", "options", "publish", "query", "validate")),
    *("core", "core.arguments", "core.errors", "core.signals", "core.text"),
    *("engines", "engines.names"),
    *("ingest", "ingest.traces"),
    *("publish", "publish.formats"),
    *("sql", "sql.lists", "sql.names"),
}
# The modules that open a database and write output.
READING = START | {
    *("engines.duckdb", "engines.duckdb.read"),
    *(f"engines.duckdb.read.{name}" for name in ("landlock", "sandbox", "schema_mismatch")),
    *(f"engines.duckdb.read.{name}" for name in ("catalog", "notes", "search", "selected_traces")),
    *("ingest.store", "ingest.store.layout", "publish.output"),
    *("views", "views.graph"),
}
ANSWERING = READING | {
    *(f"engines.duckdb.read.{name}" for name in ("answer", "binding", "guard")),
    *("publish.answers", "publish.columns", "publish.export"),
}

# The command line always ends with `os._exit`.
_CODE = """
import os, sys
exit = os._exit
def write_modules(code):
    with open(os.environ["MODULES_FILE"], "w") as file:
        print(*sys.modules, file=file)
    exit(code)
os._exit = write_modules
sys.argv[0] = "traces"
from tracehouse.__main__ import main
main()
"""


def modules_of(
    *arguments: object, folder: Path, on_terminal: bool = False, **environment: object
) -> tuple[set[str], set[str]]:
    """Return the third-party packages that a run imports, and the modules of Tracehouse."""
    listed = folder / "modules"
    command = [sys.executable, "-c", _CODE, *map(str, arguments)]
    variables = {name: str(value) for name, value in environment.items()} | {"MODULES_FILE": str(listed)}
    if on_terminal:
        with terminal(*command, **variables) as opened:
            assert end(opened) == 0
    else:
        subprocess.run(command, env=os.environ | variables, capture_output=True, check=True)
    names = listed.read_text().split()
    packages = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    # These find packages of editable installs.
    packages = {name for name in packages if name != "_distutils_hack" and not name.startswith("__")}
    return packages - {"tracehouse"}, {name.partition(".")[2] for name in names if "tracehouse." in name}
