"""Rules on metrics: a view or query answers each that a trace supports; the others have specific reasons."""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from sqlglot import exp

from tracehouse.definitions.findings import Finding, place_of, suggest
from tracehouse.definitions.lint.read import Definitions, Place
from tracehouse.definitions.metrics import METRICS, find_answers, read_answers, supported_metrics
from tracehouse.definitions.query_files import QueryFile
from tracehouse.definitions.released import SEVERAL_TRACES, plain_name
from tracehouse.definitions.view_files import ViewFile
from tracehouse.ingest.declare.trace import Trace

# Patterns of published columns that may record a metric. If the metric is impossible, its reason names one.
_EVIDENCE = {
    "wait": r"start_time|scheduled_time|queue",
    "allocated GPUs": r"gpu_(num|request)|num_gpu|^gpus$",
    "GPU utilisation": r"gpu.*util|duty|gpu_milli",
    "CPU utilisation": r"cpu.*(util|usage|request)|cpu_milli",
    "memory use": r"mem.*(util|free)|memory_|(avg|max)_mem",
    "power": r"power|watt",
    "energy": r"energy|joule",
    "final state": r"status|^state$|phase",
    "user": r"^user|organi[sz]ation|app_name",
    "group or recurrence": r"group|^vc$",
    "workload": r"workload|model_name|job_type|predict_type",
    "machine placement": r"machine|node_name|node_num|^ip$|container_ip",
    "GPU sharing": r"gpu_name|gpu_request|^gpus$",
    "deadline": r"deadline|timeout",
    "time to accuracy": r"accuracy|target_|num_iteration",
    "hour of day": r"^(submit|submitted|submission|creation)_time$",
    "calendar date": r"^(submit|submitted|creation)_time$",
}
# Patterns of columns of queries that measure a metric.
_MEASURES = {
    "wait": r"wait_s$",
    "GPU utilisation": r"gpu_(util|duty|pct)|mean_gpu_pct",
    "power": r"power",
    "energy": r"energy",
    "final state": r"status$|^state$|failed_pct",
    "user": r"^user",
    "GPU sharing": r"double_alloc|shar(ed|ing)",
    "fragmentation": r"unusable|fragment",
    "deadline": r"deadline|tightness",
    "hour of day": r"hour_of_day",
}


def lint_metrics(definitions: Definitions, trace: Trace, place: Place) -> Iterator[Finding]:
    """Yield the findings on the metrics that a trace declares."""
    answers = find_answers(trace.name, definitions.answering)
    known = {table.name for table in trace.tables}
    known |= {column.name for table in trace.tables for column in table.stored_columns}
    for metric in trace.metrics:
        at = place(metric.name)
        if metric.name not in METRICS and get_close_matches(metric.name, METRICS, 1, 0.75):
            yield Finding(at, f"no metric is called {metric.name}{suggest(metric.name, METRICS)}", "metric")
        if not metric.reason.endswith("."):
            yield Finding(at, f"the reason of {metric.name} must end with a full stop", "metric")
        if metric.is_possible and metric.name not in answers:
            what = (
                f"no view or query answers {metric.name}: add `-- answers: {metric.name}` to the header of"
                " one, or declare it as impossible"
            )
            yield Finding(at, what, "metric")
        if not metric.is_possible:
            for name in re.findall(r"\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b", metric.reason):
                if name not in known:
                    what = (
                        f"the reason of {metric.name} names {name}, which is no column{suggest(name, known)}"
                    )
                    yield Finding(at, what, "column name")


def lint_answers(definitions: Definitions, file: ViewFile | QueryFile) -> Iterator[Finding]:
    """Yield the metrics in a header that the trace does not support, or that another header names, too."""
    if not (named := read_answers(file)):
        return
    supported = {
        name
        for trace in definitions.traces
        if file.schema in (trace.name, SEVERAL_TRACES)
        for name, metric in supported_metrics(trace).items()
        if metric.is_possible
    }
    answers = find_answers(file.schema, definitions.answering)
    at = place_of(file.path, "-- answers:")
    for name in named:
        if name not in supported:
            what = f"answers {name}, which {file.schema} does not support{suggest(name, supported)}"
            yield Finding(at, what, "metric")
        elif answers.get(name, plain_name(file.path)) != plain_name(file.path):
            yield Finding(at, f"answers {name}, as {answers[name]} does: remove one of the two", "metric")


def lint_impossible_metrics(definitions: Definitions, trace: Trace, place: Place) -> Iterator[Finding]:
    """Yield the metrics that a trace seems to support but does not declare."""
    declared = supported_metrics(trace)
    columns = [column.name for table in trace.tables for column in table.stored_columns]
    for name, pattern in _EVIDENCE.items():
        metric = declared.get(name)
        suggesting = [column for column in columns if re.search(pattern, column)]
        is_explained = metric and (metric.is_possible or any(one in metric.reason for one in suggesting))
        if suggesting and not is_explained:
            what = (
                f'{suggesting[0]} suggests the metric {name}: declare MetricSupport("{name}", …) and add'
                f" `-- answers: {name}` to the header of a view, or declare it as impossible, with a reason"
                f" that names {suggesting[0]}"
            )
            yield Finding(place(suggesting[0]), what, "metric")
    for query in (one for one in definitions.queries if one.schema == trace.name):
        selected = query.tree.named_selects if isinstance(query.tree, exp.Query) else []
        for name, pattern in _MEASURES.items():
            metric = declared.get(name)
            measuring = [column for column in selected if re.search(pattern, column)]
            if measuring and not (metric and metric.is_possible):
                what = (
                    f"{measuring[0]} measures the metric {name}, which {trace.name} does not declare: add"
                    f' MetricSupport("{name}", "exact", "<reason>.") to its `metrics`, and'
                    f" `-- answers: {name}` to the header"
                )
                yield Finding(place_of(query.path, measuring[0]), what, "metric")
