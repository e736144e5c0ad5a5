-- Error onsets per GPU-day by Xid code (Acme GPUs)
-- caveat: acme.telemetry_covers_part
-- param: on_cluster: cluster to count
-- choices: on_cluster: seren kalos
-- chart: bar x=xid y=onsets_per_gpu_day
-- column: nodes: Nodes that had the code
create or replace macro acme.onsets_by_code(on_cluster varchar := 'kalos') as table
-- An empty cell is a GPU without an error, and so observed.
with listed as (
    select
        time,
        device_cells as gpus
    from acme.telemetry_time
    where cluster = on_cluster and metric = 'XID_ERRORS'
),

-- Up to five minutes, as for power: who was not asked for longer may have had any code.
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
    select fsum(gpus * hold_s) / 3600.0 as observed_gpu_h
    from held
),

came_up as (
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
    from came_up as onset
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

comment on macro table acme.onsets_by_code is 'One row per code that has an onset in the cluster, as acme.xid_onset has them: a change of XID_ERRORS from 0, empty or no sample to a code. meaning is NVIDIA''s name of the code, NULL where acme.xid_code does not list it; onsets, and their percentage of the cluster''s; bursts are the different bursts of acme.xid_burst, of any number of GPUs, that these onsets are in, so that many onsets in few bursts are few events; gpus and nodes that had one. observed_gpu_h, the same in each row, is how long the error codes of GPUs were recorded: at each time of the cluster''s XID_ERRORS all its listed GPUs, with a value or empty, times the seconds to its next time, 300 at the most, and none after the last; columns whose name is no address are left out. onsets_per_gpu_day is onsets per 24 of those hours, NULL where there are none.';
