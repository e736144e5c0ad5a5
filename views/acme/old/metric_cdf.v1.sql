-- Distribution of each telemetry metric, at every half percentile (Acme).
-- grain: one row per (cluster, metric, percentile), 201 percentiles from 0 to 100
-- source: data/generate_utilization_pkl.ipynb of AcmeTrace: CDFs over all samples
create or replace view acme.metric_cdf_v1 as
with running as (
    select
        cluster,
        metric,
        value,
        samples,
        sum(samples) over up_to_it as samples_to_it,
        sum(samples) over (partition by cluster, metric) as all_samples
    from acme.metric_histogram_v1
    window up_to_it as (
        partition by cluster, metric
        order by value
        rows between unbounded preceding and current row
    )
),

-- Counts percentiles in halves, which are exact integers. The value of half h is the smallest value that at least
-- h / 200 of the samples do not exceed; the value of half 0 is the minimum.
halves as (
    select
        cluster,
        metric,
        value,
        all_samples,
        unnest(
            generate_series(
                cast(
                    case
                        when samples_to_it = samples then 0
                        else 200 * (samples_to_it - samples) // all_samples + 1
                    end as bigint
                ),
                cast(200 * samples_to_it // all_samples as bigint)
            )
        ) as half
    from running
)

select
    cluster,
    metric,
    half / 2.0 as percentile,
    value,
    cast(all_samples as bigint) as samples
from halves;

comment on column acme.metric_cdf_v1.percentile is 'Percentile: 0, 0.5, 1 to 100 [percent]; derived.';
comment on column acme.metric_cdf_v1.value is 'Smallest value that this percentage of the samples does not exceed, rounded as in acme.metric_histogram [no unit]; derived.';
comment on column acme.metric_cdf_v1.samples is 'Samples of the metric, of all GPUs or nodes; derived.';
