-- GPU-hour share of the largest jobs (ITP jobs)
-- caveat: itp.gpu_hours_are_concentrated
-- column: top_jobs: Number of largest jobs
-- column: top_gpu_h_pct: Share of the GPU-hours held by the heaviest
create or replace macro itp.top_jobs(
    -- percentage of jobs that count as the largest
    top_pct double := 1
) as table
with ranked as (
    select
        requested_gpus * run_s as gpu_s,
        row_number() over (order by requested_gpus * run_s desc) as place,
        count(*) over () as jobs,
        ceil(count(*) over () * top_pct / 100) as top_jobs
    from itp.job
)

select
    count(*) as jobs,
    cast(coalesce(max(ranked.top_jobs), 0) as bigint) as top_jobs,
    100.0 * coalesce(sum(gpu_s) filter (where place <= ranked.top_jobs), 0)
    / nullif(sum(gpu_s), 0) as top_gpu_h_pct
from ranked;

comment on macro table itp.top_jobs is 'Number of jobs of all clusters, number of largest jobs by GPU-hours, and their share of all GPU-hours.';
