"""Publishes a warehouse to wherever it was asked for, and says what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracehouse.core.errors import UsageError
from tracehouse.core.names import listed
from tracehouse.publish import output
from tracehouse.publish.bi import database_file, postgresql
from tracehouse.publish.bi import superset as superset_bundle
from tracehouse.publish.bi.contents import LeftOut


@dataclass(frozen=True)
class Outcome:
    """What was done, and what there is to know about it, in sentences."""

    done: Sequence[str]
    notes: Sequence[str]


def publish(warehouse: Path, out: Path | None, to: str, superset: Path | None, whole: bool) -> Outcome:
    """Publish a warehouse as a database file, to a PostgreSQL, or both; and dashboards of the file.

    Raises UsageError where neither is named, and UserError where one cannot be written.
    """
    if not (out or to):
        raise UsageError("say where to: --out FILE.duckdb, or --to postgresql://user@host/database")
    if superset and not out:
        raise UsageError("Superset's dashboards are over a file: name it with --out FILE.duckdb")
    if superset:
        output.check(superset)
    done: list[str] = []
    notes: list[str] = []
    left_out: Sequence[LeftOut] = ()
    if out:
        written = database_file.publish(warehouse, out, whole)
        left_out = written.left_out
        done.append(
            f"Published {written.relations:,} tables with {written.rows:,} rows as {out}, "
            f"{written.bytes / 1e6:,.1f} MB"
        )
        if written.is_open_elsewhere:
            notes.append(f"a program has the {out} of before open, and reads that until it opens it anew")
        if superset:
            notes += superset_bundle.written(out, superset)
            done.append(
                f"Wrote {superset}. Import it: superset import-dashboards --path {superset} --username admin"
            )
    if to:
        filled = postgresql.publish(warehouse, to, whole)
        left_out = filled.left_out
        done.append(f"Published {filled.relations:,} tables with {filled.rows:,} rows to {filled.place}")
        notes += filled.notes
    return Outcome(done, [*notes, *_said_of(left_out)])


def _said_of(left_out: Sequence[LeftOut]) -> list[str]:
    reasons = dict.fromkeys(left.reason for left in left_out)
    return [
        f"left out, as it {reason}: {listed([left.name for left in left_out if left.reason == reason])}"
        for reason in reasons
    ]
