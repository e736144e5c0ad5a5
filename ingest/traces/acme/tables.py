"""The tables of Acme."""

from tracehouse.ingest.declare.column_types import TypeName
from tracehouse.ingest.declare.sample_distributions import Arrivals, Names
from tracehouse.ingest.declare.trace import Column, Rule, Table, Wide
from tracehouse.ingest.traces.acme.metadata import (
    CAPACITY_FROM_PAPER,
    CPU_JOBS_INCLUDED,
    DEVICE_NAMES_VARY,
    DRAM_ACTIVE_ONE_ROW,
    FAILURE_NEEDS_A_RULE,
    FIGURE_DIFFERS_FROM_PAPER,
    IPMI_IS_SEREN_ONLY,
    JOB_ID_FORMATS_DIFFER,
    JOB_ZONES_DIFFER,
    KALOS_DURATION_INCLUDES_QUEUE,
    KALOS_JOBS_CLOCK,
    KALOS_LOOKS_IDLE,
    KALOS_ONLY_COLUMNS,
    LFS_POINTERS,
    NO_NODES_ON_JOBS,
    PAPER_COUNTS_MORE_JOBS,
    SEREN_JOBS_CLOCK,
    STATES_BEYOND_README,
    SUMMARY_DOES_NOT_REPRODUCE,
    TELEMETRY_CLOCK,
    TELEMETRY_COVERS_PART,
    TELEMETRY_IS_WIDE,
    TELEMETRY_UNITS_BY_CONVENTION,
    TYPES_DIFFER_BY_CLUSTER,
)

