"""Philly: jobs that train deep neural networks at Microsoft, and the machines that they ran on, 2017.

117,325 jobs from August to December, with each attempt to run them, and how much of GPUs, processors and
memory was in use in each minute from October on.

Citation: see ``TRACE.citation``. Licence: CC BY 4.0.

Files, in ``trace-data.tar.gz`` of https://github.com/msr-fiddle/philly-traces; their names have no endings:

- ``cluster_job_log``, one JSON list → `job`, `attempt` and `attempt_machine`, the lists in its objects.
- ``cluster_machine_list`` → `machine`.
- ``cluster_gpu_util``, ``cluster_cpu_util``, ``cluster_mem_util`` → `gpu_util`, `cpu_util`, `mem_util`.

Traps:

- The job log's times have no zone; those of use have PST or PDT behind them.
- A job may have no attempt, and an attempt no start or end: `null`, an empty text or `None`.
- The machine list disagrees with the job log: m47 has 2 GPUs in the one and runs a job on 8 in the other.
- Its header and its column of memory have spaces in them: ``machineId, number of GPUs, single GPU mem``.
- Lines of ``cluster_gpu_util`` end in a comma; users tell of some that hold more than one record.
- ``NA`` stands where a GPU or a server was offline.
"""

from tracehouse.ingest.declarations import Column, JsonList, Reference, Rule, Table, Trace

README = "README of msr-fiddle/philly-traces"
ARCHIVE = "trace-data"
ZONES = (("PST", "-08:00"), ("PDT", "-07:00"))
NO_TIME = ("", "None")
OFFLINE = ("NA",)
JOB_ID = Column("jobid", "VARCHAR", "Job", required=True)
ATTEMPT_NUMBER = Column(
    "attempt", "BIGINT", "Place of the attempt among the job's, from 1", provenance="derived"
)


def _time(comment: str) -> Column:
    return Column("time", "TIMESTAMPTZ", comment, zones=ZONES, offset_name="time_utc_offset")


JOB = Table(
    name="job",
    comment="Jobs: 117,325 rows, as the publisher counts them. Some have no attempt.",
    grain="one row per jobid",
    source=f"{README}, cluster_job_log",
    file_name="cluster_job_log",
    archive_stem=ARCHIVE,
    columns=(
        Column(
            "status",
            "VARCHAR",
            "Status upon completion: Pass, Killed or Failed",
            choices=("Pass", "Killed", "Failed"),
        ),
        Column("vc", "VARCHAR", "Hashed virtual cluster"),
        JOB_ID,
        Column(
            "submitted_time",
            "TIMESTAMP",
            "Submission to the scheduler, in a zone that is not written",
            null_texts=NO_TIME,
            least="2017-08-07 00:00:00",
            below="2017-12-23 00:00:00",
        ),
        Column("user", "VARCHAR", "Hashed user"),
    ),
    json_list=JsonList(other_lists=("attempts",)),
    key=("jobid",),
    never_empty=("status", "vc", "jobid", "submitted_time", "user"),
    order_by=("submitted_time", "jobid"),
    about_rows=117_325,
)

ATTEMPT = Table(
    name="attempt",
    comment="Attempts to run a job: each time that the scheduler placed it.",
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
            "Start, in a zone that is not written; NULL where it was not logged",
            null_texts=NO_TIME,
        ),
        Column(
            "end_time",
            "TIMESTAMP",
            "End, in a zone that is not written; NULL where it was not logged, or the job still ran",
            null_texts=NO_TIME,
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
    about_rows=140_000,
)

