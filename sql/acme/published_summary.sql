-- Published workload summary by cluster (Acme summary table)
-- chart: bar x=cluster y=gpu_jobs title=GPU jobs of clusters, as the Acme paper lists them
create or replace macro acme.published_summary() as table
select
    id as cluster,
    job_num as jobs,
    gpu_job_num as gpu_jobs,
    avg_run_time_gpu as mean_run_s,
    med_run_time_gpu as median_run_s,
    avg_que_time_gpu as mean_wait_s,
    med_que_time_gpu as median_wait_s,
    avg_gpu_num as mean_gpus,
    max_gpu as max_gpus
from acme.cluster_summary
order by jobs desc, cluster asc;

comment on macro table acme.published_summary is 'Run time, queueing delay and size of GPU jobs per cluster as printed in cluster_summary.csv. Nothing is measured here.';
