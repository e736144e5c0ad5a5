-- Does the share of PAI's tasks that fail change over the trace?
-- caveat: pai.status_mix_drifts
-- caveat: pai.shifted_clock
-- param: in_parts: how many parts of equal time to cut the trace into
-- range: in_parts: 1 to 10000
-- chart: line x=part y=failed_pct
create or replace macro pai.failures_over_time(in_parts integer := 4) as table
with parts as (
    select unnest(generate_series(1, in_parts)) as part
),

bounds as (
    select
        min(start_time) as first_s,
        max(start_time) - min(start_time) as span_s
    from pai.task
    where start_time > 0
),

started as (
    select
        task.status = 'Failed' as is_failed,
        coalesce(task.plan_gpu, 0) > 0 as requests_gpu,
        task.start_time - bounds.first_s as since_first_s,
        bounds.span_s
    from pai.task as task
    cross join bounds
    where task.start_time > 0
),

-- The last start of all stands on the end of the last part, and belongs to it.
placed as (
    select
        is_failed,
        requests_gpu,
        least(in_parts, 1 + floor(coalesce(since_first_s * in_parts / nullif(span_s, 0), 0))) as part
    from started
)

select
    parts.part,
    count(placed.part) as tasks,
    count(*) filter (where placed.is_failed) as failed,
    100.0 * count(*) filter (where placed.is_failed) / nullif(count(placed.part), 0) as failed_pct,
    100.0 * count(*) filter (where placed.is_failed and placed.requests_gpu)
    / nullif(count(*) filter (where placed.requests_gpu), 0) as gpu_failed_pct,
    100.0 * count(*) filter (where placed.is_failed and not placed.requests_gpu)
    / nullif(count(*) filter (where not placed.requests_gpu), 0) as cpu_failed_pct
from parts
left join placed on parts.part = placed.part
group by parts.part
order by parts.part;

comment on macro table pai.failures_over_time is 'Tasks that started in each part of the trace, and the share that failed: of all, of those that request a GPU, and of those that do not.';
