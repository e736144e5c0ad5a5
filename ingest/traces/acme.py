"""Acme: jobs of two clusters for large language models, Seren and Kalos, March to August 2023.

880,740 jobs, of which 470,497 use GPUs, from Shanghai AI Laboratory; and the publisher's table that
sets the two clusters beside Philly, Helios and PAI.

Citation: see ``TRACE.citation``. Licence: CC BY 4.0, Shanghai AI Laboratory.

Files, from https://github.com/InternLM/AcmeTrace, folder ``data``:

- ``job_trace/trace_seren.csv``, ``job_trace/trace_kalos.csv`` → `job_trace`.
- ``cluster_summary.csv`` → `cluster_summary`.
- ``utilization/{seren,kalos}/<METRIC>.csv``, or its pieces ``<METRIC>-2023-*.csv`` → `gpu_metric`,
  `node_metric`; ``utilization/ipmi/*.csv`` → `server_power`. About 80 GB, at
  https://huggingface.co/datasets/Qinghao/AcmeTrace only.

No checksums are published.

Traps:

- Seren's times carry +08:00 and Kalos's +00:00: they are instants, and an offset cut off shifts one
  cluster by eight hours.
- In the README's Kalos rows ``duration`` runs from submission, not from the start.
- The files hold 213,223 GPU jobs of Seren fewer than the paper and ``cluster_summary.csv`` count.
- Nothing says on which nodes a job ran: jobs and telemetry meet in time only.
- A metric's CSV has a column for each device, and its pieces have others. An empty cell is no sample, not
  0. Times are repeated where pieces meet. A column with ``.1`` behind its name is another tool's doing.
- An error code stands in XID_ERRORS until it is cleared: it is a state, not an event.
"""

from tracehouse.ingest.column_types import TypeName
from tracehouse.ingest.declarations import Column, Table, Trace, Wide

JOB_TRACE = Table(
    name="job_trace",
    comment=(
        "Jobs submitted to the schedulers of both clusters: 880,740 rows, as the publisher counts"
        " them. Empty is NULL; mem_per_pod_GB, shared_mem_per_pod, fail_time and stop_time exist"
        " for Kalos only."
    ),
    grain="one row per (cluster, job_id)",
    source="README of InternLM/AcmeTrace, Job Trace",
    file_name=r"trace_(?P<cluster>seren|kalos)\.csv",
    keys=(Column("cluster", "VARCHAR", "Cluster, from the file's name: seren or kalos"),),
    key=(
        "cluster",
        "job_id",
    ),
    never_empty=(
        "job_id",
        "gpu_num",
        "type",
        "state",
        "submit_time",
    ),
    columns=(
        Column("job_id", "VARCHAR", "Job id; digits in Seren, letters and digits in Kalos"),
        Column("user", "VARCHAR", "Hashed user, beginning with u"),
        Column("node_num", "BIGINT", "Nodes of the job", unit="nodes"),
        Column("gpu_num", "BIGINT", "GPUs requested; 0 for a CPU job", unit="GPUs"),
        Column("cpu_num", "BIGINT", "CPUs requested", unit="CPUs"),
        Column(
            "mem_per_pod_GB",
            "DOUBLE",
            "Memory configured for each pod, not for the job; Kalos only",
            unit="GB",
        ),
        Column(
            "shared_mem_per_pod",
            "DOUBLE",
            "Shared memory configured for each pod, in an undocumented unit; Kalos only",
        ),
        Column(
            "type",
            "VARCHAR",
            "Kind of work: Eval, Pretrain, SFT, MLLM, Debug, Other, or CPU",
        ),
        Column(
            "state",
            "VARCHAR",
            "Final state; the files also use PREEMPTED and RUNNING, which the publisher does not list",
        ),
        Column("submit_time", "TIMESTAMPTZ", "Submission", offset_name="utc_offset"),
        Column("start_time", "TIMESTAMPTZ", "Start of execution"),
        Column("end_time", "TIMESTAMPTZ", "Termination"),
        Column("fail_time", "TIMESTAMPTZ", "When the failure occurred; Kalos only"),
        Column("stop_time", "TIMESTAMPTZ", "When the job was stopped; Kalos only"),
        Column(
            "duration",
            "DOUBLE",
            "Execution time, documented as end_time - start_time; in the published Kalos examples"
            " end_time - submit_time",
            unit="s",
            is_duration=True,
            provenance="derived",
        ),
        Column(
            "queue",
            "DOUBLE",
            "Queueing time, documented as start_time - submit_time",
            unit="s",
            is_duration=True,
            provenance="derived",
        ),
        Column(
            "gpu_time",
            "DOUBLE",
            "duration * gpu_num, so with the queue where duration has it",
            unit="GPU-s",
            provenance="derived",
        ),
    ),
    optional=frozenset({"mem_per_pod_GB", "shared_mem_per_pod", "fail_time", "stop_time"}),
    order_by=("cluster", "submit_time", "job_id"),
)