JOB_TRACE = Table(
    name="job_trace",
    comment=(
        "Jobs submitted to the schedulers of both clusters: 880,740 rows, as the publisher counts"
        " them. Empty fields are NULL; mem_per_pod_GB, shared_mem_per_pod, fail_time and stop_time exist"
        " for Kalos only."
    ),
    grain="one row per (cluster, job_id)",
    source="README of InternLM/AcmeTrace, Job Trace",
    file_name=r"trace_(?P<cluster>seren|kalos)\.csv",
    published_rows={"trace_seren.csv": 818_327, "trace_kalos.csv": 62_413},
    keys=(Column("cluster", "VARCHAR", "Cluster, from the file's name: seren or kalos"),),
    partition_by=("cluster",),
    key=("cluster", "job_id"),
    never_empty=("job_id", "gpu_num", "type", "state", "submit_time"),
    columns=(
        Column(
            "job_id",
            "VARCHAR",
            "Job id; digits in Seren, letters and digits in Kalos",
            caveats=(JOB_ID_FORMATS_DIFFER,),
        ),
        Column(
            "user",
            "VARCHAR",
            "Hashed user, beginning with u",
            pattern="u.*",
            sample=Names("user", 6, "u", count=160),
        ),
        Column("node_num", "BIGINT", "Nodes of the job", unit="nodes", least=0, caveats=(NO_NODES_ON_JOBS,)),
        Column(
            "gpu_num",
            "BIGINT",
            "GPUs requested; 0 for a CPU job",
            unit="GPUs",
            least=0,
            caveats=(CPU_JOBS_INCLUDED,),
        ),
        Column("cpu_num", "BIGINT", "CPUs requested", unit="CPUs", least=0),
        Column(
            "mem_per_pod_GB",
            "DOUBLE",
            "Memory configured for each pod, not for the job; Kalos only",
            unit="GB",
            least=0,
            caveats=(KALOS_ONLY_COLUMNS,),
        ),
        Column(
            "shared_mem_per_pod",
            "DOUBLE",
            "Shared memory configured for each pod, in an undocumented unit; Kalos only",
            least=0,
            caveats=(KALOS_ONLY_COLUMNS,),
        ),
        Column(
            "type",
            "VARCHAR",
            "Kind of work: Eval, Pretrain, SFT, MLLM, Debug, Other, or CPU",
            choices=("Eval", "Pretrain", "SFT", "MLLM", "Debug", "Other", "CPU"),
            caveats=(TYPES_DIFFER_BY_CLUSTER, FIGURE_DIFFERS_FROM_PAPER),
        ),
        Column(
            "state",
            "VARCHAR",
            "Final state; the files also use PREEMPTED and RUNNING, which the publisher does not list",
            choices=("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "RUNNING"),
            caveats=(SUMMARY_DOES_NOT_REPRODUCE, STATES_BEYOND_README, FAILURE_NEEDS_A_RULE),
        ),
        Column(
            "submit_time",
            "TIMESTAMPTZ",
            "Submission",
            offset_name="utc_offset",
            least="2023-03-01 00:00:00+08:00",
            below="2023-09-01 00:00:00+08:00",
            sample=Arrivals(1_677_600_000, 1_693_497_599, 8),
            clocks=(SEREN_JOBS_CLOCK, KALOS_JOBS_CLOCK),
            caveats=(JOB_ZONES_DIFFER, TELEMETRY_COVERS_PART),
        ),
        Column(
            "start_time",
            "TIMESTAMPTZ",
            "Start of execution",
            clocks=(SEREN_JOBS_CLOCK, KALOS_JOBS_CLOCK),
            caveats=(JOB_ZONES_DIFFER,),
        ),
        Column(
            "end_time",
            "TIMESTAMPTZ",
            "Termination",
            clocks=(SEREN_JOBS_CLOCK, KALOS_JOBS_CLOCK),
            caveats=(JOB_ZONES_DIFFER,),
        ),
        Column(
            "fail_time",
            "TIMESTAMPTZ",
            "When the failure occurred; Kalos only",
            clocks=(KALOS_JOBS_CLOCK,),
            caveats=(JOB_ZONES_DIFFER, KALOS_ONLY_COLUMNS),
        ),
        Column(
            "stop_time",
            "TIMESTAMPTZ",
            "When the job was stopped; Kalos only",
            clocks=(KALOS_JOBS_CLOCK,),
            caveats=(JOB_ZONES_DIFFER, KALOS_ONLY_COLUMNS),
        ),
        Column(
            "duration",
            "DOUBLE",
            "Execution time, documented as end_time - start_time; in the published Kalos examples"
            " end_time - submit_time",
            unit="s",
            least=0,
            is_duration=True,
            provenance="derived",
            caveats=(KALOS_DURATION_INCLUDES_QUEUE,),
        ),
        Column(
            "queue",
            "DOUBLE",
            "Queueing time, documented as start_time - submit_time",
            unit="s",
            least=0,
            is_duration=True,
            provenance="derived",
            caveats=(KALOS_DURATION_INCLUDES_QUEUE,),
        ),
        Column(
            "gpu_time",
            "DOUBLE",
            "duration * gpu_num; includes the queue if duration does",
            unit="GPU-s",
            least=0,
            provenance="derived",
            caveats=(KALOS_DURATION_INCLUDES_QUEUE, SUMMARY_DOES_NOT_REPRODUCE, FIGURE_DIFFERS_FROM_PAPER),
        ),
    ),
    optional=frozenset({"mem_per_pod_GB", "shared_mem_per_pod", "fail_time", "stop_time"}),
    about_rows=880_740,
    order_by=("cluster", "submit_time", "job_id"),
    rules=(
        Rule(
            "state_documented",
            "state is one of the five that the README lists",
            "state not in ('COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', 'NODE_FAIL')",
            caveat="acme.states_beyond_readme",
        ),
        Rule("start_after_submit", "no job starts before it is submitted", "start_time < submit_time"),
        Rule(
            "end_after_start",
            "no job ends before it starts or is submitted",
            "end_time < start_time or end_time < submit_time",
        ),
        Rule(
            "queue",
            "queue is start_time - submit_time, within 1 s",
            "abs(queue - (epoch(start_time) - epoch(submit_time))) > 1",
            kind="derived",
        ),
        Rule(
            "duration_on_seren",
            "on Seren, duration is end_time - start_time, within 1 s",
            "cluster = 'seren' and abs(duration - (epoch(end_time) - epoch(start_time))) > 1",
            kind="derived",
        ),
        Rule(
            "duration_on_kalos",
            "on Kalos, duration is end_time - start_time, within 1 s",
            "cluster = 'kalos' and abs(duration - (epoch(end_time) - epoch(start_time))) > 1",
            kind="derived",
            caveat="acme.kalos_duration_includes_queue",
        ),
        Rule(
            "duration",
            "duration is end_time - start_time or end_time - submit_time, within 1 s",
            "abs(duration - (epoch(end_time) - epoch(start_time))) > 1"
            " and abs(duration - (epoch(end_time) - epoch(submit_time))) > 1",
            kind="derived",
        ),
        Rule(
            "gpu_time",
            "gpu_time is duration * gpu_num, within 1 GPU-second per GPU",
            "abs(gpu_time - duration * gpu_num) > gpu_num",
            kind="derived",
        ),
        Rule(
            "kalos_columns",
            "memory per pod and the times of failure and stop are empty outside Kalos",
            """cluster <> 'kalos' and ("mem_per_pod_GB" is not null or shared_mem_per_pod is not null"""
            " or fail_time is not null or stop_time is not null)",
            kind="coverage",
        ),
    ),
    caveats=(PAPER_COUNTS_MORE_JOBS, KALOS_LOOKS_IDLE, CAPACITY_FROM_PAPER),
)


def _summed(
    name: str, kind: TypeName, meaning: str, unit: str, is_duration: bool = False, most: float | None = None
) -> Column:
    """Declare a column with a figure that the publisher computed from jobs."""
    return Column(
        name, kind, meaning, unit, provenance="derived", is_duration=is_duration, least=0, most=most
    )


def _rate(name: str, meaning: str) -> Column:
    """Declare a column with a fraction of the jobs or of their time, computed by the publisher."""
    return _summed(name, "DOUBLE", meaning, "fraction", most=1)


def _summed_s(name: str, meaning: str) -> Column:
    """Declare a column with a duration in seconds that the publisher computed from jobs."""
    return _summed(name, "DOUBLE", meaning, "s", is_duration=True)


CLUSTER_SUMMARY = Table(
    name="cluster_summary",
    tried_on="real files",
    comment=(
        "The publisher's figures for Seren, Kalos, Philly, Helios and PAI: 5 rows (measured). Figures"
        " that the publisher does not give are NULL. Seren's row counts more jobs than job_trace"
        " has, and PAI's row counts tasks."
    ),
    grain="one row per id",
    source="data/cluster_summary.csv of InternLM/AcmeTrace; its columns are not documented",
    file_name=r"cluster_summary\.csv",
    is_summary=True,
    published_rows={"cluster_summary.csv": 5},
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
        Column(
            "id",
            "VARCHAR",
            "Trace: Seren, Kalos, Philly, Helios or PAI",
            provenance="derived",
            choices=("Seren", "Kalos", "Philly", "Helios", "PAI"),
        ),
        _summed("job_num", "BIGINT", "All jobs; for PAI, tasks", "jobs"),
        _summed(
            "cpu_job_num",
            "BIGINT",
            "Jobs without a GPU; 0 for Philly and for PAI, although PAI had such jobs",
            "jobs",
        ),
        _summed("gpu_job_num", "BIGINT", "Jobs with a GPU; for PAI, tasks that request one", "jobs"),
        _summed_s("avg_run_time_gpu", "Mean run time of GPU jobs"),
        _summed_s("avg_que_time_gpu", "Mean queueing time of GPU jobs"),
        _summed("avg_gpu_num", "DOUBLE", "Mean number of GPUs of a GPU job", "GPUs"),
        _summed_s("med_run_time_gpu", "Median run time of GPU jobs"),
        _summed_s("med_que_time_gpu", "Median queueing time of GPU jobs"),
        _summed("med_gpu_num", "DOUBLE", "Median number of GPUs of a GPU job", "GPUs"),
        _summed_s("max_run_time_gpu", "Longest run time of a GPU job"),
        _summed("max_gpu", "DOUBLE", "Largest number of GPUs of one job", "GPUs"),
        _rate("complete_rate_gpu", "Share of GPU jobs that completed"),
        _rate("cancel_rate_gpu", "Share of GPU jobs that were cancelled"),
        _rate("fail_rate_gpu", "Share of GPU jobs that failed, by a wider definition than state = FAILED"),
        _summed("complete_gpu_time", "DOUBLE", "GPU time of GPU jobs that completed", "GPU-s"),
        _summed("cancel_gpu_time", "DOUBLE", "GPU time of GPU jobs that were cancelled", "GPU-s"),
        _summed("fail_gpu_time", "DOUBLE", "GPU time of GPU jobs that failed", "GPU-s"),
        _rate("complete_rate_gpu_time", "Share of the GPU time used by jobs that completed"),
        _rate("cancel_rate_gpu_time", "Share of the GPU time used by jobs that were cancelled"),
        _rate("fail_rate_gpu_time", "Share of the GPU time used by jobs that failed"),
        _summed_s("avg_run_time_cpu", "Mean run time of CPU jobs"),
        _summed_s("avg_que_time_cpu", "Mean queueing time of CPU jobs"),
        _summed_s("med_run_time_cpu", "Median run time of CPU jobs"),
        _summed_s("med_que_time_cpu", "Median queueing time of CPU jobs"),
        _rate("complete_rate_cpu", "Share of CPU jobs that completed"),
        _rate("cancel_rate_cpu", "Share of CPU jobs that were cancelled"),
        _rate("fail_rate_cpu", "Share of CPU jobs that failed"),
    ),
    order_by=("id",),
    rules=(
        Rule(
            "maxima",
            "no mean or median is above its maximum",
            "avg_run_time_gpu > max_run_time_gpu or med_run_time_gpu > max_run_time_gpu"
            " or avg_gpu_num > max_gpu or med_gpu_num > max_gpu",
        ),
        Rule(
            "job_num",
            "job_num is cpu_job_num + gpu_job_num",
            "job_num <> cpu_job_num + gpu_job_num",
            kind="derived",
            caveat="acme.summary_gaps_and_zeros",
        ),
        Rule(
            "rates_sum",
            "the rates of GPU jobs, of their GPU time and of CPU jobs each add up to 1, within 0.001",
            "abs(complete_rate_gpu + cancel_rate_gpu + fail_rate_gpu - 1) > 0.0011"
            " or abs(complete_rate_gpu_time + cancel_rate_gpu_time + fail_rate_gpu_time - 1) > 0.0011"
            " or abs(complete_rate_cpu + cancel_rate_cpu + fail_rate_cpu - 1) > 0.0011",
            kind="derived",
        ),
    ),
    caveats=(SUMMARY_DOES_NOT_REPRODUCE,),
)

