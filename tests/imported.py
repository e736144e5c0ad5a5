"""List the libraries and the slow modules that a run of `traces` imports."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from terminal import end, terminal

DUCKDB = {"duckdb", "_duckdb"}
TYPER = {"typer", "annotated_doc", "shellingham"}

# Parts of Tracehouse that are slow to import. Help, completion and queries need none of them.
_SLOW = (
    *("definitions.query_files", "definitions.view_files", "engines.duckdb.write", "engines.spark"),
    *(
        "ingest.convert",
        "ingest.declare.trace",
        "ingest.dump.readers",
        "publish.plot",
        "publish.site",
        "samples",
    ),
)

# The command line always ends with `os._exit`, and so does the child that queries: it may open no file.
_CODE = """
import os, sys
# Such as sitecustomize of Debian, and what finds packages of editable installs.
at_start = {*sys.modules}
exit = os._exit
file = open(os.environ["MODULES_FILE"], "a")
def write_modules(code):
    print(*(sys.modules.keys() - at_start), file=file, flush=True)
    exit(code)
os._exit = write_modules
sys.argv[0] = "traces"
from tracehouse.__main__ import main
main()
"""


def modules_of(
    *arguments: object, folder: Path, on_terminal: bool = False, **environment: object
) -> tuple[set[str], set[str]]:
    """Return the third-party packages that a run and its child import, and the slow modules of Tracehouse."""
    listed = folder / "modules"
    listed.unlink(missing_ok=True)
    command = [sys.executable, "-c", _CODE, *map(str, arguments)]
    variables = {name: str(value) for name, value in environment.items()} | {"MODULES_FILE": str(listed)}
    if on_terminal:
        with terminal(*command, folder=folder, **variables) as opened:
            assert end(opened) == 0
    else:
        subprocess.run(command, env=os.environ | variables, capture_output=True, check=True, cwd=folder)
    assert all(find_spec(f"tracehouse.{slow}") for slow in _SLOW)
    names = listed.read_text(encoding="utf-8").split()
    packages = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    ours = {name.removeprefix("tracehouse.") for name in names}
    return packages - {"tracehouse"}, {
        name for name in ours if f"{name}.".startswith(tuple(f"{slow}." for slow in _SLOW))
    }
