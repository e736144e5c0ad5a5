"""List the metrics that traces support: those that they declare, and those that follow from requests."""

from collections.abc import Iterable

from tracehouse.definitions.requests import find_missing, metrics_of
from tracehouse.ingest.declare.metadata import Metric
from tracehouse.ingest.declare.trace import Trace, all_traces

# The metrics that `catalog.metrics` lists for every trace. A trace may add others.
METRICS = (
    *("submission", "wait", "run", "requested GPUs", "allocated GPUs", "GPU utilisation", "CPU utilisation"),
    *("memory use", "power", "energy", "final state", "user", "group or recurrence", "workload"),
    *("machine placement", "GPU sharing", "fragmentation", "deadline", "time to accuracy", "hour of day"),
    "calendar date",
)
# The reason of a metric that a trace does not declare.
NOT_LISTED = "No view or query of this trace computes it."


def supported_metrics(trace: Trace) -> dict[str, Metric]:
    """Return the metrics of a trace by name: those that follow from its requests, unless it declares them."""
    of_requests: Iterable[Metric] = ()
    if trace.requests and not find_missing(trace, trace.requests):
        of_requests = metrics_of(trace, trace.requests)
    return {one.name: one for one in (*of_requests, *trace.metrics)}


def all_metrics() -> list[tuple[str, Metric]]:
    """List every metric for every trace, in the same order: METRICS, then those that traces add.

    A metric that a trace neither declares nor has by its requests counts as impossible, with the reason
    NOT_LISTED.
    """
    found = {
        (name, one.name): one
        for name, trace in all_traces().items()
        for one in supported_metrics(trace).values()
    }
    added = sorted({name for _, name in found} - set(METRICS))
    return [
        (trace, found.get((trace, name)) or Metric(name, "impossible", NOT_LISTED))
        for trace in all_traces()
        for name in (*METRICS, *added)
    ]
