"""GenAI: Stable Diffusion serving at Alibaba, with a day of telemetry in 2025 and requests of some weeks.

Telemetry of 207 containers, one value per container and minute; 68,195 user requests, without containers.

Licence: none is stated; the programme's README allows research and study.

Files, from https://github.com/alibaba/clusterdata/tree/master/cluster-trace-v2026-GenAI: one archive per
table, with one CSV each. `lora_request_trace.csv` is also published unpacked, with the same bytes. The README
does not describe `data_trace_processed`. The last 26,823 rows of that table are also in `lora_request_trace`.

The README says that the telemetry's clock is shifted. The times are also multiplied by 0.95, so they are not
instants. Requests do not reserve GPUs and therefore are not jobs: there is no view `standard_job`.
"""

import re

from tracehouse.ingest.declare.metadata import Caveat, Clock, MetricSupport, PublishedFile
from tracehouse.ingest.declare.trace import Column, Requests, Rule, Table, Trace

TELEMETRY_CLOCK = Clock(
    "genai.telemetry",
    epoch="1970-01-01T00:00:00Z; all times were multiplied by 0.95; the day is 2025-06-20 UTC",
    zone="Asia/Shanghai, after division by 0.95",
    local_offset_s=28800,
    scale=1.0526315789473684,
    resolution_s=57,
    true_parts="order; hour, weekday and differences after division by 0.95",
    fake_parts="date, hour and differences as published",
    documented_in=(
        "publisher: README (an offset); measured: 1,441 times, 57 s apart; the first is a midnight"
        " after division by 0.95"
    ),
)

REQUESTS_CLOCK = Clock(
    "genai.requests",
    epoch="1970-01-01T00:00:00 of a clock that was set back by 78 days less 7 hours",
    zone="Asia/Shanghai",
    local_offset_s=6714000,
    true_parts="order and differences",
    fake_parts="date, weekday and hour",
    documented_in=(
        "publisher: README (an offset), lora_request_processing.ipynb (the same rows before it);"
        " measured: the Spring Festival of 2025 falls on its date"
    ),
)

CLOCK_IS_SCALED = Caveat(
    "genai.clock_is_scaled",
    "limited result",
    summary="Published times were scaled by 0.95; the views undo it, which is inferred, not documented.",
    what_goes_wrong=(
        "The README mentions an offset only, but all times were multiplied by 0.95: the 1,441"
        " minutes of a day, from midnight to midnight, are 57 s apart, and the day is 82,080 s"
        " long. Used as published, hours are 5 % short and the date is in 2022."
    ),
    what_to_do=(
        "Divide times by 0.95 first, as the views do. That the day is 2025-06-20 in UTC, and that"
        " hours are correct, is inferred and not documented."
    ),
    documented_in=(
        "publisher: README (the offset); measured: the steps, midnight over 0.95 and the dip at noon in China"
    ),
)

INFERENCE_LONGER_THAN_END_TO_END = Caveat(
    "genai.inference_longer_than_end_to_end",
    "wrong result",
    summary="Inference and end-to-end time are separate measurements: do not subtract one from the other.",
    what_goes_wrong=(
        "Pure inference should be a part of the end-to-end time, but it is longer in 6,084 of the"
        " 6,111 minutes of a container that have both; the median ratio is 1.39 times as long."
    ),
    what_to_do="Do not subtract one from the other. Treat them as two separate measurements.",
    documented_in="publisher: README, 5.1 and 5.2; measured: the cells",
    concerns=("genai.model_predict.value", "genai.pipeline_inference.value"),
)

PART_LONGER_THAN_PIPELINE = Caveat(
    "genai.part_longer_than_pipeline",
    "wrong result",
    summary="A pipeline's update can be shorter than its parts' updates: do not compute shares.",
    what_goes_wrong=(
        "A pipeline's update should include the updates of its parts, but the base model's update"
        " is longer in 2,716 of 6,920 shared cells. 2,622 pipeline updates took 0 ms."
    ),
    what_to_do="Do not compute shares of a pipeline's update.",
    documented_in="publisher: README, 3.1; measured: the cells",
    concerns=(
        "genai.pipeline_update_latency.value",
        "genai.basemodel_update_latency.value",
        "genai.lora_update_latency.value",
        "genai.controlnet_latency.value",
    ),
)

