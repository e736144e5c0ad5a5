"""Spot GPU: jobs of high priority and on spot GPUs, and the nodes of an Alibaba cluster, published in 2026.

4,278 nodes with GPUs of six models. Jobs are HP, with strict objectives, or Spot, which use the remaining
capacity.

Licence: none is stated; its sibling folders are CC BY 4.0, Alibaba Group.

Files, from https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-spot-gpu:

- ``node_info_df.csv`` → `node`, whose columns are in another order than in the README.
- ``job_info_df.csv`` → `job`.

Pitfalls:

- Jobs have a submission time and a duration, but no start, wait, end or state.
- `gpu_request` and `cpu_request` are the requests of one worker. A job has `worker_num` workers.
- If all jobs started at their submission, they would need more GPUs than there are, for A10 by a third.
- Jobs that were running when the trace began or ended appear to be cut off there.
"""

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal
from tracehouse.ingest.declare.trace import Column, Reference, Table, Trace

CLOCK = Clock(
    "spot.trace",
    epoch="submission of the first job, at an unpublished time",
    zone="unknown",
    true_parts="order and differences",
    fake_parts="none: date, weekday and hour are unknown",
    documented_in="publisher: README of cluster-trace-v2026-spot-gpu",
)

NO_START = Caveat(
    "spot.no_start",
    "wrong result",
    summary="Starts and waits are not recorded: this is demand, as if each job had started at once.",
    what_goes_wrong=(
        "Starts, ends and waits are not recorded, nor how often a Spot job was preempted."
        " Submission plus duration is not the time at which a job ran."
    ),
    what_to_do=(
        "Call it demand, as if each job had started at its submission. Do not infer waits or evictions."
    ),
    documented_in="publisher: README",
)

DEMAND_OVER_CAPACITY = Caveat(
    "spot.demand_over_capacity",
    "wrong result",
    summary="Demand for A10 is 133 % of the listed GPUs: do not read it as allocation.",
    what_goes_wrong=(
        "If each job is counted from its submission for its duration, mean demand for A10 GPUs is"
        " 133 % of the listed GPUs, while the paper reports 84.59 % allocated. The publisher has"
        " not answered why."
    ),
    what_to_do=(
        "Do not read demand as allocation. In a simulation, expect a queue that empties only at the end."
    ),
    documented_in="third party: issue #260 of alibaba/clusterdata, which quotes the paper; not checked here",
)

REQUEST_IS_PER_WORKER = Caveat(
    "spot.request_is_per_worker",
    "limited result",
    summary="Requests are taken as those of one worker, which the README does not say clearly.",
    what_goes_wrong=(
        "The README calls the requests those of the job, but its example requests 1 GPU with 94"
        " workers. Tracehouse takes them as requests of one worker."
    ),
    what_to_do="In spot.job, multiply by worker_num. Views and queries have done so.",
    documented_in="publisher: README, the example; third party: issue #260, which multiplies too",
)

DURATIONS_ARE_CUT_OFF = Caveat(
    "spot.durations_are_cut_off",
    "wrong result",
    summary="Jobs submitted at 0 may have begun before the trace, and durations end with it.",
    what_goes_wrong=(
        "Jobs that were running when the trace began appear to be submitted at 0 and to end with"
        " the trace: one in the README takes 15,897,599 s, which is 184 days less a second, another"
        " 32 days less a second. No column marks them."
    ),
    what_to_do="Exclude jobs submitted at 0 from figures on arrivals or durations, and say so.",
    documented_in="publisher: README, the example; that they are cut off is inferred",
)

MODELS_ARE_HIDDEN = Caveat(
    "spot.models_are_hidden",
    "limited result",
    summary="24 % of the GPUs are of two undisclosed models.",
    what_goes_wrong=(
        "GPU-series-1 and GPU-series-2 are undisclosed models: 1,111 nodes with 2,534 of the 10,412 GPUs."
    ),
    what_to_do="Compare counts, not speed or memory.",
    documented_in="publisher: README; measured: the node list",
)

