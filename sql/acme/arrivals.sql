-- How do Acme's GPU jobs arrive: how far apart, and how evenly?
-- engine: duckdb (epoch)
-- caveat: acme.paper_counts_more_jobs
-- unaffected: acme.kalos_duration_includes_queue
-- unaffected: acme.job_zones_differ
-- param: on_cluster: cluster to look at
-- choices: on_cluster: seren kalos
-- chart: point x=mean_gap_s y=cv_gap
create or replace macro acme.arrivals(on_cluster varchar := 'seren') as table
-- By seconds and hours since 1970, which are the same in every client's time zone.
with submitted as (
    select
        submit_time,
        epoch(submit_time) as submit_s,
        floor(epoch(submit_time)) as in_second,
        floor(epoch(submit_time) / 3600) as in_hour
    from acme.job
    where cluster = on_cluster and requested_gpus > 0 and submit_time is not null
),

beside_others as (
    select
        submit_time,
        in_hour,
        submit_s - lag(submit_s) over (order by submit_s) as gap_s,
        count(*) over (partition by in_second) as jobs_in_second,
        count(*) over (partition by in_hour) as jobs_in_hour
    from submitted
)

select
    count(*) as jobs,
    min(submit_time) as first_submit,
    max(submit_time) as last_submit,
    avg(gap_s) as mean_gap_s,
    stddev_pop(gap_s) / nullif(avg(gap_s), 0) as cv_gap,
    100.0 * count(*) filter (where jobs_in_second > 1) / nullif(count(*), 0) as same_second_pct,
    max(jobs_in_hour) as busiest_hour_jobs,
    count(*) / nullif(max(in_hour) - min(in_hour) + 1, 0) as mean_hour_jobs
from beside_others;

comment on macro table acme.arrivals is 'GPU jobs, the mean gap between one submission and the next, its standard deviation over its mean, the share of jobs submitted in the same second as another, and the jobs of the busiest hour and of the mean one.';