CELLS_ARE_MEANS = Caveat(
    "genai.cells_are_means",
    "wrong result",
    summary="Each value is a container's mean over a minute: percentiles are not those of requests.",
    what_goes_wrong=(
        "Each container has one latency per minute, often not a whole number of ms. It is a mean"
        " over an unknown number of events."
    ),
    what_to_do=(
        "Read percentiles as percentiles of container-minutes. Use exec_time_seconds for"
        " percentiles of requests."
    ),
    documented_in="measured: on the files",
    concerns=(
        "genai.queue_rt.value",
        "genai.pipeline_update_latency.value",
        "genai.basemodel_update_latency.value",
        "genai.lora_update_latency.value",
        "genai.controlnet_latency.value",
        "genai.model_predict.value",
        "genai.pipeline_inference.value",
    ),
)

MEMORY_IS_A_FRACTION = Caveat(
    "genai.memory_is_a_fraction",
    "background",
    summary="Memory use is published as a fraction, although the README says percentage.",
    what_goes_wrong=(
        "The README says percentage, but the values are fractions of at most 0.9932, and one of"
        " the 214,890 is below 0: -0.0000117."
    ),
    what_to_do="Multiply by 100, and count the negative value as 0, as the view does.",
    documented_in="publisher: README, 4.1; measured: on the file",
    concerns=("genai.pod_memory_util.value",),
)

ROWS_WITHOUT_CONTAINER = Caveat(
    "genai.rows_without_container",
    "limited result",
    summary="Queue sizes and API requests name no container and drop out of joins on it.",
    what_goes_wrong=(
        "None of the 1,434 rows of queue_size names a container, nor do the 1,114 API requests"
        " among the 24,627 rows of qps, nor 49 of the 214,890 of pod_memory_util. In"
        " pod_memory_util, one container has two rows for one minute."
    ),
    what_to_do=(
        "Exclude rows without a container from joins on it. Use the larger of the two values of that minute."
    ),
    documented_in="measured: on the files",
    concerns=(
        "genai.qps.container_ip",
        "genai.queue_size.container_ip",
        "genai.pod_memory_util.container_ip",
    ),
)

VALUES_ARE_SCALED = Caveat(
    "genai.values_are_scaled",
    "wrong result",
    summary="Requests per second are scaled by an unknown factor: compare them with each other only.",
    what_goes_wrong=(
        "The publisher scaled the requests per second to anonymise them: most are 0.09, and nearly"
        " all are multiples of it."
    ),
    what_to_do="Compare these rates with each other, not with other traces.",
    documented_in="publisher: README; measured: the multiples",
    concerns=("genai.qps.value",),
)

BYTES_ARE_NO_WHOLE_NUMBERS = Caveat(
    "genai.bytes_are_no_whole_numbers",
    "background",
    summary="Bytes in use have fractions, as means do.",
    what_goes_wrong=(
        "The README describes bytes in use as whole numbers, but 43,544 of 161,413 values have a"
        " fraction, as means do."
    ),
    what_to_do="Read them as floating-point numbers.",
    documented_in="publisher: README, 4.3; measured: on the file",
    concerns=("genai.pod_gpu_memory_used_bytes.value",),
)

REQUESTS_IN_BOTH_FILES = Caveat(
    "genai.requests_in_both_files",
    "wrong result",
    summary="Both files have the same 26,823 requests. Use one of the files, or they count twice.",
    what_goes_wrong=(
        "lora_request_trace repeats the last 26,823 of the 68,195 rows of data_trace_processed,"
        " row by row, with labels instead of hashes. If you combine the files, these requests count"
        " twice."
    ),
    what_to_do=(
        "Use one of the files: lora_request_trace for times, users and states,"
        " data_trace_processed for adapters."
    ),
    documented_in="measured: row by row",
)

REQUESTS_NAME_NO_CONTAINER = Caveat(
    "genai.requests_name_no_container",
    "limited result",
    summary="Requests (February) and telemetry (a day in June) cannot be joined.",
    what_goes_wrong=(
        "The README joins all files by container_ip, but requests have no container. The telemetry"
        " covers a day in June and the requests are from February."
    ),
    what_to_do="Compare distributions. A single request cannot be found in the telemetry.",
    documented_in="publisher: README; measured: columns and times",
)