_TIMES = r"(?:-2023-[^/]*)?\.csv"
_GPU_METRICS = (
    "XID_ERRORS|GPU_TEMP|MEMORY_TEMP|MEM_CLOCK|SM_CLOCK|MEM_COPY_UTIL|GPU_UTIL|FB_FREE|FB_USED"
    "|POWER_USAGE|DRAM_ACTIVE|PIPE_TENSOR_ACTIVE|SM_ACTIVE|SM_OCCUPANCY"
)
_NODE_METRICS = "NODE_CPU_UTILIZATION|NODE_MEMORY_UTILIZATION|NODE_IB_SEND|NODE_IB_RECEIVE"
_NODE = r"(?P<node>\d{1,3}(?:\.\d{1,3}){3})"
_CLUSTER = Column("cluster", "VARCHAR", "Cluster, from the folder's name: seren or kalos")
_DEVICE = Column("device", "VARCHAR", "Name of the device's column in the CSV", caveats=(DEVICE_NAMES_VARY,))
_NODE_NAME = Column(
    "node",
    "VARCHAR",
    "IP address of the node; NULL if the device's name is not an address",
    caveats=(NO_NODES_ON_JOBS,),
)
_FROM, _UNTIL = "2023-01-01 00:00:00+08:00", "2024-01-01 00:00:00+08:00"
_TIME = Column(
    "time",
    "TIMESTAMPTZ",
    "Time of the sample; about every 15 s",
    least=_FROM,
    below=_UNTIL,
    clocks=(TELEMETRY_CLOCK,),
    caveats=(JOB_ZONES_DIFFER, TELEMETRY_COVERS_PART),
)
_VALUE = Column(
    "value",
    "DOUBLE",
    "Value, in the metric's unit; NULL if the cell is empty",
    least=0,
    caveats=(TELEMETRY_UNITS_BY_CONVENTION,),
)

