-- Jobs, GPU-hours and overlap with cluster02 (ITP testbed)
-- resolves_caveat: itp.min_duration_600
-- resolves_caveat: itp.no_wait
-- resolves_caveat: itp.relative_clock
-- column: jobs: Jobs of the testbed
-- column: gpu_h: GPU-hours of the testbed's jobs
-- column: arrival_span_h: Hours from the first submission to the last
-- column: in_cluster02 [jobs]: Testbed jobs that cluster02 contains too
-- column: generated_differs [jobs]: Testbed jobs with a different model, batch size, number of iterations or deadline in cluster02
create or replace macro itp.testbed() as table
select
    count(*) as jobs,
    sum(requested_gpus * run_s) / 3600.0 as gpu_h,
    (max(submit_s) - min(submit_s)) / 3600.0 as arrival_span_h,
    count(*) filter (where is_in_cluster02) as in_cluster02,
    count(*) filter (where generated_differs) as generated_differs
from itp.testbed_job;

comment on macro table itp.testbed is 'Jobs of the testbed, their GPU-hours, hours from the first submission to the last, number of jobs that cluster02 contains too, and number of those whose model, batch size, iterations or deadline differ there.';
