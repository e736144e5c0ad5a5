"""The Standard Workload Format, version 2.2: a line of 18 whole numbers per job, -1 for unknown.

Source: the Parallel Workloads Archive, "The Standard Workload Format". A processor is a
GPU here, or a fraction of a GPU, so that fractional requests stay exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from tracehouse.publish.simulators.format_spec import (
    ENDS_TOO_EARLY,
    NO_GPU,
    PREFIXED_BY_CLUSTER,
    REQUEST_UNKNOWN,
    STARTS_TOO_EARLY,
    SUBMISSION_UNKNOWN,
    Condition,
    Field,
    File,
    FormatSpec,
    Layout,
)

_UNKNOWN = "-1"


def build_format(processors_per_gpu: int) -> FormatSpec:
    """Build the format, with a number of processors per GPU."""
    return FormatSpec(
        name="swf",
        left_out=[SUBMISSION_UNKNOWN, REQUEST_UNKNOWN, NO_GPU, STARTS_TOO_EARLY, ENDS_TOO_EARLY],
        files=[File("jobs.swf", Layout.SWF, _fields(processors_per_gpu)), NUMBERS],
        notes=[
            f"Processors are GPUs: {processors_per_gpu} processor{'s' * (processors_per_gpu != 1)} per GPU.",
            "Status 0 means failed or preempted, -1 unknown.",
        ],
        header=partial(_header, processors_per_gpu),
    )


def _fields(processors_per_gpu: int) -> list[Field]:
    return [
        Field("job_number", "bigint", "number", "in the order of submission"),
        Field(
            "submit_s",
            "bigint",
            "submit_s - first_submit_s",
            "seconds since the first job, whose date is in the header if known",
            "round",
            columns=["submit_s", "submit_time"],
        ),
        Field("wait_s", "bigint", "wait_s", "", "round", missing=_UNKNOWN),
        Field("run_s", "bigint", "run_s", "", "round", missing=_UNKNOWN),
        _processors("allocated_processors", "allocated_gpus", processors_per_gpu),
        _unknown("average_cpu_time_s"),
        _unknown("used_memory_kb"),
        _processors("requested_processors", "requested_gpus", processors_per_gpu),
        _unknown("requested_time_s"),
        Field(
            "requested_memory_kb",
            "bigint",
            f"requested_memory_gib * 1048576 / ceil(requested_gpus * {processors_per_gpu})",
            "KiB per processor",
            "round",
            missing=_UNKNOWN,
            columns=["requested_memory_gib"],
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
            "by its code",
            missing=_UNKNOWN,
            columns=["status"],
        ),
        _numbered_field("user_number", "user_id"),
        _numbered_field("group_number", "group_id"),
        _numbered_field("executable_number", "workload"),
        _unknown("queue_number"),
        _numbered_field(
            "partition_number",
            "partition_name",
            Condition(PREFIXED_BY_CLUSTER, "job_partition <> partition_name"),
        ),
        _unknown("preceding_job_number"),
        _unknown("think_time_s"),
    ]


def _unknown(name: str) -> Field:
    return Field(name, "bigint", "null", missing=_UNKNOWN)


def _processors(name: str, column: str, per_gpu: int) -> Field:
    return Field(
        name,
        "bigint",
        f"{column} * {per_gpu}",
        "as GPUs" if per_gpu == 1 else f"as {per_gpu} processors a GPU",
        "ceil",
        missing=_UNKNOWN,
        columns=[column],
    )


def _numbered_field(name: str, column: str, *counted: Condition) -> Field:
    derivation = f"{column} by its number in job_numbers.csv"
    return Field(name, "bigint", name, derivation, missing=_UNKNOWN, columns=[column], counts=counted)


# The values that numbers in jobs.swf refer to.
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


def _header(processors_per_gpu: int, facts: Mapping[str, Any]) -> Sequence[str]:
    """The header lines, with the keys of the standard, in its order; lines of unknown values are left out."""
    lines = [
        ("Version", "2.2"),
        ("Computer", f"{facts['title']}, GPUs counted as processors"),
        ("Installation", facts["publisher"]),
        ("Acknowledge", facts["citation"]),
        ("Information", facts["homepage"]),
        ("Conversion", f"Tracehouse {facts['version']}"),
        ("MaxJobs", facts["jobs"]),
        ("MaxRecords", facts["jobs"]),
        *_dates(facts),
        ("MaxNodes", facts["nodes"]),
        ("MaxProcs", facts["gpus"] and int(facts["gpus"]) * processors_per_gpu),
        ("MaxPartitions", facts["partitions"] or None),
        *(("Note", note) for note in facts["notes"]),
        ("Note", f"Licence: {facts['licence']}"),
    ]
    return [f"; {key}: {' '.join(str(value).split())}" for key, value in lines if value is not None]


def _dates(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Header lines on the start of the log. The time zone is left out if it is unknown."""
    start, zone = facts["first_submit_time"], facts["zone"]
    yield "UnixStartTime", int(start.timestamp()) if start else 0
    if not start:
        yield "Note", "UnixStartTime is 0 because the trace has no dates"
    elif zone:
        yield "TimeZoneString", zone
        yield "StartTime", f"{start.astimezone(ZoneInfo(zone)):%a %b %d %H:%M:%S %Z %Y}"
    else:
        yield "StartTime", f"{start:%a %b %d %H:%M:%S UTC %Y}"
