"""Philly: deep learning jobs at Microsoft and the machines that they ran on, 2017.

117,325 jobs from August to December, with each attempt to run them, and the utilisation of GPUs, processors
and memory in each minute from October on.

Licence: CC BY 4.0.

Files, in ``trace-data.tar.gz`` of https://github.com/msr-fiddle/philly-traces; names have no extensions:

- ``cluster_job_log``, one JSON list → `job`. Its objects contain lists → `attempt` and `attempt_machine`.
- ``cluster_machine_list`` → `machine`.
- ``cluster_gpu_util``, ``cluster_cpu_util``, ``cluster_mem_util`` → `gpu_util`, `cpu_util`, `mem_util`.

Pitfalls:

- Times in the job log have no time zone. Times in the utilisation files end in PST or PDT.
- A job may have no attempt, and an attempt no start or end: `null`, an empty text or `None`.
- The machine list disagrees with the job log: m47 is listed with 2 GPUs and runs a job on 8.
- The header of the machine list and its memory column contain spaces:
  ``machineId, number of GPUs, single GPU mem``.
- Lines of ``cluster_gpu_util`` end in a comma; users report lines with more than one record.
- ``NA`` means that a GPU or a server was offline.
"""

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, Names
from tracehouse.ingest.declare.trace import Column, JsonList, Reference, Rule, Table, Trace

LOG_CLOCK = Clock(
    "philly.log",
    epoch="1970-01-01T00:00:00; the time zone is not documented",
    zone="unknown; perhaps Pacific time, as in the utilisation files",
    true_parts=(
        "order and differences, except for an hour around 5 November 2017, 2:00, if the zone's"
        " clock is put back then; the date to within a day"
    ),
    fake_parts="none; the zone is unknown",
    documented_in="publisher: README, example of cluster_job_log; the zone is not documented",
)

USE_CLOCK = Clock(
    "philly.use",
    epoch="1970-01-01T00:00:00Z",
    zone=(
        "America/Los_Angeles, written as PST or PDT after each time; 25,200 s behind UTC until 5"
        " November 2017, 9:00 UTC, and 28,800 s from then on"
    ),
    resolution_s=60,
    true_parts="all: the times are instants",
    documented_in="publisher: README, examples of utilisation",
)

LOG_HAS_NO_ZONE = Caveat(
    "philly.log_has_no_zone",
    "wrong result",
    summary="The job log has no time zone: hours, dates and joins with utilisation are assumptions.",
    what_goes_wrong=(
        "The job log's times have no time zone, while utilisation times have PST or PDT. Joins of"
        " attempts with minutes of utilisation use both as written: if the log uses another clock,"
        " every attempt is joined with wrong minutes."
    ),
    what_to_do=(
        "Use time differences as they are; across 5 November 2017, when Pacific time was put back,"
        " they may be off by an hour. Treat hours and dates as in an unknown zone, and the join as"
        " an assumption."
    ),
    documented_in="publisher: README, both examples; the zone is not documented",
)

ATTEMPTS_LACK_TIMES = Caveat(
    "philly.attempts_lack_times",
    "limited result",
    summary="Some attempts lack a start or end: sums of GPU time are too small.",
    what_goes_wrong=(
        "Logging errors left some attempts without a start or an end, and some jobs without any"
        " attempt. They have no wait, run time or GPU time, so sums are too small."
    ),
    what_to_do="State how many jobs a figure covers, as philly.totals does.",
    documented_in="publisher: README, notes on cluster_job_log",
)

NO_END_MEANS_RUNNING = Caveat(
    "philly.no_end_means_running",
    "wrong result",
    summary="A last attempt without an end was still running, or its end was not logged.",
    what_goes_wrong=(
        "If the last attempt has no end, either the job was still running when the log was taken,"
        " or the end was not logged. The log does not say which, and such a job still has a status."
    ),
    what_to_do="Leave such attempts out of run times, as run_s does; unified.run_cdf has them as censored.",
    documented_in="publisher: README, notes on cluster_job_log",
)

