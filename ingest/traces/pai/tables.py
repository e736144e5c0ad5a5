"""The tables of PAI."""

from dataclasses import replace

from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, Names
from tracehouse.ingest.declare.trace import Column, Reference, Rule, Table
from tracehouse.ingest.traces.pai.metadata import (
    CPU_MACHINES_IN_SPEC,
    CPU_USE_OVER_REQUEST,
    FLOATS_FOR_WHOLE_NUMBERS,
    GPU_COUNTS_ARE_FRACTIONS,
    GPU_MEMORY_OVER_DEVICE,
    GPU_NAME_IS_DEVICE,
    GPU_SHARING_NEEDS_DEVICE,
    GPU_TYPE_IS_ASSIGNED,
    GPU_TYPE_NULL,
    GPU_USE_OVER_100,
    GROUP_FALLS_BACK_TO_USER,
    HEADERS_APART,
    INST_ID_IS_JOB_ID,
    JOB_MEANS_TASK_ELSEWHERE,
    LFS_POINTERS,
    MACHINE_COUNTS_ARE_ROUNDED,
    MACHINE_CPU_IS_A_SUM,
    MACHINE_MEMORY_DIFFERS,
    MACHINE_METRIC_IS_HOST_LEVEL,
    MEMORY_GB_LOOKS_BINARY,
    MISC_IS_MANY_TYPES,
    NETWORK_UNITS,
    NOTEBOOK_MEM_CURVE,
    NOTEBOOK_WEEK_STARTS_LATER,
    PERCENT_AGAINST_UNITS,
    PLAN_GPU_NULL_IS_CPU_TASK,
    PLAN_IS_PER_INSTANCE,
    SENSOR_COVERS_TWO_FIFTHS,
    SENSOR_IS_LIFETIME_AVERAGE,
    SENTINEL_ZERO_START,
    SHIFTED_CLOCK,
    SPLIT_ARCHIVES,
    STEMS_WITHOUT_TABLE,
    TASKS_WITHOUT_INSTANCES,
    TERMINATED_IS_SUCCESS,
    USE_IS_ABSOLUTE,
    WORKER_NAME_REPEATS,
    WORKLOAD_TAG_IS_RARE,
)

# The publisher writes whole numbers as floats in most files ("4550879.0", "1.0") and as integers in
# pai_machine_metric. Both have one type, so that the tables can be joined. The type is DOUBLE because BIGINT
# would reject rows with a fraction.
START_TIME = Column(
    "start_time",
    "DOUBLE",
    "Launch on the shifted clock; NULL or 0 if it did not happen",
    unit="s",
    least=0,
    sample=Arrivals(494_319, 6_455_919, 8),
    caveats=(SENTINEL_ZERO_START, SHIFTED_CLOCK, NOTEBOOK_WEEK_STARTS_LATER, FLOATS_FOR_WHOLE_NUMBERS),
)
END_TIME = Column(
    "end_time",
    "DOUBLE",
    "Completion on the shifted clock; NULL or 0 if it did not happen",
    unit="s",
    least=0,
    caveats=(SENTINEL_ZERO_START, SHIFTED_CLOCK, FLOATS_FOR_WHOLE_NUMBERS),
)
END_AFTER_START = Rule(
    "end_after_start",
    "nothing ends before it starts; a time of 0 did not happen",
    "start_time > 0 and end_time > 0 and end_time < start_time",
)
STARTED, ENDED = "(coalesce(start_time, 0) > 0)", "(coalesce(end_time, 0) > 0)"
WORKLOADS = ("graphlearn", "ctr", "bert", "nmt", "inception", "resnet", "rl", "vgg")
GPU_TYPES = ("MISC", "T4", "P100", "V100", "V100M32")


def _id_pattern(digits: int) -> str:
    """Return the pattern of an id: hexadecimal digits, or a short name as in files written by hand.

    A number, to which a spreadsheet or a reader converts an id (1.2E+23), does not match.
    """
    return rf"[0-9a-f]{{{digits}}}|[a-z]\w{{0,9}}"


