-- How large are the GPU jobs of each trace, and which sizes take the GPU time?
-- unaffected: acme.failure_needs_a_rule
-- unaffected: acme.job_zones_differ
-- unaffected: acme.kalos_duration_includes_queue
-- unaffected: itp.deadline_synthetic
-- unaffected: itp.no_wait
-- unaffected: itp.num_gpu_requested_or_used
-- unaffected: itp.training_columns_synthetic
-- unaffected: openb.running_outcome_unknown
-- unaffected: openb.variants_are_resampled
-- unaffected: pai.memory_gb_looks_binary
-- unaffected: pai.sentinel_zero_start
-- unaffected: pai.shifted_clock
-- unaffected: pai.tasks_without_instances
-- unaffected: pai.worker_name_repeats
-- unaffected: pai.workload_tag_is_rare
-- chart: line x=at_most_gpus:log y=jobs_pct color=trace
create or replace macro unified.size_cdf() as table
with sizes as (
    select unnest([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]) as at_most_gpus
),

-- Jobs of one size together, so that the sizes are counted, and not each job thirteen times.
loads as (
    select
        trace,
        requested_gpus,
        count(*) as jobs,
        fsum(gpu_s) as gpu_s
    from unified.jobs
    where requested_gpus > 0
    group by trace, requested_gpus
)

select
    loads.trace,
    cast(sizes.at_most_gpus as double) as at_most_gpus,
    100.0 * coalesce(sum(loads.jobs) filter (where loads.requested_gpus <= sizes.at_most_gpus), 0)
    / sum(loads.jobs) as jobs_pct,
    100.0 * coalesce(fsum(loads.gpu_s) filter (where loads.requested_gpus <= sizes.at_most_gpus), 0)
    / nullif(fsum(loads.gpu_s), 0) as gpu_time_pct
from loads
cross join sizes
group by loads.trace, sizes.at_most_gpus
order by loads.trace, sizes.at_most_gpus;

comment on macro table unified.size_cdf is 'Percentage of the GPU jobs that request so many GPUs or fewer, and of the GPU time in such jobs, per trace; a PAI job is a task, all its instances together.';
