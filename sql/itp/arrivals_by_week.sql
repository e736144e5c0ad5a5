-- Job arrivals per week (ITP jobs)
-- caveat: itp.last_week_is_partial
-- caveat: itp.clusters_start_ragged
-- chart: line x=from_date y=jobs
create or replace macro itp.arrivals_by_week() as table
with weeks as (
    select cast(floor(submit_s / 604800) as bigint) as week
    from itp.job
    where submit_s is not null
)

select
    week,
    -- Of weeks that a calendar has; elsewhere the submission is damaged.
    case when week between 0 and 1000 then date '2021-03-04' + cast(7 * week as integer) end as from_date,
    count(*) as jobs
from weeks
group by week
order by week;

comment on macro table itp.arrivals_by_week is 'Jobs submitted per seven days from the start of the collection, of all clusters; only weeks with jobs. from_date is the date that the week begins on, counted from 2021-03-04; the hour is unpublished, so that a date counted from there may be a day too early.';