JOB_NAME = Column(
    "job_name",
    "VARCHAR",
    "Name of the job, anonymised: 24 hexadecimal digits",
    pattern=_id_pattern(24),
    sample=Names("job", 24),
)
TASK_NAME = Column(
    "task_name",
    "VARCHAR",
    "Role of the task in its job, such as ps or worker",
    caveats=(TASKS_WITHOUT_INSTANCES,),
)
INST_ID = Column(
    "inst_id",
    "VARCHAR",
    "Id of the job, not of an instance; one for each job_name: 60 hexadecimal digits",
    pattern=_id_pattern(60),
    sample=Names("inst_id", 60),
    caveats=(INST_ID_IS_JOB_ID,),
)
USER = Column(
    "user",
    "VARCHAR",
    "User, anonymised: 12 hexadecimal digits",
    pattern=_id_pattern(12),
    sample=Names("user", 12, count=1_430),
)
STATUS = Column(
    "status",
    "VARCHAR",
    "Terminated, Failed, Running or Waiting; only Terminated is a success",
    choices=("Terminated", "Failed", "Running", "Waiting"),
    sample={"Terminated": 732_355, "Failed": 256_555, "Running": 62_928, "Waiting": 3_663},
    caveats=(TERMINATED_IS_SUCCESS,),
)
# Only instances are Interrupted.
INSTANCE_STATUS = replace(
    STATUS,
    comment="Terminated, Failed, Running, Waiting or Interrupted; only Terminated is a success",
    choices=(*STATUS.choices, "Interrupted"),
    sample=None,
)
MACHINE = Column(
    "machine",
    "VARCHAR",
    "Machine, anonymised: 24 hexadecimal digits",
    pattern=_id_pattern(24),
    sample=Names("machine", 24),
)
WORKER_NAME = Column(
    "worker_name",
    "VARCHAR",
    "Worker, as in the instance table: 60 hexadecimal digits",
    pattern=_id_pattern(60),
    sample=Names("worker", 60),
    caveats=(WORKER_NAME_REPEATS,),
)
IN_TASK = ("job_name", "task_name")

JOB = Table(
    name="job",
    comment=(
        "Submitted jobs: 1,055,501 rows by third-party counts. Empty fields are NULL; a start_time or"
        " end_time of 0 is kept as published and means that it did not happen."
    ),
    grain="one row per job_name",
    source="README of cluster-trace-gpu-v2020, pai_job_table",
    file_name=r"pai_job_table\.csv",
    published_rows={"pai_job_table.csv": 1_055_501},
    archive_stem="pai_job_table",
    has_header=False,
    key=("job_name",),
    never_empty=("job_name", "inst_id", "user", "status"),
    about_rows=1_055_501,
    columns=(JOB_NAME, INST_ID, USER, STATUS, START_TIME, END_TIME),
    published_sha256={
        "pai_job_table.tar.gz": "5aad7f7caac501136d14ed6a48e40546f825d7b0617a3a4f337e2348fe0a6cb0",
        "pai_job_table.csv": "379ecb3becaba347f44a53bf7eb53e54b185221b2a0338a3f828828d269ba96c",
        "pai_job_table.header": "3ac33aefab9a4d81338794fa145fe280594a379444961a9c639f00181c508567",
    },
    order_by=("job_name",),
    rules=(
        END_AFTER_START,
        Rule(
            "start_unless_waiting",
            "only Waiting jobs have no start_time",
            "start_time is null and status <> 'Waiting'",
            kind="coverage",
        ),
        Rule(
            "end_where_ended",
            "jobs that are Terminated or Failed have an end, and no others do",
            "(status in ('Terminated', 'Failed')) <> (coalesce(end_time, 0) > 0)",
            kind="coverage",
            caveat="pai.job_end_missing",
        ),
    ),
    references=(Reference(("inst_id",), "group_tag", caveat="pai.group_tag_orphans"),),
    caveats=(JOB_MEANS_TASK_ELSEWHERE, HEADERS_APART, LFS_POINTERS, SPLIT_ARCHIVES),
)

