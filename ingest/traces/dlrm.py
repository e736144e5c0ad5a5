"""DLRM: disaggregated recommendation models served on Alibaba's GPU cluster, 2025.

156 services, 23,871 instances: 16,485 on CPU nodes (CN) and 7,386 on GPU nodes (HN).

Licence: CC BY 4.0, Alibaba Group.

File, from https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2025:

- ``disaggregated_DLRM_trace.csv`` → `instance`.

Pitfalls:

- Instances belong to services, not to jobs. They run until they are no longer needed, and neither succeed nor
  fail.
- An empty time is outside the trace: a creation or scheduling before its start, or a deletion after its end.
- Limits equal requests, except for disk.
"""

from tracehouse.ingest.column_types import TypeName
from tracehouse.ingest.declarations import Column, Table, Trace
from tracehouse.ingest.sample_distributions import Arrivals, Distribution, Names


def _resource(
    name: str, meaning: str, unit: str, sample: Distribution, kind: TypeName = "BIGINT"
) -> tuple[Column, Column]:
    """Declare the columns with an instance's request and limit of a resource."""
    return (
        Column(f"{name}_request", kind, f"{meaning} that the instance requests", unit, sample=sample),
        Column(f"{name}_limit", kind, f"{meaning} that the instance may use at most", unit),
    )


INSTANCE = Table(
    name="instance",
    comment=(
        "Instances of services. An empty creation_time or scheduled_time is before the trace, and an empty"
        " deletion_time is after it; max_instance_per_node is -1 if there is no limit."
    ),
    grain="one row per instance_sn",
    source="README of cluster-trace-gpu-v2025",
    file_name=r"disaggregated_DLRM_trace\.csv",
    columns=(
        Column("instance_sn", "VARCHAR", "Instance", sample=Names("instance", 8, "instance_")),
        Column("role", "VARCHAR", "CN, on a CPU node, or HN, on a GPU node"),
        Column(
            "app_name",
            "VARCHAR",
            "Service that the instance belongs to",
            sample=Names("app", 4, "app_", count=156),
        ),
        *_resource("cpu", "vCPUs", "CPU cores", {8: 1, 64: 1, 96: 1}),
        *_resource("gpu", "GPUs", "GPUs", {0: 16_485, 1: 7_386}),
        *_resource("rdma", "Share of one RDMA card", "percent", {1: 1, 25: 1, 50: 1}),
        *_resource("memory", "Main memory", "GiB", {40: 1, 320: 1, 480: 1}, "DOUBLE"),
        *_resource("disk", "Disk", "GiB", {160: 1, 240: 1, 384: 1}, "DOUBLE"),
        Column(
            "max_instance_per_node",
            "BIGINT",
            "Maximum number of instances of the service on a node; -1 is no limit",
            sample={-1: 1, 2: 1, 4: 1},
        ),
        Column(
            "creation_time",
            "DOUBLE",
            "Creation; empty if before the trace",
            "s",
            sample=Arrivals(0, 2_677_541),
        ),
        Column("scheduled_time", "DOUBLE", "Scheduling to a node; empty if before the trace", "s"),
        Column("deletion_time", "DOUBLE", "Deletion; empty if after the trace", "s"),
    ),
    key=("instance_sn",),
    never_empty=("instance_sn", "role", "app_name", "cpu_request", "gpu_request", "memory_request"),
    order_by=("scheduled_time", "instance_sn"),
    about_rows=23_871,
)

TRACE = Trace(
    name="dlrm",
    title="Alibaba cluster-trace-gpu-v2025 (disaggregated DLRM)",
    publisher="Alibaba Group",
    homepage="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2025",
    download=(
        "Fetch disaggregated_DLRM_trace.csv of "
        "https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2025 into a folder."
    ),
    licence="CC BY 4.0",
    citation="Alibaba Group: cluster-trace-gpu-v2025, https://github.com/alibaba/clusterdata (2025).",
    tables=(INSTANCE,),
)
