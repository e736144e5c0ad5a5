-- Jobs, GPU-hours and users by virtual cluster (Philly jobs)
-- chart: bar x=vc y=gpu_h title=GPU-hours by virtual cluster (Philly jobs)
-- column: vc: Virtual cluster, or all
-- column: jobs_without_attempt [jobs]: Jobs without a recorded attempt
-- column: jobs_with_run [jobs]: Jobs whose run time is known
-- column: users: Users with a job
-- column: attempts: Attempts to run jobs
-- column: mean_gpus: Mean number of GPUs of jobs with an attempt
-- column: median_gpus: Median number of GPUs of jobs with an attempt
-- column: max_gpus: Largest number of GPUs of a first attempt
-- column: mean_run_s: Mean run time of jobs whose run time is known
-- column: median_run_s: Median run time of jobs whose run time is known
-- column: mean_wait_s: Mean queueing delay of jobs whose queueing delay is known
-- column: median_wait_s: Median queueing delay of jobs whose queueing delay is known
create or replace macro philly.totals(with_total boolean := false) as table
select
    coalesce(vc, 'all') as vc,
    count(*) as jobs,
    count(*) filter (where attempts = 0) as jobs_without_attempt,
    count(run_s) as jobs_with_run,
    count(distinct user_id) as users,
    cast(sum(attempts) as bigint) as attempts,
    stats.fsum(held_gpu_s) / 3600.0 as gpu_h,
    stats.favg(allocated_gpus) as mean_gpus,
    median(allocated_gpus) as median_gpus,
    max(allocated_gpus) as max_gpus,
    stats.favg(run_s) as mean_run_s,
    median(run_s) as median_run_s,
    max(run_s) as max_run_s,
    stats.favg(wait_s) as mean_wait_s,
    median(wait_s) as median_wait_s
from philly.job_run
group by grouping sets ((vc), ())
having bool_or(with_total) or grouping(vc) = 0
order by grouping(vc) asc, gpu_h desc nulls last, vc asc;

comment on macro table philly.totals is 'Jobs, jobs without an attempt, jobs whose run time is known, users, attempts and GPU-hours per virtual cluster. GPUs are those of first attempts. The total counts a user of several virtual clusters once.';
