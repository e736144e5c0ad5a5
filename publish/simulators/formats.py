"""The formats of simulators. Each output file is a query in an SQL file of this folder.

The queries read `job`, the exported jobs. It has the columns of `unified.jobs`; `number`, from 1 in the order
of submission; `first_submit_s`; `job_name` and `job_partition`, which are job_id and partition_name, prefixed
by the cluster if several clusters are exported; numbers of users, groups, workloads and partitions; and
columns that only one trace has. Queries of formats of requests read `request`: the columns of
`unified.requests`; `number`, from 1 in the order of arrival; and `offset_s`, the seconds since the first
exported request. Their parameters are the options of the command, `trace`, and, for jobs, `separator`.

A comment above each column describes it: `-- from <columns of the view>: <how> [<default>]`. Without
<how>, the value is the first column's. A default is `optional` if values may be missing, or else names the
options that set it. Columns after these have a name `<field>: <text>`; they are conditions that the loss
report counts. What a reader finds in the written file is in `readback`.

The macros of `CHANGES`, such as `otherwise` (a value, or else its default), compute the written values. The
loss report defines them as their first argument, and so tells what a value is without them.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracehouse.core.text import quoted

SKIPPED_JOBS = {
    "its submission time is unknown": "submit_s is null",
    # Such a job may use GPUs. A format without a marker for unknown values would show a job without GPUs.
    "its requested GPUs are unknown": "requested_gpus is null",
    "it requests no GPU": "requested_gpus = 0",
    "it was still running when the trace ended": "is_right_censored and run_s is null",
    "it started before the trace began": "is_left_censored and run_s is null",
    "it never started": "wait_s is null and observed_wait_s is not null and run_s is null",
    "its start or its end is unknown": "run_s is null",
    "it starts before it is submitted": "wait_s < 0",
    "it ends before it starts": "run_s < 0",
}
"""The reasons for which a format may skip jobs, with their conditions."""

SKIPPED_REQUESTS = {
    "its arrival is unknown": "arrival_s is null",
    "it arrives before --from-s": "elapsed_s < $from_s",
    "it arrives at --to-s or later": "elapsed_s >= $to_s",
    "it failed": "status = 'failed'",
    "its input tokens are unknown": "input_tokens is null",
    "its output tokens are unknown": "output_tokens is null",
    # A load generator would raise them to 1.
    "it has no input tokens": "input_tokens = 0",
    "it has no output tokens": "output_tokens = 0",
    # A hash of the request and the seed, so that every run keeps the same requests.
    "it is not in the sample of --sample with --seed": (
        "md5_number_lower(concat_ws(' ', $seed, trace, workload, request_number, arrival_s)) % 1000000000"
        " >= $sample * 1000000000"
    ),
}
"""The reasons for which requests are skipped, with their conditions, whose parameters are options."""

CHANGES = {
    "rounded(x)": "cast(round(x) as bigint)",
    "rounded_up(x)": "cast(ceil(x) as bigint)",
    "int32(x)": "cast(x as integer)",
    "otherwise(x, y)": "coalesce(x, y)",
    # Seven decimals, as .NET writes.
    "azure_time(x)": "strftime(make_timestamp(cast(round(x * 1000000) as bigint)), '%Y-%m-%d %H:%M:%S.%f0')",
}
"""The macros of the queries that change values, or replace them."""
MACROS = {
    # A time in seconds of a local clock.
    "log_time(x)": "strftime(to_timestamp(x) at time zone 'UTC', '%Y-%m-%d %H:%M:%S')",
    # The instances of a job: as published, or else those that its request consists of.
    "instance_count(known, gpus, gpus_of_each)": (
        "greatest(1, coalesce(known, cast(round(gpus / nullif(gpus_of_each, 0)) as bigint), 1))"
    ),
    # Philly's list of attempts, with one; NULL without a start.
    "attempt(start_s, run, machines)": (
        "case when start_s is not null then [struct_pack(start_time := log_time(start_s),"
        " end_time := coalesce(log_time(start_s + run), 'None'), detail := machines)] end"
    ),
}
"""The other macros of the queries."""

_FIELD = re.compile(r"(?:from (?P<columns>[\w, ]+?)(?:: (?P<how>.*?))?)?(?: ?\[(?P<default>.*)\])?")


@dataclass(frozen=True)
class Population:
    """The kind of rows in an export: jobs or requests.

    The first of `views` has all rows, the others more about them. `part` is the column by which users select
    rows. `skipped` has the reasons to skip rows, with their conditions. The columns in `needs_no_field` are
    not reported as dropped.
    """

    name: str
    views: Sequence[str]
    part: str
    skipped: Mapping[str, str]
    needs_no_field: Set[str]


# An export has a single trace, and the other columns are computed from exported columns or give the order.
JOBS = Population(
    "job",
    ("unified.jobs", "unified.capacity"),
    "cluster",
    SKIPPED_JOBS,
    {"trace", "size_band", "hour_of_day", "weekday", "span_gpu_s"},
)
REQUESTS = Population(
    "request",
    ("unified.requests",),
    "workload",
    SKIPPED_REQUESTS,
    {"trace", "request_number", "arrival_s", "status"},
)


@dataclass(frozen=True)
class Field:
    """A field of a file: the columns of the view that it represents, how, and what replaces NULL."""

    columns: Sequence[str]
    how: str
    default: str
    is_rounded_up: bool

    @property
    def is_optional(self) -> bool:
        """Whether values may be missing."""
        return self.default.startswith("optional")

    @property
    def options(self) -> list[str]:
        """The options that must be set if the trace lacks values."""
        return re.findall(r"--[a-z-]+", self.default)


def _read_sql(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class File:
    """A file of an export: its name, the query of its rows, and its fields in their order."""

    name: str
    query: str

    @property
    def sql(self) -> str:
        """The query."""
        return _read_sql(self.query)

    @property
    def fields(self) -> list[Field]:
        """The fields, read from the comments of the query."""
        comments = re.findall(r"^ +-- ((?:from |\[).*(?:\n +-- .*)*)\n(.*)", self.sql, re.M)
        found = [(_FIELD.fullmatch(re.sub(r"\s+-- ", " ", comment)), sql) for comment, sql in comments]
        return [
            Field(
                (one["columns"] or "").split(", "),
                one["how"] or "",
                one["default"] or "",
                "rounded_up(" in sql,
            )
            for one, sql in found
            if one
        ]


@dataclass(frozen=True)
class ExportFormat:
    """A format, with its files and options for one trace. The first file has the jobs or requests.

    `skipped` has reasons of the population. `details` is a SELECT of job_id, cluster (if the trace has
    clusters) and columns that `unified.jobs` lacks; `detail_columns` has the names and types of these
    columns, which are NULL if the SELECT lacks them. `reads` are other views and tables that are read; their
    caveats and sources apply too. `notes` are for the readers of the files.
    """

    name: str
    options: Mapping[str, Any]
    files: Sequence[File]
    skipped: Sequence[str]
    notes: Sequence[str]
    detail_columns: Mapping[str, str] = field(default_factory=dict)
    details: str = ""
    reads: Sequence[str] = ()
    population: Population = JOBS


def bind(sql: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that occur in a query. DuckDB refuses others."""
    return {name: value for name, value in values.items() if re.search(rf"\${name}\b", sql)}


