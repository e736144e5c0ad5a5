-- ITP jobs in the standard format.
-- grain: one row per (cluster, job_id)
-- source: README of microsoft/elasticflow-traces
-- caveat: itp.min_duration_600: run_s observed_run_s submit_s
-- caveat: itp.no_wait: wait_s
-- caveat: itp.num_gpu_requested_or_used: requested_gpus requested_gpus_per_instance allocated_gpus
-- caveat: itp.training_columns_synthetic: workload
-- resolves_caveat: itp.clusters_differ_in_kind
-- resolves_caveat: itp.clusters_start_ragged
-- resolves_caveat: itp.last_week_is_partial
-- resolves_caveat: itp.load_starts_empty
-- resolves_caveat: itp.no_wait
-- resolves_caveat: itp.relative_clock
-- resolves_caveat: itp.small_clusters
create or replace view itp.standard_job_v1 as
select
    cluster,
    job_id,
    cast(null as varchar) as user_id,
    cast(null as varchar) as group_id,
    cast(null as timestamptz) as submit_time,
    cast(submit_s as double) as submit_s,
    cast(null as double) as local_submit_s,
    cast(null as double) as wait_s,
    cast(null as double) as observed_wait_s,
    cast(null as double) as observed_start_s,
    cast(run_s as double) as run_s,
    cast(run_s as double) as observed_run_s,
    cast(null as double) as end_s,
    cast(null as double) as requested_cpus,
    cast(null as double) as allocated_cpus,
    cast(requested_gpus as double) as requested_gpus,
    cast(requested_gpus as double) as requested_gpus_per_instance,
    cast(requested_gpus as double) as allocated_gpus,
    cast(null as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    cast(requested_gpus * run_s as double) as held_gpu_s,
    'unknown' as status,
    cast(null as boolean) as is_right_censored,
    -- Every job is submitted in the trace.
    false as is_left_censored,
    model_name as workload,
    cluster as partition_name
from itp.job_v1;

comment on column itp.standard_job_v1.workload is 'Model; drawn at random, not what the job trained; synthetic.';
