"""Metadata of PAI: clock, caveats, metrics, files."""

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile

CLOCK = Clock(
    "pai.shifted",
    epoch="1970-01-01T00:00:00Z; the publisher subtracted an unpublished constant from all times",
    zone="Asia/Shanghai",
    local_offset_s=28800,
    true_parts="hour of the day, weekday, order, differences",
    fake_parts="day of the month, month, year",
    documented_in="publisher: README of cluster-trace-gpu-v2020, Note of time",
)

SENTINEL_ZERO_START = Caveat(
    "pai.sentinel_zero_start",
    "background",
    summary="A start or end of 0 means that it did not happen.",
    what_goes_wrong=(
        "A start or end of 0 means that it did not happen, as an empty field does. A difference"
        " with a 0 in it is not a duration."
    ),
    what_to_do="Compute a run time only if start_time > 0 and end_time > 0.",
    documented_in="publisher: analysis/utils.py, get_dfiw, get_dfia and get_dfa",
)

SHIFTED_CLOCK = Caveat(
    "pai.shifted_clock",
    "wrong result",
    summary="Times are shifted by a constant: hour and weekday are right, dates are not.",
    what_goes_wrong=(
        "Times are seconds minus an unpublished constant. Read as Unix time in UTC, they give"
        " wrong hours, and the date is wrong in any time zone."
    ),
    what_to_do="Read them as Unix time in Asia/Shanghai for hour and weekday. Never show the date.",
    documented_in="publisher: README, Note of time",
)

NOTEBOOK_WEEK_STARTS_LATER = Caveat(
    "pai.notebook_week_starts_later",
    "limited result",
    summary="The publisher's weekly plots begin at hour 568, not at the first row.",
    what_goes_wrong=(
        "The first start is at 494,319 s (1970-01-07 01:18:39 +08:00), but the publisher's weekly"
        " plots begin at 1970-01-25 00:00:03 +08:00. They use an unexplained hour offset of -600,"
        " which is 25 days of 24 hours; 25 is the day of that month. pai.demand_hourly counts from"
        " the clock's zero, and the plots begin at its hour 568, the first hour of a Sunday in"
        " China. A plot from the first row, hour 137, shows another week."
    ),
    what_to_do="Begin at hour 568 to match the publisher's weekly plots.",
    documented_in=(
        "publisher: analysis/analysis.ipynb, Figure 3; third party: the first start, in"
        " alibaba/clusterdata issue 262"
    ),
)

JOB_END_MISSING = Caveat(
    "pai.job_end_missing",
    "wrong result",
    summary="Only 10 % of failed jobs have an end: a filter on end_time removes the other failures.",
    what_goes_wrong=(
        "28.08 % of jobs have no end, and only 25,620 of 256,555 failed jobs have one. A filter on"
        " end_time removes nine of ten failures. 1,061 Running and 45 Waiting jobs do have an end."
    ),
    what_to_do="Filter by status, not by end_time, and say how many rows a duration excludes.",
    documented_in="third party: counted on the real files, not checked here",
    concerns=("pai.job.end_time", "pai.job.status"),
)

SCHEDULING_LATENCY_ZERO = Caveat(
    "pai.scheduling_latency_zero",
    "background",
    summary="The README's scheduling latency is 0 in all jobs.",
    what_goes_wrong=(
        "The README calls the time from a job's start to its first task's start the scheduling"
        " latency. It is 0 in all 1,051,838 jobs that can be compared; the reason is unknown."
    ),
    what_to_do=(
        "Compute the wait as the first instance's start minus the task's start, as the publisher's"
        " own wait_time does."
    ),
    documented_in=(
        "publisher: README, pai_task_table, and analysis/utils.py, get_dfa; third party: the"
        " count, not checked here"
    ),
    concerns=("pai.job.start_time", "pai.task.start_time"),
)