ATTEMPT_MACHINE = Table(
    name="attempt_machine",
    comment="The GPUs that an attempt used, machine by machine.",
    grain="one row per (jobid, attempt, detail)",
    source=f"{README}, cluster_job_log",
    file_name="cluster_job_log",
    archive_stem=ARCHIVE,
    columns=(
        JOB_ID,
        ATTEMPT_NUMBER,
        Column("detail", "BIGINT", "Place among the attempt's machines, from 1", provenance="derived"),
        Column("ip", "VARCHAR", "Machine, as in machine.machine_id"),
        Column("gpus", "VARCHAR[]", "GPUs of the machine that the attempt used: gpu0 to gpu7"),
    ),
    json_list=JsonList(path=("attempts", "detail"), positions=("attempt", "detail"), outer=("jobid",)),
    key=("jobid", "attempt", "detail"),
    never_empty=("jobid", "attempt", "detail", "ip", "gpus"),
    order_by=("jobid", "attempt", "detail"),
    references=(Reference(("ip",), "machine", ("machine_id",)),),
    about_rows=160_000,
)

MACHINE = Table(
    name="machine",
    comment="Machines, the GPUs listed for each, and the memory of each GPU: 552 rows, by a user's count.",
    grain="one row per machine_id",
    source=f"{README}, cluster_machine_list",
    file_name="cluster_machine_list",
    archive_stem=ARCHIVE,
    columns=(
        Column("machine_id", "VARCHAR", "Machine; machineId in the file", header="machineId"),
        Column(
            "number_of_gpus",
            "BIGINT",
            "GPUs listed; the job log has others",
            "GPUs",
            header=" number of GPUs",
        ),
        Column(
            "single_gpu_mem",
            "VARCHAR",
            "Memory of each GPU as it is written, with a space before it: ' 24GB'",
            header=" single GPU mem",
        ),
    ),
    key=("machine_id",),
    never_empty=("machine_id", "number_of_gpus", "single_gpu_mem"),
    order_by=("machine_id",),
    about_rows=552,
)

GPU_UTIL = Table(
    name="gpu_util",
    comment="Use of each GPU of a machine, minute by minute, as nvidia-smi reports it.",
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
                f"Use of GPU {gpu}; NULL where it was offline, or the machine has none",
                "percent",
                null_texts=OFFLINE,
                least=0,
                most=100,
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
)

CPU_UTIL = Table(
    name="cpu_util",
    comment="Use of a machine's processors, minute by minute.",
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
            "Use of all processors; NULL where the machine was offline",
            "percent",
            null_texts=OFFLINE,
            least=0,
            most=100,
        ),
    ),
    key=("time", "machine_id"),
    never_empty=("time", "machine_id"),
    order_by=("machine_id", "time"),
    about_rows=45_028_260,
)

MEM_UTIL = Table(
    name="mem_util",
    comment="Main memory of a machine, and what of it is free, minute by minute.",
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
            "Memory, in a unit that is not written; NULL where the machine was offline",
            null_texts=OFFLINE,
        ),
        Column(
            "mem_free",
            "DOUBLE",
            "Memory that is free, in the same unit; NULL where the machine was offline",
            null_texts=OFFLINE,
            least=0,
        ),
    ),
    key=("time", "machine_id"),
    never_empty=("time", "machine_id"),
    order_by=("machine_id", "time"),
    about_rows=45_000_000,
    rules=(Rule("free_of_total", "mem_free is at most mem_total", "mem_free > mem_total"),),
)

TRACE = Trace(
    name="philly",
    title="Microsoft Philly (2017)",
    publisher="Microsoft Research",
    homepage="https://github.com/msr-fiddle/philly-traces",
    download=(
        "Fetch trace-data.tar.gz (1.06 GB) of https://github.com/msr-fiddle/philly-traces, which lies in Git"
        " LFS: git lfs pull in a clone. It need not be unpacked; without LFS there is only a pointer to it."
    ),
    licence="CC BY 4.0",
    citation=(
        "Myeongjae Jeon, Shivaram Venkataraman, Amar Phanishayee, Junjie Qian, Wencong Xiao, and Fan Yang."
        " Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads. In 2019 USENIX Annual"
        " Technical Conference (USENIX ATC 19). USENIX Association, 2019. https://arxiv.org/abs/1901.05758"
    ),
    tables=(JOB, ATTEMPT, ATTEMPT_MACHINE, MACHINE, GPU_UTIL, CPU_UTIL, MEM_UTIL),
)
