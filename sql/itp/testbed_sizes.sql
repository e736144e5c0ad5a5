-- Jobs by number of requested GPUs (ITP testbed)
-- chart: bar x=requested_gpus y=jobs
-- column: jobs: Jobs of the testbed
create or replace macro itp.testbed_sizes() as table
select
    requested_gpus,
    count(*) as jobs
from itp.testbed_job
group by requested_gpus
order by requested_gpus;

comment on macro table itp.testbed_sizes is 'Testbed jobs per number of requested GPUs.';
