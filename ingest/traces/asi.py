"""ASI: six months of Alibaba Serverless Infrastructure, published in 2026.

Hourly rows of every pod on GPU servers, days 0 to 184: at the peak, 37,707 servers with 155,410 GPUs. The
whole trace names 38,048 servers.

Licence: none is stated.

Files, four ZIPs of Parquet from https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2026:

- ``asi_opensource_pod_hourly.zip`` → `pod_hourly`: ``day=<0..184>/hour=<00..23>/part-000.parquet``.
- ``asi_opensource_server_hourly.zip`` → `server_hourly`, in the same folders.
- ``asi_opensource_network_hourly.zip`` → `network_hourly`, days 109 to 115 only.
- ``asi_opensource_job_execution_summary.zip`` → `job_execution_summary`, one file.

Copies from other users may be folders of single days, or merged files such as
``asi_opensource_pod_hourly_day0_29.parquet`` with `day` and `hour` as columns. Ingest reads them too.

Pitfalls:

- Days and hours are counted from an unpublished date, and execution spans have no time at all. They are of
  pods of day 109 onward.
- Most rows are pods without a GPU. A delay of -1 means unknown. All delays are shorter than a day.
- `avg_gpu_sm_util` is the sum over the GPUs of a pod, not a percentage of one GPU.
- `state_public` is known on days 109 to 115 only. On other days, standby and running pods look the same.
"""

from dataclasses import replace

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile
from tracehouse.ingest.declare.sample_distributions import LogNormal, Names
from tracehouse.ingest.declare.trace import Column, Reference, Table, Trace

CLOCK = Clock(
    "asi.hours",
    epoch="start of day 0, whose date is not published",
    zone="unknown; the publisher calls hour the hour of the day",
    resolution_s=3600,
    true_parts="order, differences and hour of the day",
    fake_parts="none: date and weekday are unknown",
    documented_in="publisher: docs/schema.md",
)

PODS_WITHOUT_GPU = Caveat(
    "asi.pods_without_gpu",
    "wrong result",
    summary="Most rows are pods without a GPU: count GPU pods by gpu_request > 0.",
    what_goes_wrong=(
        "93 % of the rows of the first hour are pods without a GPU. The publisher's figures select"
        " GPU pods by gpu_request > 0 or by gpu_mem_request > 0, which differ."
    ),
    what_to_do="Filter by gpu_request > 0, and say so.",
    documented_in="publisher: docs/schema.md and scripts; third party: a profile of day 0",
    concerns=("asi.pod_hourly.gpu_request",),
)

USE_IS_ADDED_UP = Caveat(
    "asi.use_is_added_up",
    "wrong result",
    summary="avg_gpu_sm_util adds up the GPUs of a pod: divide it by 100 times gpu_request.",
    what_goes_wrong=(
        "avg_gpu_sm_util is added up over a pod's GPUs: 855 % was seen. A pod of a fraction of a"
        " GPU can use more than it requested."
    ),
    what_to_do="Divide by 100 times gpu_request for the utilisation of the requested GPUs.",
    documented_in="publisher: scripts; third party: a profile of day 0",
)

UNKNOWN_DELAYS = Caveat(
    "asi.unknown_delays",
    "wrong result",
    summary="A delay of -1 is unknown.",
    what_goes_wrong=(
        "schedule_delay_sec is -1 in 15 rows of the first hour, ready_delay_sec in 28.4 %, and in"
        " 0.58 and 55.4 % of the spans: the delay is unknown. A mean over these rows is too small."
    ),
    what_to_do="Exclude delays of -1, and report how many there are.",
    documented_in="third party: a profile of day 0 and of a million spans",
)

DELAYS_BELOW_A_DAY = Caveat(
    "asi.delays_below_a_day",
    "limited result",
    summary="All delays are below 86,400 s: longer ones are missing or start again at 0.",
    what_goes_wrong=(
        "Both delays end below 86,400 s, a day. Longer delays are not recorded, or start again at 0."
    ),
    what_to_do="Give percentiles rather than the maximum or the mean, and do not extrapolate beyond a day.",
    documented_in="third party: a profile of day 0 and of a million spans",
)

