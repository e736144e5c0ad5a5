-- Rows that each documented join of PAI's tables matches, on either side.
-- grain: one row per join
-- source: README of cluster-trace-gpu-v2020, class diagram of section 2, for the keys and cardinalities
-- caveat: pai.worker_name_repeats: left_rows left_without_key left_matched left_unmatched left_multiply_matched right_without_key right_matched right_unmatched right_multiply_matched joined_rows
-- caveat: pai.tasks_without_instances
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.group_tag_orphans: left_without_key left_matched left_unmatched left_multiply_matched right_without_key right_matched right_unmatched right_multiply_matched joined_rows
-- materialize: parquet
create or replace view pai.join_coverage_v1 as
with joins as (
    select
        documented.join_name,
        documented.left_table,
        documented.right_table,
        documented.join_key,
        documented.documented_cardinality
    from (
        values
        ('job_task', 'pai.job', 'pai.task', 'job_name', '1:N'),
        ('job_group_tag', 'pai.job', 'pai.group_tag', 'inst_id', '1:1'),
        ('task_instance', 'pai.task', 'pai.instance', 'job_name, task_name', '1:N'),
        ('instance_sensor', 'pai.instance', 'pai.sensor', 'worker_name', 'N:0..1'),
        ('worker_sensor', 'pai.worker', 'pai.sensor', 'worker_name', '1:0..1'),
        ('instance_machine_metric', 'pai.instance', 'pai.machine_metric', 'worker_name', 'N:0..1'),
        ('worker_machine_metric', 'pai.worker', 'pai.machine_metric', 'worker_name', '1:0..1'),
        ('instance_machine_spec', 'pai.instance', 'pai.machine_spec', 'machine', 'N:1'),
        ('sensor_machine_spec', 'pai.sensor', 'pai.machine_spec', 'machine', 'N:1')
    ) as documented (join_name, left_table, right_table, join_key, documented_cardinality)
),

-- Unites the tables that join on a key, counts the rows of each table per value of the key, and then groups the
-- values with the same counts. One pass gives both sides of every join on that key; separate joins would read
-- millions of rows several times.
job_names as (
    select
        has_key,
        jobs,
        tasks,
        count(*) as keys
    from (
        select
            job_name is not null as has_key,
            count(*) filter (where side = 'job') as jobs,
            count(*) filter (where side = 'task') as tasks
        from (
            select
                'job' as side,
                job_name
            from pai.job
            union all
            select
                'task' as side,
                job_name
            from pai.task
        ) as sides
        group by job_name
    ) as counted
    group by has_key, jobs, tasks
),

inst_ids as (
    select
        has_key,
        jobs,
        group_tags,
        count(*) as keys
    from (
        select
            inst_id is not null as has_key,
            count(*) filter (where side = 'job') as jobs,
            count(*) filter (where side = 'group_tag') as group_tags
        from (
            select
                'job' as side,
                inst_id
            from pai.job
            union all
            select
                'group_tag' as side,
                inst_id
            from pai.group_tag
        ) as sides
        group by inst_id
    ) as counted
    group by has_key, jobs, group_tags
),

task_names as (
    select
        has_key,
        tasks,
        instances,
        count(*) as keys
    from (
        select
            job_name is not null and task_name is not null as has_key,
            count(*) filter (where side = 'task') as tasks,
            count(*) filter (where side = 'instance') as instances
        from (
            select
                'task' as side,
                job_name,
                task_name
            from pai.task
            union all
            select
                'instance' as side,
                job_name,
                task_name
            from pai.instance
        ) as sides
        group by job_name, task_name
    ) as counted
    group by has_key, tasks, instances
),

sensed_names as (
    select
        worker_name,
        count(*) filter (where side = 'sensor') as sensors,
        count(*) filter (where side = 'machine_metric') as machine_metrics
    from (
        select
            'sensor' as side,
            worker_name
        from pai.sensor
        union all
        select
            'machine_metric' as side,
            worker_name
        from pai.machine_metric
    ) as sides
    group by worker_name
),

-- pai.worker counts the instances of each name already.
worker_names as (
    select
        worker.worker_name is not null or sensed.worker_name is not null as has_key,
        coalesce(worker.runs, 0) as instances,
        coalesce(sensed.sensors, 0) as sensors,
        coalesce(sensed.machine_metrics, 0) as machine_metrics,
        count(*) as keys
    from pai.worker_v1 as worker
    full join sensed_names as sensed on worker.worker_name = sensed.worker_name
    group by
        worker.worker_name is not null or sensed.worker_name is not null,
        coalesce(worker.runs, 0),
        coalesce(sensed.sensors, 0),
        coalesce(sensed.machine_metrics, 0)
    union all
    select
        false as has_key,
        count(*) as instances,
        0 as sensors,
        0 as machine_metrics,
        1 as keys
    from pai.instance
    where worker_name is null
),

machines as (
    select
        has_key,
        instances,
        sensors,
        machine_specs,
        count(*) as keys
    from (
        select
            machine is not null as has_key,
            count(*) filter (where side = 'instance') as instances,
            count(*) filter (where side = 'sensor') as sensors,
            count(*) filter (where side = 'machine_spec') as machine_specs
        from (
            select
                'instance' as side,
                machine
            from pai.instance
            union all
            select
                'sensor' as side,
                machine
            from pai.sensor
            union all
            select
                'machine_spec' as side,
                machine
            from pai.machine_spec
        ) as sides
        group by machine
    ) as counted
    group by has_key, instances, sensors, machine_specs
),

