-- Instances that tasks launch together: gangs by size, with and without GPUs (PAI).
-- grain: one row per (requests_gpu, gang_size)
-- source: README of cluster-trace-gpu-v2020, pai_task_table: inst_num; analysis notebook, instances by gang size
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
create or replace view pai.gang_v1 as
with sized as (
    select
        coalesce(plan_gpu, 0) > 0 as requests_gpu,
        cast(inst_num as bigint) as gang_size
    from pai.task
)

select
    requests_gpu,
    gang_size,
    count(*) as tasks,
    cast(coalesce(sum(gang_size), 0) as bigint) as instances
from sized
group by requests_gpu, gang_size;

comment on column pai.gang_v1.requests_gpu is 'Whether the tasks request a GPU or a part of one; derived.';
comment on column pai.gang_v1.gang_size is 'Instances that a task launches; NULL if the task does not record it; measured.';
comment on column pai.gang_v1.tasks is 'Tasks of that size; derived.';
comment on column pai.gang_v1.instances is 'Instances that these tasks launch together; 0 if the size is not known; derived.';