STATES_OF_ONE_WEEK = Caveat(
    "asi.states_of_one_week",
    "wrong result",
    summary="States are known on days 109 to 115 only: on others, standby and running pods look the same.",
    what_goes_wrong=(
        "state_public is detailed on days 109 to 115, and mostly Unknown on all other days. Standby"
        " pods, which hold GPUs for later use, look like running ones there."
    ),
    what_to_do="Use states of days 109 to 115 only. Views and queries give NULL for values that need others.",
    documented_in="publisher: a maintainer in alibaba/clusterdata issue 258; third party: a profile of day 0",
)

REPEATED_PODS = Caveat(
    "asi.repeated_pods",
    "background",
    summary="A few pods have two rows in an hour.",
    what_goes_wrong="One pod has two rows in the first hour. Joins by day, hour and pod count it twice.",
    what_to_do="Expect few repeats; use pods as a name, not as a key.",
    documented_in="third party: a profile of day 0",
    concerns=("asi.pod_hourly.pod_id",),
)

WORKLOADS_ARE_MISSING = Caveat(
    "asi.workloads_are_missing",
    "limited result",
    summary="The workload is unknown for 23 % of the pods and 88 % of the spans.",
    what_goes_wrong=(
        "workload_id is empty for 23.2 % of the rows of the first hour and for 88.0 % of the first"
        " million spans, most of them of low priority."
    ),
    what_to_do="Say how many pods have no workload.",
    documented_in="third party: a profile of day 0 and of a million spans",
)

TYPES_ARE_UNKNOWN = Caveat(
    "asi.types_are_unknown",
    "limited result",
    summary="Kinds of jobs and models are unknown for 93 % of the rows.",
    what_goes_wrong=(
        "job_type_public is unknown in 92.6 % of the rows of the first hour and model_type_public"
        " in 92.8 %; most of these pods have no GPU."
    ),
    what_to_do="Report the share of unknown kinds.",
    documented_in="third party: a profile of day 0",
    concerns=("asi.pod_hourly.job_type_public", "asi.pod_hourly.model_type_public"),
)

SWITCHES_ARE_UNEVEN = Caveat(
    "asi.switches_are_uneven",
    "limited result",
    summary="Half of the switches have at most 6 servers; the paper speaks of 32 to 64.",
    what_goes_wrong=(
        "A user counted 2,522 switches with 1 to 136 servers each: half of them have at most 6, and the mean"
        " is 15. According to the paper, a switch connects 32 to 64 servers. Few sets of 128 or 256 GPUs fit"
        " into such a small switch."
    ),
    what_to_do="Read sets of GPUs within a switch as a lower bound.",
    documented_in="third party: a user's count in alibaba/clusterdata issue 256, not checked here",
)

SPANS_WITHOUT_TIMES = Caveat(
    "asi.spans_without_times",
    "wrong result",
    summary="Spans have no submission, start or end: it is unknown when they ran.",
    what_goes_wrong=(
        "A span has a duration in steps of 20 s, but neither a submission nor a start or an end."
        " schedule_delay_sec is the time from submission to scheduling, not a time of day. Which spans"
        " the trace cuts off is unknown."
    ),
    what_to_do="Use durations and GPU time; do not infer load over time from spans.",
    documented_in="publisher: docs/schema.md, and a maintainer in alibaba/clusterdata issue 257",
)

SPANS_FROM_DAY_109 = Caveat(
    "asi.spans_from_day_109",
    "limited result",
    summary="The summary covers pods of day 109 onward, not the whole trace.",
    what_goes_wrong=(
        "job_execution_summary covers pods of day 109 onward; pod_hourly begins on day 0. Its spans are those"
        " of at most 76 of the 185 days. A user found 0.27 % of the pods of days 4 to 108 in it, most of"
        " which ran on until day 109."
    ),
    what_to_do="Compare spans with pod_hourly of days 109 to 184 only.",
    documented_in="third party: a user's count in alibaba/clusterdata issue 259, not checked here",
)

