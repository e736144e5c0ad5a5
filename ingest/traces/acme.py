"""Acme: jobs of two clusters for large language models, Seren and Kalos, March to August 2023.

880,740 jobs of Shanghai AI Laboratory, 470,497 of them with GPUs, and a table of the publisher that compares
the two clusters with Philly, Helios and PAI.

Licence: CC BY 4.0, Shanghai AI Laboratory.

Files, from https://github.com/InternLM/AcmeTrace, folder ``data``:

- ``job_trace/trace_seren.csv``, ``job_trace/trace_kalos.csv`` → `job_trace`.
- ``cluster_summary.csv`` → `cluster_summary`.
- ``utilization/{seren,kalos}/<METRIC>.csv``, or several files ``<METRIC>-2023-*.csv`` → `gpu_metric`,
  `node_metric`; ``utilization/ipmi/*.csv`` → `server_power`. These about 80 GB are only at
  https://huggingface.co/datasets/Qinghao/AcmeTrace.

No checksums are published.

Pitfalls:

- Seren's times have the offset +08:00 and Kalos's +00:00. They are instants; without the offsets, one cluster
  is shifted by eight hours.
- In the README's Kalos rows, ``duration`` begins at the submission, not at the start.
- The files have 213,223 fewer GPU jobs of Seren than the paper and ``cluster_summary.csv``.
- Jobs do not name their nodes: jobs and telemetry can be joined by time only.
- A metric's CSV has a column for each device. If a metric has several CSVs, they have different columns and
  overlap in time. An empty cell means that there is no sample, not 0. Columns with the suffix ``.1`` come
  from another tool.
- XID_ERRORS repeats an error code until it is cleared. The samples show a state, not events.
"""

from tracehouse.ingest.declare.column_types import TypeName
from tracehouse.ingest.declare.metadata import Caveat, Clock, Metric, PublishedFile, Quantity
from tracehouse.ingest.declare.sample_distributions import Arrivals, Names
from tracehouse.ingest.declare.trace import Column, Rule, Table, Trace, Wide

SEREN_JOBS_CLOCK = Clock(
    "acme.seren_jobs",
    epoch="1970-01-01T00:00:00Z, absolute",
    zone="Asia/Shanghai, stamped +08:00",
    local_offset_s=28800,
    true_parts="all: the times are instants",
    documented_in="publisher: README of InternLM/AcmeTrace, Job Trace, trace_seren.csv",
)

KALOS_JOBS_CLOCK = Clock(
    "acme.kalos_jobs",
    epoch="1970-01-01T00:00:00Z, absolute",
    zone="UTC, stamped +00:00",
    local_offset_s=28800,
    true_parts="all: the times are instants",
    documented_in="publisher: README of InternLM/AcmeTrace, Job Trace, trace_kalos.csv",
)

TELEMETRY_CLOCK = Clock(
    "acme.telemetry",
    epoch="1970-01-01T00:00:00Z, absolute",
    zone="Asia/Shanghai, stamped +08:00 in both clusters",
    local_offset_s=28800,
    resolution_s=15,
    true_parts="all: the times are instants",
    documented_in=(
        "publisher: README of InternLM/AcmeTrace, Resource Utilization; third party: the sampling interval"
    ),
)

JOB_ZONES_DIFFER = Caveat(
    "acme.job_zones_differ",
    "wrong result",
    summary="Seren's times are in +08:00 and Kalos's in +00:00: a reader that drops offsets is 8 hours off.",
    what_goes_wrong=(
        "Seren's times have the offset +08:00, Kalos's +00:00, and the telemetry of both +08:00."
        " If a reader drops the offsets, Kalos jobs are eight hours off from Seren's jobs and from"
        " their own telemetry."
    ),
    what_to_do="Keep the instants and show both clusters in one time zone.",
    documented_in=(
        "publisher: README, the example rows, and data/generate_utilization_pkl.ipynb for the telemetry"
    ),
)

KALOS_DURATION_INCLUDES_QUEUE = Caveat(
    "acme.kalos_duration_includes_queue",
    "wrong result",
    summary="Kalos's duration and gpu_time include the wait; compute end_time - start_time.",
    what_goes_wrong=(
        "Note 2 of the README defines duration as end - start. In both Kalos examples of the"
        " README, duration is end - submit (18 s instead of 8 s, 82 s instead of 70 s); both Seren"
        " examples follow the note. gpu_time has the same error, and duration + queue counts the"
        " wait twice."
    ),
    what_to_do="Compute end_time - start_time, and count the rows that follow each definition.",
    documented_in="publisher: README, Job Trace, the example rows and note 2; not checked on the full file",
)