GPU_METRIC = Table(
    name="gpu_metric",
    comment=(
        "DCGM metrics of each GPU: one row per cell of the publisher's wide files. Empty cells are"
        " NULL: no sample, not 0. Lines that repeat a time are in catalog.rejected_rows."
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
            "DCGM field, the file's name: GPU_UTIL, MEM_COPY_UTIL, SM_ACTIVE, SM_OCCUPANCY,"
            " PIPE_TENSOR_ACTIVE, DRAM_ACTIVE in percent; FB_… in MiB; POWER_USAGE in W;"
            " by convention, …_TEMP in °C and …_CLOCK in MHz; XID_ERRORS the last code, until cleared",
            caveats=(DRAM_ACTIVE_ONE_ROW,),
        ),
    ),
    columns=(
        _NODE_NAME,
        Column(
            "gpu",
            "BIGINT",
            "GPU on its node, from 0; NULL if the device's name has no number",
            least=0,
            most=7,
        ),
        _DEVICE,
        _TIME,
        _VALUE,
    ),
    order_by=("device", "time"),
    partition_by=("cluster", "metric"),
    wide=Wide(index_header="Time", variable_pattern=_NODE + r"(?:-(?P<gpu>\d))?"),
    rules=(
        Rule(
            "percent",
            "metrics that DCGM gives in percent are at most 100",
            "metric in ('GPU_UTIL', 'MEM_COPY_UTIL', 'SM_ACTIVE', 'SM_OCCUPANCY', 'PIPE_TENSOR_ACTIVE',"
            " 'DRAM_ACTIVE') and value > 100",
        ),
        Rule(
            "memory",
            "used and free memory are each at most 80 GiB, in MiB",
            "metric in ('FB_USED', 'FB_FREE') and value > 80 * 1024",
        ),
        Rule(
            "xid",
            "an error code is a whole number",
            "metric = 'XID_ERRORS' and value > 0 and value <> trunc(value)",
        ),
    ),
    caveats=(LFS_POINTERS, TELEMETRY_IS_WIDE),
)