-- pai.worker has one row for each worker that pai.instance names, and none without a name.
pairs as (
    select
        'job_task' as join_name,
        has_key,
        keys,
        jobs as left_copies,
        tasks as right_copies
    from job_names
    union all
    select
        'job_group_tag' as join_name,
        has_key,
        keys,
        jobs as left_copies,
        group_tags as right_copies
    from inst_ids
    union all
    select
        'task_instance' as join_name,
        has_key,
        keys,
        tasks as left_copies,
        instances as right_copies
    from task_names
    union all
    select
        'instance_sensor' as join_name,
        has_key,
        keys,
        instances as left_copies,
        sensors as right_copies
    from worker_names
    union all
    select
        'worker_sensor' as join_name,
        has_key,
        keys,
        case when has_key then least(instances, 1) else 0 end as left_copies,
        sensors as right_copies
    from worker_names
    union all
    select
        'instance_machine_metric' as join_name,
        has_key,
        keys,
        instances as left_copies,
        machine_metrics as right_copies
    from worker_names
    union all
    select
        'worker_machine_metric' as join_name,
        has_key,
        keys,
        case when has_key then least(instances, 1) else 0 end as left_copies,
        machine_metrics as right_copies
    from worker_names
    union all
    select
        'instance_machine_spec' as join_name,
        has_key,
        keys,
        instances as left_copies,
        machine_specs as right_copies
    from machines
    union all
    select
        'sensor_machine_spec' as join_name,
        has_key,
        keys,
        sensors as left_copies,
        machine_specs as right_copies
    from machines
),

weighed as (
    select
        join_name,
        has_key,
        left_copies,
        right_copies,
        keys * left_copies as left_rows,
        keys * right_copies as right_rows,
        keys * left_copies * right_copies as joined_rows
    from pairs
),

accounts as (
    select
        join_name,
        sum(left_rows) as left_rows,
        sum(left_rows) filter (where not has_key) as left_without_key,
        sum(left_rows) filter (where has_key and right_copies > 0) as left_matched,
        sum(left_rows) filter (where has_key and right_copies = 0) as left_unmatched,
        sum(left_rows) filter (where has_key and right_copies > 1) as left_multiply_matched,
        sum(right_rows) as right_rows,
        sum(right_rows) filter (where not has_key) as right_without_key,
        sum(right_rows) filter (where has_key and left_copies > 0) as right_matched,
        sum(right_rows) filter (where has_key and left_copies = 0) as right_unmatched,
        sum(right_rows) filter (where has_key and left_copies > 1) as right_multiply_matched,
        sum(joined_rows) filter (where has_key) as joined_rows
    from weighed
    group by join_name
)

-- A left join from the list: a join of empty tables is a row of zeros.
select
    joins.join_name,
    joins.left_table,
    joins.right_table,
    joins.join_key,
    joins.documented_cardinality,
    cast(coalesce(accounts.left_rows, 0) as bigint) as left_rows,
    cast(coalesce(accounts.left_without_key, 0) as bigint) as left_without_key,
    cast(coalesce(accounts.left_matched, 0) as bigint) as left_matched,
    cast(coalesce(accounts.left_unmatched, 0) as bigint) as left_unmatched,
    cast(coalesce(accounts.left_multiply_matched, 0) as bigint) as left_multiply_matched,
    cast(coalesce(accounts.right_rows, 0) as bigint) as right_rows,
    cast(coalesce(accounts.right_without_key, 0) as bigint) as right_without_key,
    cast(coalesce(accounts.right_matched, 0) as bigint) as right_matched,
    cast(coalesce(accounts.right_unmatched, 0) as bigint) as right_unmatched,
    cast(coalesce(accounts.right_multiply_matched, 0) as bigint) as right_multiply_matched,
    cast(coalesce(accounts.joined_rows, 0) as bigint) as joined_rows
from joins
left join accounts on joins.join_name = accounts.join_name;

comment on column pai.join_coverage_v1.join_name is 'Name of the join: its two tables; derived.';
comment on column pai.join_coverage_v1.left_table is 'Table or view on the left; derived.';
comment on column pai.join_coverage_v1.right_table is 'Table on the right; derived.';
comment on column pai.join_coverage_v1.join_key is 'Columns that both sides share; derived.';
comment on column pai.join_coverage_v1.documented_cardinality is 'Rows on the left to rows on the right for one key, as documented by the publisher; N:0..1 if some have no partner; derived.';
comment on column pai.join_coverage_v1.left_rows is 'Rows on the left: without a key, matched and unmatched; derived.';
comment on column pai.join_coverage_v1.left_without_key is 'Rows on the left with an empty column in the key [rows]; derived.';
comment on column pai.join_coverage_v1.left_matched is 'Rows on the left with one or several partners [rows]; derived.';
comment on column pai.join_coverage_v1.left_unmatched is 'Rows on the left with a key but without a partner [rows]; derived.';
comment on column pai.join_coverage_v1.left_multiply_matched is 'Matched rows on the left that have several partners, so that the join repeats them [rows]; derived.';
comment on column pai.join_coverage_v1.right_rows is 'Rows on the right: without a key, matched and unmatched; derived.';
comment on column pai.join_coverage_v1.right_without_key is 'Rows on the right with an empty column in the key [rows]; derived.';
comment on column pai.join_coverage_v1.right_matched is 'Rows on the right with one or several partners [rows]; derived.';
comment on column pai.join_coverage_v1.right_unmatched is 'Rows on the right with a key but without a partner [rows]; derived.';
comment on column pai.join_coverage_v1.right_multiply_matched is 'Matched rows on the right that have several partners, so that the join repeats them [rows]; derived.';
comment on column pai.join_coverage_v1.joined_rows is 'Rows of the inner join; derived.';
