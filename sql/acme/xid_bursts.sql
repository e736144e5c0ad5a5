-- Bursts of GPU errors (Acme GPUs)
-- chart: point x=burst_start y=gpus color=cluster
create or replace macro acme.xid_bursts(
    -- smallest number of GPUs of a burst to include [1 to 10000]
    min_gpus bigint := 10
) as table
select
    cluster,
    burst_start,
    burst_end,
    onsets,
    gpus,
    nodes,
    most_frequent_xid,
    xids
from acme.xid_burst
where gpus >= min_gpus
order by cluster, burst_start;

comment on macro table acme.xid_bursts is 'Bursts: sequences of onsets at most one minute apart. Start and end, onsets, GPUs, nodes and error codes of each.';