REQUESTED_IS_NOT_USED = Caveat(
    "asi.requested_is_not_used",
    "limited result",
    summary="used_gpu_hours counts the part of the hour in which a pod held its GPUs.",
    what_goes_wrong=(
        "used_gpu_hours counts the part of an hour in which the pod held GPUs; 8 GPUs of a pod"
        " that began within the hour count less than 8. It says nothing about how busy the GPUs"
        " were."
    ),
    what_to_do="Read it as GPU time held, and avg_gpu_sm_util as utilisation.",
    documented_in="publisher: docs/schema.md",
)

UNDISCLOSED_MODELS = Caveat(
    "asi.undisclosed_models",
    "limited result",
    summary="XPU models are undisclosed.",
    what_goes_wrong="XPU-A to XPU-E are undisclosed models; they are 37 % of the rows of the first hour.",
    what_to_do="Compare counts, not speed or memory.",
    documented_in="publisher: docs/schema.md; third party: a profile of day 0",
)

NEGATIVE_MEMORY_USE = Caveat(
    "asi.negative_memory_use",
    "limited result",
    summary="Memory use may be negative or above 1.",
    what_goes_wrong=(
        "avg_memory_util lies between -0.998 and 1.4998 on day 0: some values are measurement errors."
    ),
    what_to_do="Exclude values below 0, and say so.",
    documented_in="third party: a profile of day 0",
)

NETWORK_OF_ONE_WEEK = Caveat(
    "asi.network_of_one_week",
    "limited result",
    summary="Network use covers days 109 to 115 only.",
    what_goes_wrong="network_hourly covers days 109 to 115, the week of most of the publisher's figures.",
    what_to_do="Join it to pods of these days only.",
    documented_in="publisher: docs/schema.md",
)

LIVES_IN_WHOLE_HOURS = Caveat(
    "asi.lives_in_whole_hours",
    "limited result",
    summary="Lifetimes are known in whole hours, and only within the loaded days.",
    what_goes_wrong=(
        "A pod has a row for each hour in which it existed, even for a moment: a lifetime of some"
        " minutes appears as 1 or 2 hours, and a longer lifetime is an hour too long on average."
        " The first and the last loaded hour cut lifetimes off, and no state distinguishes a pod"
        " that ended from a pod that left the trace."
    ),
    what_to_do=(
        "Use Kaplan-Meier, as asi.lifetimes does, and durations of spans for short pods. Runs in unified.jobs"
        " follow from GPU-hours, and only their position within the first and last hour is assumed."
    ),
    documented_in="own: from docs/schema.md",
    concerns=("asi.pod_hourly.hour",),
)

PODS_NOT_JOBS = Caveat(
    "asi.pods_not_jobs",
    "wrong result",
    summary="Rows are pods: a job of several pods counts several times.",
    what_goes_wrong=(
        "Rows are pods, and a distributed training job has many. Counts and sizes of pods are not"
        " those of jobs, and workload_id, which groups them, is empty for 23 % of the rows."
    ),
    what_to_do="Compare GPU time rather than counts with traces of jobs, or group by workload_id.",
    documented_in="publisher: docs/schema.md",
    concerns=("asi.pod_hourly.pod_id",),
)

STANDBY_COUNTS_TWICE = Caveat(
    "asi.standby_counts_twice",
    "wrong result",
    summary="Low-priority pods use the GPUs of standby pods: a sum over both counts these GPUs twice.",
    what_goes_wrong=(
        "Standby pods hold GPUs that pods of low priority use meanwhile, and both have"
        " used_gpu_hours. The GPU time of all pods may exceed the GPUs of the servers."
    ),
    what_to_do=(
        "Add GPU time in standby only where it exceeds that of low-priority pods on the server, as"
        " asi.allocation_by_model does."
    ),
    documented_in="publisher: scripts",
)

