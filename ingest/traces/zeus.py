"""Zeus: epochs to a target and power draw of six training workloads, by batch size and power limit.

The traces behind the simulations of the NSDI '23 paper: how many epochs a training run took
(`train`), how long an epoch takes and what power it draws on one of four GPUs (`power`), and a replay
schedule made from Alibaba's PAI trace (`alibaba_group`).

Licence: Apache-2.0, the Zeus authors.

Files, from https://github.com/ml-energy/zeus, folder
``examples/research_reproducibility/zeus_nsdi23/trace``:

- ``summary_train.csv`` → `train`.
- ``summary_power_<gpu>.csv`` for a40, p100, rtx6000, v100 → `power`.
- ``alibaba_groups.csv.xz`` → `alibaba_group`.

Pitfalls:

- Only the names of the power files identify the GPU.
- ``target_epoch`` is the text ``nan`` if a run never reached the target.
- The target of librispeech is a word error rate, where lower is better. For all other data sets, higher is
  better.
- Train and power join on (dataset, network, batch_size, optimizer). Each file has configurations that the
  other lacks, and a join combines each run with each power limit.
- The highest power limit differs by GPU, and average power may exceed the limit.
"""

from tracehouse.ingest.declarations import Column, Reference, Rule, Table, Trace
from tracehouse.ingest.sample_distributions import Arrivals, LogNormal, Names

DATASETS = ("cifar100", "imagenet", "librispeech", "movielens-1m", "sentiment140", "squad")
DATASET = Column(
    "dataset",
    "VARCHAR",
    "Data set trained on; with the network, the workload",
    choices=DATASETS,
)
NETWORK = Column("network", "VARCHAR", "Network that was trained")
BATCH_SIZE = Column("batch_size", "BIGINT", "Training batch size", unit="samples", above=0)
OPTIMIZER = Column("optimizer", "VARCHAR", "Optimizer, in lower case in all files", pattern="[^A-Z]*")

TRAIN = Table(
    name="train",
    comment=(
        "When a training run first reached each target metric: 3,759 rows (measured). target_epoch"
        " is the text nan, here NULL, in the 849 rows whose run never reached the target."
    ),
    grain="one row per (dataset, network, batch_size, optimizer, run, target_metric)",
    source="README of the Zeus traces, Train trace",
    file_name=r"summary_train\.csv",
    key=(
        "dataset",
        "network",
        "batch_size",
        "optimizer",
        "run",
        "target_metric",
    ),
    never_empty=(
        "dataset",
        "network",
        "batch_size",
        "optimizer",
        "learning_rate",
        "run",
        "target_metric",
    ),
    columns=(
        DATASET,
        NETWORK,
        BATCH_SIZE,
        OPTIMIZER,
        # Text, as published: a number would lose the spelling of 1e-1 and 1.00e-3.
        Column("learning_rate", "VARCHAR", "Learning rate as text, such as 1e-1"),
        Column("run", "BIGINT", "Number of the repetition, from 1", above=0),
        Column(
            "target_metric",
            "DOUBLE",
            "Validation metric to reach, on the workload's own scale; for librispeech a word error"
            " rate, where lower is better",
            above=0,
        ),
        Column(
            "target_epoch",
            "BIGINT",
            "Epoch in which the run reached the target; NULL if it never did",
            unit="epochs",
            null_texts=("nan",),
            above=0,
        ),
    ),
    order_by=("dataset", "network", "batch_size", "optimizer", "run", "target_metric"),
)

