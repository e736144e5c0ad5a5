"""BurstGPT: requests to the LLM services of a university on 231 days, with failures.

Licence: CC BY 4.0, HPMLL. Parts 1 and 2 cover 121 days, part 3 another 110 after a gap of 104. Latencies and
sessions are in part 3 only.

Files, from https://github.com/HPMLL/BurstGPT (release v1.2): ``BurstGPT_1.csv`` to ``BurstGPT_3.csv`` →
`raw_request`. Ingest skips ``BurstGPT_without_fails_<part>.csv``, which repeat them without the failed
requests. The file in the repository's folder ``data`` lacks two columns.
"""

from tracehouse.ingest.declare.metadata import Caveat, Clock, PublishedFile, SkippedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, Names
from tracehouse.ingest.declare.trace import Column, Requests, Table, Trace

README = "publisher: README"
RELEASES = "https://github.com/HPMLL/BurstGPT/releases/download"

CLOCK = Clock(
    "burstgpt.trace",
    epoch="midnight of the first day, at an unpublished date",
    zone="local time of the university, which is not named",
    local_offset_s=0,
    true_parts="hour of the day, order and differences; no part covers days 121 to 225",
    fake_parts="weekday; the date is unknown",
    documented_in=README,
)
FAILED = Caveat(
    "burstgpt.failed_requests",
    "wrong result",
    summary="A failed request has 0 response tokens.",
    what_goes_wrong="Means of tokens and elapsed times over all requests are too low.",
    what_to_do="Leave out requests with the status failed.",
    documented_in="third party: users, issue 11",
)
RAMP_UP = Caveat(
    "burstgpt.ramp_up",
    "wrong result",
    summary="Of part 1, the first 400 windows of 180 s have 0.034 requests a second, a steady one 3.17.",
    what_goes_wrong="A benchmark that replays the trace from second 0 has almost no load.",
    what_to_do="Start in a steady part, such as windows 4550 to 4950: seconds 819000 to 891000.",
    documented_in="third party: users, issue 11",
)
ELAPSED = Caveat(
    "burstgpt.elapsed_time",
    "wrong result",
    summary="The elapsed time ends with the complete answer, not with the first token.",
    what_goes_wrong="Taken as the time to the first token, it is too long by the time to write the answer.",
    what_to_do="Compare it only among requests with similar numbers of response tokens.",
    documented_in=README,
)
WITHOUT_FAILS = Caveat(
    "burstgpt.without_fails",
    "background",
    summary="The files without failures repeat requests of the files with failures.",
    what_goes_wrong="Counts over all six files contain most requests twice.",
    what_to_do="Nothing: ingest skips the files without failures.",
    documented_in=README,
)
RAW_REQUEST = Table(
    name="raw_request",
    tried_on="part of a file",
    published_sha256={
        "BurstGPT_1.csv": "4bb3783693d0a435686fbfc885615d2349bd067239079fa4b749f2e679e12122",
        "BurstGPT_2.csv": "44bf5942b03fca42c01a226a545ad3a750ec62688faecd67b6831c56a8928bf7",
        "BurstGPT_3.csv": "2299986a07388aa303ec2c41d1131e756db650a39ed6ef9dfe7cc3d7f9a43b8f",
    },
    comment="Requests to the services, with failed ones.",
    grain="one row per line of a file",
    source="README of BurstGPT",
    file_name=r"BurstGPT_(?P<part>[123])\.csv",
    keys=(Column("part", "BIGINT", "Number of the file", examples=("1", "2", "3")),),
    columns=(
        Column(
            "Timestamp", "DOUBLE", "Arrival", "s", least=0, sample=Arrivals(0, 10_454_399), caveats=(RAMP_UP,)
        ),
        Column("Session ID", "VARCHAR", "Session of a conversation", sample=Names("session", 8, count=2_000)),
        Column(
            "Elapsed time",
            "DOUBLE",
            "Time to the complete answer",
            "s",
            least=0,
            is_duration=True,
            sample=LogNormal(6, 1.0),
            caveats=(ELAPSED, FAILED),
        ),
        Column("Model", "VARCHAR", "Model", choices=("ChatGPT", "GPT-4"), sample={"ChatGPT": 9, "GPT-4": 1}),
        Column(
            "Request tokens", "BIGINT", "Tokens of the prompt", "tokens", least=0, sample=LogNormal(400, 1.0)
        ),
        Column(
            "Response tokens",
            "BIGINT",
            "Tokens of the answer",
            "tokens",
            least=0,
            sample=LogNormal(150, 1.0, zeros=0.05),
            caveats=(FAILED,),
        ),
        Column(
            "Total tokens",
            "BIGINT",
            "Tokens of prompt and answer",
            "tokens",
            least=0,
            sample=LogNormal(600, 1.0),
        ),
        Column(
            "Log Type",
            "VARCHAR",
            "Kind of use",
            choices=("Conversation log", "API log"),
            sample={"Conversation log": 1, "API log": 1},
        ),
    ),
    optional=frozenset({"Session_ID", "Elapsed_time"}),
    row_number="row",
    key=("part", "row"),
    never_empty=("Timestamp", "Model", "Request_tokens", "Response_tokens", "Total_tokens", "Log_Type"),
    partition_by=("part",),
    order_by=("Timestamp", "row"),
    about_rows=10_632_100,
    caveats=(WITHOUT_FAILS,),
)
TRACE = Trace(
    name="burstgpt",
    title="BurstGPT (LLM services of a university)",
    publisher="HPMLL",
    homepage="https://github.com/HPMLL/BurstGPT",
    download="`traces fetch burstgpt` loads the three files with failures.",
    licence="CC BY 4.0",
    citation=(
        "Wang et al.: BurstGPT: A Real-World Workload Dataset to Optimize LLM Serving Systems (KDD 2025)."
    ),
    tables=(RAW_REQUEST,),
    clock=CLOCK,
    files=tuple(
        PublishedFile(name, f"{RELEASES}/v1.2/{name}", backup=f"{RELEASES}/v2.0/{name}", bytes=size)
        for name, size in {
            "BurstGPT_1.csv": 52_283_111,
            "BurstGPT_2.csv": 144_819_209,
            "BurstGPT_3.csv": 231_682_327,
        }.items()
    ),
    skipped_files=(
        SkippedFile(
            r"BurstGPT_without_fails(_[123])?\.csv",
            "it repeats BurstGPT_[123].csv without the failed requests; `traces fetch burstgpt` loads those"
            " files",
        ),
    ),
    requests=Requests(
        "raw_request",
        at="Timestamp",
        workload="Log_Type",
        model="Model",
        session="Session_ID",
        input="Request_tokens",
        output="Response_tokens",
        latency="Elapsed_time",
        failed="Response_tokens = 0",
    ),
)
