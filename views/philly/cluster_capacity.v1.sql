-- GPUs of the machines: of each, the largest number listed, used or measured (Philly).
-- grain: one row, for all machines
-- source: README of msr-fiddle/philly-traces; its issue #8 for machines with more GPUs than listed
create or replace view philly.cluster_capacity_v1 as
select
    cast(null as varchar) as cluster,
    cast(null as varchar) as partition_name,
    cast(sum(gpus) as bigint) as gpus,
    count(*) as nodes,
    cast(null as double) as cpus
from philly.machine_inventory_v1
having count(*) > 0;

comment on column philly.cluster_capacity_v1.cluster is 'Cluster; NULL, as the trace does not distinguish clusters; measured.';
comment on column philly.cluster_capacity_v1.partition_name is 'NULL, as machines belong to no virtual cluster; measured.';
comment on column philly.cluster_capacity_v1.gpus is 'GPUs of all machines, of each the largest number in the machine list, the job log and the measurements; derived.';
comment on column philly.cluster_capacity_v1.nodes is 'Machines that the machine list, the job log or the measurements name; derived.';
comment on column philly.cluster_capacity_v1.cpus is 'CPU cores; NULL, as the trace does not record them; measured.';