EMPTY_START_IS_WAITING = Caveat(
    "pai.empty_start_is_waiting",
    "limited result",
    summary="Waiting jobs and tasks have no start and no duration.",
    what_goes_wrong=(
        "Only Waiting rows have an empty start: 3,663 jobs and 3,714 tasks. Excluding them removes the queue."
    ),
    what_to_do="Keep these rows in counts, and exclude them from durations.",
    documented_in="third party: counted on the real files, not checked here",
    concerns=("pai.job.start_time", "pai.task.start_time"),
)

TERMINATED_IS_SUCCESS = Caveat(
    "pai.terminated_is_success",
    "background",
    summary="Terminated is the only success; Running, Waiting and Interrupted say nothing about the outcome.",
    what_goes_wrong=(
        "Terminated is the only success; it does not mean killed. Running and Waiting rows are"
        " unfinished: their outcome is unknown, not a failure. Interrupted is a status of instances"
        " only, which the README does not list: these instances ended without a result of their"
        " own, mostly in tasks in which another instance failed. It is not known who stopped them."
    ),
    what_to_do="Map Terminated to success, Failed to failure, and the other three to unknown.",
    documented_in=(
        "publisher: README, pai_job_table; measured: Interrupted, on 12,000 of the last 28,758 rows of"
        " pai_instance_table"
    ),
)

FAILED_TIME_UNKNOWN = Caveat(
    "pai.failed_time_unknown",
    "wrong result",
    summary="Failed workers have a start or an end, never both: some starts and all run times are unknown.",
    what_goes_wrong=(
        "Of 1,108 Failed instances, 845 have a start only and 263 an end only; all 1,150 Interrupted"
        " ones have an end only, and 513 of 672 Running ones not even a start. The time of failed"
        " workers cannot be measured. The run time and the GPU-hours of a failed task are those of"
        " its instances that terminated, so shares of failed GPU time are far too low. Its wait ends with the"
        " first start that is known, and is unknown if none is."
    ),
    what_to_do="Count failed tasks and instances. Do not compare their GPU-hours with other traces.",
    documented_in="measured: on 12,000 of the last 28,758 rows of pai_instance_table",
    concerns=("pai.instance.start_time", "pai.instance.end_time"),
)

STATUS_MIX_DRIFTS = Caveat(
    "pai.status_mix_drifts",
    "limited result",
    summary="Failure rates differ by time (20 and 43 %) and by GPU request (24 and 2 %).",
    what_goes_wrong=(
        "20.1 % of the first three quarters of the tasks fail, and 43.4 % of the last quarter;"
        " 24.4 % of tasks with a GPU fail, and 1.8 % of those without. A single failure rate hides"
        " both differences."
    ),
    what_to_do="Split failure rates by time and by GPU request.",
    documented_in="third party: counted on the real files, not checked here",
    concerns=("pai.task.status",),
)

WORKER_NAME_REPEATS = Caveat(
    "pai.worker_name_repeats",
    "wrong result",
    summary="worker_name repeats when a worker runs two instances: joins on it multiply rows.",
    what_goes_wrong=(
        "A worker that ran two instances of its task one after the other has two rows: 8 of the"
        " 11,788 workers in 12,000 rows of the table's end. Waiting rows have no worker. A join on"
        " worker_name then multiplies rows. An instance that was tried again repeats its inst_name,"
        " with another worker each time."
    ),
    what_to_do=(
        "Keep one row per worker_name before you join. The publisher sorts by status, start_time"
        " and end_time and keeps the last row, so in text order a Waiting row wins over a"
        " Terminated one; then it drops rows without a worker_name."
    ),
    documented_in=(
        "publisher: analysis/utils.py, get_dfiw; measured: on 12,000 of the last 28,758 rows of"
        " pai_instance_table"
    ),
)

END_BLANKING_IS_NO_OP = Caveat(
    "pai.end_blanking_is_no_op",
    "background",
    summary="One cleaning step of the publisher's code has no effect.",
    what_goes_wrong=(
        "The publisher's code is meant to clear end_time where start_time is 0, but it has already"
        " set those starts to missing. The second step matches no row, and the ends remain."
    ),
    what_to_do="State whether you reproduce the effect or the intention.",
    documented_in="publisher: analysis/utils.py, get_dfiw and get_dfa",
    concerns=("pai.instance.end_time", "pai.task.end_time"),
)

