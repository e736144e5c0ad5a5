"""Acme: jobs of two clusters for large language models, Seren and Kalos, March to August 2023.

880,740 jobs, of which 470,497 use GPUs, from Shanghai AI Laboratory; and the publisher's table that
sets the two clusters beside Philly, Helios and PAI.

Citation: see ``TRACE.citation``. Licence: CC BY 4.0, Shanghai AI Laboratory.

Files, from https://github.com/InternLM/AcmeTrace, folder ``data``:

- ``job_trace/trace_seren.csv``, ``job_trace/trace_kalos.csv`` → `job_trace`.
- ``cluster_summary.csv`` → `cluster_summary`.

The telemetry, about 80 GB, is at https://huggingface.co/datasets/Qinghao/AcmeTrace. No checksums are
published.

Traps:

- Seren's times carry +08:00 and Kalos's +00:00: they are instants, and an offset cut off shifts one
  cluster by eight hours.
- In the README's Kalos rows ``duration`` runs from submission, not from the start.
- The files hold 213,223 GPU jobs of Seren fewer than the paper and ``cluster_summary.csv`` count.
- Nothing says on which nodes a job ran: jobs and telemetry meet in time only.
"""

from tracehouse.ingest.declare import Column, Table, Trace

JOB_TRACE = Table(
    name="job_trace",
    comment=(
        "Jobs submitted to the schedulers of both clusters: 880,740 rows, as the publisher counts"
        " them. Empty is NULL; mem_per_pod_GB, shared_mem_per_pod, fail_time and stop_time exist"
        " for Kalos only."
    ),
    grain="one row per (cluster, job_id)",
    source="README of InternLM/AcmeTrace, Job Trace",
    csv_name=r"trace_(?P<cluster>seren|kalos)\.csv",
    keys=(Column("cluster", "VARCHAR", "Cluster, from the file's name: seren or kalos"),),
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
        Column("submit_time", "TIMESTAMPTZ", "Submission"),
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
            provenance="derived",
        ),
        Column(
            "queue",
            "DOUBLE",
            "Queueing time, documented as start_time - submit_time",
            unit="s",
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

CLUSTER_SUMMARY = Table(
    name="cluster_summary",
    comment=(
        "The publisher's figures for Seren, Kalos, Philly, Helios and PAI: 5 rows measured. Empty,"
        " so NULL, where the publisher gives none. Seren's row counts more jobs than job_trace"
        " holds, and PAI's row counts tasks."
    ),
    grain="one row per id",
    source="data/cluster_summary.csv of InternLM/AcmeTrace; its columns are nowhere described",
    csv_name=r"cluster_summary\.csv",
    columns=(
        Column("id", "VARCHAR", "Trace: Seren, Kalos, Philly, Helios or PAI", provenance="derived"),
        Column("job_num", "BIGINT", "All jobs; for PAI, tasks", unit="jobs", provenance="derived"),
        Column(
            "cpu_job_num",
            "BIGINT",
            "Jobs without a GPU; 0 for Philly and PAI, which does not mean that PAI had none",
            unit="jobs",
            provenance="derived",
        ),
        Column(
            "gpu_job_num",
            "BIGINT",
            "Jobs with a GPU; for PAI, tasks that request one",
            unit="jobs",
            provenance="derived",
        ),
        Column("avg_run_time_gpu", "DOUBLE", "Mean run of GPU jobs", unit="s", provenance="derived"),
        Column("avg_que_time_gpu", "DOUBLE", "Mean queue of GPU jobs", unit="s", provenance="derived"),
        Column("avg_gpu_num", "DOUBLE", "Mean GPUs of a GPU job", unit="GPUs", provenance="derived"),
        Column("med_run_time_gpu", "DOUBLE", "Median run of GPU jobs", unit="s", provenance="derived"),
        Column(
            "med_que_time_gpu",
            "DOUBLE",
            "Median queue of GPU jobs",
            unit="s",
            provenance="derived",
        ),
        Column("med_gpu_num", "DOUBLE", "Median GPUs of a GPU job", unit="GPUs", provenance="derived"),
        Column("max_run_time_gpu", "DOUBLE", "Longest run of a GPU job", unit="s", provenance="derived"),
        Column("max_gpu", "DOUBLE", "Most GPUs of one job", unit="GPUs", provenance="derived"),
        Column(
            "complete_rate_gpu",
            "DOUBLE",
            "Share of GPU jobs that completed",
            unit="fraction",
            provenance="derived",
        ),
        Column(
            "cancel_rate_gpu",
            "DOUBLE",
            "Share of GPU jobs that were cancelled",
            unit="fraction",
            provenance="derived",
        ),
        Column(
            "fail_rate_gpu",
            "DOUBLE",
            "Share of GPU jobs that failed, by a wider rule than state = FAILED",
            unit="fraction",
            provenance="derived",
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
        Column(
            "complete_rate_gpu_time",
            "DOUBLE",
            "Share of the GPU time in jobs that completed",
            unit="fraction",
            provenance="derived",
        ),
        Column(
            "cancel_rate_gpu_time",
            "DOUBLE",
            "Share of the GPU time in jobs that were cancelled",
            unit="fraction",
            provenance="derived",
        ),
        Column(
            "fail_rate_gpu_time",
            "DOUBLE",
            "Share of the GPU time in jobs that failed",
            unit="fraction",
            provenance="derived",
        ),
        Column("avg_run_time_cpu", "DOUBLE", "Mean run of CPU jobs", unit="s", provenance="derived"),
        Column("avg_que_time_cpu", "DOUBLE", "Mean queue of CPU jobs", unit="s", provenance="derived"),
        Column("med_run_time_cpu", "DOUBLE", "Median run of CPU jobs", unit="s", provenance="derived"),
        Column(
            "med_que_time_cpu",
            "DOUBLE",
            "Median queue of CPU jobs",
            unit="s",
            provenance="derived",
        ),
        Column(
            "complete_rate_cpu",
            "DOUBLE",
            "Share of CPU jobs that completed",
            unit="fraction",
            provenance="derived",
        ),
        Column(
            "cancel_rate_cpu",
            "DOUBLE",
            "Share of CPU jobs that were cancelled",
            unit="fraction",
            provenance="derived",
        ),
        Column(
            "fail_rate_cpu",
            "DOUBLE",
            "Share of CPU jobs that failed",
            unit="fraction",
            provenance="derived",
        ),
    ),
    order_by=("id",),
)

TRACE = Trace(
    name="acme",
    title="Acme traces of Seren and Kalos (2023)",
    publisher="Shanghai AI Laboratory",
    homepage="https://github.com/InternLM/AcmeTrace",
    download=(
        "Fetch data/job_trace/trace_seren.csv, data/job_trace/trace_kalos.csv and"
        " data/cluster_summary.csv of https://github.com/InternLM/AcmeTrace, or of"
        " https://huggingface.co/datasets/Qinghao/AcmeTrace, into one folder."
    ),
    licence="CC BY 4.0",
    citation=(
        "Qinghao Hu, Zhisheng Ye, Zerui Wang, Guoteng Wang, Meng Zhang, Qiaoling Chen, Peng Sun,"
        " Dahua Lin, Xiaolin Wang, Yingwei Luo, Yonggang Wen, and Tianwei Zhang. Characterization"
        " of Large Language Model Development in the Datacenter. In 21st USENIX Symposium on"
        " Networked Systems Design and Implementation (NSDI 24). USENIX Association, 2024."
        " https://www.usenix.org/conference/nsdi24/presentation/hu"
    ),
    tables=(JOB_TRACE, CLUSTER_SUMMARY),
)
