-- Job arrivals per week (ITP jobs)
-- answers: calendar date
-- caveat: itp.clusters_start_ragged
-- caveat: itp.last_week_is_partial
-- resolves_caveat: itp.load_starts_empty
-- resolves_caveat: itp.no_wait
-- column: week [no unit]: Week from the start of the collection, from 0
-- column: from_date: Date that the week begins on
-- chart: bar x=from_date y=jobs xname=first_day_of_the_week partial=last
create or replace macro itp.arrivals_by_week() as table
with weeks as (
    select cast(floor(submit_s / 604800) as bigint) as week
    from itp.job
    where submit_s is not null
)

select
    week,
    -- NULL for weeks outside the calendar, which come from damaged submission times.
    case when week between 0 and 1000 then date '2021-03-04' + cast(7 * week as integer) end as from_date,
    count(*) as jobs
from weeks
group by week
order by week;

comment on macro table itp.arrivals_by_week is 'Jobs of all clusters submitted per seven days from the start of the collection. Weeks without jobs have no row. from_date is the date on which the week begins, counted from 2021-03-04; the hour of the start is unpublished, so it may be one day early.';
