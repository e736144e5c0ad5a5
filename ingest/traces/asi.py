"""ASI: six months of Alibaba Serverless Infrastructure, published in 2026.

Hourly rows of every pod on 37,707 GPU servers (155,410 GPUs at the peak), days 0 to 184.

Licence: none is stated.

Files, four ZIPs of Parquet from https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2026:

- ``asi_opensource_pod_hourly.zip`` → `pod_hourly`: ``day=<0..184>/hour=<00..23>/part-000.parquet``.
- ``asi_opensource_server_hourly.zip`` → `server_hourly`, in the same folders.
- ``asi_opensource_network_hourly.zip`` → `network_hourly`, days 109 to 115 only.
- ``asi_opensource_job_execution_summary.zip`` → `job_execution_summary`, one file.

Copies from other users may be folders of single days, or merged files such as
``asi_opensource_pod_hourly_day0_29.parquet`` with `day` and `hour` as columns. Ingest reads them too.

Pitfalls:

- Days and hours are counted from an unpublished date, and execution spans have no time at all.
- Most rows are pods without a GPU. A delay of -1 means unknown. All delays are shorter than a day.
- `avg_gpu_sm_util` is the sum over the GPUs of a pod, not a percentage of one GPU.
- `state_public` is Unknown on day 0, so that standby and running pods look the same.
"""

from dataclasses import replace

from tracehouse.ingest.declarations import Column, Reference, Table, Trace
from tracehouse.ingest.sample_distributions import LogNormal, Names

SCHEMA = "docs/schema.md of cluster-trace-gpu-v2026"

DAY = Column("day", "BIGINT", "Day, counted from an unpublished date", "d", examples=("0", "1"), least=0)
HOUR = Column(
    "hour", "BIGINT", "Hour of the day, 0 to 23", examples=tuple(map(str, range(24))), least=0, most=23
)

GPU_MODEL = Column("gpu_spec_public", "VARCHAR", "GPU model of the server; XPU models are undisclosed")
PRIORITIES = ("HP", "LP", "Other")
JOB_TYPES = ("training", "online_inference", "offline_inference", "dev", "other", "unknown")
STATES = ("Standby", "Running", "Pending", "Succeeded", "Failed", "Unknown")
MODEL_TYPES = ("genai", "rec", "cv", "embedding", "dev", "unknown")

SERVER = Column("server_id", "VARCHAR", "Server, as a hash", sample=Names("server", 32))
CLUSTER = Column("cluster_id", "VARCHAR", "Cluster, as a hash", sample=Names("cluster", 32))
IDENTITY = (
    Column("pod_id", "VARCHAR", "Pod, as a hash", sample=Names("pod", 32)),
    Column(
        "workload_id",
        "VARCHAR",
        "Workload that the pod belongs to, as a hash; empty where unknown",
        sample=Names("workload", 32),
    ),
    SERVER,
)
KIND = (
    Column("priority_class", "VARCHAR", "HP (high priority), LP (low priority) or Other", choices=PRIORITIES),
    Column("job_type_public", "VARCHAR", "Kind of job", choices=JOB_TYPES),
    Column("model_type_public", "VARCHAR", "Kind of model", choices=MODEL_TYPES),
    Column(
        "is_genai_request",
        "BOOLEAN",
        "Whether the request matches the publisher's rules for generative models",
    ),
    Column("gpu_request", "DOUBLE", "GPUs that the pod requests, fractions included", "GPUs", least=0),
)
SCHEDULE_DELAY = Column(
    "schedule_delay_sec",
    "BIGINT",
    "Time from creation to scheduling; -1 is unknown, and values end below a day",
    "s",
    is_duration=True,
    below=86_400,
    sample=LogNormal(60, 2.3, zeros=0.6, most=86_399),
)
READY_DELAY = Column(
    "ready_delay_sec",
    "BIGINT",
    "Time from scheduling to readiness; -1 is unknown, and values end below a day",
    "s",
    is_duration=True,
    below=86_400,
    sample=LogNormal(20, 1.2, most=86_399),
)
READY_STATUS = Column("ready_status", "BOOLEAN", "Whether the pod became ready")

HOURLY = Table(
    name="",
    comment="",
    grain="",
    source=SCHEMA,
    file_name=r"part-\d+\.parquet",
    folder=r"day=(?P<day>\d+)/hour=(?P<hour>\d+)",
    columns=(),
    keys=(DAY, HOUR),
    partition_by=("day",),
    converts_partitions=True,
)

