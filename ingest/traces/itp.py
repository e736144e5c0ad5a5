"""ITP: deep-learning training jobs of Microsoft's internal ITP clusters, spring 2021.

Ten clusters, 69,351 jobs, 1,632,719.7 GPU-hours, 2021-03-04 to 2021-05-03.

Licence: MIT, Microsoft Corporation.

Files, from https://github.com/microsoft/elasticflow-traces, folder ``data``:

- ``raw-traces.tar.gz``: ``cluster01.csv`` to ``cluster10.csv``, as collected → `raw_job`.
- ``elasticflow-traces.tar.gz``: the same ten names and ``195job.csv``, with generated columns
  → `elasticflow_job`.

Pitfalls:

- The two archives contain CSVs with the same names; only their headers differ.
- ``195job.csv`` repeats 195 jobs of cluster02 under the same ids, with other generated values.
- Model, batch size, iterations and deadline are generated, not observed.
- There is no start, end, status or user, so waits cannot be computed.
- No job is shorter than 600 s.
- The last line of each CSV has no newline, so a CSV that is truncated inside its last line looks complete.
"""

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, Names
from tracehouse.ingest.declare.trace import Column, Rule, Table, Trace

CLOCK = Clock(
    "itp.collection",
    epoch="start of the collection, on 2021-03-04 at an unpublished hour",
    zone="unknown",
    true_parts="order and differences, across all clusters",
    fake_parts="none: hour and weekday are unknown",
    documented_in="publisher: README of microsoft/elasticflow-traces",
)

MIN_DURATION_600 = Caveat(
    "itp.min_duration_600",
    "wrong result",
    summary="The trace has no jobs under 600 s; drop them from others to compare medians.",
    what_goes_wrong=(
        "Jobs shorter than 600 s appear to have been removed: the shortest takes exactly 600 s."
        " Medians are not comparable with those of traces that keep short jobs."
    ),
    what_to_do="Apply the same cut-off to the other trace.",
    documented_in="measured: on the files; the filter is an inference",
)

NO_WAIT = Caveat(
    "itp.no_wait",
    "limited result",
    summary="The trace records no start times, so waits are unknown.",
    what_goes_wrong=(
        "The trace has submission times and durations but no start times, so it has no waiting times."
    ),
    what_to_do="Report waits as NULL, never as 0.",
    documented_in="publisher: README, both schemas",
)

OFFERED_LOAD_NOT_OCCUPANCY = Caveat(
    "itp.offered_load_not_occupancy",
    "wrong result",
    summary="This is offered load, as if no job had waited; it may exceed the capacity.",
    what_goes_wrong=(
        "num_gpu over [submission, submission + duration) is the offered load, as if no job had"
        " waited. It reaches 2,025 GPUs in cluster04, and in clusters 03, 04, 06 and 07 it exceeds"
        " the capacity that ElasticFlow simulates."
    ),
    what_to_do="Call it offered load. It may exceed the capacity.",
    documented_in=(
        "measured: on the files; publisher: the simulation scripts of pkusys/ElasticFlow, for the capacities"
    ),
)

CAPACITY_NOT_PUBLISHED = Caveat(
    "itp.capacity_not_published",
    "wrong result",
    summary="Capacities are those that ElasticFlow simulates, not those of the clusters.",
    what_goes_wrong=(
        "The sizes of the clusters are not published. The sizes in use (256, 512 or 1,024 GPUs)"
        " are those of the simulated clusters in ElasticFlow's scripts."
    ),
    what_to_do="Call utilisation simulated if it uses these sizes.",
    documented_in="publisher: the simulation scripts of pkusys/ElasticFlow",
)

NO_STATUS_OR_USER = Caveat(
    "itp.no_status_or_user",
    "limited result",
    summary="The trace has no status, user, virtual cluster or machine.",
    what_goes_wrong=(
        "The trace has no status, user, virtual cluster or machine. Failure rates and fairness"
        " cannot be computed."
    ),
    what_to_do="Report them as impossible for this trace.",
    documented_in="publisher: README, both schemas",
)

NUM_GPU_REQUESTED_OR_USED = Caveat(
    "itp.num_gpu_requested_or_used",
    "limited result",
    summary="The README does not say whether num_gpu is requested or used.",
    what_goes_wrong=(
        "The README says that num_gpu is requested or used, but not which. Only 1, 2, 4, 8, 16, 32"
        " and 64 occur."
    ),
    what_to_do="Do not derive idle GPUs from it.",
    documented_in="publisher: README, both schemas; measured: the values, on the files",
)

