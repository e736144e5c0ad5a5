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

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, Names
from tracehouse.ingest.declare.trace import Column, Reference, Rule, Table, Trace

CLOCK = Clock(
    "zeus.alibaba",
    epoch=(
        "that of PAI: 1970-01-01T00:00:00Z; the publisher subtracted an unpublished constant from all times"
    ),
    zone="Asia/Shanghai",
    local_offset_s=28800,
    true_parts="hour of the day, weekday, order, differences",
    fake_parts="day of the month, month, year",
    documented_in=(
        "publisher: README of the Zeus traces, Alibaba group trace, and README of"
        " cluster-trace-gpu-v2020, Note of time"
    ),
)

GPU_IN_FILE_NAME = Caveat(
    "zeus.gpu_in_file_name",
    "background",
    summary="The GPU of a power file is only in its name.",
    what_goes_wrong=(
        "The GPU of a power file is only in the file's name. If you combine the files without it,"
        " rows of four GPUs look like repetitions."
    ),
    what_to_do="Keep the file's name as a column.",
    documented_in="publisher: README, Power trace",
)

TARGET_NEVER_REACHED = Caveat(
    "zeus.target_never_reached",
    "wrong result",
    summary="849 of 3,759 runs never reached their target: means without them favour successful runs.",
    what_goes_wrong=(
        "849 of 3,759 rows have no target_epoch: the run never reached the target. The file says"
        " nan, which some readers take as text and others as a number. Means that exclude these"
        " rows favour the successful runs."
    ),
    what_to_do=(
        "State the rule that you use; for example, keep only batch sizes at which every run"
        " reached the target."
    ),
    documented_in="measured: on summary_train.csv",
)

OPTIMIZER_CASE = Caveat(
    "zeus.optimizer_case",
    "background",
    summary="The README and the files spell optimizers differently.",
    what_goes_wrong=(
        "The README prints Adadelta for train and adadelta for power. Both files use lower case only."
    ),
    what_to_do="Join on the optimizer as published.",
    documented_in="publisher: README, both tables; measured: on the files",
)

V100_ADAM_ROWS = Caveat(
    "zeus.v100_adam_rows",
    "limited result",
    summary="V100 has power rows of adam without training runs.",
    what_goes_wrong=(
        "The V100 file also measures cifar100 with adam, at ten batch sizes that have no training"
        " run. A join without the optimizer doubles the adadelta rows."
    ),
    what_to_do="Join on (dataset, network, batch_size, optimizer).",
    documented_in="measured: on the files",
    concerns=("zeus.power.optimizer",),
)

LIBRISPEECH_LOWER_IS_BETTER = Caveat(
    "zeus.librispeech_lower_is_better",
    "wrong result",
    summary="librispeech's target is an error rate: lower is harder.",
    what_goes_wrong=(
        "The target of librispeech is a word error rate, from 35 to 65: lower is harder. For the"
        " other five data sets, higher is harder."
    ),
    what_to_do="Use the smallest target for librispeech and the largest for the others.",
    documented_in="measured: on summary_train.csv; publisher: the default target in run_single.py",
)

TARGET_SCALES_DIFFER = Caveat(
    "zeus.target_scales_differ",
    "wrong result",
    summary="Targets of different data sets are not comparable.",
    what_goes_wrong=(
        "Targets are fractions for cifar100, imagenet, movielens-1m and sentiment140, but from"
        " 82.5 to 86 for squad and from 35 to 65 for librispeech."
    ),
    what_to_do="Never compare targets across data sets.",
    documented_in="measured: on summary_train.csv",
)

LEARNING_RATE_IS_TEXT = Caveat(
    "zeus.learning_rate_is_text",
    "background",
    summary="Learning rates are text and follow from data set and batch size.",
    what_goes_wrong=(
        "Learning rates are text such as 1e-1 and 1.00e-3. They follow from data set and batch"
        " size, so they are not an independent parameter."
    ),
    what_to_do="Cast them before sorting, and do not count them as a parameter.",
    documented_in="measured: on summary_train.csv",
)