LP_COUNTS_ON_STANDBY_FIRST = Caveat(
    "asi.lp_counts_on_standby_first",
    "limited result",
    summary="The GPUs of a pod are unknown: LP pods are assumed to use GPUs in standby first.",
    what_goes_wrong=(
        "No column names the GPUs of a pod. LP pods may run on GPUs in standby or on free ones of"
        " the same server. If LP pods count on GPUs in standby first, as in the publisher's"
        " figures, idle standby is at its minimum."
    ),
    what_to_do="Read idle GPU time in standby as a lower bound.",
    documented_in="publisher: scripts",
    concerns=("asi.pod_hourly.priority_class",),
)

SCHEMA = "docs/schema.md of cluster-trace-gpu-v2026"

DAY = Column(
    "day",
    "BIGINT",
    "Day, counted from an unpublished date",
    "d",
    examples=("0", "1"),
    least=0,
    clocks=(CLOCK,),
)
HOUR = Column(
    "hour",
    "BIGINT",
    "Hour of the day, 0 to 23",
    examples=tuple(map(str, range(24))),
    least=0,
    most=23,
    clocks=(CLOCK,),
)

GPU_MODEL = Column(
    "gpu_spec_public",
    "VARCHAR",
    "GPU model of the server; XPU models are undisclosed",
    caveats=(UNDISCLOSED_MODELS,),
)
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
        caveats=(WORKLOADS_ARE_MISSING,),
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
    caveats=(UNKNOWN_DELAYS, DELAYS_BELOW_A_DAY),
)
READY_DELAY = Column(
    "ready_delay_sec",
    "BIGINT",
    "Time from scheduling to readiness; -1 is unknown, and values end below a day",
    "s",
    is_duration=True,
    below=86_400,
    sample=LogNormal(20, 1.2, most=86_399),
    caveats=(UNKNOWN_DELAYS, DELAYS_BELOW_A_DAY),
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
    tried_on="part of a file",
    comment=(
        "Pods seen on a GPU server during an hour, pods without a GPU included. Requests are of the pod;"
        " use is its mean in the hour."
    ),
    grain="one row per (day, hour, pod_id), except for a few repeated pods",
    file_name=r"part-\d+\.parquet|asi_opensource_pod_hourly.*\.parquet",
    published_partitions=185,
    archive_stem="asi_opensource_pod_hourly",
    columns=(
        *IDENTITY,
        CLUSTER,
        Column(
            "state_public",
            "VARCHAR",
            "State of the pod; Standby holds GPUs for later use",
            choices=STATES,
            caveats=(STATES_OF_ONE_WEEK, STANDBY_COUNTS_TWICE, LP_COUNTS_ON_STANDBY_FIRST),
        ),
        GPU_MODEL,
        Column("server_gpu_count", "DOUBLE", "GPUs of the server", "GPUs", least=0),
        Column("server_cpu_capacity_cores", "DOUBLE", "CPU cores of the server", "CPU cores", least=0),
        *KIND,
        Column(
            "gpu_mem_request",
            "DOUBLE",
            "GPU memory that the pod requests",
            "bytes",
            least=0,
            caveats=(PODS_WITHOUT_GPU,),
        ),
        Column("cpu_request_cores", "DOUBLE", "CPU cores that the pod requests", "CPU cores", least=0),
        Column(
            "used_gpu_hours",
            "DOUBLE",
            "GPU time that the pod held in the hour",
            "GPU-h",
            least=0,
            caveats=(REQUESTED_IS_NOT_USED, STANDBY_COUNTS_TWICE),
        ),
        Column(
            "avg_gpu_sm_util",
            "DOUBLE",
            "SM utilisation, added up over the pod's GPUs",
            "percent",
            least=0,
            # Of each GPU.
            sample=LogNormal(4.6, 2.4, most=100),
            caveats=(USE_IS_ADDED_UP,),
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
        Column(
            "avg_memory_util", "DOUBLE", "Used share of the memory", "ratio", caveats=(NEGATIVE_MEMORY_USE,)
        ),
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
    published_partitions=185,
    archive_stem="asi_opensource_server_hourly",
    columns=(
        SERVER,
        CLUSTER,
        Column(
            "asw_id",
            "VARCHAR",
            "Access switch, as a hash; may be empty",
            sample=Names("switch", 32),
            caveats=(SWITCHES_ARE_UNEVEN,),
        ),
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
    published_partitions=7,
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
                caveats=(NETWORK_OF_ONE_WEEK,),
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
    published_rows={"": 40_522_321},
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
            caveats=(SPANS_WITHOUT_TIMES, SPANS_FROM_DAY_109),
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

CAVEATS = (REPEATED_PODS, TYPES_ARE_UNKNOWN, LIVES_IN_WHOLE_HOURS, PODS_NOT_JOBS)

METRICS = (
    MetricSupport(
        "wait",
        "approximate",
        "Delay from creation to scheduling; -1 means unknown. All delays are below a day.",
    ),
    MetricSupport(
        "run",
        "approximate",
        "Durations of spans in steps of 20 s; it is unknown which of them the trace cuts off.",
    ),
    MetricSupport("requested GPUs", "exact", "gpu_request of each pod and hour."),
    MetricSupport(
        "allocated GPUs", "approximate", "used_gpu_hours, the GPU time that a pod held in an hour."
    ),
    MetricSupport(
        "GPU utilisation",
        "approximate",
        "avg_gpu_sm_util, added up over the GPUs of a pod; unknown for 17 % of the GPU pods.",
    ),
    MetricSupport("CPU utilisation", "exact", "avg_cpu_request_util, relative to the request of the pod."),
    MetricSupport(
        "memory use",
        "approximate",
        "avg_memory_util of the host, which may be negative, and avg_gpu_mem_gib.",
    ),
    MetricSupport(
        "group or recurrence",
        "approximate",
        "workload_id groups pods; it is missing for 23 % of the rows and 88 % of the spans.",
    ),
    MetricSupport("workload", "approximate", "job_type_public and model_type_public, unknown for most pods."),
    MetricSupport(
        "machine placement",
        "exact",
        "Every row names the server; server_hourly names its switch and cluster.",
    ),
    MetricSupport("fragmentation", "exact", "Free GPUs and cores of each server and hour."),
    MetricSupport("hour of day", "approximate", "hour is the hour of the day of an unpublished time zone."),
    MetricSupport(
        "submission",
        "impossible",
        (
            "Pods are seen by the hour, and spans have schedule_delay_sec and duration_hours, but"
            " no time of creation."
        ),
    ),
    MetricSupport(
        "final state",
        "impossible",
        (
            "state_public is the state in an hour, known on days 109 to 115 only; ready_status and"
            " schedule_status say how a span began; no column says how it ended."
        ),
    ),
    MetricSupport(
        "user",
        "impossible",
        "workload_id names a workload and cluster_id a cluster; their owner is not recorded.",
    ),
    MetricSupport(
        "GPU sharing",
        "impossible",
        "gpu_request may be a fraction, but no column names the GPU of a server that a pod uses.",
    ),
    MetricSupport("calendar date", "impossible", "day counts from an unpublished date."),
)

FILES_AT = "https://tre-clusterdata.oss-cn-hangzhou.aliyuncs.com/cluster-trace-gpu-v2026/data"
FILES = (
    PublishedFile(
        "asi_opensource_pod_hourly.zip", f"{FILES_AT}/asi_opensource_pod_hourly.zip", bytes=351_803_513_445
    ),
    PublishedFile(
        "asi_opensource_server_hourly.zip",
        f"{FILES_AT}/asi_opensource_server_hourly.zip",
        bytes=3_080_121_387,
    ),
    PublishedFile(
        "asi_opensource_network_hourly.zip",
        f"{FILES_AT}/asi_opensource_network_hourly.zip",
        bytes=203_904_100,
    ),
    PublishedFile(
        "asi_opensource_job_execution_summary.zip",
        f"{FILES_AT}/asi_opensource_job_execution_summary.zip",
        bytes=1_188_295_031,
    ),
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
    caveats=CAVEATS,
    metrics=METRICS,
    files=FILES,
)
