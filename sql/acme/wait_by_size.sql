-- Queueing delay by job size (Acme GPU jobs)
-- caveat: acme.paper_counts_more_jobs
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.kalos_duration_includes_queue
-- chart: box x=gpu_band y=wait_s:log facet=cluster xname=requested_gpus
-- column: gpu_band: Band of the number of GPUs that a job requests
-- column: jobs: GPU jobs of the band whose queueing delay is known
-- column: jobs_without_wait [jobs]: GPU jobs of the band without a known queueing delay
create or replace macro acme.wait_by_size(by_publisher boolean := false) as table
with bands as (
    select
        known.place,
        known.gpu_band
    from (
        values
        (1, '1'),
        (2, '2 to 7'),
        (3, '8'),
        (4, '9 to 63'),
        (5, '64 to 511'),
        (6, '512 and more')
    ) as known (place, gpu_band)
),

clusters as (
    select distinct cluster from acme.job
),

waits as (
    select
        cluster,
        case when by_publisher then published_queue_s else wait_s end as waited_s,
        case
            when requested_gpus = 1 then 1
            when requested_gpus < 8 then 2
            when requested_gpus = 8 then 3
            when requested_gpus < 64 then 4
            when requested_gpus < 512 then 5
            else 6
        end as place
    from acme.job
    where requested_gpus > 0
)

-- Left join: includes bands without jobs.
select
    clusters.cluster,
    bands.gpu_band,
    count(waits.waited_s) as jobs,
    count(waits.place) - count(waits.waited_s) as jobs_without_wait,
    stats.favg(waits.waited_s) as mean_wait_s,
    stats.percentiles(waits.waited_s).p5 as p5_wait_s,
    stats.percentiles(waits.waited_s).p25 as p25_wait_s,
    stats.percentiles(waits.waited_s).median as median_wait_s,
    stats.percentiles(waits.waited_s).p75 as p75_wait_s,
    stats.percentiles(waits.waited_s).p90 as p90_wait_s,
    stats.percentiles(waits.waited_s).p95 as p95_wait_s,
    stats.percentiles(waits.waited_s).p99 as p99_wait_s
from clusters
cross join bands
left join waits on clusters.cluster = waits.cluster and bands.place = waits.place
group by clusters.cluster, bands.place, bands.gpu_band
order by clusters.cluster, bands.place;

comment on macro table acme.wait_by_size is 'Queueing delay of GPU jobs from submission to start, with interpolated percentiles, per cluster and band of requested GPUs. Jobs that never started have no queueing delay and are counted apart. Bands without jobs are included.';