NODE_NUMBERS_HAVE_GAPS = Caveat(
    "spot.node_numbers_have_gaps",
    "background",
    summary="63 node numbers are missing.",
    what_goes_wrong="Node numbers go up to 4,340, but 4,278 nodes are listed: 63 numbers are missing.",
    what_to_do="Count rows, not numbers.",
    documented_in="measured: the node list",
)

FILES_DO_NOT_JOIN = Caveat(
    "spot.files_do_not_join",
    "limited result",
    summary="Jobs do not name nodes: placement and fragmentation are unknown.",
    what_goes_wrong="Jobs do not name nodes. The two files share only the GPU model.",
    what_to_do="Compare sums by model. Placement and fragmentation are unknown.",
    documented_in="publisher: README",
)

README = "README of cluster-trace-v2026-spot-gpu"

NODE = Table(
    name="node",
    tried_on="real files",
    comment="Nodes with GPUs: 4,278 rows. Numbers in node_name have gaps.",
    grain="one row per node_name",
    source=README,
    file_name=r"node_info_df\.csv",
    published_rows={"node_info_df.csv": 4_278},
    columns=(
        Column(
            "gpu_model",
            "VARCHAR",
            "GPU model; GPU-series-1 and GPU-series-2 are undisclosed",
            caveats=(MODELS_ARE_HIDDEN,),
        ),
        Column(
            "gpu_capacity_num", "BIGINT", "GPUs of the node", "GPUs", least=1, caveats=(DEMAND_OVER_CAPACITY,)
        ),
        Column("cpu_num", "BIGINT", "vCPUs of the node", "CPU cores", least=1),
        Column("node_name", "VARCHAR", "Node", caveats=(NODE_NUMBERS_HAVE_GAPS, FILES_DO_NOT_JOIN)),
    ),
    key=("node_name",),
    never_empty=("gpu_model", "gpu_capacity_num", "cpu_num", "node_name"),
    order_by=("gpu_model", "node_name"),
    about_rows=4_278,
)

JOB = Table(
    name="job",
    comment="Jobs with the requests of each worker, the submission time and the duration.",
    grain="one row per job_name",
    source=README,
    file_name=r"job_info_df\.csv",
    published_rows={"job_info_df.csv": 466_867},
    columns=(
        Column("job_name", "VARCHAR", "Job", caveats=(FILES_DO_NOT_JOIN,)),
        Column("organization", "VARCHAR", "Organisation that pays, such as a department"),
        Column(
            "gpu_model",
            "VARCHAR",
            "GPU model that the job requests",
            # More A10s are requested than exist.
            sample={
                "A10": 55,
                "A100-SXM4-80GB": 20,
                "A800-SXM4-80GB": 2,
                "GPU-series-1": 12,
                "GPU-series-2": 5,
                "H800": 6,
            },
            caveats=(MODELS_ARE_HIDDEN,),
        ),
        Column(
            "cpu_request",
            "DOUBLE",
            "vCPUs that a worker requests",
            "CPU cores",
            least=0,
            caveats=(REQUEST_IS_PER_WORKER,),
        ),
        Column(
            "gpu_request",
            "DOUBLE",
            "GPUs that a worker requests",
            "GPUs",
            least=0,
            sample={1: 75, 2: 8, 4: 6, 8: 11},
            caveats=(DEMAND_OVER_CAPACITY, REQUEST_IS_PER_WORKER),
        ),
        Column(
            "worker_num",
            "BIGINT",
            "Workers of the job",
            "instances",
            least=1,
            sample={1: 70, 2: 12, 4: 8, 8: 5, 16: 3, 94: 1},
            caveats=(DEMAND_OVER_CAPACITY, REQUEST_IS_PER_WORKER),
        ),
        Column(
            "submit_time",
            "DOUBLE",
            "Submission, counted from the first job's",
            "s",
            least=0,
            sample=Arrivals(0, 15_897_599),
            caveats=(NO_START, DEMAND_OVER_CAPACITY, DURATIONS_ARE_CUT_OFF),
        ),
        Column(
            "duration",
            "DOUBLE",
            "Duration of the job",
            "s",
            is_duration=True,
            least=0,
            sample=LogNormal(8_000, 1.8),
            caveats=(NO_START, DEMAND_OVER_CAPACITY, DURATIONS_ARE_CUT_OFF),
        ),
        Column(
            "job_type",
            "VARCHAR",
            "HP (high priority) or Spot",
            choices=("HP", "Spot"),
            sample={"HP": 70, "Spot": 30},
        ),
    ),
    key=("job_name",),
    never_empty=("job_name", "gpu_model", "gpu_request", "worker_num", "submit_time", "duration", "job_type"),
    order_by=("submit_time", "job_name"),
    about_rows=466_867,
    references=(Reference(("gpu_model",), "node"),),
)

