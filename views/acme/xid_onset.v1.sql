-- Onsets of XID error codes, per GPU (Acme).
-- grain: one row per (cluster, node, gpu, onset_time)
-- source: README of AcmeTrace, Resource Utilization; XID_ERRORS of DCGM, the last code until it is cleared
-- caveat: acme.telemetry_covers_part
-- resolves_caveat: acme.xid_is_a_latch
-- materialize: parquet per partition
create or replace view acme.xid_onset_v1 as
-- Samples with an error code are rare. Other samples are neither grouped by device nor sorted.
with errors as (
    select
        cluster,
        node,
        gpu,
        device,
        time,
        value,
        lag(time) over (partition by cluster, node, gpu order by time) as previous_error_time
    from acme.gpu_metric
    where metric = 'XID_ERRORS' and value > 0 and node is not null
),

-- Groups each cluster separately: DuckDB groups by a single column with few values in a third of the time.
grid as (
    select
        'seren' as cluster,
        time
    from acme.gpu_metric
    where cluster = 'seren' and metric = 'XID_ERRORS'
    group by time
    union all
    select
        'kalos' as cluster,
        time
    from acme.gpu_metric
    where cluster = 'kalos' and metric = 'XID_ERRORS'
    group by time
),

steps as (
    select
        cluster,
        time,
        lag(time) over (partition by cluster order by time) as previous_time
    from grid
),

-- The name of a GPU's column is its address.
first_seen as (
    select
        'seren' as cluster,
        device,
        min(time) as first_time
    from acme.gpu_metric
    where cluster = 'seren' and metric = 'XID_ERRORS'
    group by device
    union all
    select
        'kalos' as cluster,
        device,
        min(time) as first_time
    from acme.gpu_metric
    where cluster = 'kalos' and metric = 'XID_ERRORS'
    group by device
)

-- An onset had no error code at the previous time: its sample was 0, empty or missing.
select
    errors.cluster,
    errors.node,
    errors.gpu,
    errors.time as onset_time,
    cast(errors.value as bigint) as xid
from errors
inner join steps on errors.cluster = steps.cluster and errors.time = steps.time
inner join first_seen on errors.cluster = first_seen.cluster and errors.device = first_seen.device
where
    errors.time > first_seen.first_time
    and (errors.previous_error_time is null or errors.previous_error_time < steps.previous_time);

comment on column acme.xid_onset_v1.onset_time is 'First sample with a code after one that was 0, empty or missing; a GPU''s first sample is not an onset, as the state before it is unknown; derived.';
comment on column acme.xid_onset_v1.xid is 'Code of the error, an XID of NVIDIA''s driver; a later code that replaces it without a clear sample between is not an onset; measured.';
