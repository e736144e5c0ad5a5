"""The Standard Workload Format, version 2.2: a line a job, 18 whole numbers, -1 for what is not known.

Source: the Parallel Workloads Archive, "The Standard Workload Format". It counts processors; here they are
GPUs, or equal parts of one, so that fractions of GPUs stay exact.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tracehouse.publish.simulators.format_spec import (
    BEHIND_CLUSTER,
    UNKNOWN_GPUS,
    Field,
    File,
    Form,
    Layout,
    Rule,
)

_NONE = "-1"


def form(processors_per_gpu: int) -> Form:
    """The format, with so many processors for each GPU."""
    return Form(
        name="swf",
        left_out=[
            Rule("its submission is not known", "submit_s is null"),
            UNKNOWN_GPUS,
            Rule("it asks for no GPU", "requested_gpus = 0"),
            Rule("it starts before it is submitted", "wait_s < 0"),
            Rule("it ends before it starts", "run_s < 0"),
        ],
        files=[File("jobs.swf", Layout.SWF, _fields(processors_per_gpu)), NUMBERS],
        notes=[
            f"Processors are GPUs: {processors_per_gpu} processor{'s' * (processors_per_gpu != 1)} a GPU.",
            "Status 0 stands for failed and preempted jobs, -1 for jobs whose end the trace does not tell.",
        ],
        header=_header,
    )


def _fields(processors_per_gpu: int) -> list[Field]:
    return [
        Field("job_number", "bigint", "number", "in the order of submission"),
        Field(
            "submit_s",
            "bigint",
            "submit_s - first_submit_s",
            "counted from the first job, whose date the header has if it is known",
            "round",
            holds=["submit_s", "submit_time"],
        ),
        Field("wait_s", "bigint", "wait_s", "", "round", missing=_NONE),
        Field("run_s", "bigint", "run_s", "", "round", missing=_NONE),
        _processors("allocated_processors", "allocated_gpus", processors_per_gpu),
        _no("average_cpu_time_s"),
        _no("used_memory_kb"),
        _processors("requested_processors", "requested_gpus", processors_per_gpu),
        _no("requested_time_s"),
        Field(
            "requested_memory_kb",
            "bigint",
            f"requested_memory_gib * 1048576 / ceil(requested_gpus * {processors_per_gpu})",
            "KiB a processor",
            "round",
            missing=_NONE,
            holds=["requested_memory_gib"],
        ),
        Field(
            "status",
            "bigint",
            """
            case status
                when 'completed' then 1
                when 'failed' then 0
                when 'preempted' then 0
                when 'cancelled' then 5
            end
            """,
            "by its number",
            missing=_NONE,
            holds=["status"],
        ),
        _numbered("user_number", "user_id"),
        _numbered("group_number", "group_id"),
        _numbered("executable_number", "workload"),
        _no("queue_number"),
        _numbered(
            "partition_number", "partition_name", Rule(BEHIND_CLUSTER, "job_partition <> partition_name")
        ),
        _no("preceding_job_number"),
        _no("think_time_s"),
    ]


def _no(name: str) -> Field:
    return Field(name, "bigint", "null", missing=_NONE)


def _processors(name: str, column: str, a_gpu: int) -> Field:
    return Field(
        name,
        "bigint",
        f"{column} * {a_gpu}",
        "as GPUs" if a_gpu == 1 else f"as {a_gpu} processors a GPU",
        "ceil",
        missing=_NONE,
        holds=[column],
    )


def _numbered(name: str, column: str, *counted: Rule) -> Field:
    rule = f"{column} by its number, see job_numbers.csv"
    return Field(name, "bigint", name, rule, missing=_NONE, holds=[column], counted=counted)


# What the numbers of a file stand for, beside it.
NUMBERS = File(
    "job_numbers.csv",
    Layout.CSV,
    [
        Field("job_number", "bigint", "number", "in the order of submission"),
        *(
            Field(column, "varchar", column, missing="null")
            for column in ("cluster", "job_id", "user_id", "group_id", "workload", "partition_name")
        ),
    ],
)


def _header(facts: Mapping[str, Any]) -> Sequence[str]:
    """The header, whose keys are the standard's."""
    start = facts["first_submit_time"]
    lines = [
        ("Version", "2.2"),
        ("Computer", f"{facts['title']}, GPUs counted as processors"),
        ("Installation", facts["publisher"]),
        ("Acknowledge", facts["citation"]),
        ("Information", facts["homepage"]),
        ("Conversion", f"Tracehouse {facts['version']}"),
        ("MaxJobs", facts["jobs"]),
        ("MaxRecords", facts["jobs"]),
        ("UnixStartTime", int(start.timestamp()) if start else 0),
        ("TimeZoneString", "UTC"),
        ("StartTime", f"{start:%a %b %d %H:%M:%S UTC %Y}" if start else "unknown"),
        *(("Note", note) for note in facts["notes"]),
        ("Note", f"Licence: {facts['licence']}"),
    ]
    return [f"; {key}: {' '.join(str(value).split())}" for key, value in lines]
