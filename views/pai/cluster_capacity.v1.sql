-- GPUs and GPU machines of PAI by type, in the common capacity format.
-- grain: one row per GPU type
-- source: README of cluster-trace-gpu-v2020, pai_machine_spec
-- caveat: pai.misc_is_many_types: partition_name
-- resolves_caveat: pai.cpu_machines_in_spec
create or replace view pai.cluster_capacity_v1 as
select
    cast(null as varchar) as cluster,
    gpu_type as partition_name,
    cast(sum(cap_gpu) as bigint) as gpus,
    count(*) as nodes,
    stats.fsum(cap_cpu) as cpus
from pai.machine_spec
where cap_gpu > 0
group by gpu_type;

comment on column pai.cluster_capacity_v1.partition_name is 'Type of GPU; measured.';
