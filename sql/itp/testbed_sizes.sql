-- How many GPUs do the jobs of ElasticFlow's testbed ask for?
-- unaffected: itp.deadline_synthetic
-- unaffected: itp.training_columns_synthetic
-- unaffected: itp.no_wait
-- unaffected: itp.min_duration_600
-- chart: bar x=requested_gpus y=jobs
create or replace macro itp.testbed_sizes() as table
select
    requested_gpus,
    count(*) as jobs
from itp.testbed_job
group by requested_gpus
order by requested_gpus;

comment on macro table itp.testbed_sizes is 'Jobs of the testbed per number of GPUs.';