DEADLINE_SYNTHETIC = Caveat(
    "itp.deadline_synthetic",
    "wrong result",
    summary="Deadlines are generated at random; no user set them.",
    what_goes_wrong=(
        "deadline is generated: submission + lambda * duration, with lambda uniform on 0.5 to 1.5."
        " 34,754 of the 69,351 jobs in the cluster files have lambda < 1 and cannot meet their"
        " deadline with the GPUs that they request. Deadlines are truncated to whole seconds, so"
        " three rows are just below 0.5."
    ),
    what_to_do="Never present it as a deadline set by a user.",
    documented_in="publisher: README, Schema for elasticflow-traces; measured: the ratios, on the files",
)

TRAINING_COLUMNS_SYNTHETIC = Caveat(
    "itp.training_columns_synthetic",
    "wrong result",
    summary="Model, batch size and iterations are drawn at random.",
    what_goes_wrong=(
        "Model, batch size and iterations are drawn at random. num_iteration is the duration times"
        " a throughput measured on A100 GPUs, so num_iteration / duration only reproduces the"
        " throughput table."
    ),
    what_to_do="Use them to replay ElasticFlow's experiments, not to describe the workload.",
    documented_in=(
        "publisher: README, Schema for elasticflow-traces, and the throughput table of"
        " pkusys/ElasticFlow; measured: bert at batch 64 on one GPU, on the files"
    ),
)

JOB_ID_NOT_UNIQUE = Caveat(
    "itp.job_id_not_unique",
    "wrong result",
    summary="All 195 jobs of 195job are also in cluster02: adding them counts them twice.",
    what_goes_wrong=(
        "All 195 ids of 195job are also ids of jobs in cluster02, with the same submission, GPUs"
        " and duration. The model differs in 165, the batch size in 133, the iterations in 183 and"
        " the deadline in all of them. A sum over all files counts 5,489.8 GPU-hours twice."
    ),
    what_to_do="Use (source_file, job_id) as the key, and exclude 195job from totals.",
    documented_in="measured: on the files",
)

SAME_CSV_NAMES = Caveat(
    "itp.same_csv_names",
    "background",
    summary="Both archives contain files of the same names.",
    what_goes_wrong=(
        "Both archives contain cluster01.csv to cluster10.csv. If both are unpacked into one"
        " folder, one set overwrites the other."
    ),
    what_to_do="Leave the archives packed, or unpack them into separate folders.",
    documented_in="measured: on the archives",
)

CLUSTERS_START_RAGGED = Caveat(
    "itp.clusters_start_ragged",
    "limited result",
    summary="Clusters begin on different days of the collection.",
    what_goes_wrong=(
        "Times count from one start of the collection for all clusters. The first submissions are"
        " between 1,999 s (cluster07) and 2,266,647 s (cluster10), so daily series start on"
        " different days."
    ),
    what_to_do="Compute each cluster's time span from its own first submission.",
    documented_in="publisher: README, both schemas; measured: on the files",
)

README_TYPO_GPU_HOURS = Caveat(
    "itp.readme_typo_gpu_hours",
    "background",
    summary='The README spells the published total "Total GPU horus".',
    what_goes_wrong=(
        "The README has a typo, Total GPU horus, so a search for GPU hours does not find the"
        " published total of 1,632,719.7."
    ),
    what_to_do="Cite the figure; it reproduces from the files.",
    documented_in="publisher: README, Characteristics",
)

SMALL_CLUSTERS = Caveat(
    "itp.small_clusters",
    "limited result",
    summary="Small clusters have few jobs: cluster10 has 260.",
    what_goes_wrong=(
        "Clusters have from 260 (cluster10) to 15,802 jobs (cluster04). Quantiles of the small"
        " clusters rest on few jobs."
    ),
    what_to_do="Require a minimum number of jobs when you compare clusters.",
    documented_in="measured: on the files",
)

CLUSTERS_DIFFER_IN_KIND = Caveat(
    "itp.clusters_differ_in_kind",
    "limited result",
    summary="Clusters differ: cluster09 has single-GPU jobs only, the mean in cluster03 is 6.23 GPUs.",
    what_goes_wrong=(
        "Every job of cluster09 uses one GPU, while the mean in cluster03 is 6.23. A mean over all"
        " clusters describes none of them."
    ),
    what_to_do="Group by cluster.",
    documented_in="measured: on the files",
)

