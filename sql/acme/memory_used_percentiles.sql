-- GPU memory utilisation by cluster (Acme GPUs)
-- column: median_used_pct: Median of the memory in use, in percent of 80 GiB
-- column: over_75_pct: Share of the samples above 75 %
-- chart: bar x=cluster y=median_used_pct yname=median_used_gpu_memory_pct title=Median GPU memory utilisation by cluster (Acme GPUs)
create or replace macro acme.memory_used_percentiles() as table
with running as (
    select
        cluster,
        used_pct,
        samples,
        sum(samples) over (
            partition by cluster
            order by used_pct
            rows between unbounded preceding and current row
        ) as samples_to_it,
        sum(samples) over (partition by cluster) as all_samples
    from acme.gpu_memory_used_count
)

-- The mean of the two middle samples, which are the same sample if the count is odd.
select
    cluster,
    (
        min(used_pct) filter (where 2 * samples_to_it >= all_samples)
        + min(used_pct) filter (where 2 * samples_to_it > all_samples)
    ) / 2 as median_used_pct,
    100.0 * coalesce(sum(samples) filter (where used_pct > 75), 0) / sum(samples) as over_75_pct
from running
group by cluster
order by cluster;

comment on macro table acme.memory_used_percentiles is 'Interpolated median of GPU memory in use over all samples, in percent of 80 GiB, and the share of samples above 75 %, per cluster.';
