"""openb's views on two nodes and a few pods, computed by hand."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
import raw_dumps

NODE = raw_dumps.header("openb", "node").split(",")
NODES = [("a", 8000, 1024, 2, "T4"), ("b", 4000, 1024, 4, "G2")]
POD = raw_dumps.header("openb", "pod").split(",")
HALF, PAIR, NO_GPU, WHOLE = (2000, 1, 500), (6000, 2, 1000), (1000, 0, 0), (1000, 1, 1000)
# Times of deletion and scheduling: two pods end as the third one starts, and the last one runs for 0 s.
TIMES = [(10, 0), (10, 5), (20, 10), (7, 7)]


def pod(
    request: Sequence[int], spec: str | None = None, deleted: int = 1, scheduled: int | None = None
) -> tuple:
    cpu_milli, num_gpu, gpu_milli = request
    phase = "Pending" if scheduled is None else "Running"
    return (cpu_milli, 1024, num_gpu, gpu_milli, spec, "LS", phase, 0, deleted, scheduled)


# The classes have 10, 6, 3 and 1 of 20 pods: the first three cover 95 %, so the last one is left out.
PODS = {
    "default": [
        *(pod(HALF, deleted=deleted, scheduled=scheduled) for deleted, scheduled in TIMES),
        *([pod(HALF)] * 6 + [pod(PAIR)] * 6 + [pod(NO_GPU)] * 3 + [pod(WHOLE)]),
    ],
    "gpuspec33": [pod(WHOLE, spec="V100M16|T4|T4")],
}


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("two_nodes")
    raw = folder / "raw"
    raw.mkdir()
    nodes = [dict(zip(NODE, node, strict=True)) for node in NODES]
    (raw / "openb_node_list_gpu_node.csv").write_bytes(raw_dumps.csv_text(NODE, nodes, True))
    for variant, pods in PODS.items():
        rows = [dict(zip(POD, (f"p{i}", *fields), strict=True)) for i, fields in enumerate(pods)]
        (raw / f"openb_pod_list_{variant}.csv").write_bytes(raw_dumps.csv_text(POD, rows, True))
    return raw_dumps.ingested(raw, folder / "warehouse")


def test_pods_that_end_and_start_together_do_not_overlap(two_nodes: duckdb.DuckDBPyConnection) -> None:
    rows = two_nodes.execute(
        "select from_s, to_s, pods, gpu_pods, used_gpus from openb.concurrency order by from_s"
    ).fetchall()
    assert rows == [
        (0, 5, 1, 1, 0.5),
        (5, 7, 2, 2, 1),
        (7, 10, 2, 2, 1),
        (10, 20, 1, 1, 0.5),
        (20, None, 0, 0, 0),
    ]
    # 0.5 GPUs for 5 s, 1 GPU for 5 s and 0.5 GPUs for 10 s. One pod still runs at the end of the trace.
    peak = two_nodes.execute("from openb.peak_concurrency()").fetchall()[0]
    assert peak == pytest.approx((1, 5, 100 / 6, 12.5 / 20, 12.5 / 3600, 1))


def test_task_classes_cover_95_percent_of_pods(two_nodes: duckdb.DuckDBPyConnection) -> None:
    rows = two_nodes.execute(
        "select class_number, cpu_milli, num_gpu, gpu_milli, pods, popularity * 19 from openb.task_class"
        " where variant = 'default' order by class_number"
    ).fetchall()
    assert rows == [
        (1, *HALF, 10, pytest.approx(10)),
        (2, *PAIR, 6, pytest.approx(6)),
        (3, *NO_GPU, 3, pytest.approx(3)),
    ]


def test_fragmentation_of_empty_nodes(two_nodes: duckdb.DuckDBPyConnection) -> None:
    # Node b has too few cores for PAIR and the wrong model for gpuspec33's class. NO_GPU uses no GPU at all.
    columns = "variant, sn, fragmented_gpus, fragmentation_rate"
    for view in ("openb.fragmentation_v1", "openb.fragmentation_v2"):
        assert two_nodes.execute(f"select {columns} from {view} order by variant, sn").fetchall() == [
            ("default", "a", pytest.approx(6 / 19), pytest.approx(3 / 19)),
            ("default", "b", pytest.approx(36 / 19), pytest.approx(9 / 19)),
            ("gpuspec33", "a", 0, 0),
            ("gpuspec33", "b", 4, 1),
        ]
    shares = two_nodes.execute("from openb.fragmentation_share()").fetchall()
    assert shares == [
        ("default", 3, pytest.approx(42 / 19), 6, pytest.approx(100 * 42 / 19 / 6)),
        ("gpuspec33", 1, 4, 6, pytest.approx(100 * 4 / 6)),
    ]
    for share in shares:
        same = two_nodes.execute("from openb.fragmentation_of(in_variant := $variant)", {"variant": share[0]})
        assert same.fetchall() == [tuple(map(close_to, share))]


def close_to(value: object) -> object:
    return value if isinstance(value, str) else pytest.approx(value)


def test_gpus_too_small_for_a_class_are_fragmented(two_nodes: duckdb.DuckDBPyConnection) -> None:
    two_nodes.execute(
        """
        create or replace temp table placed as
        from (values
            ('a', 'T4', 0, 8000, 300), ('a', 'T4', 1, 8000, 1000),
            ('b', 'G2', 0, 4000, 0), ('b', 'G2', 1, 4000, 0),
            ('b', 'G2', 2, 4000, 400), ('b', 'G2', 3, 4000, 400)
        ) as placed (sn, model, gpu_number, free_cpu_milli, free_gpu_milli)
        """
    )
    # Half a GPU fits on node a and leaves 0.3 GPUs. No other class fits: 1.3 GPUs of a and 0.8 of b are lost.
    fragmented = (10 * (0.3 + 0.8) + 9 * (1.3 + 0.8)) / 19
    [found] = two_nodes.execute("from openb.fragmentation_of('placed')").fetchall()
    assert found == ("default", 3, pytest.approx(fragmented), 6, pytest.approx(100 * fragmented / 6))
    # A whole GPU fits on node a and leaves 0.3 GPUs. Node b has the wrong model, so its 0.8 GPUs are lost.
    [found] = two_nodes.execute("from openb.fragmentation_of('placed', in_variant := 'gpuspec33')").fetchall()
    assert found[2] == pytest.approx(0.3 + 0.8)


def test_counts_unscheduled_pods_next_to_waits(
    two_nodes: duckdb.DuckDBPyConnection,
) -> None:
    waits = "select pods, never_scheduled_pods, median_wait_s from openb.waits({})"
    assert two_nodes.execute(waits.format("")).fetchall() == [(4, 13, 6)]
    assert two_nodes.execute(waits.format("gpu_only := false")).fetchall() == [(4, 16, 6)]


def test_a_list_without_memory_holds_an_unknown_amount_and_fits_by_the_rest(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    nodes = [dict(zip(NODE, node, strict=True)) for node in NODES]
    (raw / "openb_node_list_all_node.csv").write_bytes(raw_dumps.csv_text(NODE, nodes, True))
    pods = [dict(zip(POD, ("p", *pod(*one)), strict=True)) for one in ((PAIR, "T4", 7, 5), (WHOLE, "G2", 9))]
    without = tuple(name for name in POD if name != "memory_mib")
    (raw / "openb_pod_list_nomem.csv").write_bytes(raw_dumps.csv_text(without, pods, True))
    with raw_dumps.ingested(raw, tmp_path / "warehouse") as connection:
        held = connection.sql(
            "select mean_held_cpus, mean_held_memory_gib, peak_held_memory_gib"
            " from openb.use_by_day(in_variant := 'nomem', from_day := 0)"
        )
        assert held.fetchall() == [(6 * 2 / 9, None, None)]
        fits = connection.sql(
            "select model, memory_mib, fitting_nodes from openb.pending_fit(in_variant := 'nomem')"
        )
        assert sorted(fits.fetchall()) == [("G2", None, 1), ("T4", None, 0)]


def test_pods_without_a_gpu_are_a_share_of_all_pods(two_nodes: duckdb.DuckDBPyConnection) -> None:
    rows = two_nodes.execute(
        "select variant, pods, gpu_pods, cpu_only_pct from openb.demand_by_variant()"
    ).fetchall()
    assert rows == [("default", 20, 17, 15), ("gpuspec33", 1, 1, 0)]


def test_a_caveat_counts_repeated_rows(real: duckdb.DuckDBPyConnection) -> None:
    request = "variant, cpu_milli, memory_mib, num_gpu, gpu_milli, creation_time, deletion_time"
    repeated = (
        "with groups as (select variant, count(*) as rows from openb.pod group by {})"
        " select variant, sum(rows - 1) from groups"
        " where variant in ('default', 'gpushare40') group by variant order by variant"
    )
    with_all_times = real.execute(repeated.format(f"{request}, scheduled_time")).fetchall()
    with_two = real.execute(repeated.format(request)).fetchall()
    assert with_all_times == [("default", 22), ("gpushare40", 1_827)]
    assert with_two == [("default", 42), ("gpushare40", 1_846)]
    ((text,),) = real.execute(
        "select what_goes_wrong from catalog.caveats where caveat = 'openb.variants_are_resampled'"
    ).fetchall()
    assert "in gpushare40 1,827 rows" in text and "in default 22;" in text
    assert "without scheduled_time 1,846 and 42" in text
