-- Job arrivals by hour of day (GPU jobs of all traces)
-- answers: hour of day
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: pai.gpu_counts_are_fractions
-- chart: line x=hour_of_day y=jobs_pct color=trace note=Time of day at the cluster. Traces without a known time zone are left out.
-- column: jobs: Jobs submitted in that hour of the day; only GPU jobs if gpu_only is true
create or replace macro unified.hour_profile(
    gpu_only boolean := true, in_trace varchar := null
) as table
select
    trace,
    hour_of_day,
    count(*) as jobs,
    100.0 * count(*) / sum(count(*)) over (partition by trace) as jobs_pct
from unified.jobs
where
    stats.is_chosen(trace, in_trace)
    and hour_of_day is not null and (not gpu_only or requested_gpus > 0)
group by trace, hour_of_day
order by trace, hour_of_day;

comment on macro table unified.hour_profile is 'Jobs (if gpu_only is true, only those that request a GPU) per hour of the day at the location of the cluster. Traces whose clock does not give the local time are left out.';
