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

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, Names
from tracehouse.ingest.declare.trace import Column, Rule, Table, Trace, Wide

LOCAL_CLOCK = Clock(
    "helios.local",
    epoch="1970-01-01T00:00:00 local time; the time zone is not documented",
    zone="Asia/Shanghai by assumption, because SenseTime is there; an instant is then 28,800 s earlier",
    local_offset_s=0,
    true_parts="order, differences, and date, weekday and hour at the cluster",
    fake_parts="none; the zone is assumed",
    documented_in="publisher: README of HeliosData; the zone is not documented",
)

DAYS_CLOCK = Clock(
    "helios.days",
    epoch="1970-01-01T00:00:00 local time; the time zone is not documented",
    zone="Asia/Shanghai by assumption",
    local_offset_s=0,
    resolution_s=86400,
    true_parts="date and weekday",
    fake_parts="none; the zone is assumed",
    documented_in="publisher: README of HeliosData; the zone is not documented",
)

ZONE_IS_ASSUMED = Caveat(
    "helios.zone_is_assumed",
    "limited result",
    summary="Times have no zone: hours are right, instants assume China's time.",
    what_goes_wrong=(
        "Times have no time zone. Most tools read them as UTC: hours are then right, but instants"
        " are eight hours late if the clusters use China's time."
    ),
    what_to_do=(
        "Use hours and dates as published. For instants, subtract 28,800 s and say that the zone is assumed."
    ),
    documented_in="publisher: README; the zone is not documented",
)

FAILED_IS_A_CLASS = Caveat(
    "helios.failed_is_a_class",
    "wrong result",
    summary="The publisher counts TIMEOUT and NODE_FAIL as failed.",
    what_goes_wrong=(
        "The publisher counts TIMEOUT and NODE_FAIL as failed, and the rates of completed,"
        " cancelled and failed jobs in its summary add up to 1. FAILED alone is less."
    ),
    what_to_do="State which states count as failures. standard_job and the queries follow the publisher.",
    documented_in="publisher: README, note 2",
)

SUSPENDED_ONCE = Caveat(
    "helios.suspended_once",
    "background",
    summary="One job has the state SUSPENDED, which is not final.",
    what_goes_wrong=(
        "One job, in Uranus, has the state SUSPENDED, which is not a final state. The publisher"
        " ignores this job."
    ),
    what_to_do="Do not count it as completed, cancelled or failed.",
    documented_in="publisher: README, note 2",
)

DURATION_EXCLUDES_QUEUE = Caveat(
    "helios.duration_excludes_queue",
    "wrong result",
    summary="duration excludes the wait, unlike in other traces of the same authors.",
    what_goes_wrong=(
        "duration is end_time - start_time, and queue is start_time - submit_time. The time from"
        " submission to result is their sum. Other traces of the same authors have this sum in one"
        " column."
    ),
    what_to_do="Add queue to duration for turnaround times.",
    documented_in="publisher: README, notes 3 and 4",
)

JOB_ID_WITHIN_CLUSTER = Caveat(
    "helios.job_id_within_cluster",
    "background",
    summary="Job ids repeat across clusters.",
    what_goes_wrong=(
        "Slurm numbers the jobs of each cluster separately, so clusters share job ids. The file"
        " does not name its cluster."
    ),
    what_to_do="Join by cluster and job_id, and keep the publisher's folders.",
    documented_in="publisher: README, note 1",
)

VC_NAMES_ARE_SHARED = Caveat(
    "helios.vc_names_are_shared",
    "wrong result",
    summary="Clusters share names of virtual clusters: group by cluster and vc.",
    what_goes_wrong=(
        "Clusters share names of virtual clusters, for example vchbv in Earth and Venus. Grouping"
        " by name alone merges parts of two clusters."
    ),
    what_to_do="Group by cluster and vc.",
    documented_in="publisher: README, both examples, and data/Venus",
)

TOTAL_IS_A_COLUMN = Caveat(
    "helios.total_is_a_column",
    "wrong result",
    summary="The row without a vc is the total: adding all rows counts each GPU twice.",
    what_goes_wrong=(
        "The wide file has a column total next to the virtual clusters, with their sum. Adding all"
        " columns counts each GPU twice."
    ),
    what_to_do="Exclude the rows whose vc is NULL, or use only these rows.",
    documented_in="publisher: README, cluster_gpu_number.csv",
)

GPUS_CHANGE_DAILY = Caveat(
    "helios.gpus_change_daily",
    "limited result",
    summary="GPUs move between virtual clusters every day; capacities are means over days.",
    what_goes_wrong=(
        "GPUs move between virtual clusters, and new ones are added: Venus has from 968 to 1,264."
        " A single number per cluster is right on some days only, and a virtual cluster may have no"
        " GPUs for months."
    ),
    what_to_do=(
        "Use the day's count, as helios.load_by_day does. cluster_capacity is the mean over the listed days."
    ),
    documented_in="publisher: README, cluster_gpu_number.csv, and data/Venus",
)