GPU_HOURS_ARE_CONCENTRATED = Caveat(
    "itp.gpu_hours_are_concentrated",
    "limited result",
    summary="1 % of the jobs have 47.2 % of the GPU-hours: a sample of jobs misses most of it.",
    what_goes_wrong=(
        "The largest 1 % of jobs have 47.2 % of the GPU-hours. A sample of jobs misses most of the load."
    ),
    what_to_do="Weight by GPU-hours, or keep all jobs.",
    documented_in="measured: on the files",
    concerns=("itp.raw_job.duration", "itp.raw_job.num_gpu"),
)

LAST_WEEK_IS_PARTIAL = Caveat(
    "itp.last_week_is_partial",
    "wrong result",
    summary="The last week has four days only.",
    what_goes_wrong="The last submission is on day 59.90, so the ninth week has four days only.",
    what_to_do="Exclude the last week from weekly trends.",
    documented_in="measured: on the files",
)

RELATIVE_CLOCK = Caveat(
    "itp.relative_clock",
    "limited result",
    summary="Times count from the start of the collection: hour of day and weekday are unknown.",
    what_goes_wrong=(
        "Times count from the start of the collection. The README gives the dates, 2021-03-04 to"
        " 2021-05-03, but no hour and no time zone: hour of day and weekday are unknown."
    ),
    what_to_do="Do not plot by hour of day.",
    documented_in="publisher: README, Characteristics",
)

NO_PUBLISHED_CHECKSUMS = Caveat(
    "itp.no_published_checksums",
    "background",
    summary="The publisher provides no checksums.",
    what_goes_wrong=(
        "The publisher provides no checksums, so a damaged archive can be detected only by its contents."
    ),
    what_to_do="Compare the row counts: 69,351, and 195 in 195job.",
    documented_in="publisher: README; measured: on the files",
)

LOAD_STARTS_EMPTY = Caveat(
    "itp.load_starts_empty",
    "wrong result",
    summary="Jobs submitted before the trace are missing: the load of the first days is too low.",
    what_goes_wrong=(
        "Jobs that were submitted before the collection began are missing, even if they were still"
        " running. Any load computed from the jobs starts at 0 GPUs and rises as long as jobs run;"
        " the longest runs for 18 days."
    ),
    what_to_do="Exclude the first days from means and trends of the load.",
    documented_in=(
        "measured: the longest run and the first submissions; that earlier jobs are left out is an inference"
    ),
)

README_EXAMPLE_ID = Caveat(
    "itp.readme_example_id",
    "background",
    summary="The README's example row has the id of another job.",
    what_goes_wrong=(
        "The id in the README's example row is in the files but belongs to another job:"
        " 6b2d9ccc-6279-403c-e1a2-cfe7810d5c57 ran 66,649 s on one GPU of cluster02. The other"
        " values of the example are those of 59a72878-e5c4-ab9d-e813-68c36b50edeb in cluster06."
    ),
    what_to_do="Do not look up the example by its id.",
    documented_in="publisher: README, both schemas; measured: on the files",
)