METRICS = (
    MetricSupport(
        "submission",
        "exact",
        "Seconds from the first submission; jobs that ran before the trace appear to be submitted at 0.",
    ),
    MetricSupport(
        "run",
        "approximate",
        "How long a job took, cut off at the ends of the trace; preemptions are not recorded.",
    ),
    MetricSupport("requested GPUs", "exact", "GPUs of a worker times the number of workers."),
    MetricSupport("group or recurrence", "exact", "The organisation that pays for the job."),
    MetricSupport("wait", "impossible", "submit_time and duration are recorded; the start of a job is not."),
    MetricSupport(
        "allocated GPUs",
        "impossible",
        "gpu_request times worker_num is the request; the number of GPUs held is not recorded.",
    ),
    MetricSupport(
        "CPU utilisation",
        "impossible",
        "cpu_num and cpu_request are capacity and request; the use of processors was not measured.",
    ),
    MetricSupport(
        "final state", "impossible", "duration does not say whether a job completed, failed or was preempted."
    ),
    MetricSupport(
        "user", "impossible", "organization pays for the job; the user of the job is not recorded."
    ),
    MetricSupport("workload", "impossible", "job_type is the priority, HP or Spot, not what a job runs."),
    MetricSupport(
        "machine placement", "impossible", "node_name is in the node list only; no job names its nodes."
    ),
    MetricSupport(
        "GPU sharing",
        "impossible",
        (
            "Jobs name neither a GPU nor a node_name, so which jobs shared a GPU is unknown;"
            " gpu_request is the request of a worker."
        ),
    ),
    MetricSupport(
        "hour of day", "impossible", "submit_time counts from the first submission, at an unpublished hour."
    ),
    MetricSupport("calendar date", "impossible", "The date of the first submit_time is not published."),
)

FILES_AT = "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-v2026-spot-gpu"
FILES = (
    PublishedFile("node_info_df.csv", f"{FILES_AT}/node_info_df.csv", bytes=78_330),
    PublishedFile("job_info_df.csv", f"{FILES_AT}/job_info_df.csv"),
)

TRACE = Trace(
    name="spot",
    title="Alibaba cluster-trace-v2026-spot-gpu",
    publisher="Alibaba Group",
    homepage="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-spot-gpu",
    download=(
        "Fetch node_info_df.csv and job_info_df.csv of "
        "https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-spot-gpu into a folder."
    ),
    licence="none stated; sibling folders are CC BY 4.0",
    citation=(
        "Jiaang Duan, Shenglin Xu, Shiyou Qian, Dingyu Yang, Kangjin Wang, Chenzhi Liao, Yinghao Yu, Qin Hua,"
        " Hanwen Hu, Qi Wang, Wenchao Wu, Dongqing Bao, Tianyu Lu, Jian Cao, Guangtao Xue, Guodong Yang,"
        " Liping Zhang, and Gang Chen. GFS: A Preemptive Scheduling Framework for GPU Clusters with"
        " Predictive Spot Management. In Proceedings of the 31st ACM International Conference on"
        " Architectural Support for Programming Languages and Operating Systems (ASPLOS 2026). ACM, 2026."
    ),
    tables=(NODE, JOB),
    clock=CLOCK,
    metrics=METRICS,
    files=FILES,
)
