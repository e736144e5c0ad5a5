"""What users reported about the traces, in issues of their repositories, is said where it can mislead."""

import duckdb
import pytest


@pytest.mark.parametrize(
    ("caveat", "issue", "query"),
    [
        ("acme.kalos_looks_idle", "InternLM/AcmeTrace issue 1", "acme.fleet_hourly"),
        ("acme.kalos_looks_idle", "InternLM/AcmeTrace issue 1", "unified.allocation_hourly"),
        ("asi.spans_from_day_109", "alibaba/clusterdata issue 259", "asi.run_by_type"),
        ("asi.spans_without_times", "alibaba/clusterdata issue 257", "asi.run_by_type"),
        ("asi.switches_are_uneven", "alibaba/clusterdata issue 256", "asi.gpu_sets"),
        ("burstgpt.ramp_up", "issue 11", "unified.request_arrivals"),
        ("dlrm.services_not_jobs", "alibaba/clusterdata issue 244", "dlrm.held_gpus_by_service"),
        ("mooncake.published_hit_rates", "kvcache-ai/Mooncake issue 4020", "unified.prefix_reuse"),
        ("mooncake.published_hit_rates", "kvcache-ai/Mooncake issue 4020", "unified.prefix_reuse_by_cache"),
        ("pai.gpu_memory_over_device", "alibaba/clusterdata issue 208", "pai.worker_memory_and_network"),
        ("pai.gpu_sharing_needs_device", "alibaba/clusterdata issue 185", "pai.worker_v1"),
        ("pai.gpu_use_over_100", "alibaba/clusterdata issues 182 and 231", "pai.machine_use_by_type"),
        ("pai.notebook_week_starts_later", "alibaba/clusterdata issue 262", "pai.demand_hourly_v1"),
        ("philly.machine_list_disagrees", "philly-traces", "philly.machine_gpus"),
        ("qwen.prompts_repeat_the_chat", "ai-dynamo/aiperf issue 1392", "unified.request_summary"),
        ("spot.demand_over_capacity", "issue #260 of alibaba/clusterdata", "spot.demand_by_day"),
    ],
)
def test_answers_have_the_caveat_of_a_report(
    caveat: str, issue: str, query: str, synthetic: duckdb.DuckDBPyConnection
) -> None:
    ((objects, documented_in),) = synthetic.execute(
        "select objects, documented_in from catalog.caveats where caveat = $caveat", {"caveat": caveat}
    ).fetchall()
    assert query in objects
    assert issue in documented_in


@pytest.mark.parametrize(
    ("trace", "metric", "exactness"),
    [
        # S-Lab-System-Group/Lucid issue 3, Azure/AzurePublicDataset issue 53
        ("helios", "GPU utilisation", "impossible"),
        ("azure_llm", "prefix reuse", "impossible"),
        ("burstgpt", "prefix reuse", "impossible"),
        ("mooncake", "prefix reuse", "exact"),
        ("qwen", "prefix reuse", "exact"),
    ],
)
def test_what_users_miss_is_a_metric(
    trace: str, metric: str, exactness: str, synthetic: duckdb.DuckDBPyConnection
) -> None:
    found = synthetic.execute(
        "select exactness from catalog.metrics where trace = $trace and metric = $metric",
        {"trace": trace, "metric": metric},
    ).fetchall()
    assert found == [(exactness,)]
