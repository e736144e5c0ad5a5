-- How much of a trace's GPU time is in its largest jobs?
-- param: top_pct: how many jobs count as the largest by GPU time, in percent of the GPU jobs
-- range: top_pct: 0 to 100
-- chart: bar x=trace y=top_gpu_time_pct
-- column: top_gpu_time_pct: Share of the GPU time held that the heaviest jobs held
create or replace macro unified.gpu_time_concentration(top_pct double := 1) as table
with ranked as (
    select
        trace,
        held_gpu_s,
        is_censored,
        row_number() over (partition by trace order by held_gpu_s desc nulls last) as held_rank,
        ceil(count(*) over (partition by trace) * top_pct / 100) as top_jobs
    from unified.jobs
    where requested_gpus > 0
)

select
    trace,
    count(*) as gpu_jobs,
    cast(max(ranked.top_jobs) as bigint) as top_jobs,
    100.0 * coalesce(fsum(held_gpu_s) filter (where held_rank <= ranked.top_jobs), 0)
    / nullif(fsum(held_gpu_s), 0) as top_gpu_time_pct,
    100.0 * count(held_gpu_s) / count(*) as covered_pct,
    100.0 * coalesce(fsum(held_gpu_s) filter (where is_censored), 0)
    / nullif(fsum(held_gpu_s), 0) as censored_gpu_time_pct
from ranked
group by trace
order by trace;

comment on macro table unified.gpu_time_concentration is 'GPU jobs per trace, how many of them are the given part, rounded up, and the percentage of the GPU time held that those with most of it held; the percentage of the jobs that have a GPU time, and of that time the percentage of jobs that the trace''s end cuts off.';
