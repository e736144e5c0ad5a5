-- At which hours of the day are jobs submitted?
-- unaffected: acme.failure_needs_a_rule
-- unaffected: acme.kalos_duration_includes_queue
-- unaffected: itp.deadline_synthetic
-- unaffected: itp.min_duration_600
-- unaffected: itp.no_wait
-- unaffected: itp.num_gpu_requested_or_used
-- unaffected: itp.training_columns_synthetic
-- unaffected: openb.not_a_snapshot
-- unaffected: openb.running_outcome_unknown
-- unaffected: openb.variants_are_resampled
-- unaffected: pai.gpu_counts_are_fractions
-- unaffected: pai.memory_gb_looks_binary
-- unaffected: pai.sentinel_zero_start
-- unaffected: pai.tasks_without_instances
-- unaffected: pai.worker_name_repeats
-- unaffected: pai.workload_tag_is_rare
-- chart: line x=hour_of_day y=jobs_pct color=trace
create or replace macro unified.hour_profile() as table
-- Only these two have clocks that tell the hour, both in China, eight hours ahead of UTC: see catalog.clocks.
with hours as (
    select
        trace,
        -- Before 1970, a remainder may be below 0.
        (cast(floor((submit_s + 28800) / 3600) as bigint) % 24 + 24) % 24 as hour_of_day
    from unified.jobs
    where trace in ('acme', 'pai') and submit_s is not null
)

select
    trace,
    hours.hour_of_day,
    count(*) as jobs,
    100.0 * count(*) / sum(count(*)) over (partition by trace) as jobs_pct
from hours
group by trace, hours.hour_of_day
order by trace, hours.hour_of_day;

comment on macro table unified.hour_profile is 'Jobs per hour of the day in China, of the traces whose clock tells it: Acme, and PAI, whose dates are shifted but whose hours are not.';