FEWER_THAN_FOUR_RUNS = Caveat(
    "zeus.fewer_than_four_runs",
    "limited result",
    summary="Some configurations have fewer than the promised four runs.",
    what_goes_wrong=(
        "The README promises at least four runs per configuration. imagenet has 1 at batch sizes"
        " 512 and 1024, librispeech 2 at 2 and 256 and 3 at 512, movielens-1m 3 at 4; cifar100 at"
        " 1024, squad and sentiment140 have 10."
    ),
    what_to_do="Report the number of runs with every mean.",
    documented_in="publisher: README, Train trace; measured: on summary_train.csv",
)

CONFIGURATIONS_DIFFER = Caveat(
    "zeus.configurations_differ",
    "limited result",
    summary="Train and power cover different configurations; a join drops the others.",
    what_goes_wrong=(
        "Train and power cover different configurations: V100 has 13 in power only, 8 in train"
        " only and 55 in both; A40 7, 17 and 46; RTX6000 3, 14 and 49; P100 3, 21 and 42."
    ),
    what_to_do="Use an inner join, and report what it drops.",
    documented_in="measured: on the files",
)

DEFAULT_BATCH_IS_CAPPED = Caveat(
    "zeus.default_batch_is_capped",
    "limited result",
    summary="GPUs with little memory have no rows for large batches, such as the default.",
    what_goes_wrong=(
        "A GPU with little memory has no rows for large batches: on P100, imagenet ends at 128,"
        " squad at 24, librispeech at 72 and sentiment140 at 64. The default batch size may be"
        " missing."
    ),
    what_to_do="Limit the default to the largest batch size of the GPU, as the publisher does.",
    documented_in="publisher: run_alibaba.py, get_job_with_defaults; measured: on the files",
    concerns=("zeus.power.batch_size",),
)

LIBRISPEECH_DEFAULT_DIFFERS = Caveat(
    "zeus.librispeech_default_differs",
    "limited result",
    summary="The publisher's scripts use two default batch sizes for librispeech.",
    what_goes_wrong=(
        "The publisher's scripts start librispeech at batch size 192 (run_single.py) and 256"
        " (run_alibaba.py). Savings relative to the default depend on which one is used."
    ),
    what_to_do="State the baseline.",
    documented_in="publisher: run_single.py and run_alibaba.py",
)

POWER_ABOVE_LIMIT = Caveat(
    "zeus.power_above_limit",
    "limited result",
    summary="Average power is above the limit in 39 rows of A40 and 8 of V100.",
    what_goes_wrong=(
        "Average power is above the limit in 39 rows of A40, by up to 20.7 %, and in 8 rows of"
        " V100, by up to 2.1 %."
    ),
    what_to_do="Do not require average_power <= power_limit.",
    documented_in="measured: on the files",
)

MAX_POWER_DIFFERS = Caveat(
    "zeus.max_power_differs",
    "limited result",
    summary="The maximum power limit differs by GPU.",
    what_goes_wrong=(
        "Limits increase in steps of 25 W: A40 100 to 300, P100 125 to 250, V100 100 to 250,"
        " RTX6000 100 to 250 and 260. The maximum differs by GPU."
    ),
    what_to_do="Use max(power_limit) of each GPU.",
    documented_in="measured: on the files",
)

RAGGED_POWER_GRID = Caveat(
    "zeus.ragged_power_grid",
    "limited result",
    summary="Some configurations lack some power limits.",
    what_goes_wrong=(
        "Some configurations lack some limits: on A40 six, all of sentiment140, have five of nine,"
        " and on RTX6000 one has two."
    ),
    what_to_do="Compare configurations only at limits that they share.",
    documented_in="measured: on the files",
)

