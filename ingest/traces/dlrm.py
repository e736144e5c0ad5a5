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

from tracehouse.ingest.declare.column_types import TypeName
from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, Distribution, Names
from tracehouse.ingest.declare.trace import Column, Table, Trace

CLOCK = Clock(
    "dlrm.trace",
    epoch="start of the trace, at an unpublished time",
    zone="unknown",
    true_parts="order and differences",
    fake_parts="none: date, weekday and hour are unknown",
    documented_in="publisher: README",
)

SERVICES_NOT_JOBS = Caveat(
    "dlrm.services_not_jobs",
    "wrong result",
    summary="Instances are services: a deletion is not a completion, and a lifetime does not measure work.",
    what_goes_wrong=(
        "Instances are services that run until they are no longer needed. A deletion is not a"
        " completion, and an instance's lifetime does not measure work. Requests do not follow the load of"
        " the day: the GPUs held differ by 0.3 % between the hours of the day, the CPUs by 1 %."
    ),
    what_to_do=(
        "Compare requested and held resources with batch jobs, not durations. Do not look for daily patterns;"
        " use over time is not published."
    ),
    documented_in=(
        "publisher: README; measured: the hours of the day; third party: the question in alibaba/clusterdata"
        " issue 244"
    ),
)

TIMES_ARE_CUT_OFF = Caveat(
    "dlrm.times_are_cut_off",
    "wrong result",
    summary="30.5 % of all instances began before the trace and 37.2 % ended after it.",
    what_goes_wrong=(
        "30.5 % of all instances began before the trace and 37.2 % ended after it. Their times are"
        " empty, so durations exclude the longest-lived instances. Those with a recorded start and end hold"
        " 98 GPUs on average, all together 3,194: 96.9 % of the GPU-hours are of times that are cut off."
        " The median of the instances that ended, 3,752 s, is a third of the Kaplan-Meier median of those"
        " that started in the trace, 11,421 s."
    ),
    what_to_do=(
        "Count these instances as running at the ends of the trace, as GPU-hours from unified.jobs do. Take"
        " percentiles of durations from unified.run_cdf, which includes them. If you report mean durations,"
        " say what they exclude."
    ),
    documented_in="publisher: README; measured: on the file",
)


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
    tried_on="real files",
    comment=(
        "Instances of services. An empty creation_time or scheduled_time is before the trace, and an empty"
        " deletion_time is after it; max_instance_per_node is -1 if there is no limit."
    ),
    grain="one row per instance_sn",
    source="README of cluster-trace-gpu-v2025",
    file_name=r"disaggregated_DLRM_trace\.csv",
    published_rows={"disaggregated_DLRM_trace.csv": 23_871},
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
            caveats=(TIMES_ARE_CUT_OFF,),
        ),
        Column(
            "scheduled_time",
            "DOUBLE",
            "Scheduling to a node; empty if before the trace",
            "s",
            caveats=(TIMES_ARE_CUT_OFF,),
        ),
        Column(
            "deletion_time", "DOUBLE", "Deletion; empty if after the trace", "s", caveats=(TIMES_ARE_CUT_OFF,)
        ),
    ),
    key=("instance_sn",),
    never_empty=("instance_sn", "role", "app_name", "cpu_request", "gpu_request", "memory_request"),
    order_by=("scheduled_time", "instance_sn"),
    about_rows=23_871,
    caveats=(SERVICES_NOT_JOBS,),
)

METRICS = (
    MetricSupport("submission", "approximate", "Creation times before the trace are empty."),
    MetricSupport(
        "wait", "exact", "Time from creation to scheduling, of instances created during the trace."
    ),
    MetricSupport(
        "run",
        "approximate",
        (
            "Time from scheduling to deletion if both are in the trace; for longer-lived instances"
            " the time inside the trace is a lower bound."
        ),
    ),
    MetricSupport("requested GPUs", "exact", "Each instance on a GPU node requests one."),
    MetricSupport(
        "workload", "exact", "All instances serve recommendation models; app_name identifies the service."
    ),
    MetricSupport("group or recurrence", "exact", "app_name groups the instances of a service."),
    MetricSupport(
        "allocated GPUs",
        "impossible",
        "gpu_request and gpu_limit are what an instance asks for, not the GPUs that it held.",
    ),
    MetricSupport(
        "GPU utilisation", "impossible", "gpu_request is a request; the use of GPUs was not measured."
    ),
    MetricSupport(
        "CPU utilisation",
        "impossible",
        "cpu_request and cpu_limit bound the use of processors, which was not measured.",
    ),
    MetricSupport(
        "memory use",
        "impossible",
        "memory_request and memory_limit bound the use of memory, which was not measured.",
    ),
    MetricSupport(
        "final state", "impossible", "deletion_time says when an instance ended; no column says why."
    ),
    MetricSupport("user", "impossible", "app_name identifies a service, not who runs it."),
    MetricSupport(
        "machine placement",
        "impossible",
        "max_instance_per_node limits the instances of a node; no column names the node.",
    ),
    MetricSupport(
        "GPU sharing",
        "impossible",
        "Every instance on a GPU node has a gpu_request of 1, and no column names the GPU.",
    ),
    MetricSupport(
        "hour of day",
        "impossible",
        "creation_time counts from the start of the trace, at an unpublished hour.",
    ),
    MetricSupport("calendar date", "impossible", "The date on which creation_time is 0 is not published."),
)

FILES_AT = "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2025"
FILES = (
    PublishedFile(
        "disaggregated_DLRM_trace.csv", f"{FILES_AT}/disaggregated_DLRM_trace.csv", bytes=2_118_900
    ),
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
    clock=CLOCK,
    metrics=METRICS,
    files=FILES,
)
