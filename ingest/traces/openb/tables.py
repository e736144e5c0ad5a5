"""The tables of openb."""

from tracehouse.ingest.declare.trace import Column, Rule, Table
from tracehouse.ingest.traces.openb.metadata import (
    CLASSES_TIE_AT_THE_CUT,
    COUNT_GPU_PODS,
    CPU0_IN_ONE_COPY,
    CPU_CLASSES_FRAGMENT,
    DELETION_NEVER_EMPTY,
    FIRST_POD_CLOCK,
    GPU_MILLI_IS_PER_GPU,
    GPU_MODELS_UNDISCLOSED,
    GPU_SPEC_IS_ANY_OF,
    GPU_SPEC_ONLY_IN_GPUSPEC,
    MULTIGPU_DEMAND_EXCEEDS_CAPACITY,
    MULTIGPU_FIVE_COLUMNS,
    NO_PLACEMENT,
    NO_USER,
    NODE_LISTS_OVERLAP,
    NODE_SN_DIFFERS_BY_LIST,
    NOMEM_LISTS,
    NOT_A_SNAPSHOT,
    PENDING_HAS_NO_SCHEDULE,
    PENDING_IS_WITHDRAWN,
    POD_NAME_DIFFERS_BY_VARIANT,
    POD_PHRASE_SPELLING,
    PODS_ARE_NOT_ALL_LOAD,
    PUBLISHED,
    RUNNING_OUTCOME_UNKNOWN,
    SECOND_POD_CLOCK,
    TIME_ORIGIN_SHIFTED,
    TIMES_FROM_FIRST_POD,
    VARIANT_SUFFIXES_DIFFER,
    VARIANTS_ARE_RESAMPLED,
    VARIANTS_NOT_IN_TIME_ORDER,
    ZERO_MEMORY_POD,
)

NODE = Table(
    name="node",
    tried_on="real files",
    published_sha256={
        name: sha256 for name, (_, sha256) in PUBLISHED.items() if name.startswith("openb_node_list")
    },
    comment=(
        "Nodes of the cluster, in two lists: all_node has 1,523 rows, as the publisher counts them;"
        " gpu_node has the 1,213 with GPUs (measured) under other names. model is NULL"
        " for nodes without a GPU."
    ),
    grain="one row per (node_list, sn)",
    source="README of cluster-trace-gpu-v2023, openb_node_list_all_node.csv",
    file_name=r"openb_node_list_(?P<node_list>\w+)\.csv",
    published_rows={"openb_node_list_all_node.csv": 1_523, "openb_node_list_gpu_node.csv": 1_213},
    keys=(
        Column(
            "node_list",
            "VARCHAR",
            "Node list: all_node, or its subset gpu_node; use one of them, never both",
            choices=("all_node", "gpu_node"),
            caveats=(NODE_SN_DIFFERS_BY_LIST, NODE_LISTS_OVERLAP),
        ),
    ),
    partition_by=("node_list",),
    key=("node_list", "sn"),
    never_empty=("sn", "cpu_milli", "memory_mib", "gpu"),
    columns=(
        Column(
            "sn", "VARCHAR", "Node name, assigned separately in each list", caveats=(NODE_SN_DIFFERS_BY_LIST,)
        ),
        Column("cpu_milli", "BIGINT", "CPU capacity", unit="milli-CPU", least=1),
        Column("memory_mib", "BIGINT", "Main memory", unit="MiB", least=1),
        Column(
            "gpu",
            "BIGINT",
            "GPUs in the node; 0 for a CPU node",
            unit="GPUs",
            choices=(0, 1, 2, 4, 8),
            caveats=(CPU_CLASSES_FRAGMENT, NO_PLACEMENT, PODS_ARE_NOT_ALL_LOAD),
        ),
        Column(
            "model",
            "VARCHAR",
            "GPU model; G2 and G3 are undisclosed; NULL for nodes without a GPU",
            choices=("A10", "G2", "G3", "P100", "T4", "V100M16", "V100M32"),
            caveats=(GPU_MODELS_UNDISCLOSED,),
        ),
    ),
    order_by=("node_list", "sn"),
    rules=(
        Rule("gpu_node_has_gpus", "every node of gpu_node has a GPU", "node_list = 'gpu_node' and gpu <= 0"),
        Rule(
            "model_where_gpu",
            "nodes without a GPU have no model, and all others have one",
            "(gpu = 0) <> (model is null)",
        ),
    ),
)

