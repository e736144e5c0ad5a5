"""The commands that validate a warehouse: check and verify."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracehouse.commands.console import say, wrap_line
from tracehouse.commands.options import AnswerOptions, TraceNames, expand_options, option
from tracehouse.core.errors import UserError
from tracehouse.engines.request import ComputedRows, Request
from tracehouse.publish.formats import OutputFormat

if TYPE_CHECKING:
    from tracehouse.engines.duckdb.read.verify import Result

_Files = Annotated[bool, option("--files", "Check the Parquet files instead: size and checksum of each.")]
_AllRules = Annotated[bool, option("--all", "Also print rules and counts that are met, or without data.")]
_AllFigures = Annotated[
    bool, option("--all", "Also print figures that are reproduced, and those that cannot be compared.")
]


@expand_options
def check(
    options: AnswerOptions, traces: TraceNames, files: _Files = False, with_all: _AllRules = False
) -> None:
    """Check the data against the catalog's rules and expected counts.

    Prints the rules and counts that fail, and how many there are. Exits with 1 if any fails. Expected counts
    are those of the published files. They do not apply to synthetic data, nor to a part of a trace, such as a
    day or a cut file. Other formats than tables have all rows. With --files, compares each Parquet file with
    its entry in datapackage.json, and each materialized view with its stored checksum.

    Example: traces check itp
    """
    if files:
        _check_files(options.warehouse, traces)
        return
    from tracehouse.core.progress import step_line
    from tracehouse.engines.duckdb.read import checks, sandbox
    from tracehouse.engines.duckdb.read.binding import BoundQuery
    from tracehouse.publish import output

    output.check(options.output)
    is_short = options.output_format is OutputFormat.TABLE and not with_all
    with step_line("checking") as step:
        work = partial(checks.run_rules, traces=traces, step=step)
        found = sandbox.run(options.warehouse, options.limits, work, step.files)
    statuses = found["status"].to_pylist()
    failed = [index for index, status in enumerate(statuses) if status == "failed"]
    if failed or not is_short:
        rows = found.take(failed) if is_short else found
        options.write(Request(ComputedRows(rows, BoundQuery(""))), brief=checks.BRIEF)
    if is_short:
        known = "known (the published files break them; --all says why)"
        counts = Counter(known if status == "known" else status for status in statuses)
        listed = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        _say_summary(options, len(statuses), "rules and expected counts", listed)
    if failed:
        raise UserError(f"{len(failed)} of {found.num_rows} rules and expected counts failed")


@expand_options
def verify(options: AnswerOptions, traces: TraceNames, with_all: _AllFigures = False) -> None:
    """Compare published figures with figures computed from the data.

    Prints the figures that differ, and how many there are with each verdict. Exits with 1 if a figure of
    the publisher or of a paper differs, unless the measured value is the one that the catalog's explanation
    leads to. Figures that others print are listed apart. For named traces, it prints the explanations.
    Figures that depend on synthetic data have the verdict `synthetic data`. Other formats than tables have
    all measured figures. `traces describe` shows where a figure is printed, and its SQL.

    Example: traces verify pai
    """
    from tracehouse.core.progress import step_line
    from tracehouse.engines.duckdb.read import sandbox, verify
    from tracehouse.engines.duckdb.read.binding import BoundQuery
    from tracehouse.publish import output

    output.check(options.output)
    is_table = options.output_format is OutputFormat.TABLE
    with step_line("verifying") as step:
        work = partial(verify.figures, traces=traces, step=step)
        results = sandbox.run(options.warehouse, options.limits, work, step.files)
    if not results:
        say(f"note: {_explain_no_figures(traces)}", stderr=True)
    counts = verify.verdict_counts(results)
    select = verify.differing if is_table else verify.measured
    shown = results if with_all else select(results)
    notes = [*verify.parts(results), *(verify.trust_summary(results) if with_all else ())]
    if is_table and not options.notes_to_stderr and not options.wide:
        own, of_others = verify.by_authors(shown)
        with_reasons = bool(traces or with_all)
        lines = [*_describe_figures(own, with_reasons)]
        if of_others:
            lines += ["", "Printed by others:", "", *_describe_figures(of_others, with_reasons)]
        output.print_text("".join(f"{wrap_line(line, sys.stdout)}\n" for line in lines), not options.no_pager)
        options.print_notes(notes)
    else:
        notes = [*verify.explanation_summary(results), *notes]
        if shown or not is_table:
            options.write(Request(ComputedRows(verify.as_table(shown), BoundQuery("", notes=notes))))
        else:
            options.print_notes(notes)
    if results and not with_all:
        _say_summary(options, len(results), "figures", verify.list_counts(counts))
    if failures := verify.describe_failures(results):
        raise UserError(failures)


def _say_summary(options: AnswerOptions, count: int, nouns: str, listed: str) -> None:
    """Say how many rows there are, and how many have each status or verdict."""
    say(f"{count:,} {nouns}: {listed}. Show all of them with --all", stderr=options.notes_to_stderr)


def _describe_figures(results: "Sequence[Result]", with_reasons: bool) -> Iterator[str]:
    """Yield the lines for a terminal: each verdict and explanation once, above the figures that share it.

    Without `with_reasons`, differences that are as explained have no explanation.
    """
    from tracehouse.engines.duckdb.read.verify import DIFFERING, Verdict, by_explanation
    from tracehouse.publish.table import short_text

    heading = ""
    for group in by_explanation(results):
        verdict, explanation = group[0].verdict, group[0].explanation
        if verdict is Verdict.EXPLAINED and not with_reasons:
            explanation = "`traces verify TRACE` prints the reasons."
        text = f"{verdict}: {explanation}" if verdict in DIFFERING and explanation else str(verdict)
        if text != heading:
            yield from ("", text) if heading else (text,)
            heading = text
        for one in group:
            values = [value for value in (one.published, one.measured) if value is not None]
            texts = [short_text(value) for value in values]
            if verdict in DIFFERING and len({*texts}) == 1:
                texts = [f"{value:,.15g}" for value in values]
            measured = f", measured {texts[1]}" if len(texts) > 1 else ""
            yield f"  {one.figure}: published {texts[0]}{measured} {one.unit}"
            yield f"    {one.statement}"


def _explain_no_figures(traces: Sequence[str]) -> str:
    """Say why the catalog has no figures of some traces: the files may have some since the last build."""
    from tracehouse.definitions import figures

    if any(not traces or figure.trace in traces for figure in figures.published()):
        return "the catalog lacks the published figures of these traces: run `traces build` to add them"
    return "the catalog has no published figures of these traces"


def _check_files(warehouse: Path, traces: Sequence[str]) -> None:
    from tracehouse.core.progress import byte_bars
    from tracehouse.ingest.store import integrity

    with byte_bars() as progress:
        report = integrity.check(warehouse, traces, progress)
    for damage in report.damages:
        say(f"{damage.word}: {warehouse / damage.path}: {damage.problem}. {damage.advice}")
    if report.damages:
        words = integrity.join_words(report.damages)
        raise UserError(f"{len(report.damages):,} of {report.files:,} files are {words}")
    say(f"{report.files:,} files, {report.bytes / 1e6:,.1f} MB: no damage")