def _summed(name: str, kind: TypeName, meaning: str, unit: str, is_duration: bool = False) -> Column:
    """A figure that the publisher computed of jobs."""
    return Column(name, kind, meaning, unit, provenance="derived", is_duration=is_duration)


def _summed_s(name: str, meaning: str) -> Column:
    """A duration in seconds that the publisher computed of jobs."""
    return _summed(name, "DOUBLE", meaning, "s", is_duration=True)


CLUSTER_SUMMARY = Table(
    name="cluster_summary",
    comment=(
        "The publisher's figures for Seren, Kalos, Philly, Helios and PAI: 5 rows measured. Empty,"
        " so NULL, where the publisher gives none. Seren's row counts more jobs than job_trace"
        " holds, and PAI's row counts tasks."
    ),
    grain="one row per id",
    source="data/cluster_summary.csv of InternLM/AcmeTrace; its columns are nowhere described",
    file_name=r"cluster_summary\.csv",
    key=("id",),
    never_empty=(
        "id",
        "job_num",
        "cpu_job_num",
        "gpu_job_num",
        "avg_run_time_gpu",
        "avg_que_time_gpu",
        "avg_gpu_num",
        "med_run_time_gpu",
        "med_que_time_gpu",
        "med_gpu_num",
        "max_run_time_gpu",
        "max_gpu",
    ),
    columns=(
        Column("id", "VARCHAR", "Trace: Seren, Kalos, Philly, Helios or PAI", provenance="derived"),
        _summed("job_num", "BIGINT", "All jobs; for PAI, tasks", "jobs"),
        _summed(
            "cpu_job_num",
            "BIGINT",
            "Jobs without a GPU; 0 for Philly and PAI, which does not mean that PAI had none",
            "jobs",
        ),
        _summed("gpu_job_num", "BIGINT", "Jobs with a GPU; for PAI, tasks that request one", "jobs"),
        _summed_s("avg_run_time_gpu", "Mean run of GPU jobs"),
        _summed_s("avg_que_time_gpu", "Mean queue of GPU jobs"),
        _summed("avg_gpu_num", "DOUBLE", "Mean GPUs of a GPU job", "GPUs"),
        _summed_s("med_run_time_gpu", "Median run of GPU jobs"),
        _summed_s("med_que_time_gpu", "Median queue of GPU jobs"),
        _summed("med_gpu_num", "DOUBLE", "Median GPUs of a GPU job", "GPUs"),
        _summed_s("max_run_time_gpu", "Longest run of a GPU job"),
        _summed("max_gpu", "DOUBLE", "Most GPUs of one job", "GPUs"),
        _summed("complete_rate_gpu", "DOUBLE", "Share of GPU jobs that completed", "fraction"),
        _summed("cancel_rate_gpu", "DOUBLE", "Share of GPU jobs that were cancelled", "fraction"),
        _summed(
            "fail_rate_gpu",
            "DOUBLE",
            "Share of GPU jobs that failed, by a wider rule than state = FAILED",
            "fraction",
        ),
        Column(
            "complete_gpu_time",
            "DOUBLE",
            "GPU time of GPU jobs that completed",
            unit="GPU-s",
            provenance="derived",
        ),
        Column(
            "cancel_gpu_time",
            "DOUBLE",
            "GPU time of GPU jobs that were cancelled",
            unit="GPU-s",
            provenance="derived",
        ),
        Column(
            "fail_gpu_time",
            "DOUBLE",
            "GPU time of GPU jobs that failed",
            unit="GPU-s",
            provenance="derived",
        ),
        _summed(
            "complete_rate_gpu_time", "DOUBLE", "Share of the GPU time in jobs that completed", "fraction"
        ),
        _summed(
            "cancel_rate_gpu_time", "DOUBLE", "Share of the GPU time in jobs that were cancelled", "fraction"
        ),
        _summed("fail_rate_gpu_time", "DOUBLE", "Share of the GPU time in jobs that failed", "fraction"),
        _summed_s("avg_run_time_cpu", "Mean run of CPU jobs"),
        _summed_s("avg_que_time_cpu", "Mean queue of CPU jobs"),
        _summed_s("med_run_time_cpu", "Median run of CPU jobs"),
        _summed_s("med_que_time_cpu", "Median queue of CPU jobs"),
        _summed("complete_rate_cpu", "DOUBLE", "Share of CPU jobs that completed", "fraction"),
        _summed("cancel_rate_cpu", "DOUBLE", "Share of CPU jobs that were cancelled", "fraction"),
        _summed("fail_rate_cpu", "DOUBLE", "Share of CPU jobs that failed", "fraction"),
    ),
    order_by=("id",),
)

