"""OpenDC's workloads: tasks, and fragments with their usage over time.

Source: OpenDC's TASK_SCHEMA_V3 and FRAGMENT_SCHEMA_v2, July 2026. Capacity and usage are in MHz,
summed over the cores or GPUs of a task; memory is in MB, taken as MiB.
"""

from tracehouse.publish.simulators.format_spec import (
    ENDS_TOO_EARLY,
    REQUEST_UNKNOWN,
    RUN_TIME_UNKNOWN,
    SUBMISSION_UNKNOWN,
    Condition,
    Field,
    File,
    FormatSpec,
    Layout,
    default_sql,
    job_name_field,
)

# Only PAI records which share of its request a task used, as a mean over its workers' lifetimes.
_DETAILS = {
    "pai": """
        select job_name || '/' || task_name as job_id, cpu_use_of_plan, gpu_use_of_plan
        from pai.task_usage
    """
}


def build_format(
    cpu_mhz: float, gpu_mhz: float | None, default_cpus: int | None, default_mem_mib: int | None
) -> FormatSpec:
    """Build the format, with clock rates and with defaults for tasks that request no cores or memory."""
    return FormatSpec(
        name="opendc",
        left_out=[
            SUBMISSION_UNKNOWN,
            REQUEST_UNKNOWN,
            Condition("it was still running when the trace ended", "is_right_censored and run_s is null"),
            RUN_TIME_UNKNOWN,
            ENDS_TOO_EARLY,
        ],
        files=[
            File(
                "tasks.parquet", Layout.PARQUET, _task_fields(cpu_mhz, gpu_mhz, default_cpus, default_mem_mib)
            ),
            File("fragments.parquet", Layout.PARQUET, _fragment_fields(cpu_mhz, gpu_mhz, default_cpus)),
        ],
        detail_columns={"cpu_use_of_plan": "double", "gpu_use_of_plan": "double"},
        details=_DETAILS,
        reads={"pai": ["pai.task_usage"]},
        notes=[
            f"A core has {cpu_mhz:g} MHz" + (f", a GPU {gpu_mhz:g} MHz." if gpu_mhz else "."),
            "A task has one fragment for its whole run time, because no trace records usage over time.",
            "Usage may exceed capacity: capacity is the request, which OpenDC uses to place the task.",
        ],
    )


def _task_fields(
    cpu_mhz: float, gpu_mhz: float | None, default_cpus: int | None, default_mem_mib: int | None
) -> list[Field]:
    return [
        Field("id", "integer", "number", "in the order of submission"),
        Field(
            "submission_time",
            "timestamptz",
            "coalesce(submit_time, to_timestamp(submit_s - first_submit_s))",
            "its date, otherwise its seconds since the first job counted from 1970",
            columns=["submit_time", "submit_s"],
        ),
        _DURATION,
        Field(
            "cpu_count",
            "integer",
            "nullif(requested_cpus, 0)",
            "requested cores",
            "ceil",
            option="--default-cpus",
            default=default_sql(default_cpus),
            columns=["requested_cpus"],
        ),
        Field(
            "cpu_capacity",
            "double",
            f"ceil(nullif(requested_cpus, 0)) * {cpu_mhz!r}",
            "requested cores, rounded up, times --cpu-mhz",
            option="--default-cpus",
            default="" if default_cpus is None else repr(default_cpus * cpu_mhz),
            default_note=f"--default-cpus {default_cpus} times --cpu-mhz {cpu_mhz:g}",
        ),
        Field(
            "mem_capacity",
            "bigint",
            "nullif(requested_memory_gib, 0) * 1024",
            "requested MiB",
            "round",
            option="--default-mem-mib",
            default=default_sql(default_mem_mib),
            columns=["requested_memory_gib"],
        ),
        job_name_field("name", missing="null"),
        Field(
            "gpu_count",
            "integer",
            "nullif(requested_gpus, 0)",
            "requested GPUs",
            "ceil",
            missing="null",
            columns=["requested_gpus"],
        ),
        Field(
            "gpu_capacity",
            "double",
            f"nullif(requested_gpus, 0) * {gpu_mhz!r}" if gpu_mhz else "cast(null as double)",
            "requested GPUs, with fractions, times --gpu-mhz",
            missing="null",
        ),
        *(
            Field(name, "integer[]", "cast(null as integer[])", missing="null")
            for name in ("parents", "children")
        ),
        Field("deferrable", "boolean", "cast(null as boolean)", missing="null"),
        Field("deadline", "bigint", "cast(null as bigint)", missing="null"),
    ]


_DURATION = Field("duration", "bigint", "run_s * 1000", "run_s in milliseconds", "round", columns=["run_s"])


def _fragment_fields(cpu_mhz: float, gpu_mhz: float | None, default_cpus: int | None) -> list[Field]:
    cpus = f"coalesce(nullif(requested_cpus, 0), {default_sql(default_cpus) or 'null'})"
    return [
        Field("id", "integer", "number", "in the order of submission"),
        _DURATION,
        Field(
            "cpu_usage",
            "double",
            f"cpu_use_of_plan * requested_cpus * {cpu_mhz!r}",
            "mean usage of its workers, times --cpu-mhz",
            option="--default-cpus",
            default=f"{cpus} * {cpu_mhz!r}",
            default_note="full use of the requested cores, not rounded up",
            counts=[
                Condition(
                    "above cpu_capacity, kept", "cpu_use_of_plan * requested_cpus > ceil(requested_cpus)"
                )
            ],
        ),
        Field(
            "gpu_usage",
            "double",
            f"gpu_use_of_plan * nullif(requested_gpus, 0) * {gpu_mhz!r}"
            if gpu_mhz
            else "cast(null as double)",
            "mean usage of its workers, times --gpu-mhz",
            default=f"nullif(requested_gpus, 0) * {gpu_mhz!r}" if gpu_mhz else "",
            default_note="full use of the requested GPUs, none without a request",
            missing="null",
            counts=[Condition("above gpu_capacity, kept: see pai.gpu_use_over_100", "gpu_use_of_plan > 1")]
            if gpu_mhz
            else [],
        ),
    ]
