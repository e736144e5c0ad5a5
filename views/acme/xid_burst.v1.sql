-- Bursts of GPU errors: onsets no more than a minute apart (Acme).
-- grain: one row per (cluster, burst_start)
-- source: README of AcmeTrace, Resource Utilization; a minute is four samples
create or replace view acme.xid_burst_v1 as
with gaps as (
    select
        cluster,
        node,
        gpu,
        onset_time,
        xid,
        epoch_us(onset_time)
        - epoch_us(lag(onset_time) over (partition by cluster order by onset_time)) as gap_us
    from acme.xid_onset_v1
),

-- The window is by range, not by rows, so that all onsets at the same time are in the same burst.
numbered as (
    select
        cluster,
        node,
        gpu,
        onset_time,
        xid,
        count(*) filter (where gap_us > 60000000) over (
            partition by cluster
            order by onset_time
            range between unbounded preceding and current row
        ) as burst
    from gaps
),

with_codes as (
    select
        cluster,
        burst,
        concat_ws('-', node, gpu) as gpu_name,
        node,
        onset_time,
        xid,
        count(*) over (partition by cluster, burst, xid) as onsets_of_xid
    from numbered
),

with_most as (
    select
        *,
        max(onsets_of_xid) over (partition by cluster, burst) as most_onsets
    from with_codes
)

select
    cluster,
    min(onset_time) as burst_start,
    max(onset_time) as burst_end,
    count(*) as onsets,
    count(distinct gpu_name) as gpus,
    count(distinct node) as nodes,
    min(xid) filter (where onsets_of_xid = most_onsets) as most_frequent_xid,
    count(distinct xid) as xids
from with_most
group by cluster, burst;

comment on column acme.xid_burst_v1.burst_start is 'First onset; more than 60 s after the onset before; derived.';
comment on column acme.xid_burst_v1.burst_end is 'Last onset; derived.';
comment on column acme.xid_burst_v1.onsets is 'Onsets in the burst [onsets]; derived.';
comment on column acme.xid_burst_v1.gpus is 'GPUs with an onset in it; derived.';
comment on column acme.xid_burst_v1.nodes is 'Nodes of these GPUs; derived.';
comment on column acme.xid_burst_v1.most_frequent_xid is 'Code with the most onsets, the smallest code in a tie [no unit]; derived.';
comment on column acme.xid_burst_v1.xids is 'Distinct codes [codes]; derived.';