_TIMES = r"(?:-2023-[^/]*)?\.csv"
_GPU_METRICS = (
    "XID_ERRORS|GPU_TEMP|MEMORY_TEMP|MEM_CLOCK|SM_CLOCK|MEM_COPY_UTIL|GPU_UTIL|FB_FREE|FB_USED"
    "|POWER_USAGE|DRAM_ACTIVE|PIPE_TENSOR_ACTIVE|SM_ACTIVE|SM_OCCUPANCY"
)
_NODE_METRICS = "NODE_CPU_UTILIZATION|NODE_MEMORY_UTILIZATION|NODE_IB_SEND|NODE_IB_RECEIVE"
_NODE = r"(?P<node>\d{1,3}(?:\.\d{1,3}){3})"
_CLUSTER = Column("cluster", "VARCHAR", "Cluster, from the folder's name: seren or kalos")
_DEVICE = Column("device", "VARCHAR", "Name of the device's column in the CSV, as it stands")
_TIME = Column("time", "TIMESTAMPTZ", "Time of the sample; about every 15 s")

GPU_METRIC = Table(
    name="gpu_metric",
    comment=(
        "What DCGM measured on each GPU, all cells of the publisher's wide files as rows. Empty cells are"
        " NULL: no sample, not 0. A line whose time was read before is in catalog.rejected_rows."
    ),
    grain="one row per (cluster, metric, device, time)",
    source="README of InternLM/AcmeTrace, Resource Utilization; data/generate_utilization_pkl.ipynb",
    folder=r"(?P<cluster>seren|kalos)",
    file_name=f"(?P<metric>{_GPU_METRICS}){_TIMES}",
    keys=(
        _CLUSTER,
        Column(
            "metric",
            "VARCHAR",
            "Metric, from the file's name, a field of DCGM: GPU_UTIL, MEM_COPY_UTIL, SM_ACTIVE, SM_OCCUPANCY,"
            " PIPE_TENSOR_ACTIVE and DRAM_ACTIVE in percent; FB_USED and FB_FREE in MiB;"
            " POWER_USAGE in W; GPU_TEMP and MEMORY_TEMP in degrees Celsius, SM_CLOCK and"
            " MEM_CLOCK in MHz by convention; XID_ERRORS the last error code, until it is cleared",
        ),
    ),
    columns=(
        Column("node", "VARCHAR", "IP address of the node; NULL where the device's name is no address"),
        Column("gpu", "BIGINT", "GPU on its node, from 0; NULL where the device's name has none"),
        _DEVICE,
        _TIME,
        Column("value", "DOUBLE", "Value, in the metric's unit; NULL where the cell is empty"),
    ),
    order_by=("device", "time"),
    partition_by=("cluster", "metric"),
    wide=Wide(time_name="Time", device_name=_NODE + r"(?:-(?P<gpu>\d))?"),
)