EXAMPLE_VALUES_ILLUSTRATE = Caveat(
    "zeus.example_values_illustrate",
    "background",
    summary="The README's example values are not rows of the files.",
    what_goes_wrong="The example values in the README's tables are not rows of the files.",
    what_to_do="Do not test against them.",
    documented_in="publisher: README; measured: on the files",
)

ALIBABA_GROUPS_IS_A_SCHEDULE = Caveat(
    "zeus.alibaba_groups_is_a_schedule",
    "limited result",
    summary="alibaba_group says when PAI's jobs arrived, not what they cost.",
    what_goes_wrong=(
        "The groups have no batch size, GPU or energy. They say when PAI's jobs arrived and which"
        " data set replaces each of them. Times are PAI's."
    ),
    what_to_do="Use them to replay arrivals. Take costs from train and power.",
    documented_in="publisher: README, Alibaba group trace",
)

JOIN_MULTIPLIES = Caveat(
    "zeus.join_multiplies",
    "wrong result",
    summary="Joining train and power combines each run with each limit.",
    what_goes_wrong=(
        "Train has a row per run and target, power a row per limit. A join combines each run with"
        " each limit: 23,562 rows for V100, 26,093 for A40, 24,506 for RTX6000, 15,384 for P100."
    ),
    what_to_do="Choose one target and average over runs before you join.",
    documented_in="measured: on the files",
)

POWER_MEASURED_ONCE = Caveat(
    "zeus.power_measured_once",
    "limited result",
    summary="Each power row was measured once: its spread is unknown.",
    what_goes_wrong=(
        "Each power row was measured once, because the publisher considers it deterministic. Its"
        " spread is unknown."
    ),
    what_to_do="Give no confidence interval for time per epoch or power.",
    documented_in="publisher: README, Power trace",
)

TRAIN_HAS_NO_GPU = Caveat(
    "zeus.train_has_no_gpu",
    "wrong result",
    summary="Epochs to target are assumed equal on all GPUs: all differences come from power.",
    what_goes_wrong=(
        "Train has no GPU column: epochs to the target are assumed to be the same on each GPU, so"
        " all differences between GPUs come from power."
    ),
    what_to_do="State this assumption with any time or energy to accuracy.",
    documented_in="publisher: README, Train trace",
)

NOT_JOBS = Caveat(
    "zeus.not_jobs",
    "limited result",
    summary="Rows are benchmark runs, not jobs of a cluster.",
    what_goes_wrong=(
        "Rows are benchmark runs, not jobs of a cluster: they have no submission, wait, user or status."
    ),
    what_to_do="Exclude Zeus from comparisons of jobs; only alibaba_group resembles jobs.",
    documented_in="publisher: README",
)

TARGET_DECIDES_OPTIMUM = Caveat(
    "zeus.target_decides_optimum",
    "wrong result",
    summary="The best batch size and power limit depend on the target: state it.",
    what_goes_wrong=(
        "The hardest target that every run of a configuration reaches differs from the default"
        " target of the publisher's scripts. The best batch size and power limit differ too: on"
        " V100 at eta 0.5, librispeech takes 48 at 150 W for a word error rate of 40, the default,"
        " and 32 at 150 W for 35."
    ),
    what_to_do="State the target with any optimum or saving.",
    documented_in="measured: on the files; publisher: run_single.py for the defaults",
)

DATASETS = ("cifar100", "imagenet", "librispeech", "movielens-1m", "sentiment140", "squad")
DATASET = Column(
    "dataset", "VARCHAR", "Data set trained on; with the network, the workload", choices=DATASETS
)
NETWORK = Column("network", "VARCHAR", "Network that was trained")
BATCH_SIZE = Column(
    "batch_size",
    "BIGINT",
    "Training batch size",
    unit="samples",
    above=0,
    caveats=(LIBRISPEECH_DEFAULT_DIFFERS, CONFIGURATIONS_DIFFER, JOIN_MULTIPLIES),
)
OPTIMIZER = Column(
    "optimizer",
    "VARCHAR",
    "Optimizer, in lower case in all files",
    pattern="[^A-Z]*",
    caveats=(OPTIMIZER_CASE,),
)

