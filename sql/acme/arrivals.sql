-- Inter-arrival times and burstiness (Acme GPU jobs)
-- caveat: acme.paper_counts_more_jobs
-- resolves_caveat: acme.cpu_jobs_included
-- column: jobs: GPU jobs of the cluster
-- column: first_submit: First submission
-- column: last_submit: Last submission
-- column: mean_gap_s: Mean gap between consecutive submissions
-- column: cv_gap [ratio]: Standard deviation of the gaps over their mean
-- column: same_second_pct: Share of the jobs submitted in the same second as another
-- column: busiest_hour_jobs: GPU jobs submitted in the busiest hour
-- column: mean_hour_jobs: Mean number of GPU jobs submitted per hour
create or replace macro acme.arrivals(on_cluster varchar := 'seren') as table
-- Uses seconds and hours since 1970, which do not depend on the time zone of the client.
with submitted as (
    select
        submit_time,
        epoch_us(submit_time) / 1e6 as submit_s,
        floor(epoch_us(submit_time) / 1e6) as in_second,
        floor(epoch_us(submit_time) / 1e6 / 3600) as in_hour
    from acme.job
    where cluster = on_cluster and requested_gpus > 0 and isfinite(submit_time)
),

gaps as (
    select
        submit_time,
        in_hour,
        submit_s - lag(submit_s) over (order by submit_s) as gap_s,
        count(*) over (partition by in_second) as jobs_in_second,
        count(*) over (partition by in_hour) as jobs_in_hour
    from submitted
),

-- The gaps add up to the time from the first to the last submission.
mean as (
    select (max(submit_s) - min(submit_s)) / nullif(count(submit_s) - 1, 0) as gap_s
    from submitted
)

select
    count(*) as jobs,
    min(gaps.submit_time) as first_submit,
    max(gaps.submit_time) as last_submit,
    max(mean.gap_s) as mean_gap_s,
    -- Divides each deviation by the mean before squaring it, so that the squares stay small in any unit.
    sqrt(stats.favg(power(gaps.gap_s / nullif(mean.gap_s, 0) - 1, 2))) as cv_gap,
    100.0 * count(*) filter (where gaps.jobs_in_second > 1) / nullif(count(*), 0) as same_second_pct,
    max(gaps.jobs_in_hour) as busiest_hour_jobs,
    count(*) / nullif(max(gaps.in_hour) - min(gaps.in_hour) + 1, 0) as mean_hour_jobs
from gaps
cross join mean;

comment on macro table acme.arrivals is 'Number of GPU jobs, mean gap between consecutive submissions, coefficient of variation of the gaps, share of jobs submitted in the same second as another job, and jobs in the busiest and the mean hour.';