NODE_METRIC = Table(
    name="node_metric",
    comment=(
        "What was measured on each node, all cells of the publisher's wide files as rows. Empty cells are"
        " NULL: no sample, not 0. A line whose time was read before is in catalog.rejected_rows."
    ),
    grain="one row per (cluster, metric, device, time)",
    source="README of InternLM/AcmeTrace, Resource Utilization; data/generate_utilization_pkl.ipynb",
    folder=r"(?P<cluster>seren|kalos)",
    file_name=f"(?P<metric>{_NODE_METRICS}){_TIMES}",
    keys=(
        _CLUSTER,
        Column(
            "metric",
            "VARCHAR",
            "Metric, from the file's name: NODE_CPU_UTILIZATION and NODE_MEMORY_UTILIZATION in percent;"
            " NODE_IB_SEND and NODE_IB_RECEIVE in an undocumented unit",
        ),
    ),
    columns=(
        Column("node", "VARCHAR", "IP address of the node; NULL where the device's name is no address"),
        _DEVICE,
        _TIME,
        Column("value", "DOUBLE", "Value, in the metric's unit; NULL where the cell is empty"),
    ),
    order_by=("device", "time"),
    partition_by=("cluster", "metric"),
    wide=Wide(time_name="Time", device_name=_NODE + r"(?:-mlx5_\d)?"),
)

SERVER_POWER = Table(
    name="server_power",
    comment=(
        "What the servers of Seren drew, by IPMI. Empty is NULL. Within GPU_AB, servers of type B have no"
        " memory power. No column names the server."
    ),
    grain="one row per sample of a server",
    source="data/generate_utilization_pkl.ipynb of InternLM/AcmeTrace",
    file_name=r"(?P<server_group>GPU_AB|GPU_C|CPU_D)_Power\.csv",
    keys=(
        Column(
            "server_group",
            "VARCHAR",
            "Types of server, from the file's name: GPU_AB and GPU_C with GPUs, CPU_D without",
        ),
    ),
    never_empty=(
        "Time",
        "Sys_Total_Power",
        "CPU_Power",
    ),
    columns=(
        Column("Time", "TIMESTAMPTZ", "Time of the sample"),
        Column("Sys_Total_Power", "DOUBLE", "Power of the whole server", unit="W"),
        Column("CPU_Power", "DOUBLE", "Power of its CPUs", unit="W"),
        Column("MEM_Power", "DOUBLE", "Power of its memory, in files that name it so", unit="W"),
        Column("Memory_Power", "DOUBLE", "Power of its memory, in files that name it so", unit="W"),
    ),
    optional=frozenset({"MEM_Power", "Memory_Power"}),
    order_by=("server_group", "Time"),
)

TRACE = Trace(
    name="acme",
    title="Acme traces of Seren and Kalos (2023)",
    publisher="Shanghai AI Laboratory",
    homepage="https://github.com/InternLM/AcmeTrace",
    download=(
        "Fetch data/job_trace/trace_seren.csv, data/job_trace/trace_kalos.csv and"
        " data/cluster_summary.csv of https://github.com/InternLM/AcmeTrace, or of"
        " https://huggingface.co/datasets/Qinghao/AcmeTrace, into one folder; for the telemetry, of the"
        " latter the folder data/utilization, or those files of it that you need, in their folders."
    ),
    licence="CC BY 4.0",
    citation=(
        "Qinghao Hu, Zhisheng Ye, Zerui Wang, Guoteng Wang, Meng Zhang, Qiaoling Chen, Peng Sun,"
        " Dahua Lin, Xiaolin Wang, Yingwei Luo, Yonggang Wen, and Tianwei Zhang. Characterization"
        " of Large Language Model Development in the Datacenter. In 21st USENIX Symposium on"
        " Networked Systems Design and Implementation (NSDI 24). USENIX Association, 2024."
        " https://www.usenix.org/conference/nsdi24/presentation/hu"
    ),
    tables=(JOB_TRACE, CLUSTER_SUMMARY, GPU_METRIC, NODE_METRIC, SERVER_POWER),
)