POD_HOURLY = replace(
    HOURLY,
    name="pod_hourly",
    comment=(
        "Pods seen on a GPU server during an hour, pods without a GPU included. Requests are of the pod;"
        " use is its mean in the hour."
    ),
    grain="one row per (day, hour, pod_id), except for a few repeated pods",
    file_name=r"part-\d+\.parquet|asi_opensource_pod_hourly.*\.parquet",
    archive_stem="asi_opensource_pod_hourly",
    columns=(
        *IDENTITY,
        CLUSTER,
        Column(
            "state_public",
            "VARCHAR",
            "State of the pod; Standby holds GPUs for later use",
            choices=STATES,
        ),
        GPU_MODEL,
        Column("server_gpu_count", "DOUBLE", "GPUs of the server", "GPUs", least=0),
        Column("server_cpu_capacity_cores", "DOUBLE", "CPU cores of the server", "CPU cores", least=0),
        *KIND,
        Column("gpu_mem_request", "DOUBLE", "GPU memory that the pod requests", "bytes", least=0),
        Column("cpu_request_cores", "DOUBLE", "CPU cores that the pod requests", "CPU cores", least=0),
        Column("used_gpu_hours", "DOUBLE", "GPU time that the pod held in the hour", "GPU-h", least=0),
        Column(
            "avg_gpu_sm_util",
            "DOUBLE",
            "SM utilisation, added up over the pod's GPUs",
            "percent",
            least=0,
            # Of each GPU.
            sample=LogNormal(4.6, 2.4, most=100),
        ),
        Column("avg_gpu_mem_gib", "DOUBLE", "GPU memory in use", "GiB", least=0),
        Column(
            "avg_cpu_request_util",
            "DOUBLE",
            "Used share of the requested CPU cores; may exceed 1",
            "ratio",
            least=0,
            sample=LogNormal(0.2, 1.4, most=3_072),
        ),
        Column("avg_memory_util", "DOUBLE", "Used share of the memory", "ratio"),
        READY_STATUS,
        SCHEDULE_DELAY,
        READY_DELAY,
    ),
    never_empty=("pod_id", "server_id", "gpu_spec_public", "gpu_request"),
    order_by=("-gpu_request", "pod_id", "hour", "server_id"),
    about_rows=5_400_000_000,
)

SERVER_HOURLY = replace(
    HOURLY,
    name="server_hourly",
    comment="GPU servers of each hour, with their GPUs, cores and access switch.",
    grain="one row per (day, hour, server_id)",
    file_name=r"part-\d+\.parquet|asi_opensource_server_hourly.*\.parquet",
    archive_stem="asi_opensource_server_hourly",
    columns=(
        SERVER,
        CLUSTER,
        Column("asw_id", "VARCHAR", "Access switch, as a hash; may be empty", sample=Names("switch", 32)),
        GPU_MODEL,
        Column("gpu_count", "DOUBLE", "GPUs of the server", "GPUs", least=0),
        Column("cpu_capacity_cores", "DOUBLE", "CPU cores of the server", "CPU cores", least=0),
    ),
    key=("day", "hour", "server_id"),
    never_empty=("server_id", "gpu_spec_public", "gpu_count"),
    order_by=("server_id", "hour"),
    about_rows=165_000_000,
)

NETWORK_HOURLY = replace(
    HOURLY,
    name="network_hourly",
    comment="Network use of servers, on days 109 to 115.",
    grain="one row per (day, hour, server_id)",
    file_name=r"part-\d+\.parquet|asi_opensource_network_hourly.*\.parquet",
    archive_stem="asi_opensource_network_hourly",
    columns=(
        SERVER,
        *(
            Column(
                f"{way}_gibps_avg",
                "DOUBLE",
                f"Mean {meaning} traffic",
                "GiB/s",
                least=0,
                # Relative to the median of servers with the same jobs.
                sample=LogNormal(1, 1.2, zeros=0.01),
            )
            for way, meaning in (("rx", "received"), ("tx", "sent"))
        ),
    ),
    key=("day", "hour", "server_id"),
    never_empty=("server_id",),
    order_by=("server_id", "hour"),
    about_rows=6_000_000,
    references=(Reference(("day", "hour", "server_id"), "server_hourly"),),
)

JOB_EXECUTION_SUMMARY = Table(
    name="job_execution_summary",
    comment="Execution spans of pods with a GPU. A span has a duration, but no submission, start or end.",
    grain="one row per execution span; pods may have several",
    source=SCHEMA,
    file_name=r"part-\d+\.parquet|asi_opensource_job_execution_summary.*\.parquet",
    archive_stem="asi_opensource_job_execution_summary",
    columns=(
        *IDENTITY,
        GPU_MODEL,
        *KIND,
        Column(
            "duration_hours",
            "DOUBLE",
            "Duration of the span, in steps of 20 s",
            "h",
            is_duration=True,
            least=0,
        ),
        SCHEDULE_DELAY,
        READY_DELAY,
        READY_STATUS,
        Column("schedule_status", "BOOLEAN", "Whether the pod was scheduled"),
    ),
    never_empty=("pod_id", "gpu_spec_public", "gpu_request"),
    order_by=("job_type_public", "pod_id"),
    about_rows=40_522_321,
)

TRACE = Trace(
    name="asi",
    title="Alibaba cluster-trace-gpu-v2026 (Alibaba Serverless Infrastructure)",
    publisher="Alibaba Group",
    homepage="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2026",
    download=(
        "Fetch single days with `traces fetch asi --only day=109..115`: the four ZIPs of "
        "https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2026 take 356 GB."
    ),
    licence="none stated",
    citation=(
        "Suyi Li et al. Heterogeneity at Hyperscale: Characterization and Scheduling of Large Production AI"
        " Clusters at Alibaba. In Proceedings of the 20th USENIX Symposium on Operating Systems Design and"
        " Implementation (OSDI 2026). USENIX Association, 2026."
    ),
    tables=(POD_HOURLY, SERVER_HOURLY, NETWORK_HOURLY, JOB_EXECUTION_SUMMARY),
)