LORA_ARGS_IS_TEXT = Caveat(
    "genai.lora_args_is_text",
    "background",
    summary="LoRA adapters are the text of a Python list, which is not valid JSON.",
    what_goes_wrong=(
        "LoRA adapters are given as the text of a Python list of dictionaries in single quotes,"
        " which is not valid JSON. Most lists are empty."
    ),
    what_to_do="Parse the text as Python, or count the opening braces: one per adapter.",
    documented_in="measured: on the file",
)

PROCESSED_IS_UNDOCUMENTED = Caveat(
    "genai.processed_is_undocumented",
    "limited result",
    summary="data_trace_processed has no time, user or status, and repeated rows.",
    what_goes_wrong=(
        "The README does not describe this file. Its rows have no time, user or status, so failed"
        " requests cannot be identified, and 22,237 of the 68,195 repeat an earlier one."
    ),
    what_to_do="Do not remove duplicates: rows have no identity.",
    documented_in="measured: on the file",
    concerns=("genai.data_trace_processed",),
)

REQUEST_CLOCK_IS_SHIFTED = Caveat(
    "genai.request_clock_is_shifted",
    "wrong result",
    summary="Request times are shifted: hours are 7 too late, and weekdays one too early.",
    what_goes_wrong=(
        "Times have no time zone, although the column is called gmt_create, and they are shifted:"
        " hours are 7 too late, and weekdays one too early."
    ),
    what_to_do="Add local_offset_s of the clock genai.requests.",
    documented_in="publisher: README; measured: holidays and lunch hours",
)

README = "README of cluster-trace-v2026-GenAI"
KEY = ("timestamp_anon", "container_ip")
FIRST_TIMES = ("1662858720.0", "1662858777.0")
TIME = Column(
    "timestamp_anon",
    "BIGINT",
    "Time on a scaled clock; a minute has 57 s",
    "s",
    examples=FIRST_TIMES,
    clocks=(TELEMETRY_CLOCK,),
    caveats=(CLOCK_IS_SCALED,),
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


# Rows of each file, by its name without extension.
ROWS = {
    "basemodel_update_latency_anon": 7_531,
    "controlnet_latency_data_anon": 29_221,
    "data_trace_processed": 68_195,
    "lora_request_trace": 26_823,
    "lora_update_latency_anon": 27_415,
    "model_predict_data_anon": 6_254,
    "pipeline_inference_data_anon": 34_421,
    "pipeline_update_latency_anon": 36_046,
    "pod_gpu_duty_cycle_anon": 157_417,
    "pod_gpu_memory_used_bytes_anon": 161_413,
    "pod_memory_util_anon": 214_890,
    "qps": 24_627,
    "queue_rt_raw_anon": 23_478,
    "queue_size_raw_anon": 1_434,
}


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
        tried_on="real files",
        comment=f"{meaning}, at times on a scaled clock.",
        grain=f"one row per {', '.join(key)}" if key else "one row per sample",
        source=README,
        file_name=rf"{file_stem}\.csv",
        published_rows={f"{file_stem}.csv": ROWS[file_stem]},
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
        tried_on="real files",
        comment=comment,
        grain="one row per request; nothing identifies it",
        source=source,
        file_name=rf"{name}\.csv",
        published_rows={f"{name}.csv": ROWS[name]},
        archive_stem=name,
        columns=columns,
        never_empty=tuple(column.name for column in columns if column not in MAYBE_EMPTY),
        order_by=(order_by,),
        caveats=(REQUESTS_IN_BOTH_FILES, REQUESTS_NAME_NO_CONTAINER),
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
            Column(
                "gmt_create",
                "TIMESTAMP",
                "Creation, shifted, in an undocumented time zone",
                clocks=(REQUESTS_CLOCK,),
                caveats=(REQUEST_CLOCK_IS_SHIFTED,),
            ),
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
                caveats=(LORA_ARGS_IS_TEXT,),
            ),
        ),
    ),
)

CAVEATS = (
    INFERENCE_LONGER_THAN_END_TO_END,
    PART_LONGER_THAN_PIPELINE,
    CELLS_ARE_MEANS,
    MEMORY_IS_A_FRACTION,
    ROWS_WITHOUT_CONTAINER,
    VALUES_ARE_SCALED,
    BYTES_ARE_NO_WHOLE_NUMBERS,
    PROCESSED_IS_UNDOCUMENTED,
)