TRAIN = Table(
    name="train",
    tried_on="real files",
    comment=(
        "When a training run first reached each target metric: 3,759 rows (measured). target_epoch"
        " is the text nan, here NULL, in the 849 rows whose run never reached the target."
    ),
    grain="one row per (dataset, network, batch_size, optimizer, run, target_metric)",
    source="README of the Zeus traces, Train trace",
    file_name=r"summary_train\.csv",
    published_rows={"summary_train.csv": 3_759},
    key=("dataset", "network", "batch_size", "optimizer", "run", "target_metric"),
    never_empty=("dataset", "network", "batch_size", "optimizer", "learning_rate", "run", "target_metric"),
    columns=(
        DATASET,
        NETWORK,
        BATCH_SIZE,
        OPTIMIZER,
        # Text, as published: a number would lose the spelling of 1e-1 and 1.00e-3.
        Column(
            "learning_rate",
            "VARCHAR",
            "Learning rate as text, such as 1e-1",
            caveats=(LEARNING_RATE_IS_TEXT,),
        ),
        Column("run", "BIGINT", "Number of the repetition, from 1", above=0, caveats=(FEWER_THAN_FOUR_RUNS,)),
        Column(
            "target_metric",
            "DOUBLE",
            "Validation metric to reach, on the workload's own scale; for librispeech a word error"
            " rate, where lower is better",
            above=0,
            caveats=(LIBRISPEECH_LOWER_IS_BETTER, TARGET_SCALES_DIFFER, TARGET_DECIDES_OPTIMUM),
        ),
        Column(
            "target_epoch",
            "BIGINT",
            "Epoch in which the run reached the target; NULL if it never did",
            unit="epochs",
            null_texts=("nan",),
            above=0,
            caveats=(TARGET_NEVER_REACHED, TRAIN_HAS_NO_GPU),
        ),
    ),
    order_by=("dataset", "network", "batch_size", "optimizer", "run", "target_metric"),
    caveats=(EXAMPLE_VALUES_ILLUSTRATE, NOT_JOBS),
)

POWER = Table(
    name="power",
    tried_on="real files",
    published_sha256={
        "summary_power_p100.csv": "158e9a6784b6e2d26710529b132cf173b227dc8688f4931c19a637bce2b7503b",
        "summary_power_rtx6000.csv": "edccecc7f8b7a6102962b03f0f37767dd9cd2f03469ebccadc9805e82901bdc4",
    },
    comment=(
        "Duration and mean power of one epoch on one GPU under a power limit, each measured once:"
        " 453 rows for a40, 270 for p100, 410 for rtx6000 and 476 for v100 (measured). No sentinels"
        " and no empty fields."
    ),
    grain="one row per (gpu, dataset, network, batch_size, optimizer, power_limit)",
    source="README of the Zeus traces, Power trace",
    file_name=r"summary_power_(?P<gpu>\w+)\.csv",
    published_rows={
        "summary_power_a40.csv": 453,
        "summary_power_p100.csv": 270,
        "summary_power_rtx6000.csv": 410,
        "summary_power_v100.csv": 476,
    },
    keys=(
        Column(
            "gpu",
            "VARCHAR",
            "GPU model, from the file's name: a40, p100, rtx6000 or v100",
            choices=("a40", "p100", "rtx6000", "v100"),
            caveats=(GPU_IN_FILE_NAME,),
        ),
    ),
    partition_by=("gpu",),
    key=("gpu", "dataset", "network", "batch_size", "optimizer", "power_limit"),
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
            caveats=(POWER_ABOVE_LIMIT, MAX_POWER_DIFFERS, RAGGED_POWER_GRID),
        ),
        Column(
            "time_per_epoch",
            "DOUBLE",
            "Duration of one epoch",
            unit="s",
            is_duration=True,
            above=0,
            caveats=(POWER_MEASURED_ONCE,),
        ),
        Column(
            "average_power",
            "DOUBLE",
            "Mean power drawn by the GPU; may exceed power_limit",
            unit="W",
            above=0,
            caveats=(POWER_ABOVE_LIMIT, POWER_MEASURED_ONCE),
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
    caveats=(EXAMPLE_VALUES_ILLUSTRATE, NOT_JOBS),
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
    caveats=(ALIBABA_GROUPS_IS_A_SCHEDULE,),
)

