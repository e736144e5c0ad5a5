"""GenAI: Stable Diffusion serving at Alibaba, with a day of telemetry in 2025 and requests of some weeks.

Telemetry of 207 containers, one value per container and minute; 68,195 user requests, without containers.

Licence: none is stated; the programme's README allows research and study.

Files, from https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-GenAI: one archive per
table, with one CSV each. `lora_request_trace.csv` is also published unpacked, with the same bytes. The README
does not describe `data_trace_processed`. The last 26,823 rows of that table are also in `lora_request_trace`.

The README says that the telemetry's clock is shifted. The times are also multiplied by 0.95, so they are not
instants, and their type is not UNIX_S. Requests do not reserve GPUs and therefore are not jobs: there is no
view `standard_job`.
"""

import re

from tracehouse.ingest.declarations import Column, Rule, Table, Trace

README = "README of cluster-trace-v2026-GenAI"
KEY = ("timestamp_anon", "container_ip")
FIRST_TIMES = ("1662858720.0", "1662858777.0")
TIME = Column(
    "timestamp_anon", "BIGINT", "Time on a scaled clock; a minute has 57 s", "s", examples=FIRST_TIMES
)
# The README names these texts for a missing container; the files have empty fields.
CONTAINER = Column("container_ip", "VARCHAR", "Container: hash of its address", null_texts=("NULL", "None"))
REQUEST_TYPE = Column(
    "request_type",
    "VARCHAR",
    "Generative Requests, or API Requests, which have no container",
    examples=("Generative Requests", "API Requests"),
)
WHOLE_MINUTES = Rule(
    "minutes", "times are whole minutes, each 57 s on the trace's clock", "timestamp_anon % 57 <> 0"
)
HAS_CONTAINER = Rule(
    "container",
    "every value belongs to a container",
    "container_ip is null",
    kind="coverage",
    caveat="genai.rows_without_container",
)
TIME_FIRST, VALUE_FIRST, TIME_LAST = "time value container", "value time container", "value container time"


def _telemetry(
    file_stem: str,
    meaning: str,
    unit: str,
    order: str = TIME_FIRST,
    more: tuple[Column, ...] = (),
    key: tuple[str, ...] = KEY,
    examples: tuple[str, ...] = (),
    rules: tuple[Rule, ...] = (),
) -> Table:
    """Declare the table of one metric, whose file has its columns in the given order.

    Rows may lack a container unless the key is KEY.
    """
    value = Column("value", "DOUBLE", meaning, unit, is_duration=unit == "ms", examples=examples)
    columns = {"time": TIME, "value": value, "container": CONTAINER}
    return Table(
        name=re.sub("(_raw|_data)?(_anon)?$", "", file_stem),
        comment=f"{meaning}, at times on a scaled clock.",
        grain=f"one row per {', '.join(key)}" if key else "one row per sample",
        source=README,
        file_name=rf"{file_stem}\.csv",
        archive_stem=file_stem,
        columns=(*(columns[column] for column in order.split()), *more),
        key=key,
        never_empty=("timestamp_anon", "value", *(("container_ip",) if key == KEY else ())),
        order_by=KEY,
        rules=(WHOLE_MINUTES, *rules, *(() if key == KEY else (HAS_CONTAINER,))),
    )


def _requests(name: str, comment: str, source: str, order_by: str, columns: tuple[Column, ...]) -> Table:
    return Table(
        name=name,
        comment=comment,
        grain="one row per request; nothing identifies it",
        source=source,
        file_name=rf"{name}\.csv",
        archive_stem=name,
        columns=columns,
        never_empty=tuple(column.name for column in columns if column not in MAYBE_EMPTY),
        order_by=(order_by,),
    )


