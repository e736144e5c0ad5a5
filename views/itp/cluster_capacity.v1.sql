-- GPUs that the ElasticFlow simulation gives each ITP cluster, in the common capacity format.
-- grain: one row per cluster
-- source: the simulation scripts of pkusys/ElasticFlow
-- caveat: itp.capacity_not_published: gpus
create or replace view itp.cluster_capacity_v1 as
select
    cluster,
    -- In acme.standard_job and itp.standard_job, the partition of a job is its cluster.
    cluster as partition_name,
    simulated_gpus as gpus,
    cast(null as bigint) as nodes,
    cast(null as double) as cpus
from itp.simulated_capacity_v1;

comment on column itp.cluster_capacity_v1.gpus is 'GPUs that the simulation gives the cluster, whose true size is not published; synthetic.';
comment on column itp.cluster_capacity_v1.nodes is 'Nodes; NULL, as they are not published; synthetic.';
comment on column itp.cluster_capacity_v1.cpus is 'CPU cores; NULL, as the trace does not record them; synthetic.';
