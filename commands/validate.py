"""The commands that validate a warehouse: check and verify."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from tracehouse.commands.console import say
from tracehouse.commands.options import AnswerOptions, TraceNames, expand_options, option
from tracehouse.core.errors import UserError

_Files = Annotated[bool, option("--files", "Check the Parquet files instead: size and checksum of each.")]


@expand_options
def check(options: AnswerOptions, traces: TraceNames, files: _Files = False) -> None:
    """Check the data against the rules of the catalog and the expected counts of the published files.

    Exits with 1 if a rule or count fails. Expected counts do not apply to synthetic data, nor to a part of a
    trace, such as a day or a cut file. With --files, compares each Parquet file with its entry in
    datapackage.json, and each materialized view with its stored checksum.

    Example: traces check itp
    """
    if files:
        _check_files(options.warehouse, traces)
        return
    from tracehouse.engines.duckdb.read import checks, sandbox
    from tracehouse.engines.duckdb.read.binding import bind_rows
    from tracehouse.publish import output

    output.check(options.output)
    found = sandbox.run(options.warehouse, options.limits, partial(checks.run_rules, traces=traces))
    options.write(partial(bind_rows, rows=found), brief=checks.BRIEF)
    if count := found["status"].to_pylist().count("failed"):
        raise UserError(f"{count} of {found.num_rows} rules and expected counts failed")


@expand_options
def verify(options: AnswerOptions, traces: TraceNames) -> None:
    """Compare published figures with figures computed from the data.

    Exits with 1 if a figure differs, unless the measured value is the one that the catalog's explanation
    leads to. Figures that depend on synthetic data have the verdict `synthetic data`. A terminal needs --wide
    to show the names of figures; `traces describe` shows where a figure is printed, and its SQL.

    Example: traces verify pai
    """
    from tracehouse.engines.duckdb.read import sandbox, verify
    from tracehouse.engines.duckdb.read.binding import BoundQuery, bind_rows
    from tracehouse.publish import output

    output.check(options.output)
    results = sandbox.run(options.warehouse, options.limits, partial(verify.figures, traces=traces))
    if not results:
        say(f"note: {_explain_no_figures(traces)}", stderr=True)
    explain = verify.explanation_summary if options.notes_to_stderr else verify.explanations
    notes = [*explain(results), *verify.parts(results), *verify.trust_summary(results)]
    bind = partial(bind_rows, rows=verify.as_table(results), query=BoundQuery("", notes=notes))
    options.write(bind, brief=verify.BRIEF)
    counts = verify.verdict_counts(results)
    unconfirmed = counts.get(verify.Verdict.UNCONFIRMED, 0)
    if count := counts.get(verify.Verdict.DIFFERS, 0) + unconfirmed:
        reasons = f", {unconfirmed} of them for an unconfirmed reason" if unconfirmed else ""
        raise UserError(f"{count} of {len(results)} figures differ{reasons}")


def _explain_no_figures(traces: Sequence[str]) -> str:
    """Say why the catalog has no figures of some traces: the files may have some since the last build."""
    from tracehouse.views import ledgers

    if any(not traces or figure.trace in traces for figure in ledgers.published()):
        return "the catalog lacks the published figures of these traces: run `traces build` to add them"
    return "the catalog has no published figures of these traces"


def _check_files(warehouse: Path, traces: Sequence[str]) -> None:
    from tracehouse.core.progress import byte_bars
    from tracehouse.ingest.store import integrity

    with byte_bars() as progress:
        report = integrity.check(warehouse, traces, progress)
    for damage in report.damages:
        say(f"damaged: {warehouse / damage.path}: {damage.problem}. {damage.advice}")
    if report.damages:
        raise UserError(f"{len(report.damages):,} of {report.files:,} files are damaged")
    say(f"{report.files:,} files, {report.bytes / 1e6:,.1f} MB: no damage")
