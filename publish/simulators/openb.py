"""The node and pod lists of openb, which its authors' Kubernetes simulator reads.

Source: README and lists of cluster-trace-gpu-v2023. Each instance of a job is a pod, or several pods if it
requests more GPUs than a node has. A pod's `gpu_milli` is its share of each of its GPUs.
"""

from tracehouse.publish.simulators.format_spec import (
    ENDS_TOO_EARLY,
    PREFIXED_BY_CLUSTER,
    REQUEST_UNKNOWN,
    STARTS_TOO_EARLY,
    SUBMISSION_UNKNOWN,
    Condition,
    Field,
    File,
    FormatSpec,
    Layout,
    default_sql,
    time_field,
)

# Columns that `unified.jobs` does not have: the number of instances, and openb's own pod attributes.
_DETAILS = {
    "openb": """
        select name as job_id, 1 as instances, num_gpu, gpu_milli, qos, pod_phase
        from openb.pod
        where variant = 'default'
    """,
    "pai": """
        select job_name || '/' || task_name as job_id, cast(inst_num as bigint) as instances
        from pai.task
    """,
    "spot": "select job_name as job_id, worker_num as instances from spot.job",
}
# Traces whose partitions are the GPU models that a job requests or was allocated.
_WITH_GPU_MODELS = {"openb", "pai", "spot"}
_NODES = {
    "openb": (
        "(select sn, cpu_milli, memory_mib, gpu, model from openb.node where node_list = 'all_node') as node",
        [
            Field("sn", "varchar", "sn", missing="null"),
            Field("cpu_milli", "bigint", "cpu_milli", missing="null"),
            Field("memory_mib", "bigint", "memory_mib", missing="null"),
            Field("gpu", "bigint", "gpu", missing="null"),
            Field("model", "varchar", "model", missing="null"),
        ],
    ),
    "pai": (
        "pai.machine_spec as node",
        [
            Field("sn", "varchar", "machine", missing="null"),
            Field("cpu_milli", "bigint", "cap_cpu * 1000", "cap_cpu in thousandths", "round", missing="null"),
            Field("memory_mib", "bigint", "cap_mem * 1024", "cap_mem, taken as GiB", "round", missing="null"),
            Field("gpu", "bigint", "cap_gpu", missing="null"),
            Field(
                "model",
                "varchar",
                "nullif(gpu_type, 'CPU')",
                "gpu_type, empty for CPU",
                missing="null",
            ),
        ],
    ),
}
_MISSING_NODE_FIELDS = {
    "philly": "the cores and memory of its nodes",
    "spot": "the memory of its nodes",
}
# The instances of jobs are split into pods, which are numbered within the job.
_PODS = """
    (
        with numbered as (
            select
                *,
                coalesce(instances, round(requested_gpus / nullif(requested_gpus_per_instance, 0))) as
                known_instances
            from job
        ),

        requested as (
            select
                *,
                greatest(1, coalesce(cast(known_instances as bigint), 1)) as instance_count,
                round(requested_gpus / instance_count, 6) as instance_gpus
            from numbered
        ),

        sized as (
            select *, coalesce(num_gpu, cast(ceil(instance_gpus) as bigint), 0) as instance_num_gpu
            from requested
        ),

        split as (
            select
                *,
                greatest(1, cast(ceil(instance_num_gpu / {gpus_per_node}) as bigint)) as pods_per_instance
            from sized
        ),

        single as (
            select
                *,
                instance_count * pods_per_instance as pods,
                unnest(generate_series(1, instance_count * pods_per_instance)) as pod
            from split
        )

        select
            *,
            least(
                {gpus_per_node},
                instance_num_gpu - (pod - 1) % pods_per_instance * {gpus_per_node}
            ) as pod_num_gpu,
            -- One dash more than any job name has before its final number, so that pod names are unique.
            repeat(
                '-',
                1 + (select coalesce(max(length(regexp_extract(job_name, '(-+)[0-9]+$', 1))), 0) from job)
            ) as dashes
        from single
    ) as pod
"""
_PHASES = """
    case
        when pod_phase is not null then pod_phase
        when is_right_censored then 'Running'
        when status = 'completed' then 'Succeeded'
        when status in ('failed', 'cancelled', 'preempted') then 'Failed'
    end
"""