def build_format(name: str, trace: str, options: Mapping[str, Any]) -> ExportFormat:
    """Return a format with the values of its options, None if they are not set."""
    return _BUILD[name](trace, options)


def reason_sql(reasons: Mapping[str, str]) -> str:
    """Return the SQL of the first reason whose condition holds for a row, or NULL."""
    return f"case {' '.join(f'when {sql} then {quoted(reason)}' for reason, sql in reasons.items())} end"


_SUBMISSION, _REQUEST, _NO_GPU, *NO_RUN_TIME, _EARLY_START, _EARLY_END = SKIPPED_JOBS
"""`NO_RUN_TIME` are the reasons for which a job has no run time; the last one applies to all these jobs."""


# What traces say about the instances of a job.
_INSTANCES = {
    "openb": "select name as job_id, 1 as instances, num_gpu, gpu_milli, qos, pod_phase from openb.pod "
    "where variant = 'default'",
    "pai": "select job_name || '/' || task_name as job_id, cast(inst_num as bigint) as instances "
    "from pai.task",
    "spot": "select job_name as job_id, worker_num as instances from spot.job",
}
_INSTANCE_COLUMNS = {
    **{"instances": "bigint", "num_gpu": "bigint", "gpu_milli": "bigint"},
    **{"qos": "varchar", "pod_phase": "varchar"},
}