TASK = Table(
    name="task",
    comment=(
        "Tasks of the jobs and the requests of each of their instances: 1,261,050 rows by third-party"
        " counts. Empty fields are NULL; a start_time or end_time of 0 is kept as published and means"
        " that it did not happen."
    ),
    grain="one row per (job_name, task_name)",
    source="README of cluster-trace-gpu-v2020, pai_task_table",
    file_name=r"pai_task_table\.csv",
    published_rows={"pai_task_table.csv": 1_261_050},
    archive_stem="pai_task_table",
    about_rows=1_261_050,
    has_header=False,
    key=("job_name", "task_name"),
    never_empty=("job_name", "task_name", "status"),
    columns=(
        JOB_NAME,
        TASK_NAME,
        Column(
            "inst_num",
            "DOUBLE",
            "Instances that the task launched",
            unit="instances",
            sample={
                1: 87_500,
                2: 1_700,
                4: 1_450,
                10: 1_150,
                20: 1_700,
                40: 2_850,
                64: 2_650,
                100: 640,
                150: 230,
                300: 100,
                1000: 14,
            },
            caveats=(PLAN_IS_PER_INSTANCE, FLOATS_FOR_WHOLE_NUMBERS),
        ),
        STATUS,
        START_TIME,
        END_TIME,
        Column(
            "plan_cpu",
            "DOUBLE",
            "CPU requested for each instance; 600 is six cores",
            unit="percent of one core",
            least=0,
            sample={200: 10, 400: 15, 600: 50, 800: 8, 1000: 6, 1200: 8, 2400: 3},
            caveats=(PLAN_IS_PER_INSTANCE, PERCENT_AGAINST_UNITS),
        ),
        Column(
            "plan_mem",
            "DOUBLE",
            "Main memory requested for each instance",
            unit="GB",
            least=0,
            # Requested in thousands of MiB, published in GiB.
            sample={
                3.90625: 4,
                7.8125: 8,
                9.765625: 12,
                15.625: 16,
                29.296875: 45,
                48.828125: 9,
                97.65625: 2,
            },
            caveats=(PLAN_IS_PER_INSTANCE, MEMORY_GB_LOOKS_BINARY),
        ),
        Column(
            "plan_gpu",
            "DOUBLE",
            "GPU requested for each instance; 50 is half a GPU; NULL for a task without GPU",
            unit="percent of one GPU",
            least=0,
            sample={
                100: 4268,
                25: 2625,
                50: 1318,
                10: 1125,
                5: 200,
                20: 110,
                33: 60,
                75: 20,
                200: 130,
                400: 75,
                800: 70,
            },
            caveats=(
                PLAN_IS_PER_INSTANCE,
                PERCENT_AGAINST_UNITS,
                PLAN_GPU_NULL_IS_CPU_TASK,
                GPU_COUNTS_ARE_FRACTIONS,
            ),
        ),
        Column(
            "gpu_type",
            "VARCHAR",
            "Assigned type of GPU, not the requested one; MISC is older types",
            choices=GPU_TYPES,
            sample={"MISC": 696, "T4": 227, "P100": 73, "V100": 29, "V100M32": 19},
            caveats=(GPU_TYPE_IS_ASSIGNED, GPU_TYPE_NULL, MISC_IS_MANY_TYPES),
        ),
    ),
    published_sha256={
        "pai_task_table.tar.gz": "cd1d6dc3215d2a8607ccf6b6dd952b5db776df86926c73259fea7c1499ac40e5",
        "pai_task_table.csv": "6954802b457305f8a9e480ef97c40060baee59649fd3adc62c5a1e048aa058de",
        "pai_task_table.header": "978bbaabfc8695874c605c01c144b2977f611ceca73aeb72189988cdfbfb0a9c",
    },
    order_by=("job_name",),
    rules=(
        END_AFTER_START,
        Rule(
            "inst_num",
            "inst_num is a whole number of at least 1",
            "inst_num < 1 or inst_num <> floor(inst_num)",
        ),
        Rule("plan_gpu", "plan_gpu of a task without a GPU is empty, not 0", "plan_gpu = 0"),
        Rule("sized", "every task says how many instances it launches", "inst_num is null", kind="coverage"),
        Rule(
            "start_unless_waiting",
            "only Waiting tasks have no start_time",
            "start_time is null and status <> 'Waiting'",
            kind="coverage",
        ),
    ),
    references=(
        Reference(("job_name",), "job"),
        Reference(IN_TASK, "instance", caveat="pai.tasks_without_instances"),
    ),
    caveats=(JOB_MEANS_TASK_ELSEWHERE, HEADERS_APART, LFS_POINTERS),
)