RAW_SOURCE_FILE = Column(
    "source_file",
    "VARCHAR",
    "Name of the CSV without its extension, which is the cluster: cluster01 to cluster10",
    caveats=(CAPACITY_NOT_PUBLISHED, SMALL_CLUSTERS),
)
RAW_JOB_ID = Column(
    "job_id",
    "VARCHAR",
    "Job id, regenerated after the collection; unique in this archive, all clusters together",
    sample=Names("job", 32),
    caveats=(README_EXAMPLE_ID,),
)
SOURCE_FILE = Column(
    "source_file",
    "VARCHAR",
    "Name of the CSV without its extension: one cluster, or 195job for the testbed's selection",
    caveats=(CAPACITY_NOT_PUBLISHED, JOB_ID_NOT_UNIQUE, SMALL_CLUSTERS),
)
JOB_ID = Column(
    "job_id",
    "VARCHAR",
    "Job id, regenerated after the collection; unique within a CSV only, as 195job repeats ids",
    sample=Names("job", 32),
    caveats=(JOB_ID_NOT_UNIQUE, README_EXAMPLE_ID),
)
SUBMISSION_TIME = Column(
    "submission_time",
    "BIGINT",
    "Submission, counted from the start of the collection, which all clusters share",
    unit="s",
    least=0,
    sample=Arrivals(1_999, 5_175_336),
    caveats=(
        OFFERED_LOAD_NOT_OCCUPANCY,
        CLUSTERS_START_RAGGED,
        LAST_WEEK_IS_PARTIAL,
        RELATIVE_CLOCK,
        LOAD_STARTS_EMPTY,
    ),
)
DURATION = Column(
    "duration",
    "BIGINT",
    "Run time without queueing, at least 600 in every row; the trace does not record queueing",
    unit="s",
    is_duration=True,
    least=600,
    sample=LogNormal(3_000, 1.9, most=1_573_360),
    caveats=(MIN_DURATION_600, OFFERED_LOAD_NOT_OCCUPANCY, LOAD_STARTS_EMPTY),
)
NUM_GPU = Column(
    "num_gpu",
    "BIGINT",
    "GPUs requested or used; the publisher does not say which; a power of two up to 64",
    unit="GPUs",
    choices=(1, 2, 4, 8, 16, 32, 64),
    sample={1: 57_682, 2: 1_483, 4: 2_371, 8: 7_009, 16: 381, 32: 354, 64: 71},
    caveats=(OFFERED_LOAD_NOT_OCCUPANCY, NUM_GPU_REQUESTED_OR_USED, CLUSTERS_DIFFER_IN_KIND),
)

JOBS = {
    **{"cluster01.csv": 1_595, "cluster02.csv": 5_778, "cluster03.csv": 3_011, "cluster04.csv": 15_802},
    **{"cluster05.csv": 3_629, "cluster06.csv": 2_396, "cluster07.csv": 12_699, "cluster08.csv": 13_047},
    **{"cluster09.csv": 11_134, "cluster10.csv": 260},
}

RAW_JOB = Table(
    name="raw_job",
    tried_on="real files",
    comment=(
        "Jobs as collected: 69,351 rows, as the publisher counts them. No sentinels and no empty"
        " fields. Wait and status are not recorded."
    ),
    grain="one row per (source_file, job_id)",
    source="README of microsoft/elasticflow-traces, Schema for raw-traces",
    file_name=r"(?P<source_file>cluster\d+)\.csv",
    published_rows=JOBS,
    archive_stem="raw-traces",
    keys=(RAW_SOURCE_FILE,),
    partition_by=("source_file",),
    ends_in_newline=False,
    key=("source_file", "job_id"),
    never_empty=("job_id", "submission_time", "duration", "num_gpu"),
    columns=(RAW_JOB_ID, SUBMISSION_TIME, DURATION, NUM_GPU),
    order_by=("source_file", "submission_time", "job_id"),
    about_rows=69_351,
    caveats=(NO_WAIT, NO_STATUS_OR_USER, SAME_CSV_NAMES, README_TYPO_GPU_HOURS, NO_PUBLISHED_CHECKSUMS),
)

ELASTICFLOW_JOB = Table(
    name="elasticflow_job",
    tried_on="real files",
    comment=(
        "The same 69,351 jobs with generated training columns, as ElasticFlow simulated them, and"
        " 195 of them again (195job), as it ran them on its testbed: 69,546 rows (measured). No"
        " sentinels and no empty fields."
    ),
    grain="one row per (source_file, job_id)",
    source="README of microsoft/elasticflow-traces, Schema for elasticflow-traces",
    file_name=r"(?P<source_file>cluster\d+|195job)\.csv",
    published_rows=JOBS | {"195job.csv": 195},
    archive_stem="elasticflow-traces",
    keys=(SOURCE_FILE,),
    partition_by=("source_file",),
    ends_in_newline=False,
    key=("source_file", "job_id"),
    never_empty=(
        "job_id",
        "submission_time",
        "num_iteration",
        "model_name",
        "deadline",
        "batch_size",
        "num_gpu",
        "duration",
    ),
    columns=(
        JOB_ID,
        SUBMISSION_TIME,
        Column(
            "num_iteration",
            "BIGINT",
            "Training iterations, generated from the duration and a throughput table",
            unit="iterations",
            provenance="synthetic",
            least=1,
            caveats=(TRAINING_COLUMNS_SYNTHETIC,),
        ),
        Column(
            "model_name",
            "VARCHAR",
            "Model, drawn at random from six",
            provenance="synthetic",
            choices=("bert", "deepspeech2", "gpt2", "inception3", "resnet50", "vgg16"),
            sample=dict.fromkeys(("bert", "deepspeech2", "gpt2", "inception3", "resnet50", "vgg16"), 1),
            caveats=(TRAINING_COLUMNS_SYNTHETIC,),
        ),
        Column(
            "deadline",
            "BIGINT",
            "Generated deadline, on the clock of submission_time; for about half of the jobs it is"
            " before submission plus duration",
            unit="s",
            provenance="synthetic",
            caveats=(DEADLINE_SYNTHETIC, RELATIVE_CLOCK),
        ),
        Column(
            "batch_size",
            "BIGINT",
            "Generated training batch size",
            unit="samples",
            provenance="synthetic",
            least=1,
            sample={32: 1, 64: 2, 128: 2, 256: 1},
            caveats=(TRAINING_COLUMNS_SYNTHETIC,),
        ),
        NUM_GPU,
        DURATION,
    ),
    order_by=("source_file", "submission_time", "job_id"),
    rules=(
        Rule(
            "tightness",
            "(deadline - submission_time) / duration is from 0.5 to 1.5",
            "(deadline - submission_time) / nullif(duration, 0) not between 0.5 and 1.5",
            caveat="itp.deadline_synthetic",
        ),
    ),
    caveats=(NO_WAIT, NO_STATUS_OR_USER, SAME_CSV_NAMES, NO_PUBLISHED_CHECKSUMS),
)

