-- Run time on shared against unshared GPUs (PAI workers)
-- caveat: pai.gpu_type_is_assigned
-- resolves_caveat: pai.gpu_type_null
-- chart: box x=gpu_type y=slowdown yname=run_time_on_shared_over_unshared_GPUs note=Ratio of median run times per group of recurring jobs, role and GPU type. Above 1: slower on shared GPUs.
-- column: workers: Workers that terminated, with a known GPU and run time
-- column: sharing_workers: Workers that started on a GPU on which a worker of another job with a sensor row ran
-- column: compared_workers: Workers of the compared groups
-- column: groups [groups]: Groups with at least min_workers workers of each kind, which are compared
-- column: slower_pct: Share of the compared groups whose sharing workers ran longer
-- column: slowdown [ratio]: Median run time of the sharing workers of a group, over that of its other workers
create or replace macro pai.colocation_slowdown(
    -- workers of each kind that a recurring group needs to be compared [1 to 1000]
    min_workers integer := 5
) as table
-- A longer run overlaps more workers. Only the workers at its start are independent of its length.
with groups as (
    select
        worker.gpu_type,
        job_group.group_id,
        worker.task_name,
        count(*) as workers,
        count(*) filter (where worker.is_gpu_shared_at_start) as sharing_workers,
        median(worker.run_s) filter (where worker.is_gpu_shared_at_start) as sharing_run_s,
        median(worker.run_s) filter (where not worker.is_gpu_shared_at_start) as other_run_s
    from pai.sensed_worker as worker
    left join pai.job_group as job_group on worker.job_name = job_group.job_name
    where
        worker.status = 'Terminated'
        and worker.run_s > 0
        and worker.machine is not null
        and worker.is_device_known
    group by worker.gpu_type, job_group.group_id, worker.task_name
),

compared as (
    select
        gpu_type,
        workers,
        sharing_workers,
        case
            when
                group_id is not null
                and sharing_workers >= min_workers
                and workers - sharing_workers >= min_workers
                then sharing_run_s / other_run_s
        end as slowdown
    from groups
)

select
    gpu_type,
    cast(sum(workers) as bigint) as workers,
    cast(sum(sharing_workers) as bigint) as sharing_workers,
    cast(coalesce(sum(workers) filter (where slowdown is not null), 0) as bigint) as compared_workers,
    count(slowdown) as groups,
    100.0 * count(*) filter (where slowdown > 1) / nullif(count(slowdown), 0) as slower_pct,
    stats.percentiles(slowdown).p5 as p5_slowdown,
    stats.percentiles(slowdown).p25 as p25_slowdown,
    stats.percentiles(slowdown).median as median_slowdown,
    stats.percentiles(slowdown).p75 as p75_slowdown,
    stats.percentiles(slowdown).p90 as p90_slowdown,
    stats.percentiles(slowdown).p95 as p95_slowdown,
    stats.percentiles(slowdown).p99 as p99_slowdown
from compared
group by gpu_type
order by gpu_type asc nulls last;

comment on macro table pai.colocation_slowdown is
'Ratio of median run times of terminated workers that started on a GPU on which a worker of another job '
'was running, and of those that did not, within one group of recurring jobs, one role of a task and one '
'GPU type; interpolated percentiles over these groups. A worker that gets company after its start counts '
'as unshared, as a longer run is more likely to get it, so the slowdown is underestimated. So does a worker whose '
'neighbour has no sensor row, which two fifths of the instances have: this makes the slowdown too low, and '
'sharing_workers too few, by how much is unknown, because no other table gives the GPU of a worker. Workers whose '
'GPU or run time is not known are left out. Groups fall back to the user where a job has none. The '
'comparison is not an experiment: the scheduler chose which workers share.';
