"""Rows and files that break Acme's rules in SQL. Comments name the rules that a line breaks."""

from broken_rows import Changes
from raw_dumps import OF_KALOS, header

RUN = "epoch(end_time) - epoch(start_time)"
KALOS_ONLY = {
    "mem_per_pod_GB": "1",
    "shared_mem_per_pod": "1",
    "fail_time": "end_time",
    "stop_time": "end_time",
}
# A job of Seren, without the columns that only Kalos has.
ON_SEREN = {"cluster": "'seren'", **dict.fromkeys(KALOS_ONLY, "null")}

CHANGES: Changes = [
    ("acme.job_trace.state_documented", {"state": "'PREEMPTED'"}),
    ("acme.job_trace.start_after_submit", {"start_time": "submit_time - interval 1 second"}),
    ("acme.job_trace.end_after_start", {"end_time": "start_time - interval 1 second"}),
    ("acme.job_trace.end_after_start", {"start_time": "null", "end_time": "submit_time - interval 1 second"}),
    ("acme.job_trace.queue", {"queue": "queue + 2"}),
    ("acme.job_trace.duration_on_seren", {"cluster": "'seren'", "duration": f"{RUN} + 2"}),
    ("acme.job_trace.duration_on_kalos", {"cluster": "'kalos'", "duration": f"{RUN} + 2"}),
    ("acme.job_trace.duration", {"duration": f"{RUN} + queue + 2"}),
    ("acme.job_trace.gpu_time", {"gpu_num": "8", "gpu_time": "8 * duration + 9"}),
    *(("acme.job_trace.kalos_columns", {**ON_SEREN, name: KALOS_ONLY[name]}) for name in KALOS_ONLY),
    ("acme.cluster_summary.maxima", {"avg_run_time_gpu": "max_run_time_gpu + 1"}),
    ("acme.cluster_summary.maxima", {"med_run_time_gpu": "max_run_time_gpu + 1"}),
    ("acme.cluster_summary.maxima", {"avg_gpu_num": "max_gpu + 1"}),
    ("acme.cluster_summary.maxima", {"med_gpu_num": "max_gpu + 1"}),
    ("acme.cluster_summary.job_num", {"job_num": "cpu_job_num + gpu_job_num + 1"}),
    ("acme.cluster_summary.rates_sum", {"complete_rate_gpu": "complete_rate_gpu + 0.01"}),
    ("acme.cluster_summary.rates_sum", {"cancel_rate_gpu_time": "cancel_rate_gpu_time + 0.01"}),
    ("acme.cluster_summary.rates_sum", {"fail_rate_cpu": "fail_rate_cpu + 0.01"}),
    *(
        ("acme.gpu_metric.percent", {"metric": f"'{metric}'", "value": "100.5"})
        for metric in ("GPU_UTIL", "MEM_COPY_UTIL", "SM_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE")
    ),
    ("acme.gpu_metric.memory", {"metric": "'FB_USED'", "value": "81921"}),
    ("acme.gpu_metric.memory", {"metric": "'FB_FREE'", "value": "81921"}),
    ("acme.gpu_metric.xid", {"metric": "'XID_ERRORS'", "value": "43.5"}),
    ("acme.node_metric.memory", {"metric": "'NODE_MEMORY_UTILIZATION'", "value": "100.5"}),
    ("acme.node_metric.processors", {"metric": "'NODE_CPU_UTILIZATION'", "value": "100.5"}),
    ("acme.server_power.one_memory", {"MEM_Power": "1", "Memory_Power": "1"}),
    ("acme.server_power.memory_recorded", {"MEM_Power": "null", "Memory_Power": "null"}),
]

SEREN_JOB = (
    "u1,1,8,128,Other,COMPLETED,2023-03-01 00:00:10+08:00,2023-03-01 00:00:20+08:00,"
    "2023-03-01 00:01:20+08:00,60,10,480.0"
)

FILES = {
    "acme/trace_seren.csv": [header("acme", "job_trace", *OF_KALOS), f"1,{SEREN_JOB}", f"2,{SEREN_JOB}"],
    "acme/cluster_summary.csv": [
        header("acme", "cluster_summary"),
        # as_summarised, a rule of the jobs: the summary has 7 jobs, Seren's file 2
        "Seren,7,3,4,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,1,1,1,1,0.5,0.3,0.2",
        "Philly,2,0,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,60,30,20,0.5,0.3,0.2,,,,,,,",  # gpu_time_rates
    ],
    "acme/kalos/GPU_UTIL.csv": [
        "Time,172.31.0.1-0,172.31.0.2-0,pod-a",  # attributed, in_node_metric
        "2023-07-01 00:00:00+08:00,100,100,50",
        "2023-07-01 00:00:15+08:00,,,",
    ],
    "acme/kalos/DRAM_ACTIVE.csv": [
        "Time,172.31.0.1-7",  # several_times
        "2023-07-01 00:00:00+08:00,0.5",
    ],
    # Seren has no node metrics, so the rule in_node_metric does not apply to its GPU nodes.
    "acme/seren/GPU_TEMP.csv": [
        "Time,10.140.0.1-0",
        "2023-07-01 00:00:00+08:00,40",
        "2023-07-01 00:00:15+08:00,40",
    ],
    "acme/kalos/NODE_IB_SEND.csv": [
        "Time,172.31.0.1,172.31.0.1-mlx5_0",
        "2023-07-01 00:00:00+08:00,1,1",  # key
    ],
    "acme/kalos/NODE_MEMORY_UTILIZATION.csv": [
        "Time,172.31.0.1,172.31.0.1.1",  # attributed
        "2023-07-01 00:00:00+08:00,100,0.5",
    ],
}

# Ingest rejects lines that would break these rules.
KEPT_BY_INGEST = {"acme.gpu_metric.key"}

# All other rules of `checks.sql` are broken once.
BROKEN_MORE_OFTEN = {"acme.job_trace.as_summarised": 5}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {"acme.cluster_summary.job_num": 1}
