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

from tracehouse.ingest.declarations import Column, Rule, Table, Trace
from tracehouse.ingest.sample_distributions import Arrivals, LogNormal, Names

RAW_SOURCE_FILE = Column(
    "source_file",
    "VARCHAR",
    "Name of the CSV without its extension, which is the cluster: cluster01 to cluster10",
)
RAW_JOB_ID = Column(
    "job_id",
    "VARCHAR",
    "Job id, regenerated after the collection; unique in this archive, all clusters together",
    sample=Names("job", 32),
)
SOURCE_FILE = Column(
    "source_file",
    "VARCHAR",
    "Name of the CSV without its extension: one cluster, or 195job for the testbed's selection",
)
JOB_ID = Column(
    "job_id",
    "VARCHAR",
    "Job id, regenerated after the collection; unique within a CSV only, as 195job repeats ids",
    sample=Names("job", 32),
)
SUBMISSION_TIME = Column(
    "submission_time",
    "BIGINT",
    "Submission, counted from the start of the collection, which all clusters share",
    unit="s",
    least=0,
    sample=Arrivals(1_999, 5_175_336),
)
DURATION = Column(
    "duration",
    "BIGINT",
    "Run time without queueing, which the trace does not record; at least 600 in every row",
    unit="s",
    is_duration=True,
    least=600,
    sample=LogNormal(3_000, 1.9, most=1_573_360),
)
NUM_GPU = Column(
    "num_gpu",
    "BIGINT",
    "GPUs requested or used; the publisher does not say which; a power of two up to 64",
    unit="GPUs",
    choices=(1, 2, 4, 8, 16, 32, 64),
    sample={1: 57_682, 2: 1_483, 4: 2_371, 8: 7_009, 16: 381, 32: 354, 64: 71},
)

RAW_JOB = Table(
    name="raw_job",
    comment=(
        "Jobs as collected: 69,351 rows, as the publisher counts them. No sentinels and no empty"
        " fields. Wait and status are not recorded."
    ),
    grain="one row per (source_file, job_id)",
    source="README of microsoft/elasticflow-traces, Schema for raw-traces",
    file_name=r"(?P<source_file>cluster\d+)\.csv",
    archive_stem="raw-traces",
    keys=(RAW_SOURCE_FILE,),
    partition_by=("source_file",),
    ends_in_newline=False,
    key=(
        "source_file",
        "job_id",
    ),
    never_empty=(
        "job_id",
        "submission_time",
        "duration",
        "num_gpu",
    ),
    columns=(RAW_JOB_ID, SUBMISSION_TIME, DURATION, NUM_GPU),
    order_by=("source_file", "submission_time", "job_id"),
    about_rows=69_351,
)

ELASTICFLOW_JOB = Table(
    name="elasticflow_job",
    comment=(
        "The same 69,351 jobs with generated training columns, as ElasticFlow simulated them, and"
        " 195 of them again (195job), as it ran them on its testbed: 69,546 rows (measured). No"
        " sentinels and no empty fields."
    ),
    grain="one row per (source_file, job_id)",
    source="README of microsoft/elasticflow-traces, Schema for elasticflow-traces",
    file_name=r"(?P<source_file>cluster\d+|195job)\.csv",
    archive_stem="elasticflow-traces",
    keys=(SOURCE_FILE,),
    partition_by=("source_file",),
    ends_in_newline=False,
    key=(
        "source_file",
        "job_id",
    ),
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
        ),
        Column(
            "model_name",
            "VARCHAR",
            "Model, drawn at random from six",
            provenance="synthetic",
            choices=("bert", "deepspeech2", "gpt2", "inception3", "resnet50", "vgg16"),
            sample=dict.fromkeys(("bert", "deepspeech2", "gpt2", "inception3", "resnet50", "vgg16"), 1),
        ),
        Column(
            "deadline",
            "BIGINT",
            "Generated deadline, on the clock of submission_time; for about half of the jobs it is"
            " before submission plus duration",
            unit="s",
            provenance="synthetic",
        ),
        Column(
            "batch_size",
            "BIGINT",
            "Generated training batch size",
            unit="samples",
            provenance="synthetic",
            least=1,
            sample={32: 1, 64: 2, 128: 2, 256: 1},
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
)