INSTANCE = Table(
    name="instance",
    tried_on="part of a file",
    comment=(
        "Launches of the tasks' instances: 7,522,002 rows by third-party counts. Empty fields are NULL; a"
        " start_time or end_time of 0 is kept as published and means that it did not happen. There is"
        " no key: worker_name repeats if a worker ran two instances."
    ),
    grain="one row per launch of an instance",
    source="README of cluster-trace-gpu-v2020, pai_instance_table",
    file_name=r"pai_instance_table\.csv",
    published_rows={"pai_instance_table.csv": 7_522_002},
    archive_stem="pai_instance_table",
    about_rows=7_522_002,
    has_header=False,
    never_empty=("job_name", "task_name", "status"),
    columns=(
        JOB_NAME,
        TASK_NAME,
        Column(
            "inst_name",
            "VARCHAR",
            "Instance of the task: 60 hexadecimal digits; repeats if the instance was tried again",
            pattern=_id_pattern(60),
            sample=Names("instance", 60),
        ),
        replace(
            WORKER_NAME,
            comment=(
                "Worker that the instance ran as: 60 hexadecimal digits; joins sensor and machine_metric;"
                " repeats if the worker ran two instances; NULL while the instance waits"
            ),
        ),
        INST_ID,
        INSTANCE_STATUS,
        START_TIME,
        END_TIME,
        MACHINE,
    ),
    published_sha256={
        "pai_instance_table.tar.gz": "1bf1e423a7ce3f8d086699801c362fd56a7182abdb234139e5ebbed97995ca06",
        "pai_instance_table.csv": "b179f7d7e0927a6663d719b728c92640447c5a0fc3c6e4edff31e7207ab9dd17",
        "pai_instance_table.header": "51f2585178eaaf30ad8cc88c50ec9243b0f7d9603603ab7602efccb7aa34f6b0",
    },
    order_by=("job_name",),
    rules=(
        END_AFTER_START,
        Rule(
            "times_of_terminated",
            "a Terminated instance has a start and an end",
            f"status = 'Terminated' and not ({STARTED} and {ENDED})",
            kind="coverage",
        ),
        Rule(
            "times_of_failed",
            "a Failed instance has a start or an end, and not both",
            f"status = 'Failed' and {STARTED} = {ENDED}",
            kind="coverage",
        ),
        Rule(
            "times_of_interrupted",
            "an Interrupted instance has an end and no start",
            f"status = 'Interrupted' and ({STARTED} or not {ENDED})",
            kind="coverage",
        ),
        Rule(
            "times_of_unended",
            "a Running instance has no end, and a Waiting one neither a start nor an end",
            f"status in ('Running', 'Waiting') and ({ENDED} or status = 'Waiting' and {STARTED})",
            kind="coverage",
        ),
        Rule(
            "placed",
            "every instance names its worker and its machine, except Waiting ones, which name neither",
            "(status = 'Waiting') <> (worker_name is null) or (status = 'Waiting') <> (machine is null)",
            kind="coverage",
        ),
    ),
    references=(
        Reference(IN_TASK, "task"),
        Reference(("machine",), "machine_spec"),
        Reference(("worker_name",), "sensor", caveat="pai.sensor_covers_two_fifths"),
    ),
    caveats=(HEADERS_APART, LFS_POINTERS, SPLIT_ARCHIVES),
)

