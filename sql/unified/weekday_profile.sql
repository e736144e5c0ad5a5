-- On which days of the week are jobs submitted?
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
-- chart: line x=weekday y=jobs_pct color=trace
create or replace macro unified.weekday_profile() as table
-- Only these two have clocks that tell the day, both in China, eight hours ahead of UTC: see catalog.clocks.
-- Day 0 of both, 1970-01-01, was a Thursday.
with days as (
    select
        trace,
        -- Before 1970, a remainder may be below 0.
        ((cast(floor((submit_s + 28800) / 86400) as bigint) + 3) % 7 + 7) % 7 + 1 as weekday
    from unified.jobs
    where trace in ('acme', 'pai') and submit_s is not null
)

select
    trace,
    days.weekday,
    count(*) as jobs,
    100.0 * count(*) / sum(count(*)) over (partition by trace) as jobs_pct
from days
group by trace, days.weekday
order by trace, days.weekday;

comment on macro table unified.weekday_profile is 'Jobs per day of the week in China, 1 Monday to 7 Sunday, of the traces whose clock tells it: Acme, and PAI, whose dates are shifted but whose weekdays are not.';
