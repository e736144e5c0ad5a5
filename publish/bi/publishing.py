"""Publish a warehouse to the requested targets, and report the result."""

from collections.abc import Sequence
from pathlib import Path

from tracehouse.core.errors import UsageError
from tracehouse.core.text import join_names
from tracehouse.publish import output
from tracehouse.publish.bi import database_file, postgresql
from tracehouse.publish.bi import superset as superset_bundle
from tracehouse.publish.bi.contents import LeftOut
from tracehouse.publish.site import folder


def publish(
    warehouse: Path,
    out: Path | None,
    to: str,
    superset: Path | None,
    whole: bool,
    site: Path | None,
    duckdb_wasm: Path | None,
    base_url: str,
) -> tuple[Sequence[str], Sequence[str]]:
    """Publish a warehouse to each given target: a database file, PostgreSQL, or a site.

    With `superset`, also writes dashboards over the database file. Returns a sentence for each target, and
    notes for the user. Raises UsageError without a target, and
    UserError if a target cannot be written.
    """
    if not (out or to or site):
        raise UsageError(
            "name a target: --out FILE.duckdb, --to postgresql://user@host/database or --site FOLDER"
        )
    if base_url and not site:
        raise UsageError("--base-url is the address of a site: name its folder with --site FOLDER")
    if base_url and not base_url.startswith(("http://", "https://")):
        raise UsageError(f"--base-url must begin with http:// or https://, not {base_url!r}")
    if superset and not out:
        raise UsageError("--superset needs a database file: name it with --out FILE.duckdb")
    if superset:
        output.check(superset)
    done: list[str] = []
    notes: list[str] = []
    left_out: Sequence[LeftOut] = ()
    if out:
        result = database_file.publish(warehouse, out, whole)
        left_out = result.left_out
        done.append(
            f"Published {result.relations:,} tables with {result.rows:,} rows as {out}, "
            f"{result.bytes / 1e6:,.1f} MB"
        )
        if result.is_open_elsewhere:
            notes.append(
                f"a program still has the previous {out} open and reads the old version until it reopens it"
            )
        if superset:
            notes += superset_bundle.write_bundle(out, superset)
            done.append(
                f"Wrote {superset}. Import it: superset import-dashboards --path {superset} --username admin"
            )
    if site:
        result = folder.publish(warehouse, site, duckdb_wasm, whole, base_url)
        left_out = result.left_out
        done.append(f"Wrote the site {site}. Open it: python -m http.server --directory {site}")
    if to:
        target = postgresql.publish(warehouse, to, whole)
        left_out = target.left_out
        done.append(f"Published {target.relations:,} tables with {target.rows:,} rows to {target.place}")
        notes += target.notes
    return done, [*notes, *_describe_left_out(left_out)]


def _describe_left_out(left_out: Sequence[LeftOut]) -> list[str]:
    reasons = dict.fromkeys(left.reason for left in left_out)
    return [
        f"Not published because {reason}: "
        + join_names([left.name for left in left_out if left.reason == reason])
        for reason in reasons
    ]