PAPER_COUNTS_MORE_JOBS = Caveat(
    "acme.paper_counts_more_jobs",
    "limited result",
    summary="The paper counts 1,093,963 jobs, the job files 880,740; the difference is GPU jobs of Seren.",
    what_goes_wrong=(
        "The README counts 880,740 jobs, 470,497 of them with GPUs. cluster_summary.csv and the"
        " paper count 1,031,550 + 62,413 = 1,093,963 jobs, 683,720 of them with GPUs. The"
        " difference is 213,223 jobs; by third-party counts, all of them are GPU jobs of Seren."
    ),
    what_to_do="Name the population: the job files or the summary.",
    documented_in=(
        "publisher: README and data/cluster_summary.csv; third party: the counts by cluster, not checked here"
    ),
    concerns=("acme.cluster_summary.job_num", "acme.cluster_summary.gpu_job_num"),
)

SUMMARY_DOES_NOT_REPRODUCE = Caveat(
    "acme.summary_does_not_reproduce",
    "limited result",
    summary="Seren's published shares do not reproduce: the job files have fewer jobs than the summary.",
    what_goes_wrong=(
        "The job files have fewer jobs, so Seren's published shares do not reproduce: 5,626,520"
        " GPU-hours instead of 5,975,173, and 46.1, 33.9, 10.2 and 9.7 % completed, failed,"
        " cancelled and preempted instead of 49.7, 42.9 and 7.5 % without preempted."
    ),
    what_to_do="Show the published figure next to the measured one. Do not adjust one to match the other.",
    documented_in=(
        "measured: on cluster_summary.csv; third party: the figures of trace_seren.csv, not checked here"
    ),
)

STATES_BEYOND_README = Caveat(
    "acme.states_beyond_readme",
    "limited result",
    summary="The files have two undocumented states: PREEMPTED (9.7 % of Seren's GPU jobs) and RUNNING.",
    what_goes_wrong=(
        "The README lists the states COMPLETED, CANCELLED, FAILED, TIMEOUT and NODE_FAIL. The"
        " files also have PREEMPTED (9.7 % of Seren's GPU jobs) and RUNNING (3 Kalos jobs)."
    ),
    what_to_do="Decide how to count PREEMPTED and RUNNING before you compute shares.",
    documented_in="publisher: README, note 1; third party: the counts, not checked here",
)

FAILURE_NEEDS_A_RULE = Caveat(
    "acme.failure_needs_a_rule",
    "wrong result",
    summary="Failure rates depend on whether TIMEOUT, NODE_FAIL and PREEMPTED count as failures.",
    what_goes_wrong=(
        "The README counts TIMEOUT and NODE_FAIL as failures. cluster_summary.csv does not define"
        " failure. By it, failed jobs use 12.4 % of Seren's and 8.0 % of Kalos's GPU time; jobs"
        " with the state FAILED use 4.2 and 6.3 %."
    ),
    what_to_do=(
        "State which states count as failures, for job counts and for GPU time. In unified.jobs, TIMEOUT and"
        " NODE_FAIL are failed, and PREEMPTED is not."
    ),
    documented_in=(
        "publisher: README, note 1, and data/cluster_summary.csv; third party: the files' shares,"
        " not checked here"
    ),
    concerns=("acme.cluster_summary.fail_rate_gpu", "acme.cluster_summary.fail_rate_gpu_time"),
)

TYPES_DIFFER_BY_CLUSTER = Caveat(
    "acme.types_differ_by_cluster",
    "limited result",
    summary="The clusters run different job types: Kalos has six SFT jobs and no MLLM job.",
    what_goes_wrong="The clusters do different work: Kalos has six SFT jobs and no MLLM job.",
    what_to_do="Compare job types only if both clusters have jobs of the type.",
    documented_in="third party: counted on the real files, not checked here",
)

KALOS_ONLY_COLUMNS = Caveat(
    "acme.kalos_only_columns",
    "limited result",
    summary="Four columns exist for Kalos only; NULL on a Seren row means not recorded.",
    what_goes_wrong=(
        "Four columns exist for Kalos only. NULL on a Seren row means not recorded."
        " shared_mem_per_pod has no documented unit, and both memory columns are per pod."
    ),
    what_to_do="Use these columns only where cluster = 'kalos'.",
    documented_in="publisher: README, Job Trace, Only in Kalos",
)

