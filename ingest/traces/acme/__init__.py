"""Acme: jobs of two clusters for large language models, Seren and Kalos, March to August 2023.

880,740 jobs of Shanghai AI Laboratory, 470,497 of them with GPUs, and a table of the publisher that compares
the two clusters with Philly, Helios and PAI.

Licence: CC BY 4.0, Shanghai AI Laboratory.

Files, from https://github.com/InternLM/AcmeTrace, folder ``data``:

- ``job_trace/trace_seren.csv``, ``job_trace/trace_kalos.csv`` → `job_trace`.
- ``cluster_summary.csv`` → `cluster_summary`.
- ``utilization/{seren,kalos}/<METRIC>.csv``, or several files ``<METRIC>-2023-*.csv`` → `gpu_metric`,
  `node_metric`; ``utilization/ipmi/*.csv`` → `server_power`. These about 80 GB are only at
  https://huggingface.co/datasets/Qinghao/AcmeTrace.

No checksums are published.

Pitfalls:

- Seren's times have the offset +08:00 and Kalos's +00:00. They are instants; without the offsets, one cluster
  is shifted by eight hours.
- In the README's Kalos rows, ``duration`` begins at the submission, not at the start.
- The files have 213,223 fewer GPU jobs of Seren than the paper and ``cluster_summary.csv``.
- Jobs do not name their nodes: jobs and telemetry can be joined by time only.
- A metric's CSV has a column for each device. If a metric has several CSVs, they have different columns and
  overlap in time. An empty cell means that there is no sample, not 0. Columns with the suffix ``.1`` come
  from another tool.
- XID_ERRORS repeats an error code until it is cleared. The samples show a state, not events.
"""

from tracehouse.ingest.declare.trace import Trace
from tracehouse.ingest.traces.acme.metadata import CAVEATS, FILES, METRICS
from tracehouse.ingest.traces.acme.tables import (
    CLUSTER_SUMMARY,
    GPU_METRIC,
    JOB_TRACE,
    NODE_METRIC,
    SERVER_POWER,
)

TRACE = Trace(
    name="acme",
    title="Acme traces of Seren and Kalos (2023)",
    publisher="Shanghai AI Laboratory",
    homepage="https://github.com/InternLM/AcmeTrace",
    download=(
        "Fetch data/job_trace/trace_seren.csv, data/job_trace/trace_kalos.csv and"
        " data/cluster_summary.csv of https://github.com/InternLM/AcmeTrace, or of"
        " https://huggingface.co/datasets/Qinghao/AcmeTrace, into one folder; for the telemetry, of the"
        " latter the folder data/utilization, or the files in it that you need, in their folders."
    ),
    licence="CC BY 4.0",
    citation=(
        "Qinghao Hu, Zhisheng Ye, Zerui Wang, Guoteng Wang, Meng Zhang, Qiaoling Chen, Peng Sun,"
        " Dahua Lin, Xiaolin Wang, Yingwei Luo, Yonggang Wen, and Tianwei Zhang. Characterization"
        " of Large Language Model Development in the Datacenter. In 21st USENIX Symposium on"
        " Networked Systems Design and Implementation (NSDI 24). USENIX Association, 2024."
        " https://www.usenix.org/conference/nsdi24/presentation/hu"
    ),
    tables=(JOB_TRACE, CLUSTER_SUMMARY, GPU_METRIC, NODE_METRIC, SERVER_POWER),
    caveats=CAVEATS,
    metrics=METRICS,
    files=FILES,
)
