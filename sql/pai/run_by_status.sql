-- Run time and GPU-hours by final status (PAI tasks)
-- caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.status_mix_drifts
-- chart: bar x=status y=median_run_s title=Median run time by final status (PAI tasks)
-- column: tasks: Tasks of the status, or its GPU tasks with gpu_only
-- column: tasks_with_run [tasks]: Tasks whose instances have a start and an end
-- column: held_gpu_h: GPU-hours held, over all instances of a job, re-runs included
-- column: span_gpu_h: GPU-hours if all instances ran from the first start to the last end
create or replace macro pai.run_by_status(gpu_only boolean := true) as table
with runs as (
    select
        status,
        run_s,
        requested_gpus_per_instance,
        requested_gpus_per_instance * held_s as held_gpu_s,
        requested_gpus_per_instance * instances * run_s as span_gpu_s
    from pai.task_run
)

select
    status,
    count(*) as tasks,
    count(run_s) as tasks_with_run,
    stats.favg(run_s) as mean_run_s,
    stats.percentiles(run_s).median as median_run_s,
    stats.percentiles(run_s).p75 as p75_run_s,
    stats.percentiles(run_s).p90 as p90_run_s,
    stats.percentiles(run_s).p95 as p95_run_s,
    stats.percentiles(run_s).p99 as p99_run_s,
    stats.fsum(held_gpu_s) / 3600.0 as held_gpu_h,
    stats.fsum(span_gpu_s) / 3600.0 as span_gpu_h
from runs
where not gpu_only or requested_gpus_per_instance > 0
group by status
order by status asc nulls last;

comment on macro table pai.run_by_status is
'Tasks per status, tasks with a run time, percentiles of it (from the first start of an instance to the '
'last end), GPU-hours that the instances held, and GPU-hours that all instances would have held from the '
'first start to the last end. Only tasks that terminated or failed have a run time; of the others, the '
'instances that ended count in held_gpu_h. Failed instances have a start or an end, and interrupted ones '
'an end only, so that neither counts: the run time and the GPU-hours of failed tasks are those of their '
'instances that terminated.';