TASK_STATUS_FROM_INSTANCES = Caveat(
    "pai.task_status_from_instances",
    "limited result",
    summary="The publisher's task status is the greatest status of its instances in text order.",
    what_goes_wrong=(
        "The publisher sets a task's status to the greatest status of its instances in text order:"
        " Failed < Interrupted < Running < Terminated < Waiting. One instance of a later status"
        " hides all failed ones. Its joins are inner joins, so tasks without an instance are lost."
    ),
    what_to_do="Count instances by status, and use outer joins to keep all tasks.",
    documented_in="publisher: analysis/utils.py, get_dfia and get_dfa",
    concerns=("pai.instance.status", "pai.task.status"),
)

TASKS_WITHOUT_INSTANCES = Caveat(
    "pai.tasks_without_instances",
    "limited result",
    summary="Tasks without instances, mostly Waiting ones, have no run time or GPU time.",
    what_goes_wrong="Some tasks, mostly Waiting ones, have no instance row. An inner join loses them.",
    what_to_do="Use an outer join from pai.task, as the views do, or report what is lost.",
    documented_in="third party: seen on the real files, not checked here",
)

GROUP_FALLS_BACK_TO_USER = Caveat(
    "pai.group_falls_back_to_user",
    "limited result",
    summary="Jobs without a group are grouped by user.",
    what_goes_wrong=(
        "If a job has no group, the publisher's code uses its user instead. Counts of recurring"
        " jobs then mix two kinds of key."
    ),
    what_to_do="Keep a flag that says which key was used.",
    documented_in="publisher: analysis/utils.py, get_dfw and get_dfa",
    concerns=("pai.group_tag.user",),
)

GROUP_TAG_ORPHANS = Caveat(
    "pai.group_tag_orphans",
    "limited result",
    summary="1,530 jobs have no tag, and 1,061 tags have no job.",
    what_goes_wrong=(
        "Jobs and tags join one to one on inst_id, but 1,530 jobs have no tag and 1,061 tags have no job."
    ),
    what_to_do="Use an outer join from pai.job.",
    documented_in="third party: counted on the real files, not checked here",
    concerns=("pai.job.inst_id", "pai.group_tag.inst_id"),
)

WORKLOAD_TAG_IS_RARE = Caveat(
    "pai.workload_tag_is_rare",
    "wrong result",
    summary="Only about 10 % of jobs have a workload, and they are not a random sample.",
    what_goes_wrong=(
        "Only jobs that the publisher examined have a workload: about 9 % according to the README,"
        " 9.78 % of the rows by count. They are not a random sample."
    ),
    what_to_do="Do not extrapolate workload shares to the cluster.",
    documented_in="publisher: README, pai_group_tag_table; third party: the count, not checked here",
)

INST_ID_IS_JOB_ID = Caveat(
    "pai.inst_id_is_job_id",
    "background",
    summary="inst_id identifies the job, not the instance.",
    what_goes_wrong=(
        "inst_id identifies the job, not the instance: there is one for each job_name. Used as a"
        " key of instances, it multiplies rows."
    ),
    what_to_do="Use it as a job id. Identify instances by inst_name and worker_name.",
    documented_in="publisher: README, pai_job_table",
)

PLAN_IS_PER_INSTANCE = Caveat(
    "pai.plan_is_per_instance",
    "wrong result",
    summary="Plans are per instance: multiply by inst_num for a task's demand.",
    what_goes_wrong=(
        "A plan is the request of each instance. A sum over tasks without inst_num underestimates demand."
    ),
    what_to_do="Multiply by inst_num for a task's demand.",
    documented_in="publisher: README, class diagram of section 2",
)