CPU_JOBS_INCLUDED = Caveat(
    "acme.cpu_jobs_included",
    "wrong result",
    summary="The files include 410,243 jobs without a GPU; the paper's means exclude them.",
    what_goes_wrong=(
        "The files include jobs without a GPU: 367,737 in Seren and 42,506 in Kalos. Means of GPUs"
        " and durations over all jobs differ from the paper's."
    ),
    what_to_do="Filter on gpu_num > 0 for GPU figures.",
    documented_in="publisher: data/cluster_summary.csv",
)

JOB_ID_FORMATS_DIFFER = Caveat(
    "acme.job_id_formats_differ",
    "background",
    summary="Job ids are digits in Seren, letters and digits in Kalos.",
    what_goes_wrong=(
        "Seren's job ids are digits; Kalos's are letters and digits. The column cannot be read as a number."
    ),
    what_to_do="Read it as text, and use (cluster, job_id) as the key.",
    documented_in="publisher: README, Job Trace, the example rows",
)

NO_NODES_ON_JOBS = Caveat(
    "acme.no_nodes_on_jobs",
    "limited result",
    summary="Jobs do not name nodes; jobs and telemetry join by cluster and time only.",
    what_goes_wrong=(
        "Jobs do not name nodes, and telemetry does not name jobs. Both can be joined by cluster"
        " and time only."
    ),
    what_to_do="Do not attribute a device's utilisation to a job.",
    documented_in="publisher: README, Job Trace and Resource Utilization",
)

TELEMETRY_COVERS_PART = Caveat(
    "acme.telemetry_covers_part",
    "limited result",
    summary="Telemetry covers only part of the six months of jobs.",
    what_goes_wrong=(
        "Telemetry covers only part of the six months of jobs. The README's sample begins on"
        " 2023-07-01. Kalos's error codes overlap the failed jobs for about a day and a half: 113"
        " of 13,836 failed jobs."
    ),
    what_to_do="Compare the first and last times before you join jobs and telemetry.",
    documented_in="publisher: README, Resource Utilization; third party: the overlap, not checked here",
)

SUMMARY_PAI_COUNTS_TASKS = Caveat(
    "acme.summary_pai_counts_tasks",
    "limited result",
    summary="PAI's row counts tasks with fractions of GPUs, not jobs.",
    what_goes_wrong=(
        "PAI's row counts tasks: its 1,037,085 GPU jobs are the tasks with a GPU request. Their"
        " GPU counts are fractions, with a median of 0.5."
    ),
    what_to_do="Do not compare this row with the job counts of the other rows.",
    documented_in="measured: on cluster_summary.csv; third party: PAI's task counts, not checked here",
    concerns=(
        "acme.cluster_summary.job_num",
        "acme.cluster_summary.gpu_job_num",
        "acme.cluster_summary.avg_gpu_num",
        "acme.cluster_summary.med_gpu_num",
    ),
)

SUMMARY_GAPS_AND_ZEROS = Caveat(
    "acme.summary_gaps_and_zeros",
    "wrong result",
    summary="PAI's 0 CPU jobs in the summary means not counted.",
    what_goes_wrong=(
        "cpu_job_num is 0 for PAI although job_num is 223,835 above gpu_job_num, so this 0 means"
        " not counted. The columns on CPU jobs are empty for Philly and PAI, and the outcome"
        " columns are empty for PAI."
    ),
    what_to_do="Treat PAI's 0 as unknown.",
    documented_in="measured: on cluster_summary.csv",
    concerns=(
        "acme.cluster_summary.cpu_job_num",
        "acme.cluster_summary.complete_rate_gpu",
        "acme.cluster_summary.avg_run_time_cpu",
    ),
)

SUMMARY_IS_ROUNDED = Caveat(
    "acme.summary_is_rounded",
    "background",
    summary="Published rates have three decimals and need not add up to 1.",
    what_goes_wrong=(
        "Rates are fractions with three decimals and need not add up to 1: Seren's add up to 1.001."
    ),
    what_to_do="Allow a difference of 0.001 when you check sums.",
    documented_in="measured: on cluster_summary.csv",
    concerns=(
        "acme.cluster_summary.complete_rate_gpu",
        "acme.cluster_summary.cancel_rate_gpu",
        "acme.cluster_summary.fail_rate_gpu",
    ),
)

