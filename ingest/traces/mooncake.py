"""Mooncake: requests to the Kimi chat service, with the prefix blocks of each prompt.

Licence: Apache 2.0, Moonshot AI.

Files, from https://github.com/kvcache-ai/Mooncake (FAST25-release/traces): ``conversation_trace.jsonl``,
``toolagent_trace.jsonl`` and ``synthetic_trace.jsonl``, one JSON object a line → `raw_request`.
"""

from tracehouse.ingest.declare.metadata import Caveat, Clock, PublishedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, PrefixBlocks
from tracehouse.ingest.declare.trace import Column, Requests, Rule, SkippedFile, Table, Trace

TRACES = "https://github.com/kvcache-ai/Mooncake/raw/main/FAST25-release/traces"
BLOCK_TOKENS = 512

CLOCK = Clock(
    "mooncake.trace",
    epoch="start of each file, at an unpublished time",
    zone="unknown",
    resolution_s=0.001,
    true_parts="differences, within a file",
    fake_parts="none: date, weekday and hour are unknown",
    documented_in="publisher: README",
)

SAMPLE_OF_AN_HOUR = Caveat(
    "mooncake.sample_of_an_hour",
    "limited result",
    summary="Each file is a sample of one hour: rates and reuse are those of the sample.",
    what_goes_wrong=(
        "Each file covers about an hour of a sample of the requests. A block whose earlier use is outside the"
        " hour or the sample counts as new, so reuse in the service is higher."
    ),
    what_to_do="Compare hit rates within the trace. State that reuse is a lower bound.",
    documented_in="publisher: README",
)

GENERATED_ARRIVALS = Caveat(
    "mooncake.generated_arrivals",
    "limited result",
    summary="The arrivals of the workload synthetic are drawn from a Poisson process.",
    what_goes_wrong=(
        "The publisher built the workload synthetic from public data sets and drew its arrivals at random. It"
        " says nothing about bursts in a service."
    ),
    what_to_do="Leave the workload synthetic out of questions on arrivals.",
    documented_in="publisher: README and paper (FAST 2025)",
)

ARRIVALS_ON_A_GRID = Caveat(
    "mooncake.arrivals_on_a_grid",
    "wrong result",
    summary="Most arrivals of conversation are multiples of 3 s: gaps and gap_cv measure this grid.",
    what_goes_wrong=(
        "Of the 12,031 arrivals of conversation, 8,492 are multiples of 3,000 ms, and 3,494 are 1 ms less."
        " Requests seem to arrive in batches every 3 s."
    ),
    what_to_do="Use windows of at least 3 s. Do not read the variation of single gaps as bursts of users.",
    documented_in="measured: on the file",
)

PUBLISHED_HIT_RATES = Caveat(
    "mooncake.published_hit_rates",
    "limited result",
    summary="A published hit rate does not follow from its trace: 0.51 is printed, a user counted 0.553.",
    what_goes_wrong=(
        "For mooncake_trace.jsonl, an earlier release, the paper prints a hit rate of 0.51 with a cache"
        " without limit. A user counted 0.553, and 0.04 to 0.06 more than printed for each size of the cache."
        " The publisher has not answered how it counts."
    ),
    what_to_do="Compare hit rates that are computed in the same way, not with printed ones.",
    documented_in="third party: kvcache-ai/Mooncake issue 4020, which quotes the paper; not checked here",
)

RAW_REQUEST = Table(
    name="raw_request",
    tried_on="real files",
    comment="Requests, one per row, with the prefix blocks of 512 tokens of their prompts.",
    grain="one row per request; nothing identifies it but its position in the file",
    source="README of FAST25-release, Mooncake",
    file_name=r"(?P<workload>conversation|toolagent|synthetic)_trace\.jsonl",
    published_rows={
        "conversation_trace.jsonl": 12_031,
        "toolagent_trace.jsonl": 23_608,
        "synthetic_trace.jsonl": 3_993,
    },
    keys=(
        Column(
            "workload",
            "VARCHAR",
            "Kind of requests, from the file's name: conversation, tool and agent, or synthetic",
        ),
    ),
    columns=(
        Column(
            "timestamp",
            "BIGINT",
            "Arrival, from the start of the file",
            "ms",
            least=0,
            sample=Arrivals(0, 3_536_999),
            caveats=(GENERATED_ARRIVALS, ARRIVALS_ON_A_GRID, SAMPLE_OF_AN_HOUR),
        ),
        Column(
            "input_length", "BIGINT", "Tokens of the prompt", "tokens", least=0, sample=LogNormal(7_000, 0.8)
        ),
        Column(
            "output_length", "BIGINT", "Tokens of the answer", "tokens", least=0, sample=LogNormal(250, 0.8)
        ),
        Column(
            "hash_ids",
            "BIGINT[]",
            "Prefix blocks of the prompt, in order; an equal number is the same text up to the block's end",
            sample=PrefixBlocks("input_length", BLOCK_TOKENS),
            caveats=(PUBLISHED_HIT_RATES, SAMPLE_OF_AN_HOUR),
        ),
    ),
    row_number="row",
    never_empty=("timestamp", "input_length", "output_length", "hash_ids"),
    partition_by=("workload",),
    order_by=("timestamp", "row"),
    rules=(
        Rule(
            "prefix_blocks",
            f"a prompt has a prefix block for every {BLOCK_TOKENS} tokens or part of them",
            f"array_length(hash_ids) <> ceil(input_length / {BLOCK_TOKENS})",
            kind="derived",
        ),
    ),
    about_rows=39_632,
)

TRACE = Trace(
    name="mooncake",
    title="Mooncake (Kimi chat service)",
    publisher="Moonshot AI",
    homepage="https://github.com/kvcache-ai/Mooncake",
    download="`traces fetch mooncake` loads the three files.",
    licence="Apache 2.0",
    citation="Qin et al.: Mooncake: Trading More Storage for Less Computation (FAST 2025).",
    clock=CLOCK,
    tables=(RAW_REQUEST,),
    files=tuple(
        PublishedFile(f"{name}_trace.jsonl", f"{TRACES}/{name}_trace.jsonl", bytes=size)
        for name, size in {"conversation": 3_029_533, "toolagent": None, "synthetic": 1_136_313}.items()
    ),
    skipped_files=(
        SkippedFile(
            r"mooncake_trace\.jsonl",
            "it is an earlier release; `traces fetch mooncake` loads those that ingest reads:"
            " conversation_trace.jsonl, toolagent_trace.jsonl and synthetic_trace.jsonl",
        ),
    ),
    requests=Requests(
        table="raw_request",
        at="timestamp",
        workload="workload",
        input="input_length",
        output="output_length",
        prefix_blocks="hash_ids",
        block_tokens=BLOCK_TOKENS,
    ),
)
