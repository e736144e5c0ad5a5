"""The node and pod lists of openb, which its authors' simulator of Kubernetes reads.

Source: README of cluster-trace-gpu-v2023, and its lists. A job of several instances, or of more GPUs than a
node has, is so many pods. A pod's `gpu_milli` is its share of each of its GPUs.
"""

from tracehouse.publish.simulators.form import Field, File, Form, Layout, Rule

# What a trace tells in openb's own words; of PAI, the types of GPU are those of its machines.
_DETAILS = {
    "openb": """
        select
            cast(null as varchar) as cluster,
            name as job_id,
            cpu_milli,
            memory_mib,
            num_gpu,
            gpu_milli,
            gpu_spec,
            qos,
            pod_phase
        from openb.pod
        where variant = 'default'
    """,
    "pai": """
        select
            cast(null as varchar) as cluster,
            job_name || '/' || task_name as job_id,
            cast(null as bigint) as cpu_milli,
            cast(null as bigint) as memory_mib,
            cast(null as bigint) as num_gpu,
            cast(null as bigint) as gpu_milli,
            gpu_type as gpu_spec,
            cast(null as varchar) as qos,
            cast(null as varchar) as pod_phase
        from pai.task
    """,
}
_NODES = {
    "openb": "select sn, cpu_milli, memory_mib, gpu, model from openb.node where node_list = 'all_node'",
    "pai": """
        select
            machine as sn,
            cap_cpu * 1000 as cpu_milli,
            cap_mem * 1024 as memory_mib,
            cap_gpu as gpu,
            nullif(gpu_type, 'CPU') as model
        from pai.machine_spec
    """,
}
_OF_NODES = {"sn": "varchar", "cpu_milli": "bigint", "memory_mib": "bigint", "gpu": "bigint"}
# Pods are told apart behind the job, where it is several. A CPU job is one, as nobody tells its instances.
_PODS = """
    (
        with sized as (
            select
                *,
                least(nullif(requested_gpus_per_instance, 0), {gpus_per_node}) as gpus_a_pod
            from job
        ),

        counted as (
            select *, greatest(1, coalesce(ceil(round(requested_gpus / gpus_a_pod, 6)), 1)) as pods
            from sized
        ),

        single as (
            select *, unnest(generate_series(1, cast(pods as bigint))) as pod
            from counted
        )

        select *, least(gpus_a_pod, round(requested_gpus - (pod - 1) * gpus_a_pod, 6)) as gpus
        from single
    ) as pod
"""
_PHASES = """
    case
        when pod_phase is not null then pod_phase
        when is_censored then 'Running'
        when status = 'completed' then 'Succeeded'
        when status in ('failed', 'cancelled', 'preempted') then 'Failed'
    end
"""


def form(
    trace: str, gpus_per_node: int, default_cpu_milli: int | None, default_memory_mib: int | None
) -> Form:
    """The format, with what pods have that ask for no cores or memory."""
    pods = File(
        f"openb_pod_list_{trace}.csv",
        Layout.CSV,
        _pods(default_cpu_milli, default_memory_mib),
        rows=_PODS.format(gpus_per_node=gpus_per_node),
        order_by="number, pod",
    )
    nodes = [_nodes(trace)] if trace in _NODES else []
    without = [] if nodes else [f"There is no list of nodes: {trace} does not tell what its nodes have."]
    return Form(
        name="openb",
        left_out=[
            Rule("its submission is not known", "submit_s is null"),
            Rule("it starts before it is submitted", "wait_s < 0"),
            Rule("it ends before it starts", "run_s < 0"),
        ],
        files=[pods, *nodes],
        more_columns={
            "cpu_milli": "bigint",
            "memory_mib": "bigint",
            "num_gpu": "bigint",
            "gpu_milli": "bigint",
            "gpu_spec": "varchar",
            "qos": "varchar",
            "pod_phase": "varchar",
        },
        details=_DETAILS,
        notes=[
            f"A job of more than {gpus_per_node} GPUs is several pods, as one of several instances is.",
            *without,
        ],
    )


def _nodes(trace: str) -> File:
    return File(
        f"openb_node_list_{trace}.csv",
        Layout.CSV,
        [
            *(Field(name, kind, name) for name, kind in _OF_NODES.items()),
            Field("model", "varchar", "model", missing="null"),
        ],
        rows=f"({_NODES[trace]}) as node",
        order_by="sn",
    )


def _pods(default_cpu_milli: int | None, default_memory_mib: int | None) -> list[Field]:
    return [
        Field(
            "name",
            "varchar",
            "case when pods > 1 then job_id || '-' || pod else job_id end",
            "job_id, and which pod of it where it is several",
        ),
        Field(
            "cpu_milli",
            "bigint",
            "coalesce(cpu_milli, requested_cpus * 1000 / pods)",
            "cores requested, a pod's share",
            "round",
            option="--default-cpu-milli",
            default="" if default_cpu_milli is None else repr(default_cpu_milli),
        ),
        Field(
            "memory_mib",
            "bigint",
            "coalesce(memory_mib, requested_memory_gib * 1024 / pods)",
            "memory requested, a pod's share",
            "round",
            option="--default-memory-mib",
            default="" if default_memory_mib is None else repr(default_memory_mib),
        ),
        Field(
            "num_gpu",
            "bigint",
            "coalesce(num_gpu, ceil(gpus), 0)",
            "GPUs that a pod asks for, in full or in part",
        ),
        Field(
            "gpu_milli",
            "bigint",
            "coalesce(gpu_milli, 1000 * gpus / nullif(ceil(gpus), 0), 0)",
            "its share of each of them",
            "round",
        ),
        Field("gpu_spec", "varchar", "gpu_spec", missing="null"),
        Field("qos", "varchar", "qos", missing="null"),
        Field("pod_phase", "varchar", _PHASES, "status", missing="null"),
        Field("creation_time", "bigint", "submit_s - first_submit_s", "counted from the first job", "round"),
        Field(
            "deletion_time",
            "bigint",
            "coalesce(end_s, submit_s + wait_s + run_s) - first_submit_s",
            "counted from the first job",
            "round",
            missing="null",
        ),
        Field(
            "scheduled_time",
            "bigint",
            "submit_s + wait_s - first_submit_s",
            "counted from the first job",
            "round",
            missing="null",
        ),
    ]