FIGURE_DIFFERS_FROM_PAPER = Caveat(
    "acme.figure_differs_from_paper",
    "limited result",
    summary="The published treemap and the text of the paper give different shares of GPU time.",
    what_goes_wrong=(
        "Pretrain has 95.5 % of Kalos's GPU time in the published treemap and 94.0 % in the text"
        " of the paper; Eval has 0.4 and 0.8 %."
    ),
    what_to_do="Cite the figure or the text together with the value.",
    documented_in=(
        "publisher: figure/treemap_job_dist.pdf, read off the figure; third party: the paper's"
        " text, as quoted"
    ),
)

CAPACITY_FROM_PAPER = Caveat(
    "acme.capacity_from_paper",
    "limited result",
    summary="Capacities are the paper's; the telemetry has 3 % fewer device columns.",
    what_goes_wrong=(
        "According to the paper, the clusters have 2,288 (Seren) and 2,416 (Kalos) A100 GPUs."
        " Kalos's GPU_UTIL has 2,344 device columns, so a count of columns is 3 % too small."
    ),
    what_to_do="Take the capacity from the paper.",
    documented_in="publisher: the NSDI '24 paper; third party: the columns, not checked here",
    concerns=("acme.gpu_metric.device",),
)

KALOS_LOOKS_IDLE = Caveat(
    "acme.kalos_looks_idle",
    "limited result",
    summary="Kalos's jobs hold 14 % of its GPUs over six months: whether jobs are missing is unknown.",
    what_goes_wrong=(
        "The summary gives Kalos 1,481,439 GPU-hours, 13.9 % of those that 2,416 GPUs have from March to"
        " August; for Seren it is 59 %. A user found that Kalos's jobs never hold more than about 70 % at a"
        " time, and for long less than 20 %. The publisher has not answered whether jobs are missing."
    ),
    what_to_do=(
        "Do not call GPUs without a job idle. Compare with the telemetry for the hours that it covers, as"
        " acme.fleet_hourly does."
    ),
    documented_in=(
        "measured: on cluster_summary.csv, with the capacity of the paper; third party: InternLM/AcmeTrace"
        " issue 1"
    ),
)

LFS_POINTERS = Caveat(
    "acme.lfs_pointers",
    "background",
    summary="Clones through Git LFS leave pointer files instead of telemetry.",
    what_goes_wrong=(
        "Clones through Git LFS leave pointer files, especially for the 70 GB of Seren's"
        " telemetry. One file may be a pointer while the next one has data."
    ),
    what_to_do="Check each file, and download with git lfs pull or from Hugging Face.",
    documented_in="third party: users of the data set",
)

TELEMETRY_IS_WIDE = Caveat(
    "acme.telemetry_is_wide",
    "background",
    summary="Raw telemetry has one column per device, and some metrics are split into several files.",
    what_goes_wrong=(
        "A metric file has a Time column and one column per device, up to 2,345. Some metrics have"
        " no such file but several files named <METRIC>-2023-*.csv, which the authors join after"
        " removing repeated times."
    ),
    what_to_do="Concatenate these files first, then turn columns into rows.",
    documented_in=(
        "publisher: data/generate_utilization_pkl.ipynb, read_csv_with_concat; third party: the"
        " sizes, not checked here"
    ),
)

TELEMETRY_UNITS_BY_CONVENTION = Caveat(
    "acme.telemetry_units_by_convention",
    "limited result",
    summary="Units of telemetry rest on the notebook and on DCGM's conventions.",
    what_goes_wrong=(
        "The README documents Time and one sample file. The notebook multiplies NODE_CPU and"
        " NODE_MEMORY utilisation and all ACTIVE and OCCUPANCY ratios by 100 and rounds them to"
        " three decimals before it writes these files, so they are in percent, as in the README's"
        " sample line. It divides FB_USED by 80 * 1024, so FB_USED is in MiB. Units of clocks and"
        " temperatures follow DCGM's names; the unit of InfiniBand traffic is not documented."
    ),
    what_to_do="Mark units that rest on a convention.",
    documented_in="publisher: data/generate_utilization_pkl.ipynb and data/utils.py",
)

DEVICE_NAMES_VARY = Caveat(
    "acme.device_names_vary",
    "background",
    summary="Device names have three forms in the raw files.",
    what_goes_wrong=(
        "Devices are named <ip>-<n>, <ip> or, for some metrics, after a pod. InfiniBand columns"
        " lost the suffix -mlx5_0."
    ),
    what_to_do="Split the name into node and GPU index, and keep the original name.",
    documented_in=(
        "publisher: data/generate_utilization_pkl.ipynb, for the suffix; third party: the names,"
        " not checked here"
    ),
)

