-- GPUs of the machines, as the machine list has them (Philly).
-- grain: one row, for all machines
-- source: README of msr-fiddle/philly-traces, cluster_machine_list
-- caveat: philly.machine_list_disagrees: gpus
create or replace view philly.cluster_capacity_v1 as
select
    cast(null as varchar) as cluster,
    cast(null as varchar) as partition_name,
    cast(sum(number_of_gpus) as bigint) as gpus,
    count(*) as nodes
from philly.machine
having count(*) > 0;

comment on column philly.cluster_capacity_v1.cluster is 'Cluster; NULL, as the trace does not distinguish clusters; measured.';
comment on column philly.cluster_capacity_v1.partition_name is 'NULL, as machines belong to no virtual cluster; measured.';
comment on column philly.cluster_capacity_v1.gpus is 'GPUs in the machine list; derived.';
comment on column philly.cluster_capacity_v1.nodes is 'Machines in the machine list; derived.';
