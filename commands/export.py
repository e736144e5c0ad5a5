"""The commands `traces export …`: the jobs of a trace in the formats of scheduler simulators."""

import datetime as dt
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal
from tracehouse.commands.options import PATH, SETTINGS, CommandGroup, Decorator, NumberRange, warehouse_option
from tracehouse.core.errors import UsageError

if TYPE_CHECKING:
    from tracehouse.publish.simulators.format_spec import FormatSpec

# The limits of the options: above all values in the traces, and within the ranges of the formats.
_MOST = 1_000_000
_LEAST_ABOVE_0 = 1e-6
_MOST_MIB = 1 << 40
_MOST_S = 100 * 366 * 86_400


def _number(name: str, least: float, most: float, text: str, **settings: Any) -> Decorator:
    """An option with a number in a range: an integer, unless `least` is a float."""
    kind = NumberRange(least, most) if isinstance(least, float) else click.IntRange(least, int(most))
    return click.option(name, type=kind, metavar="NUMBER", help=text, **settings)


def _text(name: str, text: str, **settings: Any) -> Decorator:
    return click.option(name, default="", show_default=False, help=text, **settings)


_default_cpus = _number("--default-cpus", 1, _MOST, "CPU cores of jobs that request none.")
_gpus_per_node = _number("--gpus-per-node", 1, _MOST, "GPUs per node.", default=8)


def _export_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        warehouse_option,
        click.option(
            "--cluster",
            "clusters",
            multiple=True,
            metavar="NAME",
            help="Only jobs of this cluster. Repeatable.",
        ),
        click.option(
            "--keep-censored",
            is_flag=True,
            help="Keep jobs that the trace cuts off, with their observed run time.",
        ),
        click.option(
            "--run-as-held",
            is_flag=True,
            help="Write the held GPU time divided by the requested GPUs as run time.",
        ),
        click.option("--out", "-o", type=PATH, required=True, help="Folder to create."),
        click.argument("trace", shell_complete=complete_trace, help="Trace with jobs."),
    ):
        command = option(command)
    return command


@click.group(cls=CommandGroup, context_settings=SETTINGS, no_args_is_help=True)
def export() -> None:
    """Export the jobs of a trace for scheduler simulators.

    The folder also gets a report of dropped and defaulted fields.

    Example: traces export swf itp --out itp-swf
    """


@export.command()
@_export_options
@_number("--processors-per-gpu", 1, _MOST, "Processors per GPU; 100 keeps hundredths of a GPU.", default=1)
def swf(**options: Any) -> None:
    """Write the Standard Workload Format 2.2.

    A processor is a GPU, or a fraction of one. Unknown values are -1.

    Example: traces export swf pai --out pai-swf --processors-per-gpu 100
    """
    from tracehouse.publish.simulators import swf as simulator

    _export(simulator.build_format, **options)


@export.command()
@_export_options
@_number("--cpu-mhz", 1.0, _MOST, "Clock rate of a CPU core.", required=True)
@_number("--gpu-mhz", 1.0, _MOST, "Clock rate of a GPU; without it, only the number of GPUs is written.")
@_default_cpus
@_number("--default-mem-mib", 1, _MOST_MIB, "Memory of jobs that request none.")
def opendc(**options: Any) -> None:
    """Write OpenDC's tasks and fragments.

    Only PAI records the usage of tasks. In other traces, a task uses all that it requests.

    Example: traces export opendc openb --out openb-opendc --cpu-mhz 2500
    """
    from tracehouse.publish.simulators import opendc as simulator

    _export(simulator.build_format, **options)


@export.command()
@_export_options
@_gpus_per_node
@_number("--default-cpu-milli", 0, _MOST * 1000, "CPU of pods that request none.")
@_number("--default-memory-mib", 0, _MOST_MIB, "Memory of pods that request none.")
def openb(trace: str, **options: Any) -> None:
    """Write pod and node lists in the format of openb.

    Each instance of a job is a pod. An instance with more GPUs than a node has becomes several pods.

    Example: traces export openb pai --out pai-openb
    """
    from tracehouse.publish.simulators import openb as simulator

    _export(partial(simulator.build_format, trace), trace=trace, **options)


@export.command()
@_export_options
@_text("--model", "Model of jobs without one.")
@_number("--batch-size", 1, _MOST, "Batch size of jobs without one, in samples.")
@_number("--iterations-per-s", _LEAST_ABOVE_0, _MOST, "Training speed of jobs without iterations.")
@_number("--deadline-factor", _LEAST_ABOVE_0, _MOST, "Deadline of jobs without one: run time times factor.")
def elasticflow(trace: str, **options: Any) -> None:
    """Write ElasticFlow's training jobs.

    Only ITP has models and deadlines; for other traces, set them with the options.

    Example: traces export elasticflow itp --cluster cluster03
    """
    from tracehouse.publish.simulators import elasticflow as simulator

    _export(partial(simulator.build_format, trace), trace=trace, **options)


@export.command()
@_export_options
@_gpus_per_node
@_text("--first-day", "Date of the first job, for traces without dates.", metavar="DAY")
@_text("--default-user", "User of jobs without one.")
@_text("--default-vc", "Virtual cluster of jobs without one.")
@_default_cpus
@_number("--default-wait-s", 0, _MOST_S, "Queueing delay of jobs without one.")
@_text("--default-state", "State of jobs without a known status.")
def helios(first_day: str, **options: Any) -> None:
    """Write Helios's job log, cluster_log.csv.

    Times are in the time zone of the cluster.

    Example: traces export helios acme --out acme-helios --default-user unknown
    """
    from tracehouse.publish.simulators import helios as simulator

    _export(simulator.build_format, first_day=_day(first_day), **options)


def _day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError(f"--first-day must be a date such as 2020-06-30, not {text!r}") from None


def _export(
    build_format: "Callable[..., FormatSpec]",
    trace: str,
    clusters: Sequence[str],
    warehouse: Path,
    out: Path,
    keep_censored: bool,
    run_as_held: bool,
    **options: Any,
) -> None:
    """Build a format with the options of its command, and export the jobs of a trace in it."""
    from tracehouse.engines.duckdb.read.describe import Description
    from tracehouse.publish import description
    from tracehouse.publish.simulators import export, loss_report

    spec = build_format(**options)
    exported = export.export(warehouse, export.LIMITS, trace, clusters, spec, out, keep_censored, run_as_held)
    count = exported.report.jobs
    title = f"Wrote {count:,} job{'s' * (count != 1)} to {out}, and this report to {export.REPORT} there"
    gpu_time = loss_report.describe_gpu_time(exported.report)
    notes = {f"note {number}": note for number, note in enumerate((gpu_time, *spec.notes), 1)}
    tables = loss_report.tables(exported.report)
    summary = Description(f"{trace} as {spec.name}", title, notes, tables, exported.caveats, "")
    click.echo(description.as_text(summary, is_on_terminal()), nl=False)
