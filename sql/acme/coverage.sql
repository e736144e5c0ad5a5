-- Telemetry coverage by metric (Acme devices)
-- chart: bar x=metric y=devices_pct color=cluster yname=devices_of_the_cluster_with_the_metric_pct
create or replace macro acme.coverage() as table
select
    cluster,
    source_table,
    metric,
    first_time,
    last_time,
    times,
    median_gap_s,
    max_gap_s,
    devices,
    unattributed_devices,
    samples,
    empty_samples,
    published_devices,
    devices_pct
from acme.telemetry_coverage
order by cluster, source_table, metric;

comment on macro table acme.coverage is 'First and last time, number of times and gaps between them, devices, samples, empty cells, and share of the published fleet, per metric.';
