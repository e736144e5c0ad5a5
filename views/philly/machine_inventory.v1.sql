-- Machines with the GPUs that are listed, that the job log used, and that were measured (Philly).
-- grain: one row per machine_id that one of the three names
-- source: README of msr-fiddle/philly-traces; its issue #8 for the disagreement
-- materialize: parquet by machine_id
-- caveat: philly.machine_list_disagrees: listed_gpus
-- resolves_caveat: philly.na_is_offline
create or replace view philly.machine_inventory_v1 as
with used as (
    select
        ip,
        unnest(gpus) as gpu
    from philly.attempt_machine
),

of_log as (
    select
        ip as machine_id,
        count(distinct gpu) as used_gpus
    from used
    group by ip
),

of_use as (
    select
        machine_id,
        least(count(gpu0_util), 1)
        + least(count(gpu1_util), 1)
        + least(count(gpu2_util), 1)
        + least(count(gpu3_util), 1)
        + least(count(gpu4_util), 1)
        + least(count(gpu5_util), 1)
        + least(count(gpu6_util), 1)
        + least(count(gpu7_util), 1) as measured_gpus
    from philly.gpu_util
    group by machine_id
),

named as (
    select machine_id from philly.machine
    union
    select machine_id from of_log
    union
    select machine_id from of_use
)

select
    named.machine_id,
    machine.number_of_gpus as listed_gpus,
    -- The files write it as ' 24GB'.
    cast(replace(replace(machine.single_gpu_mem, ' ', ''), 'GB', '') as double) as gpu_memory_gb,
    of_log.used_gpus,
    of_use.measured_gpus,
    greatest(
        coalesce(machine.number_of_gpus, 0), coalesce(of_log.used_gpus, 0), coalesce(of_use.measured_gpus, 0)
    ) as gpus
from named
left join philly.machine as machine on named.machine_id = machine.machine_id
left join of_log on named.machine_id = of_log.machine_id
left join of_use on named.machine_id = of_use.machine_id;

comment on column philly.machine_inventory_v1.machine_id is 'Machine; measured.';
comment on column philly.machine_inventory_v1.listed_gpus is 'GPUs in the machine list; NULL if the machine is not in it; measured.';
comment on column philly.machine_inventory_v1.gpu_memory_gb is 'Memory of each GPU in the machine list, in GB as published; measured.';
comment on column philly.machine_inventory_v1.used_gpus is 'Distinct GPUs of the machine that attempts used; NULL if none did; derived.';
comment on column philly.machine_inventory_v1.measured_gpus is 'Distinct GPUs of the machine with a measured use; NULL if it was not measured; derived.';
comment on column philly.machine_inventory_v1.gpus is 'GPUs of the machine: the largest of listed_gpus, used_gpus and measured_gpus; derived.';
