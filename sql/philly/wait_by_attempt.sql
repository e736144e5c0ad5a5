-- Queueing delay of first and later attempts (Philly attempts)
-- chart: box x=gpu_band y=wait_s:log facet=attempt_class xname=requested_gpus
-- column: gpu_band: Band of GPUs of the first attempt of the job
-- column: attempt_class: First attempt of a job, or later ones
-- column: attempts: Attempts of the class whose queueing delay is known
-- column: attempts_without_wait [attempts]: Attempts of the class without a logged start, or with no logged end of the attempt before
-- column: waited_h: Sum of the queueing delays
-- column: wait_pct: Share of the summed queueing delays of the band
create or replace macro philly.wait_by_attempt(
    -- count only jobs that were attempted more than once
    retried_only boolean := true
) as table
with waits as (
    select
        job.gpu_band,
        job.allocated_gpus,
        job.attempts,
        waited.wait_s,
        case when waited.attempt = 1 then 'first' else 'later' end as attempt_class
    from philly.attempt_wait as waited
    inner join philly.job_run as job on waited.job_id = job.job_id
),

bands as (
    select
        gpu_band,
        attempt_class,
        min(allocated_gpus) as place,
        count(wait_s) as attempts,
        count(*) - count(wait_s) as attempts_without_wait,
        stats.favg(wait_s) as mean_wait_s,
        stats.percentiles(wait_s) as wait_s,
        stats.fsum(wait_s) as total_wait_s
    from waits
    where attempts > 1 or not retried_only
    group by gpu_band, attempt_class
),

-- This is a separate column, because Spark does not sort by a window function.
placed as (
    select
        *,
        min(place) over (partition by gpu_band) as band_place,
        sum(stats.exact(total_wait_s)) over (partition by gpu_band) as band_wait_s
    from bands
)

select
    gpu_band,
    attempt_class,
    attempts,
    attempts_without_wait,
    mean_wait_s,
    wait_s.p5 as p5_wait_s,
    wait_s.p25 as p25_wait_s,
    wait_s.median as median_wait_s,
    wait_s.p75 as p75_wait_s,
    wait_s.p90 as p90_wait_s,
    wait_s.p95 as p95_wait_s,
    wait_s.p99 as p99_wait_s,
    total_wait_s / 3600.0 as waited_h,
    100.0 * total_wait_s / nullif(band_wait_s, 0) as wait_pct
from placed
order by band_place, attempt_class;

comment on macro table philly.wait_by_attempt is
'Queueing delay of first attempts, from submission, and of later attempts, from the end of the attempt '
'before, as in figure 3 of the publisher''s notebook, which leaves out delays of 0; with interpolated '
'percentiles, their sum, and the share of first and later attempts in the sum of the band. The delay of a '
'later attempt includes any time between a failure and the next submission to the queue, which the log '
'does not record.';
