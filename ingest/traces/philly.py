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

from tracehouse.ingest.declarations import Column, JsonList, Reference, Rule, Table, Trace
from tracehouse.ingest.sample_distributions import Arrivals, Names

README = "README of msr-fiddle/philly-traces"
ARCHIVE = "trace-data"
ZONES = (("PST", "-08:00"), ("PDT", "-07:00"))
NO_TIME = ("", "None")
OFFLINE = ("NA",)
JOB_ID = Column("jobid", "VARCHAR", "Job", required=True)
ATTEMPT_NUMBER = Column("attempt", "BIGINT", "Number of the attempt, from 1", provenance="derived")


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
        ),
        Column(
            "end_time",
            "TIMESTAMP",
            "End; the time zone is not documented; NULL if not logged or the job was still running",
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
    comment="Machines with their listed GPUs and the memory of each GPU: 552 rows, by a user's count.",
    grain="one row per machine_id",
    source=f"{README}, cluster_machine_list",
    file_name="cluster_machine_list",
    archive_stem=ARCHIVE,
    columns=(
        Column("machine_id", "VARCHAR", "Machine; machineId in the file", header="machineId"),
        Column(
            "number_of_gpus",
            "BIGINT",
            "Listed GPUs; the job log may show more",
            "GPUs",
            header=" number of GPUs",
        ),
        Column(
            "single_gpu_mem",
            "VARCHAR",
            "Memory of each GPU as published, with a leading space: ' 24GB'",
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
        ),
        Column(
            "mem_free",
            "DOUBLE",
            "Free memory, in the same unit; NULL if the machine was offline",
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
)
