-- How many GPUs and nodes each of Acme's clusters has, by the paper: its telemetry misses some.
-- grain: one row per cluster
-- source: Characterization of Large Language Model Development in the Datacenter (NSDI 2024); 8 GPUs a node
-- caveat: acme.capacity_from_paper
create or replace view acme.published_fleet_v1 as
select
    known.cluster,
    cast(known.published_gpus as bigint) as published_gpus,
    cast(known.published_gpus / 8 as bigint) as published_nodes
from (
    values
    ('seren', 2288),
    ('kalos', 2416)
) as known (cluster, published_gpus);

comment on column acme.published_fleet_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.published_fleet_v1.published_gpus is 'GPUs of the cluster, as the paper counts them; measured.';
comment on column acme.published_fleet_v1.published_nodes is 'Nodes of the cluster: an eighth of the GPUs; derived.';
