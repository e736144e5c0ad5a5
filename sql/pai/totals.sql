-- Total jobs, tasks, users, machines and GPUs (PAI tables)
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.sensor_covers_two_fifths
-- resolves_caveat: pai.sensor_is_lifetime_average
-- column: level: Level that is counted
-- column: entries [entries]: Number of entries
create or replace macro pai.totals() as table
with counted as (
    select
        1 as place,
        'job' as level,
        count(*) as entries
    from pai.job
    union all
    select
        2 as place,
        'task' as level,
        count(*) as entries
    from pai.task
    union all
    select
        3 as place,
        'gpu_task' as level,
        count(*) as entries
    from pai.task
    where plan_gpu > 0
    union all
    select
        4 as place,
        'instance' as level,
        count(*) as entries
    from pai.instance
    union all
    select
        5 as place,
        'worker' as level,
        count(*) as entries
    from pai.worker
    union all
    select
        6 as place,
        'sensor_worker' as level,
        count(*) as entries
    from pai.sensor
    union all
    select
        7 as place,
        'user' as level,
        count(*) as entries
    from pai.user_load
    union all
    select
        8 as place,
        'tagged_user' as level,
        count(distinct user_id) as entries
    from pai.job_group
    where is_tagged
    union all
    select
        9 as place,
        'machine' as level,
        count(*) as entries
    from pai.machine_spec
    union all
    select
        10 as place,
        'gpu' as level,
        sum(cap_gpu) as entries
    from pai.machine_spec
)

select
    level,
    cast(nullif(entries, 0) as bigint) as entries
from counted
order by place;

comment on macro table pai.totals is 'Number of jobs, tasks, tasks that request a GPU, instance launches, workers, workers with sensor data, users, users of jobs with a group tag, machines and GPUs; NULL if there are none, as in a warehouse without the table.';