RUN_INCLUDES_RETRIES = Caveat(
    "philly.run_includes_retries",
    "wrong result",
    summary="A job's run time includes the gaps between attempts; GPU time does not.",
    what_goes_wrong=(
        "The publisher's run time of a job is from the start of its first attempt to the end of"
        " its last one. It includes the time between attempts, when no GPU is held."
    ),
    what_to_do=(
        "Use held_gpu_s for GPU time, and run_s of philly.attempt_run for a single attempt."
        " unified.allocation_hourly spreads the GPU time of a job over its gaps, too;"
        " philly.load_by_day does not."
    ),
    documented_in="publisher: notebook, Philly Trace Analysis.ipynb",
)

GPUS_ARE_THOSE_USED = Caveat(
    "philly.gpus_are_those_used",
    "limited result",
    summary="A job's GPUs are those of its first attempt; requests are not published.",
    what_goes_wrong=(
        "GPU requests are not published. A job's GPUs are those of its first attempt, as in the"
        " publisher's notebook. A job without an attempt has an unknown number of GPUs."
    ),
    what_to_do="Count jobs without an attempt separately; they are not CPU jobs.",
    documented_in="publisher: notebook, Philly Trace Analysis.ipynb",
)

MACHINE_LIST_DISAGREES = Caveat(
    "philly.machine_list_disagrees",
    "limited result",
    summary="Some machines have more GPUs in the logs than in the machine list.",
    what_goes_wrong=(
        "Some machines have more GPUs in the job log and in cluster_gpu_util than in the machine"
        " list: m47 is listed with 2, but a job in the README's example runs on 8 of its GPUs."
    ),
    what_to_do=(
        "Use gpus of philly.machine_inventory, the largest of the three, as philly.cluster_capacity"
        " and all queries do. Shares of the listed GPUs may exceed 100 %."
    ),
    documented_in="philly-traces, issue #8; publisher: README, both examples",
)

NA_IS_OFFLINE = Caveat(
    "philly.na_is_offline",
    "limited result",
    summary="NULL means that the GPU or server was offline, not idle.",
    what_goes_wrong=(
        "NA, NULL here, means that a GPU or a server was offline, or that the machine has no such"
        " GPU. Counted as 0, these GPUs would look idle."
    ),
    what_to_do="Exclude NULL from means and counts.",
    documented_in="publisher: README, notes on use",
)

USE_IS_AVERAGED = Caveat(
    "philly.use_is_averaged",
    "wrong result",
    summary="Utilisation is the share of time in which any kernel ran: 100 % is not a fully used GPU.",
    what_goes_wrong=(
        "Each value is a mean over one minute, such as 99.366666667, of what nvidia-smi reported:"
        " how long any kernel ran, not how much of the GPU it used."
    ),
    what_to_do="Do not read 100 % as a fully used GPU.",
    documented_in="publisher: README, cluster_gpu_util",
)

LINES_ARE_GLUED = Caveat(
    "philly.lines_are_glued",
    "background",
    summary="A few lines hold two records and are rejected.",
    what_goes_wrong=(
        "Users report a few lines with more than ten fields, as if two records had been joined."
        " Ingest rejects these lines and lists them with their text."
    ),
    what_to_do="Check catalog.rejected_rows; the minutes of these lines are missing.",
    documented_in="third party: scripts of users, which skip such lines",
)

MEMORY_UNIT_NOT_WRITTEN = Caveat(
    "philly.memory_unit_not_written",
    "limited result",
    summary="The unit of memory is not documented: use shares of the total.",
    what_goes_wrong="The unit of memory is not documented, and a total of 0 means unknown.",
    what_to_do="Use shares of the total, and exclude totals of 0, as the publisher's notebook does.",
    documented_in="publisher: README; notebook",
)

HOUR_COMES_TWICE = Caveat(
    "philly.hour_comes_twice",
    "limited result",
    summary="On 5 November 2017 the hour from 1:00 occurs twice.",
    what_goes_wrong=(
        "On 5 November 2017, the hour from 1:00 occurs twice, first in PDT and then in PST."
        " Without the zone, each of its minutes has two records."
    ),
    what_to_do="Group by time, which is an instant, not by the time as written.",
    documented_in="publisher: README, both zones in its examples",
    concerns=(
        "philly.gpu_util.time_utc_offset",
        "philly.cpu_util.time_utc_offset",
        "philly.mem_util.time_utc_offset",
    ),
)