def _swf(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    per_gpu = options["processors_per_gpu"]
    return ExportFormat(
        "swf",
        options,
        [File("jobs.swf", "swf_jobs"), File("job_numbers.csv", "job_numbers")],
        [_SUBMISSION, _REQUEST, _NO_GPU, _EARLY_START, _EARLY_END],
        [
            f"Processors are GPUs: {per_gpu} processor{'s' * (per_gpu != 1)} per GPU.",
            "Status 0 means failed or preempted, -1 unknown.",
        ],
    )


def _opendc(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    gpu = f", a GPU {options['gpu_mhz']:g} MHz" if options["gpu_mhz"] else ""
    return ExportFormat(
        "opendc",
        options,
        [File("tasks.parquet", "opendc_tasks"), File("fragments.parquet", "opendc_fragments")],
        [_SUBMISSION, _REQUEST, *NO_RUN_TIME, _EARLY_END],
        [
            f"A core has {options['cpu_mhz']:g} MHz{gpu}.",
            "A task has one fragment for its whole run time, because no trace records usage over time.",
            "Usage may exceed capacity: capacity is the request, which OpenDC uses to place the task.",
        ],
        {"cpu_use_of_plan": "double", "gpu_use_of_plan": "double"},
        "select job_name || '/' || task_name as job_id, cpu_use_of_plan, gpu_use_of_plan from pai.task_usage"
        if trace == "pai"
        else "",
        ["pai.task_usage"] if trace == "pai" else [],
    )


def _openb(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    files = [File(f"openb_pod_list_{trace}.csv", "openb_pods")]
    notes = [
        "Each instance of a job is a pod, or several pods if it has more than "
        f"{options['gpus_per_node']} GPUs.",
        "Pods have one phase without success: jobs that were cancelled or preempted, timed out or lost a "
        "node are Failed.",
    ]
    if trace in ("openb", "pai"):
        files += [File(f"openb_node_list_{trace}.csv", f"openb_nodes_{trace}")]
    else:
        missing = {"philly": "the cores and memory of its nodes", "spot": "the memory of its nodes"}
        notes += [f"There is no node list: {trace} lacks {missing.get(trace, 'node data')}."]
    return ExportFormat(
        "openb",
        options,
        files,
        [_SUBMISSION, _REQUEST, _EARLY_START, _EARLY_END],
        notes,
        _INSTANCE_COLUMNS,
        _INSTANCES.get(trace, ""),
        {"openb": ["openb.node"], "pai": ["pai.machine_spec"], "spot": ["spot.job"]}.get(trace, ()),
    )


def _elasticflow(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    return ExportFormat(
        "elasticflow",
        options,
        [File("jobs.csv", "elasticflow_jobs")],
        [_SUBMISSION, _REQUEST, _NO_GPU, *NO_RUN_TIME, _EARLY_END],
        ["Models, batch sizes, iterations and deadlines are generated, by ElasticFlow or by the options."],
        {"model_name": "varchar", "batch_size": "bigint", "num_iteration": "bigint", "deadline_s": "bigint"},
        "select cluster, job_id, model_name, batch_size, num_iteration, deadline_s from itp.job"
        if trace == "itp"
        else "",
        ["itp.job"] if trace == "itp" else [],
    )


def _helios(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    # `unified.jobs` counts jobs that timed out or lost a node as failed. The format has a state for each.
    has_states = trace in ("acme", "helios")
    return ExportFormat(
        "helios",
        options,
        [File("cluster_log.csv", "helios_cluster_log")],
        [_SUBMISSION, _REQUEST, *NO_RUN_TIME, _EARLY_START, _EARLY_END],
        [f"A node has {options['gpus_per_node']} GPUs.", "Preempted jobs are CANCELLED."],
        {"published_state": "varchar"},
        f"select cluster, job_id, state as published_state from {trace}.job" if has_states else "",
        [f"{trace}.job"] if has_states else [],
    )


def _philly(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    is_own = trace == "philly"
    machine = "struct(ip varchar, gpus varchar[])"
    notes = ["Preempted jobs are Killed. A last attempt without an end still ran when the trace ended."]
    if not is_own:
        notes += [f"Machines are invented: m1, m2, … of each job, with {options['gpus_per_node']} GPUs each."]
    return ExportFormat(
        "philly",
        options,
        [File("cluster_job_log", "philly_job_log")],
        # Philly's log has jobs without attempts, and times that run backwards.
        [_SUBMISSION] if is_own else [_SUBMISSION, _REQUEST, _NO_GPU, _EARLY_START, _EARLY_END],
        notes,
        {
            "submitted_time": "varchar",
            "attempts": f"struct(start_time varchar, end_time varchar, detail {machine}[])[]",
        },
        _read_sql("philly_attempts") if is_own else "",
        ["philly.attempt", "philly.attempt_machine"] if is_own else [],
    )


def _pai(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    return ExportFormat(
        "pai",
        options,
        [File("jobs.csv", "pai_jobs"), File("job_numbers.csv", "job_numbers")],
        [_SUBMISSION, _REQUEST, *NO_RUN_TIME, _EARLY_END],
        [
            "The simulator starts all instances of a job together, and runs each for its duration.",
            "Its policies SJU, SJG and SJGG also need estimates of durations, which are not exported.",
        ],
        _INSTANCE_COLUMNS,
        _INSTANCES.get(trace, ""),
        [{"openb": "openb.pod", "pai": "pai.task", "spot": "spot.job"}[trace]] if trace in _INSTANCES else [],
    )


def _mooncake(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    return _requests("mooncake", File("requests.jsonl", "mooncake_requests"), options)


def _azure(trace: str, options: Mapping[str, Any]) -> ExportFormat:
    return _requests("azure", File("requests.csv", "azure_requests"), options)


def _requests(name: str, file: File, options: Mapping[str, Any]) -> ExportFormat:
    notes = []
    if options["rate_factor"] != 1:
        notes += ["--rate-factor compresses times and skips no request."]
    if options["sample"] != 1:
        notes += ["A sample lowers the rate, and the share of prefix blocks that are used again."]
    return ExportFormat(name, options, [file], [*SKIPPED_REQUESTS], notes, population=REQUESTS)


_BUILD = {
    "swf": _swf,
    "opendc": _opendc,
    "openb": _openb,
    "elasticflow": _elasticflow,
    "helios": _helios,
    "philly": _philly,
    "pai": _pai,
    "mooncake": _mooncake,
    "azure": _azure,
}
