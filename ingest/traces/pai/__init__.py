"""PAI: jobs, tasks, instances and their resource use in Alibaba's PAI clusters (gpu-v2020).

About two months of 2020, over 6,500 GPUs on about 1,800 machines. A job has tasks, a task has
instances, an instance runs as a worker on a machine.

Licence: CC BY 4.0, Alibaba Group.

Files, described in https://github.com/alibaba/clusterdata, folder ``cluster-trace-gpu-v2020``: seven
archives of one CSV each, without a header, and for each a ``.header`` file with the column names:

- ``pai_job_table``, ``pai_task_table``, ``pai_instance_table``, ``pai_sensor_table``,
  ``pai_group_tag_table``, ``pai_machine_spec``, ``pai_machine_metric`` + ``.tar.gz``, ``.header``.

The archives are in Alibaba's object storage and in the repository
``qzweng/clusterdata-cluster-trace-gpu-v2020-data``, which splits the large ones into
``.partaa``, ``.partab`` and so on. The README prints checksums of archives, CSVs and headers.

Pitfalls:

- Times are seconds on a shifted clock. In the time zone Asia/Shanghai, hour and weekday are right, but the
  date is not.
- A time of 0 means that the event did not happen, like an empty time.
- Requests and use are in percent of one core or one GPU, per instance. Capacities are in whole cores and
GPUs.
- ``worker_name`` repeats in the instance table where a worker ran two instances, one after the other.
- Nine in ten failed jobs have no end: a filter on end_time removes failures. Failed instances have a start or
  an end, never both, and Interrupted ones only an end: their run time is unknown.
- ``inst_id`` identifies the job, not an instance.
"""

from tracehouse.ingest.declare.trace import Trace
from tracehouse.ingest.traces.pai.metadata import CAVEATS, CLOCK, FILES, METRICS
from tracehouse.ingest.traces.pai.tables import (
    GROUP_TAG,
    INSTANCE,
    JOB,
    MACHINE_METRIC,
    MACHINE_SPEC,
    SENSOR,
    TASK,
)

TRACE = Trace(
    name="pai",
    title="Alibaba cluster-trace-gpu-v2020 (PAI)",
    publisher="Alibaba Group",
    homepage="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2020",
    download=(
        "Fetch https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/<stem>.tar.gz for"
        " the stems pai_job_table, pai_task_table, pai_instance_table, pai_sensor_table,"
        " pai_group_tag_table, pai_machine_spec and pai_machine_metric into one folder, and leave"
        " them packed; the parts of https://github.com/qzweng/"
        "clusterdata-cluster-trace-gpu-v2020-data can be used as well and need not be joined."
    ),
    licence="CC BY 4.0",
    citation=(
        "Qizhen Weng, Wencong Xiao, Yinghao Yu, Wei Wang, Cheng Wang, Jian He, Yong Li, Liping"
        " Zhang, Wei Lin, and Yu Ding. MLaaS in the Wild: Workload Analysis and Scheduling in"
        " Large-Scale Heterogeneous GPU Clusters. In 19th USENIX Symposium on Networked Systems"
        " Design and Implementation (NSDI 22). USENIX Association, 2022."
        " https://www.usenix.org/conference/nsdi22/presentation/weng"
    ),
    tables=(JOB, TASK, INSTANCE, SENSOR, GROUP_TAG, MACHINE_SPEC, MACHINE_METRIC),
    clock=CLOCK,
    caveats=CAVEATS,
    metrics=METRICS,
    files=FILES,
)