SENSOR = Table(
    name="sensor",
    comment=(
        "Resource use of each worker, averaged over its lifetime: 3,033,232 rows by third-party counts, for"
        " about two fifths of the instances. Empty fields are NULL."
    ),
    grain="one row per worker_name",
    source="README of cluster-trace-gpu-v2020, pai_sensor_table",
    file_name=r"pai_sensor_table\.csv",
    published_rows={"pai_sensor_table.csv": 3_033_232},
    archive_stem="pai_sensor_table",
    about_rows=3_033_232,
    has_header=False,
    key=("worker_name",),
    never_empty=("worker_name", "machine"),
    columns=(
        JOB_NAME,
        TASK_NAME,
        WORKER_NAME,
        INST_ID,
        MACHINE,
        Column(
            "gpu_name",
            "VARCHAR",
            "Device of the GPU on its machine, such as /dev/nvidia0; not a type",
            caveats=(GPU_SHARING_NEEDS_DEVICE, GPU_NAME_IS_DEVICE),
        ),
        Column(
            "cpu_usage",
            "DOUBLE",
            "CPU used, mean over the worker's lifetime, in the unit of plan_cpu, not a share of it",
            unit="percent of one core",
            least=0,
            caveats=(USE_IS_ABSOLUTE, CPU_USE_OVER_REQUEST, SENSOR_COVERS_TWO_FIFTHS),
        ),
        Column(
            "gpu_wrk_util",
            "DOUBLE",
            "GPU used, mean over the worker's lifetime, in the unit of plan_gpu, not a share of it; may"
            " exceed 100",
            unit="percent of one GPU",
            least=0,
            caveats=(USE_IS_ABSOLUTE, GPU_USE_OVER_100),
        ),
        Column(
            "avg_mem",
            "DOUBLE",
            "Main memory used, mean over the worker's lifetime",
            unit="GB",
            least=0,
            caveats=(SENSOR_COVERS_TWO_FIFTHS, NOTEBOOK_MEM_CURVE, MEMORY_GB_LOOKS_BINARY),
        ),
        Column(
            "max_mem",
            "DOUBLE",
            "Main memory used, maximum",
            unit="GB",
            least=0,
            caveats=(MEMORY_GB_LOOKS_BINARY,),
        ),
        Column(
            "avg_gpu_wrk_mem",
            "DOUBLE",
            "GPU memory used, mean over the worker's lifetime",
            unit="GB",
            least=0,
            sample=LogNormal(2, 0.9, most=32),
            caveats=(NOTEBOOK_MEM_CURVE,),
        ),
        Column(
            "max_gpu_wrk_mem",
            "DOUBLE",
            "GPU memory used, maximum",
            unit="GB",
            least=0,
            caveats=(GPU_MEMORY_OVER_DEVICE,),
        ),
        Column(
            "read",
            "DOUBLE",
            "Network input, mean over the worker's lifetime",
            unit="bytes",
            least=0,
            sample=LogNormal(6e6, 2.2),
            caveats=(NETWORK_UNITS,),
        ),
        Column(
            "write",
            "DOUBLE",
            "Network output, mean over the worker's lifetime",
            unit="bytes",
            least=0,
            sample=LogNormal(3e6, 2.2),
            caveats=(NETWORK_UNITS,),
        ),
        Column(
            "read_count",
            "DOUBLE",
            "Network reads, mean over the worker's lifetime",
            unit="operations",
            least=0,
            sample=LogNormal(900, 1.8),
        ),
        Column(
            "write_count",
            "DOUBLE",
            "Network writes, mean over the worker's lifetime",
            unit="operations",
            least=0,
            sample=LogNormal(800, 1.8),
        ),
    ),
    published_sha256={
        "pai_sensor_table.tar.gz": "9a0b82e8bdf3949281e4ba1423d9b4b34847e52799eecb138966de46da69c7a0",
        "pai_sensor_table.csv": "12dd9929b70f3efe18d1279d9873e3a519c64f431613b23b059ed8c46a376dd7",
        "pai_sensor_table.header": "d3e26eb31fb3b833821373b487266312151a3bfb2f18fc62017a438546cc1362",
    },
    order_by=("job_name",),
    rules=(
        Rule(
            "maxima",
            "no mean of memory is above its maximum",
            "avg_mem > max_mem or avg_gpu_wrk_mem > max_gpu_wrk_mem",
        ),
        Rule(
            "device",
            "a worker with a GPU utilisation names its device",
            "gpu_wrk_util is not null and gpu_name is null",
            kind="coverage",
        ),
        Rule(
            "used",
            "every worker has a CPU and a memory use",
            "cpu_usage is null or avg_mem is null",
            kind="coverage",
            caveat="pai.sensor_covers_two_fifths",
        ),
    ),
    references=(
        Reference(("worker_name",), "instance"),
        Reference(("machine",), "machine_spec", caveat="pai.sensor_covers_two_fifths"),
    ),
    caveats=(
        SENSOR_COVERS_TWO_FIFTHS,
        SENSOR_IS_LIFETIME_AVERAGE,
        HEADERS_APART,
        LFS_POINTERS,
        SPLIT_ARCHIVES,
    ),
)