README = "README of msr-fiddle/philly-traces"
ARCHIVE = "trace-data"
ZONES = (("PST", "-08:00"), ("PDT", "-07:00"))
NO_TIME = ("", "None")
OFFLINE = ("NA",)
JOB_ID = Column("jobid", "VARCHAR", "Job", required=True)
ATTEMPT_NUMBER = Column("attempt", "BIGINT", "Number of the attempt, from 1", provenance="derived")


def _time(comment: str) -> Column:
    return Column(
        "time", "TIMESTAMPTZ", comment, zones=ZONES, offset_name="time_utc_offset", clocks=(USE_CLOCK,)
    )


JOB = Table(
    name="job",
    comment="Jobs: 117,325 rows, as the publisher counts them. Some have no attempt.",
    grain="one row per jobid",
    source=f"{README}, cluster_job_log",
    file_name="cluster_job_log",
    published_rows={"cluster_job_log": 117_325},
    archive_stem=ARCHIVE,
    columns=(
        Column(
            "status",
            "VARCHAR",
            "Status upon completion: Pass, Killed or Failed",
            choices=("Pass", "Killed", "Failed"),
            sample={"Pass": 604, "Killed": 90, "Failed": 306},
        ),
        Column("vc", "VARCHAR", "Hashed virtual cluster", sample=Names("vc", 6, count=15)),
        JOB_ID,
        Column(
            "submitted_time",
            "TIMESTAMP",
            "Submission to the scheduler; the time zone is not documented",
            null_texts=NO_TIME,
            least="2017-08-07 00:00:00",
            below="2017-12-23 00:00:00",
            sample=Arrivals(1_502_064_000, 1_513_987_199),
            clocks=(LOG_CLOCK,),
            caveats=(LOG_HAS_NO_ZONE,),
        ),
        Column("user", "VARCHAR", "Hashed user", sample=Names("user", 6, count=319)),
    ),
    json_list=JsonList(other_lists=("attempts",)),
    key=("jobid",),
    never_empty=("status", "vc", "jobid", "submitted_time", "user"),
    order_by=("submitted_time", "jobid"),
    about_rows=117_325,
)

ATTEMPT = Table(
    name="attempt",
    comment="Attempts to run a job: one for each time that the scheduler placed it.",
    grain="one row per (jobid, attempt)",
    source=f"{README}, cluster_job_log",
    file_name="cluster_job_log",
    archive_stem=ARCHIVE,
    columns=(
        JOB_ID,
        ATTEMPT_NUMBER,
        Column(
            "start_time",
            "TIMESTAMP",
            "Start; the time zone is not documented; NULL if not logged",
            null_texts=NO_TIME,
            clocks=(LOG_CLOCK,),
            caveats=(LOG_HAS_NO_ZONE, ATTEMPTS_LACK_TIMES, RUN_INCLUDES_RETRIES),
        ),
        Column(
            "end_time",
            "TIMESTAMP",
            "End; the time zone is not documented; NULL if not logged or the job was still running",
            null_texts=NO_TIME,
            clocks=(LOG_CLOCK,),
            caveats=(LOG_HAS_NO_ZONE, ATTEMPTS_LACK_TIMES, NO_END_MEANS_RUNNING, RUN_INCLUDES_RETRIES),
        ),
    ),
    json_list=JsonList(path=("attempts",), positions=("attempt",), outer=("jobid",), other_lists=("detail",)),
    key=("jobid", "attempt"),
    never_empty=("jobid", "attempt"),
    order_by=("start_time", "jobid", "attempt"),
    rules=(
        Rule("end_after_start", "no attempt ends before it starts", "end_time < start_time"),
        Rule(
            "has_times",
            "an attempt has a start and an end",
            "start_time is null or end_time is null",
            kind="coverage",
            caveat="philly.attempts_lack_times",
        ),
    ),
    references=(Reference(("jobid",), "job"),),
    about_rows=140_000,
)