CAVEATS = (V100_ADAM_ROWS, DEFAULT_BATCH_IS_CAPPED)

METRICS = (
    MetricSupport(
        "submission",
        "impossible",
        (
            "Trainings are benchmarks and are not submitted; the times in alibaba_group are those"
            " of PAI's jobs, for a replay."
        ),
    ),
    MetricSupport(
        "wait",
        "impossible",
        (
            "Trainings are benchmarks and are not scheduled; start_time in alibaba_group is that"
            " of a PAI job, for a replay."
        ),
    ),
    MetricSupport(
        "run",
        "approximate",
        "Training time to the target: epochs from one file times seconds per epoch from another.",
    ),
    MetricSupport("power", "exact", "Mean over an epoch, for each batch size and power limit."),
    MetricSupport(
        "energy",
        "approximate",
        (
            "Time to accuracy times mean power, as the publisher computes it; no complete training"
            " was measured."
        ),
    ),
    MetricSupport(
        "final state", "approximate", "The closest available state is whether a run reached its target."
    ),
    MetricSupport(
        "group or recurrence",
        "approximate",
        (
            "Trainings have no group; alibaba_group has some of PAI's groups, mapped to data sets"
            " for a replay."
        ),
    ),
    MetricSupport("workload", "exact", "Data set, network and optimizer of each training."),
    MetricSupport(
        "time to accuracy",
        "approximate",
        (
            "Mean epochs to the target over the runs, times seconds per epoch, as the publisher"
            " computes it; no complete training was measured."
        ),
    ),
    MetricSupport(
        "calendar date",
        "impossible",
        "The trainings have no date; start_time in alibaba_group is that of a PAI job.",
    ),
)

FILES_AT = "https://github.com/ml-energy/zeus/raw/master/examples/research_reproducibility/zeus_nsdi23/trace"
BACKUP_AT = "https://github.com/SymbioticLab/Zeus/raw/v0.3.0/trace"
FILES = (
    PublishedFile(
        "summary_train.csv",
        f"{FILES_AT}/summary_train.csv",
        backup=f"{BACKUP_AT}/summary_train.csv",
        bytes=186_977,
    ),
    PublishedFile(
        "summary_power_a40.csv",
        f"{FILES_AT}/summary_power_a40.csv",
        backup=f"{BACKUP_AT}/summary_power_a40.csv",
        bytes=29_641,
    ),
    PublishedFile(
        "summary_power_p100.csv",
        f"{FILES_AT}/summary_power_p100.csv",
        backup=f"{BACKUP_AT}/summary_power_p100.csv",
        bytes=18_163,
    ),
    PublishedFile(
        "summary_power_rtx6000.csv",
        f"{FILES_AT}/summary_power_rtx6000.csv",
        backup=f"{BACKUP_AT}/summary_power_rtx6000.csv",
        bytes=27_704,
    ),
    PublishedFile(
        "summary_power_v100.csv",
        f"{FILES_AT}/summary_power_v100.csv",
        backup=f"{BACKUP_AT}/summary_power_v100.csv",
        bytes=32_534,
    ),
    PublishedFile("alibaba_groups.csv.xz", f"{FILES_AT}/alibaba_groups.csv.xz"),
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
    clock=CLOCK,
    caveats=CAVEATS,
    metrics=METRICS,
    files=FILES,
)