PERCENT_AGAINST_UNITS = Caveat(
    "pai.percent_against_units",
    "background",
    summary="Plans are in percent of a core or GPU, capacities in whole cores and GPUs.",
    what_goes_wrong=(
        "Plans are in percent of one core or one GPU (600 is six cores, 50 is half a GPU);"
        " capacities are whole cores and GPUs. Dividing them directly is wrong by a factor of 100."
    ),
    what_to_do="Divide plans by 100 before you compare them with capacities.",
    documented_in="publisher: README, pai_task_table and pai_machine_spec",
)

USE_IS_ABSOLUTE = Caveat(
    "pai.use_is_absolute",
    "wrong result",
    summary="Use is in percent of one core or GPU, not of the plan or the machine.",
    what_goes_wrong=(
        "cpu_usage and gpu_wrk_util are in percent of one core and of one GPU. They are not shares"
        " of the plan or of the machine."
    ),
    what_to_do="Compare them with plan_cpu and plan_gpu directly, or divide by the plan to get a share.",
    documented_in="publisher: README, pai_sensor_table, and the maintainer in alibaba/clusterdata issue 125",
)

GPU_USE_OVER_100 = Caveat(
    "pai.gpu_use_over_100",
    "limited result",
    summary="GPU use exceeds 100 % for workers with several GPUs: do not clip it.",
    what_goes_wrong=(
        "Both columns exceed 100. For workers and machines with several GPUs, this is consistent"
        " with a sum over the GPUs; the publisher does not say so."
    ),
    what_to_do="Do not clip at 100. For a mean, divide by the number of GPUs in use.",
    documented_in="third party: users in alibaba/clusterdata issues 182 and 231; the sum is an inference",
)

CPU_USE_OVER_REQUEST = Caveat(
    "pai.cpu_use_over_request",
    "limited result",
    summary="Instances may use more CPU than they requested.",
    what_goes_wrong=(
        "Instances may use more CPU than they requested if the machine has spare CPU. Use above"
        " the plan is not an error."
    ),
    what_to_do="Keep such rows.",
    documented_in="publisher: the maintainer in alibaba/clusterdata issue 151",
)

SENSOR_COVERS_TWO_FIFTHS = Caveat(
    "pai.sensor_covers_two_fifths",
    "wrong result",
    summary="Only 40 % of the instances have sensor data, almost none before hour 672.",
    what_goes_wrong=(
        "The sensor table has 3,033,232 workers for 7,522,002 instance rows, almost none before"
        " hour 672 of the trace, and covers 1,737 of 1,897 machines. Nine rows name machines that"
        " are not in machine_spec; cpu_usage is empty in 5,829 rows and avg_mem in 1,217."
    ),
    what_to_do="Report the share of instances behind a utilisation figure.",
    documented_in="third party: counted on the real files, not checked here",
)

SENSOR_IS_LIFETIME_AVERAGE = Caveat(
    "pai.sensor_is_lifetime_average",
    "wrong result",
    summary="Sensor values are means over a worker's lifetime: peaks are hidden.",
    what_goes_wrong=(
        "All figures are means over the worker's lifetime, except max_mem and max_gpu_wrk_mem,"
        " which are maxima. A time series computed from them is flat within a worker and hides"
        " peaks."
    ),
    what_to_do="Call hourly series approximate, and weight by end_time - start_time.",
    documented_in=(
        "publisher: README, Note of sensor and Note of machine_ metrics; third party: the question"
        " in alibaba/clusterdata issue 226"
    ),
)

GPU_MEMORY_OVER_DEVICE = Caveat(
    "pai.gpu_memory_over_device",
    "limited result",
    summary="The most GPU memory of a worker exceeds that of its GPU, such as 44.3 GB on a V100.",
    what_goes_wrong=(
        "A V100 has 16 or 32 GB. For workers with several GPUs, this is consistent with a sum over the GPUs;"
        " the publisher does not say so."
    ),
    what_to_do="Do not read max_gpu_wrk_mem as the memory of one GPU.",
    documented_in="third party: users in alibaba/clusterdata issue 208; the sum is an inference",
)

