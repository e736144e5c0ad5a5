-- Offered GPUs and simulated capacity (ITP clusters)
-- chart: bar x=cluster y=peak_offered_gpus rule=simulated_gpus
create or replace macro itp.load() as table
select
    cluster,
    jobs,
    gpu_h,
    first_submit_s,
    last_submit_s,
    arrival_span_s,
    last_end_s,
    peak_offered_gpus,
    peak_at_s,
    mean_offered_gpus,
    simulated_gpus,
    offered_utilization,
    exceeds_capacity
from itp.cluster_load
order by cluster;

comment on macro table itp.load is 'What each cluster was offered if every job had started when it was submitted: GPU-hours, and the mean and peak of the GPUs, beside the simulated capacity.';