POWER = Table(
    name="power",
    comment=(
        "Duration and mean power of one epoch on one GPU under a power limit, each measured once:"
        " 453 rows for a40, 270 for p100, 410 for rtx6000 and 476 for v100 (measured). No sentinels"
        " and no empty fields."
    ),
    grain="one row per (gpu, dataset, network, batch_size, optimizer, power_limit)",
    source="README of the Zeus traces, Power trace",
    file_name=r"summary_power_(?P<gpu>\w+)\.csv",
    keys=(
        Column(
            "gpu",
            "VARCHAR",
            "GPU model, from the file's name: a40, p100, rtx6000 or v100",
            choices=("a40", "p100", "rtx6000", "v100"),
        ),
    ),
    partition_by=("gpu",),
    key=(
        "gpu",
        "dataset",
        "network",
        "batch_size",
        "optimizer",
        "power_limit",
    ),
    never_empty=(
        "dataset",
        "network",
        "batch_size",
        "optimizer",
        "power_limit",
        "time_per_epoch",
        "average_power",
    ),
    columns=(
        DATASET,
        NETWORK,
        BATCH_SIZE,
        OPTIMIZER,
        Column(
            "power_limit",
            "BIGINT",
            "Power limit set on the GPU; the highest differs by GPU",
            unit="W",
        ),
        Column("time_per_epoch", "DOUBLE", "Duration of one epoch", unit="s", is_duration=True, above=0),
        Column(
            "average_power",
            "DOUBLE",
            "Mean power drawn by the GPU; may exceed power_limit",
            unit="W",
            above=0,
        ),
    ),
    order_by=("gpu", "dataset", "network", "batch_size", "optimizer", "power_limit"),
    rules=(
        Rule(
            "power_limit",
            "power_limit is a multiple of 25 W from 100 to 300, or 260 on rtx6000",
            "(power_limit not between 100 and 300 or power_limit % 25 <> 0)"
            " and not (gpu = 'rtx6000' and power_limit = 260)",
        ),
        Rule(
            "above_limit",
            "average_power is at most power_limit",
            "average_power > power_limit",
            caveat="zeus.power_above_limit",
        ),
    ),
    references=(
        Reference(("dataset", "network"), "train", name="workload"),
        Reference(
            ("dataset", "network", "batch_size", "optimizer"),
            "train",
            name="trained",
            caveat="zeus.configurations_differ",
        ),
    ),
)

ALIBABA_GROUP = Table(
    name="alibaba_group",
    comment=(
        "Recurring jobs of Alibaba's PAI trace, each mapped to one of the six data sets: a schedule"
        " for a replay, not a result. No sentinels are documented."
    ),
    grain="one row per job of a recurring group; no key is documented",
    source="README of the Zeus traces, Alibaba group trace",
    file_name=r"alibaba_groups\.csv",
    columns=(
        Column(
            "group",
            "VARCHAR",
            "Group of the job, as in PAI's pai_group_tag_table",
            sample=Names("group", 32, count=400),
        ),
        # Floats, as published, with the same type as in the PAI tables.
        Column(
            "start_time",
            "DOUBLE",
            "Start of the job, on PAI's shifted clock",
            unit="s",
            above=0,
            sample=Arrivals(494_319, 6_455_919, 8),
        ),
        Column("end_time", "DOUBLE", "End of the job, on PAI's shifted clock", unit="s"),
        Column(
            "dataset",
            "VARCHAR",
            "Data set that the publisher mapped the job to",
            provenance="derived",
            sample=dict.fromkeys(DATASETS, 1),
        ),
        Column(
            "runtime_ratio",
            "DOUBLE",
            "The job's runtime over the mean runtime of all jobs mapped to its data set",
            unit="ratio",
            provenance="derived",
            least=0,
            sample=LogNormal(0.9, 0.35),
        ),
    ),
    order_by=("group", "start_time"),
    rules=(Rule("end_after_start", "no job ends before it starts", "end_time < start_time"),),
    references=(Reference(("dataset",), "train"),),
    about_rows=20_000,
)

TRACE = Trace(
    name="zeus",
    title="Zeus training and power traces (NSDI '23)",
    publisher="The Zeus authors (ML.ENERGY, University of Michigan)",
    homepage=(
        "https://github.com/ml-energy/zeus/tree/master/examples/research_reproducibility/zeus_nsdi23/trace"
    ),
    download=(
        "Fetch summary_train.csv, summary_power_a40.csv, summary_power_p100.csv,"
        " summary_power_rtx6000.csv, summary_power_v100.csv and alibaba_groups.csv.xz of"
        " https://github.com/ml-energy/zeus/tree/master/examples/research_reproducibility/"
        "zeus_nsdi23/trace into one folder."
    ),
    licence="Apache-2.0",
    citation=(
        "Jie You, Jae-Won Chung, and Mosharaf Chowdhury. Zeus: Understanding and Optimizing GPU"
        " Energy Consumption of DNN Training. In 20th USENIX Symposium on Networked Systems Design"
        " and Implementation (NSDI 23), pages 119-139. USENIX Association, 2023."
        " https://www.usenix.org/conference/nsdi23/presentation/you"
    ),
    tables=(TRAIN, POWER, ALIBABA_GROUP),
)
