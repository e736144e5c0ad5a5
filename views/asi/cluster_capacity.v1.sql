-- GPUs and GPU servers of ASI by model at the peak, in the common capacity format.
-- grain: one row per GPU model
-- source: docs/schema.md of cluster-trace-gpu-v2026
create or replace view asi.cluster_capacity_v1 as
with totals as (
    select
        hour,
        sum(gpus) as gpus
    from asi.cluster_capacity_hour_v1
    group by hour
),

peak as (
    select hour
    from totals
    order by gpus desc, hour desc
    limit 1
)

select
    capacity.cluster,
    capacity.partition_name,
    capacity.gpus,
    capacity.nodes,
    capacity.cpus
from asi.cluster_capacity_hour_v1 as capacity
inner join peak on capacity.hour = peak.hour;

comment on column asi.cluster_capacity_v1.gpus is 'GPUs of the model in the loaded hour with the most GPUs of all models; derived.';
comment on column asi.cluster_capacity_v1.nodes is 'Servers with GPUs of the model in that hour; derived.';
comment on column asi.cluster_capacity_v1.cpus is 'CPU cores of these servers; derived.';