GPU_SHARING_NEEDS_DEVICE = Caveat(
    "pai.gpu_sharing_needs_device",
    "wrong result",
    summary="Workers share a GPU only if machine and gpu_name are the same.",
    what_goes_wrong="Two workers on one machine at the same time do not necessarily share a GPU.",
    what_to_do="Require the same machine and the same gpu_name.",
    documented_in="publisher: the maintainer in alibaba/clusterdata issue 185",
    concerns=("pai.sensor.machine", "pai.instance.machine"),
)

GPU_NAME_IS_DEVICE = Caveat(
    "pai.gpu_name_is_device",
    "background",
    summary="gpu_name is a device path, not a type.",
    what_goes_wrong=(
        "gpu_name is a device path such as /dev/nvidia0, not a type. It is meaningful only"
        " together with the machine."
    ),
    what_to_do="Take the type from pai.machine_spec or pai.task.",
    documented_in="publisher: README, pai_sensor_table",
)

GPU_TYPE_IS_ASSIGNED = Caveat(
    "pai.gpu_type_is_assigned",
    "limited result",
    summary="gpu_type is the assigned type; the requested type is gpu_type_spec.",
    what_goes_wrong=(
        "A task's gpu_type is the type that it was assigned. The requested type is gpu_type_spec"
        " of group_tag, which is empty if any type is acceptable."
    ),
    what_to_do="Use gpu_type_spec for demand and gpu_type for placement.",
    documented_in="publisher: README, pai_task_table and pai_group_tag_table",
)

GPU_TYPE_NULL = Caveat(
    "pai.gpu_type_null",
    "limited result",
    summary="About 218,000 tasks have no gpu_type.",
    what_goes_wrong=(
        "gpu_type is empty for about 218 thousand tasks, so a join with machine_spec on gpu_type loses them."
    ),
    what_to_do="Keep a class for unknown.",
    documented_in="third party: counted on the real files, not checked here",
)

PLAN_GPU_NULL_IS_CPU_TASK = Caveat(
    "pai.plan_gpu_null_is_cpu_task",
    "limited result",
    summary="223,965 tasks request no GPU; means of plan_gpu exclude them.",
    what_goes_wrong=(
        "plan_gpu is empty for the 223,965 tasks without a GPU. A mean of plan_gpu is over GPU tasks only."
    ),
    what_to_do="Read NULL as no GPU, and state which tasks a figure includes.",
    documented_in="third party: counted on the real files, not checked here",
)

JOB_MEANS_TASK_ELSEWHERE = Caveat(
    "pai.job_means_task_elsewhere",
    "wrong result",
    summary="These are tasks; other papers call PAI's GPU tasks jobs.",
    what_goes_wrong=(
        "Other papers call PAI's tasks with plan_gpu jobs: 1,261,050 - 223,965 = 1,037,085 is"
        " gpu_job_num in Acme's cluster summary. Its job_num of 1,260,920 is 130 less than the"
        " number of tasks, without an explanation."
    ),
    what_to_do="State what you count: jobs, tasks or instances.",
    documented_in=(
        "publisher: data/cluster_summary.csv of InternLM/AcmeTrace; third party: the task counts,"
        " not checked here"
    ),
)

GPU_COUNTS_ARE_FRACTIONS = Caveat(
    "pai.gpu_counts_are_fractions",
    "limited result",
    summary="GPU requests are fractions, with a median of half a GPU.",
    what_goes_wrong=(
        "GPU requests are fractions, with a median of half a GPU; other traces have whole GPUs."
        " The 0.683 GPUs per job in Acme's summary for PAI appear to be plan_gpu / 100 without"
        " inst_num."
    ),
    what_to_do="State the definition when you compare GPU counts across traces.",
    documented_in="publisher: README, pai_task_table, and data/cluster_summary.csv of InternLM/AcmeTrace",
)

NOTEBOOK_MEM_CURVE = Caveat(
    "pai.notebook_mem_curve",
    "limited result",
    summary="The notebook's curve of memory use shows the GPU's memory.",
    what_goes_wrong=(
        "The notebook's curve labelled memory use (cell 37) plots avg_gpu_wrk_mem, the GPU's memory."
    ),
    what_to_do="Use avg_mem for main memory.",
    documented_in="publisher: analysis/analysis.ipynb, cell 37",
)

