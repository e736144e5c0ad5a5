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

comment on macro table itp.load is 'GPU-hours, and mean and peak GPUs that the jobs of each cluster would hold if each started at submission, next to the simulated capacity.';
