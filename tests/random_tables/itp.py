"""Random ITP tables, and the load counted at each instant in plain Python.

The tables contain cases that are rare in the sample: jobs that start as others end, or at midnight, more GPUs
at once than the stated size of a cluster, a cluster with one job, a cluster of unknown size, and testbed jobs
that cluster02 has with the same values, with other values, or not at all.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import duckdb
import pytest
import raw_dumps
from twins import itp as reference

from random_tables import Case

DAY_S = 86_400
Job = dict[str, object]
Members = dict[str, list[Job]]

COLLECTED = ("job_id", "submission_time", "duration", "num_gpu")
GENERATED = (
    "job_id",
    "submission_time",
    "num_iteration",
    "model_name",
    "deadline",
    "batch_size",
    "num_gpu",
    "duration",
)
# The capacity of this cluster is unknown.
NOT_PUBLISHED = "cluster11"
# The GPUs that each cluster is simulated with.
CLUSTERS = {"cluster02": 512, "cluster04": 1_024, "cluster09": 1_024, "cluster10": 256, "cluster11": None}


def collected_job(random: Random, name: str) -> Job:
    """A job on a coarse grid of times, so that many start and end together."""
    start = random.choice((0, 1, 6, 7, 8)) * DAY_S + random.choice((0, 0, 600, 1_200, DAY_S - 600, DAY_S - 1))
    return {
        "job_id": name,
        "submission_time": start,
        "duration": random.choice((600, 600, 601, 1_200, DAY_S - 600, DAY_S, 2 * DAY_S + 600)),
        "num_gpu": random.choice((1, 2, 8, 64, 64, 64)),
    }


def with_generated(random: Random, job: Job) -> Job:
    run = job["duration"]
    allowed = random.choice((run // 2, run - 1, run, run + 1, 3 * run // 2))
    return {
        **job,
        "num_iteration": random.choice((600, 12_345)),
        "model_name": random.choice(("bert", "vgg16")),
        "batch_size": random.choice((64, 128)),
        "deadline": job["submission_time"] + allowed,
    }


def jobs_of_testbed(random: Random, collected: Sequence[Job], generated: Sequence[Job]) -> list[Job]:
    """Return jobs that equal a job of cluster02, that differ in a value, or that one or both lists lack."""
    same, redrawn, moved, grown, one_column, *_ = random.sample(range(len(collected)), len(collected))
    changed = random.choice(("num_iteration", "model_name", "batch_size", "deadline"))
    value = "gpt2" if changed == "model_name" else generated[one_column][changed] + 1
    only_generated = generated[-1]
    return [
        dict(generated[same]),
        with_generated(random, collected[redrawn]),
        {**generated[moved], "submission_time": generated[moved]["submission_time"] + 1},
        {**generated[grown], "num_gpu": 128},
        {**generated[one_column], changed: value},
        {**only_generated, "batch_size": random.choice((only_generated["batch_size"], 32))},
        with_generated(random, collected_job(random, "unknown")),
    ]


def itp_tables(seed: int) -> tuple[Members, Members]:
    random = Random(seed)
    collected = {
        cluster: [
            collected_job(random, f"{cluster}-{number}")
            for number in range(1 if cluster == "cluster11" else random.randint(8, 40))
        ]
        for cluster in CLUSTERS
    }
    generated = {
        cluster: [with_generated(random, job) for job in jobs] for cluster, jobs in collected.items()
    }
    # This job occurs in the generated list only.
    generated["cluster02"].append(with_generated(random, collected_job(random, "uncollected")))
    generated["195job"] = jobs_of_testbed(random, collected["cluster02"], generated["cluster02"])
    return collected, generated


def write(raw: Path, seed: int) -> tuple[Members, Members]:
    collected, generated = itp_tables(seed)
    archives = ("raw-traces", COLLECTED, collected), ("elasticflow-traces", GENERATED, generated)
    for name, columns, members in archives:
        texts = {f"{stem}.csv": raw_dumps.csv_text(columns, rows, True) for stem, rows in members.items()}
        raw_dumps.write_archive(raw / "itp" / "data" / f"{name}.tar.gz", texts)
    return collected, generated


def count(tables: tuple[Members, Members]) -> dict[str, int]:
    names = ("itp.raw_job", "itp.elasticflow_job")
    return {name: sum(map(len, members.values())) for name, members in zip(names, tables, strict=True)}


def assert_load_is_counted_at_each_instant(
    tables: tuple[Members, Members], connection: duckdb.DuckDBPyConnection
) -> None:
    collected, _ = tables
    load = raw_dumps.columns_of(connection, "itp.offered_load_v1 order by cluster, from_s")
    clusters = raw_dumps.columns_of(connection, "itp.cluster_load_v1 order by cluster")
    days = {
        cluster: raw_dumps.columns_of(connection, f"itp.load_by_day(on_cluster := '{cluster}')")
        for cluster in CLUSTERS
        if cluster != NOT_PUBLISHED
    }
    assert load == [row for cluster, jobs in collected.items() for row in counted_load(cluster, jobs)]
    assert [row["cluster"] for row in clusters] == list(CLUSTERS)
    for row in clusters:
        assert_load_of_cluster(row, collected[row["cluster"]])
    for cluster in days:
        assert_load_of_days(days[cluster], collected[cluster])


def end_of(job: Job) -> int:
    return job["submission_time"] + job["duration"]


def running_at(jobs: Sequence[Job], time: int) -> list[Job]:
    return [job for job in jobs if job["submission_time"] <= time < end_of(job)]


def gpus_at(jobs: Sequence[Job], time: int) -> int:
    return sum(job["num_gpu"] for job in running_at(jobs, time))


def instants(jobs: Sequence[Job]) -> list[int]:
    return sorted({job["submission_time"] for job in jobs} | {end_of(job) for job in jobs})


def counted_load(cluster: str, jobs: Sequence[Job]) -> list[dict[str, object]]:
    return [
        {
            "cluster": cluster,
            "from_s": time,
            "to_s": after,
            "jobs": len(running_at(jobs, time)),
            "offered_gpus": gpus_at(jobs, time),
        }
        for time, after in pairwise([*instants(jobs), None])
    ]


def assert_load_of_cluster(row: Mapping[str, object], jobs: Sequence[Job]) -> None:
    peak = max(gpus_at(jobs, time) for time in instants(jobs))
    submissions = [job["submission_time"] for job in jobs]
    span, gpu_s = max(submissions) - min(submissions), sum(job["num_gpu"] * job["duration"] for job in jobs)
    capacity = CLUSTERS[row["cluster"]]
    assert row["jobs"] == len(jobs)
    assert row["gpu_h"] == pytest.approx(gpu_s / 3_600)
    assert (row["first_submit_s"], row["last_submit_s"]) == (min(submissions), max(submissions))
    assert (row["arrival_span_s"], row["last_end_s"]) == (span, max(map(end_of, jobs)))
    assert row["peak_offered_gpus"] == peak
    assert row["peak_at_s"] == next(time for time in instants(jobs) if gpus_at(jobs, time) == peak)
    assert row["mean_offered_gpus"] == (pytest.approx(gpu_s / span) if span else None)
    assert row["simulated_gpus"] == capacity
    utilization = pytest.approx(gpu_s / span / capacity) if span and capacity else None
    assert row["offered_utilization"] == utilization
    assert row["exceeds_capacity"] == (peak > capacity if capacity else None)


def assert_load_of_days(days: Sequence[Mapping[str, object]], jobs: Sequence[Job]) -> None:
    """The load is constant between two instants, midnights included, so a day is a sum of such intervals."""
    first, last = instants(jobs)[0] // DAY_S, instants(jobs)[-1] // DAY_S
    assert [row["day"] for row in days] == list(range(first, last + 1))
    midnights = [day * DAY_S for day in range(first, last + 2)]
    pieces = list(pairwise(sorted({*instants(jobs), *midnights})))
    for row in days:
        mine = [(begin, end) for begin, end in pieces if begin // DAY_S == row["day"]]
        mean = sum(gpus_at(jobs, begin) * (end - begin) for begin, end in mine) / DAY_S
        assert row["mean_offered_gpus"] == pytest.approx(mean)
        assert row["peak_offered_gpus"] == max(gpus_at(jobs, begin) for begin, _ in mine)
        assert row["arrivals"] == sum(job["submission_time"] // DAY_S == row["day"] for job in jobs)


def assert_testbed_is_matched_with_cluster02(
    tables: tuple[Members, Members], connection: duckdb.DuckDBPyConnection
) -> None:
    collected, generated = tables
    rows = raw_dumps.columns_of(connection, "itp.testbed_job_v1")
    found = {row["job_id"]: (row["is_in_cluster02"], row["generated_differs"]) for row in rows}
    expected = {}
    for job in generated["195job"]:
        simulated = [other for other in generated["cluster02"] if other["job_id"] == job["job_id"]]
        drawn = ("model_name", "batch_size", "num_iteration", "deadline")
        differs = any(job[name] != simulated[0][name] for name in drawn) if simulated else None
        bare = {name: job[name] for name in COLLECTED}
        expected[job["job_id"]] = (bare in collected["cluster02"], differs)
    assert found == expected
    assert len(rows) == len(expected) == 7


CASES = {
    "random jobs": Case(
        write,
        count,
        reference.VIEWS,
        reference.QUERIES,
        (assert_load_is_counted_at_each_instant, assert_testbed_is_matched_with_cluster02),
    )
}
