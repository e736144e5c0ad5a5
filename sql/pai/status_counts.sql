-- Final status by level (PAI jobs, tasks and instances)
-- chart: stack x=level y=share_pct yname=jobs,_tasks_or_instances_pct color=status count=entries
create or replace macro pai.status_counts(
    -- level to count [any job task instance]
    at_level varchar := 'any'
) as table
select
    level,
    status,
    entries,
    share_pct
from pai.status_by_level
where at_level = 'any' or level = at_level
order by
    case level when 'job' then 1 when 'task' then 2 else 3 end asc,
    entries desc,
    status asc nulls last;

comment on macro table pai.status_counts is
'Jobs, tasks and instances per status, and the share of each status within its level. Only instances are '
'Interrupted: they ended without a result of their own, and have no start.';
