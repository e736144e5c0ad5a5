-- Pod-hours by GPU model and priority (ASI GPU pods)
-- resolves_caveat: asi.pods_without_gpu
-- chart: stack x=gpu_model y=pod_hours_pct color=priority note=HP: high priority. LP: low priority.
-- column: pod_hours [pod-hours]: Rows of pods and hours
-- column: pod_hours_pct: Share of all rows that are counted
create or replace macro asi.pods_by_model(from_day integer := 109, to_day integer := 115) as table
with counted as (
    select
        shown_model as gpu_model,
        priority,
        cast(sum(pod_hours) as bigint) as pod_hours
    from asi.class_hour
    where
        day between from_day and to_day
        and requests_gpus
        and priority in ('HP', 'LP')
        and shown_model in ('A10', 'L20', 'H20', 'A100', 'H800', 'XPU-A')
    group by shown_model, priority
)

select
    gpu_model,
    priority,
    pod_hours,
    100.0 * pod_hours / sum(pod_hours) over () as pod_hours_pct
from counted
order by gpu_model, priority;

comment on macro table asi.pods_by_model is 'Rows of HP and LP pods with a GPU on the six models of the publisher''s figures, as in gpu_spec_priority_distribution. A pod counts once per hour.';