ATTEMPT_MACHINE = Table(
    name="attempt_machine",
    comment="GPUs that an attempt used, per machine.",
    grain="one row per (jobid, attempt, detail)",
    source=f"{README}, cluster_job_log",
    file_name="cluster_job_log",
    archive_stem=ARCHIVE,
    columns=(
        JOB_ID,
        ATTEMPT_NUMBER,
        Column("detail", "BIGINT", "Number of the machine within the attempt, from 1", provenance="derived"),
        Column("ip", "VARCHAR", "Machine, as in machine.machine_id"),
        Column(
            "gpus",
            "VARCHAR[]",
            "GPUs of the machine that the attempt used: gpu0 to gpu7",
            caveats=(GPUS_ARE_THOSE_USED,),
        ),
    ),
    json_list=JsonList(path=("attempts", "detail"), positions=("attempt", "detail"), outer=("jobid",)),
    key=("jobid", "attempt", "detail"),
    never_empty=("jobid", "attempt", "detail", "ip", "gpus"),
    order_by=("jobid", "attempt", "detail"),
    references=(
        Reference(("ip",), "machine", ("machine_id",)),
        Reference(("jobid", "attempt"), "attempt"),
    ),
    about_rows=160_000,
)

MACHINE = Table(
    name="machine",
    comment="Machines with their listed GPUs and the memory of each GPU: 552 rows, by a user's count.",
    grain="one row per machine_id",
    source=f"{README}, cluster_machine_list",
    file_name="cluster_machine_list",
    published_rows={"cluster_machine_list": 552},
    archive_stem=ARCHIVE,
    columns=(
        Column("machine_id", "VARCHAR", "Machine; machineId in the file", header="machineId"),
        Column(
            "number_of_gpus",
            "BIGINT",
            "Listed GPUs; the job log may show more",
            "GPUs",
            header=" number of GPUs",
            caveats=(MACHINE_LIST_DISAGREES,),
        ),
        Column(
            "single_gpu_mem",
            "VARCHAR",
            "Memory of each GPU as published, with a leading space: ' 24GB'",
            header=" single GPU mem",
            caveats=(MACHINE_LIST_DISAGREES,),
        ),
    ),
    key=("machine_id",),
    never_empty=("machine_id", "number_of_gpus", "single_gpu_mem"),
    order_by=("machine_id",),
    about_rows=552,
)

GPU_UTIL = Table(
    name="gpu_util",
    comment="GPU utilisation of each GPU of a machine and minute, as nvidia-smi reports it.",
    grain="one row per (time, machine_id)",
    source=f"{README}, cluster_gpu_util",
    file_name="cluster_gpu_util",
    archive_stem=ARCHIVE,
    columns=(
        _time("Minute, as an instant"),
        Column("machine_id", "VARCHAR", "Machine; machineId in the file", header="machineId"),
        *(
            Column(
                f"gpu{gpu}_util",
                "DOUBLE",
                f"Utilisation of GPU {gpu}; NULL if it was offline or the machine does not have it",
                "percent",
                null_texts=OFFLINE,
                least=0,
                most=100,
                caveats=(NA_IS_OFFLINE, USE_IS_AVERAGED),
            )
            for gpu in range(8)
        ),
    ),
    key=("time", "machine_id"),
    never_empty=("time", "machine_id"),
    order_by=("machine_id", "time"),
    ends_in_comma=True,
    references=(Reference(("machine_id",), "machine"),),
    about_rows=44_750_640,
    caveats=(LINES_ARE_GLUED,),
)

CPU_UTIL = Table(
    name="cpu_util",
    comment="CPU utilisation of each machine and minute.",
    grain="one row per (time, machine_id)",
    source=f"{README}, cluster_cpu_util",
    file_name="cluster_cpu_util",
    archive_stem=ARCHIVE,
    columns=(
        _time("Minute, as an instant"),
        Column("machine_id", "VARCHAR", "Machine"),
        Column(
            "cpu_util",
            "DOUBLE",
            "Utilisation of all processors; NULL if the machine was offline",
            "percent",
            null_texts=OFFLINE,
            least=0,
            most=100,
            caveats=(NA_IS_OFFLINE,),
        ),
    ),
    key=("time", "machine_id"),
    never_empty=("time", "machine_id"),
    order_by=("machine_id", "time"),
    about_rows=45_028_260,
)

