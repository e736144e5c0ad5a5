"""openb: nodes and pods of a GPU-sharing Kubernetes cluster at Alibaba (cluster-trace-gpu-v2023).

1,523 nodes, of which 1,213 hold 6,212 GPUs; 8,152 pods in the default list, and 23 more pod lists
derived from it for scheduling experiments.

Licence: CC BY 4.0, Alibaba Group.

Files, from https://github.com/alibaba/clusterdata, folder ``cluster-trace-gpu-v2023/csv``:

- ``openb_node_list_all_node.csv``, ``openb_node_list_gpu_node.csv`` → `node`.
- ``openb_pod_list_<variant>.csv``: default, cpu*, gpushare*, gpuspec*, multigpu* → `pod`.

Pitfalls:

- Times are seconds from the first pod, over 149 days. The list is not a snapshot: ``pod_phase`` is the last
  phase of a pod.
- Each file assigns names separately: neither a node's ``sn`` nor a pod's ``name`` means the same
  thing in two files.
- The variants are derived from the default list; do not add up rows of several variants.
- ``gpu_milli`` is per GPU, so a pod's request is ``num_gpu * gpu_milli``.
- Pods do not name their nodes.
"""

from tracehouse.ingest.declarations import Column, Rule, Table, Trace

NODE = Table(
    name="node",
    comment=(
        "Nodes of the cluster, in two lists: all_node has 1,523 rows, as the publisher counts them;"
        " gpu_node has the 1,213 with GPUs (measured) under other names. model is NULL"
        " for nodes without a GPU."
    ),
    grain="one row per (node_list, sn)",
    source="README of cluster-trace-gpu-v2023, openb_node_list_all_node.csv",
    file_name=r"openb_node_list_(?P<node_list>\w+)\.csv",
    keys=(
        Column(
            "node_list",
            "VARCHAR",
            "Node list: all_node, or its subset gpu_node; use one of them, never both",
            choices=("all_node", "gpu_node"),
        ),
    ),
    partition_by=("node_list",),
    key=(
        "node_list",
        "sn",
    ),
    never_empty=(
        "sn",
        "cpu_milli",
        "memory_mib",
        "gpu",
    ),
    columns=(
        Column("sn", "VARCHAR", "Node name, assigned separately in each list"),
        Column("cpu_milli", "BIGINT", "CPU capacity", unit="milli-CPU", least=1),
        Column("memory_mib", "BIGINT", "Main memory", unit="MiB", least=1),
        Column("gpu", "BIGINT", "GPUs in the node; 0 for a CPU node", unit="GPUs", choices=(0, 1, 2, 4, 8)),
        Column(
            "model",
            "VARCHAR",
            "GPU model; G2 and G3 are undisclosed; NULL for nodes without a GPU",
            choices=("A10", "G2", "G3", "P100", "T4", "V100M16", "V100M32"),
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

POD = Table(
    name="pod",
    comment=(
        "Pods submitted to the cluster, one list per variant: default has 8,152 rows, as the"
        " publisher counts them. Empty fields are NULL: scheduled_time of pods that were never scheduled,"
        " gpu_spec of pods that accept any GPU. The multigpu variants lack gpu_spec, qos, pod_phase and"
        " the times."
    ),
    grain="one row per (variant, name)",
    source="README of cluster-trace-gpu-v2023, openb_pod_list_default.csv",
    file_name=r"openb_pod_list_(?P<variant>\w+)\.csv",
    keys=(
        Column(
            "variant",
            "VARCHAR",
            "Pod list, from the file's name; only default is the recorded trace",
            pattern="default|(cpu|gpushare|gpuspec|multigpu).*",
        ),
    ),
    partition_by=("variant",),
    key=(
        "variant",
        "name",
    ),
    never_empty=(
        "name",
        "cpu_milli",
        "memory_mib",
        "num_gpu",
        "gpu_milli",
    ),
    columns=(
        Column("name", "VARCHAR", "Pod name, assigned separately in most variants"),
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
        ),
        Column("num_gpu", "BIGINT", "GPUs requested, 0 to 8", unit="GPUs", choices=(0, 1, 2, 4, 8)),
        Column(
            "gpu_milli",
            "BIGINT",
            "Share requested of each GPU: 1000 with several GPUs, 0 with none",
            unit="milli-GPU",
            sample={1000: 3911, 810: 1078, 700: 180, 600: 150, 470: 750, 320: 330, 200: 120, 100: 28},
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
        ),
        Column(
            "qos",
            "VARCHAR",
            "Quality of service: LS, BE, Burstable or Guaranteed",
            choices=("LS", "BE", "Burstable", "Guaranteed"),
            sample={"LS": 4647, "BE": 3398, "Burstable": 100, "Guaranteed": 7},
        ),
        Column(
            "pod_phase",
            "VARCHAR",
            "Last phase of the pod: Succeeded, Running, Pending or Failed; not a snapshot of the cluster",
            choices=("Succeeded", "Running", "Pending", "Failed"),
            sample={"Succeeded": 192, "Running": 5193, "Pending": 897, "Failed": 1870},
        ),
        Column("creation_time", "BIGINT", "Creation, counted from the first pod", unit="s", least=0),
        Column(
            "deletion_time",
            "BIGINT",
            "Deletion, counted from the first pod; never empty, even for a Running pod",
            unit="s",
        ),
        Column(
            "scheduled_time",
            "BIGINT",
            "Scheduling, counted from the first pod; NULL exactly where pod_phase is Pending",
            unit="s",
        ),
    ),
    optional=frozenset({"gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time"}),
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
            "every pod has qos, phase, creation and deletion, except in the multigpu lists",
            "variant not like 'multigpu%' and (qos is null or pod_phase is null or creation_time is null"
            " or deletion_time is null)",
            kind="coverage",
        ),
    ),
)

TRACE = Trace(
    name="openb",
    title="Alibaba cluster-trace-gpu-v2023 (openb)",
    publisher="Alibaba Group",
    homepage="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023",
    download=(
        "Fetch the CSVs of"
        " https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023/csv"
        " into one folder, under their own names."
    ),
    licence="CC BY 4.0",
    citation=(
        "Qizhen Weng, Lingyun Yang, Yinghao Yu, Wei Wang, Xiaochuan Tang, Guodong Yang, and Liping"
        " Zhang. Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation"
        " Gradient Descent. In 2023 USENIX Annual Technical Conference (USENIX ATC 23). USENIX"
        " Association, 2023. https://www.usenix.org/conference/atc23/presentation/weng"
    ),
    tables=(NODE, POD),
)
