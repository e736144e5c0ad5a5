-- Error onsets per GPU-day by Xid code (Acme GPUs)
-- caveat: acme.telemetry_covers_part
-- chart: bar x=xid y=onsets_per_gpu_day xname=xid_code
-- column: onsets [onsets]: Onsets: changes from no error to an error code
-- column: onsets_pct: Share of the cluster's onsets
-- column: bursts [bursts]: Distinct bursts that contain onsets of the code
-- column: nodes: Nodes with the error code
-- column: observed_gpu_h: GPU-hours over which error codes were recorded
-- column: onsets_per_gpu_day [onsets]: Onsets per GPU and day
create or replace macro acme.onsets_by_code(on_cluster varchar := 'kalos') as table
-- An empty cell means that the GPU had no error, so the GPU was observed.
with listed as (
    select
        time,
        device_cells as gpus
    from acme.telemetry_time
    where cluster = on_cluster and metric = 'XID_ERRORS'
),

-- A gap counts for at most five minutes, as for power: the state after that is unknown.
held as (
    select
        gpus,
        least(
            (epoch_us(coalesce(lead(time) over (order by time), time)) - epoch_us(time)) / 1000000.0,
            300
        ) as hold_s
    from listed
),

observed as (
    select stats.fsum(gpus * hold_s) / 3600.0 as observed_gpu_h
    from held
),

cluster_onsets as (
    select
        cluster,
        node,
        gpu,
        onset_time,
        xid
    from acme.xid_onset
    where cluster = on_cluster
),

counted as (
    select
        onset.xid,
        count(*) as onsets,
        count(distinct concat_ws('-', onset.node, onset.gpu)) as gpus,
        count(distinct onset.node) as nodes,
        count(distinct burst.burst_start) as bursts
    from cluster_onsets as onset
    left join acme.xid_burst as burst
        on
            onset.cluster = burst.cluster
            and onset.onset_time >= burst.burst_start
            and onset.onset_time <= burst.burst_end
    group by onset.xid
)

select
    counted.xid,
    code.meaning,
    counted.onsets,
    100.0 * counted.onsets / sum(counted.onsets) over () as onsets_pct,
    counted.bursts,
    counted.gpus,
    counted.nodes,
    observed.observed_gpu_h,
    24 * counted.onsets / nullif(observed.observed_gpu_h, 0) as onsets_per_gpu_day
from counted
cross join observed
left join acme.xid_code as code on counted.xid = code.xid
order by counted.onsets desc, counted.xid asc;

comment on macro table acme.onsets_by_code is
'One row per error code that occurs in the cluster. An onset is a change of XID_ERRORS from 0, an empty '
'cell or no sample to a code, as in acme.xid_onset. meaning is the name that NVIDIA gives the code, NULL '
'where acme.xid_code does not list it. bursts counts the distinct bursts of acme.xid_burst that contain '
'these onsets: many onsets in few bursts are few events. gpus and nodes count those with an onset. '
'observed_gpu_h is the time during which error codes of GPUs were recorded, the same in each row: at each '
'time of XID_ERRORS, the number of listed GPUs, with a value or an empty cell, times the seconds to the '
'next time, at most 300, and 0 after the last. Columns whose name is not an address are left out. '
'onsets_per_gpu_day is the number of onsets per 24 observed GPU-hours, NULL without observed time.';
