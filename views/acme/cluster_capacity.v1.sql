-- GPUs and nodes of Acme's clusters, as the paper counts them.
-- grain: one row per cluster
-- source: the paper on AcmeTrace (NSDI 2024): 8 GPUs a node
-- caveat: acme.kalos_looks_idle: gpus
create or replace view acme.cluster_capacity_v1 as
select
    known.cluster,
    -- In acme.standard_job and itp.standard_job, the partition of a job is its cluster.
    known.cluster as partition_name,
    cast(known.gpus as bigint) as gpus,
    cast(known.nodes as bigint) as nodes,
    cast(null as double) as cpus
from (
    values
    ('kalos', 2416, 302),
    ('seren', 2288, 286)
) as known (cluster, gpus, nodes);

comment on column acme.cluster_capacity_v1.cluster is 'Cluster: seren or kalos; synthetic.';
comment on column acme.cluster_capacity_v1.partition_name is 'Same as the cluster, which is one partition; synthetic.';
comment on column acme.cluster_capacity_v1.gpus is 'GPUs of the cluster, as the paper counts them; synthetic.';
comment on column acme.cluster_capacity_v1.nodes is 'Nodes of the cluster: an eighth of the GPUs; synthetic.';
comment on column acme.cluster_capacity_v1.cpus is 'CPU cores; NULL, as the trace does not record them; synthetic.';
