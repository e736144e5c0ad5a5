-- GPUs that the ElasticFlow simulation gives each ITP cluster, whose true size is not published.
-- grain: one row per cluster
-- source: the simulation scripts of pkusys/ElasticFlow
-- caveat: itp.capacity_not_published: simulated_gpus
create or replace view itp.simulated_capacity_v1 as
select
    known.cluster,
    cast(known.simulated_gpus as bigint) as simulated_gpus
from (
    values
    ('cluster01', 512),
    ('cluster02', 512),
    ('cluster03', 512),
    ('cluster04', 1024),
    ('cluster05', 512),
    ('cluster06', 512),
    ('cluster07', 1024),
    ('cluster08', 1024),
    ('cluster09', 1024),
    ('cluster10', 256)
) as known (cluster, simulated_gpus);

comment on column itp.simulated_capacity_v1.cluster is 'Cluster; synthetic.';
comment on column itp.simulated_capacity_v1.simulated_gpus is 'GPUs that the simulation gives the cluster; synthetic.';