NETWORK_UNITS = Caveat(
    "pai.network_units",
    "wrong result",
    summary="Network traffic has no documented interval; the notebook takes bytes per second.",
    what_goes_wrong=(
        "The README says bytes, averaged over the lifetime, and names no interval. The notebook"
        " uses them as bytes per second and computes Gbps as 8 * read / 1024^3, not / 10^9."
    ),
    what_to_do="State both choices; the factor alone is 7.4 %.",
    documented_in="publisher: README, pai_sensor_table, and analysis/analysis.ipynb",
)

MEMORY_GB_LOOKS_BINARY = Caveat(
    "pai.memory_gb_looks_binary",
    "limited result",
    summary="Published GB look like GiB, a difference of a few percent.",
    what_goes_wrong=(
        "The README's example request is 29.296875 GB, which is 30,000 / 1,024, so the figures"
        " appear to be MB divided by 1,024."
    ),
    what_to_do="Expect a few percent of difference from decimal units.",
    documented_in="publisher: README, pai_task_table; the reading is an inference",
)

FLOATS_FOR_WHOLE_NUMBERS = Caveat(
    "pai.floats_for_whole_numbers",
    "background",
    summary="Whole numbers are written as floats in some files.",
    what_goes_wrong=(
        "inst_num and times are written as floats (1.0, 4550879.0), but the times of"
        " machine_metric are integers. A join on the text fails."
    ),
    what_to_do="Compare them as numbers.",
    documented_in="publisher: README, the example entries",
)

MACHINE_METRIC_IS_HOST_LEVEL = Caveat(
    "pai.machine_metric_is_host_level",
    "wrong result",
    summary="Figures are of the whole machine: adding workers counts it several times.",
    what_goes_wrong=(
        "The figures are those of the whole machine while the worker ran, including other workers."
        " A sum over workers counts a machine several times."
    ),
    what_to_do="Weight by end_time - start_time per machine. Use pai.sensor for a worker's own use.",
    documented_in="publisher: README, Note of machine_ metrics",
)

MACHINE_CPU_IS_A_SUM = Caveat(
    "pai.machine_cpu_is_a_sum",
    "wrong result",
    summary="machine_cpu includes iowait: it counts waiting as use.",
    what_goes_wrong="machine_cpu is about usr + kernel + iowait, so it counts waiting as use.",
    what_to_do="Do not add it to its parts.",
    documented_in="publisher: the maintainer in alibaba/clusterdata issue 125",
)

CPU_MACHINES_IN_SPEC = Caveat(
    "pai.cpu_machines_in_spec",
    "limited result",
    summary="83 of the 1,897 machines have no GPU.",
    what_goes_wrong=(
        "83 of the 1,897 machines have no GPU and the type CPU. Means per machine include them,"
        " and dividing by cap_gpu divides by 0."
    ),
    what_to_do="Filter on cap_gpu > 0 for GPU work.",
    documented_in="measured: on pai_machine_spec",
)

MACHINE_COUNTS_ARE_ROUNDED = Caveat(
    "pai.machine_counts_are_rounded",
    "background",
    summary="The README rounds the numbers of GPUs and machines.",
    what_goes_wrong=(
        "The README says over 6,500 GPUs on about 1,800 machines. The table has 6,742 GPUs on"
        " 1,814 machines, and 83 machines without a GPU."
    ),
    what_to_do="Use the table for capacity.",
    documented_in="publisher: README, section 1; measured: on pai_machine_spec",
)

MACHINE_MEMORY_DIFFERS = Caveat(
    "pai.machine_memory_differs",
    "background",
    summary="V100 machines have 384 or 512 GB.",
    what_goes_wrong=(
        "V100 machines have 384 GB (45) or 512 GB (59), so cap_mem does not follow from gpu_type."
    ),
    what_to_do="Join by machine, not by gpu_type.",
    documented_in="measured: on pai_machine_spec",
)

