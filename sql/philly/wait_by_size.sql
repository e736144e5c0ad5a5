-- Queueing delay by job size (Philly jobs)
-- chart: box x=gpu_band y=wait_s:log
-- column: jobs: Jobs of the band whose queueing delay is known
create or replace macro philly.wait_by_size() as table
select
    gpu_band,
    count(*) as jobs,
    favg(wait_s) as mean_wait_s,
    box_percentiles(wait_s) as wait_s
from philly.job_run
where wait_s is not null
group by gpu_band
order by min(allocated_gpus);

comment on macro table philly.wait_by_size is 'Queueing delay from submission to the start of the first attempt, with interpolated percentiles, per band of GPUs of that attempt, with the bands of the publisher''s figures.';