MEM_UTIL = Table(
    name="mem_util",
    comment="Total and free main memory of each machine and minute.",
    grain="one row per (time, machine_id)",
    source=f"{README}, cluster_mem_util",
    file_name="cluster_mem_util",
    archive_stem=ARCHIVE,
    columns=(
        _time("Minute, as an instant"),
        Column("machine_id", "VARCHAR", "Machine"),
        Column(
            "mem_total",
            "DOUBLE",
            "Memory, in an undocumented unit; NULL if the machine was offline",
            null_texts=OFFLINE,
            caveats=(NA_IS_OFFLINE, MEMORY_UNIT_NOT_WRITTEN),
        ),
        Column(
            "mem_free",
            "DOUBLE",
            "Free memory, in the same unit; NULL if the machine was offline",
            null_texts=OFFLINE,
            least=0,
            caveats=(NA_IS_OFFLINE, MEMORY_UNIT_NOT_WRITTEN),
        ),
    ),
    key=("time", "machine_id"),
    never_empty=("time", "machine_id"),
    order_by=("machine_id", "time"),
    about_rows=45_000_000,
    rules=(Rule("free_of_total", "mem_free is at most mem_total", "mem_free > mem_total"),),
)

CAVEATS = (HOUR_COMES_TWICE,)

METRICS = (
    MetricSupport("submission", "exact", "Times of the job log, whose time zone is not documented."),
    MetricSupport(
        "wait", "exact", "Time from submission to the start of the first attempt, if the start was logged."
    ),
    MetricSupport(
        "run", "exact", "Time from the start of the first attempt to the end of the last, retries included."
    ),
    MetricSupport("requested GPUs", "approximate", "GPUs of the first attempt; requests are not published."),
    MetricSupport("allocated GPUs", "exact", "GPUs of each attempt, by machine and number."),
    MetricSupport(
        "GPU utilisation",
        "exact",
        "One value per GPU and minute; for jobs only if both clocks are assumed to be the same.",
    ),
    MetricSupport("CPU utilisation", "exact", "One value per machine and minute."),
    MetricSupport(
        "memory use",
        "approximate",
        "Main memory of machines as a share, because its unit is not documented; no GPU memory.",
    ),
    MetricSupport("final state", "exact", "Pass, Killed or Failed, as published."),
    MetricSupport("user", "exact", "Every job has a hashed user."),
    MetricSupport("machine placement", "exact", "Machines of each attempt."),
    MetricSupport(
        "calendar date",
        "approximate",
        "Exact for utilisation; to a day for jobs, whose time zone is not documented.",
    ),
    MetricSupport(
        "GPU sharing",
        "approximate",
        (
            "Overlapping allocations of one GPU; whether the attempts shared it or the log is"
            " wrong is not documented."
        ),
    ),
    MetricSupport(
        "fragmentation",
        "approximate",
        (
            "Free GPUs per machine from the job log; attempts without a start or an end are"
            " missing, and when machines were offline is not recorded."
        ),
    ),
    MetricSupport(
        "group or recurrence",
        "impossible",
        "vc is the virtual cluster of a job, and jobid is unique: no column shows that a job recurs.",
    ),
    MetricSupport(
        "hour of day", "approximate", "Hour of the job log's clock, whose time zone is not documented."
    ),
)

FILES_AT = "https://github.com/msr-fiddle/philly-traces/raw/HEAD"
FILES = (PublishedFile("trace-data.tar.gz", f"{FILES_AT}/trace-data.tar.gz", bytes=1_055_988_361),)

TRACE = Trace(
    name="philly",
    title="Microsoft Philly (2017)",
    publisher="Microsoft Research",
    homepage="https://github.com/msr-fiddle/philly-traces",
    download=(
        "Fetch trace-data.tar.gz (1.06 GB) of https://github.com/msr-fiddle/philly-traces, which is in Git"
        " LFS: run git lfs pull in a clone. It need not be unpacked. A clone without LFS has only a"
        " pointer file."
    ),
    licence="CC BY 4.0",
    citation=(
        "Myeongjae Jeon, Shivaram Venkataraman, Amar Phanishayee, Junjie Qian, Wencong Xiao, and Fan Yang."
        " Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads. In 2019 USENIX Annual"
        " Technical Conference (USENIX ATC 19). USENIX Association, 2019. https://arxiv.org/abs/1901.05758"
    ),
    tables=(JOB, ATTEMPT, ATTEMPT_MACHINE, MACHINE, GPU_UTIL, CPU_UTIL, MEM_UTIL),
    caveats=CAVEATS,
    metrics=METRICS,
    files=FILES,
)
