-- On which days of the week are jobs submitted?
-- chart: line x=weekday y=jobs_pct color=trace
create or replace macro unified.weekday_profile() as table
select
    trace,
    weekday,
    count(*) as jobs,
    100.0 * count(*) / sum(count(*)) over (partition by trace) as jobs_pct
from unified.jobs
where weekday is not null
group by trace, weekday
order by trace, weekday;

comment on macro table unified.weekday_profile is 'Jobs per day of the week where the cluster is, 1 Monday to 7 Sunday, of the traces whose clock tells it.';
