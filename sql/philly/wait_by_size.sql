-- Queueing delay by job size (Philly jobs)
-- answers: wait
-- chart: box x=gpu_band y=wait_s:log xname=requested_gpus
-- column: jobs: Jobs of the band whose queueing delay is known
create or replace macro philly.wait_by_size() as table
select
    gpu_band,
    count(*) as jobs,
    stats.favg(wait_s) as mean_wait_s,
    stats.percentiles(wait_s).p5 as p5_wait_s,
    stats.percentiles(wait_s).p25 as p25_wait_s,
    stats.percentiles(wait_s).median as median_wait_s,
    stats.percentiles(wait_s).p75 as p75_wait_s,
    stats.percentiles(wait_s).p90 as p90_wait_s,
    stats.percentiles(wait_s).p95 as p95_wait_s,
    stats.percentiles(wait_s).p99 as p99_wait_s
from philly.job_run
where wait_s is not null
group by gpu_band
order by min(allocated_gpus);

comment on macro table philly.wait_by_size is 'Queueing delay from submission to the start of the first attempt, with interpolated percentiles, per band of GPUs of that attempt, with the bands of the publisher''s figures.';
