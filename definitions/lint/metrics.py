"""Rules on metrics that a trace does not support: the reason is specific, and no query computes them."""

import re
from collections.abc import Iterator

from sqlglot import exp

from tracehouse.definitions.lint.subject import Finding, Place, Subject, place_of
from tracehouse.definitions.metrics import supported_metrics
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


def lint_impossible_metrics(subject: Subject, trace: Trace, place: Place) -> Iterator[Finding]:
    """Yield the metrics that a trace seems to support but does not declare."""
    declared = supported_metrics(trace)
    columns = [column.name for table in trace.tables for column in table.stored_columns]
    for name, pattern in _EVIDENCE.items():
        metric = declared.get(name)
        suggesting = [column for column in columns if re.search(pattern, column)]
        is_explained = metric and (metric.answered_by or any(one in metric.reason for one in suggesting))
        if suggesting and not is_explained:
            what = (
                f'{suggesting[0]} suggests the metric {name}: declare Metric("{name}", …) with the view that'
                f" answers it, or as impossible, with a reason that names {suggesting[0]}"
            )
            yield Finding(place(suggesting[0]), what, "metric")
    for query in (one for one in subject.queries if one.schema == trace.name):
        selected = query.tree.named_selects if isinstance(query.tree, exp.Query) else []
        for name, pattern in _MEASURES.items():
            metric = declared.get(name)
            measuring = [column for column in selected if re.search(pattern, column)]
            if measuring and not (metric and metric.answered_by):
                what = (
                    f"{measuring[0]} measures the metric {name}, which {trace.name} does not declare: add"
                    f' Metric("{name}", "exact", "<reason>.", "{query.full_name}") to its `metrics`'
                )
                yield Finding(place_of(query.path, measuring[0]), what, "metric")
