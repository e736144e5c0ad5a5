"""Helios's job log, `cluster_log.csv`, which several scheduler simulators read.

Source: README of S-Lab-System-Group/HeliosData. Times are local, without a zone; duration is end minus start,
and queue is start minus submit.
"""

import datetime as dt

from tracehouse.publish.simulators.format_spec import (
    ENDS_TOO_EARLY,
    PREFIXED_BY_CLUSTER,
    REQUEST_UNKNOWN,
    RUN_TIME_UNKNOWN,
    STARTS_TOO_EARLY,
    SUBMISSION_UNKNOWN,
    Condition,
    Field,
    File,
    FormatSpec,
    Layout,
    default_sql,
    job_name_field,
)

_TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
# `unified.jobs` counts jobs that timed out or lost a node as failed. The format has a state for each.
_DETAILS = {
    "acme": "select cluster, job_id, state as published_state from acme.job",
    "helios": "select cluster, job_id, state as published_state from helios.job",
}
_STATES = """
    case
        when published_state in ('TIMEOUT', 'NODE_FAIL') then published_state
        when status = 'completed' then 'COMPLETED'
        when status = 'failed' then 'FAILED'
        when status in ('cancelled', 'preempted') then 'CANCELLED'
    end
"""


def build_format(
    first_day: dt.date | None,
    gpus_per_node: int,
    default_user: str,
    default_vc: str,
    default_cpus: int | None,
    default_wait_s: int | None,
    default_state: str,
) -> FormatSpec:
    """Build the format, with defaults for jobs without a date, user, cluster, cores, wait or state."""
    fields = [
        job_name_field("job_id"),
        Field("user", "varchar", "user_id", option="--default-user", default=default_sql(default_user)),
        Field(
            "vc",
            "varchar",
            "coalesce(job_partition, cluster)",
            "partition_name, otherwise the cluster",
            option="--default-vc",
            default=default_sql(default_vc),
            columns=["partition_name"],
            counts=[Condition(PREFIXED_BY_CLUSTER, "job_partition <> partition_name")],
        ),
        Field(
            "gpu_num",
            "bigint",
            "coalesce(requested_gpus, 0)",
            "GPUs requested, 0 if none",
            "ceil",
            columns=["requested_gpus"],
        ),
        Field(
            "cpu_num",
            "bigint",
            "requested_cpus",
            "",
            "ceil",
            option="--default-cpus",
            default=default_sql(default_cpus),
        ),
        Field(
            "node_num",
            "bigint",
            f"greatest(1, ceil(coalesce(requested_gpus, 0) / {gpus_per_node}))",
            "nodes needed for its GPUs",
        ),
        Field(
            "state",
            "varchar",
            _STATES,
            "status, and the published state if it is TIMEOUT or NODE_FAIL",
            option="--default-state",
            default=default_sql(default_state),
            columns=["status"],
            counts=[Condition("preempted, as CANCELLED", "status = 'preempted'")],
        ),
        *_time_fields(first_day, default_wait_s),
    ]
    return FormatSpec(
        name="helios",
        left_out=[SUBMISSION_UNKNOWN, REQUEST_UNKNOWN, RUN_TIME_UNKNOWN, STARTS_TOO_EARLY, ENDS_TOO_EARLY],
        files=[File("cluster_log.csv", Layout.CSV, fields)],
        detail_columns={"published_state": "varchar"},
        details=_DETAILS,
        reads={"acme": ["acme.job"], "helios": ["helios.job"]},
        notes=[f"A node has {gpus_per_node} GPUs.", "Preempted jobs are CANCELLED."],
    )


def _time_fields(first_day: dt.date | None, default_wait_s: int | None) -> list[Field]:
    wait = f"round(coalesce(wait_s, {default_sql(default_wait_s) or 'null'}))"
    return [
        _time_field("submit_time", "0", first_day, "submit_time", "submit_s", "local_submit_s"),
        _time_field("start_time", wait, first_day, "wait_s"),
        _time_field("end_time", f"{wait} + round(run_s)", first_day, "end_s"),
        Field("duration", "bigint", "run_s", "", "round"),
        Field(
            "queue",
            "bigint",
            "wait_s",
            "",
            "round",
            option="--default-wait-s",
            default=default_sql(default_wait_s),
        ),
    ]


def _time_field(name: str, seconds_later: str, first_day: dt.date | None, *columns: str) -> Field:
    """A time some seconds after submission: local if the trace has dates, else counted from `first_day`."""

    def format_time(local: str) -> str:
        whole = f"to_timestamp(round({local}) + {seconds_later})"
        return f"strftime({whole} at time zone 'UTC', '{_TIME_FORMAT}')"

    days = (first_day - dt.date(1970, 1, 1)).days * 86400 if first_day else 0
    return Field(
        name,
        "varchar",
        format_time("case when submit_time is not null then local_submit_s end"),
        "local time of the cluster",
        option="--first-day" if seconds_later == "0" or first_day is None else "--default-wait-s",
        default=format_time(f"submit_s - first_submit_s + {days}") if first_day else "",
        default_note=f"seconds since the first job, starting on {first_day}",
        columns=columns,
    )