NODE_METRIC = Table(
    name="node_metric",
    comment=(
        "Metrics of each node: one row per cell of the publisher's wide files. Empty cells are"
        " NULL: no sample, not 0. Lines that repeat a time are in catalog.rejected_rows."
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
        _NODE_NAME,
        _DEVICE,
        _TIME,
        _VALUE,
    ),
    order_by=("device", "time"),
    partition_by=("cluster", "metric"),
    wide=Wide(index_header="Time", variable_pattern=_NODE + r"(?:-mlx5_\d)?"),
    rules=(
        Rule(
            "memory",
            "memory utilisation is at most 100 percent",
            "metric = 'NODE_MEMORY_UTILIZATION' and value > 100",
        ),
        Rule(
            "processors",
            "CPU utilisation is at most 100 percent",
            "metric = 'NODE_CPU_UTILIZATION' and value > 100",
            caveat="acme.kalos_host_cpu_over_100",
        ),
    ),
    caveats=(LFS_POINTERS, TELEMETRY_IS_WIDE),
)

SERVER_POWER = Table(
    name="server_power",
    comment=(
        "Power of Seren's servers, measured by IPMI. Empty fields are NULL. In GPU_AB, servers of type B"
        " have no memory power. No column names the server."
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
    partition_by=("server_group",),
    never_empty=("Time", "Sys_Total_Power", "CPU_Power"),
    columns=(
        Column(
            "Time",
            "TIMESTAMPTZ",
            "Time of the sample",
            least=_FROM,
            below=_UNTIL,
            clocks=(TELEMETRY_CLOCK,),
            caveats=(JOB_ZONES_DIFFER,),
        ),
        Column("Sys_Total_Power", "DOUBLE", "Power of the whole server", unit="W", least=0),
        Column("CPU_Power", "DOUBLE", "Power of the server's CPUs", unit="W", least=0),
        Column(
            "MEM_Power", "DOUBLE", "Power of the server's memory; some files use this name", unit="W", least=0
        ),
        Column(
            "Memory_Power",
            "DOUBLE",
            "Power of the server's memory; some files use this name",
            unit="W",
            least=0,
        ),
    ),
    optional=frozenset({"MEM_Power", "Memory_Power"}),
    order_by=("server_group", "Time"),
    rules=(
        Rule(
            "one_memory",
            "memory power is in one of its two columns, not in both",
            '"MEM_Power" is not null and "Memory_Power" is not null',
        ),
        Rule(
            "memory_recorded",
            "every sample with the power of a server has the power of its memory",
            '"Sys_Total_Power" is not null and "MEM_Power" is null and "Memory_Power" is null',
            kind="coverage",
            caveat="acme.ipmi_is_seren_only",
        ),
    ),
    caveats=(LFS_POINTERS, IPMI_IS_SEREN_ONLY),
)