# Pods in each list. The lists of shared and of restricted GPUs have those of default.
PODS = {
    **{"default": 8_152, "cpu0": 7_064, "cpu037": 7_336, "cpu050": 7_439, "cpu072": 7_608, "cpu100": 7_853},
    **{"cpu200": 8_832, "cpu235": 9_240, "cpu250": 9_420, "cpu300": 10_094},
    **{f"gpushare{share}": 8_152 for share in (20, 40, 60, 80, 100)},
    **{f"gpuspec{share}": 8_152 for share in ("05", "10", "20", "25", "33")},
    **{"multigpu20": 8_324, "multigpu30": 8_508, "multigpu40": 8_746, "multigpu50": 9_061},
}

POD = Table(
    name="pod",
    tried_on="real files",
    published_sha256={
        name: sha256 for name, (_, sha256) in PUBLISHED.items() if name.startswith("openb_pod_list")
    },
    comment=(
        "Pods submitted to the cluster, one list per variant: default has 8,152 rows, as the"
        " publisher counts them. Empty fields are NULL: scheduled_time of pods that were never scheduled,"
        " gpu_spec of pods that accept any GPU. The multigpu variants lack gpu_spec, qos, pod_phase and"
        " the times, and the nomem variants memory_mib."
    ),
    grain="one row per (variant, name)",
    source="README of cluster-trace-gpu-v2023, openb_pod_list_default.csv",
    file_name=r"openb_pod_list_(?P<variant>\w+)\.csv",
    published_rows={f"openb_pod_list_{variant}.csv": rows for variant, rows in PODS.items()},
    keys=(
        Column(
            "variant",
            "VARCHAR",
            "Pod list, from the file's name; only default is the recorded trace",
            pattern="default|(cpu|gpushare|gpuspec|multigpu|nomem).*",
            caveats=(
                VARIANTS_ARE_RESAMPLED,
                VARIANT_SUFFIXES_DIFFER,
                MULTIGPU_DEMAND_EXCEEDS_CAPACITY,
                CPU0_IN_ONE_COPY,
            ),
        ),
    ),
    partition_by=("variant",),
    key=("variant", "name"),
    never_empty=("name", "cpu_milli", "num_gpu", "gpu_milli"),
    columns=(
        Column(
            "name",
            "VARCHAR",
            "Pod name, assigned separately in most variants",
            caveats=(POD_NAME_DIFFERS_BY_VARIANT, NO_PLACEMENT),
        ),
        Column(
            "cpu_milli",
            "BIGINT",
            "CPU requested",
            unit="milli-CPU",
            least=1,
            sample={3_000: 1, 4_000: 1, 6_000: 1, 8_000: 1, 10_000: 1, 12_000: 1},
        ),
        Column(
            "memory_mib",
            "BIGINT",
            "Main memory requested; 0 for one pod of default",
            unit="MiB",
            # MiB for each thousandth of a CPU.
            sample={2: 1, 4: 1},
            caveats=(ZERO_MEMORY_POD, NOMEM_LISTS),
        ),
        Column(
            "num_gpu",
            "BIGINT",
            "GPUs requested, 0 to 8",
            unit="GPUs",
            choices=(0, 1, 2, 4, 8),
            caveats=(COUNT_GPU_PODS, GPU_MILLI_IS_PER_GPU),
        ),
        Column(
            "gpu_milli",
            "BIGINT",
            "Share requested of each GPU's memory, and at least of its computing time: 1000 with several"
            " GPUs, 0 with none",
            unit="milli-GPU",
            sample={1000: 3911, 810: 1078, 700: 180, 600: 150, 470: 750, 320: 330, 200: 120, 100: 28},
            caveats=(COUNT_GPU_PODS, GPU_MILLI_IS_PER_GPU),
        ),
        Column(
            "gpu_spec",
            "VARCHAR",
            "Acceptable GPU models, joined by |; the publisher added it in the gpuspec variants only",
            provenance="derived",
            sample={
                "T4": 1291,
                "G2": 331,
                "P100": 279,
                "V100M16|V100M32": 141,
                "P100|V100M16|V100M32": 100,
                "G3": 85,
                "G2|P100|T4": 40,
                "V100M16|V100M32|V100M32": 22,
                "A10|T4": 8,
            },
            caveats=(
                MULTIGPU_FIVE_COLUMNS,
                GPU_SPEC_IS_ANY_OF,
                GPU_SPEC_ONLY_IN_GPUSPEC,
                CLASSES_TIE_AT_THE_CUT,
            ),
        ),
        Column(
            "qos",
            "VARCHAR",
            "Quality of service: LS, BE, Burstable or Guaranteed",
            choices=("LS", "BE", "Burstable", "Guaranteed"),
            sample={"LS": 4647, "BE": 3398, "Burstable": 100, "Guaranteed": 7},
            caveats=(MULTIGPU_FIVE_COLUMNS, NO_USER),
        ),
        Column(
            "pod_phase",
            "VARCHAR",
            "Last phase of the pod: Succeeded, Running, Pending or Failed; not a snapshot of the cluster",
            choices=("Succeeded", "Running", "Pending", "Failed"),
            sample={"Succeeded": 192, "Running": 5193, "Pending": 897, "Failed": 1870},
            caveats=(
                NOT_A_SNAPSHOT,
                PENDING_HAS_NO_SCHEDULE,
                PENDING_IS_WITHDRAWN,
                DELETION_NEVER_EMPTY,
                RUNNING_OUTCOME_UNKNOWN,
                COUNT_GPU_PODS,
                MULTIGPU_FIVE_COLUMNS,
                POD_PHRASE_SPELLING,
            ),
        ),
        Column(
            "creation_time",
            "BIGINT",
            "Creation, counted from the first pod",
            unit="s",
            least=0,
            clocks=(FIRST_POD_CLOCK, SECOND_POD_CLOCK),
            caveats=(
                TIMES_FROM_FIRST_POD,
                TIME_ORIGIN_SHIFTED,
                MULTIGPU_FIVE_COLUMNS,
                VARIANTS_NOT_IN_TIME_ORDER,
            ),
        ),
        Column(
            "deletion_time",
            "BIGINT",
            "Deletion, counted from the first pod; never empty, even for a Running pod",
            unit="s",
            clocks=(FIRST_POD_CLOCK, SECOND_POD_CLOCK),
            caveats=(
                TIMES_FROM_FIRST_POD,
                TIME_ORIGIN_SHIFTED,
                PENDING_IS_WITHDRAWN,
                DELETION_NEVER_EMPTY,
                MULTIGPU_FIVE_COLUMNS,
            ),
        ),
        Column(
            "scheduled_time",
            "BIGINT",
            "Scheduling, counted from the first pod; NULL exactly where pod_phase is Pending",
            unit="s",
            clocks=(FIRST_POD_CLOCK, SECOND_POD_CLOCK),
            caveats=(
                TIMES_FROM_FIRST_POD,
                TIME_ORIGIN_SHIFTED,
                PENDING_HAS_NO_SCHEDULE,
                MULTIGPU_FIVE_COLUMNS,
            ),
        ),
    ),
    optional=frozenset(
        {
            "memory_mib",
            "gpu_spec",
            "qos",
            "pod_phase",
            "creation_time",
            "deletion_time",
            "scheduled_time",
        }
    ),
    about_rows=8_152,
    order_by=("variant", "creation_time", "name"),
    rules=(
        Rule("memory_mib", "a pod requests memory", "memory_mib <= 0", caveat="openb.zero_memory_pod"),
        Rule("gpu_milli_of_none", "gpu_milli is 0 where num_gpu is 0", "num_gpu = 0 and gpu_milli <> 0"),
        Rule(
            "gpu_milli_of_one",
            "gpu_milli is from 1 to 1000 where num_gpu is 1",
            "num_gpu = 1 and gpu_milli not between 1 and 1000",
        ),
        Rule(
            "gpu_milli_of_several",
            "gpu_milli is 1000 where num_gpu is above 1",
            "num_gpu > 1 and gpu_milli <> 1000",
        ),
        Rule(
            "gpu_spec_variants",
            "gpu_spec is empty outside the gpuspec lists",
            "gpu_spec is not null and variant not like 'gpuspec%'",
        ),
        Rule(
            "gpu_spec_needs_gpu",
            "gpu_spec is empty for pods that request no GPU",
            "gpu_spec is not null and num_gpu = 0",
        ),
        Rule(
            "scheduled_after_creation",
            "no pod is scheduled before it is created",
            "scheduled_time < creation_time",
        ),
        Rule(
            "deletion_after_scheduled",
            "no pod is deleted before it is scheduled",
            "deletion_time < scheduled_time",
        ),
        Rule(
            "deletion_after_creation",
            "no pod is deleted before it is created",
            "deletion_time < creation_time",
        ),
        Rule(
            "scheduled_unless_pending",
            "Pending pods have no scheduled_time and all others have one, in lists with phases",
            "(pod_phase = 'Pending') <> (scheduled_time is null)",
        ),
        Rule(
            "recorded",
            "every pod has qos, phase, creation and deletion, except in the multigpu lists,"
            " and memory, except in the nomem lists",
            "(variant not like 'multigpu%' and (qos is null or pod_phase is null or creation_time is null"
            " or deletion_time is null)) or (variant not like 'nomem%' and memory_mib is null)",
            kind="coverage",
        ),
    ),
)