MISC_IS_MANY_TYPES = Caveat(
    "pai.misc_is_many_types",
    "limited result",
    summary="The GPU type MISC is a group of older types.",
    what_goes_wrong=(
        "MISC is a group of older types such as K40m, K80 and M60, which differ in speed and memory size."
    ),
    what_to_do="Do not assign a specification to MISC.",
    documented_in="publisher: README, pai_task_table",
)

HEADERS_APART = Caveat(
    "pai.headers_apart",
    "background",
    summary="The CSVs have no header; names are in separate .header files.",
    what_goes_wrong=(
        "The CSVs have no header: the column names are in separate .header files. A reader that"
        " expects a header loses the first row."
    ),
    what_to_do="Read without a header, and take the names from the .header file.",
    documented_in="publisher: analysis/utils.py, get_df",
)

STEMS_WITHOUT_TABLE = Caveat(
    "pai.stems_without_table",
    "background",
    summary="Two of the seven file names do not end in _table.",
    what_goes_wrong=(
        "Two of the seven names, pai_machine_spec and pai_machine_metric, do not end in _table. A"
        " pattern such as *_table misses them."
    ),
    what_to_do="Name the files one by one.",
    documented_in="publisher: README, section 2",
)

LFS_POINTERS = Caveat(
    "pai.lfs_pointers",
    "background",
    summary="Old clones through Git LFS leave pointer files.",
    what_goes_wrong=(
        "Old clones through Git LFS exceed its quota and leave pointer files of about 1 KB under"
        " the archives' names."
    ),
    what_to_do="Download from the object storage, and compare the checksums with the README.",
    documented_in="publisher: README, section 2; third party: alibaba/clusterdata issue 180",
)

SPLIT_ARCHIVES = Caveat(
    "pai.split_archives",
    "background",
    summary="The backup repository splits large archives into parts.",
    what_goes_wrong=(
        "The backup repository splits large archives into .partaa, .partab and so on: two parts"
        " for job and group_tag, 23 for instance, 13 for sensor, seven for machine_metric. A single"
        " part is not an archive."
    ),
    what_to_do="Download all parts; concatenated in the order of their names, they are the archive.",
    documented_in="publisher: README and merge_parts.sh of qzweng/clusterdata-cluster-trace-gpu-v2020-data",
)

CAVEATS = (
    JOB_END_MISSING,
    SCHEDULING_LATENCY_ZERO,
    EMPTY_START_IS_WAITING,
    STATUS_MIX_DRIFTS,
    FAILED_TIME_UNKNOWN,
    END_BLANKING_IS_NO_OP,
    TASK_STATUS_FROM_INSTANCES,
    GROUP_TAG_ORPHANS,
)

METRICS = (
    MetricSupport(
        "submission",
        "approximate",
        (
            "A task's start, its launch, is the closest available time; in all jobs that can be"
            " compared, it is also the job's start."
        ),
    ),
    MetricSupport(
        "wait",
        "approximate",
        (
            "Time from a task's launch to the start of its first instance. The scheduling latency"
            " described in the README is always 0."
        ),
    ),
    MetricSupport(
        "run",
        "exact",
        (
            "Time from the start of the first instance to the end of the last; NULL for tasks that"
            " had not ended."
        ),
    ),
    MetricSupport("requested GPUs", "exact", "plan_gpu, in percent of a GPU per instance, times inst_num."),
    MetricSupport(
        "allocated GPUs", "impossible", "Only plans are recorded, not what instances were allocated."
    ),
    MetricSupport(
        "GPU utilisation",
        "approximate",
        "One mean over the lifetime of a worker, for two fifths of the instances.",
    ),
    MetricSupport(
        "CPU utilisation",
        "approximate",
        (
            "One mean over the lifetime of a worker, for two fifths of the instances; for hosts,"
            " over the lifetime of each worker."
        ),
    ),
    MetricSupport(
        "memory use",
        "approximate",
        "One mean and one maximum over the lifetime of a worker, for two fifths of the instances.",
    ),
    MetricSupport(
        "final state",
        "exact",
        "Terminated is success and Failed is failure; Running and Waiting had not ended.",
    ),
    MetricSupport("user", "exact", "Every job has a hashed user."),
    MetricSupport(
        "group or recurrence",
        "exact",
        "Group tags identify recurring jobs, for all but 1,530 jobs by a third party's count.",
    ),
    MetricSupport(
        "workload", "approximate", "About one job in ten has a tag; the workload of the others is unknown."
    ),
    MetricSupport("machine placement", "exact", "Every instance that ran names its machine."),
    MetricSupport(
        "GPU sharing",
        "approximate",
        "Requests say which instances may share a GPU; which did is known if a sensor names the device.",
    ),
    MetricSupport(
        "fragmentation", "impossible", "Free parts of GPUs are unknown: most instances name no device."
    ),
    MetricSupport(
        "hour of day",
        "exact",
        "The clock is shifted; read in UTC+8, its hours and weekdays are true, according to the README.",
    ),
    MetricSupport("calendar date", "impossible", "The constant subtracted from the times is not published."),
)