NODE_MEMORY_BAD_COLUMNS = Caveat(
    "acme.node_memory_bad_columns",
    "limited result",
    summary="For two hours of 2023-07-19, NODE_MEMORY_UTILIZATION has duplicate device names.",
    what_goes_wrong=(
        "For about two hours of 2023-07-19, from 11:35 to 14:01 +08:00, NODE_MEMORY_UTILIZATION"
        " has device names with the suffix .1."
    ),
    what_to_do="Exclude these two hours, as the authors do.",
    documented_in="publisher: data/generate_utilization_pkl.ipynb",
    concerns=("acme.node_metric.device",),
)

KALOS_HOST_CPU_OVER_100 = Caveat(
    "acme.kalos_host_cpu_over_100",
    "limited result",
    summary="Kalos's host CPU utilisation exceeds 100 % (up to 238.9 %): it is not a share.",
    what_goes_wrong="The published curve of Kalos's host CPU utilisation reaches 238.9 %.",
    what_to_do="Do not clip it at 100 %, and do not call it a share.",
    documented_in="measured: on util_pkl/util_cpu_mem_kalos.pkl",
    concerns=("acme.node_metric.value",),
)

DRAM_ACTIVE_ONE_ROW = Caveat(
    "acme.dram_active_one_row",
    "limited result",
    summary="Kalos's DRAM_ACTIVE has one row of data.",
    what_goes_wrong=(
        "Kalos's DRAM_ACTIVE.csv has one row of data, so a listed metric may have too little data to use."
    ),
    what_to_do="Count the rows before you use a metric.",
    documented_in="third party: counted on the real file, not checked here",
)

XID_IS_A_LATCH = Caveat(
    "acme.xid_is_a_latch",
    "wrong result",
    summary="XID codes repeat in every sample until cleared: count onsets, not rows.",
    what_goes_wrong=(
        "XID_ERRORS repeats an error code in every sample until the code is cleared. An empty cell"
        " means idle, not 0. Counting rows turns one error into thousands. On 2023-08-29, from"
        " 13:57 to 14:00 +08:00, 882 GPUs on 141 nodes change at once."
    ),
    what_to_do=(
        "Count onsets: changes from 0 or empty to a code. The onset of a device's first sample is unknown."
    ),
    documented_in="third party: counted on the real file, not checked here",
    concerns=("acme.gpu_metric.value",),
)

COPIED_CURVE = Caveat(
    "acme.copied_curve",
    "wrong result",
    summary="The published curves of tensor activity and SM occupancy are identical: one is a copy.",
    what_goes_wrong=(
        "In both utilisation pickles, the curves of tensor activity and SM occupancy have the same"
        " values, so one of them is a copy."
    ),
    what_to_do="Do not use either as a reference.",
    documented_in="measured: on util_pkl/util_gpu_seren.pkl and util_pkl/util_gpu_kalos.pkl",
    concerns=("catalog.reference_curves",),
)

PICKLES_ARE_UNSAFE = Caveat(
    "acme.pickles_are_unsafe",
    "background",
    summary="The published curves are pickle files, which can run code; Tracehouse reads CSV copies.",
    what_goes_wrong=(
        "The published curves are pickle files, and loading a pickle can run code."
        " util_gpu_pai.pkl also needs pandas classes that no longer exist."
    ),
    what_to_do="Read the curves that were converted to CSV.",
    documented_in="measured: on util_pkl",
    concerns=("catalog.reference_curves",),
)

POWER_CLAIM_NOT_REPRODUCED = Caveat(
    "acme.power_claim_not_reproduced",
    "limited result",
    summary="The paper says 22.1 % of samples exceed 400 W; its curves say 8.0 and 12.6 %.",
    what_goes_wrong=(
        "According to the paper, 22.1 % of GPU samples are above 400 W. In the published curves,"
        " the share is 8.0 % for Seren and 12.6 % for Kalos."
    ),
    what_to_do="Show both values.",
    documented_in=(
        "third party: the paper's figure, as quoted; measured: on util_pkl/gpu_power_seren.pkl and"
        " util_pkl/gpu_power_kalos.pkl"
    ),
    concerns=("acme.gpu_metric.value", "catalog.reference_curves"),
)

MEDIANS_DIFFER_FROM_PAPER = Caveat(
    "acme.medians_differ_from_paper",
    "limited result",
    summary="The paper's median SM activity matches neither cluster's published curve.",
    what_goes_wrong=(
        "The paper's median SM activity of about 40 % is between those of the curves: 50.2 %"
        " (Seren) and 33.3 % (Kalos). There are two published curves of Kalos's GPU utilisation,"
        " with medians of 97 and 98 %."
    ),
    what_to_do="State which cluster and which published file a median is from.",
    documented_in="third party: the paper's figure, as quoted; measured: on util_pkl",
    concerns=("acme.gpu_metric.value", "catalog.reference_curves"),
)