def build_format(
    trace: str, gpus_per_node: int, default_cpu_milli: int | None, default_memory_mib: int | None
) -> FormatSpec:
    """Build the format, with defaults for pods that request no cores or memory."""
    pods = File(
        f"openb_pod_list_{trace}.csv",
        Layout.CSV,
        _pod_fields(trace, default_cpu_milli, default_memory_mib),
        rows=_PODS.format(gpus_per_node=gpus_per_node),
        order_by="number, pod",
    )
    nodes, note = [], []
    if trace in _NODES:
        rows, fields = _NODES[trace]
        nodes = [File(f"openb_node_list_{trace}.csv", Layout.CSV, fields, rows=rows, order_by="sn")]
    else:
        missing = _MISSING_NODE_FIELDS.get(trace, "node data")
        note = [f"There is no node list: {trace} lacks {missing}."]
    return FormatSpec(
        name="openb",
        left_out=[SUBMISSION_UNKNOWN, REQUEST_UNKNOWN, STARTS_TOO_EARLY, ENDS_TOO_EARLY],
        files=[pods, *nodes],
        detail_columns={
            "instances": "bigint",
            "num_gpu": "bigint",
            "gpu_milli": "bigint",
            "qos": "varchar",
            "pod_phase": "varchar",
        },
        details=_DETAILS,
        reads={"openb": ["openb.node"], "pai": ["pai.machine_spec"], "spot": ["spot.job"]},
        notes=[
            f"Each instance of a job is a pod, or several pods if it has more than {gpus_per_node} GPUs.",
            "Pods have one phase without success: jobs that were cancelled or preempted, timed out or lost a "
            "node are Failed.",
            *note,
        ],
    )


def _pod_fields(trace: str, default_cpu_milli: int | None, default_memory_mib: int | None) -> list[Field]:
    return [
        Field(
            "name",
            "varchar",
            "case when pods > 1 then job_name || dashes || pod else job_name end",
            "job_id, and the pod's number where there are several",
            columns=["job_id", "cluster"],
            counts=[Condition(PREFIXED_BY_CLUSTER, "job_name <> job_id")],
        ),
        Field(
            "cpu_milli",
            "bigint",
            "requested_cpus * 1000 / pods",
            "requested cores, per pod",
            "round",
            option="--default-cpu-milli",
            default=default_sql(default_cpu_milli),
            columns=["requested_cpus"],
        ),
        Field(
            "memory_mib",
            "bigint",
            "requested_memory_gib * 1024 / pods",
            "requested memory, per pod",
            "round",
            option="--default-memory-mib",
            default=default_sql(default_memory_mib),
            columns=["requested_memory_gib"],
        ),
        Field(
            "num_gpu",
            "bigint",
            "pod_num_gpu",
            "GPUs that its instance requests, per pod, rounded up",
            columns=["requested_gpus", "requested_gpus_per_instance"],
        ),
        Field(
            "gpu_milli",
            "bigint",
            "coalesce(gpu_milli, 1000 * instance_gpus / nullif(instance_num_gpu, 0), 0)",
            "its share of each of its GPUs",
            "round",
            counts=[
                Condition(
                    "shares of several GPUs, which openb's own pods do not have",
                    "instance_num_gpu > 1 and instance_gpus < instance_num_gpu",
                )
            ],
        ),
        Field(
            "gpu_spec",
            "varchar",
            "partition_name" if trace in _WITH_GPU_MODELS else "cast(null as varchar)",
            missing="null",
        ),
        Field("qos", "varchar", "qos", missing="null"),
        Field(
            "pod_phase",
            "varchar",
            _PHASES,
            "status",
            missing="null",
            columns=["status", "is_right_censored"],
            counts=[
                Condition(f"{status}, as Failed", f"pod_phase is null and status = '{status}'")
                for status in ("cancelled", "preempted")
            ],
        ),
        time_field("creation_time", "submit_s", ["submit_s"]),
        time_field(
            "deletion_time",
            "coalesce(end_s, observed_start_s + observed_run_s)",
            ["end_s", "observed_run_s"],
            missing="null",
        ),
        time_field("scheduled_time", "submit_s + wait_s", ["wait_s"], missing="null"),
    ]
