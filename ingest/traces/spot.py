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

from tracehouse.ingest.declarations import Column, Reference, Table, Trace
from tracehouse.ingest.sample_distributions import Arrivals, LogNormal

README = "README of cluster-trace-v2026-spot-gpu"

NODE = Table(
    name="node",
    comment="Nodes with GPUs: 4,278 rows. Numbers in node_name have gaps.",
    grain="one row per node_name",
    source=README,
    file_name=r"node_info_df\.csv",
    columns=(
        Column("gpu_model", "VARCHAR", "GPU model; GPU-series-1 and GPU-series-2 are undisclosed"),
        Column("gpu_capacity_num", "BIGINT", "GPUs of the node", "GPUs", least=1),
        Column("cpu_num", "BIGINT", "vCPUs of the node", "CPU cores", least=1),
        Column("node_name", "VARCHAR", "Node"),
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
    columns=(
        Column("job_name", "VARCHAR", "Job"),
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
        ),
        Column("cpu_request", "DOUBLE", "vCPUs that a worker requests", "CPU cores", least=0),
        Column(
            "gpu_request",
            "DOUBLE",
            "GPUs that a worker requests",
            "GPUs",
            least=0,
            sample={1: 75, 2: 8, 4: 6, 8: 11},
        ),
        Column(
            "worker_num",
            "BIGINT",
            "Workers of the job",
            "instances",
            least=1,
            sample={1: 70, 2: 12, 4: 8, 8: 5, 16: 3, 94: 1},
        ),
        Column(
            "submit_time",
            "DOUBLE",
            "Submission, counted from the first job's",
            "s",
            least=0,
            sample=Arrivals(0, 15_897_599),
        ),
        Column(
            "duration",
            "DOUBLE",
            "Duration of the job",
            "s",
            is_duration=True,
            least=0,
            sample=LogNormal(8_000, 1.8),
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
)