GROUP_TAG = Table(
    name="group_tag",
    comment=(
        "Group, workload and requested GPU type of jobs: 1,055,032 rows by third-party counts. Empty"
        " fields are NULL: gpu_type_spec if the job names no type, workload if the publisher did not"
        " examine the job."
    ),
    grain="one row per inst_id",
    source="README of cluster-trace-gpu-v2020, pai_group_tag_table",
    file_name=r"pai_group_tag_table\.csv",
    published_rows={"pai_group_tag_table.csv": 1_055_032},
    archive_stem="pai_group_tag_table",
    about_rows=1_055_032,
    has_header=False,
    key=("inst_id",),
    never_empty=("inst_id",),
    columns=(
        INST_ID,
        USER,
        Column(
            "gpu_type_spec",
            "VARCHAR",
            "Requested type of GPU; NULL if any type is acceptable",
            choices=GPU_TYPES,
            caveats=(GPU_TYPE_IS_ASSIGNED,),
        ),
        Column(
            "group",
            "VARCHAR",
            "Hash shared by jobs with similar scripts, parameters and data: repetitions of one job; 32"
            " hexadecimal digits",
            provenance="derived",
            pattern=_id_pattern(32),
            sample=Names("group", 32),
            caveats=(GROUP_FALLS_BACK_TO_USER,),
        ),
        Column(
            "workload",
            "VARCHAR",
            "Kind of model, such as bert or ctr; NULL for nine rows in ten",
            provenance="derived",
            sample=dict.fromkeys(WORKLOADS, 1),
            caveats=(WORKLOAD_TAG_IS_RARE,),
        ),
    ),
    published_sha256={
        "pai_group_tag_table.tar.gz": "722fef30b7fb7aa50dabd79155614b5423a9d65cf45a9b26c590d57725423a14",
        "pai_group_tag_table.csv": "d23fcb56d88b2976fda4a62708d77b2a8c98635c4b443f100ed5553d4cd07fbe",
        "pai_group_tag_table.header": "320470fa8f77182bc6052c95ff359b75542c748e9516b3d8148a6e2bafc1798d",
    },
    order_by=("inst_id",),
    rules=(
        Rule(
            "grouped",
            "every tag has a group",
            '"group" is null',
            kind="coverage",
            caveat="pai.group_falls_back_to_user",
        ),
    ),
    references=(Reference(("inst_id",), "job", caveat="pai.group_tag_orphans"),),
    caveats=(HEADERS_APART, LFS_POINTERS, SPLIT_ARCHIVES),
)

MACHINE_SPEC = Table(
    name="machine_spec",
    tried_on="real files",
    comment=(
        "Machines of the cluster: 1,897 rows (measured), 83 of them without a GPU and with the"
        " gpu_type CPU. No empty fields."
    ),
    grain="one row per machine",
    source="README of cluster-trace-gpu-v2020, pai_machine_spec",
    file_name=r"pai_machine_spec\.csv",
    published_rows={"pai_machine_spec.csv": 1_897},
    archive_stem="pai_machine_spec",
    has_header=False,
    key=("machine",),
    never_empty=("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"),
    columns=(
        MACHINE,
        Column(
            "gpu_type",
            "VARCHAR",
            "Type of the machine's GPUs; CPU if it has none",
            choices=(*GPU_TYPES, "CPU"),
            caveats=(CPU_MACHINES_IN_SPEC, MISC_IS_MANY_TYPES),
        ),
        Column(
            "cap_cpu",
            "BIGINT",
            "CPU capacity in whole cores; plans are in percent",
            unit="cores",
            least=1,
            caveats=(PERCENT_AGAINST_UNITS,),
        ),
        Column("cap_mem", "BIGINT", "Main memory", unit="GB", least=1, caveats=(MACHINE_MEMORY_DIFFERS,)),
        Column(
            "cap_gpu",
            "BIGINT",
            "GPU capacity in whole GPUs; plans are in percent",
            unit="GPUs",
            least=0,
            caveats=(PERCENT_AGAINST_UNITS, CPU_MACHINES_IN_SPEC),
        ),
    ),
    published_sha256={
        "pai_machine_spec.tar.gz": "cc0d38a4045af1b1af8179de8b1b54b1ddd995e6160d6d061a6b1000f1276c2d",
        "pai_machine_spec.csv": "251e9e33649155a6a935fdc1dc0e90cd4698206936b60bd8fce60ff2ccd51439",
        "pai_machine_spec.header": "4c9ea25914ff3f0b73be9ff223fb91002e787138165abd3f584ba37281448e1c",
    },
    order_by=("machine",),
    rules=(
        Rule(
            "gpu_type_where_gpu",
            "gpu_type is CPU for machines without a GPU, and for no others",
            "(gpu_type = 'CPU') <> (cap_gpu = 0)",
        ),
    ),
    caveats=(MACHINE_COUNTS_ARE_ROUNDED, HEADERS_APART, STEMS_WITHOUT_TABLE),
)