CAVEATS = (GPU_HOURS_ARE_CONCENTRATED,)

METRICS = (
    MetricSupport(
        "submission", "exact", "Seconds from the start of the collection, which all clusters share."
    ),
    MetricSupport("wait", "impossible", "The trace has no start times."),
    MetricSupport("run", "exact", "The duration; jobs under 600 s appear to have been removed."),
    MetricSupport("requested GPUs", "approximate", "The README says requested or used, but not which."),
    MetricSupport("allocated GPUs", "approximate", "The README says requested or used, but not which."),
    MetricSupport(
        "workload",
        "impossible",
        "model_name, batch_size and num_iteration are drawn at random and do not describe the job.",
    ),
    MetricSupport(
        "deadline",
        "approximate",
        (
            "Deadlines are random multiples of the duration: suitable to replay the publisher's"
            " experiments, but not set by users."
        ),
    ),
    MetricSupport(
        "time to accuracy",
        "impossible",
        "num_iteration is drawn at random, and the result of a training is not recorded.",
    ),
    MetricSupport(
        "hour of day",
        "impossible",
        "The hour at which the collection starts, when submission_time is 0, is not published.",
    ),
    MetricSupport(
        "calendar date",
        "approximate",
        "The collection starts on 2021-03-04 at an unpublished hour, so a date may be off by a day.",
    ),
)

FILES_AT = "https://github.com/microsoft/elasticflow-traces/raw/HEAD/data"
FILES = (
    PublishedFile("data/raw-traces.tar.gz", f"{FILES_AT}/raw-traces.tar.gz", bytes=1_943_846),
    PublishedFile("data/elasticflow-traces.tar.gz", f"{FILES_AT}/elasticflow-traces.tar.gz", bytes=2_599_482),
)

TRACE = Trace(
    name="itp",
    title="ElasticFlow traces of Microsoft's ITP clusters (2021)",
    publisher="Microsoft",
    homepage="https://github.com/microsoft/elasticflow-traces",
    download=(
        "Fetch data/raw-traces.tar.gz and data/elasticflow-traces.tar.gz of"
        " https://github.com/microsoft/elasticflow-traces into one folder, and leave them packed."
    ),
    licence="MIT",
    citation=(
        "Diandian Gu, Yihao Zhao, Yinmin Zhong, Yifan Xiong, Zhenhua Han, Peng Cheng, Fan Yang,"
        " Gang Huang, Xin Jin, and Xuanzhe Liu. ElasticFlow: An Elastic Serverless Training"
        " Platform for Distributed Deep Learning. In Proceedings of the 28th ACM International"
        " Conference on Architectural Support for Programming Languages and Operating Systems,"
        " Volume 2 (ASPLOS 2023), pages 266-280. ACM, 2023."
        " https://doi.org/10.1145/3575693.3575721"
    ),
    tables=(RAW_JOB, ELASTICFLOW_JOB),
    clock=CLOCK,
    caveats=CAVEATS,
    metrics=METRICS,
    files=FILES,
)
