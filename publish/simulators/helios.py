"""Helios's job log, `cluster_log.csv`, which several schedulers' simulators read.

Source: README of S-Lab-System-Group/HeliosData. Times are local and have no zone; duration is end less start,
and queue is start less submit.
"""

import datetime as dt

from tracehouse.engines.duckdb.names import quoted
from tracehouse.publish.simulators.format_spec import (
    BEHIND_CLUSTER,
    UNKNOWN_GPUS,
    Field,
    File,
    Form,
    Layout,
    Rule,
    named,
)

_AS_WRITTEN = "%Y-%m-%d %H:%M:%S"
_STATES = """
    case status
        when 'completed' then 'COMPLETED'
        when 'failed' then 'FAILED'
        when 'cancelled' then 'CANCELLED'
        when 'preempted' then 'CANCELLED'
    end
"""


def form(
    first_day: dt.date | None,
    gpus_per_node: int,
    default_user: str,
    default_vc: str,
    default_cpus: int | None,
    default_wait_s: int | None,
    default_state: str,
) -> Form:
    """The format, with what is to be said of jobs without a date, user, cluster, cores, wait or state."""
    return Form(
        name="helios",
        left_out=[
            Rule("its submission is not known", "submit_s is null"),
            UNKNOWN_GPUS,
            Rule("its run is not known", "run_s is null"),
            Rule("it starts before it is submitted", "wait_s < 0"),
            Rule("it ends before it starts", "run_s < 0"),
        ],
        files=[
            File(
                "cluster_log.csv",
                Layout.CSV,
                _fields(
                    first_day,
                    gpus_per_node,
                    default_user,
                    default_vc,
                    default_cpus,
                    default_wait_s,
                    default_state,
                ),
            )
        ],
        notes=[f"A node has {gpus_per_node} GPUs.", "Preempted jobs are CANCELLED."],
    )


def _fields(
    first_day: dt.date | None,
    gpus_per_node: int,
    default_user: str,
    default_vc: str,
    default_cpus: int | None,
    default_wait_s: int | None,
    default_state: str,
) -> list[Field]:
    wait = f"round(coalesce(wait_s, {default_wait_s if default_wait_s is not None else 'null'}))"
    return [
        named("job_id"),
        Field("user", "varchar", "user_id", option="--default-user", default=_text(default_user)),
        Field(
            "vc",
            "varchar",
            "coalesce(job_partition, cluster)",
            "partition_name, or else the cluster",
            option="--default-vc",
            default=_text(default_vc),
            holds=["partition_name"],
            counted=[Rule(BEHIND_CLUSTER, "job_partition <> partition_name")],
        ),
        Field(
            "gpu_num",
            "bigint",
            "coalesce(requested_gpus, 0)",
            "GPUs requested, 0 for none",
            "ceil",
            holds=["requested_gpus"],
        ),
        Field(
            "cpu_num",
            "bigint",
            "requested_cpus",
            "",
            "ceil",
            option="--default-cpus",
            default="" if default_cpus is None else repr(default_cpus),
        ),
        Field(
            "node_num",
            "bigint",
            f"greatest(1, ceil(coalesce(requested_gpus, 0) / {gpus_per_node}))",
            "as many nodes as its GPUs need",
        ),
        Field(
            "state",
            "varchar",
            _STATES,
            "status",
            option="--default-state",
            default=_text(default_state),
            holds=["status"],
        ),
        _instant("submit_time", "0", first_day, "submit_time", "submit_s", "local_submit_s"),
        _instant("start_time", wait, first_day, "wait_s"),
        _instant("end_time", f"{wait} + round(run_s)", first_day, "end_s"),
        Field("duration", "bigint", "run_s", "", "round"),
        Field(
            "queue",
            "bigint",
            "wait_s",
            "",
            "round",
            option="--default-wait-s",
            default="" if default_wait_s is None else repr(default_wait_s),
        ),
    ]


def _instant(name: str, seconds_later: str, first_day: dt.date | None, *holds: str) -> Field:
    """A time so long after the submission: local where the trace has dates, else from a first day on."""

    def written(local: str) -> str:
        whole = f"to_timestamp(round({local}) + {seconds_later})"
        return f"strftime({whole} at time zone 'UTC', '{_AS_WRITTEN}')"

    days = (first_day - dt.date(1970, 1, 1)).days * 86400 if first_day else 0
    return Field(
        name,
        "varchar",
        written("case when submit_time is not null then local_submit_s end"),
        "where the cluster is",
        option="--first-day" if seconds_later == "0" or first_day is None else "--default-wait-s",
        default=written(f"submit_s - first_submit_s + {days}") if first_day else "",
        otherwise=f"seconds since the first job, from {first_day} on",
        holds=holds,
    )


def _text(text: str) -> str:
    return quoted(text) if text else ""