PREDICT_TYPE = Column(
    "predict_type",
    "VARCHAR",
    "Kind of task: TXT_2_IMG, IMG_2_IMG or INPAINTING, or a hash",
    examples=("TXT_2_IMG", "IMG_2_IMG", "INPAINTING"),
)
EXEC_TIME = Column("exec_time_seconds", "DOUBLE", "Execution time of the request", "s", is_duration=True)
SHAPE = (
    Column("prompt_length", "BIGINT", "Length of the prompt", "characters"),
    Column("negative_prompt_length", "BIGINT", "Length of the negative prompt, if any", "characters"),
    Column("num_images_per_prompt", "BIGINT", "Images to generate", "images"),
    Column("num_inference_steps", "BIGINT", "Diffusion steps", "steps"),
    Column("checkpoint_model_version_id", "VARCHAR", "Base model: a label or a hash"),
)
STYLE = Column("style_type", "VARCHAR", "Hash of the style, if any")
MAYBE_EMPTY = (*SHAPE, STYLE)
REQUESTS = (
    _requests(
        "lora_request_trace",
        "User requests with time, group and status: a subset of those in data_trace_processed.",
        README,
        "gmt_create",
        (
            Column("gmt_create", "TIMESTAMP", "Creation, shifted, in an undocumented time zone"),
            PREDICT_TYPE,
            Column(
                "predict_status",
                "VARCHAR",
                "SUCCEED, FAILED, PENDING or PROCESSING",
                examples=("SUCCEED", "SUCCEED", "FAILED", "PENDING"),
            ),
            EXEC_TIME,
            Column("groupId", "VARCHAR", "User or group"),
            *SHAPE,
            Column("num_lora", "BIGINT", "LoRA adapters that the request uses", "adapters"),
        ),
    ),
    _requests(
        "data_trace_processed",
        "User requests without time, user or status.",
        "undocumented; columns as in lora_request_trace",
        "predict_type",
        (
            PREDICT_TYPE,
            EXEC_TIME,
            STYLE,
            *SHAPE,
            Column(
                "lora_args",
                "VARCHAR",
                "Python list, as text, of the LoRA adapters and their scales",
                examples=("[]", "[{'modelVersionId': 'a', 'scale': 0.8}]"),
            ),
        ),
    ),
)

TRACE = Trace(
    name="genai",
    title="Alibaba cluster-trace-v2026-GenAI (Stable Diffusion serving)",
    publisher="Alibaba Group",
    homepage="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-GenAI",
    download=(
        "Fetch the 14 .tar.gz of https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-GenAI"
        " into a folder; one of them contains lora_request_trace.csv."
    ),
    licence="none stated; for research or study",
    citation=(
        "Lin et al.: Understanding Diffusion Model Serving in Production: A Top-Down Analysis of Workload,"
        " Scheduling, and Resource Efficiency (SoCC 2025)."
    ),
    tables=(
        _telemetry("qps", "Request rate", "requests per s", more=(REQUEST_TYPE,), key=(*KEY, "request_type")),
        _telemetry("queue_size_raw_anon", "Queued requests", "requests", TIME_LAST, key=("timestamp_anon",)),
        _telemetry("queue_rt_raw_anon", "Queueing time in the gateway", "ms", TIME_LAST),
        _telemetry("pipeline_update_latency_anon", "Time to load or switch a whole pipeline", "ms"),
        _telemetry("basemodel_update_latency_anon", "Time to load a base model", "ms"),
        _telemetry("lora_update_latency_anon", "Time to load LoRA weights", "ms"),
        _telemetry("controlnet_latency_data_anon", "Time to load ControlNet weights", "ms"),
        _telemetry(
            "pod_memory_util_anon",
            "Memory in use, as a fraction",
            "",
            VALUE_FIRST,
            key=(),
            examples=("0.25", "0.5", "0.993", "-0.00001"),
            rules=(
                Rule(
                    "fraction",
                    "memory in use is a fraction, from 0 to 1",
                    "value < 0 or value > 1",
                    caveat="genai.memory_is_a_fraction",
                ),
            ),
        ),
        _telemetry("pod_gpu_duty_cycle_anon", "GPU utilisation", "percent", VALUE_FIRST),
        _telemetry("pod_gpu_memory_used_bytes_anon", "GPU memory in use", "bytes"),
        _telemetry(
            "model_predict_data_anon", "Inference time; without loading, according to the publisher", "ms"
        ),
        _telemetry(
            "pipeline_inference_data_anon", "Inference time; with loading, according to the publisher", "ms"
        ),
        *REQUESTS,
    ),
)
