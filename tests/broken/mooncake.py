"""Rows that break Mooncake's rules in SQL."""

from broken_rows import Changes

# Users report benchmarks with such rows: vllm-project/guidellm, pull request 948, and ai-dynamo/aiperf, 581.
CHANGES: Changes = [
    ("mooncake.raw_request.prefix_blocks", {"hash_ids": "list_append(hash_ids, 0)"}),
    ("mooncake.raw_request.prefix_blocks", {"input_length": "input_length + 512"}),
]
