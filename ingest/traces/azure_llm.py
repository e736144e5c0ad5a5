"""Azure LLM inference: requests of two services at Microsoft, an hour in 2023 and a week in 2024.

Licence: CC BY, Microsoft. Cite Splitwise (ISCA 2024) for 2023 and DynamoLLM (HPCA 2025) for 2024.

Files, from https://github.com/Azure/AzurePublicDataset (AzureLLMInferenceDataset2023.md and …2024.md): one
CSV per service and release, all with the same columns → `raw_request`. .NET wrote the times of 2023, with
seven decimals of which the last is always 0. Those of 2024 end in ``+00:00``, and have no decimals on a full
second. The files of 2023 do not end in a newline.
"""

from tracehouse.ingest.declare.metadata import Caveat, Clock, PublishedFile, SkippedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal
from tracehouse.ingest.declare.trace import Column, Requests, Table, Trace

REPOSITORY = "https://github.com/Azure/AzurePublicDataset"

CLOCK = Clock(
    "azure_llm.trace",
    epoch="1970-01-01T00:00:00, in UTC in the files of 2024; those of 2023 do not write the zone",
    zone="unknown in 2023, UTC in 2024",
    resolution_s=1e-6,
    true_parts="order and differences",
    fake_parts="hour is not local; the date of 2023 is the 11th in the README and the 16th in the files",
    documented_in="publisher: README; measured: on the files",
)

SAMPLE_OF_AN_HOUR = Caveat(
    "azure_llm.sample_of_an_hour",
    "limited result",
    summary="The files of 2023 are a sample of about one hour: no load by day, and no fleet total.",
    what_goes_wrong=(
        "The files of 2023 cover 57 and 58 minutes of a sample of the requests. Rates are those of the"
        " sample, not of the service."
    ),
    what_to_do="Use the shape of arrivals and token counts. For load over days, use the files of 2024.",
    documented_in="publisher: README; measured: first and last time",
)

DATE_DIFFERS = Caveat(
    "azure_llm.date_differs",
    "background",
    summary="The README dates the sample of 2023 11 November, the files 16 November.",
    what_goes_wrong="The README says that the trace is of 11 November 2023; all times are on the 16th.",
    what_to_do="Use differences of times, not dates.",
    documented_in="publisher: README; measured: on the files",
)

NO_END = Caveat(
    "azure_llm.no_end_of_a_request",
    "limited result",
    summary="No request has a latency or an outcome: what runs at the same time needs assumed speeds.",
    what_goes_wrong="The files have an arrival and two token counts. Failed requests are not marked.",
    what_to_do="State the assumed speeds next to any number of requests in flight.",
    documented_in="publisher: README",
)

RAW_REQUEST = Table(
    name="raw_request",
    tried_on="real files",
    comment="Requests, one per row, to two services in 2023 and in 2024.",
    grain="one row per request; nothing identifies it but its position in the file",
    source="README of AzureLLMInferenceDataset2023 and AzureLLMInferenceDataset2024",
    file_name=r"AzureLLMInferenceTrace_(?P<workload>code|conv|code_1week|conv_1week)\.csv",
    published_rows={
        "AzureLLMInferenceTrace_code.csv": 8_819,
        "AzureLLMInferenceTrace_conv.csv": 19_366,
        "AzureLLMInferenceTrace_code_1week.csv": 16_803_695,
        "AzureLLMInferenceTrace_conv_1week.csv": 27_303_999,
    },
    published_sha256={
        "AzureLLMInferenceTrace_code_1week.csv": (
            "71de5c55cbc35f8f1ed0b6b7806b4cd1e9764b0058469725a6aac98023a1448f"
        ),
    },
    keys=(Column("workload", "VARCHAR", "Service: code or conv (2023), code_1week or conv_1week (2024)"),),
    columns=(
        Column(
            "TIMESTAMP",
            "TIMESTAMP",
            "Arrival",
            may_be_utc=True,
            sample=Arrivals(1_700_158_546, 1_700_162_069),
            caveats=(SAMPLE_OF_AN_HOUR,),
        ),
        Column(
            "ContextTokens", "BIGINT", "Tokens of the prompt", "tokens", least=0, sample=LogNormal(1_200, 0.9)
        ),
        Column(
            "GeneratedTokens",
            "BIGINT",
            "Tokens of the answer",
            "tokens",
            least=0,
            sample=LogNormal(60, 1.2),
            caveats=(NO_END,),
        ),
    ),
    row_number="row",
    never_empty=("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    ends_in_newline=False,
    partition_by=("workload",),
    order_by=("TIMESTAMP", "row"),
    about_rows=28_185,
    caveats=(DATE_DIFFERS,),
)

TRACE = Trace(
    name="azure_llm",
    title="Azure LLM inference trace 2023 and 2024",
    publisher="Microsoft Azure",
    homepage=REPOSITORY,
    download="`traces fetch azure_llm` loads the two files of 2023 and the two of 2024, 1.8 GB.",
    licence="CC BY 4.0",
    citation=(
        "Patel et al.: Splitwise: Efficient Generative LLM Inference Using Phase Splitting (ISCA 2024)."
    ),
    clock=CLOCK,
    tables=(RAW_REQUEST,),
    files=tuple(
        PublishedFile(name, f"{REPOSITORY}/{folder}/{name}", bytes=size)
        for folder, name, size in (
            ("raw/master/data", "AzureLLMInferenceTrace_code.csv", 320_117),
            ("raw/master/data", "AzureLLMInferenceTrace_conv.csv", 719_188),
            ("releases/download/dataset-llm-2024", "AzureLLMInferenceTrace_code_1week.csv", 691_989_454),
            ("releases/download/dataset-llm-2024", "AzureLLMInferenceTrace_conv_1week.csv", None),
        )
    ),
    skipped_files=(
        SkippedFile(
            r"AzureLMMInferenceTrace_multimodal\.csv",
            "no table has its columns: its requests contain images",
        ),
    ),
    requests=Requests(
        table="raw_request",
        at="TIMESTAMP",
        workload="workload",
        input="ContextTokens",
        output="GeneratedTokens",
    ),
)