MACHINE_METRIC = Table(
    name="machine_metric",
    comment=(
        "State of a worker's machine, averaged over the worker's lifetime: 2,009,423 rows by"
        " third-party counts. The figures are those of the whole machine, other workers included."
        " Empty fields are NULL."
    ),
    grain="one row per worker_name",
    source="README of cluster-trace-gpu-v2020, pai_machine_metric",
    file_name=r"pai_machine_metric\.csv",
    published_rows={"pai_machine_metric.csv": 2_009_423},
    archive_stem="pai_machine_metric",
    about_rows=2_009_423,
    has_header=False,
    key=("worker_name",),
    never_empty=("worker_name", "machine"),
    columns=(
        WORKER_NAME,
        MACHINE,
        Column(
            "start_time",
            "DOUBLE",
            "Launch of the worker, on the shifted clock",
            unit="s",
            least=0,
            caveats=(SHIFTED_CLOCK,),
        ),
        Column(
            "end_time",
            "DOUBLE",
            "Completion of the worker, on the shifted clock",
            unit="s",
            least=0,
            caveats=(SHIFTED_CLOCK,),
        ),
        Column(
            "machine_cpu_iowait",
            "DOUBLE",
            "CPU time of the machine waiting for I/O",
            unit="percent",
            least=0,
            sample=LogNormal(0.02, 1.5),
            caveats=(MACHINE_CPU_IS_A_SUM,),
        ),
        Column(
            "machine_cpu_kernel",
            "DOUBLE",
            "CPU time of the machine in the kernel",
            unit="percent",
            least=0,
            sample=LogNormal(2.5, 0.6, most=20),
            caveats=(MACHINE_CPU_IS_A_SUM,),
        ),
        Column(
            "machine_cpu_usr",
            "DOUBLE",
            "CPU time of the machine in user programs",
            unit="percent",
            least=0,
            sample=LogNormal(15, 0.8, most=75),
            caveats=(MACHINE_CPU_IS_A_SUM,),
        ),
        Column(
            "machine_gpu",
            "DOUBLE",
            "GPU utilisation of the machine; exceeds 100 on machines with several GPUs",
            unit="percent",
            least=0,
            caveats=(GPU_USE_OVER_100,),
        ),
        Column(
            "machine_load_1", "DOUBLE", "Load average over one minute", least=0, sample=LogNormal(18, 0.8)
        ),
        Column(
            "machine_net_receive",
            "DOUBLE",
            "Network input of the machine",
            unit="bytes",
            least=0,
            sample=LogNormal(5e7),
            caveats=(NETWORK_UNITS,),
        ),
        Column(
            "machine_num_worker",
            "DOUBLE",
            "Workers on the machine, a mean and therefore not a whole number; often empty",
            unit="workers",
            least=0,
            sample=LogNormal(4, 0.7),
        ),
        Column(
            "machine_cpu",
            "DOUBLE",
            "CPU utilisation of all cores of the machine together, about the sum of usr, kernel and iowait",
            unit="percent",
            least=0,
            caveats=(MACHINE_CPU_IS_A_SUM,),
        ),
    ),
    published_sha256={
        "pai_machine_metric.tar.gz": "53ad917193d3b1dd0f3055e723148b1f36c2f81789b014ea2930a7875892eef5",
        "pai_machine_metric.csv": "8b6592daab0373ef7fec730198b4df5891b1722c2ab4c7016249166e131402d3",
        "pai_machine_metric.header": "300342613103c6192490f8990958903d837053c13adbc6c094d677074fbbb7ad",
    },
    order_by=("machine",),
    rules=(
        END_AFTER_START,
        Rule(
            "machine_cpu",
            "machine_cpu is machine_cpu_usr + machine_cpu_kernel + machine_cpu_iowait, within 1 point",
            "abs(machine_cpu - (machine_cpu_usr + machine_cpu_kernel + machine_cpu_iowait)) > 1",
            kind="derived",
        ),
    ),
    references=(Reference(("machine",), "machine_spec"),),
    caveats=(
        SENSOR_IS_LIFETIME_AVERAGE,
        MACHINE_METRIC_IS_HOST_LEVEL,
        HEADERS_APART,
        STEMS_WITHOUT_TABLE,
        LFS_POINTERS,
        SPLIT_ARCHIVES,
    ),
)
