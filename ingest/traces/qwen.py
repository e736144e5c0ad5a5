"""Qwen-Bailian: requests to Alibaba Cloud's Qwen services, with chats and the prefix blocks of each prompt.

Licence: Apache 2.0, Alibaba.

Files, from https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon, in Git LFS:
``qwen_traceA_blksz_16.jsonl`` (to consumers), ``qwen_traceB_blksz_16.jsonl`` (API) and later files of other
services, two hours each, one JSON object a line → `raw_request`.
"""

from tracehouse.ingest.declare.metadata import Caveat, Clock, PublishedFile
from tracehouse.ingest.declare.sample_distributions import Arrivals, LogNormal, PrefixBlocks
from tracehouse.ingest.declare.trace import Column, Requests, Table, Trace

BLOCK_TOKENS = 16
FILES_AT = "https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon/raw/refs/heads/main"

CLOCK = Clock(
    "qwen.trace",
    epoch="start of each file, at an unpublished time",
    zone="unknown",
    resolution_s=0.001,
    true_parts="differences, within a file",
    fake_parts="none: date, weekday and hour are unknown",
    documented_in="publisher: README",
)

REUSE_BEGINS_AT_0 = Caveat(
    "qwen.reuse_begins_at_0",
    "limited result",
    summary="Each file covers two hours: a block last used before them counts as new.",
    what_goes_wrong=(
        "Reuse of blocks from before the two hours, or from requests outside the sample, is not visible. Hit"
        " rates rise over the first minutes and are a lower bound."
    ),
    what_to_do="Compare hit rates within the trace. Leave out the first minutes where the level matters.",
    documented_in="publisher: README",
)

BLOCKS_OF_CONTENT = Caveat(
    "qwen.blocks_of_content",
    "limited result",
    summary="In traceA and traceB, a number identifies a block's text, not the prefix up to it.",
    what_goes_wrong=(
        "The publisher hashes each block separately. The same text after a different beginning has the same"
        " number, so it counts as reused although a prefix cache does not contain it."
    ),
    what_to_do="Take hit rates of traceA and traceB as upper bounds for a prefix cache.",
    documented_in="publisher: README; third party: audits of the files",
    raw_files=r"qwen_trace[AB]_blksz_16\.jsonl",
)

PROMPTS_REPEAT_THE_CHAT = Caveat(
    "qwen.prompts_repeat_the_chat",
    "limited result",
    summary="The prompt of a later turn contains the turns before it: sums count them again.",
    what_goes_wrong=(
        "input_length is that of the whole request: earlier prompts and answers of the chat, and new text. A"
        " program that adds the history again sends about twice as many tokens in the second turn."
    ),
    what_to_do="Send each request as it is. For new text, subtract the parent's prompt and answer.",
    documented_in="third party: users, ai-dynamo/aiperf issue 1392; not for every row, they say",
)

LFS_POINTERS = Caveat(
    "qwen.lfs_pointers",
    "background",
    summary="The files are in Git LFS: a plain clone has pointers of 130 bytes in their place.",
    what_goes_wrong="Without Git LFS, a clone contains small text files that name the real ones.",
    what_to_do="Run `git lfs pull` in the clone. Ingest rejects each pointer and names the file.",
    documented_in="publisher: .gitattributes",
)

RAW_REQUEST = Table(
    name="raw_request",
    comment="Requests, one per row: turns of chats, with the prefix blocks of 16 tokens of their prompts.",
    grain="one row per request",
    source="README of qwen-bailian-usagetraces-anon",
    file_name=r"qwen_(?P<service>traceA|traceB|coder|thinking)_blksz_16\.jsonl",
    published_rows={
        "qwen_traceA_blksz_16.jsonl": 43_058,
        "qwen_traceB_blksz_16.jsonl": 172_800,
        "qwen_thinking_blksz_16.jsonl": 10_812,
        "qwen_coder_blksz_16.jsonl": 43_011,
    },
    published_sha256={
        "qwen_traceB_blksz_16.jsonl": "68e3f98e2d601d60d0abf4b89bc8a3654372abab7b1cde6373a13d0054379d59",
        "qwen_thinking_blksz_16.jsonl": "41ac36d9d1b54d084eeb6b05e9d142ba9d02f8bf79cfc9fff418d8ab7cdee906",
        "qwen_coder_blksz_16.jsonl": "3d74974cebb7bccb69b1ca6ea210a44d9a3033443c0271ed015327284dea1aff",
    },
    keys=(
        Column("service", "VARCHAR", "Service, from the file's name: traceA is to consumers, traceB the API"),
    ),
    columns=(
        Column("chat_id", "BIGINT", "Request within the file, which later turns name as their parent"),
        Column("parent_chat_id", "BIGINT", "Request of the previous turn; -1 for the first", sample={-1: 1}),
        Column("timestamp", "DOUBLE", "Arrival, from the start of the file", "s", sample=Arrivals(0, 7_199)),
        Column(
            "input_length",
            "BIGINT",
            "Tokens of the prompt",
            "tokens",
            least=0,
            sample=LogNormal(800, 0.9),
            caveats=(PROMPTS_REPEAT_THE_CHAT,),
        ),
        Column(
            "output_length", "BIGINT", "Tokens of the answer", "tokens", least=0, sample=LogNormal(250, 0.9)
        ),
        Column(
            "type",
            "VARCHAR",
            "Kind of input (text, search, image, file), or the service that answers (api, coder, thinking)",
            sample={"text": 8, "search": 1, "image": 1, "file": 1, "api": 1, "coder": 1, "thinking": 1},
        ),
        Column("turn", "BIGINT", "Number of the turn in its chat, from 1", least=1, sample={1: 1}),
        Column(
            "hash_ids",
            "BIGINT[]",
            "Prefix blocks of the prompt, in order; an equal number is the same text up to the block's end",
            caveats=(BLOCKS_OF_CONTENT, REUSE_BEGINS_AT_0),
            sample=PrefixBlocks("input_length", BLOCK_TOKENS),
        ),
    ),
    row_number="row",
    never_empty=("chat_id", "timestamp", "input_length", "output_length", "turn", "hash_ids"),
    key=("service", "chat_id"),
    partition_by=("service",),
    order_by=("timestamp", "row"),
    about_rows=269_681,
    caveats=(LFS_POINTERS,),
)

TRACE = Trace(
    name="qwen",
    title="Qwen-Bailian usage traces",
    publisher="Alibaba Cloud",
    homepage="https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon",
    download="`traces fetch qwen` loads the four files, 0.3 GB.",
    licence="Apache 2.0",
    citation="Wang et al.: KVCache Cache in the Wild (ATC 2025).",
    clock=CLOCK,
    tables=(RAW_REQUEST,),
    files=tuple(
        PublishedFile(name, f"{FILES_AT}/{name}", bytes=size)
        for name, size in {
            "qwen_traceA_blksz_16.jsonl": None,
            "qwen_traceB_blksz_16.jsonl": None,
            "qwen_thinking_blksz_16.jsonl": 27_901_454,
            "qwen_coder_blksz_16.jsonl": 132_054_902,
        }.items()
    ),
    requests=Requests(
        table="raw_request",
        at="timestamp",
        workload="service",
        input="input_length",
        output="output_length",
        prefix_blocks="hash_ids",
        block_tokens=BLOCK_TOKENS,
    ),
)
