"""The commands `traces export …`: write a trace's jobs in the formats of scheduler simulators."""

import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.commands.arguments import PlainArguments
from tracehouse.commands.completion import complete_trace
from tracehouse.commands.defaults import DEFAULT_WAREHOUSE
from tracehouse.commands.options import Warehouse
from tracehouse.core.errors import UsageError

if TYPE_CHECKING:
    from tracehouse.publish.simulators.format_spec import FormatSpec

commands = typer.Typer(
    cls=PlainArguments,
    help="Export jobs for scheduler simulators: traces export swf itp --out itp-swf.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# Far above any trace, and within the range of every format.
_MOST = 1_000_000
_LEAST_ABOVE_0 = 1e-6
_MOST_MIB = 1 << 40
_MOST_S = 100 * 366 * 86_400

Trace = Annotated[str, typer.Argument(help="Trace with jobs.", autocompletion=complete_trace)]
Out = Annotated[Path, typer.Option("--out", "-o", help="New folder to write.", show_default=False)]
Clusters = Annotated[
    list[str] | None,
    typer.Option("--cluster", metavar="NAME", help="Only jobs of this cluster. Repeatable."),
]
DefaultCpus = Annotated[
    int | None,
    typer.Option(
        "--default-cpus", min=1, max=_MOST, help="Cores of jobs that request none.", show_default=False
    ),
]
GpusPerNode = Annotated[int, typer.Option("--gpus-per-node", min=1, max=_MOST, help="GPUs per node.")]


@commands.command()
def swf(
    trace: Trace,
    out: Out,
    clusters: Clusters = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    processors_per_gpu: Annotated[
        int,
        typer.Option(
            "--processors-per-gpu",
            min=1,
            max=_MOST,
            help="Processors per GPU; 100 keeps hundredths of a GPU exact.",
        ),
    ] = 1,
) -> None:
    """Write the Standard Workload Format 2.2.

    Processors are GPUs, or equal fractions of a GPU; -1 means unknown:
    traces export swf pai --out pai-swf --processors-per-gpu 100.
    """
    from tracehouse.publish.simulators import swf as simulator

    _export(trace, clusters, warehouse, out, lambda: simulator.build_format(processors_per_gpu))


@commands.command()
def opendc(
    trace: Trace,
    out: Out,
    cpu_mhz: Annotated[
        float, typer.Option("--cpu-mhz", min=1, max=_MOST, help="Clock rate of a core.", show_default=False)
    ],
    clusters: Clusters = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    gpu_mhz: Annotated[
        float | None,
        typer.Option(
            "--gpu-mhz",
            min=1,
            max=_MOST,
            help="Clock rate of a GPU; without it, GPUs have no capacity.",
            show_default=False,
        ),
    ] = None,
    default_cpus: DefaultCpus = None,
    default_mem_mib: Annotated[
        int | None,
        typer.Option(
            "--default-mem-mib",
            min=1,
            max=_MOST_MIB,
            help="Memory of jobs that request none.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write OpenDC's tasks and fragments.

    Usage is known for PAI; elsewhere a task uses all that it requests:
    traces export opendc openb --out openb-opendc --cpu-mhz 2500 --default-mem-mib 4096.
    """
    from tracehouse.publish.simulators import opendc as simulator

    _export(
        trace,
        clusters,
        warehouse,
        out,
        lambda: simulator.build_format(cpu_mhz, gpu_mhz, default_cpus, default_mem_mib),
    )


@commands.command()
def openb(
    trace: Trace,
    out: Out,
    clusters: Clusters = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    gpus_per_node: GpusPerNode = 8,
    default_cpu_milli: Annotated[
        int | None,
        typer.Option(
            "--default-cpu-milli",
            min=0,
            max=_MOST * 1000,
            help="CPU of pods that request none.",
            show_default=False,
        ),
    ] = None,
    default_memory_mib: Annotated[
        int | None,
        typer.Option(
            "--default-memory-mib",
            min=0,
            max=_MOST_MIB,
            help="Memory of pods that request none.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write pod and node lists in openb's format.

    Each instance of a job is a pod, or several if it has more GPUs than a node:
    traces export openb pai --out pai-openb.
    """
    from tracehouse.publish.simulators import openb as simulator

    _export(
        trace,
        clusters,
        warehouse,
        out,
        lambda: simulator.build_format(trace, gpus_per_node, default_cpu_milli, default_memory_mib),
    )


@commands.command()
def elasticflow(
    trace: Trace,
    out: Out,
    clusters: Clusters = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    model: Annotated[
        str, typer.Option("--model", help="Model of jobs without one.", show_default=False)
    ] = "",
    batch_size: Annotated[
        int | None,
        typer.Option(
            "--batch-size", min=1, max=_MOST, help="Batch size of jobs without one.", show_default=False
        ),
    ] = None,
    iterations_per_s: Annotated[
        float | None,
        typer.Option(
            "--iterations-per-s",
            min=_LEAST_ABOVE_0,
            max=_MOST,
            help="Training speed, for the iterations of jobs without them.",
            show_default=False,
        ),
    ] = None,
    deadline_factor: Annotated[
        float | None,
        typer.Option(
            "--deadline-factor",
            min=_LEAST_ABOVE_0,
            max=_MOST,
            help="Deadline in run times after submission.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write ElasticFlow's training jobs.

    Only ITP has models and deadlines; for other traces set the options:
    traces export elasticflow itp --out itp-elasticflow --cluster cluster03.
    """
    from tracehouse.publish.simulators import elasticflow as simulator

    _export(
        trace,
        clusters,
        warehouse,
        out,
        lambda: simulator.build_format(model, batch_size, iterations_per_s, deadline_factor),
    )


@commands.command()
def helios(
    trace: Trace,
    out: Out,
    clusters: Clusters = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    gpus_per_node: GpusPerNode = 8,
    first_day: Annotated[
        str,
        typer.Option("--first-day", metavar="DAY", help="Day of the first job, if the trace has no dates."),
    ] = "",
    default_user: Annotated[
        str, typer.Option("--default-user", help="User of jobs without one.", show_default=False)
    ] = "",
    default_vc: Annotated[
        str, typer.Option("--default-vc", help="Virtual cluster of jobs without one.", show_default=False)
    ] = "",
    default_cpus: DefaultCpus = None,
    default_wait_s: Annotated[
        int | None,
        typer.Option(
            "--default-wait-s",
            min=0,
            max=_MOST_S,
            help="Wait of jobs whose wait is unknown.",
            show_default=False,
        ),
    ] = None,
    default_state: Annotated[
        str,
        typer.Option("--default-state", help="State of jobs whose status is unknown.", show_default=False),
    ] = "",
) -> None:
    """Write Helios's job log, cluster_log.csv.

    Times are in the cluster's local time:
    traces export helios acme --out acme-helios --default-state FAILED --default-user nobody.
    """
    from tracehouse.publish.simulators import helios as simulator

    day = _parse_day(first_day) if first_day else None
    _export(
        trace,
        clusters,
        warehouse,
        out,
        lambda: simulator.build_format(
            day, gpus_per_node, default_user, default_vc, default_cpus, default_wait_s, default_state
        ),
    )


def _parse_day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--first-day must look like 2020-06-30, not {text!r}") from None


def _export(
    trace: str, clusters: list[str] | None, warehouse: Path, out: Path, build: "Callable[[], FormatSpec]"
) -> None:
    from tracehouse.engines.duckdb.read.describe import Description
    from tracehouse.publish import description
    from tracehouse.publish.simulators import export, loss_report

    spec = build()
    exported = export.export(warehouse, export.LIMITS, trace, clusters or [], spec, out)
    count = exported.report.jobs
    title = f"{count:,} job{'s' * (count != 1)} in {out}; the same report is in {export.REPORT} there"
    notes = {f"note {number}": note for number, note in enumerate(spec.notes, 1)}
    shown = Description(
        f"{trace} as {spec.name}", title, notes, loss_report.tables(exported.report), exported.caveats, ""
    )
    typer.echo(description.as_text(shown, sys.stdout is not None and sys.stdout.isatty()), nl=False)