MOST_JOBS_HAVE_NO_GPU = Caveat(
    "helios.most_jobs_have_no_gpu",
    "wrong result",
    summary="53 % of the jobs request no GPU; their median run time is 2 s.",
    what_goes_wrong=(
        "1,782,517 of the 3,362,981 jobs request no GPU; their median run time is 2 s. Most"
        " figures of the publisher exclude them."
    ),
    what_to_do="State whether CPU jobs are included.",
    documented_in="publisher: README, and helios_cluster_summary.csv of HeliosArtifact",
)

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
    published_rows={"": 3_362_981},
    keys=(CLUSTER,),
    key=("cluster", "job_id"),
    never_empty=("job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time"),
    columns=(
        Column(
            "job_id",
            "VARCHAR",
            "Job id, given in the order of submission within a cluster",
            caveats=(JOB_ID_WITHIN_CLUSTER,),
        ),
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
            caveats=(VC_NAMES_ARE_SHARED,),
        ),
        Column(
            "gpu_num",
            "BIGINT",
            "GPUs required; 0 for a CPU job",
            "GPUs",
            least=0,
            sample={0: 1128, 1: 722, 2: 80, 4: 60, 8: 85, 16: 25, 32: 15, 64: 8, 128: 3, 256: 1.5, 512: 0.5},
            caveats=(MOST_JOBS_HAVE_NO_GPU,),
        ),
        Column("cpu_num", "BIGINT", "CPUs required", "CPUs", least=0),
        Column("node_num", "BIGINT", "Nodes of the job", "nodes", least=0),
        Column(
            "state",
            "VARCHAR",
            "Final state: COMPLETED, CANCELLED, FAILED, TIMEOUT or NODE_FAIL",
            choices=("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "SUSPENDED"),
            sample={"COMPLETED": 779, "CANCELLED": 116, "FAILED": 98, "TIMEOUT": 5, "NODE_FAIL": 2},
            caveats=(FAILED_IS_A_CLASS, SUSPENDED_ONCE),
        ),
        Column(
            "submit_time",
            "TIMESTAMP",
            "Submission, in local time; the time zone is not documented",
            sample=Arrivals(1_585_699_200, 1_601_337_599),
            clocks=(LOCAL_CLOCK,),
            caveats=(ZONE_IS_ASSUMED,),
        ),
        Column(
            "start_time",
            "TIMESTAMP",
            "Start of execution, in local time",
            clocks=(LOCAL_CLOCK,),
            caveats=(ZONE_IS_ASSUMED,),
        ),
        Column(
            "end_time",
            "TIMESTAMP",
            "Termination, in local time",
            clocks=(LOCAL_CLOCK,),
            caveats=(ZONE_IS_ASSUMED,),
        ),
        Column(
            "duration",
            "BIGINT",
            "end_time - start_time",
            "s",
            provenance="derived",
            is_duration=True,
            sample=LogNormal(200, 2.4, most=4_320_009),
            caveats=(DURATION_EXCLUDES_QUEUE,),
        ),
        Column(
            "queue",
            "BIGINT",
            "start_time - submit_time",
            "s",
            provenance="derived",
            is_duration=True,
            sample=LogNormal(200, 2.0, zeros=0.62),
            caveats=(DURATION_EXCLUDES_QUEUE,),
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
    tried_on="real files",
    comment="GPUs of each virtual cluster on each day, and their total: one row per cell of the wide files.",
    grain="one row per (cluster, date, column_name)",
    source=f"{README}, cluster_gpu_number.csv",
    folder=FOLDER,
    file_name=r"cluster_gpu_number\.csv",
    keys=(CLUSTER,),
    columns=(
        Column("vc", "VARCHAR", "Virtual cluster; NULL for the total", caveats=(VC_NAMES_ARE_SHARED,)),
        Column(
            "column_name",
            "VARCHAR",
            "Name of the column in the CSV: a virtual cluster, or total",
            caveats=(TOTAL_IS_A_COLUMN,),
        ),
        Column(
            "date",
            "TIMESTAMP",
            "Midnight of the day in local time",
            clocks=(DAYS_CLOCK,),
            caveats=(ZONE_IS_ASSUMED,),
        ),
        Column(
            "gpus",
            "DOUBLE",
            "GPUs on that day; NULL if the cell is empty",
            "GPUs",
            caveats=(TOTAL_IS_A_COLUMN, GPUS_CHANGE_DAILY),
        ),
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

METRICS = (
    MetricSupport("submission", "exact", "Local time; the time zone is assumed."),
    MetricSupport("wait", "exact", "Time from submission to start."),
    MetricSupport("run", "exact", "Time from start to end."),
    MetricSupport("requested GPUs", "exact", "Whole GPUs; 0 for a CPU job."),
    MetricSupport(
        "final state", "exact", "Every job has a state; which states count as failures needs a rule."
    ),
    MetricSupport("user", "exact", "Every job has a hashed user."),
    MetricSupport("hour of day", "exact", "Times are local times."),
    MetricSupport(
        "calendar date", "approximate", "Local dates are exact; instants assume China's time zone."
    ),
    MetricSupport(
        "allocated GPUs", "impossible", "gpu_num is the request; the number of GPUs held is not recorded."
    ),
    MetricSupport(
        "GPU utilisation",
        "impossible",
        "The job log and gpu_count come from the scheduler; no GPU was measured.",
    ),
    MetricSupport(
        "CPU utilisation", "impossible", "cpu_num is a request; the use of processors was not measured."
    ),
    MetricSupport(
        "group or recurrence",
        "impossible",
        "vc is the virtual cluster of a job, and job_id is unique: no column shows that a job recurs.",
    ),
    MetricSupport(
        "machine placement", "impossible", "node_num is the number of nodes; no column names them."
    ),
    MetricSupport(
        "GPU sharing",
        "impossible",
        "gpu_num counts whole GPUs, gpus are those of a virtual cluster, and no column names a job's GPUs.",
    ),
    MetricSupport(
        "deadline",
        "impossible",
        "Jobs past their time limit have the state TIMEOUT; the limit is not recorded.",
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
    metrics=METRICS,
)
