"""The commands `traces export …`: the jobs of a trace in the formats of scheduler simulators."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tracehouse.commands.completion import complete_trace
from tracehouse.commands.console import is_on_terminal
from tracehouse.commands.options import WAREHOUSE, Warehouse, expand_options, flag, reject_nan, repeatable

# The limits of the options: above all values in the traces, and within the ranges of the formats.
_MOST = 1_000_000
_LEAST_ABOVE_0 = 1e-6
_MOST_MIB = 1 << 40
_MOST_S = 100 * 366 * 86_400


def _number(least: float, most: float, text: str) -> Any:
    return typer.Option(min=least, max=most, metavar="NUMBER", help=text, callback=reject_nan)


def _text(text: str) -> Any:
    return typer.Option(metavar="TEXT", help=text)


_GpusPerNode = Annotated[int, _number(1, _MOST, "GPUs per node.")]
_DefaultCpus = Annotated[int | None, _number(1, _MOST, "CPU cores of jobs that request none.")]


@dataclass(frozen=True)
class ExportOptions:
    """The options shared by all formats."""

    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="Trace with jobs.", autocompletion=complete_trace)
    ]
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to create.")]
    clusters: Annotated[list[str], repeatable("--cluster", metavar="NAME", text="Only jobs of this cluster.")]
    keep_censored: Annotated[
        bool, flag("--keep-censored", "Keep jobs that the trace cuts off, with their observed run time.")
    ] = False
    run_as_held: Annotated[
        bool, flag("--run-as-held", "Write the held GPU time divided by the requested GPUs as run time.")
    ] = False
    warehouse: Warehouse = WAREHOUSE

    def export(self, format_name: str, **values: Any) -> None:
        """Export the jobs of the trace in a format with its own options, and print the loss report."""
        from tracehouse.engines.duckdb.read.describe import Description
        from tracehouse.publish import description
        from tracehouse.publish.simulators import export, loss_report
        from tracehouse.publish.simulators.formats import build_format

        form = build_format(format_name, self.trace, values)
        exported = export.export(
            self.warehouse,
            self.trace,
            self.clusters,
            form,
            self.out,
            self.keep_censored,
            self.run_as_held,
        )
        count = exported.report.jobs
        title = (
            f"Wrote {count:,} job{'s' * (count != 1)} to {self.out}, and this report to {export.REPORT} there"
        )
        gpu_time = loss_report.describe_gpu_time(exported.report)
        notes = {f"note {number}": note for number, note in enumerate((gpu_time, *form.notes), 1)}
        tables = loss_report.tables(exported.report)
        summary = Description(f"{self.trace} as {form.name}", title, notes, tables, exported.caveats, "")
        typer.echo(description.as_text(summary, is_on_terminal()), nl=False)


@expand_options
def swf(
    options: ExportOptions,
    processors_per_gpu: Annotated[
        int, _number(1, _MOST, "Processors per GPU; 100 keeps hundredths of a GPU.")
    ] = 1,
) -> None:
    """Write the Standard Workload Format 2.2.

    A processor is a GPU, or a fraction of one. Unknown values are -1.

    Example: traces export swf pai --out pai-swf --processors-per-gpu 100
    """
    options.export("swf", processors_per_gpu=processors_per_gpu)


@expand_options
def opendc(
    options: ExportOptions,
    cpu_mhz: Annotated[float, _number(1, _MOST, "Clock rate of a CPU core.")],
    gpu_mhz: Annotated[
        float | None,
        _number(1, _MOST, "Clock rate of a GPU; without it, only the number of GPUs is written."),
    ] = None,
    default_cpus: _DefaultCpus = None,
    default_mem_mib: Annotated[int | None, _number(1, _MOST_MIB, "Memory of jobs that request none.")] = None,
) -> None:
    """Write OpenDC's tasks and fragments.

    Only PAI records the usage of tasks. In other traces, a task uses all that it requests.

    Example: traces export opendc openb --out openb-opendc --cpu-mhz 2500
    """
    options.export(
        "opendc",
        cpu_mhz=cpu_mhz,
        gpu_mhz=gpu_mhz,
        default_cpus=default_cpus,
        default_mem_mib=default_mem_mib,
    )


@expand_options
def openb(
    options: ExportOptions,
    gpus_per_node: _GpusPerNode = 8,
    default_cpu_milli: Annotated[
        int | None, _number(0, _MOST * 1000, "CPU of pods that request none.")
    ] = None,
    default_memory_mib: Annotated[
        int | None, _number(0, _MOST_MIB, "Memory of pods that request none.")
    ] = None,
) -> None:
    """Write pod and node lists in the format of openb.

    Each instance of a job is a pod. An instance with more GPUs than a node has becomes several pods.

    Example: traces export openb pai --out pai-openb
    """
    options.export(
        "openb",
        gpus_per_node=gpus_per_node,
        default_cpu_milli=default_cpu_milli,
        default_memory_mib=default_memory_mib,
    )


@expand_options
def elasticflow(
    options: ExportOptions,
    model: Annotated[str, _text("Model of jobs without one.")] = "",
    batch_size: Annotated[
        int | None, _number(1, _MOST, "Batch size of jobs without one, in samples.")
    ] = None,
    iterations_per_s: Annotated[
        float | None, _number(_LEAST_ABOVE_0, _MOST, "Training speed of jobs without iterations.")
    ] = None,
    deadline_factor: Annotated[
        float | None, _number(_LEAST_ABOVE_0, _MOST, "Deadline of jobs without one: run time times factor.")
    ] = None,
) -> None:
    """Write ElasticFlow's training jobs.

    Only ITP has models and deadlines; for other traces, set them with the options.

    Example: traces export elasticflow itp --cluster cluster03
    """
    options.export(
        "elasticflow",
        model=model,
        batch_size=batch_size,
        iterations_per_s=iterations_per_s,
        deadline_factor=deadline_factor,
    )


@expand_options
def helios(
    options: ExportOptions,
    gpus_per_node: _GpusPerNode = 8,
    first_day: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"], metavar="DATE", help="Date of the first job, for traces without dates."
        ),
    ] = None,
    default_user: Annotated[str, _text("User of jobs without one.")] = "",
    default_vc: Annotated[str, _text("Virtual cluster of jobs without one.")] = "",
    default_cpus: _DefaultCpus = None,
    default_wait_s: Annotated[int | None, _number(0, _MOST_S, "Queueing delay of jobs without one.")] = None,
    default_state: Annotated[str, _text("State of jobs without a known status.")] = "",
) -> None:
    """Write Helios's job log, cluster_log.csv.

    Times are in the time zone of the cluster.

    Example: traces export helios acme --out acme-helios --default-user unknown
    """
    options.export(
        "helios",
        gpus_per_node=gpus_per_node,
        first_day=first_day.date() if first_day else None,
        default_user=default_user,
        default_vc=default_vc,
        default_cpus=default_cpus,
        default_wait_s=default_wait_s,
        default_state=default_state,
    )
