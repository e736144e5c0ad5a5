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

from tracehouse.ingest.declare.trace import Trace
from tracehouse.ingest.traces.openb.metadata import FILES, METRICS
from tracehouse.ingest.traces.openb.tables import NODE, POD

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
    metrics=METRICS,
    files=FILES,
)
