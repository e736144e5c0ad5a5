"""OpenDC's workloads: tasks, and fragments that say what each uses while it runs.

Source: OpenDC's TASK_SCHEMA_V3 and FRAGMENT_SCHEMA_v2, July 2026. Capacity and use are in MHz, all cores or
GPUs of a task together, and memory in MB, which is taken as MiB.
"""

from tracehouse.publish.simulators.format_spec import UNKNOWN_GPUS, Field, File, Form, Layout, Rule, named

# PAI alone says how much of its request a task used: the mean of its workers' lives.
_DETAILS = {
    "pai": """
        select
            cast(null as varchar) as cluster,
            job_name || '/' || task_name as job_id,
            cpu_use_of_plan,
            gpu_use_of_plan
        from pai.task_usage
    """
}


def form(
    cpu_mhz: float, gpu_mhz: float | None, default_cpus: int | None, default_mem_mib: int | None
) -> Form:
    """The format, for cores of so many MHz, with what tasks have that ask for no cores or memory."""
    return Form(
        name="opendc",
        left_out=[
            Rule("its submission is not known", "submit_s is null"),
            UNKNOWN_GPUS,
            Rule("its run is not known", "run_s is null"),
            Rule("it ends before it starts", "run_s < 0"),
            Rule("it still ran when the trace ended", "coalesce(is_censored, false)"),
        ],
        files=[
            File("tasks.parquet", Layout.PARQUET, _tasks(cpu_mhz, gpu_mhz, default_cpus, default_mem_mib)),
            File("fragments.parquet", Layout.PARQUET, _fragments(cpu_mhz, gpu_mhz, default_cpus)),
        ],
        more_columns={"cpu_use_of_plan": "double", "gpu_use_of_plan": "double"},
        details=_DETAILS,
        reads={"pai": ["pai.task_usage"]},
        notes=[
            f"A core has {cpu_mhz:g} MHz" + (f", a GPU {gpu_mhz:g} MHz." if gpu_mhz else "."),
            "A task is one fragment, as long as it ran: no trace tells how its use went up and down.",
            "Use may exceed capacity, as capacity is what a task asks for: what OpenDC places it by.",
        ],
    )


def _tasks(
    cpu_mhz: float, gpu_mhz: float | None, default_cpus: int | None, default_mem_mib: int | None
) -> list[Field]:
    return [
        Field("id", "integer", "number", "in the order of submission"),
        Field(
            "submission_time",
            "timestamptz",
            "coalesce(submit_time, to_timestamp(submit_s - first_submit_s))",
            "its date; where there is none, its seconds since the first job, from 1970 on",
            holds=["submit_time", "submit_s"],
        ),
        _DURATION,
        Field(
            "cpu_count",
            "integer",
            "nullif(requested_cpus, 0)",
            "cores requested",
            "ceil",
            option="--default-cpus",
            default=_text(default_cpus),
            holds=["requested_cpus"],
        ),
        Field(
            "cpu_capacity",
            "double",
            f"ceil(nullif(requested_cpus, 0)) * {cpu_mhz!r}",
            "cores requested, rounded up, times --cpu-mhz",
            option="--default-cpus",
            default="" if default_cpus is None else repr(default_cpus * cpu_mhz),
            otherwise=f"--default-cpus {default_cpus} times --cpu-mhz {cpu_mhz:g}",
        ),
        Field(
            "mem_capacity",
            "bigint",
            "nullif(requested_memory_gib, 0) * 1024",
            "MiB requested",
            "round",
            option="--default-mem-mib",
            default=_text(default_mem_mib),
            holds=["requested_memory_gib"],
        ),
        named("name", missing="null"),
        Field(
            "gpu_count",
            "integer",
            "nullif(requested_gpus, 0)",
            "GPUs requested",
            "ceil",
            missing="null",
            holds=["requested_gpus"],
        ),
        Field(
            "gpu_capacity",
            "double",
            f"nullif(requested_gpus, 0) * {gpu_mhz!r}" if gpu_mhz else "cast(null as double)",
            "GPUs requested, fractions too, times --gpu-mhz",
            missing="null",
        ),
        *(
            Field(name, "integer[]", "cast(null as integer[])", missing="null")
            for name in ("parents", "children")
        ),
        Field("deferrable", "boolean", "cast(null as boolean)", missing="null"),
        Field("deadline", "bigint", "cast(null as bigint)", missing="null"),
    ]


_DURATION = Field("duration", "bigint", "run_s * 1000", "run_s in milliseconds", "round", holds=["run_s"])


def _fragments(cpu_mhz: float, gpu_mhz: float | None, default_cpus: int | None) -> list[Field]:
    cpus = f"coalesce(nullif(requested_cpus, 0), {_text(default_cpus) or 'null'})"
    return [
        Field("id", "integer", "number", "in the order of submission"),
        _DURATION,
        Field(
            "cpu_usage",
            "double",
            f"cpu_use_of_plan * requested_cpus * {cpu_mhz!r}",
            "mean of what the workers used, times --cpu-mhz",
            option="--default-cpus",
            default=f"{cpus} * {cpu_mhz!r}",
            otherwise="full use of the cores it asks for, not rounded up",
            counted=[
                Rule("above cpu_capacity, kept", "cpu_use_of_plan * requested_cpus > ceil(requested_cpus)")
            ],
        ),
        Field(
            "gpu_usage",
            "double",
            f"gpu_use_of_plan * nullif(requested_gpus, 0) * {gpu_mhz!r}"
            if gpu_mhz
            else "cast(null as double)",
            "mean of what the workers used, times --gpu-mhz",
            default=f"nullif(requested_gpus, 0) * {gpu_mhz!r}" if gpu_mhz else "",
            otherwise="full use of what it asks for; none where it asks for none",
            missing="null",
            counted=[Rule("above gpu_capacity, kept: see pai.gpu_use_over_100", "gpu_use_of_plan > 1")]
            if gpu_mhz
            else [],
        ),
    ]


def _text(number: float | None) -> str:
    return "" if number is None else repr(number)
