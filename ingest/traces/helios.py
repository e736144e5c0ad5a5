"""Helios: jobs of four clusters for deep learning, Earth, Saturn, Uranus and Venus, April to September 2020.

3,362,981 jobs, of which 1,580,464 use GPUs, in SenseTime's data centre, and the GPUs of each virtual cluster
(VC) on each day.

Licence: CC BY 4.0.

Files, from https://github.com/S-Lab-System-Group/HeliosData, a folder for each cluster in ``data``:

- ``cluster_log.csv`` → `job`.
- ``cluster_gpu_number.csv`` → `gpu_count`.

Pitfalls:

- Only the folder's name identifies the cluster, and job ids are unique only within a cluster.
- Times are local times without a time zone: UTC+8 by assumption.
- The publisher counts TIMEOUT and NODE_FAIL as failures and ignores SUSPENDED, the state of one Uranus job.
- `duration` is the run time without the wait.
- The GPUs of a VC change from day to day; `total` is their sum, not a VC.
"""

from tracehouse.ingest.declarations import Column, Rule, Table, Trace, Wide
from tracehouse.ingest.sample_distributions import Arrivals, LogNormal, Names

README = "README of S-Lab-System-Group/HeliosData"
FOLDER = r"(?P<cluster>Earth|Saturn|Uranus|Venus)"
CLUSTER = Column("cluster", "VARCHAR", "Cluster, from the folder's name: Earth, Saturn, Uranus or Venus")

JOB = Table(
    name="job",
    comment="Jobs submitted to Slurm in each cluster: 3,362,981 rows, as the publisher counts them.",
    grain="one row per (cluster, job_id)",
    source=f"{README}, cluster_log.csv",
    folder=FOLDER,
    file_name=r"cluster_log\.csv",
    keys=(CLUSTER,),
    key=("cluster", "job_id"),
    never_empty=("job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time"),
    columns=(
        Column("job_id", "VARCHAR", "Job id, given in the order of submission within a cluster"),
        Column(
            "user",
            "VARCHAR",
            "Hashed user, beginning with u",
            pattern="u.*",
            sample=Names("user", 4, "u", count=400),
        ),
        Column(
            "vc",
            "VARCHAR",
            "Hashed virtual cluster, beginning with vc; clusters share names",
            pattern="vc.*",
            sample=Names("vc", 4, "vc", count=22),
        ),
        Column(
            "gpu_num",
            "BIGINT",
            "GPUs required; 0 for a CPU job",
            "GPUs",
            least=0,
            sample={0: 1128, 1: 722, 2: 80, 4: 60, 8: 85, 16: 25, 32: 15, 64: 8, 128: 3, 256: 1.5, 512: 0.5},
        ),
        Column("cpu_num", "BIGINT", "CPUs required", "CPUs", least=0),
        Column("node_num", "BIGINT", "Nodes of the job", "nodes", least=0),
        Column(
            "state",
            "VARCHAR",
            "Final state: COMPLETED, CANCELLED, FAILED, TIMEOUT or NODE_FAIL",
            choices=("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "SUSPENDED"),
            sample={"COMPLETED": 779, "CANCELLED": 116, "FAILED": 98, "TIMEOUT": 5, "NODE_FAIL": 2},
        ),
        Column(
            "submit_time",
            "TIMESTAMP",
            "Submission, in local time; the time zone is not documented",
            sample=Arrivals(1_585_699_200, 1_601_337_599),
        ),
        Column("start_time", "TIMESTAMP", "Start of execution, in local time"),
        Column("end_time", "TIMESTAMP", "Termination, in local time"),
        Column(
            "duration",
            "BIGINT",
            "end_time - start_time",
            "s",
            provenance="derived",
            is_duration=True,
            sample=LogNormal(200, 2.4, most=4_320_009),
        ),
        Column(
            "queue",
            "BIGINT",
            "start_time - submit_time",
            "s",
            provenance="derived",
            is_duration=True,
            sample=LogNormal(200, 2.0, zeros=0.62),
        ),
    ),
    order_by=("submit_time", "job_id"),
    partition_by=("cluster",),
    about_rows=3_362_981,
    rules=(
        Rule(
            "state_documented",
            "state is one of the five that the README lists",
            "state not in ('COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', 'NODE_FAIL')",
            caveat="helios.suspended_once",
        ),
        Rule("start_after_submit", "no job starts before it is submitted", "start_time < submit_time"),
        Rule("end_after_start", "no job ends before it starts", "end_time < start_time"),
        Rule(
            "duration",
            "duration is end_time - start_time",
            "duration <> epoch(end_time) - epoch(start_time)",
            kind="derived",
        ),
        Rule(
            "queue",
            "queue is start_time - submit_time",
            "queue <> epoch(start_time) - epoch(submit_time)",
            kind="derived",
        ),
    ),
)

GPU_COUNT = Table(
    name="gpu_count",
    comment="GPUs of each virtual cluster on each day, and their total: one row per cell of the wide files.",
    grain="one row per (cluster, date, column_name)",
    source=f"{README}, cluster_gpu_number.csv",
    folder=FOLDER,
    file_name=r"cluster_gpu_number\.csv",
    keys=(CLUSTER,),
    columns=(
        Column("vc", "VARCHAR", "Virtual cluster; NULL for the total"),
        Column("column_name", "VARCHAR", "Name of the column in the CSV: a virtual cluster, or total"),
        Column("date", "TIMESTAMP", "Midnight of the day in local time"),
        Column("gpus", "DOUBLE", "GPUs on that day; NULL if the cell is empty", "GPUs"),
    ),
    order_by=("column_name", "date"),
    partition_by=("cluster",),
    wide=Wide(
        index_header="date",
        variable_pattern=r"(?P<vc>vc\w+)",
        index="date",
        variable="column_name",
        value="gpus",
    ),
)

TRACE = Trace(
    name="helios",
    title="SenseTime Helios (2020)",
    publisher="S-Lab, Nanyang Technological University, and SenseTime",
    homepage="https://github.com/S-Lab-System-Group/HeliosData",
    download=(
        "Fetch data.zip of https://github.com/S-Lab-System-Group/HeliosData by hand (36.4 MB) and unpack it"
        " with its folders, because only they name the clusters: data/Earth/cluster_log.csv and so on."
    ),
    licence="CC BY 4.0",
    citation=(
        "Qinghao Hu, Peng Sun, Shengen Yan, Yonggang Wen, and Tianwei Zhang. Characterization and Prediction"
        " of Deep Learning Workloads in Large-Scale GPU Datacenters. In Proceedings of the International"
        " Conference for High Performance Computing, Networking, Storage and Analysis (SC '21). ACM, 2021."
        " https://doi.org/10.1145/3458817.3476223"
    ),
    tables=(JOB, GPU_COUNT),
)
