"""List the metrics that traces support: those that they declare, and those that follow from requests."""

from collections.abc import Iterable

from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.released import SEVERAL_TRACES, plain_name
from tracehouse.definitions.requests import find_missing, metrics_of
from tracehouse.definitions.view_files import ViewFile
from tracehouse.ingest.declare.metadata import MetricSupport
from tracehouse.ingest.declare.trace import Trace, all_traces

# The metrics that `catalog.metrics` lists for every trace. A trace may add others.
METRICS = (
    *("submission", "wait", "run", "requested GPUs", "allocated GPUs", "GPU utilisation", "CPU utilisation"),
    *("memory use", "power", "energy", "final state", "user", "group or recurrence", "workload"),
    *("machine placement", "GPU sharing", "fragmentation", "deadline", "time to accuracy", "hour of day"),
    "calendar date",
)
# The reason of a metric that a trace does not declare.
NOT_COMPUTED = "No view or query of this trace computes it."


def supported_metrics(trace: Trace) -> dict[str, MetricSupport]:
    """Return the metrics of a trace by name: those that follow from its requests, unless it declares them."""
    of_requests: Iterable[MetricSupport] = ()
    if trace.requests and not find_missing(trace, trace.requests):
        of_requests = metrics_of(trace, trace.requests)
    return {one.name: one for one in (*of_requests, *trace.metrics)}


def read_answers(file: ViewFile | QueryFile) -> list[str]:
    """Return the metrics that the header of a view or query names."""
    return [metric for line in file.header.all("answers") for metric in line.split(", ")]


def find_answers(trace: str, files: Iterable[ViewFile | QueryFile]) -> dict[str, str]:
    """Return the view or query that answers each metric of a trace: its own, or else one of all traces."""
    by_schema: dict[str, dict[str, str]] = {SEVERAL_TRACES: {}, trace: {}}
    for file in files:
        if file.schema in by_schema:
            by_schema[file.schema] |= dict.fromkeys(read_answers(file), plain_name(file.path))
    return by_schema[SEVERAL_TRACES] | by_schema[trace]


def all_metrics(files: Iterable[ViewFile | QueryFile]) -> list[tuple[str, MetricSupport, str]]:
    """List every metric for every trace, in the same order: METRICS, then those that traces add.

    The text is the view or query among `files` that answers it; empty if the metric is impossible. A metric
    that a trace neither declares nor has by its requests is impossible, with the reason NOT_COMPUTED.
    """
    files = list(files)
    supported = {name: supported_metrics(trace) for name, trace in all_traces().items()}
    names = (*METRICS, *sorted({name for found in supported.values() for name in found} - set(METRICS)))
    rows = []
    for trace, found in supported.items():
        answers = find_answers(trace, files)
        for name in names:
            one = found.get(name) or MetricSupport(name, "impossible", NOT_COMPUTED)
            rows.append((trace, one, answers.get(name, "") if one.is_possible else ""))
    return rows
