-- GPU sharing by GPU type (PAI workers)
-- resolves_caveat: pai.cpu_machines_in_spec
-- chart: bar x=gpu_type y=sharing_pct yname=workers_on_shared_gpus_pct title=Workers on shared GPUs by GPU type (PAI workers)
-- column: workers: Workers with a GPU
-- column: sharing_workers: Workers that ran on a GPU together with another
-- column: sharing_pct: Share of the workers that shared their GPU
-- column: pairs [pairs]: Pairs of workers that ran together on a GPU
-- column: median_overlap_s: Median time that two workers ran together
create or replace macro pai.gpu_sharing_by_type() as table
with workers as (
    select
        spec.gpu_type,
        count(*) as workers
    from pai.sensed_worker as worker
    left join pai.machine_spec as spec on worker.machine = spec.machine
    where worker.machine is not null and worker.is_device_known and worker.run_s > 0
    group by spec.gpu_type
),

sides as (
    select unnest(['one', 'other']) as side
),

-- Both workers of a pair share their GPU, but the pair counts once.
sharing as (
    select
        pairs.machine,
        pairs.overlap_s,
        case sides.side when 'one' then pairs.worker_name else pairs.other_worker_name end as worker_name,
        sides.side = 'one' as is_first
    from pai.gpu_sharing as pairs
    cross join sides
),

shared as (
    select
        spec.gpu_type,
        count(distinct sharing.worker_name) as workers,
        count(*) filter (where sharing.is_first) as pairs,
        median(sharing.overlap_s) filter (where sharing.is_first) as median_overlap_s
    from sharing
    left join pai.machine_spec as spec on sharing.machine = spec.machine
    group by spec.gpu_type
)

select
    workers.gpu_type,
    workers.workers,
    coalesce(shared.workers, 0) as sharing_workers,
    100.0 * coalesce(shared.workers, 0) / workers.workers as sharing_pct,
    coalesce(shared.pairs, 0) as pairs,
    shared.median_overlap_s
from workers
left join shared on workers.gpu_type is not distinct from shared.gpu_type
order by workers.gpu_type;

comment on macro table pai.gpu_sharing_by_type is 'Workers with a GPU, and workers that shared it with another worker for some time, per GPU type of the machine, NULL where the machine has no specification; pairs of such workers, and the median of the time they ran together.';
