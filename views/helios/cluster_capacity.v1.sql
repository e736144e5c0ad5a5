-- GPUs of each virtual cluster, mean over the listed days (Helios).
-- grain: one row per (cluster, partition_name)
-- source: README of HeliosData, cluster_gpu_number.csv
-- caveat: helios.gpus_change_daily: gpus
-- caveat: helios.vc_names_are_shared: partition_name
-- resolves_caveat: helios.total_is_a_column
create or replace view helios.cluster_capacity_v1 as
select
    cluster,
    vc as partition_name,
    cast(round(stats.favg(gpus)) as bigint) as gpus,
    cast(null as bigint) as nodes,
    cast(null as double) as cpus
from helios.gpu_count
where vc is not null
group by cluster, vc;

comment on column helios.cluster_capacity_v1.cluster is 'Cluster; measured.';
comment on column helios.cluster_capacity_v1.partition_name is 'Virtual cluster, a name that clusters share; measured.';
comment on column helios.cluster_capacity_v1.gpus is 'GPUs, mean over the days, rounded to a whole number; derived.';
comment on column helios.cluster_capacity_v1.nodes is 'Nodes; NULL, as the trace does not record them; measured.';
comment on column helios.cluster_capacity_v1.cpus is 'CPU cores; NULL, as the trace does not record them; measured.';