BACKUP_AT = "https://github.com/qzweng/clusterdata-cluster-trace-gpu-v2020-data/raw/HEAD"
FILES = (
    PublishedFile(
        "data/pai_job_table.tar.gz",
        "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_job_table.tar.gz",
        backup=f"{BACKUP_AT}/pai_job_table.tar.gz.part{{aa..ab}}",
        bytes=62_065_432,
    ),
    PublishedFile(
        "data/pai_task_table.tar.gz",
        "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_task_table.tar.gz",
        backup=f"{BACKUP_AT}/pai_task_table.tar.gz",
        bytes=35_514_117,
    ),
    PublishedFile(
        "data/pai_instance_table.tar.gz",
        "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_instance_table.tar.gz",
        backup=f"{BACKUP_AT}/pai_instance_table.tar.gz.part{{aa..aw}}",
        bytes=694_839_139,
    ),
    PublishedFile(
        "data/pai_sensor_table.tar.gz",
        "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_sensor_table.tar.gz",
        backup=f"{BACKUP_AT}/pai_sensor_table.tar.gz.part{{aa..am}}",
        bytes=406_119_947,
    ),
    PublishedFile(
        "data/pai_group_tag_table.tar.gz",
        "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_group_tag_table.tar.gz",
        backup=f"{BACKUP_AT}/pai_group_tag_table.tar.gz.part{{aa..ab}}",
        bytes=55_064_781,
    ),
    PublishedFile(
        "data/pai_machine_spec.tar.gz",
        "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_machine_spec.tar.gz",
        backup=f"{BACKUP_AT}/pai_machine_spec.tar.gz",
        bytes=30_449,
    ),
    PublishedFile(
        "data/pai_machine_metric.tar.gz",
        "https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_machine_metric.tar.gz",
        backup=f"{BACKUP_AT}/pai_machine_metric.tar.gz.part{{aa..ag}}",
        bytes=206_596_175,
    ),
    PublishedFile(
        "data/pai_job_table.header",
        "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2020/data/pai_job_table.header",
        bytes=49,
    ),
    PublishedFile(
        "data/pai_task_table.header",
        (
            "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2020/data/pai_task_table.header"
        ),
        bytes=91,
    ),
    PublishedFile(
        "data/pai_instance_table.header",
        (
            "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2020/data/pai_instance_table.header"
        ),
        bytes=84,
    ),
    PublishedFile(
        "data/pai_sensor_table.header",
        (
            "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2020/data/pai_sensor_table.header"
        ),
        bytes=161,
    ),
    PublishedFile(
        "data/pai_group_tag_table.header",
        (
            "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2020/data/pai_group_tag_table.header"
        ),
        bytes=42,
    ),
    PublishedFile(
        "data/pai_machine_spec.header",
        (
            "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2020/data/pai_machine_spec.header"
        ),
        bytes=41,
    ),
    PublishedFile(
        "data/pai_machine_metric.header",
        (
            "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-gpu-v2020/data/pai_machine_metric.header"
        ),
        bytes=172,
    ),
)