METRICS = (
    MetricSupport(
        "submission", "exact", "Creation time of each request of lora_request_trace, with the shift removed."
    ),
    MetricSupport("wait", "approximate", "Mean time in the gateway's queue, per container and minute."),
    MetricSupport("run", "exact", "Execution time of each request."),
    MetricSupport("GPU utilisation", "exact", "One value per container and minute, for one day."),
    MetricSupport("memory use", "exact", "GPU memory in bytes and container memory as a share."),
    MetricSupport("final state", "exact", "Requests of lora_request_trace have a state; the others do not."),
    MetricSupport(
        "user", "approximate", "groupId is a user or a group; only requests of lora_request_trace have it."
    ),
    MetricSupport("workload", "exact", "Each request has a kind of task and a base model."),
    MetricSupport("hour of day", "exact", "With the scale removed, the day begins at 08:00 in China."),
    MetricSupport(
        "calendar date", "approximate", "The publisher shifted and scaled the times; the date is inferred."
    ),
    MetricSupport(
        "group or recurrence",
        "impossible",
        "groupId is a user or a group, and the publisher does not say which; it is listed as the user.",
    ),
    MetricSupport(
        "machine placement",
        "impossible",
        (
            "container_ip identifies the container of a metric; its machine is not recorded, nor"
            " the container of a request."
        ),
    ),
)

FILES_AT = "https://github.com/alibaba/clusterdata/raw/master/cluster-trace-v2026-GenAI"
FILES = (
    PublishedFile(
        "basemodel_update_latency_anon.tar.gz",
        f"{FILES_AT}/basemodel_update_latency_anon.tar.gz",
        bytes=57_327,
    ),
    PublishedFile(
        "controlnet_latency_data_anon.tar.gz",
        f"{FILES_AT}/controlnet_latency_data_anon.tar.gz",
        bytes=197_834,
    ),
    PublishedFile("data_trace_processed.tar.gz", f"{FILES_AT}/data_trace_processed.tar.gz", bytes=555_549),
    PublishedFile("lora_request_trace.tar.gz", f"{FILES_AT}/lora_request_trace.tar.gz", bytes=266_184),
    PublishedFile(
        "lora_update_latency_anon.tar.gz", f"{FILES_AT}/lora_update_latency_anon.tar.gz", bytes=192_882
    ),
    PublishedFile(
        "model_predict_data_anon.tar.gz", f"{FILES_AT}/model_predict_data_anon.tar.gz", bytes=52_690
    ),
    PublishedFile(
        "pipeline_inference_data_anon.tar.gz",
        f"{FILES_AT}/pipeline_inference_data_anon.tar.gz",
        bytes=255_769,
    ),
    PublishedFile(
        "pipeline_update_latency_anon.tar.gz",
        f"{FILES_AT}/pipeline_update_latency_anon.tar.gz",
        bytes=259_813,
    ),
    PublishedFile(
        "pod_gpu_duty_cycle_anon.tar.gz", f"{FILES_AT}/pod_gpu_duty_cycle_anon.tar.gz", bytes=832_148
    ),
    PublishedFile(
        "pod_gpu_memory_used_bytes_anon.tar.gz",
        f"{FILES_AT}/pod_gpu_memory_used_bytes_anon.tar.gz",
        bytes=1_144_101,
    ),
    PublishedFile("pod_memory_util_anon.tar.gz", f"{FILES_AT}/pod_memory_util_anon.tar.gz", bytes=2_811_608),
    PublishedFile("qps.tar.gz", f"{FILES_AT}/qps.tar.gz", bytes=119_651),
    PublishedFile("queue_rt_raw_anon.tar.gz", f"{FILES_AT}/queue_rt_raw_anon.tar.gz", bytes=134_246),
    PublishedFile("queue_size_raw_anon.tar.gz", f"{FILES_AT}/queue_size_raw_anon.tar.gz", bytes=4_863),
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
    caveats=CAVEATS,
    metrics=METRICS,
    files=FILES,
    requests=Requests(
        table="lora_request_trace",
        at="gmt_create",
        model="checkpoint_model_version_id",
        latency="exec_time_seconds",
        failed="predict_status = 'FAILED'",
        completed="predict_status = 'SUCCEED'",
    ),
)
