"""Reads the catalog's ledgers: `views/<trace>/caveats.csv`, `clocks.csv` and `checks.sql`."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracehouse.views.files import VIEWS, DefinitionError, Header, read_header

_CHECK_START = re.compile(r"^(?=-- check: )", re.M)


@dataclass(frozen=True)
class Check:
    """One data-quality rule: `sql` gives the number of rows that break it.

    `caveat` names the trap that explains breaches in the published data, where there is one.
    """

    name: str
    trace: str
    object_name: str
    kind: str
    rule: str
    caveat: str
    sql: str


def caveats(folder: Path = VIEWS) -> list[dict[str, str]]:
    """Every row of every caveat ledger, with the trace that it belongs to."""
    return list(_rows(folder, "caveats.csv"))


def clocks(folder: Path = VIEWS) -> list[dict[str, str]]:
    """Every row of every clock ledger, with the trace that it belongs to."""
    return list(_rows(folder, "clocks.csv"))


def checks(folder: Path = VIEWS) -> list[Check]:
    """Every rule of every `checks.sql`."""
    return [
        _check(part, path)
        for path in sorted(folder.glob("*/checks.sql"))
        for part in _CHECK_START.split(path.read_text())
        if part.startswith("-- check: ")
    ]


def _rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    for path in sorted(folder.glob(f"*/{name}")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file, strict=True):
                yield {"trace": path.parent.name, **row}


def _check(part: str, path: Path) -> Check:
    header: Header = read_header(part)
    lines = part.splitlines()
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip().removesuffix(";")
    missing = [key for key in ("check", "object", "kind", "rule") if not header.one(key)]
    if missing:
        raise DefinitionError(f"{path}: {header.one('check')} has no `-- {missing[0]}:` line")
    return Check(
        name=header.one("check"),
        trace=path.parent.name,
        object_name=header.one("object"),
        kind=header.one("kind"),
        rule=header.one("rule"),
        caveat=header.one("caveat"),
        sql=sql,
    )