IPMI_IS_SEREN_ONLY = Caveat(
    "acme.ipmi_is_seren_only",
    "limited result",
    summary="Server power exists for Seren only, and GPU power is an estimate.",
    what_goes_wrong=(
        "Server power was recorded for Seren only, without a column for the GPUs. In"
        " GPU_AB_Power.csv, servers of type A have memory power and servers of type B do not."
    ),
    what_to_do=(
        "Estimate GPU power as total power less CPU and memory power, and say that it is an"
        " estimate. Exclude servers of type B."
    ),
    documented_in="publisher: data/generate_utilization_pkl.ipynb and README",
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

CAVEATS = (
    SUMMARY_PAI_COUNTS_TASKS,
    SUMMARY_GAPS_AND_ZEROS,
    SUMMARY_IS_ROUNDED,
    NODE_MEMORY_BAD_COLUMNS,
    KALOS_HOST_CPU_OVER_100,
    XID_IS_A_LATCH,
    COPIED_CURVE,
    PICKLES_ARE_UNSAFE,
    POWER_CLAIM_NOT_REPRODUCED,
    MEDIANS_DIFFER_FROM_PAPER,
)

METRICS = (
    Metric(
        "submission", "exact", "Submissions are instants; the files write them with two offsets.", "acme.job"
    ),
    Metric("wait", "exact", "Time from submission to start.", "acme.job"),
    Metric(
        "run",
        "exact",
        "Time from start to end; the published duration of Kalos includes the queue.",
        "acme.job",
    ),
    Metric("requested GPUs", "exact", "Whole GPUs.", "acme.job"),
    Metric("allocated GPUs", "approximate", "Only requests of jobs that ended are known.", "unified.jobs"),
    Metric(
        "GPU utilisation",
        "approximate",
        "Recorded for each GPU every 15 s, not for jobs: jobs do not name their nodes.",
        "acme.utilization_hourly",
    ),
    Metric(
        "CPU utilisation",
        "approximate",
        "Recorded for each node every 15 s, not for jobs.",
        "acme.metric_percentiles",
    ),
    Metric(
        "memory use",
        "approximate",
        "Recorded for each GPU and node every 15 s, not for jobs.",
        "acme.gpu_memory_used",
    ),
    Metric(
        "power",
        "approximate",
        "Recorded for each GPU every 15 s and for Seren's servers, not for jobs.",
        "acme.power_hourly",
    ),
    Metric(
        "energy",
        "approximate",
        "Power of all GPUs over the time that samples cover, not of jobs.",
        "acme.power_by_day",
    ),
    Metric(
        "final state",
        "exact",
        "Every job has a state; which states count as failures needs a rule.",
        "acme.states",
    ),
    Metric("user", "exact", "Every job has a hashed user.", "acme.user_concentration"),
    Metric(
        "group or recurrence",
        "impossible",
        "server_group is a group of servers; jobs have no group and no name that recurs.",
    ),
    Metric(
        "workload",
        "exact",
        "Every job has a type of work in the development of language models.",
        "acme.type_shares",
    ),
    Metric(
        "machine placement", "impossible", "node_num is the number of nodes of a job; no column names them."
    ),
    Metric("GPU sharing", "impossible", "Jobs use whole GPUs."),
    Metric("fragmentation", "impossible", "The nodes of jobs are not recorded."),
    Metric(
        "deadline",
        "impossible",
        "Jobs past their time limit have the state TIMEOUT; their limit is not among the columns.",
    ),
    Metric("time to accuracy", "impossible", "The state is the only result of a job in the job files."),
    Metric(
        "hour of day",
        "exact",
        "Submissions are instants; the clusters are in China (UTC+8).",
        "acme.arrivals_by_hour",
    ),
    Metric("calendar date", "exact", "Submissions are instants.", "acme.job"),
)

QUANTITIES = (
    Quantity("all_jobs", "jobs", "All jobs of the cluster, with a GPU or without"),
    Quantity("all_short_jobs", "jobs", "All jobs of the cluster whose run time is below the limit"),
    Quantity("all_short_pct", "percent", "Short jobs in percent of all jobs"),
    Quantity("at_pct", "percent", "Share of the samples that have the value"),
    Quantity("at_samples", "samples", "Samples that have the value"),
    Quantity("bursts", "bursts", "Distinct bursts that contain onsets of the code"),
    Quantity("busiest_hour_jobs", "jobs", "GPU jobs submitted in the busiest hour"),
    Quantity("busiest_node_value", "", "Largest mean of a node, in the metric's unit"),
    Quantity("cancelled_gpu_h_pct", "percent", "Share of the GPU-hours in jobs that were cancelled"),
    Quantity("cancelled_jobs_pct", "percent", "Share of the GPU jobs that were cancelled"),
    Quantity("cells", "cells"),
    Quantity("completed_gpu_h_pct", "percent", "Share of the GPU-hours in jobs that completed"),
    Quantity("completed_jobs_pct", "percent", "Share of the GPU jobs that completed"),
    Quantity("covered_pct", "percent", "Share of the jobs whose run time is known"),
    Quantity("curve", "", "Published distribution: cluster, quantity and unit"),
    Quantity("day_covered_pct", "percent", "Share of the day's minutes with a sample"),
    Quantity("device_cells", "cells"),
    Quantity("devices", "devices", "GPUs or nodes that have a sample"),
    Quantity("devices_pct", "percent", "Devices in percent of the published fleet"),
    Quantity("duration_is_both", "jobs"),
    Quantity("duration_is_neither", "jobs"),
    Quantity("duration_is_run", "jobs"),
    Quantity("duration_is_turnaround", "jobs"),
    Quantity("empty_samples", "samples", "Cells of the publisher's table that hold no sample"),
    Quantity("energy_kwh", "kWh", "Energy over the time that samples cover"),
    Quantity("failed_gpu_h", "GPU-h", "GPU-hours of jobs that failed"),
    Quantity("failed_gpu_h_pct", "percent", "Share of the GPU-hours of the cluster in jobs that failed"),
    Quantity("failed_jobs_in_xid", "jobs"),
    Quantity("failed_jobs_pct", "percent", "Share of the jobs of the cluster that failed"),
    Quantity("final_state", "", "State as published, or outcome"),
    Quantity("first_submit", "", "First submission"),
    Quantity("first_time", "", "First time"),
    Quantity("from_jobs", "", "The measure over the job files"),
    Quantity("from_summary", "", "The measure as published"),
    Quantity("gpu_band", "", "Band of the number of GPUs that a job requests"),
    Quantity("gpu_h_per_failure", "GPU-h", "GPU-hours held for each failed job"),
    Quantity("gpu_time_differs", "jobs"),
    Quantity("gpu_time_is_product", "jobs"),
    Quantity("gpus_over_pct", "percent", "Share of the GPUs whose mean of the day is above the threshold"),
    Quantity("gpus_with_onset", "GPUs"),
    Quantity("held_gpus", "GPUs", "GPUs that jobs hold, mean over the hour"),
    Quantity("held_gpus_pct", "percent", "Held GPUs in percent of the published fleet"),
    Quantity("hour", "", "Start of the hour"),
    Quantity("jobs_in_telemetry", "jobs"),
    Quantity("jobs_without_wait", "jobs", "GPU jobs without a known queueing delay"),
    Quantity("known_pct", "percent", "Share of the jobs whose outcome is known"),
    Quantity(
        "larger_or_equal_gpu_h_pct",
        "percent",
        "Share of the GPU-hours in jobs of at least this number of GPUs",
    ),
    Quantity(
        "largest_difference_pct",
        "percentage points",
        "Largest difference between the published and the measured curve",
    ),
    Quantity("last_submit", "", "Last submission"),
    Quantity("last_time", "", "Last time"),
    Quantity("mean_busy_value", "", "Mean of the samples other than 0, in the metric's unit"),
    Quantity("mean_gpu_util_pct", "percent", "Mean of all samples of GPU utilisation in the hour"),
    Quantity("mean_hour_jobs", "jobs", "Mean number of GPU jobs submitted per hour"),
    Quantity("mean_pct", "percent", "Mean of all samples"),
    Quantity("meaning", "", "NVIDIA's name of the error code"),
    Quantity("median_gpu_pct", "percent", "Median over GPUs of each one's mean of the day"),
    Quantity("median_node_value", "", "Median over nodes of each one's mean, in the metric's unit"),
    Quantity("median_used_pct", "percent", "Median of the memory in use, in percent of 80 GiB"),
    Quantity("metric", "", "Metric of a GPU or a node, by the name of its file"),
    Quantity("most_frequent_xid", ""),
    Quantity("nodes_pct", "percent", "Nodes with a sample in percent of the published fleet"),
    Quantity("nodes_seen", "nodes"),
    Quantity("not_comparable", "jobs"),
    Quantity("observed_gpu_h", "GPU-h", "GPU-hours over which error codes were recorded"),
    Quantity("onsets", "onsets", "Onsets: changes from no error to an error code"),
    Quantity("onsets_pct", "percent", "Share of the cluster's onsets"),
    Quantity("onsets_per_gpu_day", "onsets", "Onsets per GPU and day"),
    Quantity("origin", "", "Origin of a figure: published or measured"),
    Quantity("outcome", "", "Outcome"),
    Quantity("over_75_pct", "percent", "Share of the samples above 75 %"),
    Quantity("over_pct", "percent", "Share of the samples above the value"),
    Quantity("over_samples", "samples", "Samples above the value"),
    Quantity("power_covered_pct", "percent", "Share of the hour's minutes with a sample of power"),
    Quantity("power_gpus_pct", "percent", "GPUs with a sample of power in percent of the published fleet"),
    Quantity("published_points", "points", "Points of the published curve"),
    Quantity("queue_differs", "jobs"),
    Quantity("queue_is_wait", "jobs"),
    Quantity("rank", "", "Rank, from 1"),
    Quantity("samples", "samples", "Samples"),
    Quantity("samples_pct", "percent", "Share of the samples that do not exceed the value"),
    Quantity("short_jobs", "jobs", "GPU jobs whose run time is below the limit"),
    Quantity("short_pct", "percent", "Short GPU jobs in percent of the GPU jobs"),
    Quantity("single_job_users", "users", "Users with a single GPU job"),
    Quantity("size_band", "", "Band of requested GPUs"),
    Quantity("times", "times"),
    Quantity("top_jobs_pct", "percent", "Share of the GPU jobs of the users with the most jobs"),
    Quantity("total", ""),
    Quantity("unended_jobs", "jobs", "GPU jobs that started in the hour without a later end"),
    Quantity("used_mib", "MiB"),
    Quantity("util_covered_pct", "percent", "Share of the hour's minutes with a sample of utilisation"),
    Quantity(
        "util_gpus_pct", "percent", "GPUs with a sample of utilisation in percent of the published fleet"
    ),
    Quantity("value", "", "Value, in the unit of the metric or curve"),
    Quantity("workload_type", "", "Type of work, or all"),
    Quantity("xid", "", "Error code of NVIDIA's driver"),
    Quantity(
        "xid_covered_pct", "percent", "Share of the hour's minutes with error codes recorded, none included"
    ),
    Quantity("xids", "codes"),
    Quantity("zero_pct", "percent", "Share of the samples that are 0"),
)

BACKUP_AT = "https://huggingface.co/datasets/Qinghao/AcmeTrace/resolve/main/data"
FILES = (
    PublishedFile(
        "data/cluster_summary.csv",
        "https://github.com/InternLM/AcmeTrace/raw/HEAD/data/cluster_summary.csv",
        backup=f"{BACKUP_AT}/cluster_summary.csv",
        bytes=1_269,
    ),
    PublishedFile(
        "data/job_trace/trace_kalos.csv",
        "https://github.com/InternLM/AcmeTrace/raw/HEAD/data/job_trace/trace_kalos.csv",
        backup=f"{BACKUP_AT}/job_trace/trace_kalos.csv",
    ),
    PublishedFile(
        "data/job_trace/trace_seren.csv",
        "https://github.com/InternLM/AcmeTrace/raw/HEAD/data/job_trace/trace_seren.csv",
        backup=f"{BACKUP_AT}/job_trace/trace_seren.csv",
    ),
    PublishedFile(
        "data/utilization/kalos/*.csv",
        "https://huggingface.co/datasets/Qinghao/AcmeTrace/resolve/main/data/utilization/kalos/*.csv",
        cluster="kalos",
    ),
    PublishedFile(
        "data/utilization/seren/*.csv",
        "https://huggingface.co/datasets/Qinghao/AcmeTrace/resolve/main/data/utilization/seren/*.csv",
        cluster="seren",
    ),
    PublishedFile(
        "data/utilization/ipmi/*.csv",
        "https://huggingface.co/datasets/Qinghao/AcmeTrace/resolve/main/data/utilization/ipmi/*.csv",
        cluster="seren",
    ),
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
        " latter the folder data/utilization, or the files in it that you need, in their folders."
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
    caveats=CAVEATS,
    metrics=METRICS,
    quantities=QUANTITIES,
    files=FILES,
)
