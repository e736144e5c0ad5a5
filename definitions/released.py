"""The names that follow from a view's path, and the lock that lists the released views; without a parser.

The newest released version of a view, and a draft, is `views/<schema>/<name>.v<N>.sql`. The file of a version
that a newer released one supersedes is in the folder `views/<schema>/old`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tracehouse.core.errors import DefinitionError

_PACKAGE = Path(__file__).parents[1]
VIEWS, QUERIES = _PACKAGE / "views", _PACKAGE / "sql"
LOCK = VIEWS / "versions.lock"
OLD = "old"
# The schema of views and queries with rows of several traces.
SEVERAL_TRACES = "unified"
HASH_DIGITS = 16


def view_paths(folder: Path = VIEWS) -> list[Path]:
    """Return the files of all views, sorted."""
    return sorted([*folder.glob("*/*.v*.sql"), *folder.glob(f"*/{OLD}/*.v*.sql")])


def schema_of(path: Path) -> str:
    """Return the schema of the view or query in a file."""
    return path.parent.parent.name if path.parent.name == OLD else path.parent.name


def plain_name(path: Path) -> str:
    """Return the plain name of the view or query in a file: `itp.job` for `itp/job.v1.sql`."""
    return f"{schema_of(path)}.{path.name.split('.')[0]}"


def versioned_name(path: Path) -> str:
    """Return the name that a file creates: `itp.job_v1` for `itp/job.v1.sql`."""
    return f"{schema_of(path)}.{path.name.removesuffix('.sql').replace('.', '_')}"


@cache
def released() -> Mapping[str, str]:
    """Return the hash of each released view of the package, by versioned name."""
    return read_lock(LOCK)


def read_lock(path: Path) -> dict[str, str]:
    """Read a lock. Raises DefinitionError on a line that is not a name and a hash."""
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("#"):
            name, _, digits = line.partition(" ")
            if len(digits) != HASH_DIGITS or not digits.isalnum():
                raise DefinitionError(
                    f"{path}, line {number}", f"`{line}` is not a view and a hash; restore the file"
                )
            found[name] = digits
    return found
