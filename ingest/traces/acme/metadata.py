"""Metadata of Acme: clock, caveats, metrics, files."""

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile

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
    MetricSupport("submission", "exact", "Submissions are instants; the files write them with two offsets."),
    MetricSupport("wait", "exact", "Time from submission to start."),
    MetricSupport(
        "run", "exact", "Time from start to end; the published duration of Kalos includes the queue."
    ),
    MetricSupport("requested GPUs", "exact", "Whole GPUs."),
    MetricSupport("allocated GPUs", "approximate", "Only requests of jobs that ended are known."),
    MetricSupport(
        "GPU utilisation",
        "approximate",
        "Recorded for each GPU every 15 s, not for jobs: jobs do not name their nodes.",
    ),
    MetricSupport("CPU utilisation", "approximate", "Recorded for each node every 15 s, not for jobs."),
    MetricSupport("memory use", "approximate", "Recorded for each GPU and node every 15 s, not for jobs."),
    MetricSupport(
        "power", "approximate", "Recorded for each GPU every 15 s and for Seren's servers, not for jobs."
    ),
    MetricSupport(
        "energy", "approximate", "Power of all GPUs over the time that samples cover, not of jobs."
    ),
    MetricSupport(
        "final state", "exact", "Every job has a state; which states count as failures needs a rule."
    ),
    MetricSupport("user", "exact", "Every job has a hashed user."),
    MetricSupport(
        "group or recurrence",
        "impossible",
        "server_group is a group of servers; jobs have no group and no name that recurs.",
    ),
    MetricSupport("workload", "exact", "Every job has a type of work in the development of language models."),
    MetricSupport(
        "machine placement", "impossible", "node_num is the number of nodes of a job; no column names them."
    ),
    MetricSupport(
        "deadline",
        "impossible",
        "Jobs past their time limit have the state TIMEOUT; their limit is not among the columns.",
    ),
    MetricSupport("hour of day", "exact", "Submissions are instants; the clusters are in China (UTC+8)."),
    MetricSupport("calendar date", "exact", "Submissions are instants."),
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
