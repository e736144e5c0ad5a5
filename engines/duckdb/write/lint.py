"""Check the user's own views and queries as a build does, without a warehouse."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tracehouse.core.errors import DefinitionError
from tracehouse.core.temporary import temporary_folder
from tracehouse.definitions.findings import Finding
from tracehouse.definitions.lint.definitions import lint_result
from tracehouse.definitions.user_files import list_files
from tracehouse.engines.duckdb.write import template, user_definitions
from tracehouse.engines.duckdb.write.queries import CreatedQuery
from tracehouse.engines.names import DATABASE

_PLACE = re.compile(r"(?P<place>.*?\.sql(?:, line \d+)?): (?P<message>.*)", re.I | re.S)


def lint_own(folder: Path) -> Iterator[Finding]:
    """Create the views and queries of a folder in a database without data. Yields what is wrong with them."""
    if not list_files(folder):
        return
    try:
        empty = template.template()
    except DefinitionError as error:
        yield Finding(error.place, error.message, "valid")
        return
    with TemporaryDirectory(dir=temporary_folder()) as scratch:
        path = Path(scratch) / DATABASE
        shutil.copyfile(empty, path)
        with template.open_for_writing(path) as connection:
            problems, created = user_definitions.create(connection, folder)
    for problem in problems:
        found = _PLACE.fullmatch(problem.error)
        place, message = found.groups() if found else (str(folder), problem.error)
        yield Finding(place, message, "valid")
    for one in created:
        if isinstance(one, CreatedQuery):
            yield from lint_result(one.file, one.types)
