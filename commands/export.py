"""Export jobs or requests for simulators and load generators.

The folder also gets a report of dropped and defaulted fields.

Example: traces export swf itp --out itp-swf
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tracehouse.commands import options
from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal
from tracehouse.commands.options import expand_options, option, reject_nan, repeatable

# The limits of the options: above all values in the traces, and within the ranges of the formats.
_MOST = 1_000_000
_LEAST_ABOVE_0 = 1e-6
_MOST_MIB = 1 << 40
_MOST_S = 100 * 366 * 86_400


def _number(least: float, most: float, text: str) -> Any:
    return typer.Option(min=least, max=most, metavar="NUMBER", help=text, callback=reject_nan)


def _text(text: str) -> Any:
    return typer.Option(metavar="TEXT", help=text)


_All = Annotated[bool, option("--all", "Print the origin of every field, and the dropped columns.")]
_GpusPerNode = Annotated[int, _number(1, _MOST, "GPUs per node.")]
_DefaultCpus = Annotated[int | None, _number(1, _MOST, "CPU cores of jobs that request none.")]
_ProcessorsPerGpu = Annotated[int, _number(1, _MOST, "Processors per GPU; 100 keeps hundredths of a GPU.")]
_CpuMhz = Annotated[float, _number(1, _MOST, "Clock rate of a CPU core.")]
_GpuMhz = Annotated[float | None, _number(1, _MOST, "Clock rate of a GPU. Default: unknown.")]
_DefaultMemMib = Annotated[int | None, _number(1, _MOST_MIB, "Memory of jobs that request none.")]
_DefaultCpuMilli = Annotated[int | None, _number(0, _MOST * 1000, "CPU of pods that request none.")]
_DefaultMemoryMib = Annotated[int | None, _number(0, _MOST_MIB, "Memory of pods that request none.")]
_Model = Annotated[str, _text("Model of jobs without one.")]
_BatchSize = Annotated[int | None, _number(1, _MOST, "Samples per batch of jobs without one.")]
_IterationsPerS = Annotated[float | None, _number(_LEAST_ABOVE_0, _MOST, "Speed of jobs without iterations.")]
_DeadlineFactor = Annotated[
    float | None, _number(_LEAST_ABOVE_0, _MOST, "Default deadline: run time times this.")
]
_FirstDay = Annotated[
    datetime | None,
    typer.Option(
        formats=["%Y-%m-%d"], metavar="DATE", help="Date of the first row, for traces without dates."
    ),
]
_DefaultUser = Annotated[str, _text("User of jobs without one.")]
_DefaultVc = Annotated[str, _text("Virtual cluster of jobs without one.")]
_DefaultWaitS = Annotated[int | None, _number(0, _MOST_S, "Queueing delay of jobs without one.")]
_DefaultState = Annotated[str, _text("State of jobs without a known status.")]
_DefaultStatus = Annotated[
    Literal["Pass", "Killed", "Failed"] | None, typer.Option(help="Status of jobs without a known one.")
]


@dataclass(frozen=True)
class ExportOptions:
    """The options shared by all formats."""

    trace: Annotated[str, options.argument("TRACE", "Trace with jobs.", autocompletion=complete_trace)]
    out: Annotated[Path, option("--out -o", "Folder to create.", "DIR")]
    clusters: Annotated[list[str], repeatable("--cluster", "Only jobs of this cluster.", "NAME")]
    keep_censored: Annotated[bool, option("--keep-censored", "Keep jobs that the trace cuts off.")] = False
    run_as_held: Annotated[bool, option("--run-as-held", "Run time = held GPU time / requested GPUs.")] = (
        False
    )
    with_all: _All = False
    warehouse: options.Warehouse = options.WAREHOUSE

    def export(self, format_name: str, values: Mapping[str, Any]) -> None:
        """Export the jobs of the trace in a format with its own options, and print the loss report."""
        _write(
            self,
            self.clusters,
            format_name,
            values,
            keep_censored=self.keep_censored,
            run_as_held=self.run_as_held,
        )


@dataclass(frozen=True)
class RequestOptions:
    """The options shared by all formats of requests."""

    trace: Annotated[str, options.argument("TRACE", "Trace with requests.", autocompletion=complete_trace)]
    out: Annotated[Path, option("--out -o", "Folder to create.", "DIR")]
    workloads: Annotated[list[str], repeatable("--workload", "Only requests of this workload.", "NAME")]
    from_s: Annotated[float, _number(0, _MOST_S, "Start, in seconds after the first request.")] = 0
    to_s: Annotated[float | None, _number(0, _MOST_S, "End, in seconds after the first request.")] = None
    rate_factor: Annotated[float, _number(0.001, _MOST, "Divide times by this; 2 doubles the rate.")] = 1
    sample: Annotated[float, _number(_LEAST_ABOVE_0, 1, "Share of the requests to keep, at random.")] = 1
    seed: Annotated[int, _number(0, _MOST, "Seed of the sample.")] = 0
    with_all: _All = False
    warehouse: options.Warehouse = options.WAREHOUSE

    def export(self, format_name: str, values: Mapping[str, Any]) -> None:
        """Export the requests of the trace in a format with its own options, and print the loss report."""
        shared = {name: getattr(self, name) for name in ("from_s", "to_s", "rate_factor", "sample", "seed")}
        _write(self, self.workloads, format_name, {**shared, **values})


def _write(
    shared: ExportOptions | RequestOptions,
    parts: Sequence[str],
    format_name: str,
    values: Mapping[str, Any],
    keep_censored: bool = False,
    run_as_held: bool = False,
) -> None:
    """Write a format of the jobs or requests of some clusters or workloads, and print the loss report."""
    from tracehouse.core.progress import step_line
    from tracehouse.engines.duckdb.read.describe import Description
    from tracehouse.publish import description
    from tracehouse.publish.simulators import export, loss_report
    from tracehouse.publish.simulators.formats import build_format

    form = build_format(format_name, shared.trace, values)
    with step_line("exporting") as step:
        report, caveats = export.export(
            shared.warehouse, shared.trace, parts, form, shared.out, keep_censored, run_as_held, step=step
        )
    count, noun = report[f"{form.population.name}s"], form.population.name
    rows = f"{count:,} {noun}{'s' * (count != 1)}"
    title = f"Wrote {rows} to {shared.out}, and this report to {export.REPORT} there"
    totals = loss_report.describe_totals(report)
    facts = {f"note {number}": note for number, note in enumerate((totals, *form.notes), 1)}
    tables = loss_report.tables(report)
    if not shared.with_all:
        facts |= loss_report.summarize(report) | {"more": "--all prints the origin of every field"}
        tables = tables[-2:]
    summary = Description(f"{shared.trace} as {form.name}", title, facts, tables, caveats, "")
    typer.echo(description.as_text(summary, is_on_terminal()), nl=False)


def _export(command: Callable[..., None]) -> Callable[..., None]:
    """Complete a command that declares the options of the format of its name: it exports in this format."""

    @wraps(command)
    def run(shared: ExportOptions | RequestOptions, **values: Any) -> None:
        days = {name: day.date() for name, day in values.items() if isinstance(day, datetime)}
        shared.export(command.__name__, values | days)

    return expand_options(run)


@_export
def swf(jobs: ExportOptions, processors_per_gpu: _ProcessorsPerGpu = 1) -> None:
    """Write the Standard Workload Format 2.2.

    A processor is a GPU, or a fraction of one. Unknown values are -1.

    Example: traces export swf pai --out pai-swf --processors-per-gpu 100
    """


@_export
def opendc(
    jobs: ExportOptions,
    cpu_mhz: _CpuMhz,
    gpu_mhz: _GpuMhz = None,
    default_cpus: _DefaultCpus = None,
    default_mem_mib: _DefaultMemMib = None,
) -> None:
    """Write OpenDC's tasks and fragments.

    Only PAI records the usage of tasks. In other traces, a task uses all that it requests.

    Example: traces export opendc openb --out openb-opendc --cpu-mhz 2500
    """


@_export
def openb(
    jobs: ExportOptions,
    gpus_per_node: _GpusPerNode = 8,
    default_cpu_milli: _DefaultCpuMilli = None,
    default_memory_mib: _DefaultMemoryMib = None,
) -> None:
    """Write pod and node lists in the format of openb.

    Each instance of a job is a pod. An instance with more GPUs than a node has becomes several pods.

    Example: traces export openb pai --out pai-openb
    """


@_export
def elasticflow(
    jobs: ExportOptions,
    model: _Model = "",
    batch_size: _BatchSize = None,
    iterations_per_s: _IterationsPerS = None,
    deadline_factor: _DeadlineFactor = None,
) -> None:
    """Write ElasticFlow's training jobs.

    Only ITP has models and deadlines; for other traces, set them with the options.

    Example: traces export elasticflow itp --cluster cluster03
    """


@_export
def helios(
    jobs: ExportOptions,
    gpus_per_node: _GpusPerNode = 8,
    first_day: _FirstDay = None,
    default_user: _DefaultUser = "",
    default_vc: _DefaultVc = "",
    default_cpus: _DefaultCpus = None,
    default_wait_s: _DefaultWaitS = None,
    default_state: _DefaultState = "",
) -> None:
    """Write Helios's job log, cluster_log.csv.

    Times are in the time zone of the cluster.

    Example: traces export helios acme --out acme-helios --default-user unknown
    """


@_export
def philly(
    jobs: ExportOptions,
    gpus_per_node: _GpusPerNode = 8,
    first_day: _FirstDay = None,
    default_user: _DefaultUser = "",
    default_vc: _DefaultVc = "",
    default_wait_s: _DefaultWaitS = None,
    default_status: _DefaultStatus = None,
) -> None:
    """Write Philly's job log, cluster_job_log.

    Blox and other simulators read it. Jobs of other traces have one attempt.

    Example: traces export philly acme --out acme-philly --default-user unknown
    """


@_export
def pai(jobs: ExportOptions, default_cpus: _DefaultCpus = None) -> None:
    """Write the job list of the simulator of PAI's authors.

    The numbers of CPUs and GPUs are those of each instance.

    Example: traces export pai openb --out openb-pai
    """


@_export
def mooncake(requests: RequestOptions) -> None:
    """Write requests as Mooncake's JSON lines.

    vLLM, AIPerf, GuideLLM and Dynamo replay them.

    Example: traces export mooncake azure_llm --workload code --out requests
    """


@_export
def azure(requests: RequestOptions, first_day: _FirstDay = datetime(1970, 1, 1)) -> None:
    """Write requests as a CSV like Azure's LLM inference traces.

    Example: traces export azure azure_llm --out requests --rate-factor 2
    """
