-- Offered GPUs and job arrivals per day (ITP jobs)
-- caveat: itp.relative_clock
-- resolves_caveat: itp.last_week_is_partial
-- column: day [no unit]: Day at the location of the cluster
-- column: on_date: Date on which the day begins; the first began at an unpublished hour of 2021-03-04
-- column: offered_gpus: GPUs that jobs would hold if each started at submission
-- column: arrivals [jobs]: Jobs submitted on the day
-- chart: line x=on_date y=mean_offered_gpus rule=simulated_gpus xname=date partial=first,last title=Mean offered GPUs per day (ITP jobs)
create or replace macro itp.load_by_day(on_cluster varchar := 'cluster04') as table
with load as (
    select
        from_s,
        to_s,
        offered_gpus,
        cast(floor(from_s / 86400) as bigint) as first_day,
        cast(floor((coalesce(to_s, from_s + 1) - 1) / 86400) as bigint) as last_day
    from itp.offered_load
    where cluster = on_cluster
),

-- The last change, after which no job runs, has no end: it counts on its day with 0 s and 0 GPUs.
parts as (
    select
        from_s,
        coalesce(to_s, from_s) as to_s,
        offered_gpus,
        unnest(generate_series(first_day, last_day)) as day
    from load
),

days as (
    select
        day,
        sum((least(to_s, 86400 * (day + 1)) - greatest(from_s, 86400 * day)) * offered_gpus) as gpu_s,
        max(offered_gpus) as peak_offered_gpus
    from parts
    group by day
),

arrivals as (
    select
        cast(floor(submit_s / 86400) as bigint) as day,
        count(*) as jobs
    from itp.job
    where cluster = on_cluster
    group by day
),

capacity as (
    select gpus
    from itp.cluster_capacity
    where cluster = on_cluster
)

select
    days.day,
    -- NULL for days outside the calendar, which come from damaged submission times.
    case when days.day between 0 and 7000 then date '2021-03-04' + cast(days.day as integer) end as on_date,
    days.gpu_s / 86400.0 as mean_offered_gpus,
    days.peak_offered_gpus,
    coalesce(arrivals.jobs, 0) as arrivals,
    capacity.gpus as simulated_gpus
from days
left join arrivals on days.day = arrivals.day
left join capacity on true
order by days.day;

comment on macro table itp.load_by_day is
'GPUs that the jobs of a cluster would hold if each started at submission, as mean and peak of the day, '
'and submitted jobs. Days count from the start of the collection, from the first submission to the last '
'end. simulated_gpus is the capacity that the ElasticFlow simulation gives the cluster.';
