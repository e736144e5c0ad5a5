-- Run time by final status (Philly jobs)
-- answers: run
-- resolves_caveat: philly.log_has_no_zone
-- chart: box x=published_status y=run_s:log
-- column: jobs: Jobs of the status whose run time is known
create or replace macro philly.run_by_status() as table
select
    published_status,
    count(*) as jobs,
    stats.favg(run_s) as mean_run_s,
    stats.percentiles(run_s).p5 as p5_run_s,
    stats.percentiles(run_s).p25 as p25_run_s,
    stats.percentiles(run_s).median as median_run_s,
    stats.percentiles(run_s).p75 as p75_run_s,
    stats.percentiles(run_s).p90 as p90_run_s,
    stats.percentiles(run_s).p95 as p95_run_s,
    stats.percentiles(run_s).p99 as p99_run_s
from philly.job_run
where run_s is not null
group by published_status
order by published_status asc nulls last;

comment on macro table philly.run_by_status is 'Run time from the start of the first attempt to the end of the last, with interpolated percentiles, per status.';
